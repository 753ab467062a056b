"""ALiBi: attention with linear biases."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._arguments import choice, floating, integer, shown
from posref._arguments import positions as checked_positions
from posref._ladder import ladder


def alibi_slopes(num_heads: int) -> NDArray[np.float64]:
    r"""One slope per head.

    .. math:: m_h = 2^{-8h/n}, \qquad h = 1 \ldots n, \; n \text{ a power of two}

    For other numbers of heads, with n the power of two below: the n slopes of n heads, then the 1st, 3rd, 5th, ... of 2n heads.
    The result is then not sorted.

    Parameters
    ----------
    num_heads
        All heads of the model, also where this process holds only some of them.

    Returns
    -------
    (num_heads,) float64

    Raises
    ------
    ValueError
        num_heads < 1.

    Notes
    -----
    Source: Press et al., "Train Short, Test Long" (2108.12409), sec. 3, and its released code for other numbers of heads.
    Pitfalls: starting at 1 instead of 2**(-8/n); the plain formula for every n; slopes from the heads of one tensor-parallel
    rank alone.

    Examples
    --------
    >>> alibi_slopes(6)
    array([0.25      , 0.0625    , 0.015625  , 0.00390625, 0.5       ,
           0.125     ])
    """
    heads = integer(num_heads, "num_heads")
    n = 2 ** (heads.bit_length() - 1)
    with exact.real_arithmetic():
        power = ladder(256.0, 2 * n + 1, shift=1)  # 2 ** (-8 k / 2n), k = 0 .. 2n: those of 2n heads from 1 on
        return exact.rounded(power[2::2] + power[1 : 2 * (heads - n) : 2])


def alibi_bias(
    slopes: ArrayLike, q_positions: ArrayLike, k_positions: ArrayLike, *, form: str = "distance"
) -> NDArray[np.float64]:
    r"""Bias on the attention logits, linear in the distance.

    .. math:: \text{distance: } -m_h\, |q - k| \qquad \text{signed: } -m_h\,(q - k) \qquad \text{key: } m_h\, k

    Parameters
    ----------
    slopes
        (heads,).
    q_positions, k_positions
        (..., q) and (..., k): real, signed; leading axes are batch axes.
    form
        ``"distance"`` is symmetric; ``"signed"`` equals it for keys in the past and *favours* keys in the future; ``"key"``
        differs from ``"signed"`` by a constant per query, which plain softmax under a causal mask does not see (BLOOM).

    Returns
    -------
    (..., heads, q, k) float64, finite everywhere: the causal mask is not in it.

    Raises
    ------
    ValueError
        An unknown form, slopes that are not a non-empty vector, positions without a sequence axis, NaN or infinity.

    Notes
    -----
    Source: Press et al. (2108.12409), sec. 3, figure 3. Disagreement: BLOOM, fairseq and Megatron-DeepSpeed have ``"key"``; MPT
    subtracts the last key's; Falcon adds the bias before the division by sqrt(head_dim).

    Examples
    --------
    >>> alibi_bias([0.5], [2], [0, 1, 2])
    array([[[-1. , -0.5, -0. ]]])
    """
    m = floating(slopes, "slopes", ndim=1, finite=True)
    if not m.size:
        raise ValueError("slopes must have at least one head, got none")
    q, k = checked_positions(q_positions, "q_positions"), checked_positions(k_positions, "k_positions")
    choice(form, "form", ("distance", "signed", "key"))
    q, k = outer_positions(q, k)  # (..., 1, q, 1) and (..., 1, 1, k)
    m = m[:, None, None]
    if form == "key":
        with np.errstate(over="ignore"):  # infinity without a warning, as in the other forms
            return np.array(np.broadcast_to(m * k, np.broadcast_shapes(m.shape, q.shape, k.shape)))
    signed = exact.times_difference(-m, q, k)
    return signed if form == "signed" else -np.copysign(signed, m)


def outer_positions(q: NDArray[Any], k: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Queries against keys, with an axis for the heads: (..., 1, q, 1) and (..., 1, 1, k)."""
    for name, p in (("q_positions", q), ("k_positions", k)):
        if not p.ndim:
            raise ValueError(f"{name} must have a sequence axis, got {shown(p[()])}")
    try:
        np.broadcast_shapes(q.shape[:-1], k.shape[:-1])
    except ValueError:
        raise ValueError(
            f"q_positions and k_positions must have batch axes that broadcast, got {q.shape} and {k.shape}"
        ) from None
    return q[..., None, :, None], k[..., None, None, :]
