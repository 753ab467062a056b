r"""Vector-Jacobian products of what is linear in an argument, or affine. See :mod:`posref_conformance.adjoints`.

The Jacobian J is what the reference makes of each unit array, less what it makes of nothing; the gradient is J^T g. An entry of
J is a sum of products of the other arguments, with cancellation where they differ in sign, and a backend may sum the parts apart.
In magnitudes: \|J\| is the Jacobian for the magnitudes of the other arguments (for PaTH with -beta, so that reflections add). A
gradient of n entries, each of c products, is within (n c + c + 8) u of \|J\|^T \|g\|. PaTH's keys went through t transformations
of d products each: c = t (d + 3); by what makes the reflections nothing is differentiated.

    forget  a backend differentiates differences of prefix sums: sums over all pairs, of which two are subtracted; 2 sum |g| more
    gate    y = g_a (g_b c - 1) + 2 has the slopes g_a (1 - g_a) (g_b c - 1) and g_a g_b (1 - g_b) c, whose arguments are sums
            of four numbers p: off by 4 u sum |p|, which moves a slope by as much of g_a (g_b |c| + 1); 12 u for its products
    CAPE    the shift gets g e^l; the logarithm l gets g y, in which shift and position may cancel
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import posref
from posref_conformance.gradient import Asked, Gradient, Values, of_sum, sum_to

LARGE = 2.0**20
PRODUCTS = {"relative_scores": 3, "disentangled_scores": 4, "decomposed_bias": 2}  # c; 1 for the others


def _of(function: str) -> Callable[[Asked], Gradient]:
    return lambda a: _linear(function, a)


def _linear(function: str, a: Asked) -> Gradient:
    given = {name: _wide(value) for name, value in a.given.items()}
    value = np.zeros(given[a.by].shape)
    size, entries = value.copy(), value.copy()
    sized = {name: np.abs(v) if _is_data(v) else v for name, v in given.items()}
    if function == "path_scores":
        sized["beta"] = -sized["beta"]
    for at, row in _jacobian(function, given, a.by):
        value[at] = np.sum(row * a.g)
    for at, row in _jacobian(function, sized, a.by):
        size[at], entries[at] = np.sum(np.abs(row * a.g)), np.count_nonzero(row)
    if function == "forget_bias":  # sums of sums from the end, whose difference is taken
        size += 2 * np.abs(a.g).sum(axis=(-1, -2))[..., None]
    n, c = float(entries.max(initial=0)), PRODUCTS.get(function, 1)
    if function == "path_scores":
        c = given["w"].shape[-2] * (given["w"].shape[-1] + 3)
    return Gradient(value, lambda u: (n * min(c, 4) + c + 8) * u * size)


def _jacobian(function: str, given: dict[str, Any], by: str) -> Iterator[tuple[tuple[int, ...], Values]]:
    """Of each element of the argument, what it adds to the result."""
    of = getattr(posref, function)
    unit = np.zeros(given[by].shape)
    nothing = of(**{**given, by: unit})
    for at in np.ndindex(unit.shape):
        unit[at] = LARGE  # so large that what is subtracted has no roundings of a size that counts
        yield at, np.asarray(of(**{**given, by: unit}) - nothing) / LARGE
        unit[at] = 0.0


def _is_data(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "biu"


def _wide(value: Any) -> Any:
    return value.astype(np.float64) if _is_data(value) else value


def _bias_gate(a: Asked) -> Gradient:
    p, c = a["projection"], a["const"][:, None]
    first, second = (1 / (1 + np.exp(-p[..., four].sum(axis=-1))) for four in (slice(4), slice(4, 8)))
    if a.by == "const":
        terms = np.moveaxis(a.g * first * second, -2, 0).reshape(len(a["const"]), -1)
        near = 4 * np.abs(p).sum(axis=-1).max(initial=0.0)
        size = np.abs(terms).sum(axis=1)
        return Gradient(terms.sum(axis=1), lambda u: (terms.shape[1] + near + 12) * u * size)
    outer, inner = a.g * first * (1 - first) * (second * c - 1), a.g * first * c * second * (1 - second)
    value = np.repeat(np.stack([outer, inner], axis=-1), 4, axis=-1)
    size = np.abs(a.g) * first * (second * np.abs(c) + 1)
    near = 4 * np.abs(p).sum(axis=-1)
    return Gradient(value, lambda u: np.broadcast_to(((near + 12) * u * size)[..., None], value.shape))


def _cape_positions(a: Asked) -> Gradient:
    positions, grown = a["positions"], np.exp(a["log_scale"])
    mean = positions.mean(axis=-1, keepdims=True) if a.given["centre"] else 0.0
    if a.by == "shift":
        terms = size = a.g * grown
    else:
        terms = a.g * (positions - mean + a["shift"]) * grown
        size = np.abs(a.g) * (np.abs(positions) + np.abs(mean) + np.abs(a["shift"])) * grown
    shape = a[a.by].shape
    count = terms.size // max(1, a[a.by].size)
    return of_sum(sum_to(terms, shape), sum_to(np.abs(size), shape), count + 4)


LINEAR = (
    "relative_shift",
    "relative_bias",
    "relative_values",
    "relative_scores",
    "disentangled_scores",
    "decomposed_bias",
    "reset_cls",
    "forget_bias",
    "path_scores",
)
ADJOINTS: dict[str, Callable[[Asked], Gradient]] = {
    **{function: _of(function) for function in LINEAR},
    "bias_gate": _bias_gate,
    "cape_positions": _cape_positions,
}
