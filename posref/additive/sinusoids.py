"""Sinusoids of the position, added to the embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._arguments import boolean, choice, even, number
from posref._arguments import positions as checked_positions
from posref._ladder import ladder


def sinusoidal(
    positions: ArrayLike,
    dim: int,
    *,
    base: float = 10000.0,
    endpoint: bool = False,
    layout: str = "interleaved",
    order: str = "sin_cos",
) -> NDArray[np.float64]:
    r"""Fixed sinusoidal encoding.

    .. math:: \sin(p\, w_k), \cos(p\, w_k), \qquad w_k = b^{-2k/d} \quad\text{or, with endpoint,}\quad b^{-k/(d/2 - 1)}

    Parameters
    ----------
    positions
        Real and signed, any shape.
    dim
        Width (d): positive and even.
    base
        Ratio of the longest to the shortest wavelength; > 1.
    endpoint
        False: the paper's frequencies, of which the last is not quite 1/base. True: the last one is exactly 1/base, as in
        tensor2tensor, fairseq, Whisper and M2M100.
    layout
        ``"interleaved"`` (s0, c0, s1, c1, ..., the paper) or ``"concatenated"`` (s0, s1, ..., c0, c1, ...).
    order
        ``"sin_cos"`` or ``"cos_sin"`` (MusicGen).

    Returns
    -------
    ``positions.shape + (dim,)``, float64.

    Raises
    ------
    ValueError
        An odd or non-positive dim, a base <= 1, NaN or infinite positions, ``endpoint=True`` with dim 2 (its exponent has
        denominator 0).

    Notes
    -----
    Source: Vaswani et al., "Attention Is All You Need" (1706.03762), sec. 3.5; tensor2tensor ``get_timing_signal_1d`` for
    ``endpoint=True``. The two are different functions, not permutations of each other. Disagreement: transformers' Marian has
    the paper's frequencies, Marian itself the endpoint's.

    Examples
    --------
    >>> sinusoidal([1], 4).round(4)
    array([[0.8415, 0.5403, 0.01  , 1.    ]])
    """
    p, half = checked_positions(positions), even(dim) // 2
    base = number(base, "base", above=1)
    choice(layout, "layout", ("interleaved", "concatenated"))
    choice(order, "order", ("sin_cos", "cos_sin"))
    if boolean(endpoint, "endpoint") and half == 1:
        raise ValueError("dim must be > 2 with endpoint=True, whose exponent is -k / (dim // 2 - 1), got 2")
    table = np.empty((p.size, 2 * half))
    places = (np.s_[:, 0::2], np.s_[:, 1::2]) if layout == "interleaved" else (np.s_[:, :half], np.s_[:, half:])
    sin, cos = (table[place] for place in (places if order == "sin_cos" else places[::-1]))
    with exact.real_arithmetic(p):
        exact.cos_sin(p, ladder(base, half, shift=1 if endpoint else 0), out=(cos, sin))
    return table.reshape(*p.shape, 2 * half)
