"""Lengths, strides and launches: numbers that need no device, against NumPy's own idea of where an element lies."""

import itertools

import numpy as np
import pytest

from posref_cupy import _plan, kernels

VIEWS = {
    "contiguous": (lambda: np.empty((2, 3, 5, 8)), 1),
    "transposed": (lambda: np.empty((2, 5, 3, 8)).swapaxes(1, 2), 3),
    "length one": (lambda: np.empty((2, 1, 5, 8)), 1),
    "slices": (lambda: np.empty((4, 6, 10, 8))[::2, ::3, ::5], 3),
    "a slice of the last": (lambda: np.empty((4, 6, 10, 16))[..., :8], 1),
    "backwards": (lambda: np.empty((4, 6, 8))[::-1, ::-1], 1),
    "broadcast": (lambda: np.broadcast_to(np.empty((5, 8)), (4, 3, 5, 8)), 2),
    "one row": (lambda: np.empty(8), 0),
    "first axis fastest": (lambda: np.empty((8, 5, 3, 2)).T, 1),
}


def offsets(array):
    """Element number of every row's first channel, in NumPy's order."""
    leading = array.shape[:-1]
    strides = [s // array.itemsize for s in array.strides[:-1]]
    return [sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(leading)]


@pytest.mark.parametrize("view", VIEWS)
def test_folded_rows_are_the_same_rows(view):
    make, axes = VIEWS[view]
    array = make()
    strides = _plan.row_strides(array, array.shape[:-1]) if view != "first axis fastest" else None
    if strides is None:  # the channels are apart
        assert array.strides[-1] != array.itemsize
        return
    lengths, steps = _plan.fold(array.shape[:-1], strides)
    assert sum(n > 1 for n in lengths) == axes
    found = [sum(i * s for i, s in zip(index, steps, strict=True)) for index in itertools.product(*map(range, lengths))]
    assert found == offsets(array)


def test_two_arrays_fold_only_where_both_are_even():
    x, table = [15, 5, 1], [0, 5, 1]
    assert _plan.fold((2, 3, 5), x) == [[1, 1, 30], [0, 0, 1]]
    assert _plan.fold((2, 3, 5), x, table) == [[1, 2, 15], [0, 15, 1], [0, 0, 1]]


def test_more_than_three_axes_are_refused():
    assert _plan.fold((2, 3, 5), [100, 10, 1]) is not None
    assert _plan.fold((2, 3, 5, 7), [1000, 100, 10, 1]) is None
    assert _plan.fold((2, 1, 5, 1, 3, 1), [1000, 9, 100, 9, 10, 9]) is not None  # three that are longer than one


def test_tables_stand_still_where_they_are_broadcast():
    table = np.empty((3, 1, 4))
    assert _plan.row_strides(table, (2, 3, 5)) == [0, 4, 0]
    assert _plan.row_strides(np.empty(4), (2, 3)) == [0, 0]


def test_elements_that_are_no_whole_strides_are_refused():
    records = np.empty(4, dtype=[("x", np.float64, 3), ("y", np.float32)])  # 28 bytes
    assert _plan.row_strides(records["x"], (4,)) is None
    assert _plan.row_strides(np.empty((4, 8))[:, ::-1], (4,)) is None


SHAPES = [
    (1, 0, 1, 1, 1),
    (4, 0, 2, 3, 5),
    (64, 0, 1, 32, 4096),
    (1000, 3, 70000, 2, 1),
    (5, 900, 2, 70000, 3),
    (1, 0, 1, 1, 2**40),
]


@pytest.mark.parametrize(("pairs", "others", "outer", "middle", "inner"), SHAPES)
def test_launches_are_allowed_and_large_enough(pairs, others, outer, middle, inner):
    plan = np.zeros(1, dtype=_plan.PLAN)
    plan["pairs"], plan["others"], plan["size"] = pairs, others, (outer, middle, inner)
    (x, y, z), (lanes, rows) = _plan.launch_shape(plan)
    assert 1 <= lanes * rows <= 1024  # CUDA's most threads of a block
    assert lanes >= min(max(pairs, others), 256)
    assert 1 <= x <= 2**31 - 1
    assert 1 <= y <= 65535
    assert 1 <= z <= 65535
    assert x * rows >= min(inner, 2**31 - 1)
    assert (x - 1) * rows < inner  # no block without a row
    assert y == min(middle, 65535)
    assert z == min(outer, 65535)


def test_a_plan_is_what_the_text_declares():
    """Same names in the same order; that the sizes agree too is checked on the compiled kernel."""
    declared = kernels.ROPE_APPLY.split("struct Plan {")[1].split("};")[0]
    code = "".join(line.split("//")[0] for line in declared.splitlines())
    statements = [s.strip() for s in code.split(";") if s.strip()]
    assert all(s.startswith("long long ") for s in statements)
    fields = [f.strip() for s in statements for f in s.removeprefix("long long").split(",")]
    assert fields == [n + ("[3]" if _plan.PLAN[n].shape else "") for n in _plan.PLAN.names]
    assert all(_plan.PLAN[n].base == np.int64 for n in _plan.PLAN.names)
