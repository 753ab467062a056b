"""RoPE-Mixed: every pair turns with all axes at once, by frequencies that are learned."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._arguments import floating
from posref._arguments import positions as checked_positions
from posref._axes_arguments import mixed_shape


def rope_mixed_cos_sin(positions: ArrayLike, frequencies: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Cos and sin of angles that sum over the axes.

    .. math:: \theta_{hi} = \sum_a p_a\, f_{ahi}

    Parameters
    ----------
    positions
        (axes, ..., sequence): a row per axis.
    frequencies
        (axes, ..., pairs), radians per position; usually (axes, heads, pairs). The axes between broadcast against those of
        positions by NumPy's rules: positions with a batch are (axes, batch, 1, sequence).

    Returns
    -------
    cos, sin
        Each (..., sequence, pairs), float64: what :func:`rope_apply` takes. (heads, sequence, pairs) for (axes, sequence) and
        (axes, heads, pairs).

    Raises
    ------
    ValueError
        NaN or infinite values; not as many axes in one as in the other; axes between that do not broadcast.

    Notes
    -----
    Source: Heo et al., RoPE-ViT (2403.13298), sec. 3.2: one set of frequencies per layer and head, the column first, the class
    token not rotated. Mochi has three axes, centred and scaled to a fixed area. Scores depend on the difference alone, as for any
    rotation; there is no ladder and so no base.

    Examples
    --------
    >>> cos, sin = rope_mixed_cos_sin([[0, 1], [0, 2]], [[0.5], [0.25]])
    >>> sin.round(4)
    array([[0.    ],
           [0.8415]])
    """
    p, f = checked_positions(positions), floating(frequencies, "frequencies", finite=True)
    mixed_shape(p.shape, f.shape)
    exactly = np.vectorize(Fraction, otypes=[object])
    angles = sum(exactly(q)[..., :, None] * exactly(w)[..., None, :] for q, w in zip(p, f, strict=True))
    cos, sin = exact.cos_sin(np.array(1.0), list(angles.flat))
    return cos.reshape(angles.shape), sin.reshape(angles.shape)
