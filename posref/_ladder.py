"""The one geometric ladder of frequencies behind rotary, sinusoidal and timestep encodings."""

from __future__ import annotations

from decimal import Decimal

from posref.exact import real


def ladder(base: float | Decimal, n: int, shift: float = 0) -> list[Decimal]:
    """The n real frequencies ``base ** (-k / (n - shift))``, k = 0 .. n-1, at the precision of the decimal context.

    ``shift=0`` is the paper's ``base ** (-2 k / dim)``; ``shift=1`` ends at exactly ``1 / base``.
    """
    log_base = Decimal(base).ln()
    return [(-k * log_base / (n - real(shift))).exp() for k in range(n)]
