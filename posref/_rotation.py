"""e^(i position frequency) to more digits than float64 has: the arithmetic behind `posref.exact.cos_sin`.

A rotation z, |z| <= 1, is kept in two parts, z = z1 + z2. The components of z1 are multiples of 2^-26, those of z2 are what
is left, at most some 2^-27. The product of two first parts is then a multiple of 2^-52 below 2, which float64 holds
*exactly* (a fused multiply-add changes nothing), and all that remains is small enough for plain float64:

    z w = z1 w1 + (z1 w2 + z2 w)

Where the angle comes from: a position is m 2^s + m' 2^(s-27) with integers m, m' of at most 26 bits, and a frequency in
turns, times 2^s, modulo 1, is a sum of three pieces of 26 bits and a remainder. Integer times piece is exact, and whole
turns drop out by ``t - rint(t)``, exact as well. What is left of the angle is j / 2048 + u turns, u some 2^-12: a table made
with integers, and Taylor's polynomials for u.

Errors, as the modulus of a complex number:

    angle     2^-104 turns: the remainder, below 2^-53 after its product, is rounded four times
    table     2^-80.5      its second part, below 2^-27, is rounded once
    small     2^-78.1      second parts below 2^-26.9 are rounded two or three times; v^3/6 < 2^-30.6 eight times
    product   2^-76.7      and what its factors bring: seven roundings of parts of the bracket, which is below 2^-25.4

A table entry times a small rotation is then off by 2^-76.1. Two of those, split again (2^-79.5), multiplied by each other, are
off by 2 * 2^-76 + 2^-76.7 = 2^-74.6, and Ziv's test rounds the bracket once more (2^-79): all within ERROR.

Near a multiple of a quarter turn, one component of the table is 0 and the other exact to 2^-81. If v1, the first part of the
small angle, is then v to 26 bits rather than a multiple of 2^-26, products of first parts stay exact, and the errors are
relative: v2 and the bracket are below 2^-21 v, rounded to 2^-74 v each, and v^3/6 < 2^-21.3 v eight times. All within
RELATIVE_ERROR times the component, and SMALLEST_ERROR for the angle's own error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from posref._integers import Ratio, fixed_cos_sin, in_turns, pi_bits

Float64s: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Split: TypeAlias = tuple[NDArray[np.complex128], NDArray[np.complex128]]  # z1, z2

POINTS = 2048  # rotations in the table: |u| is at most 2^-12 turns, and 2^-26 for parts that come after j is known
ERROR = 2.0**-74  # of a component of any product here, for gains up to 1
RELATIVE_ERROR, SMALLEST_ERROR = 2.0**-70, 2.0**-100  # near a multiple of a quarter turn, with `upper_half`


@lru_cache(maxsize=8)
def circle(gain: Ratio) -> Split:
    """The points gain e^(2 pi i j / POINTS), j = 0 .. POINTS-1, |gain| <= 1; zeros are exact."""
    bits = 160
    cos, sin = fixed_cos_sin(2 * pi_bits(bits) // POINTS, bits)
    x, y = 1 << bits, 0
    firsts, seconds = [], []
    for _ in range(POINTS // 4):
        scaled = [v * gain[0] // gain[1] for v in (x, y)]
        units = [(v + (1 << bits - 27)) >> bits - 26 for v in scaled]
        firsts.append(complex(*(math.ldexp(u, -26) for u in units)))
        seconds.append(complex(*(math.ldexp(v - (u << bits - 26), -bits) for u, v in zip(units, scaled, strict=True))))
        x, y = (x * cos - y * sin) >> bits, (x * sin + y * cos) >> bits
    turns = np.array([[1], [1j], [-1], [-1j]])
    return (turns * firsts).ravel(), (turns * seconds).ravel()


# --- sums and products -----------------------------------------------------------------------------------------------


def on_grid(x: Float64s) -> Float64s:
    """The nearest multiple of 2^-26, for |x| < 2^25: the sum has no room for smaller bits."""
    return (x + 1.5 * 2.0**26) - 1.5 * 2.0**26


def upper_half(x: Float64s) -> Float64s:
    """The nearest number of 26 bits (Veltkamp); the rest fits in 26 bits and a sign."""
    scaled = x * (2.0**27 + 1)
    return scaled - (scaled - x)


def product(z: Split, w: Split) -> Split:
    """The product z w, of one shape, as exact numbers and a small rest."""
    main = z[0] * w[0]
    rest = z[0] * w[1]
    both = w[0] + w[1]
    both *= z[1]
    rest += both
    return main, rest


def split(main: NDArray[np.complex128], rest: NDArray[np.complex128]) -> Split:
    """A product as a factor for the next one: its first part on the grid again."""
    first = on_grid((main + rest).view(np.float64)).view(np.complex128)
    return first, (main - first) + rest


_TAU_1 = math.ldexp(2 * pi_bits(64) >> 41, -23)  # 2 pi to 26 bits
_TAU_2 = math.ldexp(2 * pi_bits(128) - ((2 * pi_bits(64) >> 41) << 105), -128)  # and the rest
_TAU = _TAU_1 + _TAU_2


def small_rotation(high: Float64s, low: Float64s, first_part: Callable[[Float64s], Float64s]) -> Split:
    """The rotation e^(i v), v = 2 pi (high + low), high some 2^-12: v = v1 + v2, then Taylor's polynomials.

    v^2 / 2 < 2^-19 needs more digits than float64 has: v1^2 is exact. v^3 / 6 < 2^-30 and what follows do not.
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
    np.subtract(1.0, half1, out=first.real)
    first.imag = v1
    np.add((half1 - half) - v2 * (v1 + 0.5 * v2), square * square * (1 / 24 - square * (1 / 720)), out=second.real)
    np.subtract(v2, v * square * (1 / 6 - square * (1 / 120 - square * (1 / 5040))), out=second.imag)
    return first, second


