"""Biases that a small network makes of offsets: Swin v2, dynamic position bias, FIRE."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, floating, number
from posref._arguments import positions as checked_positions
from posref._bias_arguments import ACTIVATIONS, mlp_shapes
from posref._blocks import ENTRIES, blocks, filled
from posref._each import as_decimal, each_distinct, fewer_digits, log_of_one_more
from posref.exact import real, rounded


def log_offset(relative_position: ArrayLike, *, extent: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""An offset on a logarithmic scale, with its sign.

    .. math:: \operatorname{sign}(d)\, \ln(1 + |d|) \qquad \text{with an extent: } \operatorname{sign}(d)\, \log_8(1 + 8 |d| / E)

    Parameters
    ----------
    relative_position
        d, any shape: real.
    extent
        E > 0, the largest offset of the window that the model was trained in, its size less one: one number, or an array that
        broadcasts against the offsets, such as (axes, 1). None is the first formula.

    Returns
    -------
    Their shape, float64, without unit

    Raises
    ------
    ValueError
        NaN or infinity; an extent <= 0, as of a window of one cell; shapes that do not broadcast.

    Notes
    -----
    Source: Liu et al., Swin v2 (2111.09883), eq. 4, the first formula; its released code has the second one, which is 1 at 7/8
    of E, and a little more at E. Disagreement: timm's ``swin_transformer_v2_cr`` has the paper's formula, its
    ``swin_transformer_v2`` and transformers the code's; x-transformers' dynamic position bias has the paper's on request
    (``log_distance``). The table's
    offsets are ``grid_positions((2h - 1, 2w - 1), start=(1 - h, 1 - w))``, of the query less the key; the window of the
    pretraining gives the extent where there is one. Pitfall: a window of one cell divides 0 by 0 in the released code.

    Examples
    --------
    >>> log_offset([-3, 0, 3])
    array([-1.38629436,  0.        ,  1.38629436])
    >>> log_offset([1, 7], extent=7)
    array([0.36651189, 1.05664167])
    """
    d = checked_positions(relative_position, "relative_position")
    if extent is None:
        return each_distinct(lambda x: _signed(x, log_of_one_more(abs(x))), d)
    e = floating(extent, "extent", finite=True)
    if e.size and e.min() <= 0:
        raise ValueError(f"extent must be > 0, got {e.min():g}")
    try:
        return filled(_in_extents, d, e)
    except ValueError:
        raise ValueError(f"extent of shape {e.shape} must broadcast against the offsets' shape {d.shape}") from None


def _in_extents(d: NDArray[Any], e: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each pair of an offset and an extent once: they are a complex number, which NumPy sorts."""
    distinct, place = np.unique(d + 1j * e, return_inverse=True)
    with fewer_digits():
        eight = Decimal(8).ln()
        pairs = ((Fraction(pair.real), Fraction(pair.imag)) for pair in distinct.tolist())
        found = rounded(_signed(x, log_of_one_more(8 * abs(x) / most) / eight) for x, most in pairs)
    return found[place.reshape(d.shape)]


def _signed(sign: Fraction, size: Decimal) -> Decimal:
    return size if sign >= 0 else -size


def cosine_scale(log_scale: ArrayLike, *, largest: float = 100.0) -> NDArray[np.float64]:
    r"""What Swin v2 multiplies the cosines of queries and keys by: a learned number per head.

    .. math:: \min(e^s, L)

    Parameters
    ----------
    log_scale
        s, any shape, learned; its first value is ln 10.
    largest
        L > 0.

    Returns
    -------
    log_scale.shape, float64

    Raises
    ------
    ValueError
        NaN or infinity; largest <= 0.

    Notes
    -----
    Source: Swin v2 (2111.09883), eq. 2, where it is 1 / tau and tau is above 0.01; released code, which clamps s at ln 100.

    Examples
    --------
    >>> cosine_scale([0.0, 2.0, 5.0])
    array([  1.       ,   7.3890561, 100.       ])
    """
    s, most = floating(log_scale, "log_scale", finite=True), real(number(largest, "largest", above=0))
    with fewer_digits():
        end = most.ln()
    return each_distinct(lambda x: most if as_decimal(x) >= end else as_decimal(x).exp(), s)


def position_mlp(
    features: ArrayLike,
    w1: ArrayLike,
    b1: ArrayLike,
    w2: ArrayLike,
    *,
    b2: ArrayLike | None = None,
    activation: str = "relu",
    ceiling: float | None = None,
) -> NDArray[np.float64]:
    r"""A perceptron of one hidden layer, from features of a pair to a bias per head.

    .. math:: y = W_2\, \phi(W_1 x + b_1) + b_2, \qquad \text{with a ceiling: } C\, \sigma(y)

    Parameters
    ----------
    features
        (..., n), x: :func:`log_offset` of both axes, :func:`fire_distance`, a plain offset.
    w1, b1, w2
        (hidden, n), (hidden,) and (heads, hidden), as linear layers keep them.
    b2
        (heads,); None is 0, as in Swin v2.
    activation
        phi: ``"relu"`` (Swin v2, FIRE), ``"silu"`` (x-transformers' dynamic position bias) or ``"identity"``, for a further
        layer.
    ceiling
        C; 16 in Swin v2, whose sigmoid is the logistic function.

    Returns
    -------
    (..., heads) float64

    Raises
    ------
    ValueError
        Shapes that do not fit each other; an unknown activation; a ceiling that is not finite.

    Notes
    -----
    Source: Swin v2 (2111.09883), sec. 3.3; FIRE (2310.04418), sec. 3.3; CrossFormer (2108.00154), sec. 3.2. Swin v2 makes a row
    per offset, for :func:`indexed_bias`; FIRE a bias per pair, ``np.moveaxis(position_mlp(...), -1, -3)``. CrossFormer's and
    x-transformers' have more layers, with a LayerNorm before each activation in CrossFormer.

    Examples
    --------
    >>> position_mlp([[1.0], [-1.0]], [[2.0]], [0.5], [[1.0], [3.0]])
    array([[2.5, 7.5],
           [0. , 0. ]])
    """
    x, first, bias, second = (
        floating(value, name) for value, name in ((features, "features"), (w1, "w1"), (b1, "b1"), (w2, "w2"))
    )
    last = np.zeros(second.shape[:1]) if b2 is None else floating(b2, "b2")
    mlp_shapes(x.shape, first.shape, bias.shape, second.shape, last.shape)
    choice(activation, "activation", ACTIVATIONS)
    most = None if ceiling is None else number(ceiling, "ceiling")
    rows, y = x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), np.empty((math.prod(x.shape[:-1]), len(second)))
    for at in blocks(y.shape[:1], ENTRIES // max(*first.shape, len(second))):
        y[at] = _activated(rows[at] @ first.T + bias, activation) @ second.T + last
        if most is not None:
            y[at] = most * _logistic(y[at])
    return y.reshape(*x.shape[:-1], len(second))


def _activated(x: NDArray[np.float64], how: str) -> NDArray[Any]:
    if how == "relu":
        return np.maximum(x, 0.0)
    return x if how == "identity" else np.asarray(x * _logistic(x))


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)
