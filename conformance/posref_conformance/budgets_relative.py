r"""Budgets for relative attention. u is the working type's roundoff, u_o the result's, y the exact result.

A sum of n products, in any order, is off by n u of the sum of their magnitudes, and (n + 2) u leaves room for a term that was
rounded before; float64 counts twice, as the reference is float64 too. With sum|.| for that size, a cast to u_o, and what the
`native` profile adds by rounding in x's type:

    relative_bias       x . T over d channels                                   (d + 2) u sum|.|          native: + 2.5 u_o sum|.|
    relative_values     w T over k keys                                         (k + 2) u sum|.|          native: + 2.5 u_o sum|.|
    relative_scores     q + u and q + v, two or three such sums, their sum, the scale
                                                                                (d + 6) u sum|.|          native: + 5 u_o sum|.|
    disentangled_scores up to four such sums, their sum, the scale              (d + 6) u sum|.|          native: + 5 u_o sum|.|
    untied_scores       one or two such sums, their sum, the scale              (2 d + 4) u sum|.|        native: + 3.5 u_o sum|.|
    relative_index, relative_shift, deberta_bucket, permuted_channels: equality

native: products or sums that are rounded on the way, 2 u_o, and half of one for a tie; scores round q + u as well, and the terms
once more where they meet and where they are scaled. Untied scores may be one product of 2 d channels, content beside position; in
x's type a term is rounded, scaled and added, 3 u_o, and half of one for a tie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import posref
from posref_conformance.case import Call
from posref_conformance.roundings import (
    ROUNDOFF,
    SMALLEST,
    Bound,
    Bounds,
    exact_equality,
    values_of,
    working_roundoff,
)


def sums(size: Bound, terms: int, y: NDArray[Any], dtype: str, *, native: float = 2.5) -> Bounds:
    """Bounds of sums of so many terms, of which ``size`` are the magnitudes, added up."""
    u, u_o = working_roundoff(dtype), ROUNDOFF[dtype]
    wide = terms * u * (2 if dtype == "float64" else 1) * size + 1.5 * u_o * np.abs(y) + SMALLEST[dtype]
    more = native * u_o * size if u_o > u else 0.0 * size
    return {name: [np.broadcast_to(bound, y.shape)] for name, bound in (("float32", wide), ("native", wide + more))}


def magnitudes(call: Call) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with every floating array replaced by its magnitudes: a sum of them is the size of the sum."""

    def size(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind not in "iub":
            return np.abs(value.astype(np.float64))
        return abs(value) if isinstance(value, float) else value

    return [size(a) for a in call.args], {name: size(value) for name, value in call.kwargs.items()}


def _bias(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    args, kwargs = magnitudes(call)
    return sums(posref.relative_bias(*args, **kwargs), args[0].shape[-1] + 2, expected[0], dtypes[0])


def _values(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    args, _ = magnitudes(call)
    return sums(posref.relative_values(*args), values_of(call, 0).shape[-1] + 2, expected[0], dtypes[0])


def _scores(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    args, kwargs = magnitudes(call)
    size = posref.relative_scores(*args, **kwargs)
    return sums(size, args[0].shape[-1] + 6, expected[0], dtypes[0], native=5.0)


def _disentangled(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    args, kwargs = magnitudes(call)
    size = posref.disentangled_scores(*args, **kwargs)
    return sums(size, args[0].shape[-1] + 6, expected[0], dtypes[0], native=5.0)


def _untied(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    args, kwargs = magnitudes(call)
    channels = args[0].shape[-1] * (2 if kwargs.get("pos_q") is not None else 1)
    return sums(posref.untied_scores(*args, **kwargs), channels + 4, expected[0], dtypes[0], native=3.5)


BUDGETS: dict[str, Callable[[Call, list[NDArray[Any]], list[str]], Bounds]] = {
    "relative_index": exact_equality,
    "relative_shift": exact_equality,
    "relative_bias": _bias,
    "relative_values": _values,
    "relative_scores": _scores,
    "deberta_bucket": exact_equality,
    "permuted_channels": exact_equality,
    "disentangled_scores": _disentangled,
    "untied_scores": _untied,
}
