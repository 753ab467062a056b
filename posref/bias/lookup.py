"""Biases out of a table, by an index for every pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, floating
from posref._arguments import positions as checked_positions
from posref._bias_arguments import TABLE_LAYOUTS


def indexed_bias(table: ArrayLike, index: ArrayLike, *, layout: str = "rows_first") -> NDArray[np.float64]:
    r"""Bias on the attention logits: the table's row for each pair of query and key.

    .. math:: B_h(q, k) = T_{I(q, k),\, h}

    Parameters
    ----------
    table
        (rows, heads), learned.
    index
        (..., q, k), I: integers below the number of rows; -1 stands for no row, and gives 0.
    layout
        ``"rows_first"``, or ``"heads_first"`` for a table (heads, rows).

    Returns
    -------
    (..., heads, q, k) float64

    Raises
    ------
    IndexError
        An index that has no row.
    ValueError
        A table without heads; an index of fewer than two axes.

    Notes
    -----
    Source: Liu et al., Swin (2103.14030), eq. 4. What the index is made of: :func:`relative_position_index` for windows;
    distances in a graph, clipped, for Graphormer's spatial encoding (2106.05234); ``clip(q - k, -32, 32) + 32`` for the
    residues of AlphaFold (its supplement, algorithm 4).

    Examples
    --------
    >>> indexed_bias([[0.5], [1.5]], [[0, 1], [-1, 0]])
    array([[[0.5, 1.5],
            [0. , 0.5]]])
    """
    rows = floating(table, "table", ndim=2)
    if choice(layout, "layout", TABLE_LAYOUTS) == "heads_first":
        rows = rows.T
    if not rows.shape[1]:
        wanted = "(rows, heads)" if layout == "rows_first" else "(heads, rows)"
        raise ValueError(f"table must be {wanted} with at least one head, got shape {np.shape(table)}")
    which = checked_positions(index, "index", whole=True)
    if which.ndim < 2:
        raise ValueError(f"index must be (..., q, k), got shape {which.shape}")
    if which.size and not -1 <= which.min() <= which.max() < len(rows):
        wrong = which.min() if which.min() < -1 else which.max()
        raise IndexError(f"index must be in -1 .. {len(rows) - 1} for a table of {len(rows)} rows, got {wrong}")
    with_none = np.concatenate([rows, np.zeros((1, rows.shape[1]))])  # where -1 leads
    return np.moveaxis(with_none[which], -1, -3)
