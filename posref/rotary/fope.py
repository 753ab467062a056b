"""FoPE: every channel a mixture of frequencies. Not a rotation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import floating, integer, number
from posref.rotary.tables import rope_cos_sin


def fope_cos_sin(
    positions: ArrayLike,
    inv_freq: ArrayLike,
    cos_coef: ArrayLike,
    sin_coef: ArrayLike,
    pairs: int,
    *,
    pad_sin: float = 1.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Tables of Fourier Position Embedding, for :func:`rope_apply`; **not a rotation**: norms change.

    .. math:: \cos'_{pj} = \sum_i \cos(p\, w_i)\, C_{ij}, \qquad \sin'_{pj} = \sum_i \sin(p\, w_i)\, S_{ij}

    for the first columns j; the rest, up to ``pairs``, have cos' = 1 and sin' = ``pad_sin``.

    Parameters
    ----------
    positions
        (..., q) where the coefficients have heads, else any shape; real, signed.
    inv_freq
        (n,) w: the frequencies that are kept, :math:`w > 2\pi / L` or the first ``num_inv_freq``.
    cos_coef, sin_coef
        C and S, (heads, n, m) or (n, m), learned; m <= pairs.
    pairs
        Columns of the tables: half of the head dim.
    pad_sin
        1: the code of the paper, lmdeploy, sglang, and vLLM at first; the padded pairs (a, b) become (a - b, a + b), longer by
        :math:`\sqrt{2}`, turned by 45 degrees, their scores doubled. 0: they pass through, as vLLM has it since it took this for
        a mistake.

    Returns
    -------
    cos, sin
        Each positions.shape + (pairs,), or (..., heads, q, pairs); float64. Apply with layout "half".

    Raises
    ------
    ValueError
        NaN or infinite positions, frequencies or coefficients; coefficients of different shapes, with other rows than there are
        frequencies or with more columns than pairs; positions without a sequence axis where the coefficients have heads.

    Notes
    -----
    Source: Hua et al., "Fourier Position Embedding" (2412.17739); code of TsinghuaC3I/Fourier-Position-Embedding (where
    m = min(n, head_dim // 4)); vLLM and sglang for Intern-S1-Pro (m = n). With identities for C and S, and all frequencies kept,
    it is :func:`rope_cos_sin`.

    Examples
    --------
    >>> cos, sin = fope_cos_sin([0, 1], [1.0], [[1.0]], [[1.0]], 2)
    >>> sin
    array([[0.        , 1.        ],
           [0.84147098, 1.        ]])
    """
    c, s = floating(cos_coef, "cos_coef", finite=True), floating(sin_coef, "sin_coef", finite=True)
    cos, sin = rope_cos_sin(positions, inv_freq)  # (..., n)
    width, padding = integer(pairs, "pairs"), number(pad_sin, "pad_sin")
    if c.shape != s.shape or c.ndim not in (2, 3):
        raise ValueError(f"cos_coef and sin_coef must both be (heads, n, m) or (n, m), got {c.shape} and {s.shape}")
    if c.shape[-2] != cos.shape[-1] or not 1 <= c.shape[-1] <= width:
        wanted = f"a row for each of inv_freq's {cos.shape[-1]} and at most pairs = {width} columns"
        raise ValueError(f"cos_coef and sin_coef must have {wanted}, got {c.shape}")
    if c.ndim == 3:
        if cos.ndim < 2:
            raise ValueError("positions must have a sequence axis where the coefficients have heads, got a scalar")
        cos, sin = cos[..., None, :, :], sin[..., None, :, :]  # against (heads, n, m)
    return _padded(cos @ c, width, 1.0), _padded(sin @ s, width, padding)


def _padded(table: NDArray[np.float64], width: int, value: float) -> NDArray[np.float64]:
    rest = np.full((*table.shape[:-1], width - table.shape[-1]), value)
    return np.concatenate([table, rest], axis=-1)
