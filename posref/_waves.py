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
from posref._small_angles import LARGEST, SmallAngles

WAYS = ("small", "slow", "fast")  # all angles small, none nearer to another point of the table than to the first, any
COLUMNS, ROWS, BLOCK = 64, 1 << 16, 1 << 13  # at once: frequencies, positions, and entries (so that they fit a cache)
NARROW_ERROR = 2.0**-50  # where 24 bits or fewer are kept, plain float64 products will do: off by at most 2^-50.8

Block: TypeAlias = Callable[[slice], tuple[Any, Any]]  # rows -> main, rest
Values: TypeAlias = tuple[NDArray[Any], NDArray[Any], Indices]  # cos, sin, and the entries whose rounding is open


def column_groups(frequencies: list[Ratio], reach: float, radians: bool) -> Iterator[tuple[slice, bool]]:
    """Groups of at most 64 frequencies, and whether they are slow: at no position nearer to another point of the table than 1.

    Slow ones are looked for at the end, where ladders have them. Elsewhere they are only slower to compute.
    """
    most = _nearest_point(radians)
    fast = 1 + max((i for i, f in enumerate(frequencies) if reach * abs(quotient(f)) > most), default=-1)
    fast = fast if reach else len(frequencies)  # all zero: the tables do it
    for start, stop in ((0, fast), (fast, len(frequencies))):
        for column in range(start, stop, COLUMNS):
            yield slice(column, min(column + COLUMNS, stop)), start == fast


def _nearest_point(radians: bool) -> float:
    """The largest angle that is no nearer to another point of the table than to the first."""
    return (6.28 if radians else 1.0) / (2 * POINTS)


