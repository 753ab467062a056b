"""Cos and sin of angles that are sums of products, correctly rounded: a rotation for each term, one after the other.

The rotations are those of `posref._rotation`, off by 2^-76.1 each; to split one and to multiply by it adds 2^-76.5. So n terms
are off by n 2^-75.3 at most, and Ziv's test tells the entries whose rounding is open. Those are done with the exact sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from posref import exact
from posref._rotation import Angles, Float64s, Split, circle, on_grid, product, small_rotation, split

ERROR, BLOCK = 2.0**-75, 1 << 13  # of each term; entries at once


def rotations(terms: Sequence[Angles], rows: slice) -> Split:
    """The rotation by the sum of the terms, (rows, n): exact numbers and a small rest, off by ERROR a term."""
    first, second = circle((1, 1))
    turned = []
    for term in terms:
        j, high, low = term.rows(rows)
        turned.append(product((first[j], second[j]), small_rotation(high, low, on_grid)))
    main, rest = turned[0]
    for other in turned[1:]:
        main, rest = product(split(main, rest), split(*other))
    return main, rest


def write_sums(positions: Sequence[Float64s], frequencies: Sequence[Float64s], cos: Float64s, sin: Float64s) -> None:
    """Fill cos and sin, (rows, n), of the sum over terms of positions, (rows,), times frequencies, (n,)."""
    ratios = [[w.as_integer_ratio() for w in term.tolist()] for term in frequencies]
    angles = [Angles(p, ratio) for p, ratio in zip(positions, ratios, strict=True)]
    step, doubt = max(1, BLOCK // cos.shape[1]), ERROR * len(angles)
    for start in range(0, len(cos), step):
        rows = slice(start, start + step)
        main, rest = rotations(angles, rows)
        x, y = main.view(np.float64), rest.view(np.float64)
        values, least = x + (y + doubt), x + (y - doubt)
        cos[rows], sin[rows] = values[:, 0::2], values[:, 1::2]
        row, column = np.divmod(np.flatnonzero(values != least) >> 1, cos.shape[1])
        if row.size:
            row += start
            sums = [
                sum(Fraction(p[r].item()) * Fraction(w[c].item()) for p, w in zip(positions, frequencies, strict=True))
                for r, c in zip(row, column, strict=True)
            ]
            cos[row, column], sin[row, column] = exact.cos_sin(np.array(1.0), sums)  # type: ignore[arg-type]
