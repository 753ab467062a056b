r"""Vector-Jacobian products of what depends on the content. See :mod:`posref_conformance.adjoints`; s is the scale.

    class token     what stands is g, what was replaced gets nothing, and the two numbers the sums of their places
    gates           y = a (b c - 1) + 2: channels of a get g a (1 - a) (b c - 1), those of b g a c b (1 - b), c gets g a b
    forget gates    y_ij = C_i - C_j of prefix sums: a gate gets what its sum and all later sums get, 2 n + q additions
    CoPE            z lies on a line, so that a position gets g times the step between its two rows, a gate what all positions
                    up to its key get, and the content that times s gate (1 - gate)
    PaTH            backwards through every product, with x before H and h behind it:
                    x gets H h, w gets -b ((x w) h + (h w) x), b gets -(x w)(h w)

Budgets. Gates: sigma is off by a quarter of what its argument is off by, 5 u sum |p|, its slope by a tenth, and by 4 and 8 u.
CoPE: with e_p what a position is off by in the forward budget, its share of a row is off by e_p for rows no further than 1 + e_p,
and the step by 2 (d + 2) u of the products, or, within e_p of a row, by twice the largest step: there another step holds.
PaTH: 2 n (2 d + 5) + 3 n roundings of the sizes that the same recursion gives with magnitudes and plus signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from posref_conformance.adjoints_relative import transpose
from posref_conformance.gradient import Asked, Gradient, Values, of_products, of_sum, sum_to


def _twice(a: Asked) -> int:
    """The reference errs as much in float64."""
    return 2 if a.given[a.by].dtype == np.float64 else 1


def _scale(a: Asked) -> float:
    return 1 / math.sqrt(a["q"].shape[-1]) if a.given["scale"] is None else float(a.given["scale"])


def _reset(a: Asked) -> Values:
    own, other = np.zeros(a.g.shape), np.zeros(a.g.shape)
    own[..., :1, :], other[..., 1:, :1] = a.g[..., :1, :], a.g[..., 1:, :1]
    if a.by == "bias":
        return a.g * (np.arange(a.g.shape[-2]) > 0)[:, None] * (np.arange(a.g.shape[-1]) > 0)
    return sum_to({"from_cls": own, "to_cls": other}[a.by].sum(axis=(-2, -1)), a[a.by].shape)


def _sigmoid(t: Values) -> Values:
    return np.asarray(1 / (1 + np.exp(-t)))


def _bias_gate(a: Asked) -> Gradient:
    p, c, g = a["projection"], a["const"][:, None], a.g
    first, second = _sigmoid(p[..., :4].sum(axis=-1)), _sigmoid(p[..., 4:].sum(axis=-1))
    size_a, size_b = np.abs(p[..., :4]).sum(axis=-1), np.abs(p[..., 4:]).sum(axis=-1)
    if a.by == "const":
        off_both = 1.25 * (size_a + size_b) + 10
        value, places = sum_to((g * first * second)[..., None], (*c.shape, 1))[..., 0, 0], g.size // max(1, len(c))
        size, whole = (sum_to((np.abs(g) * x)[..., None], (*c.shape, 1))[..., 0, 0] for x in (off_both, first * second))
        return Gradient(value, lambda u: u * (size + places * whole))
    inner = second * c - 1
    by_first, by_second = g * first * (1 - first) * inner, g * first * c * second * (1 - second)
    off_first = (size_a / 2 + 8) * np.abs(inner) + (size_b / 3 + 2) * np.abs(c) + 1
    off_second = np.abs(c) * (size_a / 3 + size_b / 2 + 10)
    value, off = (
        np.repeat(np.stack(pair, axis=-1), 4, axis=-1) for pair in ((by_first, by_second), (off_first, off_second))
    )
    return Gradient(value, lambda u: u * np.abs(g)[..., None] * off)


def _through_sums(g: Values, sign: int) -> Values:
    """From cotangents of C_i - C_j to those of the gates; with a plus sign, their sizes."""
    queries, n = g.shape[-2:]
    of_sums = sign * g.sum(axis=-2)
    of_sums[..., n - queries :] += g.sum(axis=-1)
    return np.flip(np.cumsum(np.flip(of_sums, -1), -1), -1)


def _of_gates(g: Values, shape: tuple[int, ...]) -> Gradient:
    queries, n = g.shape[-2:]
    repeated = g.size // max(1, math.prod(shape) * queries)
    value, size = sum_to(_through_sums(g, -1), shape), sum_to(_through_sums(np.abs(g), 1), shape)
    return of_sum(value, size, 2 * n + queries + repeated)


def _forget_bias(a: Asked) -> Gradient:
    queries, n = a.g.shape[-2:]
    g, future = a.g, np.arange(n) > np.arange(n - queries, n)[:, None]
    if a.given["backward"] is not None:  # C_i - C_j of its own sums, turned round
        g = np.where(future, -g, 0.0) if a.by == "backward" else np.where(future, 0.0, g)
    return _of_gates(g, a[a.by].shape)


def _cope_scores(a: Asked) -> Gradient:
    q, k, table, s = a["q"], a["k"], a["table"], _scale(a)
    seen, rows = _seen(a), len(table)
    gate = np.where(seen, _sigmoid(s * (q @ transpose(k))), 0.0)
    counted, z = _from_key(gate), (q @ table.T)[..., None, :]  # (..., q, k) and (..., q, 1, rows)
    p = np.minimum(counted, rows - 1)
    below, above = (edge[..., None] == np.arange(rows) for edge in (np.floor(p), np.ceil(p)))  # (..., q, k, rows)
    share, g = (p - np.floor(p))[..., None], _placed(a)
    step = np.where(counted <= rows - 1, (z * above).sum(axis=-1) - (z * below).sum(axis=-1), 0.0)
    of_rows = (g[..., None] * ((1 - share) * below + share * above)).sum(axis=-2)  # (..., q, rows)
    of_gate = np.where(seen, np.cumsum(g * step, axis=-1), 0.0)
    of_content = s * (a.g + of_gate * gate * (1 - gate))
    return Gradient(
        _handed_on(a, of_content, of_rows), lambda u: _cope_off(a.mapped(np.abs), _twice(a) * u, counted, z, step)
    )


def _seen(a: Asked) -> Any:
    return np.True_ if a.given["mask"] is None else np.asarray(a.given["mask"])


def _placed(a: Asked) -> Values:
    """The cotangent of z."""
    return a.g * (_scale(a) if a.given["scale_positions"] else 1.0)


def _handed_on(a: Asked, content: Values, placed: Values) -> Values:
    """What the products with the keys and those with the rows get, handed on to the argument."""
    found = {
        "q": content @ a["k"] + placed @ a["table"],
        "k": transpose(content) @ a["q"],
        "table": transpose(placed) @ a["q"],
    }
    return sum_to(found[a.by], a[a.by].shape)


def _cope_off(a: Asked, u: float, counted: Values, z: Values, step: Values) -> Values:
    """Of magnitudes; what was counted, the products with the rows and the steps keep their signs."""
    s, g, seen, (rows, d), n = abs(_scale(a)), np.abs(_placed(a)), _seen(a), a["table"].shape, a["k"].shape[-2]
    p = np.minimum(counted, rows - 1)
    off_content = (d + 3) * u * s * (a["q"] @ transpose(a["k"]))
    off_p = _from_key(np.where(seen, off_content / 4 + 4 * u, 0.0)) + n * u * p
    steep = np.abs(np.diff(z, axis=-1)).max(axis=-1, initial=0.0)  # (..., q, 1)
    products = (a["q"] @ a["table"].T).max(axis=-1, keepdims=True)
    near = np.abs(counted - np.rint(counted)) <= off_p
    off_step = np.where(near, 2 * steep, 0.0) + 2 * u * ((d + 2) * products + steep)
    close = np.abs(np.arange(rows) - p[..., None]) < 1 + off_p[..., None]  # (..., q, k, rows)
    size_rows = (g[..., None] * close).sum(axis=-2)
    off_rows = ((g * (off_p + 4 * u))[..., None] * close).sum(axis=-2) + n * u * size_rows
    size_gate = np.where(seen, np.cumsum(g * np.abs(step), axis=-1), 0.0)
    off_gate = np.where(seen, np.cumsum(g * off_step, axis=-1), 0.0) + n * u * size_gate
    off_scores = s * (off_gate / 4 + size_gate * (off_content / 10 + 10 * u) + 3 * u * a.g)
    summed = (a["q"].size // d + n + rows + 4) * u
    return _handed_on(a, off_scores + summed * s * (a.g + size_gate / 4), off_rows + summed * size_rows)


def _from_key(x: Values) -> Values:
    """Sums over a key and all later ones."""
    return np.flip(np.cumsum(np.flip(x, -1), -1), -1)


def _path_scores(a: Asked) -> Gradient:
    s, (n, d) = _scale(a), a["q"].shape[-2:]
    g = np.where(np.tri(n, dtype=bool), a.g, 0.0)
    if a.by == "log_forget":
        return _of_gates(g * (s if a.given["gate"] == "scaled" else 1.0), a["log_forget"].shape)
    value, size = _reflected(a, s * g, -1), _reflected(a.mapped(np.abs), np.abs(s * g), 1)
    repeated = g.size // max(1, a[a.by].size)
    roundings = _twice(a) * (2 * n * (2 * d + 5) + 3 * n + repeated)
    return Gradient(value, lambda u: roundings * u * size)


def _reflected(a: Asked, g: Values, sign: int) -> Values:
    """Back through x -> x + sign b (x w) w, one query after the other; with a plus sign, the sizes."""
    shape = np.broadcast_shapes(*(a[name].shape for name in "qkw"))
    q, k, w = (np.broadcast_to(a[name], shape) for name in "qkw")
    b = np.broadcast_to(a["beta"][..., None], (*shape[:-1], 1))
    got: dict[str, Any] = {name: np.zeros(shape) for name in "qkw"} | {"beta": np.zeros((*shape[:-1], 1))}
    for i in range(shape[-2]):
        before = {i: q[..., i, :]}  # the query, as it meets the key of token j
        for j in range(i, 0, -1):
            before[j - 1] = before[j] + sign * b[..., j, :] * _dot(before[j], w[..., j, :]) * w[..., j, :]
        behind = np.zeros_like(before[i])
        for j in range(i + 1):
            direction, x, pair = w[..., j, :], before[j], g[..., i, j, None]
            across, back = _dot(x, direction), _dot(behind, direction)
            got["k"][..., j, :] += pair * x
            got["beta"][..., j, :] += sign * across * back
            got["w"][..., j, :] += sign * b[..., j, :] * (across * behind + back * x)
            behind = behind + sign * b[..., j, :] * back * direction + pair * k[..., j, :]
        got["q"][..., i, :] = behind
    return sum_to(got["beta"][..., 0] if a.by == "beta" else got[a.by], a[a.by].shape)


def _dot(x: Values, y: Values) -> Values:
    return np.asarray((x * y).sum(axis=-1, keepdims=True))


ADJOINTS: dict[str, Callable[[Asked], Gradient]] = {
    "reset_cls": lambda a: of_products(a, _reset),
    "bias_gate": _bias_gate,
    "forget_bias": _forget_bias,
    "cope_scores": _cope_scores,
    "path_scores": _path_scores,
}
