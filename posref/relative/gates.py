"""What is done to a bias afterwards: WavLM's gate of each query, and TUPE's own numbers for the class token."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import floating
from posref._each import fewer_digits
from posref.exact import real, rounded


def bias_gate(projection: ArrayLike, const: ArrayLike) -> NDArray[np.float64]:
    r"""Factor on the rows of a relative bias, from the content of the query: between 1 and 2 where c is 1.

    .. math:: g_a (g_b c_h - 1) + 2, \qquad g_a = \sigma\Big(\sum_{n < 4} p_n\Big),\; g_b = \sigma\Big(\sum_{n < 4} p_{n + 4}\Big)

    Parameters
    ----------
    projection
        p, (..., heads, q, 8): a linear function of each query's content.
    const
        c, (heads,), learned; 1 at the start.

    Returns
    -------
    (..., heads, q) float64, without unit; multiplies the rows of the bias, as ``t5_bias(...) * gate[..., None]``

    Raises
    ------
    ValueError
        Another number of channels than 8, a const that is not one number per head; NaN or infinity.

    Notes
    -----
    Source: WavLM (2110.13900), sec. 3.2; code of microsoft/unilm and transformers, which sum four channels for each gate. The
    paper's bias d + g_u d + (1 - g_u) g_r c d is d times this factor, with g_u = 1 - g_a and g_r = g_b.

    Examples
    --------
    >>> bias_gate(np.zeros((1, 2, 8)), [1.0])
    array([[1.75, 1.75]])
    """
    p, c = floating(projection, "projection", finite=True), floating(const, "const", ndim=1, finite=True)
    if p.ndim < 3 or p.shape[-1] != 8:
        raise ValueError(f"projection must be (..., heads, q, 8), got shape {p.shape}")
    if c.shape != p.shape[-3:-2]:
        raise ValueError(f"const must have one number for each of {p.shape[-3]} heads, got shape {c.shape}")
    groups = p.reshape(math.prod(p.shape[:-1]), 2, 4).tolist()
    heads = np.broadcast_to(c[:, None], p.shape[:-1])

    def gate(four: list[float]) -> Decimal:
        return 1 / (1 + (-sum((real(x) for x in four), Decimal(0))).exp())

    with fewer_digits():
        values = [
            gate(a) * (gate(b) * real(h) - 1) + 2 for (a, b), h in zip(groups, heads.ravel().tolist(), strict=True)
        ]
        return rounded(values).reshape(p.shape[:-1])


def reset_cls(bias: ArrayLike, from_cls: ArrayLike, to_cls: ArrayLike) -> NDArray[np.float64]:
    r"""Biases from and to the class token, which has no place in the sequence, replaced by one number each.

    .. math::
        y_{ij} = \theta_1 \;\; (i = 0), \qquad \theta_2 \;\; (i > 0,\; j = 0), \qquad B_{ij} \;\; \text{elsewhere}

    Parameters
    ----------
    bias
        B, (..., heads, q, k); the class token is the first query and the first key.
    from_cls, to_cls
        theta 1 and 2, (heads,): of the class token's own row, and of the other rows' look at it.

    Returns
    -------
    (..., heads, q, k) float64

    Raises
    ------
    ValueError
        A bias without heads, queries and keys; numbers that are not one per head.

    Notes
    -----
    Source: TUPE (2006.15595), eq. 10 and 11. Disagreement: the paper resets the sum of the absolute term and the relative one;
    the authors' code resets each on its own, with numbers of its own, of which the model sees the sums. The absolute term is
    :func:`untied_scores` of the projected positions; the content's is added after the reset. Without a reset both terms are
    the product of queries and keys that have them side by side, :func:`attention` of ``[q, pos_q]`` and ``[k, pos_k]``.

    Examples
    --------
    >>> reset_cls([[[1.0, 2.0], [3.0, 4.0]]], [8.0], [9.0])
    array([[[8., 8.],
            [9., 4.]]])
    """
    b = floating(bias, "bias")
    numbers = {name: floating(value, name, ndim=1) for name, value in (("from_cls", from_cls), ("to_cls", to_cls))}
    if b.ndim < 3:
        raise ValueError(f"bias must be (..., heads, q, k), got shape {b.shape}")
    for name, value in numbers.items():
        if value.shape != b.shape[-3:-2]:
            raise ValueError(f"{name} must have one number for each of {b.shape[-3]} heads, got shape {value.shape}")
    y: NDArray[np.float64] = b.copy()
    y[..., :, :1] = numbers["to_cls"][:, None, None]
    y[..., :1, :] = numbers["from_cls"][:, None, None]
    return y
