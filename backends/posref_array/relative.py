"""Relative attention: rows of a table per query and key, and the shift that spares the look-up. See posref."""

from __future__ import annotations

import math
from typing import Any

from posref._arguments import boolean, broadcasts, choice, integer, number
from posref._score_arguments import gathered, scores_shape
from posref_array._support import (
    Array,
    Namespace,
    device_of,
    namespace,
    require_floating,
    require_integers,
    values_are_at_hand,
    widest_integer,
    working_type,
)


def relative_index(
    relative_position: Array, left: int, right: int, *, outside: str = "clip", xp: Namespace | None = None
) -> Array:
    """Clipped relative positions counted from -left, int64 (int32 where there is none): :func:`posref.relative_index`."""
    xp = namespace(xp, relative_position)
    require_integers("relative_position", relative_position)
    most_left, most_right = integer(left, "left", least=0), integer(right, "right", least=0)
    row = xp.astype(relative_position, widest_integer(xp, device_of(relative_position))) + most_left
    last = most_left + most_right
    if choice(outside, "outside", ("clip", "none")) == "none":
        return xp.where((row < 0) | (row > last), -1, row)
    return xp.where(row < 0, 0, xp.where(row > last, last, row))


def relative_shift(
    x: Array,
    num_keys: int,
    *,
    rule: str = "transformer-xl",
    outside: str = "next-row",
    stride: int = 1,
    xp: Namespace | None = None,
) -> Array:
    """Scores per distance as scores per key, (..., q, num_keys), by padding and reshaping: :func:`posref.relative_shift`."""
    xp = namespace(xp, x)
    require_floating("x", x)
    keys = integer(num_keys, "num_keys", least=0)
    choice(rule, "rule", ("transformer-xl", "xlnet", "gemma-3n"))
    choice(outside, "outside", ("next-row", "zero"))
    if x.ndim < 2:
        raise ValueError(f"x must be (..., q, columns), got shape {tuple(x.shape)}")
    q, columns = x.shape[-2:]
    step = integer(stride, "stride")
    if step > 1 and rule != "xlnet":
        raise ValueError(f"stride must be 1 for the rule {rule!r}, got {step}")
    most = max(0, columns - step * (rule == "xlnet"))
    if rule != "gemma-3n" and keys > most:
        raise ValueError(f"num_keys must be at most {most} for x with {columns} columns, got {keys}")
    if rule == "gemma-3n":  # zeros behind: rows grow by one column more than they keep
        width = max(keys, q + columns) + 1
        x = xp.concat([x, _zeros(x, width - columns, xp)], axis=-1)
        kept = xp.reshape(x, (*x.shape[:-2], q * width))[..., : q * (width - 1)]
    else:  # rows lose as many columns as they are to move, times as many entries as there are rows
        x = xp.concat([_zeros(x, int(rule == "transformer-xl"), xp), x], axis=-1)
        width = x.shape[-1] - min(step, x.shape[-1]) + 1
        kept = xp.reshape(x, (*x.shape[:-2], q * x.shape[-1]))[..., q * min(step, x.shape[-1]) :]
    moved = xp.reshape(kept, (*x.shape[:-2], q, width - 1))[..., :keys]
    if outside == "zero" and rule != "gemma-3n":
        i, j = (xp.arange(n, device=device_of(x)) for n in (q, keys))
        column = j - step * i[:, None] + (step * q if rule == "xlnet" else q - 1)
        return xp.where(column < columns, moved, xp.zeros_like(moved))
    return moved


def relative_bias(x: Array, table: Array, index: Array, *, side: str = "query", xp: Namespace | None = None) -> Array:
    """Products with a table row per pair, (..., q, k), of x's type, in float32 or wider: :func:`posref.relative_bias`."""
    xp = namespace(xp, x)
    for name, array in (("x", x), ("table", table)):
        require_floating(name, array)
    return xp.astype(pair_products(x, table, index, side, working_type(xp, x, table), xp), x.dtype, copy=False)


