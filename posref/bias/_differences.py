"""Queries against keys, and functions of the differences of their positions.

A difference of two float64 is the sum of two (Knuth): here the real and the imaginary part of a complex number, so that NumPy
sorts and finds them. Integers to 2**53 are float64 too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posref._arguments import require_queries_and_keys
from posref._blocks import blocks
from posref._each import fewer_digits
from posref.exact import rounded

Differences: TypeAlias = NDArray[np.complex128]

KEPT, VALUES = 1 << 15, 1 << 20  # at most: distinct differences that are kept, and values of them in all heads


def outer_positions(q: NDArray[Any], k: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Queries against keys, with an axis for the heads: (..., 1, q, 1) and (..., 1, 1, k)."""
    require_queries_and_keys(q.shape, k.shape)
    return q[..., None, :, None], k[..., None, None, :]


def each_difference(
    functions: Sequence[Callable[[Fraction], Decimal]], q: NDArray[Any], k: NDArray[Any]
) -> NDArray[np.float64]:
    """A function per head of the exact difference q - k, each distinct one computed once, as a real number rounded once.

    q and k are those of `outer_positions`; the result is (..., heads, q, k).
    """

    def values(distinct: Differences) -> NDArray[np.float64]:
        with fewer_digits():
            return np.array([rounded(map(function, fractions(distinct))) for function in functions])

    return from_differences(values, len(functions), q, k)


def from_differences(
    values: Callable[[Differences], NDArray[np.float64]], heads: int, q: NDArray[Any], k: NDArray[Any]
) -> NDArray[np.float64]:
    """(..., heads, q, k) from a function of distinct differences, which gives (heads, differences).

    Nothing of the size of the result is held beside it.
    """
    q, k = np.broadcast_arrays(q[..., 0, :, :], k[..., 0, :, :])
    result = np.empty((*q.shape[:-2], heads, *q.shape[-2:]))
    by_head = np.moveaxis(result, -3, 0)  # a view, (heads, ..., q, k)
    known: Differences | None = None
    rows = np.empty((heads, 0))
    for at, distinct, place in parts(q, k, heads):
        if distinct is not known:
            known, rows = distinct, values(distinct)
        for row, of_head in zip(rows, by_head, strict=True):
            of_head[at] = row[place]
    return result


def parts(
    q: NDArray[Any], k: NDArray[Any], heads: int = 1
) -> Iterator[tuple[tuple[slice, ...], Differences, NDArray[np.intp]]]:
    """Blocks of pairs: where, distinct differences, and where among these each pair's is.

    If there are few in all pairs, they are the same object in all blocks, so that what is made of them can be kept.
    """
    few = _few_differences(q, k, min(KEPT, VALUES // heads))
    for at in blocks(q.shape, KEPT if few is not None else max(1, min(KEPT // 2, VALUES // 4 // heads))):
        differences = _difference(q[at], k[at])
        distinct = _distinct(differences) if few is None else few
        yield at, distinct, np.searchsorted(distinct, differences)


def fractions(distinct: Differences) -> list[Fraction]:
    """The differences as they are."""
    return [Fraction(d.real) + Fraction(d.imag) for d in distinct.tolist()]


def _distinct(differences: Differences) -> Differences:
    """Each once, sorted."""
    found = np.unique(differences)
    if not np.isfinite(found).all():
        raise ValueError(
            "q_positions and k_positions must be less than 2**1024 apart, got a difference that is infinite"
        )
    return found


def _few_differences(q: NDArray[Any], k: NDArray[Any], most: int) -> Differences | None:
    """The distinct ones of all pairs; None if they are more than so many."""
    found = np.empty(0, np.complex128)
    for at in blocks(q.shape, KEPT):
        found = np.union1d(found, _distinct(_difference(q[at], k[at])))
        if len(found) > most:
            return None
    return found


def _difference(q: NDArray[Any], k: NDArray[Any]) -> Differences:
    q, k = q.astype(np.float64), k.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        d = q - k
        back = d - q
        return np.asarray(d + 1j * ((q - (d - back)) - (k + back)))
