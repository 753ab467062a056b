"""PermuteFormer's rows. See posref for the formula."""

from __future__ import annotations

from posref._score_arguments import permuted_shape
from posref_array._support import (
    Array,
    Namespace,
    device_of,
    namespace,
    require_integers,
    values_are_at_hand,
    widest_integer,
)


def permuted_channels(permutation: Array, positions: Array, *, xp: Namespace | None = None) -> Array:
    """The permutation to the power of each position, int64 (int32 where there is none): :func:`posref.permuted_channels`.

    By squares: the powers 1, 2, 4, ... of the permutation and of its inverse are looked up where a position has their bit.
    """
    xp = namespace(xp, permutation)
    require_integers("permutation", permutation)
    require_integers("positions", positions)
    d, device = permuted_shape(permutation.shape), device_of(permutation)
    kind = widest_integer(xp, device)
    rows = xp.reshape(xp.astype(permutation, kind), (-1, d))
    heads, channels = rows.shape[0], xp.arange(d, dtype=kind, device=device)
    if values_are_at_hand(xp) and not bool(xp.all(xp.sort(rows, axis=-1) == channels)):
        raise ValueError(f"permutation must hold each of 0 .. {d - 1} once in a row, got another row")
    powers = xp.concat([rows, xp.astype(xp.argsort(rows, axis=-1), kind)])
    first = d * xp.arange(2 * heads, dtype=kind, device=device)[:, None]  # place of a row in memory
    p = xp.reshape(xp.astype(positions, kind), (1, -1, 1))
    size, own = abs(p), xp.where(p < 0, first[heads:, None, :], first[:heads, None, :])
    result = channels + xp.zeros_like(own)
    for bit in range(31 if kind == xp.int32 else 54):
        flat = xp.reshape(powers, (-1,))
        result = xp.where((size >> bit) % 2 == 1, _taken(flat, own + result, xp), result)
        powers = _taken(flat, first + powers, xp)
    return xp.reshape(result, (*permutation.shape[:-1], *positions.shape, d))


def _taken(flat: Array, at: Array, xp: Namespace) -> Array:
    return xp.reshape(xp.take(flat, xp.reshape(at, (-1,)), axis=0), at.shape)
