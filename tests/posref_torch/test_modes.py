"""Under torch's modes and transforms: the same numbers, in the types that were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import posref
import posref_torch
from posref_torch import _rotation

P = torch.tensor([3, 0, 7, 131071, 2])
g = torch.Generator().manual_seed(3)
X, ROWS, SLOPES = torch.randn(2, 3, 5, 8, generator=g), torch.randn(32, 3, generator=g), torch.tensor([0.5, 0.3])
COS, SIN = posref_torch.rope_table(P, 8)
BIAS, MASK = torch.randn(3, 5, 5, generator=g), torch.ones(5, 5, dtype=torch.bool).tril()


@pytest.fixture(autouse=True)
def eager_to_write_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small as they are, tensors here take the path of large ones wherever nothing forbids it, row by row."""
    monkeypatch.setattr(_rotation, "BLOCK", 0)


def every_value(device: str | None = None) -> dict[str, Any]:
    """What each function returns, for arguments on a device."""
    axis_map = torch.tensor([0, 1, 2, 0], device=device or "cpu")
    x, p, rows, slopes, cos, sin, bias, mask = (
        t.to(device or "cpu") for t in (X, P, ROWS, SLOPES, COS, SIN, BIAS, MASK)
    )
    return {
        "rope_inv_freq": posref_torch.rope_inv_freq(8, dtype=torch.float32, device=device),
        "rope_cos_sin": posref_torch.rope_cos_sin(p, cos[0].abs()),
        "rope_table": posref_torch.rope_table(p, 8, dtype=torch.float32),
        "rope_apply": posref_torch.rope_apply(x, cos, sin),
        "rope_apply, out": posref_torch.rope_apply(x, cos, sin, out=torch.empty_like(x)),
        "rope_apply, part": posref_torch.rope_apply(x, cos[:, :2], sin[:, :2], layout="interleaved", offset=1),
        "rope": posref_torch.rope(x, p),
        "rope, bfloat16": posref_torch.rope(x.bfloat16(), p),
        "rope_axis_map": posref_torch.rope_axis_map((2, 1, 1), rule="interleaved", device=device),
        "rope_axes_inv_freq": posref_torch.rope_axes_inv_freq(axis_map, dtype=torch.float32),
        "rope_axes_cos_sin": posref_torch.rope_axes_cos_sin(p.expand(3, -1), cos[0].abs(), axis_map),
        "rope_axes_table": posref_torch.rope_axes_table(p.expand(3, -1), axis_map, dtype=torch.float32),
        "rope_mixed_cos_sin": posref_torch.rope_mixed_cos_sin(p.expand(2, -1), rows[:6].reshape(2, 3, 3)),
        "rope_apply_channels": posref_torch.rope_apply_channels(x, cos, sin, offset=1),
        "grid_positions": posref_torch.grid_positions((2, 4), block=(1, 2), device=device),
        "grid_coordinates": posref_torch.grid_coordinates((2, 3), dtype=torch.float32, device=device),
        "sinusoidal": posref_torch.sinusoidal(p, 6, dtype=torch.float32),
        "timestep_embedding": posref_torch.timestep_embedding(p, 7, dtype=torch.float32),
        "sinusoidal_axes": posref_torch.sinusoidal_axes(
            p.expand(2, -1), 9, layout="axis_band_wave", dtype=torch.float32
        ),
        "frequency_bands": posref_torch.frequency_bands(4, 1, 9, spacing="log", dtype=torch.float32, device=device),
        "fourier_features": posref_torch.fourier_features(p.expand(2, -1), cos[0].abs(), include_input=True),
        "resample_table": posref_torch.resample_table(rows, (4, 8), (3, 5)),
        "hierarchical_table": posref_torch.hierarchical_table(rows, 40),
        "mask_positions": posref_torch.mask_positions(mask, first=2, padding=1),
        "mask_coordinates": posref_torch.mask_coordinates(mask, scale=6.28, dtype=torch.float32),
        "learned": posref_torch.learned(rows, p % 32),
        "alibi_slopes": posref_torch.alibi_slopes(6, dtype=torch.float32, device=device),
        "alibi_bias": posref_torch.alibi_bias(slopes, p, p),
        "t5_bucket": posref_torch.t5_bucket(p - 5),
        "t5_bias": posref_torch.t5_bias(rows, p, p),
        "query_positions": posref_torch.query_positions(2, 5, device=device),
        "long_t5_blocks": posref_torch.long_t5_blocks(p < 7, 3),
        "relative_position_index": posref_torch.relative_position_index((2, 3), class_token=True, device=device),
        "indexed_bias": posref_torch.indexed_bias(rows, p[:, None] % 32 - 1 + 0 * p),
        "log_offset": posref_torch.log_offset(p - 5, extent=7, dtype=torch.float32),
        "cosine_scale": posref_torch.cosine_scale(x),
        "position_mlp": posref_torch.position_mlp(x[..., :3], rows, rows[:, 0], rows.T),
        "kerple_bias": posref_torch.kerple_bias(slopes, slopes, p, p),
        "sandwich_bias": posref_torch.sandwich_bias(3, p, p, dim=8, dtype=torch.float32),
        "fire_distance": posref_torch.fire_distance(p, p, 0.1, 4.0, dtype=torch.float32),
        "cape_positions": posref_torch.cape_positions(p, x[0, 0, :, 0], x[0, 0, :1, 0]),
        "attention": posref_torch.attention(x, x, x, bias=bias, mask=mask),
        "rope_pixel_freq": posref_torch.rope_pixel_freq(8, 10.0, dtype=torch.float32, device=device),
        "log_n_scale": posref_torch.log_n_scale(p, 512, dtype=torch.float32),
        "ssmax_scale": posref_torch.ssmax_scale(p, slopes, bias=slopes),
        "llama4_scale": posref_torch.llama4_scale(p, floor_scale=64, dtype=torch.float32),
        "rerope_distance": posref_torch.rerope_distance(p, p, 3, factor=2.0),
        "self_extend_distance": posref_torch.self_extend_distance(p, p, 4, 6),
        "dual_chunk_distance": posref_torch.dual_chunk_distance(p, p, 8, 2),
        "rope_scores": posref_torch.rope_scores(x, x, p[:, None] - p, cos[0, :3].abs()),
        "xpos_scale": posref_torch.xpos_scale(p, 8, centre=3, dtype=torch.float32),
        "fope_cos_sin": posref_torch.fope_cos_sin(p, cos[0].abs(), rows[:4], rows[4:8], 5),
        "pope_apply": posref_torch.pope_apply(x, p, bias=-cos[0, :1].abs()),
        "rope_permute_weight": posref_torch.rope_permute_weight(rows, 4, rotary_dim=4, offset=1),
        "relative_index": posref_torch.relative_index(p - 5, 3, 2),
        "relative_shift": posref_torch.relative_shift(x, 4),
        "relative_bias": posref_torch.relative_bias(x, rows.mT[:, :8], p[:, None] % 4 - 1),
        "relative_values": posref_torch.relative_values(bias, rows, (p[:, None] - p) % 8 - 1),
        "relative_scores": posref_torch.relative_scores(x, x, x[0, 0], (p[:, None] - p) % 5, content_bias=x[0, :, 0]),
        "deberta_bucket": posref_torch.deberta_bucket(p - 5),
        "disentangled_scores": posref_torch.disentangled_scores(x, x, p[:, None] - p, pos_k=x[0, :, :4]),
        "permuted_channels": posref_torch.permuted_channels(p.argsort(), p),
        "untied_scores": posref_torch.untied_scores(x, x, pos_q=x[0], pos_k=x[0]),
        "decomposed_bias": posref_torch.decomposed_bias(x[..., :4, :], x[0, 0, :3], x[0, 1], (2, 2), (2, 3)),
        "bias_gate": posref_torch.bias_gate(x, bias[:, 0, 0]),
        "reset_cls": posref_torch.reset_cls(bias, bias[:, 0, 0], bias[:, 1, 1]),
        "forget_bias": posref_torch.forget_bias(-x.abs(), backward=-x.square(), num_queries=4),
        "cope_scores": posref_torch.cope_scores(x, x, x[0, 0, :4], mask=mask),
        "path_scores": posref_torch.path_scores(x, x, x / 5, x[..., 0].abs(), log_forget=-x[..., 1].abs()),
        "inkling_scale": posref_torch.inkling_scale(p, 64, dtype=torch.float32),
        "linear_attention": posref_torch.linear_attention(
            x, x, x, q_positions=p, k_positions=p, inv_freq=cos[0].abs(), mask=mask
        ),
    }


