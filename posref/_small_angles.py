"""Cos and sin of angles up to 2^-26, where a product in two parts and the first terms of Taylor's series are all.

With x = p w, a position p = m 2^e with 1/2 <= |m| < 1 (so that nothing overflows), and g w = (first + second) 2^f:

    g sin x = (m first + (m second - m first x^2 / 6)) 2^(e+f)        g cos x = g - g x^2 / 2

m first is the sum of two float64 (Dekker), the rest is below 2^-51 of it, and each of its five roundings below 2^-104. What is
left out of g w is below 2^-106, the next terms x^4 / 120 and x^4 / 24 are below 2^-108: all within DOUBT, relative to the value.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posref._integers import Ratio, narrowed, pi_bits, quotient
from posref._rotation import Float64s, Indices, upper_half

LARGEST, DOUBT, NARROW_DOUBT = 2.0**-26, 2.0**-100, 2.0**-50
UNIT, UNIT_DOUBT = 2.0**-1074, 2.0**-47  # subnormal numbers are its multiples, up to 2^52 of them

Rounded: TypeAlias = tuple[NDArray[Any], NDArray[np.bool_]]  # values, and where their rounding is open


class SmallAngles:
    """Some frequencies, and a gain ``mantissa * scale`` with a power of two as scale."""

    def __init__(self, frequencies: list[Ratio], mantissa: Ratio, scale: float, radians: bool, dtype: np.dtype[Any]):
        if not radians:
            bits = 256
            frequencies = [(n * 2 * pi_bits(bits), d << bits) for n, d in frequencies]
        self.w = np.array([abs(quotient(f)) for f in frequencies])
        parts = [_two_parts((n * mantissa[0], d * mantissa[1])) for n, d in frequencies]
        self.first, self.second, exponents = (np.array(column) for column in zip(*parts, strict=True))
        self.exponent = exponents.astype(np.int64) + math.frexp(scale)[1] - 1
        self.gain = [math.ldexp(part, _two_parts(mantissa)[2]) for part in _two_parts(mantissa)[:2]]
        self.scale, self.dtype, self.doubt = scale, dtype, DOUBT if dtype == np.float64 else NARROW_DOUBT
        self.usual = np.abs(self.exponent) < 900  # columns whose powers of two are float64 numbers themselves
        self.reach = (
            LARGEST / max(float(self.w.max()), 2.0**-1000) if self.usual.all() else 0.0
        )  # of all such positions

    def cos_sin(self, positions: Float64s, columns: Indices | slice) -> tuple[Rounded, Rounded]:
        """At each position, (rows, 1) for all columns or (entries,) for as many single ones."""
        mantissa, exponent = np.frexp(positions)
        square = positions * self.w[columns]
        square *= square
        main, rest = two_product(mantissa, self.first[columns])
        rest += mantissa * self.second[columns] - main * square * (1 / 6)
        power = np.ldexp(1.0, exponent) * np.ldexp(1.0, self.exponent[columns])
        sin = self._decided(main, rest, power)
        if self.dtype == np.float64:
            _subnormal(sin, main, rest, exponent, self.exponent[columns])
        g1, g2 = self.gain
        return self._decided(np.full(square.shape, g1), g2 - (0.5 * g1) * square, self.scale), sin

    def _decided(self, main: Float64s, rest: Float64s, power: Any) -> Rounded:
        doubt = np.abs(main) * self.doubt
        values, least = (narrowed((main + bound) * power, self.dtype) for bound in (rest + doubt, rest - doubt))
        return values, values != least


def _two_parts(value: Ratio) -> tuple[float, float, int]:
    """A fraction as (first + second) 2^exponent, 1/2 <= |first| <= 2."""
    n, d = value
    exponent = n.bit_length() - d.bit_length() if n else 0
    fixed = (n << 160 - exponent) // d if exponent <= 160 else n // (d << exponent - 160)
    first = float(fixed)
    return math.ldexp(first, -160), math.ldexp(float(fixed - int(first)), -160), exponent


def two_product(x: Float64s, y: Float64s) -> tuple[Float64s, Float64s]:
    """The product, exactly, in two parts (Dekker)."""
    x_upper, y_upper = upper_half(x), upper_half(y)
    x_lower, y_lower = x - x_upper, y - y_upper
    main = x * y
    return main, ((x_upper * y_upper - main) + x_upper * y_lower + x_lower * y_upper) + x_lower * y_lower


def _subnormal(result: Rounded, main: Float64s, rest: Float64s, e: NDArray[Any], f: NDArray[Any]) -> None:
    """Put right the values, times 2^(e+f), that were rounded a second time: they are a whole number of the smallest spacing."""
    values, unlike = result
    at = np.abs(values) < 2.0**-1021
    if not at.any():
        return
    # 2^(e+f+1074), where e + f < -1021, and so e < -121 and f < 53; elsewhere anything
    in_units = np.ldexp(1.0, np.minimum(e, -121) + 600) * np.ldexp(1.0, np.minimum(f, 53) + 474)
    units, low = main[at] * in_units[at], rest[at] * in_units[at]
    whole = np.rint(units)
    low += units - whole
    step = np.rint(low + UNIT_DOUBT)
    values[at] = (whole + step) * UNIT
    unlike[at] = step != np.rint(low - UNIT_DOUBT)
