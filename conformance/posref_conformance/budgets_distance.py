r"""Budgets for remapped distances and what goes with them. u is the working type's roundoff; a cast to 16 bits is added.

Distances. Whole numbers: equal, but for the one rounding to the type that comes back, u |y|. Leaky ReRoPE: a difference, a
quotient, a sum, each within u of at most |d| + w; Self-Extend: w/G and two sums, likewise: 4 u (|y| + w).

Scores. Per pair, with G = (|a| + |b|) (|a'| + |b'|): cos and sin of d w are off by the phase of given frequencies, four products
and three sums by 4 u G; the sum over n channels by n u sum G, and the channels that do not rotate by as much of sum |q| |k|.
`float32` keeps all of this in the working type. `native` rounds queries and keys to x's type once they are rotated, which is off
by 2.5 u_o (|a| + |b|) on either side, and sums in float32: 5 u_o G.

xPos. zeta^t = exp(t ln zeta): the exponent is off by 6 u of itself (zeta is a sum and a quotient, then a logarithm that is at
worst 1 / |ln zeta| of zeta's error, a quotient and a product), and position and centre by u each over B: then 4 u for exp.

FoPE. Each cosine is off by its phase, the sum over n frequencies by (n + 2) u: phase @ |C| + (n + 2) u sum_i |C_ij|.

PoPE. softplus within 4 u of itself and 2 u of 1, an angle with the phase of a ladder, and 4 u for the bias and its rotation.

Weights and packed positions: equal.

Linear attention. Scores s = sum phi phi' have G as above (phi within 4 u), weights the phase of both rotations as well; the
normaliser is a sum of positive numbers, within (n_d + n_k + 8) u of itself. An error dw of the weights gives sum dw |v| / sum s.
`native` rounds features (2 u_o), rotated ones (5 u_o), sums and the quotient (4 u_o of y) to x's type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref_conformance.case import Call
from posref_conformance.roundings import (
    ONE,
    ROUNDOFF,
    SMALLEST,
    Bound,
    Bounds,
    exact_equality,
    ladder_roundings,
    last_rounding,
    pair_channels,
    phase_error,
    values_of,
    working_roundoff,
)


def _whole(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    return {ONE: [working_roundoff(dtypes[0]) * np.abs(expected[0]) + last_rounding(dtypes[0], expected[0])]}


def _rerope(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    return (
        _fraction(call.args[2], expected[0], dtypes[0]) if "factor" in call.kwargs else _whole(call, expected, dtypes)
    )


def _self_extend(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    return _fraction(call.args[3], expected[0], dtypes[0])


def _fraction(window: int, y: NDArray[Any], dtype: str) -> Bounds:
    return {ONE: [4 * working_roundoff(dtype) * (np.abs(y) + window) + last_rounding(dtype, y)]}


def _sizes(x: NDArray[Any], pairs: int, layout: str) -> tuple[Bound, Bound]:
    """|a| + |b| per pair, and the magnitudes of what does not rotate."""
    first, second = pair_channels(pairs, layout, 0)
    size = np.abs(x)
    return size[..., first] + size[..., second], size[..., 2 * pairs :]


def _scores(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    q, k, d, w = (values_of(call, i) for i in range(4))
    layout, channels = call.kwargs.get("layout", "half"), q.shape[-1]
    (q_pairs, q_rest), (k_pairs, k_rest) = (_sizes(x, len(w), layout) for x in (q, k))
    g = q_pairs[..., :, None, :] * k_pairs[..., None, :, :]  # (..., q, k, pairs)
    still = q_rest @ k_rest.swapaxes(-1, -2)
    d = d.reshape((1,) * max(0, 2 - d.ndim) + d.shape)
    phase = (g * phase_error(d[..., None] * w, 0.0, working_roundoff(str(call.args[3].dtype)), 1.0)).sum(axis=-1)
    size, u, u_o = g.sum(axis=-1) + still, working_roundoff(dtypes[0]), ROUNDOFF[dtypes[0]]
    off = phase + (channels + 6) * u * size + 1.5 * u_o * np.abs(expected[0]) + SMALLEST[dtypes[0]]
    native = 5 * u_o * size if u_o > u else 0.0 * size
    return {
        name: [np.broadcast_to(bound, expected[0].shape)]
        for name, bound in (("float32", off), ("native", off + native))
    }


def _xpos(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    pairs, y = call.args[1] // 2, expected[0]
    base, zeta = call.kwargs.get("scale_base", 512.0), (np.arange(pairs) / pairs + 0.4) / 1.4
    reach = np.abs(values_of(call, 0)).max(initial=0.0) + abs(_centre(call))
    exponent = np.abs(np.log(y)) * (6 + 2 / np.abs(np.log(zeta))) + 2 * reach / base * np.abs(np.log(zeta))
    return {ONE: [working_roundoff(dtypes[0]) * (exponent + 4) * y + last_rounding(dtypes[0], y)]}


def _centre(call: Call) -> float:
    centre = call.kwargs.get("centre", "floor")
    return float(call.kwargs["length"] / 2 + 1) if isinstance(centre, str) else float(centre)


def _fope(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    p, w, coefficients = values_of(call, 0), values_of(call, 1), (values_of(call, 2), values_of(call, 3))
    phase = phase_error(p[..., None] * w, 0.0, working_roundoff(str(call.args[1].dtype)), 1.0)
    bounds = []
    for c, y, dtype in zip(coefficients, expected, dtypes, strict=True):
        off = (phase if c.ndim == 2 else phase[..., None, :, :]) + (len(w) + 2) * working_roundoff(dtype)
        mixed = off @ np.abs(c)
        padding = np.zeros((*mixed.shape[:-1], y.shape[-1] - mixed.shape[-1]))
        bounds.append(np.concatenate([mixed, padding], axis=-1) + last_rounding(dtype, y))
    return {ONE: bounds}


def _pope(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    x, u = values_of(call, 0), working_roundoff(dtypes[0])
    d, base = x.shape[-1], call.kwargs.get("base", 10000.0)
    w = float(base) ** (-np.arange(d) / d)  # only as a size
    phase = phase_error(values_of(call, 1)[..., None] * w, ladder_roundings(w), u, 1.0) + 4 * u * (
        1 + ("bias" in call.kwargs)
    )
    length = np.logaddexp(0.0, x)
    both = length * (phase + 6 * u) + 2 * u * np.minimum(length, 1.0)
    return {ONE: [np.concatenate([both, both], axis=-1) + last_rounding(dtypes[0], expected[0])]}


def _linear(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    q, k, v = (values_of(call, i) for i in range(3))
    if call.kwargs.get("feature", "elu") == "elu":
        q, k = (np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k))
    plain, mask = q @ k.swapaxes(-1, -2), call.kwargs.get("mask", np.True_)
    weight_size, phase = plain, np.zeros(plain.shape)
    if "inv_freq" in call.kwargs:
        w = np.asarray(call.kwargs["inv_freq"]).astype(np.float64)
        (q_pairs, q_rest), (k_pairs, k_rest) = (_sizes(x, len(w), call.kwargs.get("layout", "half")) for x in (q, k))
        off = [
            phase_error(
                np.asarray(call.kwargs[name])[..., None] * w,
                0.0,
                working_roundoff(str(call.kwargs["inv_freq"].dtype)),
                1.0,
            )
            for name in ("q_positions", "k_positions")
        ]
        still = q_rest @ k_rest.swapaxes(-1, -2)
        weight_size = q_pairs @ k_pairs.swapaxes(-1, -2) + still
        phase = (q_pairs * off[0]) @ k_pairs.swapaxes(-1, -2) + q_pairs @ (k_pairs * off[1]).swapaxes(-1, -2)
    plain, weight_size, phase = (np.where(mask, part, 0.0) for part in (plain, weight_size, phase))
    total = plain.sum(axis=-1, keepdims=True)
    total = np.where(total == 0, 1.0, total)
    y, u, u_o = np.abs(expected[0]), working_roundoff(dtypes[0]), ROUNDOFF[dtypes[0]]
    roundings = (q.shape[-1] + k.shape[-2] + 16) * (
        2 if dtypes[0] == "float64" else 1
    )  # the reference errs as much there
    cast = 1.5 * u_o * y + SMALLEST[dtypes[0]]
    result: Bounds = {}
    for name, more in (("float32", 0.0), ("native", u_o if u_o > u else 0.0)):
        off = phase + (roundings * u + 7 * more) * weight_size
        result[name] = [(off @ np.abs(v)) / total + (roundings * u + 4 * more) * y + cast]
    return result


BUDGETS: dict[str, Callable[[Call, list[NDArray[Any]], list[str]], Bounds]] = {
    "rerope_distance": _rerope,
    "self_extend_distance": _self_extend,
    "dual_chunk_distance": _whole,
    "rope_scores": _scores,
    "xpos_scale": _xpos,
    "fope_cos_sin": _fope,
    "pope_apply": _pope,
    "rope_permute_weight": exact_equality,
    "cu_seqlens_positions": exact_equality,
    "linear_attention": _linear,
}
