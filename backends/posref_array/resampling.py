"""A learned table for another length, or another size of picture. See posref for the formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence

from posref._additive_arguments import resampling_rule, resampling_sizes
from posref_array._support import Array, Namespace, device_of, namespace, require_floating, working_type


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
    xp: Namespace | None = None,
) -> Array:
    """A table of a grid's rows at another size, (prefix + new cells, dim), of its type: :func:`posref.resample_table`."""
    xp = namespace(xp, table)
    require_floating("table", table)
    old, new, first = resampling_sizes(table.shape, sizes, new_sizes, prefix)
    a, more = resampling_rule(kernel, cubic_a, antialias, align_corners, offset)
    work, dim = working_type(xp, table), table.shape[1]
    grid = xp.astype(table[first:, :], work, copy=False)
    for axis, (s, n) in enumerate(zip(old, new, strict=True)):
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
