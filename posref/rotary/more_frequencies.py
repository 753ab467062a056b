"""The frequencies and factors of the scalings in :mod:`posref.rotary.more_scalings`, and NTK's other forms, as real numbers."""

from __future__ import annotations

from decimal import Decimal

from posref._ladder import ladder
from posref.exact import real
from posref.rotary.more_scalings import (
    DynamicLinearScaling,
    DynamicYarnScaling,
    MoreScalings,
    NTKByPartsScaling,
    ProportionalScaling,
)
from posref.rotary.ramps import index_ramp, ntk_base, rotation_ramp
from posref.rotary.scaling import NTKScaling


def more_inv_freq(scaling: MoreScalings, dim: int, base: float, seq_len: int | None) -> list[Decimal]:
    """The frequencies of any of them."""
    plain = ladder(base, dim // 2)
    match scaling:
        case DynamicLinearScaling(original_max_position_embeddings=length):
            return [w / _growth(length, seq_len) for w in plain]
        case DynamicYarnScaling():
            return _dynamic_yarn(scaling, dim, base, plain, seq_len)
        case NTKByPartsScaling():
            return _by_parts(scaling, dim, base, plain)
        case ProportionalScaling(factor=factor):
            rotating = scaling.rotating(dim // 2)
            return [w / real(factor) if i < rotating else Decimal(0) for i, w in enumerate(plain)]


def ntk_inv_freq(scaling: NTKScaling, dim: int, base: float) -> list[Decimal]:
    """NTK in its four forms."""
    s, pairs = real(scaling.factor), dim // 2
    if scaling.form == "aware":
        return ladder(ntk_base(dim, base, s), pairs)
    if scaling.form == "base":
        return ladder(real(base) * s, pairs)
    exponent = real(scaling.mixed_b) if scaling.form == "mixed" else Decimal(1)
    stretches = [((Decimal(i + 1) / pairs) ** exponent * s.ln()).exp() for i in range(pairs)]  # s at the last pair
    return [w / stretch for w, stretch in zip(ladder(base, pairs), stretches, strict=True)]


def dynamic_yarn_factor(scaling: DynamicYarnScaling, seq_len: int | None) -> Decimal:
    """The factor at a length."""
    return max(real(scaling.least_factor), _growth(scaling.original_max_position_embeddings, seq_len))


def _growth(length: int, seq_len: int | None) -> Decimal:
    return max(real(seq_len or length) / length, Decimal(1))


def _dynamic_yarn(
    scaling: DynamicYarnScaling, dim: int, base: float, plain: list[Decimal], seq_len: int | None
) -> list[Decimal]:
    length, fast, slow = scaling.original_max_position_embeddings, scaling.beta_fast, scaling.beta_slow
    if scaling.ramp == "rotations":
        ramp = rotation_ramp(length, real(slow), real(fast), plain)
    else:
        ramp = index_ramp(
            dim, base, length, (fast, slow), truncate=scaling.truncate, when_reversed="error", name="YaRN"
        )
    s = dynamic_yarn_factor(scaling, seq_len)
    return blended(plain, [w / s for w in plain], ramp, scaling.extrapolation_factor)


def _by_parts(scaling: NTKByPartsScaling, dim: int, base: float, plain: list[Decimal]) -> list[Decimal]:
    s, length = real(scaling.factor), scaling.original_max_position_embeddings
    slow, middle = (
        index_ramp(dim, base, length, rotations, truncate=True, when_reversed="error", name="NTK-by-parts")
        for rotations in ((scaling.beta_0, scaling.beta_1), (scaling.gamma_0, scaling.gamma_1))
    )
    ntk = ladder(ntk_base(dim, base, s), dim // 2)
    stretched = blended(ntk, [w / s for w in plain], slow, scaling.ntk_factor)
    return blended(plain, stretched, middle, scaling.extrapolation_factor)


def blended(fast: list[Decimal], slow: list[Decimal], ramp: list[Decimal], kept: float) -> list[Decimal]:
    """``fast`` where the ramp is 0 (as much of it as is kept), ``slow`` where it is 1."""
    masks = [(1 - rho) * real(kept) for rho in ramp]
    return [m * f + (1 - m) * s for m, f, s in zip(masks, fast, slow, strict=True)]
