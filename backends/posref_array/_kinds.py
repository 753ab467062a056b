"""Numbers of any kind, float or Decimal: what the formulas of the frequencies share."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

from posref import exact

Number: TypeAlias = Any  # float or Decimal; a type checker cannot see that all numbers of one formula are of one kind
Kind: TypeAlias = Callable[[Any], Number]  # float or Decimal itself


def full_turn(kind: Kind) -> Number:
    """2 pi."""
    return 2 * exact.pi() if kind is Decimal else math.radians(360.0)  # math.tau is a global, which may be traced


def log(x: Number) -> Number:
    """The natural logarithm."""
    return x.ln() if isinstance(x, Decimal) else math.log(x)


def rise(x: Number, low: Number, high: Number) -> Number:
    """0 up to low, 1 from high on, a straight line between; a step where they are equal."""
    if x >= high:
        return 1
    return 0 if x <= low else (x - low) / (high - low)
