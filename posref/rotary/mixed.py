"""RoPE-Mixed: every pair turns with all axes at once, by frequencies that are learned."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import floating
from posref._arguments import positions as checked_positions
from posref._axes_arguments import mixed_shape
from posref._sums import write_sums


def rope_mixed_cos_sin(positions: ArrayLike, frequencies: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Cos and sin of angles that sum over the axes.

    .. math:: \theta_{hi} = \sum_a p_a\, f_{ahi}

    Parameters
    ----------
    positions
        (axes, ..., sequence): a row per axis.
    frequencies
        (axes, ..., pairs), radians per position; usually (axes, heads, pairs). The axes between broadcast against those of
        positions by NumPy's rules: positions with a batch are (axes, batch, 1, sequence).

    Returns
    -------
    cos, sin
        Each (..., sequence, pairs), float64: what :func:`rope_apply` takes. (heads, sequence, pairs) for (axes, sequence) and
        (axes, heads, pairs).

    Raises
    ------
    ValueError
        NaN or infinite values; not as many axes in one as in the other; axes between that do not broadcast.

    Notes
    -----
    Source: Heo et al., RoPE-ViT (2403.13298), sec. 3.2: one set of frequencies per layer and head, the column first, the class
    token not rotated. Mochi has three axes, centred and scaled to a fixed area. Scores depend on the difference alone, as for any
    rotation; there is no ladder and so no base.

    Examples
    --------
    >>> cos, sin = rope_mixed_cos_sin([[0, 1], [0, 2]], [[0.5], [0.25]])
    >>> sin.round(4)
    array([[0.    ],
           [0.8415]])
    """
    p, f = checked_positions(positions), floating(frequencies, "frequencies", finite=True)
    mixed_shape(p.shape, f.shape)
    between = np.broadcast_shapes(p.shape[1:-1], f.shape[1:-1])
    rows = [np.broadcast_to(row, (*between, p.shape[-1])) for row in p.astype(np.float64)]
    columns = [np.broadcast_to(column, (*between, f.shape[-1])) for column in f]
    cos, sin = (np.empty((*between, p.shape[-1], f.shape[-1])) for _ in range(2))
    for at in np.ndindex(between):
        write_sums([row[at] for row in rows], [column[at] for column in columns], cos[at], sin[at])
    return cos, sin
