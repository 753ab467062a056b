"""Tables of cos and sin: from the shapes that engines keep them in to one column per pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posref_conformance.identify._finding import Values, precision_of
from posref_conformance.identify._turns import Turns


def table(cos: Values, sin: Values) -> Iterator[Turns]:
    """A pair of tables (rows, pairs) or (rows, channels), where columns are repeated for both members of a pair.

    Leading axes and those in the middle may be of length one; with several equal copies in front, one is taken.
    """
    if cos.shape != sin.shape or cos.ndim < 1 or not cos.size:
        return
    cos, sin = (_rows(t) for t in (cos, sin))
    if cos.ndim != 2:
        return
    layout, (c, s) = _one_column_per_pair(cos, sin)
    precision = precision_of(np.stack([c, s]).astype(np.float64))
    yield Turns("rope_table", c.astype(np.float64), s.astype(np.float64), precision, told={"layout": layout})


def _rows(t: Values) -> Values:
    """(rows, columns) of (1, 1, rows, columns), (rows, 1, columns), (axes, batch, rows, columns) with equal copies."""
    t = t.reshape([*(n for n in t.shape[:-1] if n != 1), t.shape[-1]])
    while t.ndim > 2 and all(np.array_equal(copy, t[0]) for copy in t[1:]):
        t = t[0]
    return t[None] if t.ndim == 1 else t


def _one_column_per_pair(cos: Values, sin: Values) -> tuple[str | None, tuple[Values, Values]]:
    n = cos.shape[1]
    if n % 2 == 0 and n > 2:
        for layout, first, second in (
            ("half", slice(0, n // 2), slice(n // 2, n)),
            ("interleaved", slice(0, n, 2), slice(1, n, 2)),
        ):
            if all(np.array_equal(t[:, first], t[:, second]) for t in (cos, sin)):
                return layout, (cos[:, first], sin[:, first])
    return None, (cos, sin)
