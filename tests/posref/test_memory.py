"""Beside its result, a table, bias or scale needs at most 16 MiB, however large it is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import posref
from posref import NTKScaling

MIB = 2**20
SOURCE = np.random.default_rng(1)
LONG = np.arange(40000)
WIDE = np.arange(1500)
FREQUENCIES = posref.rope_inv_freq(128)
AXES = posref.rope_axis_map((24, 20, 20), rule="interleaved")
GRID = np.stack([LONG, LONG[::-1], LONG // 7])
MANY = np.arange(2400000) % 4001
FEW = MANY // 100
SHIFTS, SPEAKERS = MANY[::-1] / 7, np.repeat(SOURCE.normal(size=600), 4000)
TILED, SHORT = np.tile(WIDE, 2000), np.tile(WIDE, 20)
MIXED = SOURCE.normal(size=(3, 4, 64))
DISTANCES = np.zeros((1, 700, 700))
VECTORS = SOURCE.normal(size=(5, 700, 8))

# name -> a call whose result is larger than what may be needed beside it; the first word is the function
CALLS: dict[str, Callable[[], Any]] = {
    "alibi_bias distance": lambda: posref.alibi_bias([0.5, 0.25], WIDE, WIDE),
    "alibi_bias signed": lambda: posref.alibi_bias([0.5], [WIDE, WIDE], WIDE + 0.1, form="signed"),
    "alibi_bias key": lambda: posref.alibi_bias([0.5, 0.25], WIDE, WIDE, form="key"),
    "alibi_bias past": lambda: posref.alibi_bias([0.5], WIDE, WIDE, form="past"),
    "alibi_bias sqrt": lambda: posref.alibi_bias([0.5], WIDE, WIDE, form="sqrt"),
    "alibi_bias key_first": lambda: posref.alibi_bias([0.5], WIDE, WIDE, form="key_first"),
    "alibi_bias two sides": lambda: posref.alibi_bias([0.5], WIDE, WIDE, future_slopes=[0.2]),
    "cape_positions": lambda: posref.cape_positions(MANY, SHIFTS, SPEAKERS, centre=True),
    "cosine_scale": lambda: posref.cosine_scale(SPEAKERS),
    "dual_chunk_distance": lambda: posref.dual_chunk_distance(2 * WIDE, np.arange(2000), 700, 100),
    "fire_distance": lambda: posref.fire_distance(WIDE, WIDE, 0.1, 512.0),
    "fire_distance floats": lambda: posref.fire_distance(
        np.tile(WIDE[::50] / 7, 40), np.tile(WIDE[::9] / 3, 11), 0.1, 2.0
    ),
    "kerple_bias": lambda: posref.kerple_bias([0.5], [0.3], WIDE, WIDE),
    "log_offset": lambda: posref.log_offset(FEW),
    "log_offset extent": lambda: posref.log_offset(FEW, extent=700),
    "log_n_scale": lambda: posref.log_n_scale(TILED, 100),
    "llama4_scale": lambda: posref.llama4_scale(TILED, floor_scale=100),
    "rerope_distance": lambda: posref.rerope_distance(2 * WIDE, np.arange(2000), 700),
    "rerope_distance leaky": lambda: posref.rerope_distance(2 * WIDE, np.arange(2000), 700, factor=3.0),
    "rope_axes_cos_sin": lambda: posref.rope_axes_cos_sin(GRID, FREQUENCIES, AXES),
    "rope_axes_table": lambda: posref.rope_axes_table(GRID, AXES, ladder="per_axis"),
    "rope_cos_sin": lambda: posref.rope_cos_sin(LONG, FREQUENCIES, attention_factor=1.19),
    "rope_cos_sin floats": lambda: posref.rope_cos_sin(SOURCE.uniform(-1e3, 1e3, 40000), FREQUENCIES),
    "rope_mixed_cos_sin": lambda: posref.rope_mixed_cos_sin(GRID[:, :8000], MIXED),
    "rope_scores": lambda: posref.rope_scores(VECTORS, VECTORS, DISTANCES, [1.0, 0.1]),
    "rope_table": lambda: posref.rope_table(LONG, 128, scaling=NTKScaling(8.0)),
    "sandwich_bias": lambda: posref.sandwich_bias(1, WIDE, WIDE),
    "sandwich_bias floats": lambda: posref.sandwich_bias(400, VECTORS[:, :18, 0], VECTORS[:, :60, 1], dim=8),
    "self_extend_distance": lambda: posref.self_extend_distance(2 * WIDE, np.arange(2000), 7, 700),
    "sinusoidal": lambda: posref.sinusoidal(LONG, 128),
    "sinusoidal concatenated": lambda: posref.sinusoidal(LONG, 128, layout="concatenated", order="cos_sin"),
    "sinusoidal odd": lambda: posref.sinusoidal(LONG, 129, odd="zero", padding_idx=1),
    "sinusoidal_axes": lambda: posref.sinusoidal_axes(GRID, 130),
    "sinusoidal_axes in turn": lambda: posref.sinusoidal_axes(GRID, 130, layout="band_wave_axis"),
    "fourier_features": lambda: posref.fourier_features(GRID[:2] / 7, FREQUENCIES, include_input=True),
    "ssmax_scale": lambda: posref.ssmax_scale(SHORT, np.linspace(0.1, 1, 100)),
    "t5_bias": lambda: posref.t5_bias(np.ones((32, 3)), 2 * WIDE, WIDE),
    "timestep_embedding": lambda: posref.timestep_embedding(LONG / 40, 129),
    "xpos_scale": lambda: posref.xpos_scale(LONG, 128, centre=0),
}

# posref.__all__ without these is in CALLS
OF_OTHER_SIZE = {
    "attention, linear_attention": "the judges hold the matrix of weights",
    "rope, rope_apply, rope_apply_channels, pope_apply, rope_permute_weight": "as large as what is given, and copied",
    "fope_cos_sin": "a sum over tables that it has to make first",
    "grid_positions, grid_coordinates, rope_axis_map, cu_seqlens_positions, t5_bucket, learned": "integers, look-ups",
    "alibi_slopes, rope_inv_freq, rope_axes_inv_freq, rope_pixel_freq": "a row of numbers",
    "length_scale, rope_attention_factor, rope_softmax_factor": "one number",
    "relative_bias, relative_scores, relative_values, disentangled_scores, position_mlp": "sums over data",
    "bias_gate, cope_scores, decomposed_bias, forget_bias, path_scores, untied_scores": "the same",
    "indexed_bias, relative_shift, long_t5_blocks, reset_cls": "look-ups",
    "inkling_scale": "as log_n_scale",
    "deberta_bucket, permuted_channels, relative_index, relative_position_index, query_positions": "integers",
    "mask_positions": "integers",
    "mask_coordinates": "from the distinct counts: an index of each pixel is held beside the result",
    "frequency_bands": "a row of numbers",
    "resample_table, hierarchical_table": "sums over data",
    "RopeHistory, read_config": "rows of numbers, a description",
}


def beside(call: Callable[[], Any]) -> tuple[int, int]:
    """Bytes at the peak beyond the result's, and the result's."""
    tracemalloc.start()
    try:
        result = call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    held = sum(part.nbytes for part in (result if isinstance(result, tuple) else (result,)))
    return peak - held, held


@pytest.mark.parametrize("name", CALLS)
def test_memory(name: str) -> None:
    spent, held = beside(CALLS[name])
    print(f"{name}: {spent / MIB:.1f} MiB beside {held / MIB:.1f} MiB")
    assert held >= 16 * MIB
    assert spent <= 16 * MIB


def test_a_second_copy_is_seen() -> None:
    spent, held = beside(lambda: np.concatenate(list(posref.rope_table(LONG, 128)), axis=-1))
    assert spent > held > 16 * MIB


def test_no_function_is_missing() -> None:
    functions = {name for name in posref.__all__ if callable(getattr(posref, name)) and "Scaling" not in name}
    other = {name for names in OF_OTHER_SIZE for name in names.split(", ")}
    assert functions == {name.split()[0] for name in CALLS} | other
    assert not other & {name.split()[0] for name in CALLS}
