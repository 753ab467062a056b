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
c_w = 3 |ln w| + 2 relative roundings. Scalings multiply or divide (+ 4). Where pairs are blended, w (m + (1 - m)/s), the
weight m comes from logarithms or rotations of float32 quality, |dm| <= 16 u, which moves the result by 16 u w (1 - 1/s):
relative to the blended frequency w', 16 u |w - w/s| / w'.

Rotation. S = g (|a| + |b|). Two products and a sum:

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
from posref_conformance.case import Call

Bound = NDArray[np.float64]
Bounds = dict[str, list[Bound]]  # precision profile -> a bound per output; the tightest profile first

C = 4.0
ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
SMALLEST = {"float64": 0.0, "float32": 2.0**-149, "float16": 4 * 2.0**-25, "bfloat16": 2.0**-133}
PROFILES = ("float32", "table", "native")
ONE = ""  # the profile of functions that have only one


def bounds(function: str, call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    """How far each output of a call may be off, given the type that came back."""
    return _BUDGETS[function](call, expected, dtypes)


def _working(dtype: str) -> float:
    return ROUNDOFF["float64"] if dtype == "float64" else ROUNDOFF["float32"]


def _cast(dtype: str, y: NDArray[Any]) -> Bound:
    """The last rounding, where it is not already the working type's; half of it more for a cast from a rounded value."""
    rounding = 1.5 * ROUNDOFF[dtype] * np.abs(y) if dtype in ("float16", "bfloat16") else 0.0 * y
    return rounding + SMALLEST[dtype]


def _values(call: Call, i: int) -> NDArray[np.float64]:
    return np.asarray(call.args[i]).astype(np.float64)


def _ladder_roundings(w: NDArray[np.float64]) -> NDArray[np.float64]:
    """c_w of a power of the base."""
    return 3 * np.abs(np.log(w)) + 2


def _rope_frequencies(dim: int, kwargs: dict[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The frequencies that a call means, and c_w for each."""
    base, scaling = kwargs.get("base", 10000.0), kwargs.get("scaling")
    w = posref.rope_inv_freq(dim, base=base, scaling=scaling, seq_len=kwargs.get("seq_len"))
    plain = posref.rope_inv_freq(dim, base=base)
    c_w = _ladder_roundings(np.minimum(w, plain))
    if scaling is not None:
        c_w += 4
    if isinstance(scaling, (posref.YarnScaling, posref.Llama3Scaling)):
        slow = plain / scaling.factor
        between = (np.abs(w - plain) > 1e-9 * plain) & (np.abs(w - slow) > 1e-9 * w)
        c_w += np.where(between, 16 * np.abs(plain - slow) / w, 0.0)
    return w, c_w


def _phase(theta: NDArray[Any], c_w: NDArray[Any] | float, u: float, g: float) -> Bound:
    return np.asarray(u * (C + (C + c_w) * np.abs(theta)) * g)


# --- rotary ---------------------------------------------------------------------------------------------------------


def _inv_freq(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    w, c_w = _rope_frequencies(call.args[0], call.kwargs)
    return {ONE: [(c_w + 2) * _working(dtypes[0]) * w + _cast(dtypes[0], w)]}


def _attention_factor(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    # a logarithm, a product, a sum, perhaps a quotient or a root: 8 roundings
    return {ONE: [8 * _working(dtypes[0]) * np.abs(expected[0]) + _cast(dtypes[0], expected[0])]}


def _cos_sin(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    theta = _values(call, 0)[..., None] * _values(call, 1)
    u = _working(str(call.args[1].dtype))
    phase = _phase(theta, 0.0, u, max(1.0, abs(call.kwargs.get("attention_factor", 1.0))))
    return {ONE: [phase + _cast(d, y) for d, y in zip(dtypes, expected, strict=True)]}


def _table(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    w, c_w = _rope_frequencies(call.args[1], call.kwargs)
    factor = call.kwargs.get("attention_factor") or posref.rope_attention_factor(call.kwargs.get("scaling"))
    theta = _values(call, 0)[..., None] * w
    return {
        ONE: [
            _phase(theta, c_w, _working(d), max(1.0, factor)) + _cast(d, y)
            for d, y in zip(dtypes, expected, strict=True)
        ]
    }


def _rotation(x: NDArray[Any], g: Bound, phase: Bound, call: Call, y: NDArray[Any], dtype: str) -> Bounds:
    """The three profiles, for channels in their place in the result; g and phase are (..., pairs)."""
    layout, offset = call.kwargs.get("layout", "half"), call.kwargs.get("offset", 0)
    pairs = g.shape[-1]
    source = _channels(pairs, layout, offset)
    target = _channels(pairs, call.kwargs.get("output_layout") or layout, offset)
    size = np.broadcast_to(np.abs(x[..., source[0]]) + np.abs(x[..., source[1]]), (*x.shape[:-1], pairs))
    u_w, u_o = _working(dtype), ROUNDOFF[dtype]
    result: Bounds = {}
    for profile, working, rounded in zip(PROFILES, (2 * u_w, 2 * u_w, 0.0), (0.0, u_o, 2.5 * u_o), strict=True):
        bound = np.zeros(x.shape)
        for channels in target:
            moved = (phase + (working + rounded) * g) * size
            bound[..., channels] = moved + 1.5 * u_o * np.abs(y[..., channels]) + SMALLEST[dtype]
        result[profile] = [bound]
    return result


def _channels(pairs: int, layout: str, offset: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    i = np.arange(pairs)
    return (offset + i, offset + i + pairs) if layout == "half" else (offset + 2 * i, offset + 2 * i + 1)


def _rope_apply(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    cos, sin = _values(call, 1), _values(call, 2)
    g = np.maximum(np.abs(cos), np.abs(sin))
    return _rotation(_values(call, 0), g, np.zeros_like(g), call, expected[0], dtypes[0])


def _rope(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    x = _values(call, 0)
    w, c_w = _rope_frequencies(call.kwargs.get("dim") or x.shape[-1] - call.kwargs.get("offset", 0), call.kwargs)
    factor = max(1.0, posref.rope_attention_factor(call.kwargs.get("scaling")))
    phase = _phase(_values(call, 1)[..., None] * w, c_w, _working(dtypes[0]), factor)
    return _rotation(x, np.full_like(phase, factor), phase, call, expected[0], dtypes[0])


# --- additive -------------------------------------------------------------------------------------------------------


def _sinusoid(theta: NDArray[Any], c_w: NDArray[Any], y: NDArray[Any], dtype: str, interleaved: bool) -> Bounds:
    phase = _phase(theta, c_w, _working(dtype), 1.0)  # one column per frequency; the result has two
    both = np.repeat(phase, 2, axis=-1) if interleaved else np.concatenate([phase, phase], axis=-1)
    odd = np.zeros((*theta.shape[:-1], y.shape[-1] - both.shape[-1]))  # an odd width ends in an exact zero
    return {ONE: [np.concatenate([both, odd], axis=-1) + _cast(dtype, y)]}


def _own_ladder(base: float, half: int, shift: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    w = np.power(float(base), -np.arange(half) / (half - shift))  # only as a size: a bound needs no last digit
    return w, _ladder_roundings(w)


def _sinusoidal(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    half = call.args[1] // 2
    w, c_w = _own_ladder(call.kwargs.get("base", 10000.0), half, 1.0 if call.kwargs.get("endpoint") else 0.0)
    interleaved = call.kwargs.get("layout", "interleaved") == "interleaved"
    return _sinusoid(_values(call, 0)[..., None] * w, c_w, expected[0], dtypes[0], interleaved)


def _timestep(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    shift = call.kwargs.get("downscale_freq_shift", 1.0)
    w, c_w = _own_ladder(call.kwargs.get("max_period", 10000.0), call.args[1] // 2, shift)
    theta = call.kwargs.get("scale", 1.0) * _values(call, 0)[..., None] * w
    return _sinusoid(theta, c_w + 1, expected[0], dtypes[0], interleaved=False)  # + 1: the scale


def _exact(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    return {ONE: [np.zeros(y.shape) for y in expected]}


# --- biases ---------------------------------------------------------------------------------------------------------


def _slopes(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    # BLOOM and others take powers of a rounded first slope: its u grows with the exponent, head h has h + 1 of them
    power = 2 ** (call.args[0].bit_length() - 1)
    steps = np.concatenate([np.arange(1, power + 1), np.arange(1, 2 * (call.args[0] - power), 2)])
    return {ONE: [(steps + 4) * _working(dtypes[0]) * expected[0] + _cast(dtypes[0], expected[0])]}


def _alibi(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    # a difference (exact for integers; else one rounding of its result, its operands being given), a product, a cast
    return {ONE: [2 * _working(dtypes[0]) * np.abs(expected[0]) + _cast(dtypes[0], expected[0])]}


def _attention(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    r"""Softmax attention: a logit's error d = (n_d + 2) u s sum|q||k| + u |bias| + u |logit| moves a weight by 2 d relative
    (numerator and normaliser), exp and the sum over n keys add (n + 8) u, the last product (n + 2) u, the cast u_o |y|.
    In the native profile logits and weights are rounded to x's type: u is u_o in the terms that do not grow with n.
    """
    q, k, v = (np.abs(_values(call, i)) for i in range(3))
    scale = call.kwargs.get("scale") or 1 / np.sqrt(q.shape[-1])
    size = abs(scale) * (q @ k.swapaxes(-1, -2))
    if "bias" in call.kwargs:
        size = size + np.abs(np.asarray(call.kwargs["bias"]).astype(np.float64))
    keys = k.shape[-2]
    if "mask" in call.kwargs:
        size = np.where(call.kwargs["mask"], size, 0.0)
    logit = size.max(axis=-1, keepdims=True, initial=0.0)  # the worst key of a row stands for all of them
    weighted = posref.attention(_values(call, 0), _values(call, 1), v, **call.kwargs)
    u_w, u_o = _working(dtypes[0]), ROUNDOFF[dtypes[0]]
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
    "rope_cos_sin": _cos_sin,
    "rope_table": _table,
    "rope_apply": _rope_apply,
    "rope": _rope,
    "sinusoidal": _sinusoidal,
    "timestep_embedding": _timestep,
    "learned": _exact,
    "alibi_slopes": _slopes,
    "alibi_bias": _alibi,
    "t5_bucket": _exact,
    "t5_bias": _exact,
    "attention": _attention,
}
