r"""Vector-Jacobian products of the reference: for a result y of an argument x, and a cotangent g like y, the gradient of
:math:`\sum g\,y` by x.

Budgets, with u the roundoff of the type in which sums are made:

    rotation       the transposed rotation of g, with the budget of a rotation
    look-ups       a table's row gets the sum of the cotangents of the places that look it up: n terms, (n + 4) u sum |g|
    ALiBi, SSMax   a slope gets sum g c over all places, c the known factor: n terms, (n + 4) u sum |g c|
    tables         g_cos = -p sin, g_sin = p cos for theta = p w: sums of p (|g_cos| + |g_sin|) over positions; sine and cosine
                   are off by the phase of a table with given frequencies
    FoPE           a coefficient gets sum g cos over positions, with that phase
    PoPE           sigma(x) (g_cos cos + g_sin sin), with the phase of the ladder; the bias of keys has a length in place of sigma
    scores         a query gets sum over the keys of g times the turned key: k + 6 terms, and the phase of d w

By positions nothing is differentiated, and by frequencies only where they are learned or may be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import posref
from posref_conformance import (
    adjoints_additive,
    adjoints_attention,
    adjoints_bias,
    adjoints_content,
    adjoints_frequencies,
    adjoints_relative,
)
from posref_conformance.budgets import bounds
from posref_conformance.case import Call
from posref_conformance.gradient import Asked, Gradient, Values, asked, of_sum, sum_to
from posref_conformance.roundings import Bounds, ladder_roundings, pair_channels, phase_error, working_roundoff


def gradient(function: str, call: Call) -> Values:
    """The gradient of a differentiated call."""
    if is_rotation(function, call):
        turned = transposed(call)
        return np.asarray(getattr(posref, function)(*turned.args, **turned.kwargs))
    return _adjoint(function, call).value


def gradient_bounds(function: str, call: Call, dtype: str) -> Bounds:
    """How far a gradient may be off, given the type that came back."""
    if is_rotation(function, call):
        return bounds(function, transposed(call), [gradient(function, call)], [dtype])
    return _adjoint(function, call).bounds(dtype)


def is_rotation(function: str, call: Call) -> bool:
    """Whether the gradient of a call is a rotation itself: by the data, not by the tables."""
    return function in ROTATIONS and call.by == "x"


def _adjoint(function: str, call: Call) -> Gradient:
    return adjoints_frequencies.BY.get((function, call.by), ADJOINTS.get(function, _none))(asked(function, call))


def _none(a: Asked) -> Gradient:
    raise LookupError(f"no adjoint by {a.by}")


def transposed(call: Call) -> Call:
    """The rotation that a rotation's gradient is; the derivative of that by its cotangent is the rotation itself."""
    if call.again is not None:
        return Call((call.again, *call.args[1:]), call.kwargs)
    kwargs = {**call.kwargs, "inverse": not call.kwargs.get("inverse", False)}
    if kwargs.get("output_layout"):
        kwargs["layout"], kwargs["output_layout"] = kwargs["output_layout"], kwargs.get("layout", "half")
    return Call((call.cotangent, *call.args[1:]), kwargs)


# --- look-ups and factors -------------------------------------------------------------------------------------------


def _t5_bias(a: Asked) -> Gradient:
    table = a["table"]  # (buckets, heads)
    relative = np.asarray(a.given["k_positions"])[..., None, :] - np.asarray(a.given["q_positions"])[..., :, None]
    options = {name: a.given[name] for name in ("bidirectional", "max_distance")}
    buckets = posref.t5_bucket(relative, num_buckets=len(table), **options)  # (..., q, k)
    return _scattered(table.shape, buckets, np.moveaxis(a.g, -3, -1))


def _scattered(shape: tuple[int, ...], rows: Any, g: Values) -> Gradient:
    """A row gets what is asked of it, from everywhere."""
    value, size = np.zeros(shape), np.zeros(shape)
    np.add.at(value, rows, g)
    np.add.at(size, rows, np.abs(g))
    return of_sum(value, size, int(np.bincount(rows.ravel(), minlength=1).max(initial=0)))


def _alibi_bias(a: Asked) -> Gradient:
    if a.given["future_slopes"] is not None:
        return adjoints_bias.alibi_of_two_sides(a)
    options = {name: a.given[name] for name in ("q_positions", "k_positions", "form")}
    factor = a.g * posref.alibi_bias(np.ones(len(a["slopes"])), **options)  # (..., heads, q, k)
    return _by_head(np.moveaxis(factor, -3, 0))


def _ssmax_scale(a: Asked) -> Gradient:
    factor = np.log1p(a["positions"])[..., None, :] if a.by == "s" else 1.0  # (..., 1, q)
    return _by_head(np.moveaxis(a.g * factor, -2, 0))


