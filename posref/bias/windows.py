"""Which entry of a learned table a pair of cells of a window has: Swin, BEiT, MaxViT, LeViT."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from posref._bias_arguments import window_arguments
from posref.rotary.grids import grid_positions


def relative_position_index(
    sizes: Sequence[int],
    *,
    offset: str = "query_minus_key",
    stride: int = 1,
    reach: Sequence[int] | None = None,
    class_token: bool = False,
) -> NDArray[np.int64]:
    r"""Rows of a relative-position table, one for each offset between two cells of a window.

    .. math::
        (r_q - r_k + R_1)\,(2 R_2 + 1) + (c_q - c_k + R_2) \qquad \text{absolute: } |r_q - r_k|\,(R_2 + 1) + |c_q - c_k|

    for two axes; R is the reach. The last axis runs fastest, of cells as of offsets, whatever the number of axes.

    Parameters
    ----------
    sizes
        Cells per axis: (height, width), or (time, height, width) as in Video Swin.
    offset
        ``"query_minus_key"`` is Swin's and BEiT's, ``"key_minus_query"`` MaxViT's and CoAtNet's: the mirrored table.
        ``"absolute"`` is LeViT's, EfficientFormer's and TinyViT's: without the sign.
    stride
        The queries are at every stride-th cell of each axis, from the first on: LeViT's subsampling has 2.
    reach
        R, the largest distance that the table has, per axis; a pair beyond it has index -1, for which :func:`indexed_bias` gives
        0. None is sizes - 1: all of them.
    class_token
        Whether there is a token before the cells, as in BEiT: three more rows, for class to cell, cell to class and class to
        class, in this order.

    Returns
    -------
    (queries, keys) int64. The table has as many rows as the product of 2 R + 1 over the axes, or of R + 1 without signs, and 3
    for the class token.

    Raises
    ------
    ValueError
        No axis, negative sizes, not one entry per axis; an unknown word; a stride < 1.

    Notes
    -----
    Source: Liu et al., Swin (2103.14030), sec. 3.2, released code; Bao et al., BEiT (2106.08254); Tu et al., MaxViT
    (2204.01697); Graham et al., LeViT (2104.01136). LeViT numbers the offsets as it meets them, which is the same. The offsets
    themselves, row by row, are ``grid_positions((2h - 1, 2w - 1), start=(1 - h, 1 - w))``: Swin v2 puts them through an MLP.
    For another window :func:`resample_table` takes the table as a grid of that size, without the class token's rows. Pitfall:
    height and width swapped, which shows only in windows that are not square.

    Examples
    --------
    >>> relative_position_index((2, 2))
    array([[4, 3, 1, 0],
           [5, 4, 2, 1],
           [7, 6, 4, 3],
           [8, 7, 5, 4]])
    >>> relative_position_index((1, 2), offset="absolute", class_token=True)
    array([[4, 2, 2],
           [3, 0, 1],
           [3, 1, 0]])
    """
    cells, largest, step = window_arguments(sizes, offset, stride, reach, class_token)
    k = grid_positions(cells)
    q = step * grid_positions([-(-n // step) for n in cells])
    difference = q[:, :, None] - k[:, None, :]  # (axes, q, k)
    if offset == "key_minus_query":
        difference = -difference
    elif offset == "absolute":
        difference = np.abs(difference)
    index, rows = np.zeros(difference.shape[1:], np.int64), 1
    for d, r in zip(difference, largest, strict=True):
        width, first = (r + 1, 0) if offset == "absolute" else (2 * r + 1, r)
        index, rows = index * width + d + first, rows * width
    index[(np.abs(difference) > np.array(largest)[:, None, None]).any(axis=0)] = -1
    return _with_class_token(index, rows) if class_token else index


def _with_class_token(index: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    whole = np.pad(index, ((1, 0), (1, 0)))
    whole[0, :], whole[:, 0], whole[0, 0] = rows, rows + 1, rows + 2
    return whole
