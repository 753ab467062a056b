"""The public names: the contract's, all of them, and no module that hides a function."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

import posref

# Names, order, kinds and defaults of the contract. Other libraries implement these: a change here is a change for all of them.
CONTRACT = [
    "rope_inv_freq(dim, *, base=10000.0, scaling=None, seq_len=None)",
    "rope_pixel_freq(dim, max_freq, *, spacing='linear')",
    "rope_attention_factor(scaling, *, seq_len=None)",
    "rope_softmax_factor(scaling)",
    "rope_cos_sin(positions, inv_freq, *, attention_factor=1.0)",
    "rope_table(positions, dim, *, base=10000.0, scaling=None, seq_len=None, attention_factor=None)",
    "rope_apply(x, cos, sin, *, layout='half', output_layout=None, offset=0, inverse=False, out=None)",
    "rope(x, positions, *, dim=None, base=10000.0, scaling=None, seq_len=None, "
    "layout='half', output_layout=None, offset=0, inverse=False, out=None)",
    "LinearScaling(factor)",
    "NTKScaling(factor, form='aware', mixed_b=0.75)",
    "DynamicNTKScaling(factor, original_max_position_embeddings)",
    "YarnScaling(factor, original_max_position_embeddings, beta_fast=32, beta_slow=1, truncate=True, "
    "attention_factor=None, mscale=None, mscale_all_dim=None, ramp='index', mscale_rule='nonzero', attn_factor=1.0, "
    "extrapolation_factor=1.0, reversed_range='error')",
    "Llama3Scaling(factor, original_max_position_embeddings, low_freq_factor, high_freq_factor)",
    "LongRopeScaling(short_factor, long_factor, original_max_position_embeddings, factor=None, attention_factor=None, "
    "short_mscale=None, long_mscale=None)",
    "DynamicLinearScaling(original_max_position_embeddings)",
    "DynamicYarnScaling(original_max_position_embeddings, beta_fast=32, beta_slow=1, truncate=True, ramp='index', "
    "extrapolation_factor=1.0, attn_factor=1.0, least_factor=1.0)",
    "NTKByPartsScaling(factor, original_max_position_embeddings, ntk_factor=1.0, extrapolation_factor=1.0, beta_0=1.25, "
    "beta_1=0.75, gamma_0=16, gamma_1=2)",
    "ProportionalScaling(partial_rotary_factor, factor=1.0, rounding='floor')",
    "sinusoidal(positions, dim, *, base=10000.0, endpoint=False, layout='interleaved', order='sin_cos', scale=1.0, "
    "gain=1.0, odd='error', padding_idx=None)",
    "sinusoidal_axes(positions, dim, *, widths=None, base=10000.0, endpoint=False, layout='axis_wave_band', order='sin_cos')",
    "timestep_embedding(timesteps, dim, *, flip_sin_to_cos=False, downscale_freq_shift=1.0, scale=1.0, max_period=10000.0, "
    "freq_dtype=None)",
    "frequency_bands(n, first, last, *, spacing='linear', endpoint=True)",
    "fourier_features(coordinates, frequencies, *, unit='radians', layout='axis_wave_band', order='sin_cos', gain=1.0, "
    "include_input=False)",
    "learned(table, positions, *, offset=0)",
    "hierarchical_table(table, rows, *, alpha=0.4)",
    "resample_table(table, sizes, new_sizes, *, kernel='cubic', cubic_a=None, antialias=False, align_corners=False, "
    "offset=0.0, prefix=0, spacing='uniform')",
    "alibi_slopes(num_heads, *, bias_max=8.0, rule='released', scale=1.0, heads=None)",
    "alibi_bias(slopes, q_positions, k_positions, *, form='distance', future_slopes=None)",
    "query_positions(num_queries, num_keys, *, align='bottom_right')",
    "t5_bucket(relative_position, *, bidirectional=True, num_buckets=32, max_distance=128, rule='exact')",
    "t5_bias(table, q_positions, k_positions, *, bidirectional=True, max_distance=128, rule='exact', layout='rows_first', "
    "scale=1.0)",
    "long_t5_blocks(mask, block_size)",
    "relative_position_index(sizes, *, offset='query_minus_key', stride=1, reach=None, class_token=False)",
    "indexed_bias(table, index, *, layout='rows_first')",
    "log_offset(relative_position, *, extent=None)",
    "kerple_bias(r1, r2, q_positions, k_positions, *, form='log')",
    "sandwich_bias(num_heads, q_positions, k_positions, *, dim=128, base=10000.0, start=1)",
    "fire_distance(q_positions, k_positions, c, length, *, limit='max', eps=1e-06)",
    "cape_positions(positions, shift, log_scale, *, centre=False)",
    "cosine_scale(log_scale, *, largest=100.0)",
    "position_mlp(features, w1, b1, w2, *, b2=None, activation='relu', ceiling=None, norm_weight=None, norm_bias=None, "
    "norm_eps=1e-05)",
    "log_n_scale(positions, length, *, clip=True)",
    "ssmax_scale(positions, s, *, bias=None)",
    "llama4_scale(positions, *, attn_scale=0.1, floor_scale=8192, shift=1)",
    "length_scale(seq_len, length, *, mscale=1.0)",
    "rerope_distance(q_positions, k_positions, window, *, factor=None)",
    "self_extend_distance(q_positions, k_positions, group_size, window, *, shift='exact')",
    "dual_chunk_distance(q_positions, k_positions, chunk_size, local_size, *, critical=False)",
    "rope_scores(q, k, distances, inv_freq, *, layout='half')",
    "xpos_scale(positions, dim, *, centre='floor', length=None, scale_base=512.0)",
    "fope_cos_sin(positions, inv_freq, cos_coef, sin_coef, pairs, *, pad_sin=1.0)",
    "pope_apply(x, positions, *, base=10000.0, bias=None)",
    "rope_permute_weight(weight, num_heads, *, to='half', rotary_dim=None, offset=0)",
    "cu_seqlens_positions(cu_seqlens, *, starts=None)",
    "mask_positions(mask, *, first=0, padding=0, largest=None, restart=False)",
    "mask_coordinates(mask, *, axes=2, scale=None, shift=0.0, eps=1e-06)",
    "linear_attention(q, k, v, *, q_positions=None, k_positions=None, inv_freq=None, layout='half', feature='elu', mask=None)",
    "relative_index(relative_position, left, right, *, outside='clip')",
    "relative_shift(x, num_keys, *, rule='transformer-xl', outside='next-row', stride=1)",
    "relative_bias(x, table, index, *, side='query')",
    "relative_values(weights, table, index)",
    "relative_scores(q, k, table, index, *, content_bias=None, position_bias=None, key_term=False, scale=None)",
    "deberta_bucket(relative_position, *, num_buckets=256, max_distance=512, beyond='clamp')",
    "disentangled_scores(q, k, relative, *, pos_k=None, pos_q=None, p2c='code', p2p=False, scale=None)",
    "permuted_channels(permutation, positions)",
    "untied_scores(q, k, *, pos_q=None, pos_k=None, scale=None)",
    "decomposed_bias(q, height_table, width_table, q_size, k_size, *, rule='exact')",
    "bias_gate(projection, const)",
    "reset_cls(bias, from_cls, to_cls)",
    "forget_bias(log_forget, *, backward=None, num_queries=None)",
    "cope_scores(q, k, table, *, mask=None, scale=None, scale_positions=True)",
    "path_scores(q, k, w, beta, *, log_forget=None, gate='plain', scale=None)",
    "inkling_scale(positions, length, *, alpha=0.1)",
    "attention(q, k, v, *, bias=None, mask=None, scale=None)",
    "read_config(path_or_mapping, *, framework='transformers', seq_len=None)",
]


def written(name: str) -> str:
    signature = inspect.signature(getattr(posref, name))
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return name + str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


@pytest.mark.parametrize("line", CONTRACT, ids=lambda line: line.split("(")[0])
def test_the_contract(line: str) -> None:
    assert written(line.split("(")[0]) == line


LATER = {"read_config"}  # imported when it is asked for


def public_names(module: ModuleType) -> set[str]:
    """What a module has that is neither private nor a module of its own."""
    return {name for name, value in vars(module).items() if not (name.startswith("_") or inspect.ismodule(value))}


def test_all_is_complete_and_sorted() -> None:
    assert set(posref.__all__) == public_names(posref) | {"__version__", *LATER}
    assert posref.__all__ == sorted(posref.__all__)
    assert {line.split("(")[0] for line in CONTRACT} <= set(posref.__all__)


def test_what_is_imported_later() -> None:
    """By every way to ask for it, and nothing else by that way."""
    models = importlib.import_module("posref.models")
    assert posref.read_config is models.read_config
    assert set(dir(posref)) >= LATER
    with pytest.raises(AttributeError, match="module 'posref' has no attribute 'read_configs'"):
        posref.read_configs  # noqa: B018


def test_a_name_that_is_left_out_is_noticed() -> None:
    module = ModuleType("package")
    vars(module).update(_private=1, inspect=inspect, rope=lambda: None)
    assert public_names(module) == {"rope"}


def hidden(package: ModuleType) -> set[str]:
    """Modules that bear the name of something that their package exports."""
    found = set()
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        parent, _, name = module.name.rpartition(".")
        parent_module = importlib.import_module(parent)
        exported = getattr(parent_module, name, None)
        if name in getattr(parent_module, "__all__", []) or not (exported is None or inspect.ismodule(exported)):
            found.add(module.name)
    return found


def test_no_module_bears_the_name_of_a_function() -> None:
    assert hidden(posref) == set()


def test_a_module_that_does_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`import package.rope` would put the module where the function was."""
    files = {
        "__init__.py": "from shadowing.rope import rope\n",
        "rope.py": "def rope(): ...\n",
        "other.py": "",
        "inner/__init__.py": "learned = 1\n__all__ = ['learned']\n",
        "inner/learned.py": "",
    }
    for name, text in files.items():
        path = tmp_path / "shadowing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert hidden(importlib.import_module("shadowing")) == {"shadowing.rope", "shadowing.inner.learned"}
    for name in [name for name in sys.modules if name.split(".")[0] == "shadowing"]:
        monkeypatch.delitem(sys.modules, name)


def test_records_are_equal_hashable_and_frozen() -> None:
    lists = posref.LongRopeScaling([1.0], [2.0], 64)
    tuples = posref.LongRopeScaling((1.0,), (2.0,), 64)
    assert lists == tuples
    assert len({lists, tuples, posref.LinearScaling(2.0), posref.NTKScaling(2.0)}) == 3
    with pytest.raises(AttributeError):
        lists.factor = 2.0  # type: ignore[misc]


def test_a_record_does_not_follow_the_list_that_it_was_made_of() -> None:
    factors = [1.0, 2.0]
    record = posref.LongRopeScaling(factors, factors, 64)
    factors[0] = 9.0
    assert record.short_factor == (1.0, 2.0)
