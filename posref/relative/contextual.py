"""CoPE: positions that count what the query finds on the way, and are looked up between two rows of a table."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import as_array, boolean, floating, number
from posref._score_arguments import contextual


def cope_scores(
    q: ArrayLike,
    k: ArrayLike,
    table: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    scale: float | None = None,
    scale_positions: bool = True,
) -> NDArray[np.float64]:
    r"""Logits with contextual positions.

    .. math::
        g_{ij} = \sigma(s\, q_i \cdot k_j), \quad p_{ij} = \min\Big(\sum_{l \ge j} g_{il},\; N - 1\Big), \quad
        s\, (q_i \cdot k_j + z_i(p_{ij}))

    z_i(p) lies on the straight line between :math:`q_i \cdot T_{\lfloor p \rfloor}` and :math:`q_i \cdot T_{\lceil p \rceil}`.

    Parameters
    ----------
    q, k
        (..., q, d) and (..., k, d); leading axes broadcast.
    table
        T, (N, d): a row for each whole position from 0 on.
    mask
        Boolean, broadcasts against (..., q, k): keys that are not seen have gate 0. Under a causal mask the sum ends at the
        query. The logits themselves are not masked. None: every gate counts, those of later keys too.
    scale
        s; None is 1/sqrt(d).
    scale_positions
        Whether s multiplies z too; if not, the logits are s q k + z.

    Returns
    -------
    (..., q, k) float64, before mask and softmax

    Raises
    ------
    ValueError
        Shapes that do not fit. TypeError: a mask that is not boolean.

    Notes
    -----
    Source: Golovneva et al., "Contextual Position Encoding" (2405.18719), eq. 4 to 7; code of facebookresearch/RAM.
    Disagreement: the repository scales z with the content unless told otherwise (``cope_nodiv``); the paper's appendix B and
    x-transformers do not. N: the block's length and one more (RAM), 16 (x-transformers), 64 (the paper's language models).
    Code that hands unmasked logits to the gates counts the future.

    Examples
    --------
    >>> cope_scores([[1.0]], [[0.0], [0.0], [0.0]], [[0.0], [1.0], [3.0]], scale=1.0)
    array([[2. , 1. , 0.5]])
    >>> cope_scores([[1.0]], [[0.0], [0.0], [0.0]], [[0.0], [1.0], [3.0]], mask=[[True, True, False]], scale=1.0)
    array([[1. , 0.5, 0. ]])
    """
    queries, keys, rows = floating(q, "q"), floating(k, "k"), floating(table, "table")
    allowed = None if mask is None else as_array(mask, "mask")
    shape = contextual(queries.shape, keys.shape, rows.shape, None if allowed is None else allowed.shape)
    s = 1 / math.sqrt(queries.shape[-1]) if scale is None else number(scale, "scale")
    both = boolean(scale_positions, "scale_positions")
    content = np.broadcast_to(queries @ keys.swapaxes(-1, -2), shape)
    with np.errstate(over="ignore"):
        gates = 1 / (1 + np.exp(-s * content))
    if allowed is not None:
        if allowed.dtype != bool:
            raise TypeError(f"mask must be boolean, True where a query may look, got type {allowed.dtype}")
        gates = np.where(allowed, gates, 0.0)
    positions = np.minimum(np.flip(np.cumsum(np.flip(gates, -1), axis=-1), -1), len(rows) - 1)
    of_rows = np.broadcast_to(queries @ rows.T, (*shape[:-1], len(rows)))
    below = np.floor(positions)
    z = [np.take_along_axis(of_rows, p.astype(np.int64), axis=-1) for p in (below, np.ceil(positions))]
    between = positions - below
    placed = (1 - between) * z[0] + between * z[1]
    return np.asarray(s * (content + placed) if both else s * content + placed)
