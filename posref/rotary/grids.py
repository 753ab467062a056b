"""Where the patches of an image or the tokens of a video lie: positions with a row per axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from posref._axes_arguments import grid_arguments, grid_divisors


def grid_positions(
    sizes: Sequence[int], *, block: Sequence[int] | None = None, start: int | Sequence[int] = 0
) -> NDArray[np.int64]:
    r"""Positions of the cells of a grid, a row per axis.

    .. math:: (r, c) = (\lfloor j / W \rfloor,\; j \bmod W), \qquad j = 0 \ldots HW - 1

    for two axes of H and W cells: the last axis runs fastest, whatever the number of axes.

    Parameters
    ----------
    sizes
        Cells per axis: (height, width), or (time, height, width).
    block
        Cells per axis of the blocks that are listed one after the other, each of them in the same order; they divide sizes.
        None is one block. Qwen-VL's vision models have (1, 2, 2): the patches that are merged later are neighbours.
    start
        The first position, one for all axes or one per axis; may be negative.

    Returns
    -------
    (axes, cells) int64

    Raises
    ------
    ValueError
        No axis, negative sizes, a block that does not divide sizes, not one entry per axis.

    Notes
    -----
    Source: the code of the models that are named here. Another order of the axes is another order of the rows:
    ``grid_positions((h, w))[::-1]`` puts the column first, as RoPE-ViT and the vision models of SAM 2, Llama 4 and Gemma 4 do.
    Llama 4 has ``start=1``, and a column of zeros at the end for the class token, whose angle is 0. Qwen-Image centres, with
    negative positions: ``start=(0, h // 2 - h, w // 2 - w)``. EVA-02 stretches the grid that it was trained on over a finer
    one: ``grid_positions((n, n)) * trained / n``. Cosmos counts time in ``24 / fps``. Pitfall: height and width swapped shows
    only on grids that are not square.

    Examples
    --------
    >>> grid_positions((2, 3))
    array([[0, 0, 0, 1, 1, 1],
           [0, 1, 2, 0, 1, 2]])
    >>> grid_positions((2, 4), block=(2, 2))
    array([[0, 0, 1, 1, 0, 0, 1, 1],
           [0, 1, 0, 1, 2, 3, 2, 3]])
    """
    cells, inner, first = grid_arguments(sizes, block, start)
    outer = [n // b for n, b in zip(cells, inner, strict=True)]
    which, within = np.indices((*outer, *inner), dtype=np.int64).reshape(
        2, len(cells), -1
    )  # of the blocks, in the block
    positions: NDArray[np.int64] = which * np.array(inner)[:, None] + within + np.array(first)[:, None]
    return positions


def grid_coordinates(
    sizes: Sequence[int], *, block: Sequence[int] | None = None, normalize: str = "separate"
) -> NDArray[np.float64]:
    r"""Coordinates of the centres of a grid's cells, from -1 to 1, a row per axis.

    .. math:: c = 2\, (j + 1/2) / N - 1

    Parameters
    ----------
    sizes, block
        As in :func:`grid_positions`.
    normalize
        N: ``"separate"`` is the axis' own number of cells, ``"max"`` and ``"min"`` the largest and the smallest of all axes,
        so that cells stay square. With "max" the shorter axis ends before 1, with "min" the longer one beyond it.

    Returns
    -------
    (axes, cells) float64

    Raises
    ------
    ValueError
        As :func:`grid_positions`; an unknown word.

    Notes
    -----
    Source: Siméoni et al., DINOv3 (2508.10104), released code: ``pos_embed_rope_normalize_coords``; its positions are
    ``2 * np.pi * grid_coordinates((h, w))``. transformers knows "separate" only, timm all three. Pitfall: with "max" and "min"
    the coordinates are not symmetric about 0 on the other axes.

    Examples
    --------
    >>> grid_coordinates((2, 4))
    array([[-0.5 , -0.5 , -0.5 , -0.5 ,  0.5 ,  0.5 ,  0.5 ,  0.5 ],
           [-0.75, -0.25,  0.25,  0.75, -0.75, -0.25,  0.25,  0.75]])
    """
    j = grid_positions(sizes, block=block)
    n = np.array(grid_divisors(list(sizes), normalize))[:, None]
    return np.asarray((2 * j + 1 - n) / np.maximum(n, 1))  # of whole numbers, and so rounded once
