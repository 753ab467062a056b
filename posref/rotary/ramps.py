"""What the blending scalings share: per pair, how much of it is stretched."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from posref.exact import pi, real


def index_ramp(
    dim: int, base: float, length: int, rotations: Sequence[float], *, truncate: bool, when_reversed: str, name: str
) -> list[Decimal]:
    """0 up to the pair that rotates ``rotations[0]`` times within the length, 1 from the one of ``rotations[1]`` on.

    Linear in the index between them; ``name`` is the scaling's, for the error where they are reversed once clamped.
    """

    def pair_that_rotates(times: float) -> Decimal:
        return dim * (length / (2 * pi() * real(times))).ln() / (2 * real(base).ln())

    low, high = map(pair_that_rotates, rotations)
    if truncate:
        low, high = low.to_integral_value(ROUND_FLOOR), high.to_integral_value(ROUND_CEILING)
    low, high = max(low, Decimal(0)), min(high, Decimal(dim - 1))  # dim - 1, not dim // 2 - 1: as every release has it
    if low > high and when_reversed == "error":
        raise ValueError(
            f"scaling must leave {name} a range of pairs, got {float(low):g} to {float(high):g} once clamped to 0 .. {dim - 1}; "
            "check original_max_position_embeddings, beta_fast, beta_slow and base"
        )
    width = high - low
    if width == 0 or (width < 0 and when_reversed == "step"):
        width = Decimal("0.001")
    return [clip((i - low) / width) for i in range(dim // 2)]


def rotation_ramp(length: int, low: Decimal, high: Decimal, plain: Sequence[Decimal]) -> list[Decimal]:
    """1 where a pair rotates fewer than ``low`` times within the length, 0 from ``high`` on; a step where they are equal."""
    turns = [length * w / (2 * pi()) for w in plain]
    return [Decimal(0) if r >= high else Decimal(1) if r <= low else (high - r) / (high - low) for r in turns]


def clip(value: Decimal) -> Decimal:
    """The nearest number in 0 .. 1."""
    return min(max(value, Decimal(0)), Decimal(1))
