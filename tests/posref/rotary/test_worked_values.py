"""Values that were worked out beforehand, in NumPy or mpmath from the papers' formulas and from public code.

The second half is what usual float32 code loses against the reference: those sizes were measured with other code than ours.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from posref import (
    LinearScaling,
    NTKScaling,
    YarnScaling,
    grid_coordinates,
    grid_positions,
    rope,
    rope_axes_cos_sin,
    rope_axes_inv_freq,
    rope_axis_map,
    rope_inv_freq,
    rope_table,
)

Floats = NDArray[Any]
F32 = np.float32


def test_nanochat_turns_the_other_way() -> None:
    y = rope([[1.0, 2.0, 3.0, 4.0]], [1], inverse=True)
    assert y[0] == pytest.approx([3.06471526, 2.039899334, 0.779435933, 3.979800335], abs=5e-9)


def test_kexues_fixed_and_mixed_forms() -> None:
    assert rope_inv_freq(128, scaling=NTKScaling(12.0, "fixed"))[0] == pytest.approx(0.9619174273, abs=5e-11)
    divisors = rope_inv_freq(128) / rope_inv_freq(128, scaling=NTKScaling(12.0, "mixed"))
    assert divisors[0] == pytest.approx(1.11607537, abs=5e-9)
    assert divisors[-1] == pytest.approx(12.0, rel=1e-15)


def test_the_ends_of_gpt_oss_ramp_are_no_whole_pairs() -> None:
    """8.0928 and 17.398: two weights of the blend tell both ends of the line."""
    w = rope_inv_freq(64, base=150000.0, scaling=YarnScaling(32.0, 4096, truncate=False))
    plain = rope_inv_freq(64, base=150000.0)
    ramp = (1 - w / plain) / (1 - 1 / 32)  # 0 at the first end, 1 at the second
    slope = (ramp[16] - ramp[10]) / 6
    assert 10 - ramp[10] / slope == pytest.approx(8.0927791155, abs=1e-9)
    assert 16 + (1 - ramp[16]) / slope == pytest.approx(17.3980245016, abs=1e-9)


@pytest.mark.parametrize(
    ("dim", "base", "scaling", "ends"),
    [
        (128, 1e4, YarnScaling(16.0, 4096), (20.9445, 45.0269)),  # Llama 2
        (64, 1e4, YarnScaling(40.0, 4096), (10.4722, 22.5134)),  # DeepSeek-V3
        (128, 1e6, YarnScaling(4.0, 32768), (23.5959, 39.6509)),  # Qwen 2.5
    ],
)
def test_ends_before_they_are_rounded(dim: int, base: float, scaling: YarnScaling, ends: tuple[float, float]) -> None:
    raw = YarnScaling(scaling.factor, scaling.original_max_position_embeddings, truncate=False)
    ramp = (1 - rope_inv_freq(dim, base=base, scaling=raw) / rope_inv_freq(dim, base=base)) / (1 - 1 / raw.factor)
    first, last = int(ends[0]) + 1, int(ends[1])  # pairs inside
    slope = (ramp[last] - ramp[first]) / (last - first)
    assert first - ramp[first] / slope == pytest.approx(ends[0], abs=5.1e-5)
    assert last + (1 - ramp[last]) / slope == pytest.approx(ends[1], abs=5.1e-5)


def test_pixtral_deals_frequencies_out() -> None:
    w = rope_axes_inv_freq(rope_axis_map((2, 2)), ladder="dealt")
    assert w.tolist() == pytest.approx([1, 0.01, 0.1, 0.001], rel=1e-15)


def test_dinov3s_first_angles() -> None:
    """8 channels, 2 by 2 patches: the first one's angles along the rows."""
    w = rope_axes_inv_freq(rope_axis_map((2, 2)), base=100.0, ladder="per_axis")
    angle = 2 * np.pi * grid_coordinates((2, 2))[0, 0] * w[:2]
    assert angle == pytest.approx([-3.14159265, -0.31415927], abs=5e-9)


