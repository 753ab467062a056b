"""Products with one table row per query and key: the position terms of relative attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import boolean, broadcasts, choice, floating, number
from posref._arguments import positions as checked_positions
from posref._score_arguments import gathered, scores_shape

SIDES = ("query", "key")


def relative_bias(x: ArrayLike, table: ArrayLike, index: ArrayLike, *, side: str = "query") -> NDArray[np.float64]:
    r"""Product of each query, or of each key, with the table row of the pair.

    .. math:: B_{ij} = x_i \cdot T_{n(i, j)} \quad\text{or}\quad x_j \cdot T_{n(i, j)}

    Parameters
    ----------
    x
        (..., q, d) queries, or (..., k, d) keys.
    table
        (..., rows, d); leading axes broadcast against x's.
    index
        n, (..., q, k) integers in 0 .. rows - 1, or -1 where there is no row: the entry is 0. See :func:`relative_index`.
    side
        ``"query"`` or ``"key"``: whose x are.

    Returns
    -------
    (..., q, k) float64, without any scale

    Raises
    ------
    ValueError
        Shapes that do not fit. IndexError: an index past the last row, or below -1.

    Notes
    -----
    Source: Shaw et al. (1803.02155), eq. 5; Transformer-XL (1901.02860), sec. 3.3; DeBERTa (2006.03654), eq. 4. Inkling's bias
    is this one with ``relative_index(q - k, 0, extent - 1, outside="none")``: 0, not minus infinity, beyond its extent.

    Examples
    --------
    >>> relative_bias([[1.0], [10.0]], [[2.0], [3.0]], [[0, 1], [1, -1]])
    array([[ 2.,  3.],
           [30.,  0.]])
    >>> relative_bias([[1.0], [10.0]], [[2.0], [3.0]], [[0, 1], [1, -1]], side="key")
    array([[ 2., 30.],
           [ 3.,  0.]])
    """
    of_query = choice(side, "side", SIDES) == "query"
    vectors, rows, n = floating(x, "x"), floating(table, "table"), _index(index)
    shape = gathered("x", vectors.shape, rows.shape, n.shape, side=side)
    _within(n, rows.shape[-2])
    n = np.broadcast_to(n, shape)
    products = vectors @ rows.swapaxes(-1, -2)  # (..., q or k, rows)
    products = np.broadcast_to(products, shape[:-2] + products.shape[-2:])
    if not of_query:
        return np.array(_picked(products, n.swapaxes(-1, -2)).swapaxes(-1, -2))
    return _picked(products, n)


def relative_values(weights: ArrayLike, table: ArrayLike, index: ArrayLike) -> NDArray[np.float64]:
    r"""What a table of positions adds to the values of attention.

    .. math:: o_i = \sum_j w_{ij}\, T_{n(i, j)}

    Parameters
    ----------
    weights
        (..., q, k): after the softmax.
    table
        (..., rows, e); leading axes broadcast against those of weights.
    index
        As in :func:`relative_bias`.

    Returns
    -------
    (..., q, e) float64, to be added to ``weights @ v``

    Raises
    ------
    ValueError
        Shapes that do not fit. IndexError: an index past the last row, or below -1.

    Notes
    -----
    Source: Shaw et al. (1803.02155), eq. 3. Most later models have it for the keys alone.

    Examples
    --------
    >>> relative_values([[0.25, 0.75]], [[4.0], [8.0]], [[1, 0]])
    array([[5.]])
    """
    w, rows, n = floating(weights, "weights"), floating(table, "table"), _index(index)
    shape = gathered("weights", w.shape, rows.shape, n.shape, side="both")
    _within(n, rows.shape[-2])
    w, n = np.where(n < 0, 0.0, w), np.broadcast_to(np.maximum(n, 0), shape)
    rows = np.broadcast_to(rows, shape[:-2] + rows.shape[-2:])[..., None, :, :]  # (..., 1, rows, e)
    return np.asarray((w[..., None] * np.take_along_axis(rows, n[..., None], axis=-2)).sum(axis=-2))


def relative_scores(
    q: ArrayLike,
    k: ArrayLike,
    table: ArrayLike,
    index: ArrayLike,
    *,
    content_bias: ArrayLike | None = None,
    position_bias: ArrayLike | None = None,
    key_term: bool = False,
    scale: float | None = None,
) -> NDArray[np.float64]:
    r"""Logits of relative attention: content, and position by a table row per query and key.

    .. math:: s\, \bigl((q_i + u) \cdot k_j + (q_i + v) \cdot T_{n(i, j)} \; [+\, k_j \cdot T_{n(i, j)}]\bigr)

    Parameters
    ----------
    q, k
        (..., q, d) and (..., k, d); leading axes broadcast.
    table, index
        As in :func:`relative_bias`.
    content_bias, position_bias
        u and v, one vector per leading axis of q: (heads, d) for q of (batch, heads, q, d). None is 0.
    key_term
        The bracket: ``relative_key_query`` of BERT.
    scale
        s; None is 1/sqrt(d).

    Returns
    -------
    (..., q, k) float64, before mask and softmax

    Raises
    ------
    ValueError
        Shapes that do not fit. IndexError: an index past the last row, or below -1.

    Notes
    -----
    Source: Shaw et al. (1803.02155), eq. 4; Transformer-XL (1901.02860), sec. 3.3, where T = W R is a projected sinusoid and
    n = ``relative_index(k - q, klen - 1, 0)``; Huang et al. (2009.13658) for the key term. Music Transformer (1809.04281) is
    Shaw's with a window as long as the sequence. Disagreement: BERT divides the sum by sqrt(d), Wav2Vec2-BERT each term; one
    value, other roundings. SpeechT5 multiplies queries that are scaled already; Gemma 3n has neither u nor v, nor a scale of
    its own.

    Examples
    --------
    >>> relative_scores([[1.0]], [[2.0], [3.0]], [[0.5], [0.25]], [[0, 1]])
    array([[2.5 , 3.25]])
    >>> relative_scores([[1.0]], [[2.0], [3.0]], [[0.5], [0.25]], [[0, 1]], content_bias=[1.0])
    array([[4.5 , 6.25]])
    """
    queries, keys = floating(q, "q"), floating(k, "k")
    of_content = scores_shape(queries.shape, keys.shape)
    s = 1 / math.sqrt(queries.shape[-1]) if scale is None else number(scale, "scale")
    seen, placed = (
        queries if bias is None else queries + _per_head(bias, name, queries)
        for bias, name in ((content_bias, "content_bias"), (position_bias, "position_bias"))
    )
    positions = relative_bias(placed, table, index)
    if boolean(key_term, "key_term"):
        positions = positions + relative_bias(keys, table, index, side="key")
    if of_content[-2:] != positions.shape[-2:]:
        raise ValueError(f"index must end in {of_content[-2:]}, queries and keys, got shape {np.shape(index)}")
    return np.asarray(s * (seen @ keys.swapaxes(-1, -2) + positions))


def _per_head(bias: ArrayLike, name: str, q: NDArray[Any]) -> NDArray[np.float64]:
    vectors, heads = floating(bias, name), (*q.shape[:-2], q.shape[-1])
    if not vectors.ndim or not broadcasts(vectors.shape, heads):
        wanted = f"must broadcast against {heads}, q without its sequence axis"
        raise ValueError(f"{name} of shape {vectors.shape} {wanted}")
    return vectors[..., None, :]


def _index(index: ArrayLike) -> NDArray[np.int64]:
    return np.asarray(checked_positions(index, "index", whole=True))


def _within(index: NDArray[np.int64], rows: int) -> None:
    outside = index[(index < -1) | (index >= rows)]
    if outside.size:
        raise IndexError(f"index must be in 0 .. {rows - 1} for {rows} rows, or -1, got {outside.flat[0]}")


def _picked(products: NDArray[np.float64], index: NDArray[np.int64]) -> NDArray[np.float64]:
    """Entries of the last axis, 0 for -1."""
    return np.where(index < 0, 0.0, np.take_along_axis(products, np.maximum(index, 0), axis=-1))
