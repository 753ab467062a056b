"""torch.compile takes every function as one graph, and torch.export too."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import posref
import posref_torch
from posref_array._frequencies import CONSTANTS

# torch's own compiler imports a part that is made with torch.jit, which torch itself calls deprecated; any other warning fails
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")

g = torch.Generator().manual_seed(11)
P = torch.tensor([3, 0, 7, 131071, 2])
X = torch.randn(2, 3, 5, 10, generator=g)
COS, SIN = torch.randn(5, 4, generator=g), torch.randn(5, 4, generator=g)
W, ROWS, SLOPES = torch.rand(4, generator=g), torch.randn(32, 3, generator=g), torch.rand(3, generator=g)
MAP = torch.tensor([0, 1, 2, 0])
KEYS = torch.randn(5, 10, generator=g)
MASK = torch.ones(5, 5, dtype=torch.bool).tril(-1)
YARN = posref.YarnScaling(4.0, 64)
SCALINGS = {  # one field, a ramp, a ramp by rotations, lists
    "linear": posref.LinearScaling(4.0),
    "yarn-paper": posref.YarnScaling(4.0, 64, ramp="rotations"),
    "llama3": posref.Llama3Scaling(8.0, 64, 1.0, 4.0),
    "longrope": posref.LongRopeScaling([1.0, 1.1, 1.5, 2.0], [1.0, 2.0, 4.0, 8.0], 64, factor=4.0),
}
ROTATION = {"layout": "interleaved", "output_layout": "half", "offset": 1, "inverse": True}
TURNING = {"q_positions": P, "k_positions": P, "inv_freq": W}
UNTRACEABLE = {"cu_seqlens_positions"}  # its values are a shape


def every_function(x: torch.Tensor, p: torch.Tensor) -> dict[str, Any]:
    """A call of each, whose argument names say what it is."""
    return {
        "rope_inv_freq": lambda: posref_torch.rope_inv_freq(8, scaling=YARN),
        "rope_attention_factor": lambda: x * posref_torch.rope_attention_factor(YARN),
        "rope_cos_sin": lambda: posref_torch.rope_cos_sin(p, W, attention_factor=1.5),
        "rope_table": lambda: posref_torch.rope_table(p, 8, scaling=YARN),
        "rope_apply": lambda: posref_torch.rope_apply(x, COS, SIN, **ROTATION),
        "rope_apply to out": lambda: posref_torch.rope_apply(x, COS, SIN, out=torch.empty_like(x), **ROTATION),
        "rope": lambda: posref_torch.rope(x, p, dim=8, scaling=YARN),
        "rope in bfloat16": lambda: posref_torch.rope(x.bfloat16(), p),
        "rope_axis_map": lambda: posref_torch.rope_axis_map((2, 1, 1), rule="interleaved"),
        "rope_axes_inv_freq": lambda: posref_torch.rope_axes_inv_freq(MAP, base=500.0, scaling=YARN),
        "rope_axes_cos_sin": lambda: posref_torch.rope_axes_cos_sin(p.expand(3, -1), W, MAP, attention_factor=1.5),
        "rope_axes_table": lambda: posref_torch.rope_axes_table(p.expand(3, -1), MAP, scaling=YARN),
        "rope_mixed_cos_sin": lambda: posref_torch.rope_mixed_cos_sin(p.expand(2, -1), ROWS[:6].reshape(2, 3, 3)),
        "rope_apply_channels": lambda: posref_torch.rope_apply_channels(x, COS, SIN, layout="interleaved", offset=3),
        "grid_positions": lambda: posref_torch.grid_positions((2, 4), block=(1, 2), start=(0, -2)),
        "grid_coordinates": lambda: posref_torch.grid_coordinates((2, 3), normalize="max"),
        "sinusoidal": lambda: posref_torch.sinusoidal(p, 6, endpoint=True),
        "timestep_embedding": lambda: posref_torch.timestep_embedding(p, 7, freq_dtype="bfloat16"),
        "sinusoidal_axes": lambda: posref_torch.sinusoidal_axes(p.expand(2, -1), 9, layout="axis_band_wave"),
        "frequency_bands": lambda: posref_torch.frequency_bands(4, 1, 9, spacing="log"),
        "fourier_features": lambda: posref_torch.fourier_features(p.expand(2, -1), W, unit="turns", include_input=True),
        "resample_table": lambda: posref_torch.resample_table(ROWS, (4, 8), (3, 5), antialias=True),
        "hierarchical_table": lambda: posref_torch.hierarchical_table(ROWS, 40),
        "mask_positions": lambda: posref_torch.mask_positions(MASK, first=2, padding=1, largest=4, restart=True),
        "mask_coordinates": lambda: posref_torch.mask_coordinates(MASK, scale=6.28),
        "learned": lambda: posref_torch.learned(ROWS, p % 32),
        "alibi_slopes": lambda: posref_torch.alibi_slopes(6),
        "alibi_bias": lambda: posref_torch.alibi_bias(SLOPES, p, p),
        "t5_bucket": lambda: posref_torch.t5_bucket(p - 5),
        "t5_bias": lambda: posref_torch.t5_bias(ROWS, p, p),
        "query_positions": lambda: posref_torch.query_positions(2, 5),
        "long_t5_blocks": lambda: posref_torch.long_t5_blocks(p < 7, 3),
        "relative_position_index": lambda: posref_torch.relative_position_index((2, 3), class_token=True, reach=(1, 1)),
        "indexed_bias": lambda: posref_torch.indexed_bias(ROWS, p[:, None] % 32 - 1 + 0 * p),
        "log_offset": lambda: posref_torch.log_offset(p - 5, extent=7),
        "cosine_scale": lambda: posref_torch.cosine_scale(x),
        "position_mlp": lambda: posref_torch.position_mlp(x[..., :3], ROWS, ROWS[:, 0], ROWS.T, activation="silu"),
        "kerple_bias": lambda: posref_torch.kerple_bias(SLOPES, SLOPES, p, p, form="power"),
        "sandwich_bias": lambda: posref_torch.sandwich_bias(3, p, p, dim=8),
        "fire_distance": lambda: posref_torch.fire_distance(p, p, 0.1, 4.0),
        "cape_positions": lambda: posref_torch.cape_positions(p, x[0, 0, :, 0], x[0, 0, :1, 0], centre=True),
        "attention": lambda: posref_torch.attention(x, x, x, bias=torch.zeros(3, 5, 5), mask=MASK),
        "rope_pixel_freq": lambda: posref_torch.rope_pixel_freq(8, 10.0, spacing="log"),
        "rope_softmax_factor": lambda: x * posref_torch.rope_softmax_factor(YARN),
        "log_n_scale": lambda: posref_torch.log_n_scale(p, 512),
        "ssmax_scale": lambda: posref_torch.ssmax_scale(p, SLOPES, bias=SLOPES),
        "llama4_scale": lambda: posref_torch.llama4_scale(p, floor_scale=64),
        "length_scale": lambda: x * posref_torch.length_scale(4096, 64),
        "rerope_distance": lambda: posref_torch.rerope_distance(p, p, 3, factor=2.0),
        "self_extend_distance": lambda: posref_torch.self_extend_distance(p, p, 4, 6),
        "dual_chunk_distance": lambda: posref_torch.dual_chunk_distance(p, p, 8, 2),
        "rope_scores": lambda: posref_torch.rope_scores(x, x, p[:, None] - p, W),
        "xpos_scale": lambda: posref_torch.xpos_scale(p, 8, centre=3),
        "fope_cos_sin": lambda: posref_torch.fope_cos_sin(p, W, ROWS[:4], ROWS[4:8], 5),
        "pope_apply": lambda: posref_torch.pope_apply(x, p, bias=-SIN[0, :1].abs()),
        "rope_permute_weight": lambda: posref_torch.rope_permute_weight(
            ROWS, 4, to="interleaved", rotary_dim=4, offset=1
        ),
        "relative_index": lambda: posref_torch.relative_index(p - 5, 3, 2),
        "relative_shift": lambda: posref_torch.relative_shift(x, 4, outside="zero"),
        "relative_shift in XLNet": lambda: posref_torch.relative_shift(x, 4, rule="xlnet"),
        "relative_shift in Gemma 3n": lambda: posref_torch.relative_shift(x, 9, rule="gemma-3n"),
        "relative_bias": lambda: posref_torch.relative_bias(x, KEYS, p[:, None] % 4 - 1, side="query"),
        "relative_values": lambda: posref_torch.relative_values(MASK.float(), KEYS, (p[:, None] - p) % 5 - 1),
        "relative_scores": lambda: posref_torch.relative_scores(x, x, KEYS, (p[:, None] - p) % 5, key_term=True),
        "deberta_bucket": lambda: posref_torch.deberta_bucket(p - 5, num_buckets=8, max_distance=20),
        "disentangled_scores": lambda: posref_torch.disentangled_scores(x, x, p[:, None] - p, pos_q=KEYS[:4]),
        "permuted_channels": lambda: posref_torch.permuted_channels(p.argsort(), p),
        "untied_scores": lambda: posref_torch.untied_scores(x, x, pos_q=x[0], pos_k=x[1]),
        "decomposed_bias": lambda: posref_torch.decomposed_bias(x[..., :4, :], KEYS[:3], KEYS[:5], (2, 2), (2, 3)),
        "bias_gate": lambda: posref_torch.bias_gate(x[..., :8], SLOPES),
        "reset_cls": lambda: posref_torch.reset_cls(x, SLOPES, -SLOPES),
        "forget_bias": lambda: posref_torch.forget_bias(-x.abs(), backward=-x.square(), num_queries=4),
        "cope_scores": lambda: posref_torch.cope_scores(x, x, KEYS[:4], mask=MASK),
        "path_scores": lambda: posref_torch.path_scores(x, x, x / 5, x[..., 0].abs(), log_forget=-x[..., 1].abs()),
        "inkling_scale": lambda: posref_torch.inkling_scale(p, 64),
        "linear_attention": lambda: posref_torch.linear_attention(x, x, x, mask=MASK, **TURNING),
    }


def test_every_function_is_here() -> None:
    called = {name.partition(" ")[0] for name in every_function(X, P)}
    assert called == {*posref_torch.__all__} - {"arrays"} - UNTRACEABLE


@pytest.mark.parametrize("dynamic", [None, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", every_function(X, P))
def test_one_graph(traced: str, name: str, dynamic: bool | None) -> None:
    def function(x: torch.Tensor, p: torch.Tensor) -> Any:
        return every_function(x, p)[name]()

    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend=traced)
    torch.testing.assert_close(compiled(X, P), function(X, P))


def test_a_graph_break_would_be_seen(traced: str) -> None:
    """The planted fault: a look at a value, as a check of positions would be."""

    def function(x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return posref_torch.rope(x, p) if p.max() > 2 else x

    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(function, fullgraph=True, backend=traced)(X, P)


def test_constants_are_marked_as_torch_marks_them() -> None:
    """The mark is set by hand, so that the compiler is imported by those who compile: torch must still mean the same."""
    marked = torch.compiler.assume_constant_result(lambda: None)
    assert vars(marked)
    assert all(vars(function).items() >= vars(marked).items() for function in CONSTANTS)


def test_the_compiler_is_imported_by_those_who_compile() -> None:
    code = "import sys, posref_torch; sys.exit('torch._dynamo' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


@pytest.mark.parametrize("scaling", SCALINGS.values(), ids=SCALINGS)
def test_numbers_are_constants_of_a_dynamic_graph(traced: str, scaling: Any) -> None:
    """Where torch makes symbols of base and of the scaling's fields, and those decide the blend."""

    def function(x: torch.Tensor, p: torch.Tensor, base: float, scaling: Any) -> Any:
        return posref_torch.rope(x, p, dim=8, base=base, scaling=scaling, seq_len=128)

    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend=traced)
    for base in (10000.0, 500000.0):
        torch.testing.assert_close(compiled(X, P, base, scaling), function(X, P, base, scaling))
    assert not torch.allclose(compiled(X, P, 10000.0, scaling), compiled(X, P, 500000.0, scaling))


