"""Rotary tables on several axes: frequencies, and cos and sin of positions that have a row per axis."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._arguments import choice, floating, number
from posref._arguments import positions as checked_positions
from posref._axes_arguments import LADDERS, axis_rows, dealt_order, one_per_axis, require_one_for_all
from posref.rotary.axis_maps import checked_axis_map
from posref.rotary.frequencies import real_attention_factor, real_inv_freq
from posref.rotary.scaling import Scaling

BLOCK = 1 << 18  # entries


def rope_axes_inv_freq(
    axis_map: ArrayLike,
    *,
    base: float | Sequence[float] = 10000.0,
    ladder: str = "shared",
    scaling: Scaling | Sequence[Scaling | None] | None = None,
    seq_len: int | None = None,
) -> NDArray[np.float64]:
    r"""Rotary frequencies for pairs that are spread over several axes.

    Pair i is the k-th pair (from 0) of its axis a = A(i), which has :math:`n_a` of them; there are n axes and d/2 pairs.

    - ``"shared"``: :math:`w_i = b^{-2i/d}`, one ladder for all, whatever the axis
    - ``"per_axis"``: :math:`w_i = b_a^{-2k/d_a}` with :math:`d_a = 2 n_a`, each axis a whole ladder of its own
    - ``"dealt"``: :math:`w_i = b^{-2(kn + a)/d}`, the shared ladder dealt out to the axes in turn

    Parameters
    ----------
    axis_map
        A, (pairs,) integers: :func:`rope_axis_map`'s, or any other.
    base
        ``rope_theta``; > 1. For "per_axis" also one per axis.
    ladder
        One of the three above.
    scaling
        As in :func:`rope_inv_freq`, of the whole ladder or, for "per_axis", of each axis' ladder; there also one per axis.
    seq_len
        As in :func:`rope_inv_freq`.

    Returns
    -------
    (pairs,) float64, radians per position

    Raises
    ------
    ValueError
        As :func:`rope_inv_freq`, where dim is twice the ladder's pairs; a list of bases or scalings for a ladder that is not per
        axis, or a shorter one than there are axes; "dealt" to axes that one of them has more pairs of than a deal in turn gives.

    Notes
    -----
    Source: shared is M-RoPE's, Wang et al., Qwen2-VL (2409.12191); per_axis that of nearly all vision and video models, such as
    EVA-02 (2303.11331), RoPE-ViT (2403.13298), Flux and Wan; dealt is Pixtral's (2410.07073) in transformers. Pitfall: a
    per-axis ladder on M-RoPE's map (or a shared one on an axial map) has the right shapes and other frequencies.

    Examples
    --------
    >>> rope_axes_inv_freq([0, 0, 1, 1])
    array([1.   , 0.1  , 0.01 , 0.001])
    >>> rope_axes_inv_freq([0, 0, 1, 1], ladder="per_axis")
    array([1.  , 0.01, 1.  , 0.01])
    >>> rope_axes_inv_freq([0, 0, 1, 1], ladder="dealt")
    array([1.   , 0.01 , 0.1  , 0.001])
    """
    with exact.real_arithmetic():
        return exact.rounded(real_axes_inv_freq(checked_axis_map(axis_map), base, ladder, scaling, seq_len))


def rope_axes_cos_sin(
    positions: ArrayLike, inv_freq: ArrayLike, axis_map: ArrayLike, *, attention_factor: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Cos and sin where each pair takes its position from its own axis, for frequencies that are given.

    .. math:: a \cos(p_{A(i)}\, w_i), \quad a \sin(p_{A(i)}\, w_i)

    Parameters
    ----------
    positions
        (axes, ...): a row per axis, in the order of the sections that made axis_map. Rows that no pair uses may follow.
    inv_freq
        (pairs,) radians per position: :func:`rope_axes_inv_freq`'s, or any others. 0 is a pair that does not turn.
    axis_map
        A, (pairs,) integers: :func:`rope_axis_map`'s, or any other.
    attention_factor
        a, multiplied into both.

    Returns
    -------
    cos, sin
        Each ``positions.shape[1:] + (pairs,)``, float64: what :func:`rope_apply` takes.

    Raises
    ------
    ValueError
        NaN or infinite positions or frequencies; fewer rows than axes; not one frequency per pair of the map.

    Notes
    -----
    Source: Wang et al., Qwen2-VL (2409.12191), sec. 2.1. There is one column per *pair*. Models that rotate halves inside
    a block of channels per axis (Gemma 4's vision) are one :func:`rope_apply` per axis, with the columns of its pairs and
    ``offset`` at its first channel. With one frequency and one axis per *channel* these are the tables of
    :func:`rope_apply_channels`. Pitfalls: height and width swapped shows only on grids that are not square; text has the same
    position on all axes, so that a wrong map shows only on images.

    Examples
    --------
    >>> cos, sin = rope_axes_cos_sin([[0, 100], [1, 1]], [1.0, 0.01], [0, 1])
    >>> sin.round(4)
    array([[ 0.    ,  0.01  ],
           [-0.5064,  0.01  ]])
    """
    p, axes = checked_positions(positions), checked_axis_map(axis_map)
    w, a = floating(inv_freq, "inv_freq", ndim=1, finite=True), number(attention_factor, "attention_factor")
    if len(w) != len(axes):
        raise ValueError(f"inv_freq must have one frequency per pair of axis_map, {len(axes)}, got {len(w)}")
    with exact.real_arithmetic(p):
        return _cos_sin(p, [exact.real(v) for v in w.tolist()], axes, [exact.real(a)] * (int(axes.max()) + 1))


