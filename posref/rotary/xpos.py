"""xPos: rotary attention whose scores decay with the distance."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, even, integer, number
from posref._arguments import positions as checked_positions
from posref._each import as_decimal, fewer_digits
from posref._powers import difference, powers

CENTRES = ("floor", "ceil")


def xpos_scale(
    positions: ArrayLike,
    dim: int,
    *,
    centre: float | str = "floor",
    length: int | None = None,
    scale_base: float = 512.0,
) -> NDArray[np.float64]:
    r"""Scale of each rotary pair at each position: queries are multiplied by it, keys divided.

    .. math:: \zeta_i^{(p - c) / B}, \qquad \zeta_i = \frac{2i/d + 0.4}{1.4}

    Scores then carry :math:`\zeta_i^{(q - k) / B}`, whatever the centre c, which only keeps the scales near 1.

    Parameters
    ----------
    positions
        p, real and signed, any shape.
    dim
        Channels that rotate (d): positive and even.
    centre
        c: a position, or a rule for the middle of ``length``. ``"floor"``: length // 2 (flash-attention, lucidrains).
        ``"ceil"``: (length + 1) // 2 (torchscale).
    length
        Of the sequence, for the two rules and for nothing else; with a cache, of the keys and the new query together.
    scale_base
        B > 0: the distance over which a factor of zeta is lost.

    Returns
    -------
    positions.shape + (dim // 2,), float64: multiplies cos and sin of queries, divides those of keys

    Raises
    ------
    ValueError
        NaN or infinite positions, an odd or non-positive dim, a rule without a length or a length without a rule,
        scale_base <= 0.

    Notes
    -----
    Source: Sun et al., "A Length-Extrapolatable Transformer" (2212.10554), algorithm 1; code of microsoft/torchscale, from where
    the 512 is. Pitfalls: queries and keys must have the same centre. flash-attention's follows the length that is cached
    at the time, so that keys which were cached before it grew have another one; lucidrains' ``rotate_queries_with_cached_keys``
    takes the middle of the queries' length for queries and of the keys' for keys.

    Examples
    --------
    >>> xpos_scale([5], 4, centre=0)
    array([[0.98784052, 0.99569452]])
    """
    p, pairs = checked_positions(positions), even(dim) // 2
    base, middle = Fraction(number(scale_base, "scale_base", above=0)), _middle(centre, length)
    with fewer_digits():
        logs = [as_decimal(Fraction(5 * i + 2 * pairs, 7 * pairs)).ln() for i in range(pairs)]
        flat = p.reshape(-1)

        def single(row: int, i: int) -> Decimal:
            return (as_decimal((Fraction(flat[row].item()) - Fraction(middle)) / base) * logs[i]).exp()

        scales = powers(*difference(flat, middle), [log / as_decimal(base) for log in logs], single)
    return scales.reshape(*p.shape, pairs)


def _middle(centre: float | str, length: int | None) -> float:
    """The position at which the scale is 1."""
    if not isinstance(centre, str):
        if length is not None:
            raise ValueError(f"length must be None where centre is a position, got {length}")
        return number(centre, "centre")
    choice(centre, "centre", CENTRES)
    if length is None:
        raise ValueError(f"length must be given where centre is {centre!r}, got None")
    whole = integer(length, "length")
    return whole // 2 if centre == "floor" else (whole + 1) // 2
