"""CAPE: positions that are shifted and stretched in training, before an encoding is made of them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

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
    tokens = _rows(p)
    means = [sum(map(Fraction, row), Fraction(0)) / max(len(row), 1) * boolean(centre, "centre") for row in tokens]
    with fewer_digits():
        lines = [
            rounded(map(_augmented, row, [mean] * len(row), moved, stretched))
            for row, mean, moved, stretched in zip(tokens, means, shifts, scales, strict=True)
        ]
    return np.array(lines, np.float64).reshape(p.shape)


def _of_each(value: ArrayLike, name: str, shape: tuple[int, ...]) -> list[list[float]]:
    array = floating(value, name, finite=True)
    if not broadcasts(array.shape, shape):
        raise ValueError(f"{name} of shape {array.shape} must broadcast against the positions' shape {shape}")
    return _rows(np.broadcast_to(array, shape))


def _rows(array: NDArray[Any]) -> list[list[float]]:
    """A list per sequence."""
    rows: list[list[float]] = array.reshape(math.prod(array.shape[:-1]), array.shape[-1]).tolist()
    return rows


def _augmented(position: float, mean: Fraction, shift: float, log_scale: float) -> Decimal:
    return as_decimal(Fraction(position) - mean + Fraction(shift)) * real(log_scale).exp()
