r"""Budgets for what depends on the content. Notation and sums as in `budgets_relative`; C are prefix sums of magnitudes.

    decomposed_bias   two sums of d products, their sum:             (d + 3) u sum|.|            native: + 2.5 u_o sum|.|
    reset_cls         equality
    forget_bias       a difference of prefix sums of n logarithms:   (n + 2) u (C_i + C_j). The sums are kept in float32 at least:
                      in 16 bits they would stand still, as positions do. The reference's sums are exact.

Gates. sigma(t) is off by dt / 4 and 4 u of itself, t being a sum of four: 5 u sum|p|. Of 2 + a (b c - 1), with three more
roundings: u ((1.25 sum|p_a| + 4) |b c - 1| + (1.25 sum|p_b| + 4) |c| + 3 (|c| + 3)). native: u_o for u, with one rounding of each
sum: u_o ((sum|p_a| / 2 + 2) |b c - 1| + (sum|p_b| / 2 + 2) |c| + 3 (|c| + 3)).

CoPE. The content, a scaled sum of d products, is off by e = (d + 3) u s sum|q||k|; its gate by e / 4 + 4 u; the position by the
sum of those over the keys, and n u p. The line between two rows is as steep as the largest difference of neighbouring z, and z is
off by (d + 2) u sum|q||T|; three roundings of the line, and two of the sum. native: content, gates and z rounded to x's type,
u_o (|content| / 2 + 1) per gate, 3 u_o max|z| and 2 u_o of each part of the sum. Positions in 16 bits are a mistake.

PaTH. Every step from i down to j is two sums of d products and a difference, (2 d + 5) u of the sizes that the recursion itself
gives with magnitudes and plus signs; the last product d + 2 more, the gate as above. native: 3 u_o per step for 2 d u.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import posref
from posref_conformance.budgets_relative import magnitudes, sums
from posref_conformance.case import Call
from posref_conformance.roundings import (
    ONE,
    ROUNDOFF,
    SMALLEST,
    Bound,
    Bounds,
    exact_equality,
    last_rounding,
    values_of,
    working_roundoff,
)


def _profiles(wide: Bound, more: Bound, y: NDArray[Any], dtype: str) -> Bounds:
    """The working type's error, what a 16-bit type adds, and the cast."""
    u_o = ROUNDOFF[dtype]
    cast = 1.5 * u_o * np.abs(y) + SMALLEST[dtype]
    added = u_o * more if u_o > working_roundoff(dtype) else 0.0 * more
    return {
        name: [np.broadcast_to(bound, y.shape)]
        for name, bound in (("float32", wide + cast), ("native", wide + added + cast))
    }


def _decomposed(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    args, options = magnitudes(call)
    return sums(posref.decomposed_bias(*args, **options), args[0].shape[-1] + 3, expected[0], dtypes[0])


def _gate(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    p, c = values_of(call, 0), np.abs(values_of(call, 1))[:, None]
    size_a, size_b = (np.abs(p[..., part]).sum(axis=-1) for part in (slice(4), slice(4, 8)))
    b = 1 / (1 + np.exp(-p[..., 4:].sum(axis=-1)))
    inner, rest = np.abs(b * values_of(call, 1)[:, None] - 1), 3 * (c + 3)
    wide = (1.25 * size_a + 4) * inner + (1.25 * size_b + 4) * c + rest
    more = (0.5 * size_a + 2) * inner + (0.5 * size_b + 2) * c + rest
    return _profiles(working_roundoff(dtypes[0]) * wide, more, expected[0], dtypes[0])


def _prefix_sums(gates: NDArray[np.float64], queries: int, u: float) -> Bound:
    """(n + 2) u (C_i + C_j)."""
    size = np.cumsum(np.abs(gates), axis=-1)
    n = gates.shape[-1]
    return np.asarray((n + 2) * u * (size[..., n - queries :, None] + size[..., None, :]))


def _forget(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    gates, y = values_of(call, 0), expected[0]
    u, queries = working_roundoff(dtypes[0]), y.shape[-2]
    off = _prefix_sums(gates, queries, u)
    if "backward" in call.kwargs:
        n = gates.shape[-1]
        future = np.arange(n) > np.arange(n - queries, n)[:, None]
        off = np.where(future, _prefix_sums(np.asarray(call.kwargs["backward"]).astype(np.float64), queries, u), off)
    return {ONE: [off + last_rounding(dtypes[0], y)]}


def _cope(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    q, k, table = (values_of(call, i) for i in range(3))
    d, rows = table.shape[-1], len(table)
    s = call.kwargs.get("scale") or d**-0.5
    u = working_roundoff(dtypes[0]) * (2 if dtypes[0] == "float64" else 1)
    content = abs(s) * np.abs(q) @ np.abs(k).swapaxes(-1, -2)
    plain = np.abs(s * q @ k.swapaxes(-1, -2))
    z, size_z = q @ table.T, (np.abs(q) @ np.abs(table).T).max(axis=-1, keepdims=True)
    steep = np.abs(np.diff(z, axis=-1)).max(axis=-1, keepdims=True, initial=0.0)
    largest = np.abs(z).max(axis=-1, keepdims=True)
    seen, n = call.kwargs.get("mask", np.True_), k.shape[-2]
    f = abs(s) if call.kwargs.get("scale_positions", True) else 1.0

    def counted(gate: Bound) -> Bound:
        return np.asarray(np.flip(np.cumsum(np.flip(np.where(seen, gate, 0.0), -1), -1), -1))

    position = counted((d + 3) * u * content / 4 + 4 * u) + n * u * min(n, rows - 1)
    placed = position * steep + (d + 2) * u * size_z + 3 * u * largest
    wide = (d + 3) * u * content + f * placed + 2 * u * (plain + f * largest)
    more = f * (counted(plain / 2 + 1) * steep + 3 * largest) + 2 * (plain + f * largest)
    return _profiles(wide, more, expected[0], dtypes[0])


def _path(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    q, k, w, beta = (np.abs(values_of(call, i)) for i in range(4))
    n, d = q.shape[-2:]
    u = working_roundoff(dtypes[0]) * (2 if dtypes[0] == "float64" else 1)
    s = abs(call.kwargs.get("scale") or d**-0.5)
    size = s * posref.path_scores(q, k, w, -beta, scale=1.0)  # I + b w w: all signs are plus
    steps = np.maximum(np.arange(n)[:, None] - np.arange(n) + 1, 1)
    wide, more = (steps * (2 * d + 5) + d + 2) * u * size, (3 * steps + 2) * size
    if "log_forget" in call.kwargs:
        gates = np.asarray(call.kwargs["log_forget"]).astype(np.float64)
        logs = np.abs(posref.forget_bias(gates))
        factor = s if call.kwargs.get("gate") == "scaled" else 1.0
        wide = wide + factor * (_prefix_sums(gates, n, u) + 2 * u * logs) + 2 * u * (size + factor * logs)
        more = more + 2 * (size + factor * logs)
    past = np.tri(n, dtype=bool)
    return _profiles(np.where(past, wide, 0.0), np.where(past, more, 0.0), expected[0], dtypes[0])


BUDGETS: dict[str, Callable[[Call, list[NDArray[Any]], list[str]], Bounds]] = {
    "decomposed_bias": _decomposed,
    "bias_gate": _gate,
    "reset_cls": exact_equality,
    "forget_bias": _forget,
    "cope_scores": _cope,
    "path_scores": _path,
}
