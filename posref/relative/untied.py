"""TUPE's scores: content and position each have projections of their own, and meet only where they are added."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import floating, number
from posref._score_arguments import untied


def untied_scores(
    q: ArrayLike,
    k: ArrayLike,
    *,
    pos_q: ArrayLike | None = None,
    pos_k: ArrayLike | None = None,
    scale: float | None = None,
) -> NDArray[np.float64]:
    r"""Logits of untied attention: content to content and position to position, without the two mixed terms.

    .. math:: s\, \bigl(q_i \cdot k_j + p_i U^Q \cdot p_j U^K\bigr), \qquad q_i = x_i W^Q,\; k_j = x_j W^K

    Parameters
    ----------
    q, k
        (..., q, d) and (..., k, d), the projected content; leading axes broadcast.
    pos_q, pos_k
        p U^Q and p U^K, (..., q, d) and (..., k, d), the projected positions: (heads, q, d) for q of (batch, heads, q, d). None,
        for both, leaves the term out.
    scale
        s, of each term; None is 1/sqrt(2 d), with or without positions.

    Returns
    -------
    (..., q, k) float64, before mask and softmax

    Raises
    ------
    ValueError
        Shapes that do not fit; one of pos_q and pos_k without the other.

    Notes
    -----
    Source: TUPE (2006.15595), eq. 7; code of guolinke/TUPE, where p is a learned table after a LayerNorm, and all layers share
    the term of the positions. Both terms are one formula, so that of the positions alone is
    B = ``untied_scores(pos_q, pos_k)``, and what is done to it is done before it is added: TUPE-A has
    ``untied_scores(q, k) + reset_cls(B, from_cls, to_cls)``, TUPE-R (eq. 8) the same with B + ``t5_bias(...)`` for B. The
    content is never reset. Disagreement: the paper resets the sum of B and the relative bias, the code each of them; see
    :func:`reset_cls`.

    Examples
    --------
    >>> untied_scores([[2.0]], [[3.0], [4.0]], pos_q=[[1.0]], pos_k=[[5.0], [-1.0]], scale=1.0)
    array([[11.,  7.]])
    >>> untied_scores([[1.0, 1.0]], [[3.0, 1.0]])  # divided by sqrt(2 d) = 2
    array([[2.]])
    """
    queries, keys = floating(q, "q"), floating(k, "k")
    positions = {name: floating(p, name) for name, p in (("pos_q", pos_q), ("pos_k", pos_k)) if p is not None}
    untied(queries.shape, keys.shape, {name: p.shape for name, p in positions.items()})
    s = 1 / math.sqrt(2 * queries.shape[-1]) if scale is None else number(scale, "scale")
    scores = queries @ keys.swapaxes(-1, -2)
    if positions:
        scores = scores + positions["pos_q"] @ positions["pos_k"].swapaxes(-1, -2)
    return np.asarray(s * scores)
