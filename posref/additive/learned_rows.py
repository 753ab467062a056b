"""A learned table of positions, added to the embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._additive_arguments import out_of_rows
from posref._arguments import floating, integer
from posref._arguments import positions as checked_positions


def learned(table: ArrayLike, positions: ArrayLike, *, offset: int = 0) -> NDArray[np.float64]:
    r"""Look up one row per position.

    .. math:: \mathrm{PE}(p) = T_{p + o}

    Parameters
    ----------
    table
        (rows, dim). The number of rows is a hard cap on the length.
    positions
        Integers, any shape, with p + offset in 0 .. rows - 1.
    offset
        Rows before that of position 0 (o): 2 in OPT and BART, padding_idx + 1 in RoBERTa.

    Returns
    -------
    ``positions.shape + (dim,)``, float64.

    Raises
    ------
    IndexError
        A position past the last row, or a negative one: it is never wrapped and never clamped.
    TypeError
        Positions that are not integers.

    Notes
    -----
    Source: Gehring et al. (1705.03122), sec. 3.1; BERT, GPT-2. A learned table per axis (Reformer, DETR) is one look-up per axis,
    put side by side: see :func:`grid_positions`. Pitfall: the usable length is rows - offset.

    Examples
    --------
    >>> learned([[0.0, 1.0], [2.0, 3.0]], [1, 0])
    array([[2., 3.],
           [0., 1.]])
    """
    rows, p = floating(table, "table", ndim=2), checked_positions(positions, whole=True)
    o = integer(offset, "offset", least=0)
    outside = p[(p < -o) | (p >= len(rows) - o)]
    if outside.size:
        raise IndexError(out_of_rows(len(rows), o, outside.flat[0]))
    return np.asarray(rows[p + o])
