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

from posref.exact import rounded


@contextmanager
def fewer_digits() -> Iterator[None]:
    """40: a logarithm costs a third of what it does at the 60 of `real_arithmetic`, and a table may have many."""
    with decimal.localcontext(decimal.Context(prec=40, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)):
        yield


def each_distinct(function: Callable[[Fraction], Decimal], values: NDArray[Any]) -> NDArray[np.float64]:
    """The function of every value, of values.shape, as a real number that is rounded once."""
    distinct, place = np.unique(values, return_inverse=True)
    with fewer_digits():
        found = rounded(function(Fraction(value)) for value in distinct.tolist())
    return found[place.reshape(values.shape)]


def as_decimal(value: Fraction) -> Decimal:
    """A fraction, to the digits of the context."""
    return Decimal(value.numerator) / value.denominator
