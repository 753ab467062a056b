"""Fourier features of coordinates: bands that are given, apart for each axis or summed over all of them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref import exact
from posref._additive_arguments import UNITS, band_ends, feature_shapes
from posref._arguments import boolean, choice, floating, number
from posref._arguments import positions as checked_positions
from posref.additive._channels import columns, write


def frequency_bands(
    n: int, first: float, last: float, *, spacing: str = "linear", endpoint: bool = True
) -> NDArray[np.float64]:
    r"""Frequencies from one number to another.

    .. math:: \text{linear: } f_0 + (f_1 - f_0)\, t_k \qquad \text{log: } f_0\, (f_1 / f_0)^{t_k} \qquad t_k = k / (n - 1)

    Parameters
    ----------
    n
        How many.
    first, last
        :math:`f_0` and :math:`f_1`; positive for "log". A single band is the first.
    spacing
        ``"linear"`` or ``"log"``.
    endpoint
        True: the last band is :math:`f_1`. False: it would be the next, :math:`t_k = k / n`.

    Returns
    -------
    (n,) float64

    Raises
    ------
    ValueError
        No band; an unknown spacing; NaN or infinity; numbers that are not positive for "log".

    Notes
    -----
    Source: the code of the models named here. Disagreement: NeRF (2003.08934) has ``(L, 1, 2 ** (L - 1), spacing="log")``, the
    powers of 2, and the same ends linearly with ``log_sampling=False``; Perceiver (2103.03206) has ``(K, 1, max_resolution / 2)``
    in half turns; GLIGEN ``(F, 1, 100, spacing="log", endpoint=False)``.

    Examples
    --------
    >>> frequency_bands(4, 1, 8, spacing="log")
    array([1., 2., 4., 8.])
    """
    count, low, high = band_ends(n, first, last, spacing)
    steps = count - 1 if boolean(endpoint, "endpoint") else count
    with exact.real_arithmetic():
        a, b, shares = exact.real(low), exact.real(high), [Decimal(k) / max(steps, 1) for k in range(count)]
        if spacing == "linear":
            return exact.rounded(a + (b - a) * t for t in shares)
        return exact.rounded(a * (t * (b / a).ln()).exp() for t in shares)


def fourier_features(
    coordinates: ArrayLike,
    frequencies: ArrayLike,
    *,
    unit: str = "radians",
    layout: str = "axis_wave_band",
    order: str = "sin_cos",
    gain: float = 1.0,
    include_input: bool = False,
) -> NDArray[np.float64]:
    r"""Sines and cosines of coordinates at frequencies that are given.

    .. math:: g \sin(u\, x_a f_k), \; g \cos(u\, x_a f_k) \qquad\text{or, for a matrix,}\qquad
              g \sin\Bigl(u \sum_a x_a f_{ak}\Bigr), \; g \cos\Bigl(u \sum_a x_a f_{ak}\Bigr)

    Parameters
    ----------
    coordinates
        (axes, ...): a row per axis (x).
    frequencies
        (bands,), the same for every axis, each in channels of its own; or (axes, features), a matrix whose angles sum over the
        axes, as random and learned Fourier features have them.
    unit
        What an angle counts in (u): ``"radians"`` (1), ``"half_turns"`` (pi) or ``"turns"`` (2 pi); exact for whole quarters.
    layout
        What runs slowest, then next, then fastest along the channels: any order of axis, wave (sine or cosine) and band, as in
        :func:`sinusoidal_axes`. A matrix has a single axis in this sense.
    order
        ``"sin_cos"`` or ``"cos_sin"``.
    gain
        Multiplies the result (g).
    include_input
        Put the coordinates themselves before it.

    Returns
    -------
    ``coordinates.shape[1:] + (channels,)``, float64: 2 axes bands or 2 features channels, and one per axis with the input.

    Raises
    ------
    ValueError
        No axis, no band; a matrix with another number of axes; NaN or infinity; an unknown word.

    Notes
    -----
    Source: Tancik et al., Fourier Features (2006.10739), eq. 5; Mildenhall et al., NeRF (2003.08934), eq. 4; Jaegle et al.,
    Perceiver (2103.03206), app. D; Song et al. (2011.13456) for timesteps; Kirillov et al., SAM (2304.02643), released code.
    Disagreement: NeRF's paper has pi in the angle (``unit="half_turns"``), its code has not (``unit="radians"``), and puts the
    input first (``include_input=True, layout="band_wave_axis"``). Perceiver has ``unit="half_turns", layout="wave_axis_band"``
    and the input; SAM and Song ``unit="turns"`` with a random matrix, and Song takes the logarithm of the noise level by default;
    Li et al. (2106.02795), learned, ``order="cos_sin"`` with ``gain=dim ** -0.5``; CAPE (2106.03143) for pictures half turns and
    ``order="cos_sin"``, with columns (cos k, sin k) times 1 to 10 in a logarithmic ladder.

    Pitfall: SAM adds 0.5 to the points of a prompt before it normalises them, to be at the centres of pixels.

    Examples
    --------
    >>> fourier_features([[0.25]], [1.0, 2.0], unit="half_turns").round(4)
    array([[0.7071, 1.    , 0.7071, 0.    ]])
    """
    x, f = checked_positions(coordinates, "coordinates"), floating(frequencies, "frequencies", finite=True)
    feature_shapes(x.shape, f.shape)
    per_turn = UNITS[choice(unit, "unit", tuple(UNITS))]
    choice(order, "order", ("sin_cos", "cos_sin"))
    places = columns([f.shape[-1]] * (1 if f.ndim == 2 else len(x)), layout, order)
    g, turns = exact.real(number(gain, "gain")), Fraction(1, per_turn or 1)
    first = len(x) if boolean(include_input, "include_input") else 0
    table = np.empty((x[0].size, first + 2 * f.shape[-1] * len(places)))
    table[:, :first] = x.reshape(len(x), -1).T[:, :first]
    waves, shape = table[:, first:], (*x.shape[1:], table.shape[1])
    if f.ndim == 1:
        for row, at in zip(x, places, strict=True):
            write(waves, at, row, [Fraction(w) * turns for w in f.tolist()], g, radians=per_turn is None)
        return table.reshape(shape)
    exactly = np.vectorize(Fraction, otypes=[object])
    sums = sum(exactly(row.reshape(-1, 1)) * exactly(w) * turns for row, w in zip(x, f, strict=True))
    angles = np.asarray(sums, dtype=object)
    if per_turn:  # without whole turns, beside which a small rest would be lost
        angles = np.vectorize(lambda turn: turn - round(turn), otypes=[object])(angles)
    cos, sin = exact.cos_sin(np.array(1.0), list(angles.flat), g, radians=per_turn is None)
    waves[:, places[0][0]], waves[:, places[0][1]] = cos.reshape(angles.shape), sin.reshape(angles.shape)
    return table.reshape(shape)
