"""Ball arithmetic: true values as enclosures, decisions that are certain, and errors in ulp that are upper bounds.

A ball is python-flint's arb: a midpoint and a radius that together contain the true real number, whatever was rounded on the
way. At a limited precision a ball may be too wide to tell on which side of a step it lies, or how far a float64 is from it.
It then says `Undecided`, and `decided` asks again with more bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

from flint import arb, ctx, fmpq

Ball: TypeAlias = Any  # flint.arb; flint has no types of its own
T = TypeVar("T")

BITS = 300
LARGEST_PRECISION = BITS << 7
SURE = 2.0**-20  # of an ulp: the radius at which an error is known well enough
TO_INFINITY = 2**1024 - 2**970  # from here on, round-to-nearest gives infinity


class Undecided(ArithmeticError):
    """A ball is too wide for the question."""


def decided(question: Callable[[], T]) -> T:
    """The answer, at as many bits as its decisions need."""
    bits = BITS
    while True:
        ctx.prec = bits
        try:
            return question()
        except Undecided:
            bits *= 2
            if bits > LARGEST_PRECISION:
                raise


def ball(value: Fraction) -> Ball:
    return arb(fmpq(value.numerator, value.denominator))


def at_least(a: Ball, b: Ball) -> bool:
    if a >= b:
        return True
    if a < b:
        return False
    raise Undecided


def floor(x: Ball) -> Ball:
    whole = x.floor().unique_fmpz()
    if whole is None:
        raise Undecided
    return arb(whole)


def ceil(x: Ball) -> Ball:
    return -floor(-x)


def clip(x: Ball) -> Ball:
    """Between 0 and 1."""
    if not at_least(x, arb(0)):
        return arb(0)
    return arb(1) if at_least(x, arb(1)) else x


def error(got: float, true: Ball) -> float:
    """The most that a float64 can be off, in ulp of the true value; a subnormal's ulp is the smallest spacing, 2^-1074."""
    if math.isnan(got):
        return math.inf
    if math.isinf(got):
        return 0.0 if at_least(true if got > 0 else -true, arb(TO_INFINITY)) else math.inf
    unit = math.ulp(got)
    if abs(math.frexp(got)[0]) == 0.5 and abs(true) < abs(got):  # below a power of two, neighbours are closer
        unit = max(unit / 2, 5e-324)
    most = float((true - got).abs_upper() / unit)
    if not most <= 0.5 and not true.rad() < unit * arb(SURE):  # NaN, a logarithm of a ball around 0, is neither
        raise Undecided
    return most
