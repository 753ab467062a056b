r"""Error budgets of rotary encodings on several axes: those of :mod:`posref_conformance.budgets`, pair by pair.

Frequencies. A pair's frequency is a power of the base whatever the ladder, and scaled by the same rules: c_w of the ladder that
it is taken from. Tables: theta = p_{A(i)} w_i, and the phase term as for one axis.

Mixed. theta = sum_a p_a f_a over n axes. Each product errs by 3 u |p_a f_a| (position, frequency and product), the n - 1 sums by
u each of the partial sums, at most u sum_a |p_a f_a| each: with t = sum_a |p_a f_a| in the place of |theta|

    u_p (c + (c + n - 1) t) g

Channelwise. a cos(alpha) - b sin(alpha) and a sin(beta) + b cos(beta) are two products and a sum, as in a rotation, with g the
largest of the four magnitudes in the place of the largest of two.

Coordinates. 2 (j + 1/2) / N - 1, beyond 1 where N is the smallest size: the numerator is exact, then at most a division,
a product with 2 and a difference, each within u of a number that is at most |c| + 2: 3 u (|c| + 2), so 4 u leaves room.
Maps and positions are integers: equality.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import posref
from posref_conformance.case import Call
from posref_conformance.roundings import (
    ONE,
    Bound,
    Bounds,
    exact_equality,
    last_rounding,
    phase_error,
    rope_frequencies,
    rotation_error,
    values_of,
    working_roundoff,
)


def _axes_frequencies(axes: NDArray[Any], kwargs: dict[str, Any]) -> tuple[Bound, Bound]:
    """The frequencies that a call means, and c_w for each."""
    ladder, given = kwargs.get("ladder", "shared"), {k: v for k, v in kwargs.items() if k != "ladder"}
    if ladder != "per_axis":
        w, c_w = rope_frequencies(2 * len(axes), given)
        if ladder == "shared":
            return w, c_w
        axis_count = axes.max() + 1
        order = [int(np.count_nonzero(axes[:i] == a)) * axis_count + a for i, a in enumerate(axes)]
        return w[order], c_w[order]
    w, c_w = np.empty(len(axes)), np.empty(len(axes))
    for axis in np.unique(axes):
        own = {k: v[axis] if isinstance(v, (list, tuple)) else v for k, v in given.items()}
        w[axes == axis], c_w[axes == axis] = rope_frequencies(2 * int(np.count_nonzero(axes == axis)), own)
    return w, c_w


def _by_pair(positions: NDArray[Any], axes: NDArray[Any]) -> Bound:
    return np.moveaxis(positions[axes].astype(np.float64), 0, -1)  # (..., pairs)


def _inv_freq(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    w, c_w = _axes_frequencies(call.args[0], call.kwargs)
    return {ONE: [(c_w + 2) * working_roundoff(dtypes[0]) * w + last_rounding(dtypes[0], w)]}


def _cos_sin(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    theta = _by_pair(call.args[0], call.args[2]) * values_of(call, 1)
    gain = max(1.0, abs(call.kwargs.get("attention_factor", 1.0)))
    phase = phase_error(theta, 0.0, working_roundoff(str(call.args[1].dtype)), gain)
    return {ONE: [phase + last_rounding(d, y) for d, y in zip(dtypes, expected, strict=True)]}


def _table(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    kwargs = {k: v for k, v in call.kwargs.items() if k != "attention_factor"}
    w, c_w = _axes_frequencies(call.args[1], kwargs)
    theta = _by_pair(call.args[0], call.args[1]) * w
    scalings = kwargs.get("scaling")
    each = scalings if isinstance(scalings, (list, tuple)) else [scalings]
    own = [posref.rope_attention_factor(s, seq_len=kwargs.get("seq_len")) for s in each]
    gain = max(1.0, call.kwargs.get("attention_factor") or max(own))
    return {
        ONE: [
            phase_error(theta, c_w, working_roundoff(d), gain) + last_rounding(d, y)
            for d, y in zip(dtypes, expected, strict=True)
        ]
    }


def _mixed(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    p, f = np.abs(values_of(call, 0)), np.abs(values_of(call, 1))
    t = np.sum([q[..., :, None] * w[..., None, :] for q, w in zip(p, f, strict=True)], axis=0)
    phase = phase_error(t, len(p) - 1.0, working_roundoff(str(call.args[1].dtype)), 1.0)
    return {ONE: [phase + last_rounding(d, y) for d, y in zip(dtypes, expected, strict=True)]}


def _channels(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    magnitude = np.maximum(np.abs(values_of(call, 1)), np.abs(values_of(call, 2)))
    half = magnitude.shape[-1] // 2
    if call.kwargs.get("layout", "half") == "half":
        g = np.maximum(magnitude[..., :half], magnitude[..., half:])
    else:
        g = np.maximum(magnitude[..., 0::2], magnitude[..., 1::2])
    return rotation_error(values_of(call, 0), g, np.zeros_like(g), call, expected[0], dtypes[0])


def _coordinates(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    return {ONE: [4 * working_roundoff(dtypes[0]) * (np.abs(expected[0]) + 2) + last_rounding(dtypes[0], expected[0])]}


BUDGETS: dict[str, Callable[[Call, list[NDArray[Any]], list[str]], Bounds]] = {
    "rope_axis_map": exact_equality,
    "rope_axes_inv_freq": _inv_freq,
    "rope_axes_cos_sin": _cos_sin,
    "rope_axes_table": _table,
    "rope_mixed_cos_sin": _mixed,
    "rope_apply_channels": _channels,
    "grid_positions": exact_equality,
    "grid_coordinates": _coordinates,
}
