"""Sinusoids of positions on several axes: pictures, videos, boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._additive_arguments import axis_bases, axis_widths
from posref._arguments import boolean, choice
from posref._arguments import positions as checked_positions
from posref._ladder import ladder
from posref.additive._channels import columns, write


def sinusoidal_axes(
    positions: ArrayLike,
    dim: int,
    *,
    widths: Sequence[int] | None = None,
    base: float | Sequence[float] = 10000.0,
    endpoint: bool = False,
    layout: str = "axis_wave_band",
    order: str = "sin_cos",
) -> NDArray[np.float64]:
    r"""Fixed sinusoidal encoding on several axes: that of each axis, in channels of its own.

    .. math:: \sin(p_a\, w_{ak}), \cos(p_a\, w_{ak}), \qquad
              w_{ak} = b_a^{-2k/d_a} \quad\text{or, with endpoint,}\quad b_a^{-k/(d_a/2 - 1)}

    Parameters
    ----------
    positions
        (axes, ...): a row per axis, real and signed. The order of the rows is that of the axes in the channels:
        :func:`grid_positions` has y first, ``grid_positions((h, w))[::-1]`` x first.
    dim
        The whole width. What the axes leave of it is zeros at the end.
    widths
        Channels per axis (:math:`d_a`), positive and even. None: as many as can be, the same for all.
    base
        One for all axes, or one for each; > 1.
    endpoint
        As in :func:`sinusoidal`: the last frequency of each axis is exactly 1/base.
    layout
        What runs slowest, then next, then fastest along the channels: any order of axis, wave (sine or cosine) and band
        (frequency). ``"axis_wave_band"`` (s0 s1 c0 c1 of the first axis, then of the next), ``"axis_band_wave"`` (s0 c0 s1 c1:
        DETR), ``"wave_axis_band"`` (all sines, then all cosines: timm).
    order
        ``"sin_cos"`` or ``"cos_sin"``.

    Returns
    -------
    ``positions.shape[1:] + (dim,)``, float64.

    Raises
    ------
    ValueError
        No axis; a dim with fewer than two channels for each; widths that are odd, or more than dim in sum; a base <= 1; NaN or
        infinite positions; ``endpoint=True`` with two channels on an axis.

    Notes
    -----
    Source: He et al., MAE (2111.06377), Chen et al., MoCo v3 (2104.02057) and Carion et al., DETR (2005.12872), their released
    code; tensor2tensor ``add_timing_signal_nd``. Disagreement: MAE, MoCo v3 and SimpleViT put x before y, DETR, RT-DETR and timm
    y before x; MAE's frequencies end short of 1/base, MoCo's and tensor2tensor's at it. RT-DETR first took its positions from a
    grid of (w, h) for tokens of (h, w): ``grid_positions((w, h))``, the transpose unless the picture is square. diffusers' video
    encoding takes its ``spatial_size`` as (width, height), and has x before y after time. DETR's positions are
    :func:`mask_coordinates`. Pitfall: ``emb_h`` in MAE's code is the encoding of x.

    Examples
    --------
    >>> sinusoidal_axes([[2], [1]], 8).round(4)
    array([[ 0.9093,  0.02  , -0.4161,  0.9998,  0.8415,  0.01  ,  0.5403,
             1.    ]])
    """
    p = checked_positions(positions)
    if not p.ndim or not len(p):
        raise ValueError(f"positions must be (axes, ...) with at least one axis, got shape {p.shape}")
    total, sizes = axis_widths(dim, widths, len(p))
    bases, shift = axis_bases(base, len(p)), 1 if boolean(endpoint, "endpoint") else 0
    if shift and min(sizes) == 2:
        raise ValueError(
            "dim must give each axis more than 2 channels with endpoint=True, whose exponent is -k / (d // 2 - 1), "
            f"got {sizes}"
        )
    choice(order, "order", ("sin_cos", "cos_sin"))
    table = np.zeros((p[0].size, total))
    with exact.real_arithmetic(p):
        for row, b, n, at in zip(p, bases, sizes, columns([n // 2 for n in sizes], layout, order), strict=True):
            write(table, at, row, ladder(b, n // 2, shift))
    return table.reshape(*p.shape[1:], total)
