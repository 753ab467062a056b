"""Checks of shapes that fit each other in scores. See :mod:`posref._arguments`."""

from __future__ import annotations

import numpy as np

from posref._arguments import broadcasts


def scored(
    q: tuple[int, ...], k: tuple[int, ...], distances: tuple[int, ...], inv_freq: tuple[int, ...]
) -> tuple[tuple[int, ...], int]:
    """The shape of the scores and the number of pairs, once the shapes are known to fit each other."""
    if min(len(q), len(k)) < 2 or q[-1] != k[-1]:
        raise ValueError(f"q and k must be (..., q, channels) and (..., k, channels), got {tuple(q)} and {tuple(k)}")
    try:
        shape = (*np.broadcast_shapes(q[:-2], k[:-2]), q[-2], k[-2])
    except ValueError:
        raise ValueError(f"q and k must have leading axes that broadcast, got {tuple(q)} and {tuple(k)}") from None
    if not broadcasts(distances, shape):
        raise ValueError(
            f"distances of shape {tuple(distances)} must broadcast against the scores' shape {tuple(shape)}"
        )
    if not 1 <= inv_freq[0] <= q[-1] // 2:
        raise ValueError(f"inv_freq must have 1 to {q[-1] // 2} pairs for {q[-1]} channels, got {inv_freq[0]}")
    return shape, inv_freq[0]


def scores_shape(q: tuple[int, ...], k: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the product of queries and keys, once they are known to fit each other."""
    if min(len(q), len(k)) < 2 or not q[-1] == k[-1] > 0:
        raise ValueError(f"q and k must be (..., q, d) and (..., k, d), got {tuple(q)} and {tuple(k)}")
    try:
        return (*np.broadcast_shapes(q[:-2], k[:-2]), q[-2], k[-2])
    except ValueError:
        raise ValueError(f"q and k must have leading axes that broadcast, got {tuple(q)} and {tuple(k)}") from None


def gathered(
    name: str, x: tuple[int, ...], table: tuple[int, ...], index: tuple[int, ...], *, side: str
) -> tuple[int, ...]:
    """(..., q, k) for x with a table row per pair: x are queries, keys, or weights of the pairs themselves."""
    if len(x) < 2 or (side != "both" and not x[-1]):
        raise ValueError(f"{name} must be {'(..., q, k)' if side == 'both' else '(..., n, d)'}, got shape {tuple(x)}")
    if len(table) < 2 or not table[-2] or (side != "both" and table[-1] != x[-1]):
        wanted = "(..., rows, e)" if side == "both" else f"(..., rows, {x[-1]})"
        raise ValueError(f"table must be {wanted} with at least one row, got shape {tuple(table)}")
    pair = {"query": (x[-2], None), "key": (None, x[-2]), "both": x[-2:]}[side]
    if len(index) < 2 or any(n not in (None, m) for n, m in zip(pair, index[-2:], strict=True)):
        wanted = ", ".join(letter if n is None else str(n) for n, letter in zip(pair, "qk", strict=True))
        raise ValueError(f"index must be (..., {wanted}) for {name} of shape {tuple(x)}, got shape {tuple(index)}")
    try:
        return (*np.broadcast_shapes(x[:-2], table[:-2], index[:-2]), *index[-2:])
    except ValueError:
        shapes = f"{tuple(x)}, {tuple(table)} and {tuple(index)}"
        raise ValueError(f"{name}, table and index must have leading axes that broadcast, got {shapes}") from None


def disentangled(
    q: tuple[int, ...],
    k: tuple[int, ...],
    relative: tuple[int, ...],
    tables: dict[str, tuple[int, ...]],
    p2p: bool,
) -> None:
    """Refuse shapes that do not fit each other in disentangled attention."""
    wanted = (q[-2], k[-2])
    if tuple(relative[-2:]) != wanted:
        raise ValueError(f"relative must end in {wanted}, queries and keys, got shape {tuple(relative)}")
    for name, table in tables.items():
        if len(table) < 2 or table[-1] != q[-1] or not table[-2] or table[-2] % 2:
            raise ValueError(
                f"{name} must be (..., rows, {q[-1]}) with an even number of rows, got shape {tuple(table)}"
            )
    try:
        np.broadcast_shapes(q[:-2], k[:-2], relative[:-2], *(table[:-2] for table in tables.values()))
    except ValueError:
        shapes = ", ".join(str(tuple(s)) for s in (q, k, relative, *tables.values()))
        raise ValueError(f"q, k, relative and tables must have leading axes that broadcast, got {shapes}") from None
    if p2p and len(tables) < 2:
        raise ValueError(
            f"p2p must be False without both pos_k and pos_q, got True with {', '.join(tables) or 'neither'}"
        )
    if p2p and q[-2] > tables["pos_q"][-2] // 2:
        raise ValueError(
            f"p2p must be False for more than {tables['pos_q'][-2] // 2} queries, half the rows, got {q[-2]}"
        )
