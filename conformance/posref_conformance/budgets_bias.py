r"""Budgets for biases. u is the working type's roundoff, y the exact result; a cast to 16 bits is added.

Look-ups and indices are equal. The others:

    slopes         powers of a rounded first slope, whose u grows with the exponent n:   (n + 4) u y
    ALiBi          a difference (exact for integers; else one rounding of its result, its operands being given), a product:
                   2 u |y|; the form with a root has one more rounding: 3 u |y|
    T5             with a scale, itself rounded, one product:   2 u |y|
    log offset     ln(1 + c) with c and the sum rounded, 2 u, then 2 u relative by the library, a quotient or two:   u (6 |y| + 2)
    KERPLE         ln(1 + r2 d), product and sum rounded, 3 u, the logarithm's 2 u of itself, a product: u (4 |y| + 3 |r1|);
                   a power as exp(r2 ln d), whose exponent has 3 roundings, and d one:   u (3 |r2 ln d| + r2 + 6) |y|
    Sandwich       n cosines with the phase of a ladder, summed with n u of at most n, and scaled
    FIRE           two logarithms as KERPLE's, and their quotient
    CAPE           a mean of n positions, two sums, each u of its terms; an exponential and a product:   u (4 sum |terms| + 6 |y|)
    cosine scale   an exponential, or the clamp of its logarithm, ln L u of itself:   u (4 + 2 ln L) y
    perceptron     n features: a hidden value errs by (n + 2) u (sum |w1| |x| + |b1|), the activation keeps that and adds 4 u of
                   itself (silu grows by 1.1 at most); the sum over the hidden values as before. The logistic function has slope
                   1/4. In the native profile inputs, hidden values and result are rounded to the features' type besides.

In the native profile ALiBi, KERPLE and the cosine scale are computed in the result's type: u is that type's.
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
    phase_error,
    values_of,
    working_roundoff,
)


def relative(roundings: float, y: NDArray[Any], dtype: str) -> Bounds:
    """So many roundings of the result itself, and the cast."""
    return {ONE: [roundings * working_roundoff(dtype) * np.abs(y) + last_rounding(dtype, y)]}


def in_either_type(bound: Callable[[float], Bound], y: NDArray[Any], dtype: str) -> Bounds:
    """All in the working type, or `native`: all in that of the result; and the cast."""
    last = last_rounding(dtype, y)
    return {"float32": [bound(working_roundoff(dtype)) + last], "native": [bound(ROUNDOFF[dtype]) + last]}


def _slopes(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    count = call.args[0]
    power = count if call.kwargs.get("rule") == "geometric" else 2 ** (count.bit_length() - 1)
    exponents = np.concatenate([np.arange(1, power + 1), np.arange(1, 2 * (count - power), 2)])
    steps = exponents[slice(*call.kwargs.get("heads", (0, count)))]
    bound = (steps + 4) * working_roundoff(dtypes[0]) * np.abs(expected[0])
    return {ONE: [bound + last_rounding(dtypes[0], expected[0])]}


def _alibi(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    roundings, y = 3 if call.kwargs.get("form") == "sqrt" else 2, expected[0]
    return in_either_type(lambda u: roundings * u * np.abs(y), y, dtypes[0])


def _t5(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    if "scale" not in call.kwargs:
        return exact_equality(call, expected, dtypes)
    return relative(2, expected[0], dtypes[0])


def _log_offset(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    y = expected[0]
    return {ONE: [working_roundoff(dtypes[0]) * (6 * np.abs(y) + 2) + last_rounding(dtypes[0], y)]}


def _cosine_scale(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    roundings, y = 4 + 2 * abs(np.log(call.kwargs.get("largest", 100.0))), expected[0]
    return in_either_type(lambda u: roundings * u * np.abs(y), y, dtypes[0])


def _distances(q: NDArray[Any], k: NDArray[Any]) -> Bound:
    """|q - k|, (..., 1, q, k)."""
    return np.asarray(np.abs(q[..., None, :, None] - k[..., None, None, :]))


def _kerple(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    r1, r2 = (np.abs(values_of(call, i))[:, None, None] for i in range(2))
    d, y = _distances(values_of(call, 2), values_of(call, 3)), np.abs(expected[0])
    if call.kwargs.get("form") == "power":
        size = (3 * np.abs(r2 * np.log(np.where(d > 0, d, 1.0))) + r2 + 6) * y
    else:
        size = 4 * y + 3 * r1
    return in_either_type(lambda u: u * size, y, dtypes[0])


def _sandwich(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    heads, pairs, first = call.args[0], call.kwargs.get("dim", 128) // 2, call.kwargs.get("start", 1)
    w = float(call.kwargs.get("base", 10000.0)) ** (-np.arange(first, first + pairs) / pairs)  # only as a size
    u, y = working_roundoff(dtypes[0]), np.abs(expected[0])
    theta = _distances(values_of(call, 1), values_of(call, 2))[..., None] * w
    off = phase_error(theta, ladder_roundings(w), u, 1.0).sum(axis=-1) + u * (pairs + 2) * pairs
    factors = heads / (8.0 * np.arange(1, heads + 1))[:, None, None]
    return {ONE: [factors * off + 4 * u * y + last_rounding(dtypes[0], y)]}


def _fire(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    q, k, c, length = values_of(call, 0), values_of(call, 1), abs(call.args[2]), call.args[3]
    chosen = np.minimum if call.kwargs.get("limit") == "min" else np.maximum
    above = np.log1p(c * _distances(q, k)[..., 0, :, :])
    below = np.log1p(c * np.abs(chosen(length, q)))[..., None] + call.kwargs.get("eps", 1e-6)
    y, u = np.abs(expected[0]), working_roundoff(dtypes[0])
    return {ONE: [u * ((3 + 2 * above + y * (3 + 3 * below)) / below + 2 * y) + last_rounding(dtypes[0], y)]}


def _cape(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    p, shift, scale = (values_of(call, i) for i in range(3))
    mean = np.abs(p).mean(axis=-1, keepdims=True) if "centre" in call.kwargs and p.shape[-1] else 0.0
    size, u = np.exp(scale) * (np.abs(p) + mean * (p.shape[-1] + 2) + np.abs(shift)), working_roundoff(dtypes[0])
    return {ONE: [u * (4 * size + 6 * np.abs(expected[0])) + last_rounding(dtypes[0], expected[0])]}


def _mlp(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    x, w1, b1, w2 = (np.abs(values_of(call, i)) for i in range(4))
    b2, y = np.abs(np.asarray(call.kwargs.get("b2", 0.0)).astype(np.float64)), np.abs(expected[0])
    size = x @ w1.T + b1  # of the hidden values, at most
    normed = _normed(call)
    u, u_o = working_roundoff(dtypes[0]), ROUNDOFF[dtypes[0]]
    u = 2 * u if dtypes[0] == "float64" else u  # the reference errs as much there
    ceiling = abs(call.kwargs.get("ceiling", 0.0))
    result: Bounds = {}
    for name, more in (("float32", 0.0), ("native", u_o if u_o > u else 0.0)):
        hidden = ((x.shape[-1] + 2) * u + 2 * more) * size
        hidden, most = (hidden, size) if normed is None else normed(hidden, u, more)
        hidden = 1.1 * hidden + (4 * u + more) * most
        off = hidden @ w2.T + ((w2.shape[1] + 2) * u + more) * (most @ w2.T + b2)
        bound = ceiling / 4 * off + (8 * u + 3 * more) * y if ceiling else off + more * y
        result[name] = [bound + 1.5 * u_o * y + SMALLEST[dtypes[0]]]
    return result


def _normed(call: Call) -> Callable[[Any, float, float], tuple[Any, Any]] | None:
    """A LayerNorm: from errors of the hidden values z and roundoffs u, errors of what it makes of them, and its magnitude.

    c = z - mean errs by the errors of both, by (H + 1) u of the sum behind the mean and by u |c|: E. The spread s, the root of
    mean(c^2) + eps, by mean(|c| E) / s + (H + 6) / 2 u s. The quotient n = c / s, then, by E / s + |n| (that of s) / s + u |n|,
    and gamma n + beta by |gamma| times it and a rounding of each.
    """
    if "norm_weight" not in call.kwargs:
        return None
    x, w1, b1 = (values_of(call, i) for i in range(3))
    gamma, beta = (np.asarray(call.kwargs.get(name, 0.0)).astype(np.float64) for name in ("norm_weight", "norm_bias"))
    z = x @ w1.T + b1
    c, terms = z - z.mean(axis=-1, keepdims=True), z.shape[-1]
    s = np.sqrt(np.mean(c**2, axis=-1, keepdims=True) + call.kwargs.get("norm_eps", 1e-5))
    n = np.abs(c / s)

    def errors(of_z: Any, u: float, more: float) -> tuple[Any, Any]:
        once = u + more  # sums are taken in the working type, and rounded once to a narrower one
        e = of_z + np.mean(of_z + (terms * u + once) * np.abs(z), axis=-1, keepdims=True) + once * np.abs(c)
        of_s = np.mean(np.abs(c) * e, axis=-1, keepdims=True) / s**2 + (terms + 4) / 2 * u + once
        of_n = e / s + n * (of_s + once)
        most = np.abs(gamma) * n + np.abs(beta)
        return np.abs(gamma) * of_n + 2 * once * most, most

    return errors


BUDGETS: dict[str, Callable[[Call, list[NDArray[Any]], list[str]], Bounds]] = {
    "alibi_slopes": _slopes,
    "alibi_bias": _alibi,
    "query_positions": exact_equality,
    "t5_bucket": exact_equality,
    "t5_bias": _t5,
    "long_t5_blocks": exact_equality,
    "relative_position_index": exact_equality,
    "indexed_bias": exact_equality,
    "log_offset": _log_offset,
    "cosine_scale": _cosine_scale,
    "cape_positions": _cape,
    "kerple_bias": _kerple,
    "sandwich_bias": _sandwich,
    "fire_distance": _fire,
    "position_mlp": _mlp,
}
