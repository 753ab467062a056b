"""Sums of squared sines, in two float64, as `posref.exact.cos_sin` has single ones.

A sine s = x + y comes from `posref._sums`, off by e = 2^-75 a term of its angle; |y| < 2^-25.4. Of its square

    s^2 = x^2 + (2 x y + y^2)

x^2 is the sum of two float64 (Dekker), and the bracket is rounded to 2^-77 x three times. With 2 s e for the sine's own error
that is within 2^-73 |x| a term, and 2^-100 where x is next to 0. `math.fsum` adds without an error of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from posref._integers import Ratio, quarter_cos_sin
from posref._rotation import Angles, Float64s
from posref._small_angles import two_product
from posref._sums import BLOCK, rotations

ERROR, SMALLEST_ERROR = 2.0**-73, 2.0**-100


def sums_of_squares(positions: Sequence[Float64s], frequencies: Sequence[Ratio]) -> tuple[Float64s, Float64s, Float64s]:
    """The sum over frequencies w of sin^2(p w), for p the sum of the positions, (rows,) each: in two parts, and the doubt."""
    terms = [Angles(p, frequencies) for p in positions if p.any()] or [Angles(positions[0], frequencies)]
    n, main, rest, doubt = len(frequencies), [], [], []
    for row in range(0, len(positions[0]), step := max(1, BLOCK // n)):
        first, second = rotations(terms, slice(row, row + step))
        x, y = first.imag, second.imag
        square, low = two_product(x, x)
        low += 2 * x * y + y * y
        doubt += (len(terms) * ERROR * np.abs(x).sum(axis=1) + n * SMALLEST_ERROR).tolist()
        for parts in np.concatenate([square, low], axis=1).tolist():
            main.append(math.fsum(parts))
            rest.append(math.fsum([*parts, -main[-1]]))
    return np.array(main), np.array(rest), np.array(doubt)


def sum_of_squares(position: Fraction, frequencies: Sequence[Ratio]) -> Fraction:
    """One of them, from integers of as many bits as it takes: within 2^-100 of itself, for frequencies up to 1."""
    p, q = position.as_integer_ratio()
    angles = [(p * n, q * d) for n, d in frequencies]
    largest = max(abs(Fraction(*angle)) for angle in angles)
    bits = 160 + max(0, largest.denominator.bit_length() - largest.numerator.bit_length())
    total = 0
    for angle in angles:
        quarters, cos, sin = quarter_cos_sin(angle, bits)
        total += (cos if quarters & 1 else sin) ** 2
    return Fraction(total, 1 << 2 * bits)
