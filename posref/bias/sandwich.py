"""Sandwich: what is left of sinusoidal encodings in the logits, as a bias."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._arguments import even, integer, number
from posref._arguments import positions as checked_positions
from posref._bias_arguments import sandwich_start
from posref.bias._differences import distinct_differences, outer_positions, spread


def sandwich_bias(
    num_heads: int,
    q_positions: ArrayLike,
    k_positions: ArrayLike,
    *,
    dim: int = 128,
    base: float = 10000.0,
    start: int = 1,
) -> NDArray[np.float64]:
    r"""Bias on the attention logits: the product of two sinusoidal encodings, less its value at distance 0.

    .. math::
        \frac{H}{8 h} \Big( \sum_{i} \cos\big((q - k)\, b^{-2i/d}\big) - \frac{d}{2} \Big), \qquad
        i = s \ldots s + d/2 - 1, \quad h = 1 \ldots H

    Parameters
    ----------
    num_heads
        H.
    q_positions, k_positions
        (..., q) and (..., k): real, signed; leading axes are batch axes.
    dim
        d, even; it need not be that of a head. The paper found 128 to do well.
    base
        b > 1.
    start
        s, the first index of the sum: 1 in NeMo, 0 where the frequencies are those of the sinusoidal encoding itself.

    Returns
    -------
    (..., heads, q, k) float64, never positive: the causal mask is not in it.

    Raises
    ------
    ValueError
        num_heads < 1; an odd dim; base <= 1; a start that is neither 0 nor 1; positions without a sequence axis, NaN or infinity.

    Notes
    -----
    Source: Chi et al., Dissecting Transformer Length Extrapolation (2212.10356), sec. 6; NeMo. Each cosine less 1 is taken as
    :math:`-2 \sin^2` of half its angle, so that nothing cancels near distance 0. Disagreement: the start. One port
    leaves out the cosine and the last term.

    Examples
    --------
    >>> sandwich_bias(8, [1], [0])[:2, 0, 0]
    array([-1.44661851, -0.72330925])
    >>> sandwich_bias(8, [1], [0], start=0)[:2, 0, 0]
    array([-1.90631619, -0.9531581 ])
    """
    heads, pairs = integer(num_heads, "num_heads"), even(dim) // 2
    b, first = number(base, "base", above=1), sandwich_start(start)
    q, k = checked_positions(q_positions, "q_positions"), checked_positions(k_positions, "k_positions")
    q, k = outer_positions(q, k)
    distinct = distinct_differences(q, k)
    near, rest = distinct.real, distinct.imag
    with exact.real_arithmetic(near):
        log_base = exact.real(b).ln()
        halves = [(-log_base * i / pairs).exp() / 2 for i in range(first, first + pairs)]
        cos, sin = exact.cos_sin(near, halves)
        if rest.any():  # a difference that takes two float64
            c, s = exact.cos_sin(rest, halves)
            sin = sin * c + cos * s
    sums = np.array([math.fsum(row) for row in (sin * sin).tolist()])
    factors = -heads / (4.0 * np.arange(1, heads + 1))  # 2 H / 8 h
    return spread(factors[:, None] * sums, distinct, q, k)