class Waves:
    """Some frequencies and a gain, ``mantissa * scale`` with 1/2 < |mantissa| <= 1 and a power of two as scale."""

    def __init__(self, frequencies: list[Ratio], gain: Ratio, radians: bool, slow: bool, dtype: np.dtype[Any]) -> None:
        self.frequencies, self.gain, self.radians, self.slow, self.dtype = frequencies, gain, radians, slow, dtype
        exponent = gain[0].bit_length() - gain[1].bit_length()
        exponent += abs(Fraction(*gain)) > Fraction(2) ** exponent
        self.extreme = abs(exponent) > 900  # results could be subnormal: not in float64 arithmetic
        self.scale = 2.0 ** (0 if self.extreme else exponent)
        mantissa = (Fraction(*gain) / Fraction(2) ** exponent).as_integer_ratio()
        self.circle = circle(mantissa)
        self.small = SmallAngles(frequencies, mantissa, self.scale, radians, dtype)
        self.narrow = dtype != np.float64

    def write(self, positions: Float64s, cos: NDArray[Any], sin: NDArray[Any]) -> None:
        """Fill cos and sin, both (positions, n)."""
        for rows, way in self._ways(np.abs(positions)):
            self._fill(positions if rows is None else positions[rows], way, rows, cos, sin)
        cos[positions == 0], sin[positions == 0] = rounded_ratio(self.gain, self.dtype), 0.0

    def _ways(self, sizes: Float64s) -> Iterator[tuple[Indices | None, str]]:
        """Rows (None is all) and the way for them. Only where many are alike are they worth to be parted from the others."""
        usual = WAYS.index("slow" if self.slow else "fast")
        nearest = _nearest_point(self.radians) / max(float(self.small.w.max(initial=0.0)), 2.0**-1000)
        kinds = np.where(self.slow | (sizes <= nearest), WAYS.index("slow"), WAYS.index("fast"))
        if self.small.reach:
            kinds[sizes <= self.small.reach] = WAYS.index("small")
        few = 16 * np.bincount(kinds, minlength=len(WAYS)) < len(sizes)
        kinds[few[kinds] | self.extreme] = usual
        for kind in np.unique(kinds).tolist():
            rows = np.flatnonzero(kinds == kind)
            yield None if rows.size == len(sizes) else rows, WAYS[kind]

    def _fill(self, positions: Float64s, way: str, place: Indices | None, cos: NDArray[Any], sin: NDArray[Any]) -> None:
        """The rows of these positions, whose places in cos and sin are given."""
        n = len(self.frequencies)
        block = self._small if way == "small" else self._waves(positions, slow=way == "slow")
        step, waiting = max(1, BLOCK // n), [np.empty(0, np.intp)]
        for row in range(0, len(positions), step):
            rows = slice(row, row + step)
            there = rows if place is None else place[rows]
            cos[there], sin[there], entries = block(positions[rows], rows)
            waiting.append(entries[positions[rows][entries // n] != 0] + row * n)
            if row + step >= len(positions) or sum(map(len, waiting)) >= BLOCK:
                r, column = np.divmod(np.concatenate(waiting), n)
                self._reopen(positions[r], r if place is None else place[r], column, way, cos, sin)
                waiting.clear()

    def _small(self, positions: Float64s, _: slice) -> Values:
        (cos, unlike), (sin, also) = self.small.cos_sin(positions[:, None], slice(None))
        return cos, sin, np.flatnonzero(unlike | also)

    def _waves(self, positions: Float64s, *, slow: bool) -> Callable[[Float64s, slice], Values]:
        """From the tables of few parts, or from the angles."""
        parts = (None if slow else self._from_tables(positions)) or self._from_angles(positions, slow=slow)

        def block(_: Float64s, rows: slice) -> Values:
            values, entries = self._rounded(*parts(rows), relative=slow)
            return values[..., 0::2], values[..., 1::2], entries

        return block

    def _from_angles(self, positions: Float64s, *, slow: bool) -> Block:
        """A point of the table times a small rotation."""
        angles = Angles(positions, self.frequencies, radians=self.radians)
        first_part = upper_half if slow else on_grid

        def block(rows: slice) -> tuple[Any, Any]:
            j, high, low = angles.rows(rows)
            return product(_taken(self.circle, j), small_rotation(high, low, first_part))

        return block

    def _from_tables(self, positions: Float64s) -> Block | None:
        """A coarse rotation times a fine one, if there are few of each."""
        parts = _few_parts(positions)
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
        self, p: Float64s, row: Indices, column: Indices, way: str, cos: NDArray[Any], sin: NDArray[Any]
    ) -> None:
        """Single entries: small angles, others relative to the distance from a quarter turn, and the rest with integers."""
        w = self.small.w[column]
        cos[row[w == 0], column[w == 0]], sin[row[w == 0], column[w == 0]] = rounded_ratio(self.gain, self.dtype), 0.0
        left = w != 0

        def settle(which: Indices, c: NDArray[Any], s: NDArray[Any], done: NDArray[np.bool_]) -> None:
            at = row[which[done]], column[which[done]]
            cos[at], sin[at] = c[done], s[done]
            left[which[done]] = False

        if way != "small" and not self.extreme:
            small = np.flatnonzero(left & self.small.usual[column] & (np.abs(p) * w <= LARGEST))
            (c, unlike), (s, also) = self.small.cos_sin(p[small], column[small])
            settle(small, c, s, ~(unlike | also))
        if way == "fast" and not self.extreme:
            near = np.flatnonzero(left)
            j, high, low = Angles(p[near], self.frequencies, radians=self.radians).each(column[near])
            parts = product(_taken(self.circle, j), small_rotation(high, low, upper_half))
            values, entries = self._rounded(*parts, relative=True)
            done = j % (POINTS // 4) == 0
            done[entries] = False
            settle(near, values[0::2], values[1::2], done)
        hard = np.flatnonzero(left)
        for a, r, c in zip(p[hard].tolist(), row[hard].tolist(), column[hard].tolist(), strict=True):
            (u, v), (n, d) = a.as_integer_ratio(), self.frequencies[c]
            cos[r, c], sin[r, c] = hard_cos_sin((u * n, v * d), self.gain, self.radians, self.dtype)


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
