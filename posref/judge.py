"""Plain attention: the judge of what an encoding does to it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import as_array, floating, number


def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    scale: float | None = None,
) -> NDArray[np.float64]:
    r"""Plain softmax attention.

    .. math:: \mathrm{softmax}(s\, Q K^\top + B)\, V

    Parameters
    ----------
    q, k, v
        (..., q, d), (..., k, d), (..., k, e); leading axes broadcast.
    bias
        Broadcasts against (..., q, k); added after the scale.
    mask
        Boolean, broadcasts against (..., q, k); True where a query may look. A row without True gives zeros.
    scale
        s; None is 1/sqrt(d). T5 uses 1.

    Returns
    -------
    (..., q, e) float64

    Raises
    ------
    ValueError
        Shapes that do not fit. TypeError: a mask that is not boolean.

    Notes
    -----
    Source: Vaswani et al. (1706.03762), eq. 1.

    Examples
    --------
    >>> attention([[0.0]], [[1.0], [1.0]], [[2.0], [4.0]])
    array([[3.]])
    """
    q, k, v = floating(q, "q"), floating(k, "k"), floating(v, "v")
    if min(q.ndim, k.ndim, v.ndim) < 2 or not q.shape[-1] == k.shape[-1] > 0 or k.shape[-2] != v.shape[-2]:
        raise ValueError(f"q, k, v must be (..., q, d), (..., k, d), (..., k, e), got {q.shape}, {k.shape}, {v.shape}")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else number(scale, "scale")
    try:
        logits = scale * (q @ k.swapaxes(-1, -2))
        leading = np.broadcast_shapes(logits.shape[:-2], v.shape[:-2])
    except ValueError:
        raise ValueError(
            f"q, k, v must have leading axes that broadcast, got {q.shape}, {k.shape}, {v.shape}"
        ) from None
    logits = np.broadcast_to(logits, leading + logits.shape[-2:])
    if bias is not None:
        logits = logits + _fitting(floating(bias, "bias"), "bias", logits.shape)
    if mask is not None:
        allowed = as_array(mask, "mask")
        if allowed.dtype != bool:
            raise TypeError(f"mask must be boolean, True where a query may look, got type {allowed.dtype}")
        logits = np.where(_fitting(allowed, "mask", logits.shape), logits, -np.inf)
    if not k.shape[-2]:
        return np.zeros((*logits.shape[:-1], v.shape[-1]))
    largest = logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits - np.where(np.isneginf(largest), 0.0, largest))
    total = weights.sum(axis=-1, keepdims=True)
    return np.asarray((weights / np.where(total == 0, 1.0, total)) @ v)


def _fitting(array: NDArray[Any], name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"{name} of shape {array.shape} must broadcast against the logits' shape {shape}") from None