PLAIN = every_value()
NUMBERS = {"rope_attention_factor", "rope_softmax_factor", "length_scale"}


def test_every_function_is_here() -> None:
    called = {name.partition(",")[0] for name in PLAIN}
    assert called == {*posref_torch.__all__} - {"arrays", "cu_seqlens_positions"} - NUMBERS


def same(got: dict[str, Any]) -> None:
    for name, expected in PLAIN.items():
        pairs = zip(got[name], expected, strict=True) if isinstance(expected, tuple) else [(got[name], expected)]
        for a, b in pairs:
            assert a.dtype == b.dtype, name
            assert torch.equal(a, b), name


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad], ids=lambda m: m.__name__)
def test_gradient_modes(mode: Any) -> None:
    with mode():
        same(every_value())


def test_results_of_inference_mode_rotate_on() -> None:
    with torch.inference_mode():
        cos, sin = posref_torch.rope_table(P, 8, dtype=torch.float32)
        x = X + 0.0
    assert torch.equal(posref_torch.rope_apply(x, cos, sin), PLAIN["rope_apply"])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_changes_no_number(dtype: torch.dtype) -> None:
    with torch.autocast("cpu", dtype=dtype):
        same(every_value())
        # the planted fault: the angle as an outer product, which autocast makes in 16 bits
        angle = P.float()[:, None] @ posref_torch.rope_inv_freq(8)[None, :]
    assert angle.dtype == dtype
    assert not torch.allclose(angle.float().cos(), COS, atol=0.1)


