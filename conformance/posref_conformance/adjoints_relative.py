r"""Vector-Jacobian products of relative attention. See :mod:`posref_conformance.adjoints`.

Every score is linear in each of its arguments. With N the pairs' rows as zeros and ones, C = g N is what each query asks of each
row of the table, and C' the same of the keys, from the transposed cotangent and index:

    products with a row    x: C T                          T: C^T x
    weighted rows          w: g T_n                        T: C^T g, with C of the weights
    scores                 q: g k + C T                    k: g^T (q + u) + C' T        T: C^T (q + v) + C'^T k
                           u, v: the two terms of q, summed over the queries
    disentangled           q: g k + C K                    k: g^T q + C' Q              K: C^T (q + Q_i)
                           Q: C'^T k, and C K in the rows Q_i of the queries' own places
    untied                 q: g k   k: g^T q   and so with P for q and k: P_q: g P_k   P_k: g^T P_q
    grids                  one table of rows for each of the two axes, the cotangent being summed over the other

All but the shift, which moves numbers, are sums of products: (n + 6) u of the sum of their magnitudes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import posref
from posref_conformance.gradient import Asked, Gradient, Values, of_products, sum_to


def transpose(x: Any) -> Any:
    """The last two axes swapped."""
    return np.asarray(x).swapaxes(-1, -2)


def asked_of_rows(g: Values, index: Any, rows: int) -> Values:
    """C, (..., q, rows): the cotangents of all pairs of a query that have the row."""
    pairs = np.asarray(index)[..., None] == np.arange(rows)  # (..., q, k, rows), none for -1
    return np.asarray((g[..., None, :] @ pairs.astype(np.float64))[..., 0, :])


def _bias(a: Asked) -> Values:
    x, table, index, g = a["x"], a["table"], a.given["index"], a.g
    if a.given["side"] == "key":
        index, g = transpose(index), transpose(g)
    asked = asked_of_rows(g, index, table.shape[-2])
    return sum_to(asked @ table if a.by == "x" else transpose(asked) @ x, a[a.by].shape)


def _values(a: Asked) -> Values:
    w, table, index = a["weights"], a["table"], a.given["index"]
    if a.by == "weights":
        return sum_to(posref.relative_bias(a.g, table, index), w.shape)
    return sum_to(transpose(asked_of_rows(w, index, table.shape[-2])) @ a.g, table.shape)


def _scores(a: Asked) -> Values:
    q, k, table, index, g = a["q"], a["k"], a["table"], a.given["index"], a.g
    seen, placed = (
        q if a.given[name] is None else q + a[name][..., None, :] for name in ("content_bias", "position_bias")
    )
    of_query = asked_of_rows(g, index, table.shape[-2])
    of_key = float(a.given["key_term"]) * asked_of_rows(transpose(g), transpose(index), table.shape[-2])
    found = {
        "q": g @ k + of_query @ table,
        "k": transpose(g) @ seen + of_key @ table,
        "table": transpose(of_query) @ placed + transpose(of_key) @ k,
        "content_bias": (g @ k).sum(axis=-2),
        "position_bias": (of_query @ table).sum(axis=-2),
    }
    return sum_to(found[a.by], a[a.by].shape)


def _disentangled(a: Asked) -> Values:
    q, k, g, r = a["q"], a["k"], a.g, np.asarray(a.given["relative"])
    of_pos_k, to_pos_k = _rows_of(a, "pos_k", g, r)
    paper = a.given["p2c"] == "paper"
    of_pos_q, to_pos_q = _rows_of(a, "pos_q", transpose(g), transpose(-r if paper else r))
    found = {"q": g @ k + of_pos_k, "k": transpose(g) @ q + of_pos_q}
    if a.by not in found:
        found = {"pos_k": to_pos_k(q), "pos_q": to_pos_q(k)}
    if a.given["p2p"]:
        span = a["pos_q"].shape[-2] // 2
        by_query = slice(span, span + q.shape[-2])
        if a.by == "pos_k":
            found["pos_k"] = found["pos_k"] + to_pos_k(a["pos_q"][..., by_query, :])
        if a.by == "pos_q":
            found["pos_q"][..., by_query, :] += of_pos_k
    return sum_to(found[a.by], a[a.by].shape)


def _rows_of(a: Asked, name: str, g: Values, r: Any) -> tuple[Any, Callable[[Values], Values]]:
    """What a table gives to the vectors that meet it, and what vectors give to it; nothing where there is no table."""
    if a.given[name] is None:
        return 0.0, lambda x: np.zeros(())
    rows = a[name].shape[-2]
    asked = asked_of_rows(g, np.clip(r + rows // 2, 0, rows - 1), rows)
    return asked @ a[name], lambda x: np.asarray(transpose(asked) @ x)


def _untied(a: Asked) -> Values:
    """Each argument meets its partner alone."""
    partner = {"q": "k", "k": "q", "pos_q": "pos_k", "pos_k": "pos_q"}[a.by]
    g = a.g if a.by in ("q", "pos_q") else transpose(a.g)
    return sum_to(g @ a[partner], a[a.by].shape)


def _decomposed(a: Asked) -> Values:
    q, q_size, k_size = a["q"], a.given["q_size"], a.given["k_size"]
    g = a.g.reshape(*a.g.shape[:-2], *q_size, *k_size)
    rows, columns = _row_numbers(a, "height_table")[:, :1, :, 0], _row_numbers(a, "width_table")[0, :, 0]
    of_height = asked_of_rows(g.sum(axis=-1), rows, len(a["height_table"]))  # (..., height, width, rows)
    of_width = asked_of_rows(g.sum(axis=-2), columns, len(a["width_table"]))
    asked = {"height_table": of_height, "width_table": of_width}
    if a.by == "q":
        both = sum(asked[name] @ a[name] for name in asked)
        return sum_to(np.asarray(both).reshape(*a.g.shape[:-1], q.shape[-1]), q.shape)
    flat = asked[a.by].reshape(*a.g.shape[:-1], -1)
    return sum_to(transpose(flat) @ q, a[a.by].shape)


def _row_numbers(a: Asked, name: str) -> Any:
    """(q_height, q_width, k_height, k_width): which row of a table a pair has, seen in a table of the rows' numbers."""
    tables: dict[str, Any] = {n: np.zeros((len(a[n]), 1)) for n in ("height_table", "width_table")}
    tables[name][:, 0] = np.arange(len(a[name]))
    options = {n: a.given[n] for n in ("q_size", "k_size", "rule")}
    found = posref.decomposed_bias(np.ones((math.prod(a.given["q_size"]), 1)), **tables, **options)
    return found.astype(int).reshape(*a.given["q_size"], *a.given["k_size"])


