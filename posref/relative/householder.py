"""PaTH: keys are reflected, partly, by every token on the way to the query."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, floating, number
from posref._score_arguments import transported
from posref.relative.forgetting import forget_bias

GATES = ("plain", "scaled")


def path_scores(
    q: ArrayLike,
    k: ArrayLike,
    w: ArrayLike,
    beta: ArrayLike,
    *,
    log_forget: ArrayLike | None = None,
    gate: str = "plain",
    scale: float | None = None,
) -> NDArray[np.float64]:
    r"""Logits of queries with keys that went through the transformations of all tokens in between.

    .. math:: s\, q_i^\top H_i H_{i-1} \cdots H_{j+1}\, k_j \quad (j \le i), \qquad H_l = I - \beta_l w_l w_l^\top

    Parameters
    ----------
    q, k, w
        (..., n, d): queries, keys and directions of n tokens; leading axes broadcast.
    beta
        (..., n), 0 .. 2 in the models, where w has length 1: at 2, H is a reflection.
    log_forget
        ln f, (..., n), adds the bias of :func:`forget_bias`; None: none.
    gate
        ``"plain"``: that bias is added to the scaled logits. ``"scaled"``: before the scale.
    scale
        s; None is 1/sqrt(d).

    Returns
    -------
    (..., n, n) float64, before softmax; 0 for keys in the future, which have no product: the causal mask hides them

    Raises
    ------
    ValueError
        Shapes that do not fit, an unknown word.

    Notes
    -----
    Source: Yang et al., "PaTH Attention" (2505.16381), sec. 3; code of fla-org/flash-linear-attention. Disagreement: its plain
    reference scales the sum of the product and the gate's bias, its reference of the Forgetting Transformer the product alone.

    Examples
    --------
    >>> path_scores([[1.0, 0.0]] * 3, [[1.0, 0.0]] * 3, [[1.0, 0.0]] * 3, [0.0, 0.5, 2.0], scale=1.0)
    array([[ 1. ,  0. ,  0. ],
           [ 0.5,  1. ,  0. ],
           [-0.5, -1. ,  1. ]])
    """
    queries, keys, directions, b = (
        floating(value, name) for name, value in (("q", q), ("k", k), ("w", w), ("beta", beta))
    )
    logs = None if log_forget is None else forget_bias(log_forget)
    shape = transported(queries.shape, keys.shape, directions.shape, b.shape, None if logs is None else logs.shape[:-1])
    before = choice(gate, "gate", GATES) == "scaled"
    s = 1 / math.sqrt(shape[-1]) if scale is None else number(scale, "scale")
    queries, keys, directions = (np.broadcast_to(v, shape) for v in (queries, keys, directions))
    b = np.broadcast_to(b, shape[:-1])
    scores = np.zeros((*shape[:-1], shape[-2]))
    for i in range(shape[-2]):
        seen = queries[..., i, :]
        for j in range(i, -1, -1):
            scores[..., i, j] = (seen * keys[..., j, :]).sum(axis=-1)
            across = (seen * directions[..., j, :]).sum(axis=-1) * b[..., j]
            seen = seen - across[..., None] * directions[..., j, :]  # H_j, which is symmetric
    past = np.tri(shape[-2], dtype=bool)
    if logs is None:
        return s * scores
    return np.where(past, s * (scores + logs) if before else s * scores + logs, 0.0)
