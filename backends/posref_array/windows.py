"""Biases out of tables for windows. See posref for the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posref._bias_arguments import window_arguments
from posref_array._pairs import heads_first, rows_first
from posref_array._support import (
    Array,
    Namespace,
    device_of,
    namespace,
    require_floating,
    require_integers,
    values_are_at_hand,
    widest_integer,
)


def relative_position_index(
    sizes: Sequence[int],
    *,
    offset: str = "query_minus_key",
    stride: int = 1,
    reach: Sequence[int] | None = None,
    class_token: bool = False,
    device: Any = None,
    xp: Namespace,
) -> Array:
    """Rows of a relative-position table, (queries, keys): :func:`posref.relative_position_index`."""
    cells, largest, step = window_arguments(sizes, offset, stride, reach, class_token)
    whole, rows = widest_integer(xp, device), 1
    index = xp.zeros((1, 1), dtype=whole, device=device)
    beyond = index < 0
    for n, r in zip(cells, largest, strict=True):  # one more axis: (Q, K) and (q, k) make (Q q, K k)
        q, k = xp.arange(0, n, step, dtype=whole, device=device), xp.arange(n, dtype=whole, device=device)
        d = k[None, :] - q[:, None] if offset == "key_minus_query" else q[:, None] - k[None, :]
        width, column = (r + 1, abs(d)) if offset == "absolute" else (2 * r + 1, d + r)
        shape = (index.shape[0] * q.shape[0], index.shape[1] * n)
        index = xp.reshape(index[:, None, :, None] * width + column[None, :, None, :], shape)
        beyond = xp.reshape(beyond[:, None, :, None] | (abs(d) > r)[None, :, None, :], shape)
        rows *= width
    index = xp.where(beyond, -xp.ones_like(index), index)
    return _with_class_token(index, rows, xp) if class_token else index


def _with_class_token(index: Array, rows: int, xp: Namespace) -> Array:
    left = xp.full((index.shape[0], 1), rows + 1, dtype=index.dtype, device=device_of(index))
    top = xp.full((1, index.shape[1]), rows, dtype=index.dtype, device=device_of(index))
    corner = xp.full((1, 1), rows + 2, dtype=index.dtype, device=device_of(index))
    return xp.concat([xp.concat([corner, top], axis=1), xp.concat([left, index], axis=1)], axis=0)


def indexed_bias(table: Array, index: Array, *, layout: str = "rows_first", xp: Namespace | None = None) -> Array:
    """The table's row for each pair, (..., heads, q, k), of the table's type: :func:`posref.indexed_bias`."""
    xp = namespace(xp, table)
    require_floating("table", table)
    require_integers("index", index)
    rows = rows_first(table, layout, "rows", xp)
    if index.ndim < 2:
        raise ValueError(f"index must be (..., q, k), got shape {tuple(index.shape)}")
    if values_are_at_hand(xp) and bool(xp.any((index < -1) | (index >= rows.shape[0]))):
        raise IndexError(f"index must be in -1 .. {rows.shape[0] - 1} for a table of {rows.shape[0]} rows")
    none = xp.zeros((1, rows.shape[1]), dtype=rows.dtype, device=device_of(rows))
    which = xp.astype(index, widest_integer(xp, device_of(table)), copy=False)
    which = xp.where(which < 0, rows.shape[0] - 1 - which, which)  # take would count from the end
    return heads_first(xp.take(xp.concat([rows, none]), xp.reshape(which, (-1,)), axis=0), tuple(index.shape), xp)
