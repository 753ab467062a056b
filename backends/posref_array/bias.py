"""Encodings that are added to the attention logits. See posref for the formulas."""

from __future__ import annotations

from typing import Any

from posref._arguments import LARGEST_POSITION, boolean, choice, integer
from posref_array._support import (
    Array,
    Namespace,
    default_float,
    device_of,
    lacks_float64,
    namespace,
    require_finite,
    require_floating,
    require_integers,
    require_real,
    type_name,
    widest_integer,
)


def alibi_slopes(num_heads: int, *, dtype: Any = None, device: Any = None, xp: Namespace) -> Array:
    """Slopes of ALiBi, (num_heads,): :func:`posref.alibi_slopes`."""
    heads = integer(num_heads, "num_heads")
    power = 1 << (heads.bit_length() - 1)
    slopes = [2.0 ** (-8.0 * h / power) for h in range(1, power + 1)]
    slopes += [2.0 ** (-4.0 * h / power) for h in range(1, 2 * (heads - power), 2)]
    return xp.asarray(slopes, dtype=dtype or default_float(xp), device=device)


def alibi_bias(
    slopes: Array, q_positions: Array, k_positions: Array, *, form: str = "distance", xp: Namespace | None = None
) -> Array:
    """Linear bias, (..., heads, q, k), of the slopes' type: :func:`posref.alibi_bias`."""
    xp = namespace(xp, slopes)
    require_floating("slopes", slopes)
    choice(form, "form", ("distance", "signed", "key"))
    if slopes.ndim != 1 or not slopes.shape[0]:
        raise ValueError(f"slopes must be a vector with at least one head, got shape {tuple(slopes.shape)}")
    wide = xp.float32 if lacks_float64(xp, device_of(slopes)) else xp.float64
    q, k = _exact("q_positions", q_positions, xp), _exact("k_positions", k_positions, xp)
    if q.dtype != k.dtype:  # integers of one, fractions of the other
        q, k = xp.astype(q, wide), xp.astype(k, wide)
    q, k = _outer(q, k)
    if form == "key":
        linear = k + xp.zeros_like(q)  # of the full shape
    else:
        linear = -abs(q - k) if form == "distance" else k - q
    return xp.astype(xp.astype(slopes, wide)[:, None, None] * xp.astype(linear, wide), slopes.dtype)


def t5_bucket(
    relative_position: Array,
    *,
    bidirectional: bool = True,
    num_buckets: int = 32,
    max_distance: int = 128,
    xp: Namespace | None = None,
) -> Array:
    """Bucket of ``k - q``, int64 (int32 where there is none): :func:`posref.t5_bucket`."""
    xp = namespace(xp, relative_position)
    require_integers("relative_position", relative_position)
    both = boolean(bidirectional, "bidirectional")
    bounds = _lower_bounds(
        integer(num_buckets, "num_buckets"), integer(max_distance, "max_distance", most=LARGEST_POSITION), both
    )
    whole = widest_integer(xp, device_of(relative_position))
    relative = xp.astype(relative_position, whole)
    distance = abs(relative) if both else xp.where(relative < 0, -relative, xp.zeros_like(relative))
    edges = xp.asarray(bounds[1:], dtype=whole, device=device_of(relative))
    bucket = xp.searchsorted(edges, xp.reshape(distance, (-1,)), side="right")
    bucket = xp.reshape(xp.astype(bucket, whole), relative.shape)
    return bucket + len(bounds) * xp.astype(relative > 0, whole) if both else bucket


def t5_bias(
    table: Array,
    q_positions: Array,
    k_positions: Array,
    *,
    bidirectional: bool = True,
    max_distance: int = 128,
    xp: Namespace | None = None,
) -> Array:
    """The table's rows for the buckets of ``k - q``, (..., heads, q, k): :func:`posref.t5_bias`."""
    xp = namespace(xp, table)
    require_floating("table", table)
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(f"table must be (num_buckets, heads) with at least one head, got shape {tuple(table.shape)}")
    for name, p in (("q_positions", q_positions), ("k_positions", k_positions)):
        require_integers(name, p)
    whole = widest_integer(xp, device_of(table))
    q, k = _outer(xp.astype(q_positions, whole), xp.astype(k_positions, whole))
    bucket = t5_bucket(
        k - q, bidirectional=bidirectional, num_buckets=table.shape[0], max_distance=max_distance, xp=xp
    )[..., 0, :, :]
    rows = xp.reshape(xp.take(table, xp.reshape(bucket, (-1,)), axis=0), (*bucket.shape, table.shape[1]))
    n = rows.ndim  # (..., q, k, heads) -> (..., heads, q, k), and torch's vmap knows no moveaxis
    return xp.permute_dims(rows, (*range(n - 3), n - 1, n - 3, n - 2))


def _exact(name: str, positions: Array, xp: Namespace) -> Array:
    """Positions in a type whose differences are right: signed, and as wide as there is."""
    require_real(name, positions)
    require_finite(name, positions, xp)
    if type_name(positions.dtype).startswith(("int", "uint")):
        return xp.astype(positions, widest_integer(xp, device_of(positions)), copy=False)
    return xp.astype(positions, xp.float32 if lacks_float64(xp, device_of(positions)) else xp.float64, copy=False)


def _outer(q: Array, k: Array) -> tuple[Array, Array]:
    """Queries against keys, with an axis for the heads: (..., 1, q, 1) and (..., 1, 1, k)."""
    for name, p in (("q_positions", q), ("k_positions", k)):
        if not p.ndim:
            raise ValueError(f"{name} must have a sequence axis, got a scalar")
    for n, m in zip(reversed(q.shape[:-1]), reversed(k.shape[:-1]), strict=False):
        if n != m and 1 not in (n, m):
            got = f"{tuple(q.shape)} and {tuple(k.shape)}"
            raise ValueError(f"q_positions and k_positions must have batch axes that broadcast, got {got}")
    return q[..., None, :, None], k[..., None, None, :]


def _lower_bounds(num_buckets: int, max_distance: int, both: bool) -> list[int]:
    """The smallest distance of each bucket: the float64 estimate, put right in integers."""
    buckets = num_buckets // 2 if both else num_buckets
    exact = buckets // 2
    if not exact:
        raise ValueError(f"num_buckets must be >= {4 if both else 2} with bidirectional={both}, got {num_buckets}")
    if max_distance <= exact:
        raise ValueError(
            f"max_distance must be > {exact}, the exact range of {num_buckets} buckets, got {max_distance}"
        )
    log_buckets = buckets - exact
    bounds = list(range(exact + 1))
    for j in range(1, log_buckets):
        n = int(exact * (max_distance / exact) ** (j / log_buckets))
        goal = max_distance**j * exact ** (log_buckets - j)
        while n**log_buckets >= goal:
            n -= 1
        while n**log_buckets < goal:
            n += 1
        bounds.append(n)
    return bounds
