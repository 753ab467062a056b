"""Factors on the attention logits that grow with the position of the query, or with the length of the sequence.

They multiply the rows of the queries (``q * scale[..., None]``), after the rotation where there is one, and so the logits.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import boolean, floating, integer, number
from posref._arguments import positions as checked_positions
from posref._blocks import ENTRIES, blocks
from posref._each import each_distinct, fewer_digits, log_of_one_more
from posref.exact import real, real_arithmetic, rounded


def log_n_scale(positions: ArrayLike, length: int, *, clip: bool = True) -> NDArray[np.float64]:
    r"""Log-n scaling: keeps the entropy of attention as the number n = m + 1 of keys that query m sees grows.

    .. math:: \max(1, \ln(m + 1) / \ln L)

    Parameters
    ----------
    positions
        m, the positions of the queries, any shape: real, >= 0.
    length
        L >= 2, the length of the training.
    clip
        Whether queries below L keep factor 1. Without it, as first proposed, they are scaled down: for training, not after it.

    Returns
    -------
    positions.shape, float64, without unit

    Raises
    ------
    ValueError
        Negative, NaN or infinite positions; a length < 2.

    Notes
    -----
    Source: Su, kexue.fm/archives/8823 (log n) and 9708 (the clip); code of bojone/rerope. Qwen 1 has it (``use_logn_attn``, with
    ``seq_length`` for L), Self-Extend on request (``scale_base``).

    Examples
    --------
    >>> log_n_scale([0, 4095, 8191], 4096)
    array([1.        , 1.        , 1.08333333])
    """
    m, whole = _from_zero(positions), integer(length, "length", least=2)
    clip = boolean(clip, "clip")

    with fewer_digits():
        trained = Decimal(whole).ln()

    def scale(position: Fraction) -> Decimal:
        return Decimal(1) if clip and position + 1 <= whole else log_of_one_more(position) / trained

    return each_distinct(scale, m)


def ssmax_scale(positions: ArrayLike, s: ArrayLike, *, bias: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""Scalable-Softmax: the logits of a row with n keys times a learned multiple of log n.

    .. math:: s_h \ln n + b_h, \qquad n = m + 1

    Parameters
    ----------
    positions
        (..., q), m: real, >= 0. Query m sees m + 1 keys under a causal mask; without one, pass n - 1.
    s
        (heads,), learned.
    bias
        (heads,), b, of the paper's variant with a bias; None is 0.

    Returns
    -------
    (..., heads, q) float64. The first query has 0 without a bias: it sees one key, whose weight is 1 whatever the logit.

    Raises
    ------
    ValueError
        Negative, NaN or infinite positions, or none but a scalar; s or bias that are not a vector of heads, or of other lengths.

    Notes
    -----
    Source: Nakanishi, "Scalable-Softmax Is Superior for Attention" (2501.19399). Disagreement: the paper's n
    is the number of keys of the row; some code takes the length of the sequence for all rows.

    Examples
    --------
    >>> ssmax_scale([0, 1023], [0.5])
    array([[0.       , 3.4657359]])
    """
    m, slopes = _from_zero(positions), floating(s, "s", ndim=1, finite=True)
    if not m.ndim:
        raise ValueError(f"positions must have a sequence axis, got {m[()]}")
    if not slopes.size:
        raise ValueError("s must have at least one head, got none")
    offsets = np.zeros(slopes.shape) if bias is None else floating(bias, "bias", ndim=1, finite=True)
    if offsets.shape != slopes.shape:
        raise ValueError(f"bias must be of the shape of s, {slopes.shape}, got {offsets.shape}")
    heads = list(zip(map(real, slopes.tolist()), map(real, offsets.tolist()), strict=True))
    scale = np.empty((*m.shape[:-1], len(heads), m.shape[-1]))
    for at in blocks(m.shape, ENTRIES >> 4):
        distinct, place = np.unique(m[at], return_inverse=True)
        with fewer_digits():
            logs = [log_of_one_more(Fraction(position)) for position in distinct.tolist()]
            for row, (a, b) in zip(np.moveaxis(scale, -2, 0), heads, strict=True):  # views, (..., q)
                row[at] = rounded(a * log + b for log in logs)[place.reshape(m[at].shape)]
    return scale


