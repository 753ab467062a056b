"""Frequencies for coordinates of pictures, which run from -1 to 1."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from posref._arguments import choice, even, number
from posref.exact import pi, real, real_arithmetic, rounded


def rope_pixel_freq(dim: int, max_freq: float, *, spacing: str = "linear") -> NDArray[np.float64]:
    r"""Rotary frequencies for pixels, in radians per unit of a coordinate in -1 .. 1; for :func:`rope_cos_sin`.

    With n = d/2 pairs, i = 0 .. n - 1 and F the largest frequency in half turns:

    .. math:: \text{linear: } \pi \left(1 + \frac{i}{n - 1} (F/2 - 1)\right) \qquad
              \text{log: } \pi\, (F/2)^{i / (n - 1)}

    Parameters
    ----------
    dim
        Channels that rotate (d) on this axis: positive and even. With one pair the frequency is pi.
    max_freq
        F > 0; the last frequency is pi F / 2.
    spacing
        ``"linear"`` or ``"log"``.

    Returns
    -------
    (dim // 2,) float64

    Raises
    ------
    ValueError
        An odd or non-positive dim, max_freq <= 0, an unknown spacing.

    Notes
    -----
    Source: lucidrains/rotary-embedding-torch, ``freqs_for="pixel"``; timm, ``pixel_freq_bands``, whose ``linear_bands=False`` is
    "log"; EVA-02's code has "linear". Positions are linspace(-1, 1) there; a grid counted in pixels needs :func:`rope_inv_freq`.

    Examples
    --------
    >>> rope_pixel_freq(4, 10.0)
    array([ 3.14159265, 15.70796327])
    """
    n, largest = even(dim) // 2, number(max_freq, "max_freq", above=0)
    choice(spacing, "spacing", ("linear", "log"))
    with real_arithmetic():
        half = real(largest) / 2
        shares = [Decimal(i) / max(n - 1, 1) for i in range(n)]
        bands = [1 - t + t * half if spacing == "linear" else (t * half.ln()).exp() for t in shares]
        return rounded(pi() * band for band in bands)
