"""CAPE: positions that are shifted and stretched in training, before an encoding is made of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import boolean, broadcasts, floating
from posref._arguments import positions as checked_positions
from posref._each import as_decimal, fewer_digits
from posref.exact import real, rounded


def cape_positions(
    positions: ArrayLike, shift: ArrayLike, log_scale: ArrayLike, *, centre: bool = False
) -> NDArray[np.float64]:
    r"""Augmented positions, for given draws.

    .. math:: (p - \bar p + \Delta)\, e^\lambda

    Parameters
    ----------
    positions
        (..., tokens), p: real.
    shift
        Delta, the sum of a shift of the whole sequence and one of each token; broadcasts against positions.
    log_scale
        lambda, of the whole sequence: drawn from -ln s to ln s; broadcasts against positions.
    centre
        Whether the mean of the sequence is taken off first: of the last axis, in the released code for sound and pictures.
        Without it the bar over p is 0.

    Returns
    -------
    positions.shape, float64. Without draws, shift = log_scale = 0, they are the positions as in inference.

    Raises
    ------
    ValueError
        Positions without a sequence axis, NaN or infinity; shapes that do not broadcast against positions.

    Notes
    -----
    Source: Likhomanenko et al., CAPE (2106.03143), sec. 3; code of gcambara/cape. Then :func:`sinusoidal` makes an encoding of
    them. Queries of one sequence and keys of another that belong together need the same draws.

    Examples
    --------
    >>> cape_positions([0, 1, 2], 0.5, 0.0, centre=True)
    array([-0.5,  0.5,  1.5])
    """
    p = checked_positions(positions)
    if not p.ndim:
        raise ValueError(f"positions must have a sequence axis, got {p[()]}")
    shifts, scales = _of_each(shift, "shift", p.shape), _of_each(log_scale, "log_scale", p.shape)
    centred, result = boolean(centre, "centre"), np.empty(p.shape)
    with fewer_digits():
        for at in np.ndindex(p.shape[:-1]):
            row = list(map(Fraction, p[at].tolist()))
            mean = sum(row, Fraction(0)) / len(row) if centred and row else Fraction(0)
            gains = {s: real(s).exp() for s in set(scales[at].tolist())}
            draws = zip(row, shifts[at].tolist(), scales[at].tolist(), strict=True)
            result[at] = rounded(as_decimal(x - mean + Fraction(d)) * gains[s] for x, d, s in draws)
    return result


def _of_each(value: ArrayLike, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = floating(value, name, finite=True)
    if not broadcasts(array.shape, shape):
        raise ValueError(f"{name} of shape {array.shape} must broadcast against the positions' shape {shape}")
    return np.broadcast_to(array, shape)
