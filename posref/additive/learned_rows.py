"""A learned table of positions, added to the embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import floating
from posref._arguments import positions as checked_positions


def learned(table: ArrayLike, positions: ArrayLike) -> NDArray[np.float64]:
    r"""Look up one row per position.

    .. math:: \mathrm{PE}(p) = T_p

    Parameters
    ----------
    table
        (rows, dim). The number of rows is a hard cap on the length.
    positions
        Integers in 0 .. rows - 1, any shape.

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
    Source: Gehring et al. (1705.03122), sec. 3.1; BERT, GPT-2. Pitfall: OPT and BART look up row p + 2, RoBERTa p + pad + 1.

    Examples
    --------
    >>> learned([[0.0, 1.0], [2.0, 3.0]], [1, 0])
    array([[2., 3.],
           [0., 1.]])
    """
    rows, p = floating(table, "table", ndim=2), checked_positions(positions, whole=True)
    outside = p[(p < 0) | (p >= len(rows))]
    if outside.size:
        raise IndexError(
            f"positions must be in 0 .. {len(rows) - 1} for a table of {len(rows)} rows, got {outside.flat[0]}"
        )
    return np.asarray(rows[p])
