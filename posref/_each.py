"""A closed form of many positions: every distinct one computed once, in decimals."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref._blocks import filled


@contextmanager
def fewer_digits() -> Iterator[None]:
    """40: a logarithm costs a third of what it does at the 60 of `real_arithmetic`, and a table may have many."""
    with decimal.localcontext(decimal.Context(prec=40, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)):
        yield


def each_distinct(function: Callable[[Fraction], Decimal], values: NDArray[Any]) -> NDArray[np.float64]:
    """The function of every value, of values.shape, as a real number that is rounded once."""

    def of_part(part: NDArray[Any]) -> NDArray[np.float64]:
        distinct, place = np.unique(part, return_inverse=True)
        with fewer_digits():
            reals = (function(Fraction(value.item())) for value in distinct)
            found = np.fromiter(map(float, reals), np.float64, len(distinct))
        return found[place.reshape(part.shape)]

    return filled(of_part, values)


def as_decimal(value: Fraction) -> Decimal:
    """A fraction, to the digits of the context."""
    return Decimal(value.numerator) / value.denominator


def log_of_one_more(value: Fraction) -> Decimal:
    """The logarithm of 1 + value >= 1: by its series where 1 + value would need more digits than the context has."""
    if value >= Fraction(1, 10**6):
        return as_decimal(value + 1).ln()
    x, terms = as_decimal(value), range(7, 0, -1)  # the eighth is below 10^-42 of the first
    total = Decimal(0)
    for k in terms:
        total = (Decimal(1) / k - total) * x
    return total