def relative_values(weights: Array, table: Array, index: Array, *, xp: Namespace | None = None) -> Array:
    """Weighted table rows, (..., q, e), of the weights' type, in float32 or wider: :func:`posref.relative_values`."""
    xp = namespace(xp, weights)
    for name, array in (("weights", weights), ("table", table)):
        require_floating(name, array)
    require_integers("index", index)
    shape = gathered("weights", weights.shape, table.shape, index.shape, side="both")
    work, (count, width) = working_type(xp, weights, table), table.shape[-2:]
    index, absent = _rows(index, count, shape, xp)
    rows = xp.broadcast_to(xp.astype(table, work, copy=False), (*shape[:-2], count, width))
    heads = math.prod(shape[:-2])
    first = xp.reshape(xp.arange(heads, dtype=index.dtype, device=device_of(index)) * count, (*shape[:-2], 1, 1))
    taken = xp.take(xp.reshape(rows, (heads * count, width)), xp.reshape(index + first, (-1,)), axis=0)
    w = xp.where(absent, 0.0, xp.astype(weights, work, copy=False))
    return xp.astype(xp.sum(w[..., None] * xp.reshape(taken, (*shape, width)), axis=-2), weights.dtype, copy=False)


def relative_scores(
    q: Array,
    k: Array,
    table: Array,
    index: Array,
    *,
    content_bias: Array | None = None,
    position_bias: Array | None = None,
    key_term: bool = False,
    scale: float | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Logits of relative attention, (..., q, k), of q's type, in float32 or wider: :func:`posref.relative_scores`."""
    xp = namespace(xp, q)
    given = (("q", q), ("k", k), ("table", table), ("content_bias", content_bias), ("position_bias", position_bias))
    for name, array in given:
        if array is not None:
            require_floating(name, array)
    of_content = scores_shape(q.shape, k.shape)
    work, factor = working_type(xp, q, k, table), q.shape[-1] ** -0.5 if scale is None else number(scale, "scale")
    wide_q, wide_k, rows = (xp.astype(x, work, copy=False) for x in (q, k, table))  # once: its gradient is rounded once
    content, placed = (
        wide_q if bias is None else wide_q + xp.astype(_per_head(bias, name, q), work, copy=False)
        for name, bias in given[3:]
    )
    positions = pair_products(placed, rows, index, "query", work, xp)
    if boolean(key_term, "key_term"):
        positions = positions + pair_products(wide_k, rows, index, "key", work, xp)
    if of_content[-2:] != tuple(positions.shape[-2:]):
        raise ValueError(f"index must end in {of_content[-2:]}, queries and keys, got shape {tuple(index.shape)}")
    return xp.astype(factor * (content @ xp.matrix_transpose(wide_k) + positions), q.dtype, copy=False)


def _zeros(x: Array, columns: int, xp: Namespace) -> Array:
    return xp.zeros((*x.shape[:-1], columns), dtype=x.dtype, device=device_of(x))


def pair_products(x: Array, table: Array, index: Array, side: str, work: Any, xp: Namespace) -> Array:
    """Products of queries or keys with the table row of each pair, (..., q, k), in the type ``work``."""
    of_query = choice(side, "side", ("query", "key")) == "query"
    require_integers("index", index)
    shape = gathered("x", x.shape, table.shape, index.shape, side=side)
    products = xp.astype(x, work, copy=False) @ xp.matrix_transpose(xp.astype(table, work, copy=False))
    products = xp.broadcast_to(products, (*shape[:-2], *products.shape[-2:]))
    index, absent = _rows(index, table.shape[-2], shape, xp)
    picked = along_last(products, index if of_query else xp.matrix_transpose(index), xp)
    return xp.where(absent, 0.0, picked if of_query else xp.matrix_transpose(picked))


def _rows(index: Array, count: int, shape: tuple[int, ...], xp: Namespace) -> tuple[Array, Array]:
    """The index in full, with row 0 where there is none, and where that is."""
    if values_are_at_hand(xp) and bool(xp.any((index < -1) | (index >= count))):
        raise IndexError(f"index must be in 0 .. {count - 1} for {count} rows, or -1, got another")
    index = xp.broadcast_to(xp.astype(index, widest_integer(xp, device_of(index)), copy=False), shape)
    return xp.where(index < 0, 0, index), index < 0


def along_last(values: Array, index: Array, xp: Namespace) -> Array:
    """Row by row, entries of the last axis."""
    count = values.shape[-1]
    first = xp.arange(math.prod(index.shape[:-1]), dtype=index.dtype, device=device_of(index)) * count
    place = index + xp.reshape(first, (*index.shape[:-1], 1))
    return xp.reshape(xp.take(xp.reshape(values, (-1,)), xp.reshape(place, (-1,)), axis=0), index.shape)


def _per_head(bias: Array, name: str, q: Array) -> Array:
    heads = (*q.shape[:-2], q.shape[-1])
    if not bias.ndim or not broadcasts(bias.shape, heads):
        wanted = f"must broadcast against {heads}, q without its sequence axis"
        raise ValueError(f"{name} of shape {tuple(bias.shape)} {wanted}")
    return bias[..., None, :]
