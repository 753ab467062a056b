"""Queries against keys, and functions of the differences of their positions.

A difference of two float64 is the sum of two (Knuth): here the real and the imaginary part of a complex number, so that NumPy
sorts and finds them. Integers to 2**53 are float64 too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref._arguments import shown
from posref._blocks import ENTRIES, blocks
from posref._each import fewer_digits
from posref.exact import rounded

Differences = NDArray[np.complex128]


def outer_positions(q: NDArray[Any], k: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Queries against keys, with an axis for the heads: (..., 1, q, 1) and (..., 1, 1, k)."""
    for name, p in (("q_positions", q), ("k_positions", k)):
        if not p.ndim:
            raise ValueError(f"{name} must have a sequence axis, got {shown(p[()])}")
    try:
        np.broadcast_shapes(q.shape[:-1], k.shape[:-1])
    except ValueError:
        raise ValueError(
            f"q_positions and k_positions must have batch axes that broadcast, got {q.shape} and {k.shape}"
        ) from None
    return q[..., None, :, None], k[..., None, None, :]


def each_difference(
    functions: Sequence[Callable[[Fraction], Decimal]], q: NDArray[Any], k: NDArray[Any]
) -> NDArray[np.float64]:
    """A function per head of the exact difference q - k, each distinct one computed once, as a real number rounded once.

    q and k are those of `outer_positions`; the result is (..., heads, q, k).
    """
    distinct = distinct_differences(q, k)
    with fewer_digits():
        heads = np.array([rounded(map(function, fractions(distinct))) for function in functions])
    return spread(heads, distinct, q, k)


def fractions(distinct: Differences) -> list[Fraction]:
    """The differences as they are."""
    return [Fraction(d.real) + Fraction(d.imag) for d in distinct.tolist()]


def distinct_differences(q: NDArray[Any], k: NDArray[Any]) -> Differences:
    """The distinct values of q - k, sorted."""
    q, k = np.broadcast_arrays(q, k)
    found = np.empty(0, np.complex128)
    for at in blocks(q.shape):
        found = np.union1d(found, _difference(q[at], k[at]))
    if not np.isfinite(found).all():
        raise ValueError(
            "q_positions and k_positions must be less than 2**1024 apart, got a difference that is infinite"
        )
    return found


def places(distinct: Differences, q: NDArray[Any], k: NDArray[Any]) -> NDArray[np.int64]:
    """Where in the list each pair's difference is."""
    found: NDArray[np.int64] = np.searchsorted(distinct, _difference(q, k))
    return found


def spread(heads: NDArray[np.float64], distinct: Differences, q: NDArray[Any], k: NDArray[Any]) -> NDArray[np.float64]:
    """(heads, differences) to (..., heads, q, k)."""
    q, k = np.broadcast_arrays(q[..., 0, :, :], k[..., 0, :, :])
    result = np.empty((*q.shape[:-2], len(heads), *q.shape[-2:]))
    by_head = np.moveaxis(result, -3, 0)  # a view, (heads, ..., q, k)
    for at in blocks(q.shape, ENTRIES):
        place = places(distinct, q[at], k[at])
        for row, of_head in zip(heads, by_head, strict=True):
            of_head[at] = row[place]
    return result


def _difference(q: NDArray[Any], k: NDArray[Any]) -> Differences:
    q, k = q.astype(np.float64), k.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        d = q - k
        back = d - q
        return np.asarray(d + 1j * ((q - (d - back)) - (k + back)))
