"""A learned table for another length, or another size of picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._additive_arguments import resampling_rule, resampling_sizes, resampling_spacing
from posref._arguments import floating
from posref.additive._geometric import geometric_weights

Kernel = Callable[[Fraction], Fraction]


def resample_table(
    table: ArrayLike,
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
) -> NDArray[np.float64]:
    r"""A table of a grid's rows, interpolated to another size: axis by axis, by sums with weights of one kernel.

    .. math:: T'_o = \sum_j W_{oj} T_j, \qquad W_{oj} = \kappa(c_o - j), \qquad c_o = (o + 1/2)\, r - 1/2, \qquad
              r = \frac{S}{n + \delta}

    for S old and n new cells on an axis; :math:`\kappa` is 1 - \|x\| within 1 ("linear"), or within 2 Keys' cubic with
    parameter a. Cells beyond the border count as those at it.

    Parameters
    ----------
    table
        (prefix + cells, dim), the last axis of the grid runs fastest.
    sizes, new_sizes
        Cells per axis, (height, width) for a picture; as many axes as there are. New ones may be 0.
    kernel
        ``"linear"`` or ``"cubic"``; ``"spline"``, the cubic spline through all rows, with ``spacing="geometric"``.
    cubic_a
        Keys' a. None is torch's: -0.75, and -0.5 with antialias, which PIL and JAX have too.
    antialias
        Stretch the kernel by r where r > 1, leave out what lies beyond the border, and divide by the sum of the weights.
    align_corners
        :math:`c_o = o (S - 1) / (n - 1)`: first on first, last on last.
    offset
        :math:`\delta`: 0 takes the ratio from the sizes, 0.1 is DINO's scale factor (n + 0.1) / S.
    prefix
        Rows before the grid (class token, registers), which stay as they are.
    spacing
        ``"uniform"``, or ``"geometric"`` for a table of offsets, 2 n - 1 for a window of n: the middle stays the middle, and the
        old offset j lies at the new :math:`1 + q + \ldots + q^{j-1}`, with the q that brings the last to the last. Between
        them straight lines ("linear") or a spline ("spline").

    Returns
    -------
    (prefix + new cells, dim), float64

    Raises
    ------
    ValueError
        A table that does not fit the sizes, sizes < 1, not one new size per axis, an unknown kernel, ``align_corners`` with
        antialias or an offset; with "geometric", sizes that are even, a q that is not within 1 .. 1.5, any of the options.

    Notes
    -----
    Source: Keys (1981), eq. 8, for the cubic; torch's ``interpolate`` for what happens at the border and with antialias.
    Disagreement: ViT, DeiT and MAE in transformers are the default; DINO and DINOv2 have ``offset=0.1``, or antialias, as timm
    has; SigLIP 2 ``kernel="linear", antialias=True``; Qwen3-VL ``kernel="linear", align_corners=True``, as big_vision (by
    scipy's zoom). Antialias changes the cubic even where the table grows, by its a.
    BEiT's own code has "geometric" and "spline" for bias tables of relative positions, timm "geometric" and "linear"; both find
    q to 1e-6, which moves the far rows by some 1e-5 of a cell.
    Pitfalls: transformers' BEiT reshapes a table of (height, width) as ``sizes=(width, height)``; timm leaves a table alone only
    if the number of cells is the same and the picture square.

    Examples
    --------
    >>> resample_table([[0.0], [3.0]], (2,), (4,), kernel="linear", align_corners=True).ravel()
    array([0., 1., 2., 3.])
    >>> resample_table([[0.0], [3.0]], (2,), (4,), kernel="linear").ravel()
    array([0.  , 0.75, 2.25, 3.  ])
    """
    rows = floating(table, "table")
    old, new, first = resampling_sizes(rows.shape, sizes, new_sizes, prefix)
    a, more = resampling_rule(kernel, cubic_a, antialias, align_corners, offset)
    geometric = resampling_spacing(spacing, old, new, kernel, antialias, align_corners, offset)
    reach, kappa = (1, _linear) if kernel == "linear" else (2, _keys(Fraction(a)))
    grid = rows[first:].reshape(*old, rows.shape[1])
    for axis, (s, n) in enumerate(zip(old, new, strict=True)):
        if geometric:
            grid = _along(axis, geometric_weights(s, n, kernel), grid)
            continue
        if align_corners:
            ratio, centre = Fraction(s - 1, max(n - 1, 1)), Fraction(0)
        else:
            ratio, centre = Fraction(s) / (n + Fraction(more)) if n else Fraction(1), Fraction(1, 2)
        stretch = max(ratio, Fraction(1)) if antialias else Fraction(1)
        weights = [_weights((o + centre) * ratio - centre, s, reach, kappa, stretch, antialias) for o in range(n)]
        grid = _along(axis, weights, grid)
    return np.concatenate([rows[:first], grid.reshape(math.prod(new), rows.shape[1])])


def _along(axis: int, weights: list[list[float]], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    matrix = np.array(weights, dtype=np.float64).reshape(len(weights), grid.shape[axis])
    return np.moveaxis(np.tensordot(matrix, grid, axes=(1, axis)), 0, axis)


def _weights(c: Fraction, s: int, reach: int, kappa: Kernel, stretch: Fraction, antialias: bool) -> list[float]:
    """The weights of s cells for one new cell at c, each rounded once."""
    near = range(math.floor(c - reach * stretch), math.ceil(c + reach * stretch) + 1)
    row = [Fraction(0)] * s
    for j in near:
        if not antialias:
            row[min(max(j, 0), s - 1)] += kappa(c - j)
        elif 0 <= j < s:
            row[j] += kappa((c - j) / stretch)
    total = sum(row) if antialias else 1
    return [float(w / total) for w in row]


def _linear(x: Fraction) -> Fraction:
    return max(1 - abs(x), Fraction(0))


def _keys(a: Fraction) -> Kernel:
    """Keys' cubic convolution kernel."""

    def kappa(x: Fraction) -> Fraction:
        t = abs(x)
        if t < 1:
            return (a + 2) * t**3 - (a + 3) * t**2 + 1
        return a * (t**3 - 5 * t**2 + 8 * t - 4) if t < 2 else Fraction(0)

    return kappa