def _by_head(terms: Values) -> Gradient:
    flat = terms.reshape(len(terms), -1)
    return of_sum(flat.sum(axis=1), np.abs(flat).sum(axis=1), flat.shape[1])


def _permuted_weight(a: Asked) -> Gradient:
    options = {name: a.given[name] for name in ("num_heads", "to", "rotary_dim", "offset")}
    places = posref.rope_permute_weight(np.arange(float(len(a.g))), **options).astype(int)  # where each row came from
    value = np.empty_like(a.g)
    value[places] = a.g
    return Gradient(value, lambda u: np.zeros(value.shape))


# --- tables ---------------------------------------------------------------------------------------------------------


def _cos_sin(a: Asked) -> Gradient:
    return _by_frequency(a, a["positions"][..., None])


def _axes_cos_sin(a: Asked) -> Gradient:
    return _by_frequency(a, np.moveaxis(a["positions"][np.asarray(a.given["axis_map"])], 0, -1))


def _by_frequency(a: Asked, p: Values) -> Gradient:
    """Positions are (..., pairs) or (..., 1)."""
    w, gain = a["inv_freq"], a.given["attention_factor"]
    cos, sin = np.cos(p * w), np.sin(p * w)
    value = sum_to(gain * p * (a.cotangents[1] * cos - a.cotangents[0] * sin), w.shape)
    size = np.abs(gain * p) * (np.abs(a.cotangents[0]) + np.abs(a.cotangents[1]))
    phase = phase_error(p * w, 0.0, working_roundoff(a.given["inv_freq"].dtype.name), 1.0)
    count = size.size // max(1, size.shape[-1])
    return Gradient(value, lambda u: (count + 4) * u * sum_to(size, w.shape), sum_to(size * phase, w.shape))


def _mixed_cos_sin(a: Asked) -> Gradient:
    f = a["frequencies"]  # (axes, *heads, pairs)
    p = a["positions"][..., :, None]  # (axes, ..., sequence, 1)
    angles = [q * w[..., None, :] for q, w in zip(p, f, strict=True)]  # each (..., sequence, pairs)
    theta, reach = np.sum(angles, axis=0), np.sum(np.abs(angles), axis=0)
    turn = a.cotangents[1] * np.cos(theta) - a.cotangents[0] * np.sin(theta)
    size = np.abs(a.cotangents[0]) + np.abs(a.cotangents[1])
    phase = size * phase_error(reach, len(p) - 1.0, working_roundoff(a.given["frequencies"].dtype.name), 1.0)

    def by_axis(factors: Values, terms: Values) -> Values:
        rows = (*f.shape[1:-1], 1, f.shape[-1])  # one row for the whole sequence
        return np.stack([sum_to(q * terms, rows)[..., 0, :] for q in factors])

    count = turn.size // max(1, f[0].size)
    return Gradient(by_axis(p, turn), lambda u: (count + 4) * u * by_axis(abs(p), size), by_axis(abs(p), phase))


def _fope_cos_sin(a: Asked) -> Gradient:
    c = a[a.by]  # (n, m) or (heads, n, m)
    which = ("cos_coef", "sin_coef").index(a.by)
    theta = a["positions"][..., None] * a["inv_freq"]
    wave = (np.cos, np.sin)[which](theta)  # (..., sequence, n)
    phase = phase_error(theta, 0.0, working_roundoff(a.given["inv_freq"].dtype.name), 1.0)
    g = a.cotangents[which][..., : c.shape[-1]]  # padded columns are constants

    def summed(left: Values, right: Values) -> Values:
        terms = left[..., :, None] * right[..., None, :]  # (..., sequence, n, m)
        if c.ndim == 2:
            return np.asarray(terms.reshape(-1, *c.shape).sum(axis=0))
        return np.asarray(np.moveaxis(terms, -4, 0).reshape(len(c), -1, *c.shape[1:]).sum(axis=1))

    wide = (wave, phase) if c.ndim == 2 else (wave[..., None, :, :], phase[..., None, :, :])
    size = summed(np.abs(wide[0]), np.abs(g))
    count = theta.size // max(1, theta.shape[-1])
    return Gradient(summed(wide[0], g), lambda u: (count + 4) * u * size, summed(wide[1], np.abs(g)))


# --- rotations that are none, and scores ----------------------------------------------------------------------------


