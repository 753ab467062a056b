"""Queries against keys, and functions of the differences of their positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref._arguments import shown
from posref._each import fewer_digits
from posref.exact import rounded


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
    differences, place = distinct_differences(q[..., 0, :, :], k[..., 0, :, :])
    bias = np.empty((*place.shape[:-2], len(functions), *place.shape[-2:]))
    with fewer_digits():
        for head, function in enumerate(functions):
            np.take(rounded(function(d) for d in differences), place, out=bias[..., head, :, :], mode="clip")
    return bias


def distinct_differences(q: NDArray[Any], k: NDArray[Any]) -> tuple[list[Fraction], NDArray[np.int64]]:
    """The distinct values of q - k, which are exact, and where in the list of them each pair's is."""
    if q.dtype.kind == k.dtype.kind == "i":
        values, place = np.unique(q - k, return_inverse=True)
        return [Fraction(d) for d in values.tolist()], place.reshape(np.broadcast_shapes(q.shape, k.shape))
    as_fractions = np.frompyfunc(Fraction, 1, 1)
    differences = as_fractions(q) - as_fractions(k)
    index = {d: i for i, d in enumerate(dict.fromkeys(differences.flat))}
    return list(index), np.array([index[d] for d in differences.flat], np.int64).reshape(differences.shape)
