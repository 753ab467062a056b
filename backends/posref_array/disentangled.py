"""Disentangled attention and its buckets. See posref for the formulas."""

from __future__ import annotations

import math

from posref._arguments import boolean, choice, integer, number
from posref._score_arguments import disentangled, scores_shape
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
from posref_array.relative import pair_products


def deberta_bucket(
    relative_position: Array,
    *,
    num_buckets: int = 256,
    max_distance: int = 512,
    beyond: str = "clamp",
    xp: Namespace | None = None,
) -> Array:
    """Signed logarithmic bucket of ``q - k``, int64 (int32 where there is none): :func:`posref.deberta_bucket`."""
    xp = namespace(xp, relative_position)
    require_integers("relative_position", relative_position)
    middle, furthest = integer(num_buckets, "num_buckets", least=2) // 2, integer(max_distance, "max_distance") - 1
    if furthest <= middle:
        raise ValueError(
            f"max_distance must be > {middle + 1}, the exact range of {num_buckets} buckets, got {max_distance}"
        )
    device = device_of(relative_position)
    r = xp.astype(relative_position, widest_integer(xp, device))
    distance = abs(r)
    clamped = choice(beyond, "beyond", ("clamp", "grow")) == "clamp"
    most = furthest if clamped else 2**31 - 1 if r.dtype == xp.int32 else 2**53
    if not clamped and values_are_at_hand(xp):
        most = int(xp.max(distance)) if distance.shape and 0 not in distance.shape else 0
    if clamped:
        distance = xp.where(distance > furthest, furthest, distance)
    ends = xp.asarray(_last_of_each(middle, furthest, most), dtype=r.dtype, device=device)
    steps = xp.reshape(xp.astype(xp.searchsorted(ends, xp.reshape(distance, (-1,))), r.dtype), r.shape)
    bucket = xp.where(distance <= middle, distance, middle + steps)
    return xp.where(r < 0, -bucket, bucket)


def _last_of_each(middle: int, furthest: int, most: int) -> list[int]:
    """The largest distance of bucket middle + j, for j = 0, 1, ... up to the distance ``most``."""
    if middle == 1:  # all that is further away shares one bucket
        return [most]
    ends, power = [middle], middle - 1
    while ends[-1] < most:
        j = len(ends)
        n = int(middle * math.exp(j / power * math.log(furthest / middle)))
        goal = furthest**j * middle**power  # n ** power * middle ** j <= goal, in integers
        while n**power * middle**j > goal:
            n -= 1
        while (n + 1) ** power * middle**j <= goal:
            n += 1
        ends.append(min(n, most))
    return ends


def disentangled_scores(
    q: Array,
    k: Array,
    relative: Array,
    *,
    pos_k: Array | None = None,
    pos_q: Array | None = None,
    p2c: str = "code",
    p2p: bool = False,
    scale: float | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Logits of disentangled attention, (..., q, k), of q's type, in float32 or wider: :func:`posref.disentangled_scores`."""
    xp = namespace(xp, q)
    tables = {name: table for name, table in (("pos_k", pos_k), ("pos_q", pos_q)) if table is not None}
    for name, array in (("q", q), ("k", k), *tables.items()):
        require_floating(name, array)
    require_integers("relative", relative)
    scores_shape(q.shape, k.shape)
    both, paper = boolean(p2p, "p2p"), choice(p2c, "p2c", ("code", "paper")) == "paper"
    disentangled(q.shape, k.shape, relative.shape, {name: table.shape for name, table in tables.items()}, both)
    factor = (q.shape[-1] * (1 + len(tables) + both)) ** -0.5 if scale is None else number(scale, "scale")
    work = working_type(xp, q, k, *tables.values())
    wide_q, wide_k = (xp.astype(x, work, copy=False) for x in (q, k))
    rows = {
        name: xp.astype(table, work, copy=False) for name, table in tables.items()
    }  # once: so are gradients rounded
    scores = wide_q @ xp.matrix_transpose(wide_k)
    if pos_k is not None:
        scores = scores + pair_products(wide_q, rows["pos_k"], _rows(relative, pos_k, xp), "query", work, xp)
    if pos_q is not None:
        index = _rows(-relative if paper else relative, pos_q, xp)
        scores = scores + pair_products(wide_k, rows["pos_q"], index, "key", work, xp)
    if both:
        span = rows["pos_q"].shape[-2] // 2
        first = rows["pos_q"][..., span : span + q.shape[-2], :]
        scores = scores + pair_products(first, rows["pos_k"], _rows(relative, rows["pos_k"], xp), "query", work, xp)
    return xp.astype(factor * scores, q.dtype, copy=False)


def _rows(relative: Array, table: Array, xp: Namespace) -> Array:
    """Counted from the middle of the table, and no further than its ends."""
    span = table.shape[-2] // 2
    row = xp.where(relative < -span, 0, relative + span)
    return xp.where(row > 2 * span - 1, 2 * span - 1, row)
