"""Positions that depend on what lies between query and key: forget gates, counts, reflections. See posref."""

from __future__ import annotations

from posref._arguments import boolean, choice, integer, number
from posref._score_arguments import contextual, transported
from posref_array._support import (
    Array,
    Namespace,
    device_of,
    namespace,
    require_finite,
    require_floating,
    type_name,
    widest_integer,
    working_type,
)
from posref_array.relative import along_last


def forget_bias(
    log_forget: Array,
    *,
    backward: Array | None = None,
    num_queries: int | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Sums of the gates in between, (..., q, n), of their type, in float32 or wider: :func:`posref.forget_bias`."""
    xp = namespace(xp, log_forget)
    past = _sums_between("log_forget", log_forget, num_queries, xp)
    if backward is not None:
        if tuple(backward.shape) != tuple(log_forget.shape):
            shapes = f"{tuple(log_forget.shape)}, got {tuple(backward.shape)}"
            raise ValueError(f"backward must be of the shape of log_forget, {shapes}")
        ahead = _sums_between("backward", backward, num_queries, xp)
        tokens = xp.arange(past.shape[-1], device=device_of(log_forget))
        past = xp.where(tokens > tokens[past.shape[-1] - past.shape[-2] :, None], -ahead, past)
    return xp.astype(past, log_forget.dtype, copy=False)


def _sums_between(name: str, gates: Array, num_queries: int | None, xp: Namespace) -> Array:
    """Differences of prefix sums in the working type: each query's less each token's."""
    require_floating(name, gates)
    require_finite(name, gates, xp)
    if not gates.ndim:
        raise ValueError(f"{name} must have an axis of tokens, got a scalar")
    n = gates.shape[-1]
    queries = n if num_queries is None else integer(num_queries, "num_queries", least=0)
    if queries > n:
        raise ValueError(f"num_queries must be at most {n}, the number of tokens, got {queries}")
    sums = _prefix_sums(xp.astype(gates, working_type(xp, gates), copy=False), xp)
    return sums[..., n - queries :, None] - sums[..., None, :]


def _prefix_sums(array: Array, xp: Namespace) -> Array:
    """Sums along the last axis. array_api_compat's own asks for the namespace, which a compiler cannot trace."""
    return xp.cumsum(array, axis=-1) if hasattr(xp, "cumsum") else xp.cumulative_sum(array, axis=-1)


def cope_scores(
    q: Array,
    k: Array,
    table: Array,
    *,
    mask: Array | None = None,
    scale: float | None = None,
    scale_positions: bool = True,
    xp: Namespace | None = None,
) -> Array:
    """Logits with contextual positions, (..., q, k), of q's type, in float32 or wider: :func:`posref.cope_scores`."""
    xp = namespace(xp, q)
    for name, array in (("q", q), ("k", k), ("table", table)):
        require_floating(name, array)
    shape = contextual(q.shape, k.shape, table.shape, None if mask is None else mask.shape)
    factor = q.shape[-1] ** -0.5 if scale is None else number(scale, "scale")
    together, work = boolean(scale_positions, "scale_positions"), working_type(xp, q, k, table)
    wide_q, wide_k, rows = (xp.astype(x, work, copy=False) for x in (q, k, table))
    content = factor * (wide_q @ xp.matrix_transpose(wide_k))
    gates = 1 / (1 + xp.exp(-content))
    if mask is not None:
        if type_name(mask.dtype) != "bool":
            raise TypeError(f"mask must be boolean, True where a query may look, got type {mask.dtype}")
        gates = xp.where(mask, gates, 0.0)
    counted = xp.flip(_prefix_sums(xp.flip(gates, axis=-1), xp), axis=-1)
    last = table.shape[0] - 1
    position = xp.broadcast_to(xp.where(counted > last, last, counted), shape)
    below = xp.astype(xp.floor(position), widest_integer(xp, device_of(q)))
    above = xp.where(below < last, below + 1, below)
    of_rows = wide_q @ xp.matrix_transpose(rows)
    of_rows = xp.broadcast_to(of_rows, (*shape[:-1], last + 1))
    start, end = along_last(of_rows, below, xp), along_last(of_rows, above, xp)
    placed = start + (position - xp.floor(position)) * (end - start)
    return xp.astype(content + (factor * placed if together else placed), q.dtype, copy=False)


def path_scores(
    q: Array,
    k: Array,
    w: Array,
    beta: Array,
    *,
    log_forget: Array | None = None,
    gate: str = "plain",
    scale: float | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Logits with transported keys, (..., n, n), of q's type, in float32 or wider: :func:`posref.path_scores`."""
    xp = namespace(xp, q)
    for name, array in (("q", q), ("k", k), ("w", w), ("beta", beta)):
        require_floating(name, array)
    logs = None if log_forget is None else _sums_between("log_forget", log_forget, None, xp)
    shape = transported(q.shape, k.shape, w.shape, beta.shape, None if logs is None else logs.shape[:-1])
    before = choice(gate, "gate", ("plain", "scaled")) == "scaled"
    factor = shape[-1] ** -0.5 if scale is None else number(scale, "scale")
    work = working_type(xp, q, k, w, beta)
    queries, keys, directions = (xp.broadcast_to(xp.astype(x, work, copy=False), shape) for x in (q, k, w))
    strength = xp.broadcast_to(xp.astype(beta, work, copy=False), shape[:-1])
    rows, carried = [], keys[..., :0, :]
    for i in range(shape[-2]):  # keys up to i, each transported by token i, before query i meets them
        step = directions[..., i : i + 1, :]
        across = strength[..., i : i + 1, None] * xp.sum(carried * step, axis=-1, keepdims=True)
        carried = xp.concat([carried - across * step, keys[..., i : i + 1, :]], axis=-2)
        row = xp.sum(queries[..., i : i + 1, :] * carried, axis=-1)
        later = xp.zeros((*shape[:-2], shape[-2] - i - 1), dtype=work, device=device_of(q))
        rows.append(xp.concat([row, later], axis=-1))
    if not rows:
        return xp.zeros((*shape[:-1], 0), dtype=q.dtype, device=device_of(q))
    scores = factor * xp.stack(rows, axis=-2)
    if logs is not None:
        tokens = xp.arange(shape[-2], device=device_of(q))
        added = xp.astype(logs, work, copy=False) * (factor if before else 1.0)
        scores = xp.where(tokens > tokens[:, None], 0.0, scores + added)
    return xp.astype(scores, q.dtype, copy=False)
