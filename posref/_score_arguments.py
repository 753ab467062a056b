"""Checks of shapes that fit each other in scores. See :mod:`posref._arguments`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posref._arguments import broadcasts, integer, shown


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


def untied(q: tuple[int, ...], k: tuple[int, ...], positions: dict[str, tuple[int, ...]]) -> None:
    """Refuse shapes that do not fit each other in untied scores, and one side's positions without the other's."""
    scores_shape(q, k)
    if len(positions) == 1:
        raise ValueError(f"pos_q and pos_k must be given both or neither, got {next(iter(positions))} alone")
    for name, shape in positions.items():
        wanted = tuple((q if name == "pos_q" else k)[-2:])
        if len(shape) < 2 or tuple(shape[-2:]) != wanted:
            raise ValueError(f"{name} must end in {wanted}, as {name[-1]} does, got shape {tuple(shape)}")
    try:
        np.broadcast_shapes(q[:-2], k[:-2], *(shape[:-2] for shape in positions.values()))
    except ValueError:
        shapes = ", ".join(str(tuple(s)) for s in (q, k, *positions.values()))
        raise ValueError(f"q, k, pos_q and pos_k must have leading axes that broadcast, got {shapes}") from None


def decomposed(
    q: tuple[int, ...], tables: dict[str, tuple[int, ...]], q_size: Sequence[int], k_size: Sequence[int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Queries and keys along the height and along the width, once everything is known to fit."""
    sizes = []
    for name, size in (("q_size", q_size), ("k_size", k_size)):
        if not isinstance(size, Sequence) or isinstance(size, str) or len(size) != 2:
            raise TypeError(f"{name} must be (height, width), got {shown(size)}")
        sizes.append([integer(n, name) for n in size])
    (q_height, q_width), (k_height, k_width) = sizes
    if len(q) < 2 or q[-2] != q_height * q_width or not q[-1]:
        raise ValueError(f"q must be (..., {q_height * q_width}, d) for q_size {tuple(sizes[0])}, got shape {tuple(q)}")
    axes = (q_height, k_height), (q_width, k_width)
    for (name, table), pair in zip(tables.items(), axes, strict=True):
        wanted = (2 * max(pair) - 1, q[-1])
        if tuple(table) != wanted:
            raise ValueError(f"{name} must be {wanted}, resampled where it is not, got shape {tuple(table)}")
    return axes


def contextual(
    q: tuple[int, ...], k: tuple[int, ...], table: tuple[int, ...], mask: tuple[int, ...] | None
) -> tuple[int, ...]:
    """The shape of scores with contextual positions."""
    shape = scores_shape(q, k)
    if len(table) != 2 or table[-1] != q[-1] or not table[0]:
        raise ValueError(f"table must be (rows, {q[-1]}) with at least one row, got shape {tuple(table)}")
    if mask is not None and not broadcasts(mask, shape):
        raise ValueError(f"mask of shape {tuple(mask)} must broadcast against the scores' shape {shape}")
    return shape


def permuted_shape(permutation: tuple[int, ...]) -> int:
    """The number of channels of permutations."""
    if not permutation or not permutation[-1]:
        raise ValueError(f"permutation must be (..., d) with at least one channel, got shape {tuple(permutation)}")
    return permutation[-1]


def transported(
    q: tuple[int, ...],
    k: tuple[int, ...],
    w: tuple[int, ...],
    beta: tuple[int, ...],
    log_forget: tuple[int, ...] | None,
) -> tuple[int, ...]:
    """(..., n, d) for queries, keys and directions of the same n tokens."""
    if min(len(q), len(k), len(w)) < 2 or not q[-2:] == k[-2:] == w[-2:] or not q[-1]:
        raise ValueError(f"q, k, w must be (..., n, d), got {tuple(q)}, {tuple(k)}, {tuple(w)}")
    gates = {"beta": beta} | ({} if log_forget is None else {"log_forget": log_forget})
    for name, gate in gates.items():
        if not gate or gate[-1] != q[-2]:
            raise ValueError(f"{name} must be (..., {q[-2]}), one number per token, got shape {tuple(gate)}")
    try:
        leading = np.broadcast_shapes(q[:-2], k[:-2], w[:-2], *(gate[:-1] for gate in gates.values()))
    except ValueError:
        shapes = ", ".join(str(tuple(s)) for s in (q, k, w, *gates.values()))
        raise ValueError(f"q, k, w and gates must have leading axes that broadcast, got {shapes}") from None
    return (*leading, *q[-2:])
