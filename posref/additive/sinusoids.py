"""Sinusoids of the position, added to the embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._additive_arguments import optional_integer, sinusoid_sizes
from posref._arguments import choice, number
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
    scale: float = 1.0,
    gain: float = 1.0,
    odd: str = "error",
    padding_idx: int | None = None,
) -> NDArray[np.float64]:
    r"""Fixed sinusoidal encoding.

    .. math:: g \sin(s\, p\, w_k), \; g \cos(s\, p\, w_k), \qquad
              w_k = b^{-2k/d} \quad\text{or, with endpoint,}\quad b^{-k/(n - 1)}

    for n frequencies, :math:`n = d/2`.

    Parameters
    ----------
    positions
        Real and signed, any shape.
    dim
        Width (d): positive, and even unless ``odd`` allows it.
    base
        Ratio of the longest to the shortest wavelength; > 1.
    endpoint
        False: the paper's frequencies, of which the last is not quite 1/base. True: the last one is exactly 1/base, as in
        tensor2tensor, fairseq, Whisper and M2M100.
    layout
        ``"interleaved"`` (s0, c0, s1, c1, ..., the paper) or ``"concatenated"`` (s0, s1, ..., c0, c1, ...).
    order
        ``"sin_cos"`` or ``"cos_sin"`` (MusicGen).
    scale
        Multiplies the angle (s), in radians: wavelengths that run from m to M are ``base=M/m, scale=1/m``.
    gain
        Multiplies the result (g).
    odd
        An odd width is an ``"error"``; ``"zero"`` is that of dim - 1 and a last channel of 0 (tensor2tensor, fairseq);
        ``"split"`` has one frequency more, whose second wave is left out (Marian in transformers, XLM), with d as it is.
    padding_idx
        The position whose row is 0 (fairseq); None is none.

    Returns
    -------
    ``positions.shape + (dim,)``, float64.

    Raises
    ------
    ValueError
        A dim that is not positive, or odd where that is an error; a base <= 1; NaN or infinite positions; ``endpoint=True``
        with a single frequency (its exponent has denominator 0).

    Notes
    -----
    Source: Vaswani et al., "Attention Is All You Need" (1706.03762), sec. 3.5; tensor2tensor ``get_timing_signal_1d`` for
    ``endpoint=True``. The two are different functions, not permutations of each other. Disagreement: transformers' Marian has
    the paper's frequencies, Marian itself the endpoint's; tensor2tensor's code multiplies the angle by ``min_timescale`` where
    its words mean a division (``scale=m`` for ``scale=1/m``), the same for 1 only; an odd width fails in ESPnet and NeMo, and
    TimesFM pads the sequence in the place of the channels. MLX counts in ``scale=2 * pi`` if asked for full turns and has
    ``gain=sqrt(2 / dim)``; x-transformers' gain is learned and starts at ``dim ** -0.5``.

    Examples
    --------
    >>> sinusoidal([1], 4).round(4)
    array([[0.8415, 0.5403, 0.01  , 1.    ]])
    >>> sinusoidal([1], 5, layout="concatenated", odd="split").round(4)
    array([[8.415e-01, 2.510e-02, 6.000e-04, 5.403e-01, 9.997e-01]])
    """
    p = checked_positions(positions)
    _, n, shift = sinusoid_sizes(dim, endpoint, odd)
    base = number(base, "base", above=1)
    s, g = exact.real(number(scale, "scale")), exact.real(number(gain, "gain"))
    choice(layout, "layout", ("interleaved", "concatenated"))
    choice(order, "order", ("sin_cos", "cos_sin"))
    padding = optional_integer(padding_idx, "padding_idx")
    table = np.zeros((p.size, max(2 * n, dim)))
    places = (np.s_[:, 0 : 2 * n : 2], np.s_[:, 1 : 2 * n : 2])
    if layout == "concatenated":
        places = (np.s_[:, 0:n:1], np.s_[:, n : 2 * n : 1])
    sin, cos = (table[place] for place in (places if order == "sin_cos" else places[::-1]))
    with exact.real_arithmetic(p), exact.further_digits(s):
        exact.cos_sin(p, [s * w for w in ladder(base, n, shift)], g, out=(cos, sin))
    table[p.reshape(-1) == padding] = 0.0
    return table[:, :dim].reshape(*p.shape, dim)  # without the second wave of a frequency that is one too many
