"""Rotary attention at distances that are not the difference of the positions: maps of distances, and scores at given ones."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._arguments import boolean, choice, floating, integer, number, require_queries_and_keys
from posref._arguments import positions as checked_positions
from posref._blocks import ENTRIES, blocks, filled
from posref._each import as_decimal, each_distinct
from posref._score_arguments import scored
from posref.rotary.rotation import LAYOUTS, _pair_channels


def rerope_distance(
    q_positions: ArrayLike, k_positions: ArrayLike, window: int, *, factor: float | None = None
) -> NDArray[np.float64]:
    r"""ReRoPE and leaky ReRoPE: distances of a window's length or more stand still, or go on slowly.

    With :math:`d = q - k`, w the window and s the factor:

    .. math:: d \text{ for } d < w, \qquad w + (d - w) / s \text{ from there on; ReRoPE: } s = \infty

    Parameters
    ----------
    q_positions, k_positions
        (..., q) and (..., k): integers; leading axes are batch axes.
    window
        w >= 1.
    factor
        s > 0, ``scaling_factor`` in the code of the leaky form; None is ReRoPE.

    Returns
    -------
    (..., q, k) float64, which ``rope_scores`` takes. Keys after the query keep d, which is for the causal mask to hide.

    Raises
    ------
    ValueError
        A window < 1, a factor <= 0, positions without a sequence axis or with batch axes that do not broadcast.

    Notes
    -----
    Source: Su, kexue.fm/archives/9708; code of bojone/rerope, which scales the queries by :func:`log_n_scale` as well. There the
    rest of the matrix has a second rotation: queries at w and keys at 0, or both at positions / s with queries (s - 1) w further.
    For keys w or more after the query its prompt has w, its decoding d.

    Examples
    --------
    >>> rerope_distance([20], [0, 12, 13, 20], window=8)
    array([[8., 8., 7., 0.]])
    >>> rerope_distance([20], [0, 12, 13, 20], window=8, factor=4)
    array([[11.,  8.,  7.,  0.]])
    """
    q, k = _outer(q_positions, k_positions)
    w = integer(window, "window")
    if factor is None:
        return filled(lambda q, k: np.minimum(q - k, w), q, k)
    s = exact.real(number(factor, "factor", above=0))

    def distance(d: Fraction) -> Decimal:
        return as_decimal(d) if d < w else w + as_decimal(d - w) / s

    return filled(lambda q, k: each_distinct(distance, q - k), q, k)


def self_extend_distance(
    q_positions: ArrayLike, k_positions: ArrayLike, group_size: int, window: int, *, shift: str = "exact"
) -> NDArray[np.float64]:
    r"""Self-Extend: keys of the window as ever, those before it in groups that share a position.

    With :math:`d = q - k`, G the group size and w the window:

    .. math:: d \text{ for } d < w, \qquad \lfloor q / G \rfloor - \lfloor k / G \rfloor + w - w / G \text{ from there on}

    Parameters
    ----------
    q_positions, k_positions
        (..., q) and (..., k): integers; leading axes are batch axes.
    group_size
        G >= 1, ``group_size_1`` in the code.
    window
        w >= 1, ``group_size_2`` in the code.
    shift
        ``"exact"``: w / G as it is, a fraction where G does not divide w (the code, for a prompt). ``"floor"``: rounded down
        (the paper; the code, while decoding with flash attention).

    Returns
    -------
    (..., q, k) float64, which ``rope_scores`` takes. Keys after the query keep d, which is for the causal mask to hide.

    Raises
    ------
    ValueError
        A group_size or a window < 1, an unknown shift, positions without a sequence axis or with batch axes that do not
        broadcast.

    Notes
    -----
    Source: Jin et al., "LLM Maybe LongLM: Self-Extend LLM Context Window Without Tuning" (2401.01325), sec. 3; code of
    datamllab/LongLM. The code leaves the shift out while no query has reached the window: then there are no groups.

    Examples
    --------
    >>> self_extend_distance([20], [3, 12, 13], group_size=4, window=8)
    array([[11.,  8.,  7.]])
    """
    q, k = _outer(q_positions, k_positions)
    group, w = integer(group_size, "group_size"), integer(window, "window")
    choice(shift, "shift", ("exact", "floor"))
    back = Decimal(w // group) if shift == "floor" else Decimal(w) / group

    def distance(q: NDArray[Any], k: NDArray[Any]) -> NDArray[np.float64]:
        grouped = each_distinct(lambda groups: as_decimal(groups + w) - back, q // group - k // group)
        return np.where(q - k < w, q - k, grouped)

    return filled(distance, q, k)


def dual_chunk_distance(
    q_positions: ArrayLike, k_positions: ArrayLike, chunk_size: int, local_size: int, *, critical: bool = False
) -> NDArray[np.float64]:
    r"""Dual chunk attention: no distance is as long as a chunk, and neighbours keep theirs.

    Positions are cut into chunks of :math:`l = c - w`, c the chunk size and w the local size. For a key of the

    - same chunk: :math:`q - k`
    - chunk before (*successive*): :math:`\min(q \bmod l + l,\; c) - k \bmod l`
    - chunks before that (*inter*): :math:`\min(2 l - 1,\; c) - k \bmod l`

    .. math:: d \le c, \qquad d = q - k \text{ at least for } 0 \le q - k \le \min(w, l)

    Parameters
    ----------
    q_positions, k_positions
        (..., q) and (..., k): integers; leading axes are batch axes.
    chunk_size
        c; ``chunk_size`` of ``dual_chunk_attention_config``, 3/4 of the training's length in ChunkLlama.
    local_size
        w, 0 .. c - 1; ``local_size`` there, 1/16 of the training's length in ChunkLlama.
    critical
        The second set of queries of vLLM and sglang, from which they guess the pattern of sparse attention: nothing is clamped,
        so that successive chunks have :math:`q - k` and the others :math:`q \bmod l + c - k \bmod l`.

    Returns
    -------
    (..., q, k) float64, which ``rope_scores`` takes. Keys after the query have q - k, for the causal
    mask to hide.

    Raises
    ------
    ValueError
        A chunk_size < 1, a local_size that is negative or not below it, positions without a sequence axis or with batch axes
        that do not broadcast.

    Notes
    -----
    Source: An et al., "Training-Free Long-Context Scaling of Large Language Models" (2402.17463), sec. 3; code of
    HKUNLP/ChunkLlama; vLLM, ``DualChunkRotaryEmbedding``. Qwen 2.5 1M also has :func:`length_scale`. Keys are rotated by
    k mod l once and for all, queries three times.

    Examples
    --------
    >>> dual_chunk_distance([13, 7, 20], [1, 5], chunk_size=8, local_size=2)
    array([[7., 3.],
           [6., 2.],
           [7., 3.]])
    """
    q, k = _outer(q_positions, k_positions)
    c, local = integer(chunk_size, "chunk_size"), integer(local_size, "local_size", least=0)
    if local >= c:
        raise ValueError(f"local_size must be < chunk_size {c}, got {local}")
    free = boolean(critical, "critical")
    chunk = c - local

    def distance(q: NDArray[Any], k: NDArray[Any]) -> NDArray[Any]:
        chunks_back = q // chunk - k // chunk
        successive = q % chunk + chunk if free else np.minimum(q % chunk + chunk, c)
        inter = q % chunk + c if free else min(2 * chunk - 1, c)
        far = np.where(chunks_back == 1, successive, inter) - k % chunk
        return np.asarray(np.where(chunks_back < 1, q - k, far))

    return filled(distance, q, k)


def rope_scores(
    q: ArrayLike, k: ArrayLike, distances: ArrayLike, inv_freq: ArrayLike, *, layout: str = "half"
) -> NDArray[np.float64]:
    r"""Scores of queries and keys, each pair of them rotated by a distance of its own.

    .. math:: q^\top R(d)^\top k = \sum_i (a a' + b b') \cos d w_i + (a b' - b a') \sin d w_i

    Parameters
    ----------
    q, k
        (..., q, channels) and (..., k, channels); leading axes broadcast.
    distances
        d, real, broadcasts against (..., q, k). With q_position - k_position it is plain rotary attention.
    inv_freq
        (pairs,) w, radians per unit of distance. Channels beyond 2 * pairs do not rotate.
    layout
        Which channels are pair i, as in :func:`rope_apply`: (a, b) of the query and (a', b') of the key.

    Returns
    -------
    (..., q, k) float64, before scale, bias, mask and softmax

    Raises
    ------
    ValueError
        q and k without a sequence axis or with other channels than each other, NaN or infinite distances or frequencies,
        distances that do not broadcast, more pairs than channels, an unknown layout.

    Notes
    -----
    Source: RoFormer (2104.09864), eq. 16, with d for the difference of the positions; what ReRoPE, Self-Extend and dual chunk
    attention compute with two or three rotations per query.

    Examples
    --------
    >>> q, k = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[4.0, 3.0, 2.0, 1.0]])
    >>> rope_scores(q, k, [[5.0]], [1.0, 0.01]).round(6)
    array([[21.913576]])
    >>> from posref import rope_apply, rope_cos_sin
    >>> (rope_apply(q, *rope_cos_sin([8], [1.0, 0.01])) @ rope_apply(k, *rope_cos_sin([3], [1.0, 0.01])).T).round(6)
    array([[21.913576]])
    """
    q, k = floating(q, "q"), floating(k, "k")
    d, w = floating(distances, "distances", finite=True), floating(inv_freq, "inv_freq", ndim=1, finite=True)
    choice(layout, "layout", LAYOUTS)
    shape, pairs = scored(q.shape, k.shape, d.shape, w.shape)
    first, second = _pair_channels(pairs, layout, 0)
    d = np.broadcast_to(d, shape)
    (a, b), (c, e) = (
        [np.broadcast_to(x[..., part], (*shape, pairs)) for part in (first, second)]
        for x in (q[..., :, None, :], k[..., None, :, :])
    )
    result = np.matmul(q[..., 2 * pairs :], k[..., 2 * pairs :].swapaxes(-1, -2), out=np.empty(shape))
    with exact.real_arithmetic(d):
        frequencies = [exact.real(f) for f in w.tolist()]
        for at in blocks(shape, ENTRIES // pairs):
            cos, sin = exact.cos_sin(d[at], frequencies)  # (..., q, k, pairs)
            turning = (a[at] * c[at] + b[at] * e[at]) * cos + (a[at] * e[at] - b[at] * c[at]) * sin
            result[at] += turning.sum(axis=-1)
    return result


def _outer(q_positions: ArrayLike, k_positions: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Whole positions as (..., q, 1) and (..., 1, k)."""
    q = checked_positions(q_positions, "q_positions", whole=True)
    k = checked_positions(k_positions, "k_positions", whole=True)
    require_queries_and_keys(q.shape, k.shape)
    return q[..., :, None], k[..., None, :]
