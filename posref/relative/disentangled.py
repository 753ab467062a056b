"""DeBERTa's disentangled attention: content to position, position to content, and buckets of the distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import boolean, choice, floating, integer, number
from posref._arguments import positions as checked_positions
from posref._score_arguments import disentangled, scores_shape
from posref.relative.gathered import relative_bias

BEYOND = ("clamp", "grow")
P2C = ("code", "paper")


def deberta_bucket(
    relative_position: ArrayLike, *, num_buckets: int = 256, max_distance: int = 512, beyond: str = "clamp"
) -> NDArray[np.int64]:
    r"""Signed bucket of a relative position: itself near the query, logarithmic further away.

    .. math::
        r \quad (|r| \le m), \qquad
        \mathrm{sign}(r) \Big( \Big\lceil \frac{\ln(|r| / m)}{\ln((M - 1) / m)} (m - 1) \Big\rceil + m \Big) \quad (|r| > m)

    m = num_buckets // 2, M = max_distance. The logarithm is decided in integers: the ceiling is the least j with
    :math:`|r|^{m-1} m^j \le (M - 1)^j m^{m-1}`.

    Parameters
    ----------
    relative_position
        r = ``q - k``, integers of any shape. The buckets of ``k - q`` are those with the other sign.
    num_buckets
        ``position_buckets`` of the config: buckets run from -(num_buckets - 1) to num_buckets - 1.
    max_distance
        M, ``max_relative_positions`` of the config, or its ``max_position_embeddings`` where that is -1.
    beyond
        From distance M on. ``"clamp"``: the last bucket. ``"grow"``: the logarithm goes on.

    Returns
    -------
    int64, of relative_position's shape

    Raises
    ------
    ValueError
        Fewer than 2 buckets; a max_distance of m + 1 or less; an unknown word. TypeError: positions that are not integers.

    Notes
    -----
    Source: code of microsoft/DeBERTa, ``make_log_bucket_position``; DeBERTa V3 (2111.09543) has the same. Disagreement: beyond M,
    Microsoft's code clamps the distance, transformers and Microsoft's first version clamp the row alone
    (:func:`disentangled_scores`): for keys M or more in the future row 0 instead of row 1.

    Examples
    --------
    >>> deberta_bucket([-600, -3, 0, 128, 129, 200, 511, 600])
    array([-255,   -3,    0,  128,  129,  169,  255,  255])
    >>> deberta_bucket([-600, 600], beyond="grow")
    array([-270,  270])
    """
    r = checked_positions(relative_position, "relative_position", whole=True)
    middle, furthest = integer(num_buckets, "num_buckets", least=2) // 2, integer(max_distance, "max_distance") - 1
    if furthest <= middle:
        raise ValueError(
            f"max_distance must be > {middle + 1}, the exact range of {num_buckets} buckets, got {max_distance}"
        )
    distance = np.abs(r)
    if choice(beyond, "beyond", BEYOND) == "clamp":
        distance = np.minimum(distance, furthest)
    distinct, place = np.unique(distance, return_inverse=True)
    buckets = [n if n <= middle else middle + _steps(n, middle, furthest) for n in distinct.tolist()]
    return np.asarray(np.sign(r) * np.array(buckets, dtype=np.int64)[place.reshape(r.shape)])


def _steps(distance: int, middle: int, furthest: int) -> int:
    """The least j with ``distance <= middle * (furthest / middle) ** (j / (middle - 1))``."""
    power = middle - 1

    def reached(j: int) -> bool:
        return bool(distance**power * middle**j <= furthest**j * middle**power)

    most = 1
    while not reached(most):
        most *= 2
    least = 0
    while least < most:
        between = (least + most) // 2
        least, most = (least, between) if reached(between) else (between + 1, most)
    return least


def disentangled_scores(
    q: ArrayLike,
    k: ArrayLike,
    relative: ArrayLike,
    *,
    pos_k: ArrayLike | None = None,
    pos_q: ArrayLike | None = None,
    p2c: str = "code",
    p2p: bool = False,
    scale: float | None = None,
) -> NDArray[np.float64]:
    r"""Logits of disentangled attention: content to content, content to position, position to content.

    .. math::
        s\, \bigl(q_i \cdot k_j + q_i \cdot K^r_{\delta(r_{ij})} + k_j \cdot Q^r_{\delta(r_{ij})}\bigr), \qquad
        \delta(r) = \mathrm{clip}(r + S, 0, 2S - 1)

    Parameters
    ----------
    q, k
        (..., q, d) and (..., k, d); leading axes broadcast.
    relative
        r, (..., q, k) integers: ``q - k`` (DeBERTa), or their :func:`deberta_bucket` (V2, V3).
    pos_k, pos_q
        (..., 2 S, d), the projected tables of relative positions: with pos_k there is a term content to position, with pos_q
        one position to content.
    p2c
        Which row of pos_q a pair has: that of r (``"code"``), or of -r, as the position of the query seen from the key
        (``"paper"``).
    p2p
        Position to position, :math:`Q^r_{S + i} \cdot K^r_{\delta(r_{ij})}`, for at most S queries; needs both tables.
    scale
        s; None is 1/sqrt(d (1 + terms)), where the terms are those of position.

    Returns
    -------
    (..., q, k) float64, before mask and softmax

    Raises
    ------
    ValueError
        Shapes that do not fit, an odd number of rows; p2p without both tables or with more queries than S.

    Notes
    -----
    Source: DeBERTa (2006.03654), eq. 2 to 4; code of microsoft/DeBERTa and transformers. Disagreement: eq. 4 reads pos_q at
    delta(j, i); Microsoft's code and transformers both read it at delta(i, j), and models are trained with that. The term p2p
    is in Microsoft's code alone, and in no released model. With fewer queries than keys transformers' p2c builds its buckets with
    their number and their distance swapped, and gives other shapes.

    Examples
    --------
    >>> q, k, rows = [[1.0], [1.0]], [[1.0], [2.0]], [[1.0], [2.0], [3.0], [4.0]]
    >>> disentangled_scores(q, k, [[0, -1], [1, 0]], pos_k=rows, scale=1.0)
    array([[4., 4.],
           [5., 5.]])
    >>> disentangled_scores(q, k, [[0, -1], [1, 0]], pos_q=rows, scale=1.0)
    array([[4., 6.],
           [5., 8.]])
    >>> disentangled_scores(q, k, [[0, -1], [1, 0]], pos_q=rows, p2c="paper", scale=1.0)
    array([[ 4., 10.],
           [ 3.,  8.]])
    """
    queries, keys = floating(q, "q"), floating(k, "k")
    r = checked_positions(relative, "relative", whole=True)
    scores_shape(queries.shape, keys.shape)
    tables = {n: floating(t, n) for n, t in (("pos_k", pos_k), ("pos_q", pos_q)) if t is not None}
    both = boolean(p2p, "p2p")
    disentangled(queries.shape, keys.shape, r.shape, {name: t.shape for name, t in tables.items()}, both)
    terms = len(tables) + both
    s = 1 / math.sqrt(queries.shape[-1] * (1 + terms)) if scale is None else number(scale, "scale")
    from_key = -r if choice(p2c, "p2c", P2C) == "paper" else r
    scores: NDArray[Any] = queries @ keys.swapaxes(-1, -2)
    if "pos_k" in tables:
        scores = scores + relative_bias(queries, tables["pos_k"], _rows(r, tables["pos_k"]))
    if "pos_q" in tables:
        scores = scores + relative_bias(keys, tables["pos_q"], _rows(from_key, tables["pos_q"]), side="key")
    if both:
        span = tables["pos_q"].shape[-2] // 2
        of_queries = tables["pos_q"][..., span : span + queries.shape[-2], :]
        scores = scores + relative_bias(of_queries, tables["pos_k"], _rows(r, tables["pos_k"]))
    return np.asarray(s * scores)


def _rows(r: NDArray[np.int64], table: NDArray[Any]) -> NDArray[np.int64]:
    span = table.shape[-2] // 2
    return np.asarray(np.clip(r + span, 0, 2 * span - 1))
