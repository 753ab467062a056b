"""NTK-aware scaling, which changes the base, and its other forms, as real numbers."""

from __future__ import annotations

from decimal import Decimal

from posref._ladder import ladder
from posref.exact import real
from posref.rotary.dynamic_scaling import DynamicNTKScaling
from posref.rotary.scaling import NTKScaling


def ntk_inv_freq(scaling: NTKScaling, dim: int, base: float) -> list[Decimal]:
    """NTK in its four forms."""
    s, pairs = real(scaling.factor), dim // 2
    if scaling.form == "aware":
        return ntk_ladder(dim, base, s)
    if scaling.form == "base":
        return ladder(real(base) * s, pairs)
    exponent = real(scaling.mixed_b) if scaling.form == "mixed" else Decimal(1)
    stretches = [((Decimal(i + 1) / pairs) ** exponent * s.ln()).exp() for i in range(pairs)]  # s at the last pair
    return [w / stretch for w, stretch in zip(ladder(base, pairs), stretches, strict=True)]


def dynamic_ntk_inv_freq(scaling: DynamicNTKScaling, dim: int, base: float, seq_len: int | None) -> list[Decimal]:
    """NTK whose growth follows the length: ``1 + s (S - L) / L``, which has no difference of large numbers."""
    length = scaling.original_max_position_embeddings
    beyond = max((seq_len or length) - length, 0)
    return ntk_ladder(dim, base, 1 + real(scaling.factor) * beyond / length)


def ntk_ladder(dim: int, base: float, growth: Decimal) -> list[Decimal]:
    """The base times ``growth ** (dim / (dim - 2))``, so that the last frequency is divided by ``growth``."""
    if dim == 2:
        raise ValueError("dim must be > 2 for NTK scaling, whose exponent is dim / (dim - 2), got 2")
    return ladder(real(base) * (growth.ln() * dim / (dim - 2)).exp(), dim // 2)