def _shift(a: Asked) -> Gradient:
    """Each number has at most one place: numbered from 1 they say where they went."""
    queries, columns = a["x"].shape[-2:]
    options = {name: value for name, value in a.given.items() if name != "x"}
    numbers = np.arange(1.0, queries * columns + 1).reshape(queries, columns)
    places = posref.relative_shift(numbers, **options).astype(int)
    flat = np.zeros((*a.g.shape[:-2], queries * columns + 1))
    flat[..., places] = a.g
    value = flat[..., 1:].reshape(a["x"].shape)  # number 0 is the padding
    return Gradient(value, lambda u: np.zeros(value.shape))


def _scale(a: Asked, default: float) -> float:
    return default if a.given["scale"] is None else float(a.given["scale"])


def _relative_scores(a: Asked) -> Gradient:
    return of_products(a, _scores, _scale(a, 1 / math.sqrt(a["q"].shape[-1])))


def _disentangled_scores(a: Asked) -> Gradient:
    terms = sum(a.given[name] is not None for name in ("pos_k", "pos_q")) + a.given["p2p"]
    return of_products(a, _disentangled, _scale(a, 1 / math.sqrt(a["q"].shape[-1] * (1 + terms))))


def _untied_scores(a: Asked) -> Gradient:
    return of_products(a, _untied, _scale(a, 1 / math.sqrt(2 * a["q"].shape[-1])))


ADJOINTS: dict[str, Callable[[Asked], Gradient]] = {
    "relative_bias": lambda a: of_products(a, _bias),
    "relative_values": lambda a: of_products(a, _values),
    "relative_shift": _shift,
    "relative_scores": _relative_scores,
    "disentangled_scores": _disentangled_scores,
    "untied_scores": _untied_scores,
    "decomposed_bias": lambda a: of_products(a, _decomposed),
}
