"""e^(x rate) for many x and a few real rates, correctly rounded: as `posref.exact.cos_sin`, on the line instead of the circle.

With y = x rate / ln 2 = n + j / 2048 + u, n and j integers, |j| <= 1024, |u| <= 2^-12:

    e^(x rate) = 2^n  2^(j/2048)  e^(u ln 2)

x and rate / ln 2 are each the sum of two float64, and so is y, to 2^-92. Table and Taylor's polynomial come in two parts, the
first one a multiple of 2^-26, so that the product of two first parts, below 2, is exact. What is left, below 2^-24.5, is
rounded some ten times: to 2^-79 each, within ERROR, for a product between 0.7 and 1.42. Ziv's test says where that may decide
the rounding: about one entry in a million, which is left to decimals, as are results that are subnormal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref._rotation import Float64s, on_grid, upper_half
from posref._small_angles import two_product

POINTS, BLOCK = 2048, 1 << 13  # powers in the table; entries at once
ERROR = 2.0**-74
LEAST, MOST = -1076.0, 1025.0  # of y: below it the result is 0, above it infinity
NORMAL = (-1020.0, 1023.0)  # where 2^n is a float64 and no result is subnormal

_LN2_BITS = int(Decimal(2).ln() * (1 << 80))  # enough of the 28 digits that a new context has
_LN2_1 = math.ldexp(_LN2_BITS >> 54, -26)  # ln 2 to 26 bits
_LN2_2 = math.ldexp(_LN2_BITS - (_LN2_BITS >> 54 << 54), -80)  # and the rest


@lru_cache(maxsize=1)
def _table() -> tuple[Float64s, Float64s]:
    """2^(j/2048) in two parts, j = -1024 .. 1024."""
    bits = 160
    root = math.isqrt(2 << 2 * bits)
    for _ in range(10):
        root = math.isqrt(root << bits)  # of 2, eleven times: 2^(1/2048)
    value, firsts, seconds = math.isqrt(1 << 2 * bits - 1), [], []
    for _ in range(POINTS + 1):
        units = (value + (1 << bits - 27)) >> bits - 26
        firsts.append(math.ldexp(units, -26))
        seconds.append(math.ldexp(value - (units << bits - 26), -bits))
        value = value * root >> bits
    return np.array(firsts), np.array(seconds)


def powers(
    x: Float64s, rest: Float64s, rates: Sequence[Decimal], single: Callable[[int, int], Decimal]
) -> NDArray[np.float64]:
    """e^((x + rest) rate), (x, rates), each rounded once; ``single`` gives the true value at a row and a column."""
    result = np.empty((len(x), len(rates)))
    in_bits = [rate / Decimal(2).ln() for rate in rates]
    first = np.array([float(k) for k in in_bits])
    second = np.array([float(k - Decimal(f)) if math.isfinite(f) else 0.0 for k, f in zip(in_bits, first, strict=True)])
    for row in range(0, len(x), step := max(1, BLOCK // len(rates))):
        rows = slice(row, row + step)
        with np.errstate(all="ignore"):  # what overflows is seen by its exponent
            result[rows], unlike = _block(x[rows, None], rest[rows, None], first, second)
        for r, column in np.argwhere(unlike).tolist():
            result[row + r, column] = float(single(row + r, column))
    return result


def _block(x: Float64s, rest: Float64s, first: Float64s, second: Float64s) -> tuple[Float64s, NDArray[np.bool_]]:
    """The values, and where their rounding is open."""
    high, low = two_product(x, first)
    low += x * second + rest * first
    within = np.abs(high) < -LEAST
    j = np.rint(np.where(within, high, 0.0) * POINTS)
    n = np.rint(j * (1 / POINTS))
    main, small = _product((j - n * POINTS).astype(np.intp) + POINTS // 2, high - j * (1 / POINTS), low)
    power = np.ldexp(1.0, n.astype(np.int64))
    values, least = (main + (small + ERROR)) * power, (main + (small - ERROR)) * power
    open_ = (values != least) | (high < NORMAL[0]) | (high > NORMAL[1]) | ~within
    for certain, value in ((high < LEAST, 0.0), (high > MOST, math.inf)):
        values[certain], open_[certain] = value, False
    return values, open_


def _product(at: NDArray[np.intp], high: Float64s, low: Float64s) -> tuple[Float64s, Float64s]:
    """An entry of the table times e^(v), v = ln 2 (high + low) = v1 + v2: exact numbers, and a small rest."""
    u1 = upper_half(high)
    u2 = (high - u1) + low
    main = _LN2_1 * u1  # exact: 26 bits by 26
    v1 = on_grid(main)
    v2 = (main - v1) + (_LN2_2 * u1 + (_LN2_1 + _LN2_2) * u2)
    v = v1 + v2
    cubic = v * v * v * (1 / 6 + v * (1 / 24 + v * (1 / 120)))
    e1 = 1.0 + v1
    e2 = v2 + (0.5 * (v1 * v1) + (v2 * (v1 + 0.5 * v2) + cubic))
    t1, t2 = (part.take(at) for part in _table())
    return t1 * e1, t1 * e2 + t2 * (e1 + e2)


def difference(p: NDArray[Any], c: float) -> tuple[Float64s, Float64s]:
    """P - c, exactly, in two parts (Knuth)."""
    p = p.astype(np.float64)
    with np.errstate(all="ignore"):
        d = p - c
        back = d - p
        return d, (p - (d - back)) - (c + back)
