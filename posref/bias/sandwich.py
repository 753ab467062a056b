"""Sandwich: what is left of sinusoidal encodings in the logits, as a bias."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._arguments import even, integer, number
from posref._arguments import positions as checked_positions
from posref._bias_arguments import sandwich_start
from posref._integers import quotient
from posref._small_angles import two_product
from posref.bias._differences import Differences, fractions, from_differences, outer_positions
from posref.bias._sines import sum_of_squares, sums_of_squares


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
    :math:`-2 \sin^2` of half its angle, so that nothing cancels near distance 0, and the bias is that of the exact difference,
    rounded once. Disagreement: the start. One port leaves out the cosine and the last term.

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
    return from_differences(lambda differences: _per_head(heads, differences, b, pairs, first), heads, q, k)


def _per_head(heads: int, differences: Differences, base: float, pairs: int, first: int) -> NDArray[np.float64]:
    """(heads, differences): -H / (4 h) times the sum of the squared sines, each rounded once."""
    near, rest = differences.real / 2, differences.imag / 2  # a bit that is lost here is below 2^-1074
    with exact.real_arithmetic(near):
        log_base = exact.real(base).ln()
        frequencies = [(-log_base * i / pairs).exp().as_integer_ratio() for i in range(first, first + pairs)]
    exactly = [d / 2 for d in fractions(differences)]
    main, small, doubt = sums_of_squares([near, rest], frequencies)
    values, once = np.empty((heads, len(near))), cache(partial(sum_of_squares, frequencies=frequencies))
    for head, row in enumerate(values):
        factor = Fraction(-heads, 4 * (head + 1))
        upper = float(factor)
        product, low = two_product(np.array(upper), main)
        low += upper * small + float(factor - Fraction(upper)) * main
        bound = abs(upper) * doubt + 2.0**-100 * np.abs(product)  # three roundings of 2^-53 of the last product
        row[:] = product + (low + bound)
        for i in np.flatnonzero(row != product + (low - bound)).tolist():
            row[i] = -quotient((-factor * once(exactly[i])).as_integer_ratio())
    return values
