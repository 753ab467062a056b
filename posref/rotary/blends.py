"""The frequencies of the scalings that blend: YaRN, Llama 3 and NTK-by-parts, as real numbers."""

from __future__ import annotations

from decimal import Decimal

from posref._ladder import ladder
from posref.exact import real
from posref.rotary.blended_scaling import Llama3Scaling, NTKByPartsScaling, YarnScaling
from posref.rotary.dynamic_scaling import DynamicYarnScaling
from posref.rotary.ntk import ntk_ladder
from posref.rotary.ramps import index_ramp, rotation_ramp


def yarn_inv_freq(scaling: YarnScaling | DynamicYarnScaling, dim: int, base: float, s: Decimal) -> list[Decimal]:
    """YaRN with the factor s: its own, or the one that holds at a length."""
    plain = ladder(base, dim // 2)
    return blended(plain, [w / s for w in plain], _yarn_ramp(scaling, dim, base, plain), scaling.extrapolation_factor)


def llama3_inv_freq(scaling: Llama3Scaling, dim: int, base: float) -> list[Decimal]:
    """YaRN's blend, linear in the rotations within L."""
    plain, s, length = ladder(base, dim // 2), real(scaling.factor), scaling.original_max_position_embeddings
    ramp = rotation_ramp(length, real(scaling.low_freq_factor), real(scaling.high_freq_factor), plain)
    return blended(plain, [w / s for w in plain], ramp, 1)


def by_parts_inv_freq(scaling: NTKByPartsScaling, dim: int, base: float) -> list[Decimal]:
    """Interpolated, NTK's, plain: two blends."""
    plain, s, length = ladder(base, dim // 2), real(scaling.factor), scaling.original_max_position_embeddings
    slow, middle = (
        index_ramp(dim, base, length, rotations, truncate=True, when_reversed="error", name="NTK-by-parts")
        for rotations in ((scaling.beta_0, scaling.beta_1), (scaling.gamma_0, scaling.gamma_1))
    )
    stretched = blended(ntk_ladder(dim, base, s), [w / s for w in plain], slow, scaling.ntk_factor)
    return blended(plain, stretched, middle, scaling.extrapolation_factor)


def blended(fast: list[Decimal], slow: list[Decimal], ramp: list[Decimal], kept: float) -> list[Decimal]:
    """``fast`` where the ramp is 0 (as much of it as is kept), ``slow`` where it is 1."""
    masks = [(1 - rho) * real(kept) for rho in ramp]
    return [m * f + (1 - m) * s for m, f, s in zip(masks, fast, slow, strict=True)]


def _yarn_ramp(scaling: YarnScaling | DynamicYarnScaling, dim: int, base: float, plain: list[Decimal]) -> list[Decimal]:
    length, fast, slow = scaling.original_max_position_embeddings, scaling.beta_fast, scaling.beta_slow
    if scaling.ramp == "rotations":
        return rotation_ramp(length, real(slow), real(fast), plain)
    when_reversed = scaling.reversed_range if isinstance(scaling, YarnScaling) else "error"
    how = scaling.truncate
    return index_ramp(dim, base, length, (fast, slow), truncate=how, when_reversed=when_reversed, name="YaRN")