def test_autocast_with_a_gradient() -> None:
    x = X.clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, z = posref_torch.rope_apply(x, COS, SIN), posref_torch.attention(x, x, x, bias=BIAS, mask=MASK)
    assert y.dtype == z.dtype == torch.float32
    assert torch.equal(z, PLAIN["attention"])
    # with an fma or without: a product below 4 is rounded once more or less, 4 * 2^-24
    torch.testing.assert_close(y, PLAIN["rope_apply"], rtol=2.0**-22, atol=2.0**-22)


@pytest.fixture
def default_dtype() -> Iterator[None]:
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("default_dtype")
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_the_default_type(dtype: torch.dtype) -> None:
    """It is the type of what has no other, and changes no number of the rest; its tables are rounded once."""
    torch.set_default_dtype(dtype)
    same(every_value())
    free = posref_torch.rope_table(P, 8), (posref_torch.sinusoidal(P, 8),), (posref_torch.alibi_slopes(6),)
    assert {t.dtype for result in free for t in result} == {dtype}
    exact = torch.tensor(posref.rope_table(P.numpy(), 8)[0])
    u = torch.finfo(dtype).eps / 2
    assert ((free[0][0].double() - exact).abs() <= u * exact.abs() + 14 * 2.0**-53 * 131071).all()
    rounded_inv_freq = posref_torch.rope_inv_freq(8).double()  # the planted fault: the frequencies in this type
    if dtype != torch.float64:
        assert not ((P.double()[:, None] * rounded_inv_freq).cos() - exact).abs().max() < 0.1


