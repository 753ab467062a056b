"""Encodings that are added to the attention logits. See posref for the formulas."""

from __future__ import annotations

from typing import Any

from posref._arguments import LARGEST_POSITION, boolean, choice, integer, number
from posref._bias_arguments import ALIBI_FORMS, ALIGNMENTS, SLOPE_RULES, head_range
from posref_array._buckets import lower_bounds
from posref_array._pairs import exact_positions, heads_first, outer, per_head, rows_first
from posref_array._support import (
    Array,
    Namespace,
    default_float,
    device_of,
    namespace,
    require_floating,
    require_integers,
    type_name,
    widest_integer,
    working_type,
)


def alibi_slopes(
    num_heads: int,
    *,
    bias_max: float = 8.0,
    rule: str = "released",
    scale: float = 1.0,
    heads: tuple[int, int] | None = None,
    dtype: Any = None,
    device: Any = None,
    xp: Namespace,
) -> Array:
    """Slopes of ALiBi, (num_heads,): :func:`posref.alibi_slopes`."""
    count, most = integer(num_heads, "num_heads"), number(bias_max, "bias_max", above=0)
    first, end = head_range(heads, count)
    power = 1 << (count.bit_length() - 1)
    if choice(rule, "rule", SLOPE_RULES) == "geometric":
        slopes = [2.0 ** (-most * h / count) for h in range(1, count + 1)]
    else:
        slopes = [2.0 ** (-most * h / power) for h in range(1, power + 1)]
        slopes += [2.0 ** (-most * h / (2 * power)) for h in range(1, 2 * (count - power), 2)]
    times = number(scale, "scale")
    return xp.asarray([times * m for m in slopes[first:end]], dtype=dtype or default_float(xp), device=device)


def alibi_bias(
    slopes: Array,
    q_positions: Array,
    k_positions: Array,
    *,
    form: str = "distance",
    future_slopes: Array | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Linear bias, (..., heads, q, k), of the slopes' type: :func:`posref.alibi_bias`."""
    xp = namespace(xp, slopes)
    choice(form, "form", ALIBI_FORMS)
    m = per_head("slopes", slopes, xp)
    later = m if future_slopes is None else per_head("future_slopes", future_slopes, xp)
    if later.shape != m.shape:
        raise ValueError(f"future_slopes must be of the shape of slopes, {tuple(m.shape)}, got {tuple(later.shape)}")
    if future_slopes is not None and form != "distance":
        raise ValueError(f"future_slopes must be None for the form {form!r}, got {later.shape[0]} slopes")
    q, k = exact_positions("q_positions", q_positions, xp), exact_positions("k_positions", k_positions, xp)
    if q.dtype != k.dtype:  # integers of one, fractions of the other
        q, k = xp.astype(q, m.dtype), xp.astype(k, m.dtype)
    q, k = outer(q, k)
    linear = xp.astype(_linear(q, k, form, xp), m.dtype, copy=False)
    if form == "sqrt":  # twice where: the root's slope at 0 must not reach a gradient
        linear = xp.where(linear < 0, -xp.sqrt(xp.where(linear < 0, -linear, 1.0)), 0.0)
    m = m[:, None, None]
    if future_slopes is not None:
        m = xp.where(q < k, later[:, None, None], m)
    return xp.astype(m * linear, slopes.dtype)


def _linear(q: Array, k: Array, form: str, xp: Namespace) -> Array:
    """What the slopes multiply, of the full shape."""
    if form == "distance":
        return -abs(q - k)
    if form in ("past", "sqrt"):
        return xp.where(q > k, k - q, xp.zeros_like(q - k))
    last, first = k[..., max(0, k.shape[-1] - 1) :], q[..., : min(1, q.shape[-2]), :]  # of no key and no query: none
    zero = {"signed": q, "key": xp.zeros_like(q), "key_last": last, "key_first": first}[form]
    return k - zero + xp.zeros_like(q)


def query_positions(
    num_queries: int, num_keys: int, *, align: str = "bottom_right", device: Any = None, xp: Namespace
) -> Array:
    """Positions of the queries, (num_queries,): :func:`posref.query_positions`."""
    q, k = integer(num_queries, "num_queries", least=0), integer(num_keys, "num_keys", least=0)
    first = k - q if choice(align, "align", ALIGNMENTS) == "bottom_right" else 0
    return xp.arange(first, first + q, dtype=widest_integer(xp, device), device=device)


def t5_bucket(
    relative_position: Array,
    *,
    bidirectional: bool = True,
    num_buckets: int = 32,
    max_distance: int = 128,
    rule: str = "exact",
    xp: Namespace | None = None,
) -> Array:
    """Bucket of ``k - q``, int64 (int32 where there is none): :func:`posref.t5_bucket`."""
    xp = namespace(xp, relative_position)
    require_integers("relative_position", relative_position)
    both = boolean(bidirectional, "bidirectional")
    farthest = integer(max_distance, "max_distance", most=LARGEST_POSITION)
    bounds = lower_bounds(integer(num_buckets, "num_buckets"), farthest, both, rule)
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
    rule: str = "exact",
    layout: str = "rows_first",
    scale: float = 1.0,
    xp: Namespace | None = None,
) -> Array:
    """The table's row for the bucket of ``k - q``, (..., heads, q, k), of the table's type: :func:`posref.t5_bias`."""
    xp = namespace(xp, table)
    require_floating("table", table)
    rows = rows_first(table, layout, "num_buckets", xp)
    times = number(scale, "scale")
    for name, p in (("q_positions", q_positions), ("k_positions", k_positions)):
        require_integers(name, p)
    whole = widest_integer(xp, device_of(table))
    q, k = outer(xp.astype(q_positions, whole), xp.astype(k_positions, whole))
    bucket = t5_bucket(
        k - q, bidirectional=bidirectional, num_buckets=rows.shape[0], max_distance=max_distance, rule=rule, xp=xp
    )[..., 0, :, :]
    bias = heads_first(xp.take(rows, xp.reshape(bucket, (-1,)), axis=0), bucket.shape, xp)
    return bias if times == 1.0 else xp.astype(times * xp.astype(bias, working_type(xp, bias)), bias.dtype)


def long_t5_blocks(mask: Array, block_size: int, *, xp: Namespace | None = None) -> Array:
    """The block of each token, mask.shape: :func:`posref.long_t5_blocks`."""
    xp = namespace(xp, mask)
    size = integer(block_size, "block_size")
    if not hasattr(mask, "dtype") or type_name(mask.dtype) != "bool":
        raise TypeError(
            f"mask must be boolean, False where there is padding, got type {getattr(mask, 'dtype', type(mask).__name__)}"
        )
    if not mask.ndim:
        raise ValueError("mask must have an axis of tokens, got a scalar")
    whole = widest_integer(xp, device_of(mask))
    token = xp.arange(mask.shape[-1], dtype=whole, device=device_of(mask))
    whole_blocks = xp.sum(xp.astype(mask & ((token + 1) % size == 0), whole), axis=-1, keepdims=True)
    block = xp.where(token // size < whole_blocks, token // size, whole_blocks - 1)
    return xp.where(mask, block, -xp.ones_like(block))
