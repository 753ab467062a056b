"""Real numbers as the sum of two float64, for tables of products that are rounded once.

A number is (upper, lower), with upper the nearest float64 and lower the nearest of the rest: off by 2^-106 of itself. The
product of two,

    (x + x') (y + y') = x y + (x y' + x' y) + x' y',

is the exact x y in two parts (Dekker) and the bracket, whose terms are below 2^-53 of it and are rounded three times; x' y' is
below 2^-106. All of it is within DOUBT. What then lies too near to a tie is left to decimals, as are numbers so large or small
that a part of them is no normal float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from posref._small_angles import two_product

DOUBT = 2.0**-100
SMALL, LARGE = 2.0**-450, 2.0**450  # of factors and of products: their parts, and those of parts, are normal numbers

Twofold: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]


def twofold(reals: Iterable[Decimal]) -> Twofold:
    """Real numbers in two parts each."""
    numbers = list(reals)
    upper = [float(r) for r in numbers]
    lower = [float(r - Decimal(u)) if abs(u) < LARGE else 0.0 for r, u in zip(numbers, upper, strict=True)]
    return np.array(upper), np.array(lower)


def two_sum(x: NDArray[np.float64], y: NDArray[np.float64]) -> Twofold:
    """The sum, exactly, in two parts (Knuth)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def rounded_products(
    x: Twofold, y: Twofold, exactly: Callable[[int], float], off: NDArray[np.float64] | float = 0.0
) -> NDArray[np.float64]:
    """The products, (n,) each, rounded once.

    ``exactly`` gives that of one index, for those that are open; ``off`` is the absolute error that x comes with.
    """
    with np.errstate(all="ignore"):
        main, rest = two_product(x[0], y[0])
        rest += x[0] * y[1] + x[1] * y[0]
        bound = DOUBT * np.abs(main) + 2 * off * np.abs(y[0])
        result = main + (rest + bound)
        sure = result == main + (rest - bound)
    for part in (x[0], y[0], main):
        sure &= (np.abs(part) > SMALL) & (np.abs(part) < LARGE)
    sure |= (x[0] == 0) & (np.asarray(off) == 0) & np.isfinite(y[0])
    for i in np.flatnonzero(~sure).tolist():
        result[i] = exactly(i)
    return result
