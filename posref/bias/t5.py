"""T5's relative buckets: exact near the query, logarithmic further away, one learned number per bucket and head."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import LARGEST_POSITION, boolean, choice, floating, integer, number
from posref._arguments import positions as checked_positions
from posref._bias_arguments import BUCKET_RULES, TABLE_LAYOUTS
from posref._blocks import ENTRIES, blocks
from posref.bias._differences import outer_positions
from posref.bias._edges import lower_bounds


def t5_bucket(
    relative_position: ArrayLike,
    *,
    bidirectional: bool = True,
    num_buckets: int = 32,
    max_distance: int = 128,
    rule: str = "exact",
) -> NDArray[np.int64]:
    r"""Bucket of a relative position ``k - q``.

    .. math::
        n \quad (n < e), \qquad
        \min\Big(e + \Big\lfloor \frac{\ln(n/e)}{\ln(D/e)} (B - e) \Big\rfloor,\; B - 1\Big) \quad (n \ge e)

    n is the distance, D the max_distance, e = B // 2. Bidirectional: n = abs(k - q), B = num_buckets // 2, and keys in the
    future have B added. Otherwise n = max(0, q - k), B = num_buckets, and all keys in the future share bucket 0.

    The logarithm is decided in integers: bucket >= e + j exactly where :math:`n^{B-e} e^j \ge D^j e^{B-e}`.

    Parameters
    ----------
    relative_position
        Integers ``k - q``, any shape.
    bidirectional
        True in encoders, False in decoders.
    num_buckets, max_distance
        32 and 128 in every T5; configs often leave max_distance out. At most 2**53, as positions.
    rule
        ``"exact"`` is the formula, which float32 code gives at the usual sizes. Two variants of it differ at single distances of
        some sizes: ``"epsilon"`` has ln(n/e + 2**-23) (flaxformer, T5X), ``"float32_sum"`` adds e before it rounds
        down, all in float32 (WavLM).

    Returns
    -------
    int64, of relative_position's shape.

    Raises
    ------
    ValueError
        Too few buckets for an exact range (4 bidirectional, 2 otherwise), or a max_distance that is not beyond that range.

    Notes
    -----
    Source: Raffel et al., T5 (1910.10683), sec. 2.1, and its released code (mesh-tensorflow). LayoutLMv2 and v3 have it for
    tokens and, with 64 buckets to 256, for both coordinates of the boxes, WavLM with 320 buckets to 800. Pitfalls: the opposite
    sign; a missing ``min``; a logarithm in bfloat16, which errs at 16, 32 and 64.

    Examples
    --------
    >>> t5_bucket([-128, -8, 0, 1, 8, 128])
    array([15,  8,  0, 17, 24, 31])
    """
    relative = checked_positions(relative_position, "relative_position", whole=True)
    edges = _edges(bidirectional, integer(num_buckets, "num_buckets"), max_distance, rule, "num_buckets")
    return _in_edges(relative, *edges)


def _in_edges(relative: NDArray[np.int64], edges: NDArray[np.int64], both: bool) -> NDArray[np.int64]:
    """Buckets of differences of positions, which reach 2**54."""
    distance = np.abs(relative) if both else np.maximum(0, -relative)
    bucket: NDArray[np.int64] = np.searchsorted(edges, distance, side="right") - 1
    return bucket + np.where(relative > 0, len(edges), 0) if both else bucket


def _edges(
    bidirectional: bool, num_buckets: int, max_distance: int, rule: str, counted: str
) -> tuple[NDArray[np.int64], bool]:
    """The smallest distance of each bucket of one side, and whether there are two; ``counted`` has the buckets, in errors."""
    max_distance, both = (
        integer(max_distance, "max_distance", most=LARGEST_POSITION),
        boolean(bidirectional, "bidirectional"),
    )
    choice(rule, "rule", BUCKET_RULES)
    buckets = num_buckets // 2 if both else num_buckets
    exact = buckets // 2
    if not exact:
        raise ValueError(f"{counted} must be >= {4 if both else 2} with bidirectional={both}, got {num_buckets}")
    if max_distance <= exact:
        raise ValueError(
            f"max_distance must be > {exact}, the exact range of {num_buckets} buckets, got {max_distance}"
        )
    return np.array(lower_bounds(buckets, exact, max_distance, rule), dtype=np.int64), both


def t5_bias(
    table: ArrayLike,
    q_positions: ArrayLike,
    k_positions: ArrayLike,
    *,
    bidirectional: bool = True,
    max_distance: int = 128,
    rule: str = "exact",
    layout: str = "rows_first",
    scale: float = 1.0,
) -> NDArray[np.float64]:
    r"""Bias on the attention logits: the table's row for the bucket of ``k - q``.

    .. math:: B_h(q, k) = s\, T_{\text{bucket}(k - q),\, h}

    Parameters
    ----------
    table
        (num_buckets, heads), learned.
    q_positions, k_positions
        (..., q) and (..., k): integers; leading axes are batch axes.
    bidirectional, max_distance, rule
        As in :func:`t5_bucket`.
    layout
        ``"rows_first"``, or ``"heads_first"`` for a table (heads, num_buckets), as flaxformer and the LayoutLMs keep it.
    scale
        s, multiplied in: sqrt(head_dim) in x-transformers and GPT-NeoX, 1 / sqrt(head_dim) in LayoutLMv3.

    Returns
    -------
    (..., heads, q, k) float64

    Raises
    ------
    ValueError
        As :func:`t5_bucket`; a table without heads.

    Notes
    -----
    Source: T5 (1910.10683), sec. 2.1. LayoutLM has the sum of three: of the tokens' positions, of x = bbox[..., 0] and of
    y = bbox[..., 3]. Disagreement: T5 has no 1/sqrt(head_dim), and its layers share the first one's table; UMT5 has a table per
    layer; x-transformers and GPT-NeoX divide the logits by sqrt(head_dim), and multiply the table by it.

    Examples
    --------
    >>> t5_bias([[0.0], [1.0], [2.0], [3.0]], [5], [4, 5, 6])
    array([[[1., 0., 3.]]])
    """
    rows = floating(table, "table", ndim=2)
    if choice(layout, "layout", TABLE_LAYOUTS) == "heads_first":
        rows = rows.T
    if not rows.shape[1]:
        wanted = "(num_buckets, heads)" if layout == "rows_first" else "(heads, num_buckets)"
        raise ValueError(f"table must be {wanted} with at least one head, got shape {np.shape(table)}")
    times = number(scale, "scale")
    q, k = (
        checked_positions(p, n, whole=True) for p, n in ((q_positions, "q_positions"), (k_positions, "k_positions"))
    )
    q, k = outer_positions(q, k)
    edges, both = _edges(bidirectional, len(rows), max_distance, rule, "table's num_buckets")
    q, k = np.broadcast_arrays(q[..., 0, :, :], k[..., 0, :, :])
    bias = np.empty((*q.shape[:-2], rows.shape[1], *q.shape[-2:]))
    by_head = np.moveaxis(bias, -3, -1)  # a view, (..., q, k, heads)
    for at in blocks(q.shape, ENTRIES // rows.shape[1]):
        by_head[at] = (times * rows)[_in_edges(k[at] - q[at], edges, both)]
    return bias
