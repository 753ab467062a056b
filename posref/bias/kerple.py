"""KERPLE: kernels of the distance, with two learned numbers per head."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, floating
from posref._arguments import positions as checked_positions
from posref._bias_arguments import KERNELS
from posref._each import as_decimal, log_of_one_more
from posref.bias._differences import each_difference, outer_positions


def kerple_bias(
    r1: ArrayLike, r2: ArrayLike, q_positions: ArrayLike, k_positions: ArrayLike, *, form: str = "log"
) -> NDArray[np.float64]:
    r"""Bias on the attention logits: a kernel of the distance.

    .. math:: \text{log: } -r_1 \ln(1 + r_2\, |q - k|) \qquad \text{power: } -r_1\, |q - k|^{r_2}

    Parameters
    ----------
    r1, r2
        (heads,), learned; r2 is not negative for "log" and positive for "power".
    q_positions, k_positions
        (..., q) and (..., k): real, signed; leading axes are batch axes.
    form
        ``"log"`` or ``"power"``.

    Returns
    -------
    (..., heads, q, k) float64, finite everywhere: the causal mask is not in it.

    Raises
    ------
    ValueError
        An unknown form; r1 and r2 that are not vectors of one length, or not finite; an r2 out of its range; positions without a
        sequence axis, NaN or infinity.

    Notes
    -----
    Source: Chi et al., KERPLE (2205.09921), sec. 4.2 and its released code, which keeps both numbers at 0.01 and above, r2 of
    the power at most 2, and has distance 0 for keys in the future. ALiBi is the power with r2 = 1. The released code's
    weights, which multiply the logits, are ``np.exp(kerple_bias(..., form="power"))``. Disagreement: NeMo's r1 are ALiBi's
    slopes, and its r2 are zeros that nothing trains, so that the bias is 0.

    Examples
    --------
    >>> kerple_bias([2.0], [1.0], [3], [0, 2, 3])
    array([[[-2.77258872, -1.38629436, -0.        ]]])
    >>> kerple_bias([0.5], [1.5], [4], [0], form="power")
    array([[[-4.]]])
    """
    first, second = (floating(r, name, ndim=1, finite=True) for name, r in (("r1", r1), ("r2", r2)))
    power = choice(form, "form", KERNELS) == "power"
    if not first.size or first.shape != second.shape:
        raise ValueError(f"r1 and r2 must be two numbers per head, got shapes {first.shape} and {second.shape}")
    if second.min() < 0 or (power and second.min() == 0):
        raise ValueError(f"r2 must be {'> 0' if power else '>= 0'} for the form {form!r}, got {second.min():g}")
    q, k = checked_positions(q_positions, "q_positions"), checked_positions(k_positions, "k_positions")
    kernel = _power if power else _log
    heads = zip(map(Fraction, first.tolist()), map(Fraction, second.tolist()), strict=True)
    return each_difference([partial(kernel, a, b) for a, b in heads], *outer_positions(q, k))


def _log(r1: Fraction, r2: Fraction, d: Fraction) -> Decimal:
    return -as_decimal(r1) * log_of_one_more(r2 * abs(d))


def _power(r1: Fraction, r2: Fraction, d: Fraction) -> Decimal:
    return -as_decimal(r1) * (as_decimal(r2) * as_decimal(abs(d)).ln()).exp() if d else Decimal(0)
