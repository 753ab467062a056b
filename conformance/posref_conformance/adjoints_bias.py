r"""Vector-Jacobian products of biases. See :mod:`posref_conformance.adjoints`.

Budgets, with u the roundoff of the type in which sums are made:

    look-ups       as those of other tables; what has no row gives nothing
    KERPLE         r1 gets -sum g ln(1 + r2 d), whose logarithm is off by 3 u and 2 u of itself; r2 gets -sum g r1 d / (1 + r2 d)
    CAPE           the shift gets g e^lambda, the scale g y, its size that of positions, mean and shift
    cosine scale   g exp(s) below the end, nothing beyond: 8 u of it
    perceptron     three sums after each other, of n features, h hidden values and the places: each term is within
                   (n + h + places + 20) u of the product of the largest magnitudes that it can have, in which the slopes of the
                   activation (at most 1.1) and of the logistic function (1/4) move by half of what their arguments are off by
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posref_conformance.gradient import Asked, Gradient, Values, of_sum, sum_to


def _indexed_bias(a: Asked) -> Gradient:
    """A row gets what is asked of it, from everywhere; tables are rows first here."""
    index, g = np.asarray(a.given["index"]), np.moveaxis(a.g, -3, -1)
    value, size = np.zeros(a["table"].shape), np.zeros(a["table"].shape)
    there = index >= 0
    np.add.at(value, index[there], g[there])
    np.add.at(size, index[there], np.abs(g[there]))
    return of_sum(value, size, int(np.bincount(index[there], minlength=1).max(initial=0)))


def _kerple_bias(a: Asked) -> Gradient:
    r1, r2 = (a[name][:, None, None] for name in ("r1", "r2"))
    d = np.abs(a["q_positions"][..., None, :, None] - a["k_positions"][..., None, None, :])
    factor = -np.log1p(r2 * d) if a.by == "r1" else -r1 * d / (1 + r2 * d)
    terms, plain = (np.moveaxis(np.broadcast_to(t, a.g.shape), -3, 0).reshape(len(r1), -1) for t in (a.g * factor, a.g))
    size, rest, count = np.abs(terms).sum(axis=1), np.abs(plain).sum(axis=1), terms.shape[1]
    return Gradient(terms.sum(axis=1), lambda u: u * ((count + 10) * size + 4 * rest))


def _cape_positions(a: Asked) -> Gradient:
    p, gain, shape = a["positions"], np.exp(a["log_scale"]), a[a.by].shape
    count = p.size // max(1, a[a.by].size)
    if a.by == "shift":
        return of_sum(sum_to(a.g * gain, shape), sum_to(np.abs(a.g) * gain, shape), count + 4)
    mean, reach = (x.mean(axis=-1, keepdims=True) if a.given["centre"] else 0.0 for x in (p, np.abs(p)))
    size = gain * (np.abs(p) + p.shape[-1] * reach + np.abs(a["shift"]))
    return of_sum(sum_to(a.g * gain * (p - mean + a["shift"]), shape), sum_to(np.abs(a.g) * size, shape), count + 6)


def _cosine_scale(a: Asked) -> Gradient:
    s = a["log_scale"]
    value = a.g * np.where(np.exp(s) < a.given["largest"], np.exp(s), 0.0)
    return Gradient(value, lambda u: 8 * u * np.abs(value))


def alibi_of_two_sides(a: Asked) -> Gradient:
    """By the slopes of the future, or of the past, where there are both."""
    d = a["q_positions"][..., None, :, None] - a["k_positions"][..., None, None, :]
    past, future = np.where(d >= 0, -d, 0.0), np.where(d < 0, d, 0.0)
    terms = np.moveaxis(a.g * (past if a.by == "slopes" else future), -3, 0).reshape(len(a[a.by]), -1)
    return of_sum(terms.sum(axis=1), np.abs(terms).sum(axis=1), terms.shape[1])


def _position_mlp(a: Asked) -> Gradient:
    value, size = _chain(a, lambda t: t), _chain(a, np.abs)
    places = max(1, a.g.size // max(1, a.g.shape[-1]))
    terms = a["features"].shape[-1] + a["w1"].shape[0] + (1 if a.by == "features" else places) + 20
    return Gradient(value, lambda u: terms * u * size)


def _chain(a: Asked, sized: Callable[[Values], Values]) -> Values:
    """The chain rule, of values, or of magnitudes for a bound."""
    bounding = sized is np.abs
    x, w1, b1, w2 = (sized(a[name]) for name in ("features", "w1", "b1", "w2"))
    b2 = 0.0 if a.given["b2"] is None else sized(a["b2"])
    z = x @ w1.T + b1
    h, slope = (1.1 * z, 1.1 + 0.5 * z) if bounding else _activation(z, a.given["activation"])
    y, g = h @ w2.T + b2, sized(a.g)
    if a.given["ceiling"] is not None:
        s = 1 / (1 + np.exp(-y))
        g = g * a.given["ceiling"] * (0.25 * (1 + 0.5 * y) if bounding else s * (1 - s))
    to_hidden = (g @ w2) * slope
    return {
        "b2": lambda: sum_to(g, a["w2"].shape[:1]),
        "w2": lambda: _outer(g, h),
        "b1": lambda: sum_to(to_hidden, a["b1"].shape),
        "w1": lambda: _outer(to_hidden, x),
        "features": lambda: to_hidden @ w1,
    }[a.by]()


def _outer(left: Values, right: Values) -> Values:
    """The sum over all places of the products of two vectors there."""
    return np.asarray(left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1]))


def _activation(z: Values, how: str) -> tuple[Values, Values]:
    """The activation and its slope."""
    if how == "relu":
        return np.maximum(z, 0.0), np.where(z > 0, 1.0, 0.0)
    if how == "identity":
        return z, np.ones(z.shape)
    s = 1 / (1 + np.exp(-z))
    return z * s, s * (1 + z * (1 - s))


ADJOINTS: dict[str, Callable[[Asked], Gradient]] = {
    "indexed_bias": _indexed_bias,
    "cape_positions": _cape_positions,
    "kerple_bias": _kerple_bias,
    "cosine_scale": _cosine_scale,
    "position_mlp": _position_mlp,
}
