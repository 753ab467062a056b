r"""Vector-Jacobian products of attention. P are the weights, y = P v, g the cotangent of y; u the roundoff of sums.

Softmax. dP = g v^T, D = rowsum(P dP), dS = P (dP - D); then

    v: P^T g      q: scale dS k      k: scale dS^T q      bias: dS, summed where it was broadcast

In magnitudes: A = |g| |v|^T for dP, B = rowsum(P A) for D, P (A + B) for dS. P is off by eps of itself, as in the forward
budget: logits within (d + 3) u of their size, exp and normaliser within (2 n + 14) u. dP is off by (e + 2) u A, and D by what P
and dP are off by and (n + 2) u B. Together

    dS is off by (2 eps + (e + n + 8) u) P (A + 2 B)

where the second B leaves room for a D that is made of outputs in 16 bits. A sum over n more terms adds n u.

Linear. y = (W v) / z with W the rotated scores, z the sums of the plain ones S: dW = g v^T / z, dz = -rowsum(g y) / z, and

    v: (W / z)^T g      phi(q): R^T (dW R phi(k)) + dz sum phi(k)      phi(k): the same with rows and columns exchanged

then phi' = 1 or exp(x). In magnitudes every product of signed terms is replaced by that of their sizes, with a pair's |a| + |b|
on both sides of a rotation. All is within K u of that, K being the number of roundings on the longest path, and the phases of
both rotations.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import posref
from posref_conformance.gradient import Asked, Gradient, Values, sum_to
from posref_conformance.roundings import pair_channels, phase_error, working_roundoff


def _t(x: Values) -> Values:
    return np.asarray(x.swapaxes(-1, -2))


def _attention(a: Asked) -> Gradient:
    q, k, v, g = a["q"], a["k"], a["v"], a.g
    d, n, e = q.shape[-1], k.shape[-2], v.shape[-1]
    scale = 1 / math.sqrt(d) if a.given["scale"] is None else a.given["scale"]
    bias = np.zeros(()) if a.given["bias"] is None else a["bias"]
    mask = np.True_ if a.given["mask"] is None else np.asarray(a.given["mask"])
    p = posref.attention(q, k, np.eye(n), scale=scale, bias=a.given["bias"], mask=a.given["mask"])  # (..., q, k)
    d_p, size_p = g @ _t(v), np.abs(g) @ _t(np.abs(v))
    size_d = (p * size_p).sum(axis=-1, keepdims=True)
    d_s = p * (d_p - (p * d_p).sum(axis=-1, keepdims=True))
    logits = np.where(mask, abs(scale) * (np.abs(q) @ _t(np.abs(k))) + np.abs(bias), 0.0).max(
        axis=-1, keepdims=True, initial=0.0
    )
    double = 2 if a.given["q"].dtype == np.float64 else 1  # the reference errs as much there

    def eps(u: float) -> Values:
        return np.asarray(double * (2 * (d + 4) * u * logits + (2 * n + 14) * u))

    def off_s(u: float, more: int) -> Values:
        return np.asarray((2 * eps(u) + double * (e + n + 8 + more) * u) * p * (size_p + 2 * size_d))

    shape = a[a.by].shape
    if a.by == "v":
        rows = math.prod(np.broadcast_shapes(p.shape[:-2], g.shape[:-2])) // max(1, math.prod(shape[:-2])) * p.shape[-2]
        return Gradient(
            sum_to(_t(p) @ g, shape), lambda u: sum_to(_t((eps(u) + (rows + 2) * u) * p) @ np.abs(g), shape)
        )
    if a.by == "bias":
        count = d_s.size // max(1, bias.size)
        return Gradient(sum_to(d_s, shape), lambda u: sum_to(off_s(u, count), shape))
    turn, other = (d_s, k) if a.by == "q" else (_t(d_s), q)
    value, terms = sum_to(scale * (turn @ other), shape), other.shape[-2]

    def off(u: float) -> Values:
        error = off_s(u, terms)
        return sum_to(abs(scale) * ((error if a.by == "q" else _t(error)) @ np.abs(other)), shape)

    return Gradient(value, off)


def _linear(a: Asked) -> Gradient:
    q, k, v, g = a["q"], a["k"], a["v"], a.g
    elu = a.given["feature"] == "elu"
    phi = {"q": _elu(q) if elu else q, "k": _elu(k) if elu else k}
    turned, angle = {}, {}  # rotated features, and what their angles are off by, at most
    for name, x in phi.items():
        turned[name], angle[name] = _rotated(a, x, a.given[f"{name}_positions"])
    mask = np.True_ if a.given["mask"] is None else np.asarray(a.given["mask"])
    w, s = (np.where(mask, x["q"] @ _t(x["k"]), 0.0) for x in (turned, phi))
    size = {name: _pair_sizes(a, np.abs(x)) for name, x in phi.items()}
    size_w = np.where(mask, size["q"] @ _t(size["k"]), 0.0)
    z = s.sum(axis=-1, keepdims=True)
    z = np.where(z == 0, 1.0, z)
    phase = angle["q"] + _t(angle["k"])  # (..., q, k)
    roundings = (q.shape[-1] + k.shape[-2] + v.shape[-1] + q.shape[-2] + 24) * (
        2 if a.given["q"].dtype == np.float64 else 1
    )
    if a.by == "v":
        reach = _t(size_w / z) @ np.abs(g)
        return Gradient(_t(w / z) @ g, lambda u: roundings * u * reach, _t(phase * size_w / z) @ np.abs(g))
    d_w, size_dw = np.where(mask, g @ _t(v), 0.0) / z, np.where(mask, np.abs(g) @ _t(np.abs(v)), 0.0) / z
    d_z = np.where(mask, -(g * ((w @ v) / z)).sum(axis=-1, keepdims=True) / z, 0.0)
    size_dz = (size_dw * size_w).sum(axis=-1, keepdims=True) / z
    phase_dz = np.where(mask, (size_dw * phase * size_w).sum(axis=-1, keepdims=True) / z, 0.0)
    size_dz = np.where(mask, size_dz, 0.0)
    other = "k" if a.by == "q" else "q"
    facing = (lambda x: x) if a.by == "q" else _t
    slope = np.where(a[a.by] > 0, 1.0, np.exp(np.minimum(a[a.by], 0))) if elu else 1.0
    back, _ = _rotated(a, facing(d_w) @ turned[other], a.given[f"{a.by}_positions"], inverse=True)
    value = slope * (back + facing(d_z) @ phi[other])

    def total(of_w: Values, of_z: Values) -> Values:
        return np.asarray(slope * (_pair_sizes(a, facing(of_w) @ size[other]) + facing(of_z) @ np.abs(phi[other])))

    whole, by_phase = total(size_dw, size_dz), total(2 * phase * size_dw, phase_dz)
    return Gradient(value, lambda u: roundings * u * whole, by_phase)


def _elu(x: Values) -> Values:
    return np.asarray(np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))))


def _rotated(a: Asked, x: Values, positions: object, inverse: bool = False) -> tuple[Values, Values]:
    """Features rotated, and (..., rows, 1): the most that sine and cosine are off by."""
    if a.given["inv_freq"] is None:
        return x, np.zeros((1, 1))
    p = np.asarray(positions)
    cos, sin = posref.rope_cos_sin(p, a.given["inv_freq"])
    u = working_roundoff(a.given["inv_freq"].dtype.name)
    off = phase_error(p[..., None] * a["inv_freq"], 0.0, u, 1.0).max(axis=-1, keepdims=True)
    turned = posref.rope_apply(x, cos, sin, layout=a.given["layout"], inverse=inverse)
    return np.asarray(turned, np.float64), np.asarray(off, np.float64)


def _pair_sizes(a: Asked, size: Values) -> Values:
    """Magnitudes in which both members of a pair have the sum of the two."""
    if a.given["inv_freq"] is None:
        return size
    first, second = pair_channels(len(a["inv_freq"]), a.given["layout"], 0)
    summed = size.copy()
    summed[..., first] = summed[..., second] = size[..., first] + size[..., second]
    return np.asarray(summed)


ADJOINTS: dict[str, Callable[[Asked], Gradient]] = {"attention": _attention, "linear_attention": _linear}