@pytest.mark.parametrize("name", ["rope", "rope_apply"])
def test_a_dynamic_graph_serves_all_lengths(traced: str, name: str) -> None:
    counter = CompileCounterWithBackend(traced)
    function: Callable[..., Any] = posref_torch.rope if name == "rope" else posref_torch.rope_apply
    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend=counter)
    for batch, length in ((2, 5), (3, 8), (7, 64)):
        x, p = torch.randn(batch, 4, length, 8), torch.arange(length)
        given = (x, p) if name == "rope" else (x, *posref_torch.rope_table(p, 8))
        torch.testing.assert_close(compiled(*given), function(*given))
    assert counter.frame_count == 1


# one of each kind: what else there is differs in the numbers alone, and machine code takes its time
TO_MACHINE_CODE = (
    "rope_apply",
    "rope in bfloat16",
    "timestep_embedding",
    "learned",
    "alibi_bias",
    "t5_bias",
    "attention",
)


def test_the_compiler_itself(compiler: str) -> None:
    """Made to machine code in one graph: it keeps more than eager's roundings, never fewer."""

    def function(x: torch.Tensor, p: torch.Tensor) -> dict[str, Any]:
        calls = every_function(x, p)
        return {name: calls[name]() for name in TO_MACHINE_CODE}

    compiled, expected = torch.compile(function, fullgraph=True, backend=compiler)(X, P), function(X, P)
    for name, y in expected.items():
        # float32: another order of a few roundings of numbers up to 10; bfloat16: one cast, of which half an ulp may differ
        tolerance = {"rtol": 2.0**-7, "atol": 2.0**-7} if "bfloat16" in name else {"rtol": 2.0**-21, "atol": 2.0**-20}
        torch.testing.assert_close(compiled[name], y, **tolerance, msg=lambda m, name=name: f"{name}: {m}")


