"""TUPE's scores, of content and of position apart. See posref for the formula."""

from __future__ import annotations

from posref._arguments import number
from posref._score_arguments import untied
from posref_array._support import Array, Namespace, namespace, require_floating, working_type


def untied_scores(
    q: Array,
    k: Array,
    *,
    pos_q: Array | None = None,
    pos_k: Array | None = None,
    scale: float | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Logits of untied attention, (..., q, k), of q's type, in float32 or wider: :func:`posref.untied_scores`."""
    xp = namespace(xp, q)
    positions = {name: array for name, array in (("pos_q", pos_q), ("pos_k", pos_k)) if array is not None}
    for name, array in (("q", q), ("k", k), *positions.items()):
        require_floating(name, array)
    untied(q.shape, k.shape, {name: array.shape for name, array in positions.items()})
    factor = (2 * q.shape[-1]) ** -0.5 if scale is None else number(scale, "scale")
    work = working_type(xp, q, k, *positions.values())
    queries, keys = (
        [xp.astype(x, work, copy=False) for x in side if x is not None] for side in ((q, pos_q), (k, pos_k))
    )
    terms = [x @ xp.matrix_transpose(y) for x, y in zip(queries, keys, strict=True)]
    return xp.astype(factor * (terms[0] + terms[1] if positions else terms[0]), q.dtype, copy=False)