# --- from positions and frequencies to a fraction of a turn ----------------------------------------------------------


def _pieces(turns: int) -> list[float]:
    """A multiple of 2^-160 modulo 1 as multiples of 2^-26, 2^-52 and 2^-78, of 26 bits and a sign each, and a remainder."""
    turns &= (1 << 160) - 1
    turns -= (turns >> 159) << 160
    pieces = []
    for bits in (26, 52, 78):
        count = (turns + (1 << 159 - bits)) >> 160 - bits
        turns -= count << 160 - bits
        pieces.append(math.ldexp(count, -bits))
    return [*pieces, math.ldexp(turns, -160)]


def _digits(positions: Float64s) -> tuple[Float64s, NDArray[np.int64]]:
    """Integers m of at most 26 bits and a sign, and shifts s, with positions = m[0] 2^s[0] + m[1] 2^s[1]."""
    _, exponent = np.frexp(positions)
    shift = exponent.astype(np.int64) - 26
    shift = np.where(positions == np.trunc(positions), np.maximum(shift, 0), shift)  # small integers: all the same
    scaled = np.ldexp(positions, -shift)
    upper = np.rint(scaled)
    return np.stack([upper, (scaled - upper) * 2.0**27]), np.stack([shift, shift - 27])


class Angles:
    """Positions times frequencies, ready to be reduced to a fraction of a turn."""

    def __init__(self, positions: Float64s, frequencies: Sequence[Ratio], *, radians: bool = True) -> None:
        digits, shifts = _digits(positions)
        if not digits[1].any():  # integers below 2^26, or short fractions
            digits, shifts = digits[:1], shifts[:1]
        distinct, place = np.unique(shifts, return_inverse=True)
        largest = max(0, int(distinct.max(initial=0)))
        fixed = [in_turns(f, 160 + largest, radians=radians) for f in frequencies]
        table = [[_pieces(f >> largest - s) for f in fixed] for s in distinct.tolist()]
        self._digits, self._place = digits, place.reshape(shifts.shape)
        self._pieces = np.array(table).reshape(len(distinct), len(fixed), 4).transpose(2, 0, 1).copy()

    def rows(self, rows: slice) -> tuple[Indices, Float64s, Float64s]:
        """All frequencies at some positions: j, high, low, each (rows, n)."""
        return _reduced(
            (digits[rows, None], [piece[place[rows]] for piece in self._pieces])
            for digits, place in zip(self._digits, self._place, strict=True)
        )

    def each(self, column: Indices) -> tuple[Indices, Float64s, Float64s]:
        """One frequency at each position: j, high, low, each (positions,)."""
        return _reduced(
            (digits, [piece[place, column] for piece in self._pieces])
            for digits, place in zip(self._digits, self._place, strict=True)
        )


def _reduced(terms: Iterable[tuple[Float64s, list[Float64s]]]) -> tuple[Indices, Float64s, Float64s]:
    """The sum over digits as j / POINTS + high + low turns, modulo 1, |high| <= 2^-12 + 2^-26."""
    turn = third = fourth = np.float64(0.0)
    for digit, pieces in terms:
        whole, second, last, rest = (digit * piece for piece in pieces)
        whole -= np.rint(whole)
        whole += second
        turn = np.add(turn, whole, out=whole)  # a multiple of 2^-52 below 2: exact
        third = np.add(third, last, out=last)  # a multiple of 2^-78 below 2^-25: exact
        fourth = np.add(fourth, rest, out=rest)  # below 2^-52
    j = np.rint(turn * POINTS)
    turn -= j * (1 / POINTS)
    high = turn + third
    third -= high - turn
    third += fourth
    return j.astype(np.intp) & (POINTS - 1), high, third
