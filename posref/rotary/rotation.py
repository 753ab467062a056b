"""Step three of three: the rotation of channel pairs, and the fused form of all three steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import (
    boolean,
    choice,
    floating,
    integer,
    is_floating,
    require_positions_of,
    rotary_dim,
    rotated_pairs,
    shown,
)
from posref._arguments import positions as checked_positions
from posref.rotary.scaling import Scaling
from posref.rotary.tables import rope_table

LAYOUTS = ("half", "interleaved")


def rope_apply(
    x: ArrayLike,
    cos: ArrayLike,
    sin: ArrayLike,
    *,
    layout: str = "half",
    output_layout: str | None = None,
    offset: int = 0,
    inverse: bool = False,
    out: NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    r"""Rotate pairs of channels by given cos and sin.

    .. math:: (a, b) \to (a \cos\theta - b \sin\theta,\; a \sin\theta + b \cos\theta)

    Parameters
    ----------
    x
        (..., sequence, channels).
    cos, sin
        (..., sequence, pairs), one column per *pair*; leading axes broadcast against x's by NumPy's rules.
    layout
        Which channels are pair i of the rotated block: ``"half"`` (i, i + pairs), as in GPT-NeoX and transformers' Llama;
        ``"interleaved"`` (2i, 2i + 1), as in RoFormer, GPT-J and Meta's Llama.
    output_layout
        Where the pair goes; None is where it came from. DeepSeek-V3 in transformers reads interleaved and writes half.
    offset
        First channel of the rotated block (DeepSeek-V4 rotates the tail). Channels outside of it pass through untouched.
    inverse
        Apply the transpose, which undoes the rotation where cos**2 + sin**2 = 1. A magnitude in cos and sin is not undone.
    out
        Array of x's shape that takes the result; may be x itself.

    Returns
    -------
    Like x; float64, or ``out``.

    Raises
    ------
    ValueError
        x without a channel axis; cos and sin of different shapes, or that do not broadcast against x; a block that does not
        fit into the channels; an unknown layout; out of another shape.

    Notes
    -----
    Source: RoFormer (2104.09864), eq. 34. Pitfalls: mixing the two layouts keeps no norm; a permuted output keeps all scores,
    so that only a comparison of the vectors finds it.

    Examples
    --------
    >>> cos, sin = rope_table([1], 4)
    >>> rope_apply([[1.0, 2.0, 3.0, 4.0]], cos, sin).round(3)
    array([[-1.984,  1.96 ,  2.462,  4.02 ]])
    """
    x, cos, sin = floating(x, "x"), floating(cos, "cos"), floating(sin, "sin")
    inverse = boolean(inverse, "inverse")
    choice(layout, "layout", LAYOUTS)
    if output_layout is not None:
        choice(output_layout, "output_layout", LAYOUTS)
    pairs = rotated_pairs(x.shape, cos.shape, sin.shape, integer(offset, "offset", least=0))
    first, second = _pair_channels(pairs, layout, offset)
    to_first, to_second = _pair_channels(pairs, output_layout or layout, offset)
    a, b = x[..., first], x[..., second]
    if inverse:
        sin = -sin
    y = x.copy()
    y[..., to_first] = a * cos - b * sin
    y[..., to_second] = a * sin + b * cos
    if out is None:
        return np.asarray(y)
    if not isinstance(out, np.ndarray) or out.shape != x.shape or not is_floating(out.dtype):
        raise ValueError(f"out must be a floating array of x's shape {x.shape}, got {shown(out)}")
    if not out.flags.writeable:
        raise ValueError("out must be writeable, got a read-only array")
    out[...] = y
    return out


def rope(
    x: ArrayLike,
    positions: ArrayLike,
    *,
    dim: int | None = None,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    seq_len: int | None = None,
    layout: str = "half",
    output_layout: str | None = None,
    offset: int = 0,
    inverse: bool = False,
    out: NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    r"""Rotary position encoding in one call: :func:`rope_table`, then :func:`rope_apply`.

    .. math:: (a, b) \to (a \cos p w_i - b \sin p w_i,\; a \sin p w_i + b \cos p w_i), \qquad w_i = b^{-2i/d}

    Parameters
    ----------
    x
        (..., sequence, channels).
    positions
        Broadcast against ``x.shape[:-1]`` by NumPy's rules and by nothing else.
    dim
        Channels that rotate; None is all of them, from ``offset`` on. Fewer than there are is partial rotary.
    base, scaling, seq_len
        As in :func:`rope_inv_freq`; the scaling's attention factor is applied. ``seq_len=None`` is the original length.
    layout, output_layout, offset, inverse, out
        As in :func:`rope_apply`.

    Returns
    -------
    Like x; float64, or ``out``.

    Raises
    ------
    ValueError
        As :func:`rope_table` and :func:`rope_apply`; positions that do not broadcast; more channels to rotate than there are.

    Notes
    -----
    Source: RoFormer (2104.09864), eq. 34.

    Examples
    --------
    >>> rope([[1.0, 2.0, 3.0, 4.0]], [1], layout="interleaved").round(3)
    array([[-1.143,  1.922,  2.96 ,  4.03 ]])
    """
    x = floating(x, "x")
    dim, p = rotary_dim(dim, x.shape, offset), checked_positions(positions)
    require_positions_of(x.shape, p.shape)
    cos, sin = rope_table(p, dim, base=base, scaling=scaling, seq_len=seq_len)
    return rope_apply(x, cos, sin, layout=layout, output_layout=output_layout, offset=offset, inverse=inverse, out=out)


def _pair_channels(pairs: int, layout: str, offset: int) -> tuple[slice, slice]:
    """The channels of the first and of the second members of all pairs."""
    if layout == "half":
        return slice(offset, offset + pairs), slice(offset + pairs, offset + 2 * pairs)
    return slice(offset, offset + 2 * pairs, 2), slice(offset + 1, offset + 2 * pairs, 2)
