"""How much longer than the original length a call is, for the scalings that follow it."""

from __future__ import annotations

from decimal import Decimal

from posref.exact import real
from posref.rotary.dynamic_scaling import DynamicLinearScaling, DynamicYarnScaling


def growth(scaling: DynamicLinearScaling | DynamicYarnScaling, seq_len: int | None) -> Decimal:
    """S / L, at least 1."""
    length = scaling.original_max_position_embeddings
    return max(real(seq_len or length) / length, Decimal(1))


def dynamic_yarn_factor(scaling: DynamicYarnScaling, seq_len: int | None) -> Decimal:
    """YaRN's factor at a length."""
    return max(real(scaling.least_factor), growth(scaling, seq_len))
