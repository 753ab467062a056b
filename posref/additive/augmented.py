"""CAPE: positions that are shifted and stretched in training, before an encoding is made of them."""

from __future__ import annotations

import math
from decimal import Decimal
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
    rows = math.prod(p.shape[:-1]), p.shape[-1]
    draws = []
    for name, value in (("shift", shift), ("log_scale", log_scale)):
        array = floating(value, name, finite=True)
        if not broadcasts(array.shape, p.shape):
            raise ValueError(f"{name} of shape {array.shape} must broadcast against the positions' shape {p.shape}")
        draws.append(np.broadcast_to(array, p.shape).reshape(rows).tolist())
    middle = _mean if boolean(centre, "centre") else _nothing
    with fewer_digits():
        lines = [
            rounded(map(_augmented, row, [middle(row)] * len(row), shifts, scales))
            for row, shifts, scales in zip(p.reshape(rows).tolist(), *draws, strict=True)
        ]
    return np.array(lines, np.float64).reshape(p.shape)


def _augmented(position: float, middle: Fraction, shift: float, log_scale: float) -> Decimal:
    return as_decimal(Fraction(position) - middle + Fraction(shift)) * real(log_scale).exp()


def _mean(row: list[float]) -> Fraction:
    return sum(map(Fraction, row), Fraction(0)) / max(len(row), 1)


def _nothing(row: list[float]) -> Fraction:
    return Fraction(0)
