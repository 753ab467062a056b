"""Rotary code that is no rotation: a cos and a sin for every channel, where a rotation has one for every pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, floating, integer
from posref._axes_arguments import channel_pairs
from posref.rotary.rotation import LAYOUTS, _pair_channels


def rope_apply_channels(
    x: ArrayLike, cos: ArrayLike, sin: ArrayLike, *, layout: str = "half", offset: int = 0
) -> NDArray[np.float64]:
    r"""The usual code of a rotation, ``x * cos + rotate_half(x) * sin``, with tables that hold one column per channel.

    .. math:: (a, b) \to (a \cos\alpha - b \sin\alpha,\; a \sin\beta + b \cos\beta)

    A rotation, :func:`rope_apply`, where the two members of each pair have the same angle, :math:`\alpha = \beta`. **Otherwise
    not a rotation**: norms change, and scores depend on more than the difference of the positions. Two released models do this.

    Parameters
    ----------
    x
        (..., sequence, channels).
    cos, sin
        (..., sequence, n), one column per *channel* of the block, in the channels' order; n is even. Leading axes broadcast
        against x's by NumPy's rules.
    layout
        Which channels of the block are a pair: ``"half"`` (i, i + n/2), ``"interleaved"`` (2i, 2i + 1).
    offset
        First channel of the block. Channels outside of it pass through untouched.

    Returns
    -------
    Like x; float64.

    Raises
    ------
    ValueError
        x without a channel axis; cos and sin of different shapes, of an odd number of columns, or that do not broadcast against
        x; a block that does not fit into the channels; an unknown layout.

    Notes
    -----
    Source: transformers' code, for both. HunYuan-VL's XD-RoPE splits the doubled channels, not the pairs, into its axes: with w
    from :func:`rope_inv_freq` the tables are ``rope_axes_cos_sin(positions, np.tile(w, 2), rope_axis_map([2 * s for s in
    sections]))``, layout "half". V-JEPA 2 tiles the frequencies of a block whose pairs are interleaved: with
    m = 2 * (head_dim // 3 // 2) channels per axis the tables are ``rope_axes_cos_sin(positions, np.tile(rope_inv_freq(m), 6),
    rope_axis_map((m, m, m)))``, layout "interleaved".

    Examples
    --------
    >>> x, angle = [[1.0, 2.0, 3.0, 4.0]], np.array([[1.0, 0.01, 1.0, 0.01]])
    >>> rope_apply_channels(x, np.cos(angle), np.sin(angle)).round(3)  # one angle per pair: a rotation
    array([[-1.984,  1.96 ,  2.462,  4.02 ]])
    >>> rope_apply_channels(x, np.cos(angle), np.sin(angle), layout="interleaved").round(3)  # two angles per pair
    array([[-1.143,  2.01 , -1.745,  4.03 ]])
    """
    x, cos, sin = floating(x, "x"), floating(cos, "cos"), floating(sin, "sin")
    choice(layout, "layout", LAYOUTS)
    pairs = channel_pairs(x.shape, cos.shape, sin.shape, integer(offset, "offset", least=0))
    y = x.copy()
    (first, second), (to_first, to_second) = (_pair_channels(pairs, layout, start) for start in (0, offset))
    a, b = x[..., to_first], x[..., to_second]
    y[..., to_first] = a * cos[..., first] - b * sin[..., first]
    y[..., to_second] = a * sin[..., second] + b * cos[..., second]
    return np.asarray(y)
