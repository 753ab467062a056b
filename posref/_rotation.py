"""e^(i position frequency) to more digits than float64 has: the machinery behind `posref.exact.cos_sin`.

A rotation e^(i t) is kept in two parts, z = z1 + z2. Both components of z1 are multiples of 2^-26, and z2 is what is
left, at most about 2^-27. The product of two first parts is then a multiple of 2^-52 below 2, so float64 holds it
*exactly* (a fused multiply-add changes nothing), and all other terms are small enough for plain float64:

    z w = z1 w1 + (z1 w2 + z2 w),    the bracket is below 2^-25 and is rounded to 2^-78.

Where the angle comes from: a position is m 2^s + m' 2^(s-27) with integers m, m' up to 2^26, and the frequency, in
turns, times 2^s, modulo one turn, is a sum of three pieces of 26 bits and a remainder. Integer times piece is exact,
and whole turns drop out by ``t - rint(t)``, exact too. This gives the angle to 2^-105 turns, for any float64 position.

A fraction of a turn is then j/2048 + u: a table of 2048 rotations made with integers, and a short polynomial for u.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Float64s: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Split: TypeAlias = tuple[NDArray[np.complex128], NDArray[np.complex128]]  # z1, z2
Ratio: TypeAlias = tuple[int, int]

POINTS = 2048  # rotations in the table; |u| <= 2^-12 turns
ERROR = 2.0**-74  # no component of product(table or product, small or product) is further off, for gain 1


# --- constants, by integers alone ------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def pi_bits(bits: int) -> int:
    """floor(pi 2^bits) or one less, by Machin's formula."""
    guarded = bits + 16

    def arctan_of_inverse(n: int) -> int:
        power = total = (1 << guarded) // n
        k = 1
        while power:
            power //= n * n
            k += 2
            total += -(power // k) if k % 4 == 3 else power // k
        return total

    return (16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239) - (1 << 8)) >> 16


@lru_cache(maxsize=8)
def _turns_per_radian(bits: int) -> int:
    """2^bits / (2 pi), less than 2 off."""
    return (1 << 2 * bits + 32) // (2 * pi_bits(bits + 32))


