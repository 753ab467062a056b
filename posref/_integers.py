"""Pi, angles, cosine and sine in integers: as many bits as it takes. The last resort of `posref.exact`, and its constants."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ratio: TypeAlias = tuple[int, int]  # numerator, denominator > 0

_QUARTER_TURNS = ((1, 0), (0, 1), (-1, 0), (0, -1))


@lru_cache(maxsize=32)
def pi_bits(bits: int) -> int:
    """Less than 2 below pi 2^bits."""
    wide = 1 << bits.bit_length()  # for few different ones is it computed, the others are cut from them
    return _machin(wide) >> wide - bits


@lru_cache(maxsize=16)
def _machin(bits: int) -> int:
    """As pi_bits, by Machin's formula pi = 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan_of_inverse(n: int) -> int:
        power = total = (1 << bits + 32) // n
        k = 1
        while power:
            power //= n * n
            k += 2
            total += power // k if k % 4 == 1 else -(power // k)
        return total  # two roundings a term: off by less than the number of bits

    return (16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239) - (1 << 30)) >> 32


@lru_cache(maxsize=32)
def _turns_per_radian(bits: int) -> int:
    """2^bits / (2 pi), less than 2 off."""
    return (1 << 2 * bits + 32) // (2 * pi_bits(bits + 32))


def in_turns(angle: Ratio, bits: int, *, radians: bool = True) -> int:
    """An angle (in radians, or in turns already) as a multiple of 2^-bits turns, at most 2 off."""
    numerator, denominator = angle
    if not radians:
        return (numerator << bits) // denominator
    wide = bits + 8 + max(0, numerator.bit_length() - denominator.bit_length())
    wide += -wide % 256  # few different ones: each is computed once
    return (numerator * _turns_per_radian(wide) >> wide - bits) // denominator


def fixed_cos_sin(angle: int, bits: int) -> tuple[int, int]:
    """Cos and sin of angle 2^-bits, at most 1 in magnitude, as multiples of 2^-bits: Taylor's series, off by 2 a term."""
    sums, term, k = [0, 0, 0, 0], 1 << bits, 0
    while term:
        sums[k % 4] += term
        k += 1
        term = (term * abs(angle) >> bits) // k
    sin = sums[1] - sums[3]
    return sums[0] - sums[2], sin if angle >= 0 else -sin


def quarter_cos_sin(angle: Ratio, bits: int, *, radians: bool = True) -> tuple[int, int, int]:
    """Whole quarters of a turn, and cos and sin of the rest of the angle as multiples of 2^-bits, less than 2 bits off."""
    turns = in_turns(angle, bits, radians=radians)
    quarters = (turns + (1 << bits - 3)) >> bits - 2
    rest = turns - (quarters << bits - 2)
    # the angle is off by less than 24, the series by 2 a term and has under bits / 2 terms
    return quarters, *fixed_cos_sin(2 * rest * pi_bits(bits) >> bits, bits)


def hard_cos_sin(angle: Ratio, gain: Ratio, radians: bool, dtype: np.dtype[Any]) -> list[Any]:
    """Both values of one angle, times gain, rounded once: more and more bits until they decide the rounding (Ziv).

    They always do for an angle in radians other than 0: neither value is then a number halfway between two floats. An angle
    in turns may be a whole number of quarters, which is seen beforehand, or hit a tie, where either neighbour is right.
    """
    numerator, denominator = angle
    if numerator == 0 or (not radians and 4 * numerator % denominator == 0):
        exact = _QUARTER_TURNS[4 * numerator // denominator % 4]
        return [rounded_ratio((unit * gain[0], gain[1]), dtype) for unit in exact]
    sine = numerator * gain[0], denominator * gain[1]
    small = denominator.bit_length() - numerator.bit_length() - 1  # the angle is below 2^-small
    if radians and max(n.bit_length() for n in (gain[0], sine[0])) + 1075 < 2 * small:
        return [rounded_ratio(_just_below(value), dtype) for value in (gain, sine)]
    start = 192 + max(0, denominator.bit_length() - numerator.bit_length()) // 64 * 64
    for bits in (start, 2 * start, 4 * start):
        quarters, cos, sin = quarter_cos_sin(angle, bits, radians=radians)
        c, s = _QUARTER_TURNS[quarters % 4]
        values = c * cos - s * sin, s * cos + c * sin
        doubt = 2 * bits
        least, most = (
            [rounded_ratio((v * gain[0], gain[1] << bits), dtype) for v in (values[0] + e, values[1] + e)]
            for e in (-doubt, doubt)
        )
        if least == most:
            break
    return least


def _just_below(value: Ratio) -> Ratio:
    """For cos and sin of the smallest angles, g - g x^2 / 2 and g x - g x^3 / 6: a little nearer to zero than g and g x are.

    Floats, and the ties between them, are multiples of 2^-1075. So n / d is one, or 2^-1075 / d away from all. By less than that
    falls the true value short of it, if n x^2 < 2^-1075, and by half of it what is returned: both are rounded to the same.
    """
    n, d = value
    return (n << 1076) - (1 if n > 0 else -1), d << 1076


def quotient(value: Ratio) -> float:
    """A fraction as float64: Python rounds it correctly, subnormal numbers too. Overflow gives infinity."""
    try:
        return value[0] / value[1]
    except OverflowError:
        return math.inf if value[0] > 0 else -math.inf


def rounded_ratio(value: Ratio, dtype: np.dtype[Any]) -> Any:
    """A fraction rounded once to a floating type of at most 53 bits."""
    near = quotient(value)
    if dtype == np.float64 or math.isinf(near):
        return dtype.type(near)
    exact, there = Fraction(*value), Fraction(near)
    if there != exact and int(math.ldexp(math.frexp(near)[0], 53)) % 2 == 0:
        near = math.nextafter(near, math.inf if there < exact else -math.inf)
    return narrowed(np.array([near]), dtype)[0]


def narrowed(values: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """float64 values rounded once to a narrower type.

    NumPy and ml_dtypes reach some 16-bit types by way of float32, which would round twice. That is harmless where the first
    step rounds to odd: an inexact result takes the neighbour with an odd last bit, and so never looks like a tie.
    """
    if dtype.itemsize > 2:
        return values.astype(dtype, copy=False)
    near = values.astype(np.float32)
    bits = near.view(np.int32)
    step = np.sign(np.abs(values) - np.abs(near.astype(np.float64))).astype(np.int32)  # towards the value
    bits += np.where(bits & 1 == 0, step, 0)
    return near.astype(dtype)
