"""Extended precision, where float64 alone would not be a reference (step 1: plain)."""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float64s = NDArray[np.float64]


@contextmanager
def real_arithmetic(positions: NDArray[Any] | None = None) -> Iterator[None]:
    """Local decimal context with digits enough for `cos_sin` at these positions."""
    digits = 60
    if positions is not None and positions.size:
        largest = max(abs(float(positions.max())), abs(float(positions.min())), 1.0)
        digits += int(np.log10(largest)) + 1
    with decimal.localcontext() as context:
        context.prec = digits
        context.Emax, context.Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
        context.rounding = decimal.ROUND_HALF_EVEN
        yield


def real(value: float) -> Decimal:
    """The exact value of an int or float."""
    return Decimal(value) if isinstance(value, int) else Decimal(float(value))


def pi() -> Decimal:
    """Pi at the current precision, by Machin's formula in integers."""
    digits = decimal.getcontext().prec + 10

    def arctan_of_inverse(n: int) -> int:
        term = total = 10**digits // n
        k = 1
        while term:
            term //= -n * n
            k += 2
            total += term // k
        return total

    return Decimal(4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))).scaleb(-digits)


def rounded(reals: Iterable[Decimal]) -> Float64s:
    """Each real number rounded once to float64."""
    return np.array([float(r) for r in reals], dtype=np.float64)


def cos_sin(
    positions: NDArray[Any], frequencies: Sequence[Decimal], gain: Decimal = Decimal(1)
) -> tuple[Float64s, Float64s]:
    """Cos and sin of positions x frequencies, times gain: positions.shape + (n,)."""
    angle = positions.astype(np.float64)[..., None] * rounded(frequencies)
    return np.cos(angle) * float(gain), np.sin(angle) * float(gain)


def times_difference(m: Float64s, q: NDArray[Any], k: NDArray[Any]) -> Float64s:
    """M * (q - k) elementwise."""
    return np.asarray(m * (q - k), dtype=np.float64)
