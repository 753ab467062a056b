"""A learned table for another length, or another size of picture. See posref for the formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from posref._additive_arguments import resampling_rule, resampling_sizes, resampling_spacing
from posref_array._support import Array, Namespace, device_of, namespace, require_floating, working_type

Table: TypeAlias = NDArray[np.float64]


def resample_table(
    table: Array,
    sizes: Sequence[int],
    new_sizes: Sequence[int],
    *,
    kernel: str = "cubic",
    cubic_a: float | None = None,
    antialias: bool = False,
    align_corners: bool = False,
    offset: float = 0.0,
    prefix: int = 0,
    spacing: str = "uniform",
    xp: Namespace | None = None,
) -> Array:
    """A table of a grid's rows at another size, (prefix + new cells, dim), of its type: :func:`posref.resample_table`."""
    xp = namespace(xp, table)
    require_floating("table", table)
    old, new, first = resampling_sizes(table.shape, sizes, new_sizes, prefix)
    a, more = resampling_rule(kernel, cubic_a, antialias, align_corners, offset)
    geometric = resampling_spacing(spacing, old, new, kernel, antialias, align_corners, offset)
    work, dim = working_type(xp, table), table.shape[1]
    grid = xp.astype(table[first:, :], work, copy=False)
    for axis, (s, n) in enumerate(zip(old, new, strict=True)):
        if geometric:
            rows = _of_offsets(s, n, kernel == "spline")
        else:
            rows = _weights(s, n, a if kernel == "cubic" else None, antialias, align_corners, more)
        matrix = xp.reshape(xp.asarray(rows, dtype=work, device=device_of(table)), (n, s))
        before, after = math.prod(new[:axis]), math.prod(old[axis + 1 :]) * dim
        grid = matrix @ xp.reshape(grid, (before, s, after))  # (before, n, after)
    resampled = xp.astype(xp.reshape(grid, (math.prod(new), dim)), table.dtype, copy=False)
    return xp.concat([table[:first, :], resampled], axis=0)


def _weights(s: int, n: int, a: float | None, antialias: bool, align_corners: bool, offset: float) -> list[float]:
    """The matrix from s cells to n, row by row; a is the cubic's, None for the linear kernel."""
    flat: list[float] = []
    for o in range(n):
        if align_corners:
            ratio = 1.0
            centre = o * (s - 1) / (n - 1) if n > 1 else 0.0
        else:
            ratio = s / (n + offset)
            centre = (o + 0.5) * ratio - 0.5
        width = max(ratio, 1.0) if antialias else 1.0
        row = [0.0] * s
        reach = math.ceil(2 * width)
        for j in range(math.floor(centre) - reach, math.floor(centre) + reach + 2):
            if not antialias:
                row[min(max(j, 0), s - 1)] += _kappa(abs(centre - j), a)
            elif 0 <= j < s:
                row[j] = _kappa(abs(centre - j) / width, a)
        total = sum(row) if antialias else 1.0
        flat += [weight / total for weight in row]
    return flat


def _kappa(t: float, a: float | None) -> float:
    """The kernel at distance t."""
    if a is None:
        return max(0.0, 1.0 - t)
    if t < 1.0:
        return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0
    return (((t - 5.0) * t + 8.0) * t - 4.0) * a if t < 2.0 else 0.0


def _of_offsets(s: int, n: int, spline: bool) -> list[float]:
    """The same for offsets whose old places are a geometric progression, from Hermite's cubics: values and slopes."""
    x, t = _places(s // 2, n // 2), np.arange(-(n // 2), n // 2 + 1)
    slopes = _slopes(x) if spline else np.zeros((s, s))
    at = np.clip(np.searchsorted(x, t, side="right") - 1, 0, s - 2)
    h = (x[at + 1] - x[at])[:, None]
    b = (t - x[at])[:, None] / h
    if not spline:
        rows = (1 - b) * np.eye(s)[at] + b * np.eye(s)[at + 1]
    else:
        rows = (1 - b) ** 2 * ((1 + 2 * b) * np.eye(s)[at] + b * h * slopes[at])
        rows += b**2 * ((3 - 2 * b) * np.eye(s)[at + 1] - (1 - b) * h * slopes[at + 1])
    return [float(w) for w in rows.ravel()]


def _places(half: int, last: int) -> Table:
    """Where the old offsets lie among the new ones; the ratio by halving, to the last bit."""
    low, high = 1.0, 1.5
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if math.fsum(middle**k for k in range(half)) < last else (low, middle)
    steps = [0.0, *(math.fsum(high**k for k in range(j)) for j in range(1, half)), float(last)]
    return np.array([-step for step in steps[:0:-1]] + steps)


def _slopes(x: Table) -> Table:
    """(points, rows): the slope of the spline through the rows, whose first and last two pieces are one cubic each."""
    h, s = np.diff(x), len(x)
    d = (np.eye(s)[1:] - np.eye(s)[:-1]) / h[:, None]
    left, right = np.zeros((s, s)), np.zeros((s, s))
    for i in range(1, s - 1):
        left[i, i - 1 : i + 2] = h[i], 2 * (h[i - 1] + h[i]), h[i - 1]
        right[i] = 3 * (h[i] * d[i - 1] + h[i - 1] * d[i])
    for end, a, b, e, f in ((0, h[0], h[1], d[0], d[1]), (-1, h[-1], h[-2], d[-1], d[-2])):
        left[end, end], left[end, 1 if end == 0 else -2] = b, a + b
        right[end] = ((a + 2 * (a + b)) * b * e + a * a * f) / (a + b)
    return np.asarray(np.linalg.solve(left, right))