def in_turns(radians: Ratio, bits: int) -> int:
    """radians / (2 pi) as a multiple of 2^-bits, at most 2 off."""
    numerator, denominator = radians
    wide = bits + max(0, numerator.bit_length() - denominator.bit_length()) + 8
    wide = -(-wide // 256) * 256  # few different ones, each computed once
    return (numerator * _turns_per_radian(wide) >> (wide - bits)) // denominator


def fixed_cos_sin(angle: int, bits: int) -> tuple[int, int]:
    """Cos and sin of angle 2^-bits, |angle| 2^-bits < 1, as multiples of 2^-bits, less than 2^8 off (for bits < 2^14)."""
    term, parts = 1 << bits, [0, 0, 0, 0]
    k = 0
    while term:
        parts[k % 4] += term
        k += 1
        term = (term * abs(angle) >> bits) // k
    sin = parts[1] - parts[3]
    return parts[0] - parts[2], sin if angle >= 0 else -sin


@lru_cache(maxsize=8)
def circle(gain: Ratio) -> Split:
    """gain e^(2 pi i j / POINTS), j = 0 .. POINTS-1, for 1/2 < |gain| <= 1. Exact where a component is 0."""
    bits = 160
    step = fixed_cos_sin(2 * pi_bits(bits) // POINTS, bits)
    x, y = 1 << bits, 0
    firsts, seconds = [], []
    for _ in range(POINTS // 4):
        scaled = [v * gain[0] // gain[1] for v in (x, y)]
        units = [(v + (1 << bits - 27)) >> bits - 26 for v in scaled]
        firsts.append(complex(*(math.ldexp(u, -26) for u in units)))
        seconds.append(complex(*(math.ldexp(v - (u << bits - 26), -bits) for u, v in zip(units, scaled, strict=True))))
        x, y = (x * step[0] - y * step[1]) >> bits, (x * step[1] + y * step[0]) >> bits
    turns = np.array([[1], [1j], [-1], [-1j]])
    return (turns * firsts).ravel(), (turns * seconds).ravel()


# --- sums and products -----------------------------------------------------------------------------------------------


def on_grid(x: Float64s) -> Float64s:
    """x rounded to a multiple of 2^-26, for |x| < 2^25: there the sum has no room for smaller bits."""
    return (x + 1.5 * 2.0**26) - 1.5 * 2.0**26


def upper_half(x: Float64s) -> Float64s:
    """x rounded to 26 bits (Veltkamp). The rest, x - upper_half(x), has at most 26 bits too and a sign."""
    scaled = x * (2.0**27 + 1)
    return scaled - (scaled - x)


def product(z: Split, w: Split) -> Split:
    """z w as an exact float64 and a small rest."""
    main = z[0] * w[0]
    rest = z[0] * w[1]
    rest += z[1] * (w[0] + w[1])
    return main, rest


def split(main: NDArray[np.complex128], rest: NDArray[np.complex128]) -> Split:
    """A product as a factor for the next one: its first part on the grid again."""
    first = on_grid((main + rest).view(np.float64)).view(np.complex128)
    return first, (main - first) + rest


_TAU_1 = math.ldexp(2 * pi_bits(64) >> 41, -23)  # 2 pi to 26 bits
_TAU_2 = math.ldexp((2 * pi_bits(128)) - ((2 * pi_bits(64) >> 41) << 105), -128)  # the rest
_TAU = _TAU_1 + _TAU_2


def small_rotation(high: Float64s, low: Float64s, first_part: Callable[[Float64s], Float64s] = on_grid) -> Split:
    """e^(2 pi i (high + low)) for |high| <= 2^-12: the angle v in two parts, then Taylor's polynomials.

    v^2/2 < 2^-17 needs more than float64: v1^2 is exact. v^3/6 < 2^-30 and v^4/24 do not.
    """
    u1 = upper_half(high)
    u2 = (high - u1) + low
    main = _TAU_1 * u1  # exact: 26 bits by 26
    v1 = first_part(main)
    v2 = (main - v1) + (_TAU_2 * u1 + _TAU * u2)
    v = v1 + v2
    square = v * v
    half = 0.5 * (v1 * v1)  # exact
    half1 = on_grid(half)
    first, second = np.empty(v.shape, np.complex128), np.empty(v.shape, np.complex128)
    first.real = 1.0 - half1
    first.imag = v1
    second.real = (half1 - half) - v2 * (v1 + 0.5 * v2) + square * square * (1 / 24 - square * (1 / 720))
    second.imag = v2 - v * square * (1 / 6 - square * (1 / 120 - square * (1 / 5040)))
    return first, second


# --- from positions and frequencies to a fraction of a turn ----------------------------------------------------------


def _pieces(turns: int, bits: int) -> list[float]:
    """turns 2^-bits modulo 1, in (-1/2, 1/2], as three multiples of 2^-26, 2^-52, 2^-78 of 26 bits and a remainder."""
    turns &= (1 << bits) - 1
    pieces = []
    for unit in (26, 52, 78):
        count = (turns + (1 << bits - unit - 1)) >> bits - unit
        turns -= count << bits - unit
        if unit == 26 and count > 1 << 25:
            count -= 1 << 26
        pieces.append(math.ldexp(count, -unit))
    return [*pieces, math.ldexp(turns, -bits)]


def _digits(positions: Float64s) -> tuple[Float64s, NDArray[np.int64]]:
    """Integers m of at most 26 bits and a sign, and shifts s, with positions = m[0] 2^s[0] + m[1] 2^s[1]."""
    _, exponent = np.frexp(positions)
    shift = exponent.astype(np.int64) - 26
    shift = np.where(positions == np.trunc(positions), np.maximum(shift, 0), shift)  # small integers: all the same
    scaled = np.ldexp(positions, -shift)
    upper = np.rint(scaled)
    return np.stack([upper, (scaled - upper) * 2.0**27]), np.stack([shift, shift - 27])


class Angles:
    """positions x frequencies, ready to be reduced to a fraction of a turn block by block."""

    def __init__(self, positions: Float64s, radians: Sequence[Ratio]) -> None:
        digits, shifts = _digits(positions)
        if not digits[1].any():  # integers below 2^26, or short fractions
            digits, shifts = digits[:1], shifts[:1]
        distinct, place = np.unique(shifts, return_inverse=True)
        bits = 160 + max(0, int(distinct.max(initial=0)))
        fixed = [in_turns(ratio, bits) for ratio in radians]
        table = [[_pieces(f << s if s >= 0 else f >> -s, bits) for f in fixed] for s in distinct.tolist()]
        self._digits, self._place = digits, place.reshape(shifts.shape)
        self._pieces = np.array(table).reshape(len(distinct), len(fixed), 4).transpose(2, 0, 1).copy()

    def rows(self, rows: slice) -> tuple[Indices, Float64s, Float64s]:
        """j, high, low: all columns of some rows, each (rows, n)."""
        return _reduced(
            (digits[rows, None], [piece[place[rows]] for piece in self._pieces])
            for digits, place in zip(self._digits, self._place, strict=True)
        )

    def entries(self, row: Indices, column: Indices) -> tuple[Indices, Float64s, Float64s]:
        """j, high, low: single entries, each (entries,)."""
        return _reduced(
            (digits[row], [piece[place[row], column] for piece in self._pieces])
            for digits, place in zip(self._digits, self._place, strict=True)
        )


def _reduced(terms: Any) -> tuple[Indices, Float64s, Float64s]:
    """j, high, low with angle = j / POINTS + high + low turns, modulo 1, |high| <= 2^-12, less than 2^-105 off."""
    turn = third = fourth = 0.0
    for digit, (piece1, piece2, piece3, piece4) in terms:
        whole = digit * piece1
        turn = turn + ((whole - np.rint(whole)) + digit * piece2)  # a multiple of 2^-52 below 2: exact
        third = third + digit * piece3  # a multiple of 2^-78 below 2^-25: exact
        fourth = fourth + digit * piece4  # below 2^-52
    j = np.rint(turn * POINTS)
    turn = turn - j * (1 / POINTS)
    high = turn + third
    low = (third - (high - turn)) + fourth
    return j.astype(np.intp) & (POINTS - 1), high, low
