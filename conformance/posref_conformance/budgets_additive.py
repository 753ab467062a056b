r"""Error budgets of additive encodings. Notation as in :mod:`posref_conformance.budgets`.

Sinusoids. The phase of a ladder, times the gain: angles have one factor more than positions and frequencies, the scale, c_w + 1.
On several axes: axis by axis. A channel that is 0 by rule, and a row of padding, must be 0.

Fourier features. The phase of given frequencies with theta = |unit| sum_a |x_a f_a|: the unit adds two roundings (its own and a
product), each sum one. With g = |gain|: u_p (c + (c + 1 + n) theta) g. The input itself is rounded once.

Bands. Linear: products of the ends with shares, a sum: 6 u (|f_0| + |f_1|). Log: two logarithms within 2 u, products, a sum,
a quotient, then exp of an exponent that is off by 6 u (|ln f_0| + |ln f_1|): that, and 6 u, of the result.

Resampling. On an axis of S cells a centre is off by 4 u (S + 1), each weight by its kernel's slope times that; the slopes of all
weights of a row sum to at most 2 (2 + |a|) (2 for the linear kernel), the weights of the other axes to at most 1.5 each: that
times the largest entry of a channel. The kernel's own polynomial, the division by the sum, and a sum over T taps: (T + 12) u of
sum |W| |T|. `native` rounds weights and every axis' result to the table's type: 2 u_o more per axis. Rows before the grid: equal.

Hierarchical. q = p_b + k (p_a - p_0), k = alpha / (1 - alpha), or the sum of two u's: 8 roundings of
|p_b| + k |p_a| + (k + 1) |p_0|.

Coordinates. (c - h) s / (n + eps): a difference, a sum, a quotient, a product and the numbers' own roundings: 6 u |y|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import posref
from posref._additive_arguments import UNITS, nested_order
from posref_conformance.case import Call
from posref_conformance.roundings import (
    ONE,
    ROUNDOFF,
    Bound,
    Bounds,
    C,
    exact_equality,
    ladder_roundings,
    last_rounding,
    phase_error,
    values_of,
    working_roundoff,
)


def _ladder(base: float, n: int, shift: float) -> tuple[Bound, Bound]:
    w = np.power(float(base), -np.arange(n) / (n - shift))  # only as a size: a bound needs no last digit
    return w, ladder_roundings(w)


def _sinusoidal(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    p, dim, given = values_of(call, 0), call.args[1], call.kwargs
    width = dim - (dim % 2 if given.get("odd") == "zero" else 0)
    n = (width + 1) // 2
    w, c_w = _ladder(given.get("base", 10000.0), n, 1.0 if given.get("endpoint") else n - width / 2)
    theta = given.get("scale", 1.0) * p[..., None] * w
    phase = phase_error(theta, c_w + 1, working_roundoff(dtypes[0]), abs(given.get("gain", 1.0)))
    if given.get("layout", "interleaved") == "interleaved":
        both = np.repeat(phase, 2, axis=-1)[..., :width]
    else:
        both = np.concatenate([phase, phase[..., : width - n]], axis=-1)
    bound = np.concatenate([both, np.zeros((*p.shape, dim - width))], axis=-1)
    bound[p == given.get("padding_idx")] = 0.0
    return {ONE: [bound + last_rounding(dtypes[0], expected[0])]}


def _timestep(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    t, dim = values_of(call, 0), call.args[1]
    w, c_w = _ladder(call.kwargs.get("max_period", 10000.0), dim // 2, call.kwargs.get("downscale_freq_shift", 1.0))
    theta = call.kwargs.get("scale", 1.0) * t[..., None] * w
    phase = phase_error(theta, c_w + 1, working_roundoff(dtypes[0]), 1.0)
    bound = np.concatenate([phase, phase, np.zeros((*t.shape, dim % 2))], axis=-1)
    return {ONE: [bound + last_rounding(dtypes[0], expected[0])]}


def _axes(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    p, dim, given = values_of(call, 0), call.args[1], call.kwargs
    widths = given.get("widths") or [2 * (dim // (2 * len(p)))] * len(p)
    bases = np.broadcast_to(given.get("base", 10000.0), len(p))
    parts = []
    for row, base, width in zip(p, bases.tolist(), widths, strict=True):
        w, c_w = _ladder(base, width // 2, 1.0 if given.get("endpoint") else 0.0)
        parts += [phase_error(row[..., None] * w, c_w, working_roundoff(dtypes[0]), 1.0)] * 2
    order = nested_order([n // 2 for n in widths], given.get("layout", "axis_wave_band"))
    rest = np.zeros((*p.shape[1:], dim - len(order)))
    bound = np.concatenate([np.concatenate(parts, axis=-1)[..., order], rest], axis=-1)
    return {ONE: [bound + last_rounding(dtypes[0], expected[0])]}


def _features(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    x, f, given = np.abs(values_of(call, 0)), np.abs(values_of(call, 1)), call.kwargs
    turns = UNITS[given.get("unit", "radians")]
    unit = 1.0 if turns is None else 2 * math.pi / turns
    if f.ndim == 1:
        angles, summed = [unit * row[..., None] * f for row in x], 1
    else:
        angles, summed = [unit * np.moveaxis(x, 0, -1) @ f], len(x)
    u = working_roundoff(str(call.args[1].dtype))
    phases = [u * (C + (C + 1 + summed) * t) * abs(given.get("gain", 1.0)) for t in angles]
    order = nested_order([f.shape[-1]] * len(phases), given.get("layout", "axis_wave_band"))
    bound = np.concatenate([part for phase in phases for part in (phase, phase)], axis=-1)[..., order]
    if given.get("include_input"):
        bound = np.concatenate([working_roundoff(dtypes[0]) * np.moveaxis(x, 0, -1), bound], axis=-1)
    return {ONE: [bound + last_rounding(dtypes[0], expected[0])]}


def _bands(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    _, first, last = call.args
    y, u = np.abs(expected[0]), working_roundoff(dtypes[0])
    if call.kwargs.get("spacing", "linear") == "linear":
        off = np.full(y.shape, 6 * (abs(first) + abs(last)))
    else:
        off = 6 * (1 + abs(math.log(first)) + abs(math.log(last))) * y
    return {ONE: [u * off + last_rounding(dtypes[0], y)]}


def _resampled(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    (_, old, new), given = call.args, {k: v for k, v in call.kwargs.items() if k != "prefix"}
    prefix, cubic = call.kwargs.get("prefix", 0), given.get("kernel", "cubic") == "cubic"
    rows = np.abs(values_of(call, 0))[prefix:]
    slope = 2 * (2 + abs(given.get("cubic_a") or -0.75)) if cubic else 2.0  # of the steeper default
    size, taps, centres = rows.reshape(*old, rows.shape[1]), 0.0, 0.0
    for axis, (s, n) in enumerate(zip(old, new, strict=True)):
        weights = np.abs(posref.resample_table(np.eye(s), (s,), (n,), **given))
        size = np.moveaxis(np.tensordot(weights, size, axes=(1, axis)), 0, axis)
        stretch = max(s / max(n, 1), 1.0) if given.get("antialias") else 1.0
        taps, centres = taps + (4 if cubic else 2) * math.ceil(stretch) + 12, centres + slope * 4 * (s + 1)
    u, u_o, largest = working_roundoff(dtypes[0]), ROUNDOFF[dtypes[0]], 1.5 ** len(old) * rows.max(axis=0)
    off = u * (taps * size.reshape(-1, rows.shape[1]) + centres * largest)
    result: Bounds = {}
    for profile, more in (("float32", 0.0), ("native", 2 * len(old) * u_o)):
        inside = off + more * size.reshape(off.shape)
        before = np.zeros((prefix, rows.shape[1]))
        result[profile] = [np.concatenate([before, inside + last_rounding(dtypes[0], expected[0][prefix:])])]
    return result


def _hierarchical(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    p, alpha, u, u_o = np.abs(values_of(call, 0)), call.kwargs.get("alpha", 0.4), 0.0, ROUNDOFF[dtypes[0]]
    u, k = working_roundoff(dtypes[0]), alpha / (1 - alpha)
    block, within = np.divmod(np.arange(call.args[1]), len(p))
    size = p[within] + k * p[block] + (k + 1) * p[:1]
    roundings = 16 if dtypes[0] == "float64" else 8  # the reference errs as much there
    last = last_rounding(dtypes[0], expected[0])
    return {"float32": [roundings * u * size + last], "native": [roundings * u_o * size + last]}


def _coordinates(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    y = np.abs(expected[0])
    return {ONE: [6 * working_roundoff(dtypes[0]) * y + last_rounding(dtypes[0], y)]}


BUDGETS: dict[str, Callable[[Call, list[NDArray[Any]], list[str]], Bounds]] = {
    "sinusoidal": _sinusoidal,
    "timestep_embedding": _timestep,
    "learned": exact_equality,
    "sinusoidal_axes": _axes,
    "frequency_bands": _bands,
    "fourier_features": _features,
    "resample_table": _resampled,
    "hierarchical_table": _hierarchical,
    "mask_positions": exact_equality,
    "mask_coordinates": _coordinates,
}