def test_ltxs_frequencies() -> None:
    """Two of them, from pi / 2 to theta as much: as angles at position 1, and none in the padding."""
    w = np.pi / 2 * 10000.0 ** np.linspace(0, 1, 2)
    assert w == pytest.approx([1.5707963, 15707.963], rel=5e-8)
    cos, sin = rope_axes_cos_sin([[1], [0], [-1]], [0.0, *np.repeat(w, 3)], [0, *np.tile([0, 1, 2], 2)])
    assert cos[0].round(6).tolist() == [1, 0, 1, 0, 1, 1, 1]  # 10000 quarter turns are whole ones
    assert sin[0].round(6).tolist() == [0, 1, 0, -1, 0, 0, 0]


def test_the_pairs_that_llama_cpp_does_not_turn() -> None:
    """Qwen3-VL's 61 and 62, at position 262143."""
    ours, theirs = (rope_axis_map((24, 20, 20), rule=rule) for rule in ("interleaved", "interleaved_spare"))
    assert np.flatnonzero(ours != theirs).tolist() == [61, 62]
    angle = 262143 * rope_inv_freq(128, base=5e6)[[61, 62]]
    assert angle == pytest.approx([0.108, 0.085], abs=5e-4)


def test_rope_vit_puts_the_column_first() -> None:
    assert grid_positions((2, 3))[::-1].tolist() == [[0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]]


# --- what float32 loses ----------------------------------------------------------------------------------------------


def as_transformers(position: int, base: float) -> Floats:
    """Exponent, power, reciprocal and product in float32."""
    return F32(position) * (F32(1) / F32(base) ** (np.arange(0, 128, 2, dtype=F32) / F32(128)))


def as_ggml(position: int, base: float) -> Floats:
    """On a CPU: each pair's angle is a product with the one before."""
    ratio = F32(base) ** F32(-2 / 128)
    return np.cumprod(np.array([position] + 63 * [ratio], dtype=F32))


def lost(angle: Floats, position: int, base: float) -> float:
    """The worst error of a cosine, but for the cosine's own rounding."""
    return float(np.abs(np.cos(angle.astype(np.float64)) - rope_table(position, 128, base=base)[0]).max())


@pytest.mark.parametrize(
    ("angle", "base", "errors"),
    [
        (as_transformers, 1e4, (1.4e-4, 4.9e-4, 3.2e-3, 2.5e-2)),
        (as_transformers, 1e6, (6.6e-5, 4.8e-4, 4.4e-3, 2.6e-2)),
        (as_ggml, 1e4, (4.1e-4, 2.3e-3, 1.2e-2, 8.5e-2)),
    ],
)
def test_float32_angles(angle: Any, base: float, errors: tuple[float, ...]) -> None:
    """Within a third: powers of other libraries differ in their last bit."""
    for position, error in zip((4095, 32767, 131071, 1048575), errors, strict=True):
        assert lost(angle(position, base), position, base) == pytest.approx(error, rel=1 / 3)


def test_interpolating_the_position_or_the_frequency() -> None:
    """The same angle, but for roundings: 0.0039 radians apart at position 131071, factor 3, in float32."""
    w = rope_inv_freq(128).astype(F32)
    apart = np.abs(F32(131071) * (w / F32(3)) - (F32(131071) / F32(3)) * w).max()
    assert apart == pytest.approx(0.0039, abs=5e-5)
    exact = 131071 * rope_inv_freq(128, scaling=LinearScaling(3.0))
    assert np.abs(F32(131071) * (w / F32(3)) - exact).max() <= 4 * 2.0**-24 * 131071 / 3


def test_frequencies_in_bfloat16() -> None:
    """The mistake of casting a whole model: what becomes of the cosines."""
    w = rope_inv_freq(128).astype(F32).astype(ml_dtypes.bfloat16).astype(np.float64)
    for position, error in ((10, 0.008), (100, 0.118), (1000, 0.896)):
        assert lost(position * w, position, 1e4) == pytest.approx(error, abs=1.5e-3)
