"""Weights for the other pair layout. See posref for the rule."""

from __future__ import annotations

from posref._arguments import choice, even, integer
from posref_array._support import Array, Namespace, device_of, namespace, require_real, widest_integer
from posref_array.rotary import LAYOUTS


def rope_permute_weight(
    weight: Array,
    num_heads: int,
    *,
    to: str = "half",
    rotary_dim: int | None = None,
    offset: int = 0,
    xp: Namespace | None = None,
) -> Array:
    """The rows in another order, like weight: :func:`posref.rope_permute_weight`."""
    xp = namespace(xp, weight)
    require_real("weight", weight)
    heads, start = integer(num_heads, "num_heads"), integer(offset, "offset", least=0)
    choice(to, "to", LAYOUTS)
    if not weight.ndim or not weight.shape[0] or weight.shape[0] % heads:
        got = tuple(weight.shape)
        raise ValueError(f"weight must have a multiple of num_heads = {heads} rows, got shape {got}")
    head_dim = weight.shape[0] // heads
    pairs = (
        even(head_dim - start, "rows from offset on") if rotary_dim is None else even(rotary_dim, "rotary_dim")
    ) // 2
    if start + 2 * pairs > head_dim:
        raise ValueError(
            f"rotary_dim must fit into the {head_dim} rows of a head from offset {start} on, got {2 * pairs}"
        )
    if to == "half":
        block = [*range(0, 2 * pairs, 2), *range(1, 2 * pairs, 2)]
    else:
        block = [row for pair in range(pairs) for row in (pair, pair + pairs)]
    order = [*range(start), *(start + row for row in block), *range(start + 2 * pairs, head_dim)]
    rows, device = [h * head_dim + row for h in range(heads) for row in order], device_of(weight)
    return xp.take(weight, xp.asarray(rows, dtype=widest_integer(xp, device), device=device), axis=0)
