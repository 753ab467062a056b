"""Where the kernel finds each row and pair: lengths and strides as numbers, worked out without a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

AXES = 3  # of a CUDA grid
THREADS = 256  # of a block
MOST_BLOCKS = (2**31 - 1, 65535, 65535)  # that a grid can have along x, y and z

# struct Plan of kernels.ROPE_APPLY, field by field: all of 8 bytes, so there is no padding
PLAN = np.dtype(
    [(name, np.int64, (AXES,)) for name in ("size", "x", "table", "out")]
    + [(name, np.int64) for name in ("pairs", "offset", "others")]
    + [(name, np.int64) for name in ("x_step", "x_apart", "out_step", "out_apart", "inverse")]
)


class Strided(Protocol):
    """What is asked of an array: NumPy's have it, CuPy's too."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int


class Turn(NamedTuple):
    """What a rotation does to a row."""

    pairs: int
    offset: int
    layout: str
    output_layout: str
    inverse: bool


def plan_of(x: Strided, table: Strided, out: Strided, turn: Turn) -> NDArray[Any] | None:
    """The kernel's last argument, shape (1,), as CuPy passes structures by value; None where the kernel cannot walk so.

    It can if neighbouring channels are neighbours in memory and the rows lie evenly on at most three axes.
    """
    strides = [row_strides(array, x.shape[:-1]) for array in (x, table, out)]
    rows = None if None in strides else fold(x.shape[:-1], *(s for s in strides if s is not None))
    if rows is None:
        return None
    plan = np.zeros(1, dtype=PLAN)
    plan["size"], plan["x"], plan["table"], plan["out"] = rows
    plan["pairs"], plan["offset"] = turn.pairs, turn.offset
    plan["others"] = 0 if x is out else x.shape[-1] - 2 * turn.pairs
    plan["x_step"], plan["x_apart"] = step_and_apart(turn.layout, turn.pairs)
    plan["out_step"], plan["out_apart"] = step_and_apart(turn.output_layout, turn.pairs)
    plan["inverse"] = turn.inverse
    return plan


def launch_shape(plan: NDArray[Any]) -> tuple[tuple[int, int, int], tuple[int, int]]:
    """Blocks of the grid, threads of a block: enough for all rows, or as many as CUDA allows; the kernel's loops do the rest."""
    longest = max(int(plan["pairs"][0]), int(plan["others"][0]))
    lanes = min(THREADS, 1 << (longest - 1).bit_length())  # the power of two that holds a row
    rows = THREADS // lanes
    outer, middle, inner = (int(n) for n in plan["size"][0])
    x, y, z = (min(n, most) for n, most in zip((-(-inner // rows), middle, outer), MOST_BLOCKS, strict=True))
    return (x, y, z), (lanes, rows)


def step_and_apart(layout: str, pairs: int) -> tuple[int, int]:
    """From one pair to the next, and from a pair's first channel to its second."""
    return (1, pairs) if layout == "half" else (2, 1)


def row_strides(array: Strided, rows: Sequence[int]) -> list[int] | None:
    """Strides in elements along ``rows``, which the array's leading axes are broadcast to; None if channels are apart."""
    *leading, last = array.strides
    if (last != array.itemsize and array.shape[-1] > 1) or any(s % array.itemsize for s in leading):
        return None
    steps = [0 if length == 1 else s // array.itemsize for length, s in zip(array.shape[:-1], leading, strict=True)]
    return [0] * (len(rows) - len(steps)) + steps


def fold(lengths: Sequence[int], *strides: Sequence[int]) -> list[list[int]] | None:
    """The same rows on three axes: [lengths, strides of the first array, of the second, ...]; None if it takes more.

    An axis of length one goes. Two neighbours are one axis if, in every array, the outer stride is the inner one times
    the inner length.
    """
    axes: list[list[int]] = []
    for length, *steps in zip(lengths, *strides, strict=True):
        if length == 1:
            continue
        if axes and axes[-1][1:] == [length * s for s in steps]:
            axes[-1] = [axes[-1][0] * length, *steps]
        else:
            axes.append([length, *steps])
    if len(axes) > AXES:
        return None
    missing = [[1, *(0 for _ in strides)] for _ in range(AXES - len(axes))]
    return [list(numbers) for numbers in zip(*missing, *axes, strict=True)]
