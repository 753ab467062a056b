"""T5's relative buckets: exact near the query, logarithmic further away, one learned number per bucket and head."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import LARGEST_POSITION, boolean, floating, integer
from posref._arguments import positions as checked_positions
from posref.bias.alibi import outer_positions


def t5_bucket(
    relative_position: ArrayLike, *, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128
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

    Returns
    -------
    int64, of relative_position's shape.

    Raises
    ------
    ValueError
        Too few buckets for an exact range (4 bidirectional, 2 otherwise), or a max_distance that is not beyond that range.

    Notes
    -----
    Source: Raffel et al., T5 (1910.10683), sec. 2.1, and its released code (mesh-tensorflow). Pitfalls: the opposite sign; a
    missing ``min``; a logarithm in bfloat16, which errs at 16, 32 and 64.

    Examples
    --------
    >>> t5_bucket([-128, -8, 0, 1, 8, 128])
    array([15,  8,  0, 17, 24, 31])
    """
    relative = checked_positions(relative_position, "relative_position", whole=True)
    return _bucket(relative, bidirectional, integer(num_buckets, "num_buckets"), max_distance, "num_buckets")


def _bucket(
    relative: NDArray[np.int64], bidirectional: bool, num_buckets: int, max_distance: int, counted: str
) -> NDArray[np.int64]:
    """Buckets of differences of positions, which reach 2**54; ``counted`` names in errors what has the buckets."""
    max_distance, both = (
        integer(max_distance, "max_distance", most=LARGEST_POSITION),
        boolean(bidirectional, "bidirectional"),
    )
    buckets = num_buckets // 2 if both else num_buckets
    exact = buckets // 2
    if not exact:
        raise ValueError(f"{counted} must be >= {4 if both else 2} with bidirectional={both}, got {num_buckets}")
    if max_distance <= exact:
        raise ValueError(
            f"max_distance must be > {exact}, the exact range of {num_buckets} buckets, got {max_distance}"
        )
    distance = np.abs(relative) if both else np.maximum(0, -relative)
    bucket: NDArray[np.int64] = np.searchsorted(_lower_bounds(buckets, exact, max_distance), distance, side="right") - 1
    return bucket + np.where(relative > 0, buckets, 0) if both else bucket


def t5_bias(
    table: ArrayLike,
    q_positions: ArrayLike,
    k_positions: ArrayLike,
    *,
    bidirectional: bool = True,
    max_distance: int = 128,
) -> NDArray[np.float64]:
    r"""Bias on the attention logits: the table's row for the bucket of ``k - q``.

    .. math:: B_h(q, k) = T_{\text{bucket}(k - q),\, h}

    Parameters
    ----------
    table
        (num_buckets, heads), learned.
    q_positions, k_positions
        (..., q) and (..., k): integers; leading axes are batch axes.
    bidirectional, max_distance
        As in :func:`t5_bucket`.

    Returns
    -------
    (..., heads, q, k) float64

    Raises
    ------
    ValueError
        As :func:`t5_bucket`; a table without heads.

    Notes
    -----
    Source: T5 (1910.10683), sec. 2.1. T5 has no 1/sqrt(head_dim), and its layers share the first one's table.

    Examples
    --------
    >>> t5_bias([[0.0], [1.0], [2.0], [3.0]], [5], [4, 5, 6])
    array([[[1., 0., 3.]]])
    """
    rows = floating(table, "table", ndim=2)
    if not rows.shape[1]:
        raise ValueError(f"table must be (num_buckets, heads) with at least one head, got shape {rows.shape}")
    q, k = (
        checked_positions(p, n, whole=True) for p, n in ((q_positions, "q_positions"), (k_positions, "k_positions"))
    )
    q, k = outer_positions(q, k)
    bucket = _bucket(k - q, bidirectional, len(rows), max_distance, "table's num_buckets")
    return np.moveaxis(rows[bucket[..., 0, :, :]], -1, -3)  # (..., q, k, heads) -> (..., heads, q, k)


def _lower_bounds(buckets: int, exact: int, max_distance: int) -> NDArray[np.int64]:
    """The smallest distance of each bucket; a bucket that no distance reaches has that of the next one."""
    steps = buckets - exact
    bounds = list(range(exact + 1))
    for j in range(1, steps):
        wanted = max_distance**j * exact ** (steps - j)  # n ** steps >= wanted, in integers
        low, high = bounds[-1], max_distance
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if middle**steps >= wanted else (middle + 1, high)
        bounds.append(low)
    return np.array(bounds[:buckets], dtype=np.int64)
