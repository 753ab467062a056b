"""Which way each cosine and sine is computed, and when it is good enough: the strategy of `posref.exact.cos_sin`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posref._integers import Ratio, hard_cos_sin, narrowed, quotient, rounded_ratio
from posref._rotation import (
    ERROR,
    POINTS,
    RELATIVE_ERROR,
    SMALLEST_ERROR,
    Angles,
    Float64s,
    Indices,
    Split,
    circle,
    on_grid,
    product,
    small_rotation,
    split,
    upper_half,
)

COLUMNS, ROWS, BLOCK = 64, 1 << 16, 1 << 13  # at once: frequencies, positions, and entries (so that they fit a cache)
NARROW_ERROR = 2.0**-50  # where 24 bits or fewer are kept, plain float64 products will do: off by at most 2^-50.8

Block: TypeAlias = Callable[[slice], tuple[Any, Any]]  # rows -> main, rest


def column_groups(frequencies: list[Ratio], reach: float, radians: bool) -> Iterator[tuple[slice, bool]]:
    """Groups of at most 64 frequencies, and whether they are slow: at no position nearer to another point of the table than 1.

    Slow ones are looked for at the end, where ladders have them. Elsewhere they are only slower to compute.
    """
    most = (6.28 if radians else 1.0) / (2 * POINTS)
    fast = 1 + max((i for i, f in enumerate(frequencies) if reach * abs(quotient(f)) > most), default=-1)
    fast = fast if reach else len(frequencies)  # all zero: the tables do it
    for start, stop in ((0, fast), (fast, len(frequencies))):
        for column in range(start, stop, COLUMNS):
            yield slice(column, min(column + COLUMNS, stop)), start == fast


class Waves:
    """Some frequencies and a gain, ``mantissa * scale`` with 1/2 < |mantissa| <= 1 and a power of two as scale."""

    def __init__(self, frequencies: list[Ratio], gain: Ratio, radians: bool, slow: bool, dtype: np.dtype[Any]) -> None:
        self.frequencies, self.gain, self.radians, self.slow, self.dtype = frequencies, gain, radians, slow, dtype
        exponent = gain[0].bit_length() - gain[1].bit_length()
        exponent += abs(Fraction(*gain)) > Fraction(2) ** exponent
        self.extreme = abs(exponent) > 900  # results could be subnormal: not in float64 arithmetic
        self.scale = 2.0 ** (0 if self.extreme else exponent)
        self.circle = circle((Fraction(*gain) / Fraction(2) ** exponent).as_integer_ratio())
        self.narrow = dtype != np.float64

    def write(self, positions: Float64s, cos: NDArray[Any], sin: NDArray[Any]) -> None:
        """Fill cos and sin, both (positions, n)."""
        angles = Angles(positions, self.frequencies, radians=self.radians)
        block = self._from_tables(positions) or self._from_angles(angles)
        n = len(self.frequencies)
        step, waiting = max(1, BLOCK // n), [np.empty(0, np.intp)]
        for row in range(0, len(positions), step):
            rows = slice(row, row + step)
            values, entries = self._rounded(*block(rows), relative=self.slow)
            cos[rows], sin[rows] = values[..., 0::2], values[..., 1::2]
            waiting.append(entries[positions[rows][entries // n] != 0] + row * n)
            if row + step >= len(positions) or sum(map(len, waiting)) >= BLOCK:
                self._reopen(angles, positions, *np.divmod(np.concatenate(waiting), n), cos, sin)
                waiting.clear()
        cos[positions == 0], sin[positions == 0] = rounded_ratio(self.gain, self.dtype), 0.0

    def _from_angles(self, angles: Angles) -> Block:
        """A point of the table times a small rotation."""
        first_part = upper_half if self.slow else on_grid

        def block(rows: slice) -> tuple[Any, Any]:
            j, high, low = angles.rows(rows)
            return product(_taken(self.circle, j), small_rotation(high, low, first_part))

        return block

    def _from_tables(self, positions: Float64s) -> Block | None:
        """A coarse rotation times a fine one, if there are few of each."""
        parts = None if self.slow else _few_parts(positions)
        if parts is None:
            return None
        (coarse, coarse_at), (fine, fine_at) = parts
        a, b = self._table(coarse, circle((1, 1))), self._table(fine, self.circle)
        if not self.narrow:
            return lambda rows: product(_taken(a, coarse_at[rows]), _taken(b, fine_at[rows]))
        a1, b1 = a[0] + a[1], b[0] + b[1]
        return lambda rows: (a1.take(coarse_at[rows], axis=0) * b1.take(fine_at[rows], axis=0), 0.0)

    def _table(self, positions: Float64s, points: Split) -> Split:
        j, high, low = Angles(positions, self.frequencies, radians=self.radians).rows(slice(None))
        return split(*product(_taken(points, j), small_rotation(high, low, on_grid)))

    def _rounded(self, main: Any, rest: Any, *, relative: bool) -> tuple[NDArray[Any], Indices]:
        """Ziv's test: values, cos and sin in turn along the last axis, and the entries whose rounding is still open."""
        main = main.view(np.float64)
        doubt: Any = NARROW_ERROR if self.narrow else ERROR
        if relative:
            doubt = np.abs(main) * (NARROW_ERROR if self.narrow else RELATIVE_ERROR) + SMALLEST_ERROR
        rest = rest.view(np.float64) if isinstance(rest, np.ndarray) else rest
        most = main + (rest + doubt)
        rest -= doubt
        main += rest
        least = main
        if self.scale != 1.0:
            most *= self.scale
            least *= self.scale
        values = narrowed(most, self.dtype)
        unlike = values != narrowed(least, self.dtype)
        return values, np.arange(unlike.size // 2) if self.extreme else np.flatnonzero(unlike) >> 1

    def _reopen(
        self, angles: Angles, positions: Float64s, row: Indices, column: Indices, cos: NDArray[Any], sin: NDArray[Any]
    ) -> None:
        """Single entries: with an error relative to the distance from a quarter turn, then with integers."""
        zero = np.array([n == 0 for n, _ in self.frequencies])[column]
        cos[row[zero], column[zero]] = rounded_ratio(self.gain, self.dtype)
        sin[row[zero], column[zero]] = 0.0
        row, column = row[~zero], column[~zero]
        if row.size and not self.slow and not self.extreme:
            j, high, low = angles.entries(row, column)
            parts = product(_taken(self.circle, j), small_rotation(high, low, upper_half))
            values, entries = self._rounded(*parts, relative=True)
            done = j % (POINTS // 4) == 0
            done[entries] = False
            cos[row[done], column[done]] = values[0::2][done]
            sin[row[done], column[done]] = values[1::2][done]
            row, column = row[~done], column[~done]
        for r, c in zip(row.tolist(), column.tolist(), strict=True):
            (p, q), (n, d) = positions[r].item().as_integer_ratio(), self.frequencies[c]
            cos[r, c], sin[r, c] = hard_cos_sin((p * n, q * d), self.gain, self.radians, self.dtype)


def _taken(table: Split, at: Indices) -> Split:
    return table[0].take(at, axis=0, mode="clip"), table[1].take(at, axis=0, mode="clip")  # "clip" does without a copy


def _few_parts(positions: Float64s) -> tuple[tuple[Float64s, Indices], tuple[Float64s, Indices]] | None:
    """Positions as coarse + fine, exactly, each with few different values and where they are; None if they are many.

    The width of the fine part is the root of the range, or 256 for a few short runs that lie far apart.
    """
    most = min(len(positions) // 8, 2048)
    reach = min(positions.max() / 2 - positions.min() / 2, 2.0**60)
    for width in (2.0 ** math.ceil(math.log2(2 * reach + 1) / 2), 256.0) if most > 1 else ():
        coarse = np.trunc(positions / width) * width
        parts = [np.unique(part, return_inverse=True) for part in (coarse, positions - coarse)]
        if len(parts[0][0]) + len(parts[1][0]) <= most:
            return (parts[0][0], parts[0][1]), (parts[1][0], parts[1][1])
    return None