def llama4_scale(
    positions: ArrayLike, *, attn_scale: float = 0.1, floor_scale: int = 8192, shift: int = 1
) -> NDArray[np.float64]:
    r"""Attention temperature of Llama 4 and Ministral 3: a step at every multiple of a length.

    .. math:: 1 + c \ln(1 + \lfloor (m + \text{shift}) / L \rfloor)

    Parameters
    ----------
    positions
        m, the positions of the queries, any shape: real, >= 0.
    attn_scale
        c; in the configs of Ministral 3 and Mistral 4 it is ``llama_4_scaling_beta``.
    floor_scale
        L; in those configs ``original_max_position_embeddings``.
    shift
        1 is Llama 4's reading, which counts tokens: the first step is at m = L - 1. 0 is Ministral 3's and Mistral 4's: at m = L.

    Returns
    -------
    positions.shape, float64, without unit

    Raises
    ------
    ValueError
        Negative, NaN or infinite positions; a floor_scale < 1; a shift that is neither 0 nor 1.

    Notes
    -----
    Source: meta-llama/llama-models, models/llama4; transformers, ``attn_temperature_tuning`` of Llama 4, which has it on the
    layers *without* rotary alone, and ``get_llama_4_attn_scale`` of Ministral 3 and Mistral 4, which have it on layers with it.

    Examples
    --------
    >>> llama4_scale([8190, 8191, 8192])
    array([1.        , 1.06931472, 1.06931472])
    >>> llama4_scale([8190, 8191, 8192], shift=0)
    array([1.        , 1.        , 1.06931472])
    """
    m, c = _from_zero(positions), number(attn_scale, "attn_scale")
    length, ahead = integer(floor_scale, "floor_scale"), integer(shift, "shift", least=0)
    if ahead > 1:
        raise ValueError(f"shift must be 0 or 1, got {ahead}")

    @lru_cache(maxsize=1024)
    def scale(steps: int) -> Decimal:
        return 1 + real(c) * Decimal(1 + steps).ln()

    return each_distinct(lambda position: scale((position + ahead) // length), m)


def inkling_scale(positions: ArrayLike, length: int, *, alpha: float = 0.1) -> NDArray[np.float64]:
    r"""Attention temperature of Inkling: from a length on it grows with the logarithm, without steps.

    .. math:: 1 + \alpha \ln \max(1,\; (m + 1) / L)

    Parameters
    ----------
    positions
        m, the positions of the queries, any shape: real, >= 0.
    length
        L, ``log_scaling_n_floor`` of the config.
    alpha
        ``log_scaling_alpha``.

    Returns
    -------
    positions.shape, float64, without unit

    Raises
    ------
    ValueError
        Negative, NaN or infinite positions; a length < 1.

    Notes
    -----
    Source: transformers, Inkling, which multiplies the queries and the relative bias with it, on layers without a sliding window.

    Examples
    --------
    >>> inkling_scale([0, 8191, 8192, 16383], 8192)
    array([1.        , 1.        , 1.00001221, 1.06931472])
    """
    m, trained = _from_zero(positions), integer(length, "length")
    growth = number(alpha, "alpha")

    def scale(position: Fraction) -> Decimal:
        beyond = max(Fraction(0), (position + 1) / trained - 1)
        return 1 + real(growth) * log_of_one_more(beyond)

    return each_distinct(scale, m)


def length_scale(seq_len: int, length: int, *, mscale: float = 1.0) -> float:
    r"""One factor for all rows, from the length of the sequence: what dual chunk attention takes from YaRN.

    .. math:: \max(1,\; 0.1\, m \ln(S / L) + 1)

    Parameters
    ----------
    seq_len
        S, the current length.
    length
        L, the length of the training.
    mscale
        m, as in YaRN: 0.5 for 0.05 ln(S / L) + 1.

    Returns
    -------
    The factor, a float without unit.

    Raises
    ------
    ValueError
        A length < 1; a negative mscale.

    Notes
    -----
    Source: vLLM, dual chunk attention, for Qwen 2.5 1M: 1, on the queries. ChunkLlama: 0.5, or 1 in its flash decoding, on cos
    *and* sin of queries and keys, so that the logits grow by the square.

    Examples
    --------
    >>> length_scale(1048576, 262144)
    1.138629436111989
    """
    longer, trained = integer(seq_len, "seq_len"), integer(length, "length")
    times = number(mscale, "mscale", least=0)
    with real_arithmetic():
        growth = max(real(longer).ln() - real(trained).ln(), Decimal(0))
        return float(real(times) * growth / 10 + 1)


def _from_zero(positions: ArrayLike) -> NDArray[Any]:
    m = checked_positions(positions)
    if m.size and m.min() < 0:
        raise ValueError(f"positions must be >= 0, got {m.min()}")
    return m
