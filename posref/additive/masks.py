"""Where the pixels of a padded picture lie: counts of those that are really there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import integer, number
from posref._integers import quotient
from posref._mask import checked_mask


def mask_coordinates(
    mask: ArrayLike, *, axes: int = 2, scale: float | None = None, shift: float = 0.0, eps: float = 1e-6
) -> NDArray[np.float64]:
    r"""Coordinates of the pixels of a padded picture, a row per axis: how many are there up to each, along that axis.

    .. math:: c_a - h \qquad\text{or, with a scale,}\qquad s\, \frac{c_a - h}{n_a + \epsilon}, \qquad
              c_a(i) = \sum_{j \le i} m_j, \quad n_a = c_a(\text{last})

    Parameters
    ----------
    mask
        (..., sizes): booleans, or 0 and 1, True where a pixel is there. The last ``axes`` axes are the picture's.
    axes
        Axes of the picture: 2, or 3 for a video.
    scale
        The largest coordinate (s); 2 pi in DETR. None leaves the counts as they are.
    shift
        h: 0 (DETR: the first pixel is 1) or 0.5 (Deformable DETR: the centres of the pixels).
    eps
        Keeps a line without pixels from dividing by 0; > 0.

    Returns
    -------
    ``(axes,) + mask.shape``, float64: the rows are (y, x) for a picture; what :func:`sinusoidal_axes` takes.

    Raises
    ------
    ValueError
        A mask of other numbers than 0 and 1, or with fewer axes; eps <= 0. TypeError: a mask of neither booleans nor integers.

    Notes
    -----
    Source: Carion et al., DETR (2005.12872), released code; Zhu et al., Deformable DETR (2010.04159). Disagreement: the shift,
    which changes an encoding that was trained with the other; Deformable DETR shifts only where it normalises, so that
    ``shift=0.5`` goes with a scale. Padded pixels repeat the coordinate before them. Pitfall: the last row and the last column of
    the padded picture are what is divided by, and lie in the padding of the smaller pictures of a batch.

    Examples
    --------
    >>> mask_coordinates([[1, 1, 0]])
    array([[[1., 1., 0.]],
    <BLANKLINE>
           [[1., 2., 2.]]])
    """
    pixels, n = checked_mask(mask), integer(axes, "axes")
    s, h, small = None if scale is None else number(scale, "scale"), number(shift, "shift"), number(eps, "eps", above=0)
    if pixels.ndim < n:
        raise ValueError(f"mask must have at least {n} axes, got shape {pixels.shape}")
    counts = np.stack([np.cumsum(pixels, axis=axis, dtype=np.int64) for axis in range(-n, 0)])
    if s is None:
        return np.asarray(counts - h)
    totals = np.stack([np.broadcast_to(np.sum(pixels, axis=a, keepdims=True), pixels.shape) for a in range(-n, 0)])
    pairs, place = np.unique(np.stack([counts.ravel(), totals.ravel()]), axis=1, return_inverse=True)
    factor, below, more = Fraction(s), Fraction(h), Fraction(small)
    values = [quotient((factor * (c - below) / (total + more)).as_integer_ratio()) for c, total in pairs.T.tolist()]
    return np.array(values, dtype=np.float64)[place.reshape(counts.shape)]
