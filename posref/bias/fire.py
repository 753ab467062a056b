"""FIRE: distances relative to how far the query is, on a logarithmic scale; a small network makes a bias of them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import choice, number
from posref._arguments import positions as checked_positions
from posref._bias_arguments import LIMITS
from posref._each import fewer_digits, log_of_one_more
from posref._twofold import rounded_products, twofold
from posref.bias._differences import fractions, outer_positions, parts
from posref.exact import real


def fire_distance(
    q_positions: ArrayLike,
    k_positions: ArrayLike,
    c: float,
    length: float,
    *,
    limit: str = "max",
    eps: float = 1e-6,
) -> NDArray[np.float64]:
    r"""The distance of a key, relative to the query's from the start.

    .. math:: \frac{\psi(q - k)}{\psi(\max(L, q)) + \epsilon}, \qquad \psi(x) = \ln(1 + |c\, x|)

    Parameters
    ----------
    q_positions, k_positions
        (..., q) and (..., k): real, signed, counted from the start of the sequence; leading axes are batch axes.
    c
        Learned; 0.1 at first.
    length
        L >= 0, learned: below it the distance is relative to L. In the released code a learned multiplier times 512, its
        magnitude.
    limit
        ``"max"`` as above; ``"min"`` has min(L, q), as one port.
    eps
        >= 0: 1e-6 in the released code, 0 in the paper's formula.

    Returns
    -------
    (..., q, k) float64, without unit. With "max" at most 1 for keys from the start to the query.

    Raises
    ------
    ValueError
        A denominator of 0; a negative length or eps; positions without a sequence axis, NaN or infinity.

    Notes
    -----
    Source: Li et al., FIRE (2310.04418), eq. 6 and 7, appendix E (code). The bias is
    ``np.moveaxis(position_mlp(fire_distance(...)[..., None], ...), -1, -3)``, with 32 hidden values. Keys in the future have
    their magnitude; the causal mask hides them. Disagreement: with "min" the ratio passes 1 beyond L.

    Examples
    --------
    >>> fire_distance([10], [3, 10], 0.1, 512.0)
    array([[0.1341636, 0.       ]])
    """
    q, k = checked_positions(q_positions, "q_positions"), checked_positions(k_positions, "k_positions")
    gain, bound = Fraction(number(c, "c")), Fraction(number(length, "length", least=0))
    above, small = choice(limit, "limit", LIMITS) == "max", real(number(eps, "eps", least=0))
    q, k = outer_positions(q, k)
    q, k = np.broadcast_arrays(q[..., 0, :, :], k[..., 0, :, :])  # (..., q, k)
    farther = max if above else min

    def psi(x: Fraction) -> Decimal:
        return log_of_one_more(abs(gain * x))

    @lru_cache(maxsize=1024)
    def inverse(query: float) -> Decimal:
        if not (below := psi(farther(bound, Fraction(query))) + small):
            raise ValueError(f"eps must be > 0 where c is 0 or a query is at 0, got {eps}")
        return 1 / below

    result, known, numerators = np.empty(q.shape), None, _Reals([])
    with fewer_digits():
        for at, distinct, place in parts(q, k):
            if distinct is not known:
                known, numerators = distinct, _Reals(map(psi, fractions(distinct)))
            queries, row = np.unique(q[at], return_inverse=True)
            inverses = _Reals(map(inverse, queries.tolist()))
            result[at] = _products(numerators, place, inverses, row.reshape(place.shape))
    return result


class _Reals:
    """Real numbers, as they are and in two float64."""

    def __init__(self, reals: Iterable[Decimal]):
        self.exactly = list(reals)
        self.upper, self.lower = twofold(self.exactly)


def _products(x: _Reals, i: NDArray[np.intp], y: _Reals, j: NDArray[np.intp]) -> NDArray[np.float64]:
    """x[i] y[j], rounded once."""
    first, second = i.reshape(-1), j.reshape(-1)

    def exactly(at: int) -> float:
        return float(x.exactly[first[at]] * y.exactly[second[at]])

    found = rounded_products((x.upper[first], x.lower[first]), (y.upper[second], y.lower[second]), exactly)
    return found.reshape(i.shape)
