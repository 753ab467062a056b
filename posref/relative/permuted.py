"""PermuteFormer's rows: channels of queries and keys, permuted once more with each position."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import positions as checked_positions
from posref._score_arguments import permuted_shape


def permuted_channels(permutation: ArrayLike, positions: ArrayLike) -> NDArray[np.int64]:
    r"""Which channel comes to each place at each position: a permutation, as often as the position says.

    .. math:: e_p = \pi^p = \underbrace{\pi \circ \dots \circ \pi}_{p}, \qquad e_{-p} = (\pi^{-1})^p

    Parameters
    ----------
    permutation
        :math:`\pi`, (..., d): each row holds 0 .. d-1 once. Leading axes are heads.
    positions
        p, integers of any shape.

    Returns
    -------
    permutation.shape[:-1] + positions.shape + (d,) int64

    Raises
    ------
    ValueError
        A row that is no permutation; no channels. TypeError: no integers.

    Notes
    -----
    Source: PermuteFormer (Chen, 2109.02377), sec. 3.2; code of cpcp1998/PermuteFormer, which composes the rows up to the longest
    position. There features of linear attention are

    .. math:: q'_i = r^i\, \phi(q_i)[e_i], \qquad k'_j = r^{-j}\, \phi(k_j)[e_j], \qquad 0 < r \le 1

    in NumPy ``r**i * np.take_along_axis(features, e, axis=-1)``, so that their product depends on content and j - i alone.
    Pitfall: the position returns after as many steps as the least common multiple of the lengths of the cycles.

    Examples
    --------
    >>> permuted_channels([1, 2, 0, 3], [0, 1, 2, -1])
    array([[0, 1, 2, 3],
           [1, 2, 0, 3],
           [2, 0, 1, 3],
           [2, 0, 1, 3]])
    """
    rows, p = (
        checked_positions(permutation, "permutation", whole=True),
        checked_positions(positions, "positions", whole=True),
    )
    d = permuted_shape(rows.shape)
    if (np.sort(rows, axis=-1) != np.arange(d)).any():
        raise ValueError(f"permutation must hold each of 0 .. {d - 1} once in a row, got another row")
    result = np.empty((*rows.shape[:-1], *p.shape, d), np.int64)
    for head in np.ndindex(rows.shape[:-1]):
        for cycle in _cycles(rows[head].tolist()):
            steps = np.add.outer(p % len(cycle), np.arange(len(cycle))) % len(cycle)
            result[head][..., cycle] = np.array(cycle)[steps]
    return result


def _cycles(row: list[int]) -> list[list[int]]:
    """Each with every channel after the one that leads to it."""
    cycles: list[list[int]] = []
    left = set(row)
    while left:
        cycle = [left.pop()]
        while (following := row[cycle[-1]]) != cycle[0]:
            cycle.append(following)
        left -= set(cycle)
        cycles.append(cycle)
    return cycles