def rope_axes_table(
    positions: ArrayLike,
    axis_map: ArrayLike,
    *,
    base: float | Sequence[float] = 10000.0,
    ladder: str = "shared",
    scaling: Scaling | Sequence[Scaling | None] | None = None,
    seq_len: int | None = None,
    attention_factor: float | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Cos and sin on several axes, from the exact real frequencies.

    .. math:: a \cos(p_{A(i)}\, w_i), \quad a \sin(p_{A(i)}\, w_i)

    Parameters
    ----------
    positions, axis_map
        As in :func:`rope_axes_cos_sin`.
    base, ladder, scaling, seq_len
        As in :func:`rope_axes_inv_freq`.
    attention_factor
        a; None is the scaling's own, :func:`rope_attention_factor`, where there is one per axis the axis' own.

    Returns
    -------
    cos, sin
        Each ``positions.shape[1:] + (pairs,)``, float64: what :func:`rope_apply` takes.

    Raises
    ------
    ValueError
        As :func:`rope_axes_inv_freq`, :func:`rope_attention_factor` and :func:`rope_axes_cos_sin`.

    Notes
    -----
    Source: Wang et al., Qwen2-VL (2409.12191), sec. 2.1; the scalings name theirs. With the same position on all axes and the
    shared ladder this is :func:`rope_table`.

    Examples
    --------
    >>> rows_and_columns = [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]]
    >>> cos, sin = rope_axes_table(rows_and_columns, [0, 0, 1, 1], ladder="per_axis")
    >>> cos.shape
    (6, 4)
    """
    p, axes = checked_positions(positions), checked_axis_map(axis_map)
    with exact.real_arithmetic(p):
        w = real_axes_inv_freq(axes, base, ladder, scaling, seq_len)
        if attention_factor is None:
            a = [real_attention_factor(s, seq_len) for s in one_per_axis(scaling, "scaling", int(axes.max()) + 1)]
        else:
            a = [exact.real(number(attention_factor, "attention_factor"))] * (int(axes.max()) + 1)
        return _cos_sin(p, w, axes, a)


def real_axes_inv_freq(
    axes: NDArray[np.int64], base: Any, ladder: str, scaling: Any, seq_len: int | None
) -> list[Decimal]:
    """The frequencies as real numbers, at the precision of the decimal context."""
    if choice(ladder, "ladder", LADDERS) == "per_axis":
        counts = np.bincount(axes).tolist()
        given = zip(
            counts, *(one_per_axis(v, n, len(counts)) for n, v in (("base", base), ("scaling", scaling))), strict=True
        )
        ladders = [iter(real_inv_freq(2 * n, b, s, seq_len) if n else ()) for n, b, s in given]
        return [next(ladders[a]) for a in axes]
    require_one_for_all(ladder, base=base, scaling=scaling)
    w = real_inv_freq(2 * len(axes), base, scaling, seq_len)
    return w if ladder == "shared" else [w[j] for j in dealt_order(axes.tolist())]


def _cos_sin(
    p: NDArray[Any], w: list[Decimal], axes: NDArray[np.int64], gains: list[Decimal]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    axis_rows(p.shape, len(gains))
    rows = p.reshape(len(p), -1)
    cos, sin = (np.empty((rows.shape[1], len(axes))) for _ in range(2))
    for axis, gain in enumerate(gains):
        pairs = np.flatnonzero(axes == axis)
        for start in range(0, len(cos) if pairs.size else 0, step := max(1, BLOCK // max(1, pairs.size))):
            at = slice(
                start, start + step
            )  # few at a time: pairs lie anywhere, so that each part is copied to its place
            cos[at, pairs], sin[at, pairs] = exact.cos_sin(rows[axis, at], [w[i] for i in pairs], gain)
    return cos.reshape(*p.shape[1:], len(axes)), sin.reshape(*p.shape[1:], len(axes))
