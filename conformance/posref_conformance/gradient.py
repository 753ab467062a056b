"""A gradient: its value, and how far off a right one may be."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import posref
from posref_conformance.case import Call
from posref_conformance.roundings import ROUNDOFF, SMALLEST, Bound, Bounds, working_roundoff

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Gradient:
    """A vector-Jacobian product in float64.

    ``off`` gives the error of its products and sums for a roundoff u, to first order; ``phase`` is what angles are off by,
    which no type of the data changes. The last rounding is added here.
    """

    value: Values
    off: Callable[[float], Bound]
    phase: Bound | float = 0.0

    def bounds(self, dtype: str) -> Bounds:
        """Profiles: sums in the working type and one cast at the end; everything in the type itself."""
        cast = 1.5 * ROUNDOFF[dtype] * np.abs(self.value) + SMALLEST[dtype]
        units = {"float32": working_roundoff(dtype), "native": ROUNDOFF[dtype]}
        return {name: [np.asarray(self.phase + self.off(u) + cast)] for name, u in units.items()}


@dataclass(frozen=True)
class Asked:
    """A call that is differentiated, for the one who writes its adjoint."""

    given: dict[str, Any]
    by: str
    cotangents: tuple[Values, ...]

    def __getitem__(self, name: str) -> Values:
        """An array among the arguments, in float64."""
        return np.asarray(self.given[name]).astype(np.float64)

    @property
    def g(self) -> Values:
        """The cotangent of the only result."""
        return self.cotangents[0]

    def mapped(self, change: Callable[[Values], Values]) -> Asked:
        """The same with every floating array changed, the cotangents among them."""
        given = {
            name: change(self[name]) if isinstance(v, np.ndarray) and v.dtype.kind not in "iub" else v
            for name, v in self.given.items()
        }
        return Asked(given, self.by, tuple(map(change, self.cotangents)))


def asked(function: str, call: Call) -> Asked:
    """A call of a function, with its arguments by name."""
    bound = inspect.signature(getattr(posref, function)).bind(*call.args, **call.kwargs)
    bound.apply_defaults()
    cotangents = call.cotangent if isinstance(call.cotangent, tuple) else (call.cotangent,)
    return Asked(dict(bound.arguments), call.by, tuple(np.asarray(c).astype(np.float64) for c in cotangents))


def of_sum(value: Values, size: Values, terms: int, phase: Bound | float = 0.0) -> Gradient:
    """A sum of so many terms, ``size`` being that of their magnitudes: each term within 4 u, each addition within u."""
    return Gradient(value, lambda u: (terms + 4) * u * size, phase)


def of_products(a: Asked, adjoint: Callable[[Asked], Values], factor: float = 1.0) -> Gradient:
    """What is linear in the cotangent and has no minus: of magnitudes the same formula gives the size of each sum, and of ones
    the number of its terms. Six roundings are a term's own; float64 counts twice, as this is float64 too.
    """
    size, terms = adjoint(a.mapped(np.abs)), adjoint(a.mapped(np.ones_like))
    twice = 2 if a.given[a.by].dtype == np.float64 else 1
    return Gradient(factor * adjoint(a), lambda u: abs(factor) * twice * (terms + 6) * u * size)


def sum_to(array: Values, shape: tuple[int, ...]) -> Values:
    """What a broadcast is undone by: the sum over the axes along which it repeated."""
    extra = array.ndim - len(shape)
    array = array.sum(axis=tuple(range(extra)))
    repeated = tuple(i for i, n in enumerate(shape) if n == 1 and array.shape[i] != 1)
    return np.asarray(array.sum(axis=repeated, keepdims=True))