def test_meta_tensors_have_the_shapes_and_types() -> None:
    for name, result in every_value("meta").items():
        results, plain = (t if isinstance(t, tuple) else (t,) for t in (result, PLAIN[name]))
        for a, b in zip(results, plain, strict=True):
            assert a.is_meta, name
            assert (a.shape, a.dtype) == (b.shape, b.dtype), name


def test_a_default_device_decides_only_where_nothing_else_does() -> None:
    with torch.device("meta"):
        same({**every_value("cpu")})
        assert posref_torch.rope_inv_freq(8).is_meta
        assert posref_torch.alibi_slopes(4).is_meta


@pytest.mark.parametrize("dims", [(0, None, None), (None, 0, 0), (0, 0, 0), (1, None, None), (0, None, 0)], ids=str)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_vmap_of_the_rotation(dims: tuple[int | None, ...], layout: str) -> None:
    def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return posref_torch.rope_apply(x, cos, sin, layout=layout, offset=1)

    given = [torch.randn(4, 3, 5, 8, generator=g), torch.randn(4, 5, 3, generator=g), torch.randn(4, 5, 3, generator=g)]
    given = [t if d is not None else t[0] for t, d in zip(given, dims, strict=True)]
    got = torch.func.vmap(rotate, in_dims=dims)(*given)
    n = next(t.shape[d] for t, d in zip(given, dims, strict=True) if d is not None)
    rows = [rotate(*(t if d is None else t.select(d, i) for t, d in zip(given, dims, strict=True))) for i in range(n)]
    # with an fma or without: a product below 4 is rounded once more or less, 4 * 2^-24
    torch.testing.assert_close(got, torch.stack(rows), rtol=2.0**-22, atol=2.0**-22)


def test_vmap_of_other_functions() -> None:
    positions = torch.stack([P, P + 1])
    for function in (
        lambda p: posref_torch.rope(X, p),
        lambda p: posref_torch.rope_table(p, 8)[0],
        lambda p: posref_torch.sinusoidal(p, 8),
        lambda p: posref_torch.alibi_bias(SLOPES, p, P),
        lambda p: posref_torch.t5_bias(ROWS, p, P),
        lambda p: posref_torch.learned(ROWS, p % 32),
    ):
        expected = torch.stack([function(p) for p in positions])
        # as above, and a float32 table whose last bit may differ: 2^-24 of a value below 4 on either side
        torch.testing.assert_close(torch.func.vmap(function)(positions), expected, rtol=2.0**-21, atol=2.0**-21)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_transforms_of_the_rotation() -> None:
    def rotate(x: torch.Tensor) -> torch.Tensor:
        return posref_torch.rope_apply(x, COS, SIN)

    t = torch.randn(X.shape, generator=g)
    y, tangent = torch.func.jvp(rotate, (X,), (t,))
    _, pull = torch.func.vjp(rotate, X)
    # each of the two products may be rounded once more or less: 2 * 4 * 2^-24
    torch.testing.assert_close(y, PLAIN["rope_apply"], rtol=2.0**-21, atol=2.0**-21)
    torch.testing.assert_close(tangent, rotate(t), rtol=2.0**-21, atol=2.0**-21)
    torch.testing.assert_close(
        pull(t)[0], posref_torch.rope_apply(t, COS, SIN, inverse=True), rtol=2.0**-21, atol=2.0**-21
    )
    # the length does not depend on the angle. Two rotations, each within 2 * 2^-24 (|a| + |b|) < 2^-20, times 2
    per_sample = torch.func.vmap(torch.func.grad(lambda x: rotate(x).square().sum()))(X)
    torch.testing.assert_close(per_sample, 2 * X, rtol=2.0**-18, atol=2.0**-18)


def test_a_gradient_of_results_that_were_computed_without_one() -> None:
    """Tables of no_grad serve in training."""
    with torch.no_grad():
        cos, sin = posref_torch.rope_table(P, 8)
    x = X.clone().requires_grad_()
    posref_torch.rope_apply(x, cos, sin).sum().backward()
    assert x.grad is not None
