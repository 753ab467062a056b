"""PoPE: polar coordinates, where a channel gives the length and the position alone the angle. Not a rotation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._arguments import broadcasts, floating, number, require_positions_of
from posref._arguments import positions as checked_positions
from posref._ladder import ladder


def pope_apply(
    x: ArrayLike, positions: ArrayLike, *, base: float = 10000.0, bias: ArrayLike | None = None
) -> NDArray[np.float64]:
    r"""Polar Coordinate Position Embedding of queries or keys; **not a rotation** of x, whose sign becomes a length.

    .. math:: \ln(1 + e^{x_i}) \cdot \bigl(\cos(p\, w_i + \delta_i),\; \sin(p\, w_i + \delta_i)\bigr), \qquad w_i = b^{-i/d}

    There is one frequency per channel, i = 0 .. d - 1, where rotary encodings have one per pair. A query and a key score
    :math:`\sum_i \mu_i \mu'_i \cos((q - k) w_i - \delta_i)`.

    Parameters
    ----------
    x
        (..., sequence, d).
    positions
        p, broadcast against ``x.shape[:-1]``; real, signed.
    base
        b > 1.
    bias
        :math:`\delta`, learned, of the *keys*: broadcasts against x, as (d,) or (heads, 1, d) do; clamped to :math:`-2\pi .. 0`.
        None is 0, as for queries.

    Returns
    -------
    (..., sequence, 2 d) float64: d cosines, then d sines

    Raises
    ------
    ValueError
        x without channels, positions or a bias that do not broadcast, NaN or infinite positions or bias, a base <= 1.

    Notes
    -----
    Source: Gopalakrishnan et al., "Decoupling the 'What' and 'Where' With Polar Coordinate Positional Embeddings" (2509.10534);
    lucidrains/x-transformers, ``PolarEmbedding``.

    Examples
    --------
    >>> pope_apply([[0.0]], [0])
    array([[0.69314718, 0.        ]])
    """
    x, p = floating(x, "x"), checked_positions(positions)
    if not x.ndim or not x.shape[-1]:
        raise ValueError(f"x must have at least one channel, got shape {x.shape}")
    require_positions_of(x.shape, p.shape)
    with exact.real_arithmetic(p):
        cos, sin = exact.cos_sin(p, ladder(number(base, "base", above=1), x.shape[-1]))  # (..., d)
    if bias is not None:
        delta = np.clip(floating(bias, "bias", finite=True), -2 * math.pi, 0.0)
        if not broadcasts(delta.shape, x.shape):
            raise ValueError(f"bias of shape {delta.shape} must broadcast against x.shape = {x.shape}")
        c, s = np.cos(delta), np.sin(delta)
        cos, sin = cos * c - sin * s, sin * c + cos * s
    length = np.logaddexp(0.0, x)
    return np.concatenate([length * cos, length * sin], axis=-1)
