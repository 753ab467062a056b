"""Extended precision, where float64 alone would not be a reference.

A float64 angle of size t is off by t 2^-53, so an ordinary table is off by 1e-10 at position 10^6 and by 1e-7 at 2^31.
Here every result is the true real value *of the arguments as given*, rounded once. Where numbers are few (frequencies,
slopes, factors), they are `decimal` numbers. Where they are many, there are `cos_sin` and `times_difference` here, `powers`
(xPos) in `posref._powers`, `write_sums` (RoPE-Mixed) in `posref._sums` and `sums_of_squares` (Sandwich) in
`posref.bias._sines`, which work as `cos_sin` does.

How `cos_sin` gets there, each step with a bound on its error:

1. A product of two tables by the addition theorem, if the positions are sums of few different coarse and fine parts (as
   consecutive ones are: 65536 positions from 256 + 256). Otherwise table and polynomial: see `posref._rotation`, where
   the arithmetic is explained. A value v comes as an exact float64 and a rest, off by e <= 2^-74. Angles below 2^-26 need
   two terms of Taylor's series: see `posref._small_angles`.
2. Ziv's test: if v + e and v - e round to the same number, then so does the true value. About 1 entry in 10^5 fails: near
   zero, where numbers are dense, or close to a tie.
3. Those are done again with an error relative to the distance from a multiple of a quarter turn; what is then still
   open (a few dozen in a large table) with integers of as many bits as it takes: see `posref._integers`.

Only +, -, * of IEEE float64, exact scalings and integers take part, and the correctly rounded result is unique: no libm, no
SIMD level and no fused multiply-add decides a bit.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from posref._blocks import filled
from posref._integers import pi_bits
from posref._rotation import upper_half
from posref._waves import ROWS, Waves, column_groups

# --- real numbers ----------------------------------------------------------------------------------------------------


@contextmanager
def real_arithmetic(positions: NDArray[Any] | None = None) -> Iterator[None]:
    """A decimal context with digits enough for `cos_sin` at these positions: 60 after those of the largest one."""
    largest = _reach(positions) if positions is not None else 1.0
    digits = 60 + math.ceil(math.log10(max(largest, 1.0)))
    # a frequency below 10^-1000 may become 0: times a position, times a gain, nothing of it would show in a float64
    with decimal.localcontext(decimal.Context(prec=digits, Emin=-1000, Emax=decimal.MAX_EMAX)):
        yield


@contextmanager
def further_digits(multiplier: Decimal) -> Iterator[None]:
    """As many more digits as the multiplier has before its point: for frequencies that grow with it, and angles with them."""
    with decimal.localcontext() as context:
        context.prec += max(0, multiplier.adjusted() + 1)
        yield


def _reach(positions: NDArray[Any]) -> float:
    """The largest magnitude, without a copy."""
    return float(max(positions.max(initial=0), -positions.min(initial=0)))


def real(value: float) -> Decimal:
    """The exact value of an int or a float."""
    return Decimal(value if isinstance(value, int) else float(value))


def pi() -> Decimal:
    """Pi at the current precision."""
    bits = 4 * decimal.getcontext().prec
    return Decimal(pi_bits(bits)) / (1 << bits)


def rounded(reals: Iterable[Decimal]) -> NDArray[np.float64]:
    """Each real number rounded once, to the nearest float64."""
    return np.array([float(r) for r in reals], dtype=np.float64)


# --- cosine and sine -------------------------------------------------------------------------------------------------


def cos_sin(
    positions: NDArray[Any],
    frequencies: Sequence[Decimal],
    gain: Decimal = Decimal(1),
    *,
    radians: bool = True,
    dtype: DTypeLike = np.float64,
    out: tuple[NDArray[Any], NDArray[Any]] | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Cos and sin of every position at every frequency, correctly rounded.

    .. math:: g \cos(p\, w_i), \quad g \sin(p\, w_i)

    Parameters
    ----------
    positions
        p, any shape: finite float64, or integers to 2**53 in magnitude.
    frequencies
        w, n real numbers: radians per position, or turns with ``radians=False`` (then whole quarters are exact).
    gain
        g, multiplied in before the one rounding.
    dtype
        float64, float32, float16 or ml_dtypes' bfloat16: the true value is rounded to it directly.
    out
        Where to put them: two arrays (positions.size, n), strided as they like; their dtype counts.

    Returns
    -------
    cos, sin
        Each ``positions.shape + (n,)``, or ``out``. Beside them at most 16 MiB are used.
    """
    flat = np.asarray(positions).reshape(-1)
    if out is None:
        shape = (*np.shape(positions), len(frequencies))
        table = np.empty((flat.size, len(frequencies)), dtype), np.empty((flat.size, len(frequencies)), dtype)
        cos, sin = cos_sin(flat, frequencies, gain, radians=radians, out=table)
        return cos.reshape(shape), sin.reshape(shape)
    cos, sin = out
    if gain == 0:
        cos[:], sin[:] = 0.0, 0.0
        return out
    ratios = [f.as_integer_ratio() for f in frequencies]
    for columns, slow in column_groups(ratios, _reach(flat), radians):
        waves = Waves(ratios[columns], gain.as_integer_ratio(), radians, slow, cos.dtype)
        for row in range(0, flat.size, ROWS):
            rows = slice(row, row + ROWS)
            waves.write(flat[rows].astype(np.float64), cos[rows, columns], sin[rows, columns])
    return out


# --- products --------------------------------------------------------------------------------------------------------


def times_difference(m: NDArray[np.float64], q: NDArray[Any], k: NDArray[Any]) -> NDArray[np.float64]:
    """The products m (q - k) within 0.501 ulp; q and k finite float64 or integers to 2**53. Overflow gives infinity.

    q - k = d + rest exactly (Knuth). Nearly always the rest is 0, and then one product is all. Otherwise, with mantissas in
    [1/2, 1) so that nothing overflows, m d = p + e exactly (Dekker), and p + (e + m rest) is within 0.5 ulp and 2^-53 more.
    Results that are subnormal, and differences that overflow, are left to fractions.
    """
    return filled(_times_difference, *(np.asarray(x, dtype=np.float64) for x in (m, q, k)))


def _times_difference(m: NDArray[np.float64], q: NDArray[np.float64], k: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        d = q - k
        back = d - q
        rest = (q - (d - back)) - (k + back)
        result = np.asarray(m * d)
        if not rest.any():  # NaN where the difference overflows
            return result
        (m1, m_exponent), (d1, d_exponent) = np.frexp(m), np.frexp(d)
        p = m1 * d1
        m_upper, d_upper = upper_half(m1), upper_half(d1)
        m_lower, d_lower = m1 - m_upper, d1 - d_upper
        e = ((m_upper * d_upper - p) + m_upper * d_lower + m_lower * d_upper) + m_lower * d_lower
        exponent = m_exponent + d_exponent
        fine = np.ldexp(p + (e + m1 * np.ldexp(rest, -d_exponent)), exponent)
    fine = np.where(rest == 0, result, fine)
    unsafe = (rest != 0) & ~((np.abs(exponent) < 1000) & np.isfinite(d))
    for i in map(tuple, np.argwhere(unsafe)):
        fine[i] = _product_of_fractions(*(np.broadcast_to(x, fine.shape)[i].item() for x in (m, q, k)))
    return fine


def _product_of_fractions(m: float, q: float, k: float) -> float:
    value = Fraction(m) * (Fraction(q) - Fraction(k))
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
