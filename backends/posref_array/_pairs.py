"""Queries against keys, and heads: what biases are made of."""

from __future__ import annotations

from posref._arguments import choice, require_queries_and_keys
from posref._bias_arguments import TABLE_LAYOUTS
from posref_array._support import (
    Array,
    Namespace,
    device_of,
    lacks_float64,
    require_finite,
    require_floating,
    require_real,
    type_name,
    widest_integer,
)


def exact_positions(name: str, positions: Array, xp: Namespace) -> Array:
    """Positions in a type whose differences are right: signed, and as wide as there is."""
    require_real(name, positions)
    require_finite(name, positions, xp)
    if type_name(positions.dtype).startswith(("int", "uint")):
        return xp.astype(positions, widest_integer(xp, device_of(positions)), copy=False)
    return xp.astype(positions, xp.float32 if lacks_float64(xp, device_of(positions)) else xp.float64, copy=False)


def outer(q: Array, k: Array) -> tuple[Array, Array]:
    """Queries against keys, with an axis for the heads: (..., 1, q, 1) and (..., 1, 1, k)."""
    require_queries_and_keys(q.shape, k.shape)
    return q[..., None, :, None], k[..., None, None, :]


def per_head(name: str, values: Array, xp: Namespace) -> Array:
    """Slopes in the widest floating type of their device."""
    require_floating(name, values)
    if values.ndim != 1 or not values.shape[0]:
        raise ValueError(f"{name} must be a vector with at least one head, got shape {tuple(values.shape)}")
    return xp.astype(values, xp.float32 if lacks_float64(xp, device_of(values)) else xp.float64)


def rows_first(table: Array, layout: str, rows: str, xp: Namespace) -> Array:
    """A table of (rows, heads), from either layout."""
    wanted = f"({rows}, heads)" if choice(layout, "layout", TABLE_LAYOUTS) == "rows_first" else f"(heads, {rows})"
    if table.ndim != 2 or not table.shape[layout == "rows_first"]:
        raise ValueError(f"table must be {wanted} with at least one head, got shape {tuple(table.shape)}")
    return table if layout == "rows_first" else xp.permute_dims(table, (1, 0))


def heads_first(rows: Array, pairs: tuple[int, ...], xp: Namespace) -> Array:
    """Rows of heads for (..., q, k) pairs as (..., heads, q, k)."""
    rows = xp.reshape(rows, (*pairs, rows.shape[-1]))
    n = rows.ndim  # torch's vmap knows no moveaxis
    return xp.permute_dims(rows, (*range(n - 3), n - 1, n - 3, n - 2))
