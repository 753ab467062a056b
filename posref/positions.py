"""Position ids of packed sequences."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import as_array


def cu_seqlens_positions(cu_seqlens: ArrayLike) -> NDArray[np.int64]:
    r"""Positions of tokens of several sequences that lie one behind the other: each sequence counts from 0.

    .. math:: p_t = t - c_j, \qquad c_j \le t < c_{j+1}

    Parameters
    ----------
    cu_seqlens
        (sequences + 1,) integers c, "cumulative sequence lengths": from 0, not falling, the last one is the number of tokens.
        Repeated entries are empty sequences.

    Returns
    -------
    (tokens,) int64

    Raises
    ------
    ValueError
        No vector with at least one entry, a first entry other than 0, an entry that is below the one before it. TypeError: no
        integers.

    Notes
    -----
    Source: flash-attention's ``cu_seqlens``, TransformerEngine's ``thd`` format. Pitfalls: positions that go on across sequences
    leave relative encodings as they are, but neither absolute ones nor factors that follow a position or a length; and in low
    precision they are less exact.

    Examples
    --------
    >>> cu_seqlens_positions([0, 3, 3, 5])
    array([0, 1, 2, 0, 1])
    """
    ends = as_array(cu_seqlens, "cu_seqlens")
    if ends.dtype.kind not in "iu":
        raise TypeError(f"cu_seqlens must be integers, got type {ends.dtype}")
    if ends.ndim != 1 or not ends.size:
        raise ValueError(f"cu_seqlens must be a vector with at least one entry, got shape {ends.shape}")
    starts = ends.astype(np.int64)
    if starts[0]:
        raise ValueError(f"cu_seqlens must start with 0, got {ends[0]}")
    lengths = starts[1:] - starts[:-1]
    if (lengths < 0).any():
        at = int(np.argmax(lengths < 0))
        raise ValueError(f"cu_seqlens must not fall, got {ends[at]} and {ends[at + 1]}")
    return np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
