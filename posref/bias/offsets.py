"""Offsets on a logarithmic scale: Swin v2's coordinates, and those of dynamic position biases."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import floating
from posref._arguments import positions as checked_positions
from posref._blocks import filled
from posref._each import each_distinct, fewer_digits, log_of_one_more
from posref.exact import rounded


def log_offset(relative_position: ArrayLike, *, extent: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""An offset on a logarithmic scale, with its sign.

    .. math:: \operatorname{sign}(d)\, \ln(1 + |d|) \qquad \text{with an extent: } \operatorname{sign}(d)\, \log_8(1 + 8 |d| / E)

    Parameters
    ----------
    relative_position
        d, any shape: real.
    extent
        E > 0, the largest offset of the window that the model was trained in, its size less one: one number, or an array that
        broadcasts against the offsets, such as (axes, 1). None is the first formula.

    Returns
    -------
    Their shape, float64, without unit

    Raises
    ------
    ValueError
        NaN or infinity; an extent <= 0, as of a window of one cell; shapes that do not broadcast.

    Notes
    -----
    Source: Liu et al., Swin v2 (2111.09883), eq. 4, the first formula; its released code has the second one, which is 1 at 7/8
    of E, and a little more at E. Disagreement: timm's ``swin_transformer_v2_cr`` has the paper's formula, its
    ``swin_transformer_v2`` and transformers the code's; x-transformers' dynamic position bias has the paper's on request
    (``log_distance``). The table's
    offsets are ``grid_positions((2h - 1, 2w - 1), start=(1 - h, 1 - w))``, of the query less the key; the window of the
    pretraining gives the extent where there is one. Pitfall: a window of one cell divides 0 by 0 in the released code.

    Examples
    --------
    >>> log_offset([-3, 0, 3])
    array([-1.38629436,  0.        ,  1.38629436])
    >>> log_offset([1, 7], extent=7)
    array([0.36651189, 1.05664167])
    """
    d = checked_positions(relative_position, "relative_position")
    if extent is None:
        return each_distinct(lambda x: _signed(x, log_of_one_more(abs(x))), d)
    e = floating(extent, "extent", finite=True)
    if e.size and e.min() <= 0:
        raise ValueError(f"extent must be > 0, got {e.min():g}")
    try:
        return filled(_in_extents, d, e)
    except ValueError:
        raise ValueError(f"extent of shape {e.shape} must broadcast against the offsets' shape {d.shape}") from None


def _in_extents(d: NDArray[Any], e: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each pair of an offset and an extent once: they are a complex number, which NumPy sorts."""
    distinct, place = np.unique(d + 1j * e, return_inverse=True)
    with fewer_digits():
        eight = Decimal(8).ln()
        pairs = ((Fraction(pair.real), Fraction(pair.imag)) for pair in distinct.tolist())
        found = rounded(_signed(x, log_of_one_more(8 * abs(x) / most) / eight) for x, most in pairs)
    return found[place.reshape(d.shape)]


def _signed(sign: Fraction, size: Decimal) -> Decimal:
    return size if sign >= 0 else -size
