"""Distances that are not the difference of the positions, and scores at given ones. See posref for the formulas."""

from __future__ import annotations

from posref._arguments import boolean, choice, integer, number, require_queries_and_keys
from posref._score_arguments import scored
from posref_array._support import (
    Array,
    Namespace,
    device_of,
    lacks_float64,
    namespace,
    require_finite,
    require_floating,
    require_integers,
    require_real,
    widest_integer,
    working_type,
)
from posref_array._tables import cos_sin_of
from posref_array.rotary import LAYOUTS, _split


def rerope_distance(
    q_positions: Array, k_positions: Array, window: int, *, factor: float | None = None, xp: Namespace | None = None
) -> Array:
    """Q - k up to the window, then constant or slower, (..., q, k): :func:`posref.rerope_distance`."""
    xp = namespace(xp, q_positions)
    q, k = _outer(q_positions, k_positions, xp)
    w, d = integer(window, "window"), _float(q - k, xp)
    far = w + 0.0 * d if factor is None else w + (d - w) / number(factor, "factor", above=0)
    return xp.where(d < w, d, far)


def self_extend_distance(
    q_positions: Array,
    k_positions: Array,
    group_size: int,
    window: int,
    *,
    shift: str = "exact",
    xp: Namespace | None = None,
) -> Array:
    """Q - k up to the window, then by groups, (..., q, k): :func:`posref.self_extend_distance`."""
    xp = namespace(xp, q_positions)
    q, k = _outer(q_positions, k_positions, xp)
    group, w = integer(group_size, "group_size"), integer(window, "window")
    ahead = w - w // group if choice(shift, "shift", ("exact", "floor")) == "floor" else w - w / group
    d = _float(q - k, xp)
    return xp.where(d < w, d, _float(q // group - k // group, xp) + ahead)


def dual_chunk_distance(
    q_positions: Array,
    k_positions: Array,
    chunk_size: int,
    local_size: int,
    *,
    critical: bool = False,
    xp: Namespace | None = None,
) -> Array:
    """Distances within, between neighbouring and between far chunks, (..., q, k): :func:`posref.dual_chunk_distance`."""
    xp = namespace(xp, q_positions)
    q, k = _outer(q_positions, k_positions, xp)
    c, local = integer(chunk_size, "chunk_size"), integer(local_size, "local_size", least=0)
    if local >= c:
        raise ValueError(f"local_size must be < chunk_size {c}, got {local}")
    chunk, free = c - local, boolean(critical, "critical")
    in_q, in_k, back = q % chunk, k % chunk, q // chunk - k // chunk
    neighbour, far = in_q + chunk, in_q + c
    if not free:
        neighbour, far = xp.where(neighbour > c, c, neighbour), xp.full_like(in_q, min(2 * chunk - 1, c))
    return _float(xp.where(back < 1, q - k, xp.where(back == 1, neighbour, far) - in_k), xp)


def rope_scores(
    q: Array, k: Array, distances: Array, inv_freq: Array, *, layout: str = "half", xp: Namespace | None = None
) -> Array:
    """Scores at given distances, (..., q, k), of q's type, computed in float32 or wider: :func:`posref.rope_scores`."""
    xp = namespace(xp, q)
    for name, array in (("q", q), ("k", k), ("inv_freq", inv_freq)):
        require_floating(name, array)
    require_real("distances", distances)
    require_finite("distances", distances, xp)
    choice(layout, "layout", LAYOUTS)
    if inv_freq.ndim != 1:
        raise ValueError(f"inv_freq must be a vector, got shape {tuple(inv_freq.shape)}")
    shape, pairs = scored(q.shape, k.shape, distances.shape, inv_freq.shape)
    work = working_type(xp, q, k)
    wide_q, wide_k = (xp.astype(x, work, copy=False) for x in (q, k))
    distances = xp.reshape(distances, (1,) * max(0, 2 - distances.ndim) + tuple(distances.shape))
    cos, sin = cos_sin_of(distances, inv_freq, 1.0, work, xp)  # (..., q, k, pairs)
    (a, b), (c, e) = (_split(x[..., : 2 * pairs], layout) for x in (wide_q[..., :, None, :], wide_k[..., None, :, :]))
    turning = xp.sum((a * c + b * e) * cos + (a * e - b * c) * sin, axis=-1)
    rest = wide_q[..., 2 * pairs :] @ xp.matrix_transpose(wide_k[..., 2 * pairs :])
    return xp.astype(xp.broadcast_to(turning + rest, shape), q.dtype)


def _outer(q_positions: Array, k_positions: Array, xp: Namespace) -> tuple[Array, Array]:
    """Whole positions, queries against keys: (..., q, 1) and (..., 1, k)."""
    for name, p in (("q_positions", q_positions), ("k_positions", k_positions)):
        require_integers(name, p)
    require_queries_and_keys(q_positions.shape, k_positions.shape)
    q, k = (xp.astype(p, widest_integer(xp, device_of(p)), copy=False) for p in (q_positions, k_positions))
    return q[..., :, None], k[..., None, :]


def _float(whole: Array, xp: Namespace) -> Array:
    return xp.astype(whole, xp.float32 if lacks_float64(xp, device_of(whole)) else xp.float64)
