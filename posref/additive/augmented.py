"""CAPE: positions that are shifted and stretched in training, before an encoding is made of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import boolean, broadcasts, floating
from posref._arguments import positions as checked_positions
from posref._blocks import blocks
from posref._each import as_decimal, fewer_digits
from posref._twofold import rounded_products, two_sum, twofold
from posref.exact import real

Floats: TypeAlias = NDArray[np.float64]


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
            mean = _mean(p[at]) if centred else Fraction(0)
            for tokens in blocks(p[at].shape):
                result[at][tokens] = _augmented(p[at][tokens], shifts[at][tokens], scales[at][tokens], mean)
    return result


def _mean(row: NDArray[Any]) -> Fraction:
    """That of the numbers as they are; 0 of none."""
    total = Fraction(0)
    for tokens in blocks(row.shape):
        ratios = [x.as_integer_ratio() for x in row[tokens].tolist()]
        unit = max(denominator for _, denominator in ratios)  # all are powers of two
        total += Fraction(sum(n * (unit // d) for n, d in ratios), unit)
    return total / max(1, len(row))


def _augmented(p: NDArray[Any], shift: Floats, log_scale: Floats, mean: Fraction) -> Floats:
    """(p - mean + shift) exp(log_scale) of some tokens; the sum, in two parts, is off by 2^-102 of the magnitudes in it."""
    distinct, place = np.unique(log_scale, return_inverse=True)
    gains = [real(s).exp() for s in distinct.tolist()]
    upper, lower = (part[place] for part in twofold(gains))
    m, m_rest = (part[0] for part in twofold([as_decimal(mean)]))

    def exactly(i: int) -> float:
        return float(as_decimal(Fraction(p[i].item()) - mean + Fraction(shift[i].item())) * gains[place[i]])

    wide = p.astype(np.float64)
    with np.errstate(all="ignore"):
        total, rest = two_sum(wide, shift)
        total, more = two_sum(total, np.full_like(total, -m))
        moved = two_sum(total, rest + more - m_rest)
        off = 2.0**-102 * (np.abs(wide) + np.abs(shift) + abs(m))
    return rounded_products(moved, (upper, lower), exactly, off)


def _of_each(value: ArrayLike, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = floating(value, name, finite=True, copy=False)
    if not broadcasts(array.shape, shape):
        raise ValueError(f"{name} of shape {array.shape} must broadcast against the positions' shape {shape}")
    return np.broadcast_to(array, shape)
