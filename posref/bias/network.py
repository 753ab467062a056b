"""A small network from features of a pair to biases: Swin v2, dynamic position bias, FIRE."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, floating, number
from posref._bias_arguments import ACTIVATIONS, mlp_shapes, norm_shapes
from posref._blocks import ENTRIES, blocks


def position_mlp(
    features: ArrayLike,
    w1: ArrayLike,
    b1: ArrayLike,
    w2: ArrayLike,
    *,
    b2: ArrayLike | None = None,
    activation: str = "relu",
    ceiling: float | None = None,
    norm_weight: ArrayLike | None = None,
    norm_bias: ArrayLike | None = None,
    norm_eps: float = 1e-5,
) -> NDArray[np.float64]:
    r"""A perceptron of one hidden layer, from features of a pair to a bias per head.

    .. math:: y = W_2\, \phi(W_1 x + b_1) + b_2, \qquad \text{with a ceiling: } C\, \sigma(y)

    With a norm, the activation is :math:`\phi(\gamma\, \hat z + \beta)` of :math:`z = W_1 x + b_1`, less its mean over the
    hidden values and divided by :math:`\sqrt{\mathrm{var}(z) + \epsilon}`.

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
    norm_weight, norm_bias, norm_eps
        gamma and beta, (hidden,), and epsilon of a LayerNorm before the activation, as in CrossFormer. Without a weight there is
        none; without a bias beta is 0.

    Returns
    -------
    (..., heads) float64

    Raises
    ------
    ValueError
        Shapes that do not fit each other; an unknown activation; a ceiling that is not finite; a norm_bias without norm_weight;
        a norm_eps that is not positive.

    Notes
    -----
    Source: Swin v2 (2111.09883), sec. 3.3; FIRE (2310.04418), sec. 3.3; CrossFormer (2108.00154), sec. 3.2. Swin v2 makes a row
    per offset, for :func:`indexed_bias`; FIRE a bias per pair, ``np.moveaxis(position_mlp(...), -1, -3)``. CrossFormer's and
    x-transformers' have more layers: the first one alone, with the identity as w2, gives the features of the next. CrossFormer
    has a LayerNorm before each activation, x-transformers on request (``norm``).

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
    norm = _norm(norm_weight, norm_bias, norm_eps, bias.shape)
    choice(activation, "activation", ACTIVATIONS)
    most = None if ceiling is None else number(ceiling, "ceiling")
    rows, y = x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), np.empty((math.prod(x.shape[:-1]), len(second)))
    for at in blocks(y.shape[:1], ENTRIES // max(*first.shape, len(second))):
        y[at] = _activated(norm(rows[at] @ first.T + bias), activation) @ second.T + last
        if most is not None:
            y[at] = most * _logistic(y[at])
    return y.reshape(*x.shape[:-1], len(second))


def _norm(weight: Any, bias: Any, eps: object, hidden: tuple[int, ...]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """LayerNorm over the last axis; the identity without a weight."""
    epsilon = number(eps, "norm_eps", above=0)
    if weight is None:
        if bias is not None:
            raise ValueError("norm_bias must be None without norm_weight, got an array")
        return lambda z: z
    gamma = floating(weight, "norm_weight")
    beta = np.zeros(hidden) if bias is None else floating(bias, "norm_bias")
    norm_shapes({"norm_weight": gamma.shape, "norm_bias": beta.shape}, hidden)

    def normed(z: NDArray[Any]) -> NDArray[Any]:
        centred = z - z.mean(axis=-1, keepdims=True)
        variance = np.mean(centred**2, axis=-1, keepdims=True)
        return np.asarray(gamma * (centred / np.sqrt(variance + epsilon)) + beta)

    return normed


def _activated(x: NDArray[np.float64], how: str) -> NDArray[Any]:
    if how == "relu":
        return np.maximum(x, 0.0)
    return x if how == "identity" else np.asarray(x * _logistic(x))


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)