def _apply_channels(a: Asked) -> Gradient:
    cos, sin, offset = a["cos"], a["sin"], a.given["offset"]
    pairs = cos.shape[-1] // 2
    at, table = pair_channels(pairs, a.given["layout"], offset), pair_channels(pairs, a.given["layout"], 0)
    (g1, g2), (c1, c2), (s1, s2) = (
        tuple(t[..., i] for i in where) for t, where in ((a.g, at), (cos, table), (sin, table))
    )
    value, size = a.g.copy(), np.zeros(a.g.shape)
    value[..., at[0]], value[..., at[1]] = g1 * c1 + g2 * s2, g2 * c2 - g1 * s1
    size[..., at[0]], size[..., at[1]] = np.abs(g1 * c1) + np.abs(g2 * s2), np.abs(g2 * c2) + np.abs(g1 * s1)
    return of_sum(value, size, 2)


def _pope_apply(a: Asked) -> Gradient:
    x, d = a["x"], a["x"].shape[-1]
    w = float(a.given["base"]) ** (-np.arange(d) / d)
    theta = a["positions"][..., None] * w
    delta = np.zeros(d) if a.given["bias"] is None else a["bias"]
    inside = (delta >= -2 * math.pi) & (delta <= 0)  # clamped beyond
    cos, sin = np.cos(theta + np.clip(delta, -2 * math.pi, 0)), np.sin(theta + np.clip(delta, -2 * math.pi, 0))
    g_cos, g_sin = a.g[..., :d], a.g[..., d:]
    size = np.abs(g_cos) + np.abs(g_sin)
    u_phase = working_roundoff(a.given["x"].dtype.name)
    phase = phase_error(theta, ladder_roundings(w), u_phase, 1.0) + 8 * u_phase
    if a.by == "x":
        factor = 1 / (1 + np.exp(-x))
        return Gradient(factor * (g_cos * cos + g_sin * sin), lambda u: 8 * u * factor * size, factor * size * phase)
    factor = np.logaddexp(0, x) * inside
    value, shape = factor * (g_sin * cos - g_cos * sin), delta.shape
    count = size.size // max(1, delta.size)
    return Gradient(
        sum_to(value, shape),
        lambda u: (count + 8) * u * sum_to(factor * size, shape),
        sum_to(factor * size * phase, shape),
    )


def _rope_scores(a: Asked) -> Gradient:
    q, k, d, w = a["q"], a["k"], a["distances"], a["inv_freq"]
    d = np.broadcast_to(d, (1,) * max(0, 2 - d.ndim) + d.shape)
    theta = d[..., None] * w  # (..., q, k, pairs)
    first, second = pair_channels(len(w), a.given["layout"], 0)
    of_query = a.by == "q"
    other = k[..., None, :, :] if of_query else q[..., :, None, :]
    c, e = other[..., first], other[..., second]
    cos, sin = np.cos(theta), np.sin(theta) if of_query else -np.sin(theta)  # the key sees the query turned back
    g, axis = a.g[..., None], -2 if of_query else -3
    shape = a[a.by].shape

    def gathered(of_first: Values, of_second: Values, rest: Values) -> Values:
        full = np.zeros((*np.broadcast_shapes(of_first.shape[:-1], rest.shape[:-1]), q.shape[-1]))
        full[..., first], full[..., second], full[..., 2 * len(w) :] = of_first, of_second, rest
        return sum_to(full.sum(axis=axis), shape)

    rest, both = other[..., 2 * len(w) :], np.abs(c) + np.abs(e)
    value = gathered(g * (c * cos + e * sin), g * (e * cos - c * sin), g * rest)
    size = gathered(np.abs(g) * both, np.abs(g) * both, np.abs(g * rest))
    phase = phase_error(theta, 0.0, working_roundoff(a.given["inv_freq"].dtype.name), 1.0)
    turned = gathered(np.abs(g) * both * phase, np.abs(g) * both * phase, 0.0 * g * rest)
    count = a.g.shape[-1] if of_query else a.g.shape[-2]
    repeated = a.g.size // max(1, math.prod(shape[:-1]) * count)  # leading axes along which it was broadcast
    return Gradient(value, lambda u: (count * repeated + 6) * u * size, turned)


ROTATIONS = ("rope_apply", "rope")
ADJOINTS: dict[str, Callable[[Asked], Gradient]] = {
    "t5_bias": _t5_bias,
    "alibi_bias": _alibi_bias,
    "ssmax_scale": _ssmax_scale,
    "rope_permute_weight": _permuted_weight,
    "rope_cos_sin": _cos_sin,
    "rope_axes_cos_sin": _axes_cos_sin,
    "rope_mixed_cos_sin": _mixed_cos_sin,
    "fope_cos_sin": _fope_cos_sin,
    "rope_apply_channels": _apply_channels,
    "pope_apply": _pope_apply,
    "rope_scores": _rope_scores,
    **adjoints_additive.ADJOINTS,
    **adjoints_attention.ADJOINTS,
    **adjoints_bias.ADJOINTS,
    **adjoints_content.ADJOINTS,
    **adjoints_relative.ADJOINTS,
}
