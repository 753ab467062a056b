"""Which positions the queries have where there are more keys than queries, or fewer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posref._arguments import choice, integer
from posref._bias_arguments import ALIGNMENTS


def query_positions(num_queries: int, num_keys: int, *, align: str = "bottom_right") -> NDArray[np.int64]:
    r"""Positions of the queries, where the keys are at 0 ... num_keys - 1.

    .. math:: \text{bottom right: } i + n_k - n_q \qquad \text{top left: } i, \qquad i = 0 \ldots n_q - 1

    Parameters
    ----------
    num_queries, num_keys
        n_q and n_k, >= 0.
    align
        ``"bottom_right"``: the last query is at the last key, as while decoding with a cache. ``"top_left"``: the first query
        is at the first key, as in cross attention.

    Returns
    -------
    (num_queries,) int64. With fewer keys than queries the first ones are negative for "bottom_right".

    Raises
    ------
    ValueError
        Negative numbers; an unknown word.

    Notes
    -----
    Source: flash-attention 2.1, whose masks and biases are "bottom_right"; TransformerEngine has both
    (``bottom_right_alignment``). NeMo and x-transformers cut the last rows and columns out of a square bias: "bottom_right" too.
    MPT takes one query, or as many as keys. For T5, causal masks and windows the question and its answers are the same.

    Examples
    --------
    >>> query_positions(2, 5)
    array([3, 4])
    >>> query_positions(2, 5, align="top_left")
    array([0, 1])
    """
    q, k = integer(num_queries, "num_queries", least=0), integer(num_keys, "num_keys", least=0)
    shift = k - q if choice(align, "align", ALIGNMENTS) == "bottom_right" else 0
    return np.arange(q) + shift
