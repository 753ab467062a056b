"""The Forgetting Transformer's bias: how much the tokens in between let through."""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import floating, integer


def forget_bias(
    log_forget: ArrayLike, *, backward: ArrayLike | None = None, num_queries: int | None = None
) -> NDArray[np.float64]:
    r"""Bias of a pair: the logarithms of the forget gates after the key, up to the query.

    .. math:: D_{ij} = \sum_{l = j + 1}^{i} \ln f_l \;\; (j \le i), \qquad \sum_{l = i + 1}^{j} \ln b_l \;\; (j > i)

    Parameters
    ----------
    log_forget
        ln f, (..., n): natural logarithms of the gates, one per token, at most 0 where f is a sigmoid. Heads are a leading axis.
    backward
        ln b, the same for keys in the future, in bidirectional attention. None: -D_{ji}, what a difference of prefix sums
        gives there, which is for the causal mask to hide.
    num_queries
        The last so many tokens are the queries; None: all of them.

    Returns
    -------
    (..., num_queries, n) float64, to be added to the scaled logits

    Raises
    ------
    ValueError
        No axis of tokens, more queries than tokens, another shape of backward; NaN or infinity.

    Notes
    -----
    Source: Lin et al., "Forgetting Transformer" (2503.02130), eq. 4 and 5; code of fla-org/flash-linear-attention;
    lucidrains/x-transformers, data-dependent ALiBi, for the bidirectional one. Each entry is rounded once from the exact sum:
    a difference of two long prefix sums loses digits. Pitfall: the logarithm of a gate is log-sigmoid of its logit, in
    float32 or wider.

    Examples
    --------
    >>> forget_bias([-0.5, -1.0, -2.0])
    array([[ 0.,  1.,  3.],
           [-1.,  0.,  2.],
           [-3., -2.,  0.]])
    >>> forget_bias([-0.5, -1.0, -2.0], backward=[-0.25, -0.25, -0.5], num_queries=2)
    array([[-1. ,  0. , -0.5],
           [-3. , -2. ,  0. ]])
    """
    gates = floating(log_forget, "log_forget", finite=True)
    if not gates.ndim:
        raise ValueError(f"log_forget must have an axis of tokens, got {gates[()]}")
    n = gates.shape[-1]
    queries = n if num_queries is None else integer(num_queries, "num_queries", least=0)
    if queries > n:
        raise ValueError(f"num_queries must be at most {n}, the number of tokens, got {queries}")
    past = _differences(gates)[..., n - queries :, :]
    if backward is None:
        return past
    ahead = floating(backward, "backward", finite=True)
    if ahead.shape != gates.shape:
        raise ValueError(f"backward must be of the shape of log_forget, {gates.shape}, got {ahead.shape}")
    future = np.arange(n) > np.arange(n - queries, n)[:, None]
    return np.where(future, -_differences(ahead)[..., n - queries :, :], past)


def _differences(gates: NDArray[np.float64]) -> NDArray[np.float64]:
    """c_i - c_j of prefix sums c, exact, and rounded once."""
    n = gates.shape[-1]
    rows = []
    for row in gates.reshape(math.prod(gates.shape[:-1]), n).tolist():
        parts = [x.as_integer_ratio() for x in row]
        unit = max((denominator for _, denominator in parts), default=1)  # all are powers of two
        sums = list(accumulate(numerator * (unit // denominator) for numerator, denominator in parts))
        rows.append([[(a - b) / unit for b in sums] for a in sums])
    return np.array(rows, dtype=np.float64).reshape(*gates.shape, n)
