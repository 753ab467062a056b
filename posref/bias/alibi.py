"""ALiBi: attention with linear biases."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._arguments import choice, floating, integer, number
from posref._arguments import positions as checked_positions
from posref._bias_arguments import ALIBI_FORMS, SLOPE_RULES, head_range
from posref._blocks import filled
from posref.bias._differences import each_difference, outer_positions


def alibi_slopes(
    num_heads: int,
    *,
    bias_max: float = 8.0,
    rule: str = "released",
    scale: float = 1.0,
    heads: tuple[int, int] | None = None,
) -> NDArray[np.float64]:
    r"""One slope per head.

    .. math:: m_h = s\, 2^{-Bh/n}, \qquad h = 1 \ldots n, \; n \text{ a power of two}

    For other numbers of heads, with n the power of two below: the n slopes of n heads, then the 1st, 3rd, 5th, ... of 2n heads.
    The result is then not sorted.

    Parameters
    ----------
    num_heads
        All heads of the model, also where this process holds only some of them.
    bias_max
        B: the smallest slope is 2**-B. In MPT's and ggml's files ``alibi_bias_max`` and ``max_alibi_bias``.
    rule
        ``"released"`` is the authors' code, as above; ``"geometric"`` takes the formula for every number of heads as n.
    scale
        s. Falcon adds the bias before the division by sqrt(head_dim): ``head_dim ** -0.5``.
    heads
        (first, end): the heads of one tensor-parallel rank alone. None is all.

    Returns
    -------
    (num_heads,) or (end - first,) float64

    Raises
    ------
    ValueError
        num_heads < 1; bias_max <= 0; an unknown rule; a range of heads that is empty or not within them.

    Notes
    -----
    Source: Press et al., "Train Short, Test Long" (2108.12409), sec. 3, and its released code for other numbers of heads. Heads
    without a bias have slope 0 (x-transformers' ``total_heads``, NeMo).
    Disagreement: "geometric" is in FlexAttention's examples and was in MLX up to 2025. Falcon in transformers rounds slopes
    and positions to bfloat16 besides. Pitfalls: starting at 1 instead of 2**(-8/n); slopes from the heads of one tensor-parallel
    rank alone (FlashInfer; Megatron-DeepSpeed once).

    Examples
    --------
    >>> alibi_slopes(6)
    array([0.25      , 0.0625    , 0.015625  , 0.00390625, 0.5       ,
           0.125     ])
    >>> alibi_slopes(6, heads=(3, 6))
    array([0.00390625, 0.5       , 0.125     ])
    """
    count, most = integer(num_heads, "num_heads"), number(bias_max, "bias_max", above=0)
    choice(rule, "rule", SLOPE_RULES)
    first, end = head_range(heads, count)
    times = exact.real(number(scale, "scale"))
    n = count if rule == "geometric" else 2 ** (count.bit_length() - 1)
    with exact.real_arithmetic():
        step = exact.real(most) * Decimal(2).ln() / (2 * n)
        halves = [*range(2, 2 * n + 1, 2), *range(1, 2 * (count - n), 2)]  # exponents in steps of 2n heads
        return exact.rounded(times * (-k * step).exp() for k in halves[first:end])


def alibi_bias(
    slopes: ArrayLike,
    q_positions: ArrayLike,
    k_positions: ArrayLike,
    *,
    form: str = "distance",
    future_slopes: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Bias on the attention logits, linear in the distance.

    .. math::
        \text{distance: } -m_h\, |q - k| \qquad \text{signed: } -m_h\,(q - k) \qquad \text{key: } m_h\, k

        \text{past: } -m_h \max(q - k, 0) \qquad \text{sqrt: } -m_h \sqrt{\max(q - k, 0)}

    Parameters
    ----------
    slopes
        (heads,).
    q_positions, k_positions
        (..., q) and (..., k): real, signed; leading axes are batch axes.
    form
        ``"distance"`` is symmetric; ``"signed"`` equals it for keys in the past and *favours* keys in the future; ``"past"``
        leaves the future at 0; ``"sqrt"`` is vLLM's variant. ``"key"`` differs from ``"signed"`` by a constant per query, which
        plain softmax under a causal mask does not see. ``"key_last"`` and ``"key_first"`` are ``"key"`` with its zero at the
        last key, or at the first query.
    future_slopes
        (heads,), other slopes m' for keys in the future: -m' (k - q) there. Only with the form "distance"; None is slopes.

    Returns
    -------
    (..., heads, q, k) float64, finite everywhere: the causal mask is not in it.

    Raises
    ------
    ValueError
        An unknown form, slopes that are not a non-empty vector, positions without a sequence axis, NaN or infinity.

    Notes
    -----
    Source: Press et al. (2108.12409), sec. 3, figure 3; for encoders issue 5 of its repository. Which positions the queries have
    while decoding: :func:`query_positions`.

    Disagreement: "distance" in MPT's encoders, x-transformers, llama.cpp and flash-attention without a mask; "past" in GPT-NeoX;
    "key" in BLOOM, fairseq, Megatron-DeepSpeed and flash-attention's causal kernels; "key_last" in MPT; "key_first" in vLLM;
    "signed" in FlexAttention's examples.

    Pitfall: the key forms are other functions where something looks at the logits themselves: without a causal mask, with
    attention sinks (softmax + 1), with a cap on the logits after the bias, in a log-sum-exp that is merged with another one. In
    16 bits they lose the differences of near keys far from their zero.

    Examples
    --------
    >>> alibi_bias([0.5], [2], [0, 1, 2])
    array([[[-1. , -0.5, -0. ]]])
    >>> alibi_bias([0.5], [1], [0, 1, 3], future_slopes=[0.25])
    array([[[-0.5, -0. , -0.5]]])
    """
    m = _slopes(slopes, "slopes")
    q, k = checked_positions(q_positions, "q_positions"), checked_positions(k_positions, "k_positions")
    choice(form, "form", ALIBI_FORMS)
    later = m if future_slopes is None else _slopes(future_slopes, "future_slopes", like=m)
    if future_slopes is not None and form != "distance":
        raise ValueError(f"future_slopes must be None for the form {form!r}, got {len(later)} slopes")
    q, k = outer_positions(q, k)  # (..., 1, q, 1) and (..., 1, 1, k)
    if form == "sqrt":
        return each_difference([partial(_minus_root, exact.real(slope)) for slope in m.tolist()], q, k)
    m, later = m[:, None, None], later[:, None, None]
    if form == "key":
        with np.errstate(over="ignore"):  # infinity without a warning, as in the other forms
            return _of_every_query(m * k, q, k)
    if form in ("key_last", "key_first"):
        zero = k[..., -1:] if form == "key_last" else q[..., :1, :]
        return _of_every_query(exact.times_difference(m, k, zero), q, k)
    if future_slopes is not None:
        return filled(_two_sided, m, later, q, k)
    if form == "past":
        return filled(_past, m, q, k)
    bias = exact.times_difference(-m, q, k)
    if form == "distance":
        np.copysign(bias, -m, out=bias)
    return bias


def _of_every_query(row: NDArray[np.float64], q: NDArray[Any], k: NDArray[Any]) -> NDArray[np.float64]:
    """A row of keys, for each query."""
    bias = np.empty(np.broadcast_shapes(row.shape, q.shape, k.shape))
    bias[...] = row
    return bias


def _slopes(values: ArrayLike, name: str, *, like: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    m = floating(values, name, ndim=1, finite=True)
    if not m.size:
        raise ValueError(f"{name} must have at least one head, got none")
    if like is not None and m.shape != like.shape:
        raise ValueError(f"{name} must be of the shape of slopes, {like.shape}, got {m.shape}")
    return m


def _two_sided(m: Any, later: Any, q: NDArray[Any], k: NDArray[Any]) -> NDArray[np.float64]:
    return exact.times_difference(np.where(q < k, later, -m), q, k)


def _past(m: Any, q: NDArray[Any], k: NDArray[Any]) -> NDArray[np.float64]:
    return np.where(q <= k, 0.0, exact.times_difference(-m, q, k))


def _minus_root(m: Decimal, d: Fraction) -> Decimal:
    return -m * (Decimal(d.numerator) / d.denominator).sqrt() if d > 0 else Decimal(0)
