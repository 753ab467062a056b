"""Where the sines and cosines of several axes lie along the channels, and how they get there without a second table."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posref import exact
from posref._additive_arguments import nested_order

Columns: TypeAlias = slice | NDArray[np.intp]


def columns(counts: Sequence[int], layout: str, order: str) -> list[tuple[Columns, Columns]]:
    """Of each axis the columns of its cosines and of its sines; ``counts`` are the bands of each axis."""
    where = np.argsort(nested_order(counts, layout))
    starts = np.cumsum([0, *(2 * n for n in counts)])
    pairs = [(where[a : a + n], where[a + n : a + 2 * n]) for a, n in zip(starts, counts, strict=False)]
    turned = -1 if order == "sin_cos" else 1
    return [(_evenly(pair[::turned][0]), _evenly(pair[::turned][1])) for pair in pairs]


def _evenly(at: NDArray[np.intp]) -> Columns:
    """A slice, where the columns are evenly spaced."""
    step = int(at[1] - at[0]) if len(at) > 1 else 1
    return slice(int(at[0]), int(at[-1]) + 1, step) if (np.diff(at) == step).all() else at


def write(
    table: NDArray[np.float64],
    at: tuple[Columns, Columns],
    positions: NDArray[Any],
    frequencies: Sequence[Decimal | Fraction],
    gain: Decimal = Decimal(1),
    *,
    radians: bool = True,
) -> None:
    """Fill in one axis' cosines and sines, correctly rounded; ``table`` is (positions, channels)."""
    given: Any = frequencies
    if isinstance(at[0], slice) and isinstance(at[1], slice):
        exact.cos_sin(positions, given, gain, radians=radians, out=(table[:, at[0]], table[:, at[1]]))
        return
    table[:, at[0]], table[:, at[1]] = exact.cos_sin(positions.reshape(-1), given, gain, radians=radians)
