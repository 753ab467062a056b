"""A bias that is the sum of one for the height and one for the width, each of the query's content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, floating
from posref._score_arguments import decomposed
from posref.relative.gathered import relative_bias

ROWS = ("exact", "float32")


def decomposed_bias(
    q: ArrayLike,
    height_table: ArrayLike,
    width_table: ArrayLike,
    q_size: Sequence[int],
    k_size: Sequence[int],
    *,
    rule: str = "exact",
) -> NDArray[np.float64]:
    r"""Bias of queries on a grid: the product with a row for the vertical distance and one for the horizontal distance.

    .. math::
        q \cdot H_{n(y_q, y_k)} + q \cdot W_{n(x_q, x_k)}, \qquad
        n(a, b) = \Big\lfloor a \max\big(\tfrac{K}{Q}, 1\big) + (K - 1 - b) \max\big(\tfrac{Q}{K}, 1\big) \Big\rfloor

    Q and K are the grid's sizes for queries and keys along the axis: where they differ, the coarser grid's steps are longer.

    Parameters
    ----------
    q
        (..., q_height * q_width, d), row by row; not scaled.
    height_table, width_table
        (2 max(Q, K) - 1, d) each. A table of another length has to be resampled first.
    q_size, k_size
        (height, width) of queries and of keys.
    rule
        How the row n is rounded down: ``"exact"`` by the formula; ``"float32"`` forms it in float32 and cuts off the fraction,
        as the released codes do.

    Returns
    -------
    (..., q_height * q_width, k_height * k_width) float64, to be added to the scaled logits

    Raises
    ------
    ValueError
        Shapes that do not fit, sizes that are no pair of positive integers, an unknown rule.

    Notes
    -----
    Source: MViTv2 (2112.01526), eq. 4; code of facebookresearch/mvit, of Segment Anything and ViTDet. The query is the one
    before the scale. Disagreement: the released codes form the row in float32 and truncate it. That is the floor where the
    larger size is a multiple of the smaller, as in all released models; of 8 queries and 6 keys it is one row lower at 8 pairs
    (``rule="float32"``).

    Examples
    --------
    >>> decomposed_bias([[1.0], [1.0]], [[0.0]], [[1.0], [2.0], [3.0]], (1, 2), (1, 2))
    array([[2., 1.],
           [3., 2.]])
    """
    queries = floating(q, "q")
    tables = {name: floating(t, name) for name, t in (("height_table", height_table), ("width_table", width_table))}
    sizes = decomposed(queries.shape, {name: t.shape for name, t in tables.items()}, q_size, k_size)
    grid = queries.reshape(*queries.shape[:-2], sizes[0][0], sizes[1][0], queries.shape[-1])  # (..., height, width, d)
    row_of = {"exact": _rows, "float32": _rows_in_float32}[choice(rule, "rule", ROWS)]
    rows, columns = (row_of(*size) for size in sizes)
    vertical = relative_bias(grid.swapaxes(-2, -3), tables["height_table"], rows)  # (..., width, height, keys)
    horizontal = relative_bias(grid, tables["width_table"], columns)  # (..., height, width, keys)
    both = vertical.swapaxes(-2, -3)[..., :, None] + horizontal[..., None, :]
    return np.asarray(both.reshape(*queries.shape[:-1], sizes[0][1] * sizes[1][1]))


def _rows(queries: int, keys: int) -> NDArray[Any]:
    """Row of each query and key along one axis, in integers: both steps over the smaller of the two sizes."""
    long_q, long_k, least = max(keys, queries), max(queries, keys), min(queries, keys)
    step_q, step_k = (long_q, least) if keys > queries else (least, long_k)
    return (np.arange(queries)[:, None] * step_q + (keys - 1 - np.arange(keys)) * step_k) // least


def _rows_in_float32(queries: int, keys: int) -> NDArray[Any]:
    """The same, each operation rounded to float32."""
    f = np.float32
    i, j = np.arange(queries, dtype=f)[:, None], np.arange(keys, dtype=f)
    step_q, step_k = max(keys / queries, 1.0), max(queries / keys, 1.0)
    return np.asarray((i * f(step_q) - j * f(step_k) + f((keys - 1) * step_k)).astype(np.int64))