def test_the_gradient_is_traced_too(traced: str) -> None:
    x = X.clone().requires_grad_()
    compiled = torch.compile(posref_torch.rope_apply, fullgraph=True, backend=f"aot_{traced}")
    (got,) = torch.autograd.grad(compiled(x, COS, SIN).square().sum(), x)
    (expected,) = torch.autograd.grad(posref_torch.rope_apply(x, COS, SIN).square().sum(), x)
    # 2 x again, by two rotations in another order of roundings: each within 2 * 2^-24 (|a| + |b|) < 2^-21, times 2
    torch.testing.assert_close(got, expected, rtol=2.0**-20, atol=2.0**-20)


class Rope(torch.nn.Module):
    def forward(self, x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return posref_torch.rope(x, p, dim=8, scaling=YARN)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "non-strict"])
def test_export(strict: bool) -> None:
    length = torch.export.Dim("length", min=2, max=100000)
    shapes = {"x": {2: length}, "p": {0: length}}
    exported = torch.export.export(Rope(), (X, P), dynamic_shapes=shapes, strict=strict).module()
    torch.testing.assert_close(exported(X, P), Rope()(X, P))
    x, p = torch.randn(2, 3, 33, 10), torch.arange(33)
    torch.testing.assert_close(exported(x, p), Rope()(x, p))
