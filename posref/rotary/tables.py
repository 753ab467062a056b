"""Step two of three: cos and sin of position times frequency, one column per pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._arguments import floating, number
from posref._arguments import positions as checked_positions
from posref.rotary.frequencies import real_attention_factor, real_inv_freq
from posref.rotary.scaling import Scaling


def rope_cos_sin(
    positions: ArrayLike, inv_freq: ArrayLike, *, attention_factor: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Cos and sin for frequencies that are given.

    .. math:: a \cos(p\, w_i), \quad a \sin(p\, w_i)

    Parameters
    ----------
    positions
        Real and signed, any shape; integers to 2**53 in magnitude.
    inv_freq
        (pairs,) radians per position.
    attention_factor
        a, multiplied into both.

    Returns
    -------
    cos, sin
        Each ``positions.shape + (pairs,)``, float64.

    Raises
    ------
    ValueError
        NaN or infinite positions or frequencies; inv_freq that is not a non-empty vector.

    Notes
    -----
    Source: RoFormer (2104.09864), eq. 34. Pitfalls: positions in bfloat16 stop being distinct at 256, in float16 at 2048, in
    float32 at 2**24; an angle formed in float32 is wrong by up to position * 2**-24.

    Examples
    --------
    >>> cos, sin = rope_cos_sin([0, 1], [1.0, 0.01])
    >>> cos.shape
    (2, 2)
    """
    p, w = checked_positions(positions), floating(inv_freq, "inv_freq", ndim=1, finite=True)
    if not w.size:
        raise ValueError("inv_freq must have at least one frequency, got none")
    factor = number(attention_factor, "attention_factor")
    with exact.real_arithmetic(p):
        return exact.cos_sin(p, [exact.real(v) for v in w.tolist()], exact.real(factor))


def rope_table(
    positions: ArrayLike,
    dim: int,
    *,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    seq_len: int | None = None,
    attention_factor: float | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Cos and sin from the exact real frequencies: no rounding between :func:`rope_inv_freq` and the result.

    .. math:: a \cos(p\, w_i), \quad a \sin(p\, w_i), \qquad w_i = b^{-2i/d} \text{ scaled}

    Parameters
    ----------
    positions
        Real and signed, any shape; integers to 2**53 in magnitude.
    dim, base, scaling, seq_len
        As in :func:`rope_inv_freq`. Nothing is read off the positions: a length-dependent scaling takes ``seq_len``.
    attention_factor
        a; None is the scaling's own, :func:`rope_attention_factor`.

    Returns
    -------
    cos, sin
        Each ``positions.shape + (dim // 2,)``, float64.

    Raises
    ------
    ValueError
        As :func:`rope_inv_freq`, :func:`rope_attention_factor` and :func:`rope_cos_sin`.

    Notes
    -----
    Source: RoFormer (2104.09864), eq. 34; the scalings name theirs.

    Examples
    --------
    >>> cos, sin = rope_table([100], 4)
    >>> sin
    array([[-0.50636564,  0.84147098]])
    """
    p = checked_positions(positions)
    with exact.real_arithmetic(p):
        w = real_inv_freq(dim, base, scaling, seq_len)
        if attention_factor is None:
            a = real_attention_factor(scaling, seq_len)
        else:
            a = exact.real(number(attention_factor, "attention_factor"))
        return exact.cos_sin(p, w, a)
