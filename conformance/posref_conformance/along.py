"""Errors along positions: where a table or a rotation goes wrong first is where its angles are large."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np

import posref
from posref_conformance.case import Array, Call

# Arguments that say where an element of the result stands, and what that is called.
AXES = {
    "positions": "position",
    "timesteps": "timestep",
    "q_positions": "position of the query",
    "relative_position": "relative position",
    "distances": "distance",
}
INDEX = "index in the sequence"


def axis_name(function: str) -> str:
    """What the errors of a function are shown along."""
    return next((word for name, word in AXES.items() if name in _parameters(function)), INDEX)


def positions_of(function: str, call: Call, shape: Sequence[int]) -> Array:
    """The position that each element of a result belongs to; where there is none, its index along the sequence."""
    given = inspect.signature(getattr(posref, function)).bind(*call.args, **call.kwargs).arguments
    for name in AXES if call.by in ("", "x") else ():  # a gradient lies where its argument does
        if name in given:
            for spread in _spreads(name, np.asarray(given[name]), function, len(shape)):
                try:
                    return np.broadcast_to(spread, shape)
                except ValueError:  # not the shape of this function's result
                    continue
    axis = max(len(shape) - 2, 0)  # (..., sequence, channels), or a list
    index = np.arange(shape[axis]) if shape else np.zeros((), int)
    return np.broadcast_to(index[:, None] if len(shape) > 1 else index, shape)


def _spreads(name: str, p: Array, function: str, axes: int) -> Iterator[Array]:
    """The ways in which positions may be spread over a result, the likeliest first."""
    if "axis_map" in _parameters(function) or "frequencies" in _parameters(function):
        p = np.abs(p).max(axis=0)  # (axes, ...): the largest says how far the angles go
    if name == "q_positions":
        yield p[..., None]  # (..., q, k)
        yield p[..., None, :, None]  # (..., heads, q, k)
    if "x" in _parameters(function):
        yield p[..., None]
    yield p.reshape((*p.shape, *(1,) * (axes - p.ndim)))
    yield p.reshape((*p.shape[:-1], 1, *p.shape[-1:], *(1,) * (axes - p.ndim - 1)))  # heads before the sequence


def worst_by_position(found: Iterable[tuple[Array, Array]]) -> tuple[tuple[float, float], ...]:
    """Pairs of a position and the worst error, as a multiple of its bound: for zero, and in each octave of either sign.

    ``found`` has arrays of errors, each with the positions of its elements.
    """
    worst: dict[tuple[float, int], tuple[float, float]] = {}
    for errors, along in found:
        p, e = np.broadcast_to(along, errors.shape).astype(np.float64).ravel(), errors.ravel()
        sign, octave = np.sign(p), np.frexp(p)[1]
        order = np.lexsort((-np.abs(p), e, octave, sign))  # within an octave the worst is last, of equals the nearest
        ends = (np.diff(octave[order], append=np.nan) != 0) | (np.diff(sign[order], append=np.nan) != 0)
        for at in order[ends]:
            key = float(sign[at]), int(octave[at])
            if key not in worst or e[at] > worst[key][1]:
                worst[key] = float(p[at]), float(e[at])
    return tuple(sorted(worst.values()))


@cache
def _parameters(function: str) -> frozenset[str]:
    return frozenset(inspect.signature(getattr(posref, function)).parameters)
