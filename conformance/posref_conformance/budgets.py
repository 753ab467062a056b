r"""Error budgets: how far a right implementation may be off, derived from its arithmetic.

Notation: u is the unit roundoff of a type: 2^-53, 2^-24, 2^-11, 2^-8 for float64, float32, float16, bfloat16. u_w is that of
the working type (float64 for float64 data, else float32) and u_o that of the result. theta = position * frequency is an angle,
g >= 1 bounds the magnitude of cos and sin. y is the exact result. Every bound is a sum of first-order terms; the second-order
ones are below 1e-3 of it wherever the suite asks.

Phases. An angle is formed as fl(fl(p) fl(w)): position, frequency and product are each rounded once, 3 u |theta|; one more u
for the frequency's own last operation gives c = 4. Library cos and sin add at most 2 u g, the factor one u: also within c.

    given frequencies:   u_p (c + c |theta|) g                    u_p = 2^-53 for float64 frequencies, else 2^-24
    own frequencies:     u_p (c + (c_w + c) |theta|) g            c_w below; u_p = 2^-53 if the result is float64

A 16-bit result is rounded once more: + 1.5 u_o |y|, the half for a working value that sat next to a tie. (u_p is never a
16-bit one: positions or angles in 16 bits are a mistake.)

Frequencies. base ** (-2k/d) is exp(-(2k/d) ln base) in many a right kernel: exponent with 3 roundings, exp within 2 u, so
c_w = 3 |ln w| + 2 relative roundings. What scalings add is derived in `budgets_frequencies`.

Rotation. S = g (|a| + |b|) with g = max(|cos|, |sin|) of the pair. Two products and a sum:

    A "float32"   working type throughout, one cast at the end:  phase + 2 u_w S + 1.5 u_o |y|
    B "table"     cos and sin first rounded to x's type:         phase + 2 u_w S + u_o (1.5 |y| + S)
    C "native"    everything in x's type:                        phase +           u_o (1.5 |y| + 2.5 S)

A: each product errs by u_w |a c|, their sum by u_w |y|, the cast by u_o |y|; 2 u_w S and the half u_o |y| leave room for an
fma or none. B: the table's rounding is u_o (|a c| + |b s|) <= u_o S. C: products in x's type, another u_o S, sum u_o |y|.
For float32 and float64 data all three are met by the same code. float16 has subnormals: + 4 * 2^-25.
Channels that pass through have bound 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import posref
from posref_conformance import (
    budgets_additive,
    budgets_axes,
    budgets_bias,
    budgets_content,
    budgets_distance,
    budgets_logits,
    budgets_relative,
)
from posref_conformance.budgets_frequencies import pixel_roundings
from posref_conformance.case import Call
from posref_conformance.roundings import (
    ONE,
    ROUNDOFF,
    SMALLEST,
    Bounds,
    last_rounding,
    phase_error,
    rope_frequencies,
    rotation_error,
    values_of,
    working_roundoff,
)


def bounds(function: str, call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    """How far each output of a call may be off, given the type that came back."""
    return _BUDGETS[function](call, expected, dtypes)


# --- rotary ---------------------------------------------------------------------------------------------------------


def _inv_freq(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    w, c_w = rope_frequencies(call.args[0], call.kwargs)
    return {ONE: [(c_w + 2) * working_roundoff(dtypes[0]) * w + last_rounding(dtypes[0], w)]}


def _attention_factor(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    # a logarithm, a product, a sum, perhaps a quotient or a root: 8 roundings
    return {ONE: [8 * working_roundoff(dtypes[0]) * np.abs(expected[0]) + last_rounding(dtypes[0], expected[0])]}


def _own_factor(call: Call) -> float:
    return posref.rope_attention_factor(call.kwargs.get("scaling"), seq_len=call.kwargs.get("seq_len"))


def _softmax_factor(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    return {
        ONE: [16 * working_roundoff(dtypes[0]) * np.abs(expected[0]) + last_rounding(dtypes[0], expected[0])]
    }  # two factors


def _pixel_freq(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    roundings = pixel_roundings(call.args[0], call.args[1], call.kwargs.get("spacing", "linear"))
    return {ONE: [roundings * working_roundoff(dtypes[0]) + last_rounding(dtypes[0], expected[0])]}


def _cos_sin(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    theta = values_of(call, 0)[..., None] * values_of(call, 1)
    u = working_roundoff(str(call.args[1].dtype))
    phase = phase_error(theta, 0.0, u, max(1.0, abs(call.kwargs.get("attention_factor", 1.0))))
    return {ONE: [phase + last_rounding(d, y) for d, y in zip(dtypes, expected, strict=True)]}


def _table(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    w, c_w = rope_frequencies(call.args[1], call.kwargs)
    factor = call.kwargs.get("attention_factor") or _own_factor(call)
    theta = values_of(call, 0)[..., None] * w
    return {
        ONE: [
            phase_error(theta, c_w, working_roundoff(d), max(1.0, factor)) + last_rounding(d, y)
            for d, y in zip(dtypes, expected, strict=True)
        ]
    }


def _rope_apply(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    cos, sin = values_of(call, 1), values_of(call, 2)
    g = np.maximum(np.abs(cos), np.abs(sin))
    return rotation_error(values_of(call, 0), g, np.zeros_like(g), call, expected[0], dtypes[0])


def _rope(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    x, dim = values_of(call, 0), call.kwargs.get("dim") or call.args[0].shape[-1] - call.kwargs.get("offset", 0)
    w, c_w = rope_frequencies(dim, call.kwargs)
    theta, factor = values_of(call, 1)[..., None] * w, _own_factor(call)
    phase = phase_error(theta, c_w, working_roundoff(dtypes[0]), max(1.0, factor))
    g = factor * np.maximum(np.abs(np.cos(theta)), np.abs(np.sin(theta)))  # of the size of cos and sin, as rope_apply's
    return rotation_error(x, g, phase, call, expected[0], dtypes[0])


# --- attention -----------------------------------------------------------------------------------------------------


def _attention(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    r"""Softmax attention: a logit's error d = (n_d + 2) u s sum|q||k| + u |bias| + u |logit| moves a weight by 2 d relative
    (numerator and normaliser), exp and the sum over n keys add (n + 8) u, the last product (n + 2) u, the cast u_o |y|.
    In the native profile logits and weights are rounded to x's type: u is u_o in the terms that do not grow with n.
    """
    q, k, v = (np.abs(values_of(call, i)) for i in range(3))
    scale = call.kwargs.get("scale") or 1 / np.sqrt(q.shape[-1])
    size = abs(scale) * (q @ k.swapaxes(-1, -2))
    if "bias" in call.kwargs:
        size = size + np.abs(np.asarray(call.kwargs["bias"]).astype(np.float64))
    keys = k.shape[-2]
    if "mask" in call.kwargs:
        size = np.where(call.kwargs["mask"], size, 0.0)
    logit = size.max(axis=-1, keepdims=True, initial=0.0)  # the worst key of a row stands for all of them
    weighted = posref.attention(values_of(call, 0), values_of(call, 1), v, **call.kwargs)
    u_w, u_o = working_roundoff(dtypes[0]), ROUNDOFF[dtypes[0]]
    if dtypes[0] == "float64":
        u_w, u_o = 2 * u_w, 2 * u_o  # the reference is float64 too here, and errs as much
    result: Bounds = {}
    for profile, u in (("float32", u_w), ("native", u_o)):
        relative = 2 * ((q.shape[-1] + 3) * u_w + u) * logit + (2 * keys + 10) * u_w + 4 * u
        result[profile] = [
            np.broadcast_to(relative * weighted + 1.5 * u_o * weighted + SMALLEST[dtypes[0]], weighted.shape)
        ]
    return result


_BUDGETS: dict[str, Callable[[Call, list[NDArray[Any]], list[str]], Bounds]] = {
    "rope_inv_freq": _inv_freq,
    "rope_attention_factor": _attention_factor,
    "rope_softmax_factor": _softmax_factor,
    "rope_pixel_freq": _pixel_freq,
    "rope_cos_sin": _cos_sin,
    "rope_table": _table,
    "rope_apply": _rope_apply,
    "rope": _rope,
    "attention": _attention,
    **budgets_additive.BUDGETS,
    **budgets_axes.BUDGETS,
    **budgets_bias.BUDGETS,
    **budgets_logits.BUDGETS,
    **budgets_distance.BUDGETS,
    **budgets_relative.BUDGETS,
    **budgets_content.BUDGETS,
}
