"""Positions of grids: order, blocks, centring, normalised coordinates. The faults are those of grids that are not square."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posref.rotary.grids import grid_coordinates, grid_positions

Grid = Callable[..., Any]
sizes = st.lists(st.integers(1, 5), min_size=1, max_size=3)


@given(sizes=sizes, data=st.data())
def every_cell_is_there_once(grid: Grid, sizes: list[int], data: st.DataObject) -> None:
    block = [data.draw(st.sampled_from([b for b in range(1, n + 1) if n % b == 0])) for n in sizes]
    for cells in (grid(sizes), grid(sizes, block=block)):
        assert cells.shape == (len(sizes), np.prod(sizes))
        assert sorted(map(tuple, cells.T.tolist())) == sorted(np.ndindex(*sizes))


@given(sizes=sizes)
def the_last_axis_runs_fastest(grid: Grid, sizes: list[int]) -> None:
    assert list(map(tuple, grid(sizes).T.tolist())) == list(np.ndindex(*sizes))


@given(outer=st.tuples(st.integers(1, 4), st.integers(1, 4)), inner=st.tuples(st.integers(1, 3), st.integers(1, 3)))
def blocks_are_neighbours(grid: Grid, outer: tuple[int, int], inner: tuple[int, int]) -> None:
    """Each run of as many cells as a block has is one block: what a patch merger joins."""
    cells = grid(np.multiply(outer, inner).tolist(), block=inner)
    runs = (
        cells.reshape(2, -1, inner[0] * inner[1]) // np.array(inner)[:, None, None]
    )  # which block, (axes, runs, cells)
    assert (runs == runs[:, :, :1]).all()
    assert list(map(tuple, runs[:, :, 0].T.tolist())) == list(np.ndindex(*outer))


@given(sizes=sizes, start=st.integers(-50, 50))
def start_moves_all_axes(grid: Grid, sizes: list[int], start: int) -> None:
    assert np.array_equal(grid(sizes, start=start), grid(sizes) + start)
    each = [start + a for a in range(len(sizes))]
    assert np.array_equal(grid(sizes, start=each), grid(sizes) + np.array(each)[:, None])


def column_fastest_swapped(sizes: Any, **options: Any) -> Any:
    """The first axis runs fastest: `meshgrid` with the other indexing."""
    options = {name: value[::-1] if isinstance(value, (list, tuple)) else value for name, value in options.items()}
    return grid_positions(sizes[::-1], **options)[::-1]


def width_taken_for_height(sizes: Any, **options: Any) -> Any:
    """Divided by the height where the width is due."""
    j = np.arange(np.prod(sizes))
    if len(sizes) != 2 or options:
        return grid_positions(sizes, **options)
    return np.stack([j // sizes[0], j % sizes[0]])


def deaf_to_blocks(sizes: Any, *, block: Any = None, **options: Any) -> Any:
    return grid_positions(sizes, **options)


def starts_at_zero(sizes: Any, *, start: Any = 0, **options: Any) -> Any:
    return grid_positions(sizes, **options)


PROPERTIES = [every_cell_is_there_once, the_last_axis_runs_fastest, blocks_are_neighbours, start_moves_all_axes]


@pytest.mark.parametrize("holds", PROPERTIES)
def test_the_grid_has_the_property(holds: Callable[[Grid], None]) -> None:
    holds(grid_positions)


@pytest.mark.parametrize(
    ("holds", "fault"),
    [
        (every_cell_is_there_once, width_taken_for_height),
        (the_last_axis_runs_fastest, column_fastest_swapped),
        (the_last_axis_runs_fastest, width_taken_for_height),
        (blocks_are_neighbours, deaf_to_blocks),
        (blocks_are_neighbours, column_fastest_swapped),
        (start_moves_all_axes, starts_at_zero),
    ],
)
def test_a_fault_lacks_the_property(holds: Callable[[Grid], None], fault: Grid) -> None:
    with pytest.raises(AssertionError):
        holds(fault)


def test_a_square_grid_hides_a_swap_of_sizes() -> None:
    assert np.array_equal(width_taken_for_height([3, 3]), grid_positions([3, 3]))
    assert not np.array_equal(width_taken_for_height([2, 3]), grid_positions([2, 3]))


def test_qwen_image_centres() -> None:
    """Rows -3 .. 1 of five, -2 .. 1 of four: the middle is left of zero where there is one."""
    t, h, w = grid_positions((2, 5, 4), start=(0, 5 // 2 - 5, 4 // 2 - 4))
    assert np.unique(t).tolist() == [0, 1]
    assert np.unique(h).tolist() == [-3, -2, -1, 0, 1]
    assert np.unique(w).tolist() == [-2, -1, 0, 1]


def test_an_empty_axis() -> None:
    for sizes in ((0,), (0, 3), (2, 0, 3)):
        assert grid_positions(sizes).shape == (len(sizes), 0)
        assert grid_positions(sizes, block=(1,) * len(sizes)).shape == (len(sizes), 0)
        for normalize in ("separate", "max", "min"):
            assert grid_coordinates(sizes, normalize=normalize).shape == (len(sizes), 0)


# --- coordinates -----------------------------------------------------------------------------------------------------


def test_dinov3_worked() -> None:
    """Two by two patches, 8 channels, base 100: the angles of the first patch are -pi and -pi/10 for both axes."""
    angles = 2 * np.pi * grid_coordinates((2, 2))[:, 0, None] * 100.0 ** (-np.arange(2) / 2)
    np.testing.assert_allclose(angles, [[-np.pi, -np.pi / 10]] * 2, rtol=1e-15)


@given(h=st.integers(1, 40), w=st.integers(1, 40))
def test_separate_coordinates_are_symmetric(h: int, w: int) -> None:
    """About 0, exactly; the middle of an odd number is 0."""
    for row in map(np.unique, grid_coordinates((h, w))):
        assert np.array_equal(row, -row[::-1])
        assert np.abs(row).max() < 1
        assert len(row) % 2 == 0 or row[len(row) // 2] == 0.0


@given(h=st.integers(1, 40), w=st.integers(1, 40))
def test_max_and_min_keep_cells_square(h: int, w: int) -> None:
    for normalize, n in (("max", max(h, w)), ("min", min(h, w))):
        rows, columns = map(np.unique, grid_coordinates((h, w), normalize=normalize))
        for row in (rows, columns):
            assert row[0] == (1 - n) / n
            assert np.allclose(np.diff(row), 2 / n, rtol=0, atol=2.0**-50)  # of numbers up to 80


def test_the_three_normalizations_differ_only_on_grids_that_are_not_square() -> None:
    for shape, alike in (((3, 3), True), ((3, 5), False)):
        separate, largest, smallest = (grid_coordinates(shape, normalize=n) for n in ("separate", "max", "min"))
        assert np.array_equal(separate, largest) == alike
        assert np.array_equal(separate, smallest) == alike


def test_coordinates_follow_the_blocks() -> None:
    of_cell = dict(zip(map(tuple, grid_positions((4, 6)).T.tolist()), grid_coordinates((4, 6)).T.tolist(), strict=True))
    blocked = grid_coordinates((4, 6), block=(2, 3)).T.tolist()
    assert blocked == [of_cell[tuple(cell)] for cell in grid_positions((4, 6), block=(2, 3)).T.tolist()]
    assert blocked != grid_coordinates((4, 6)).T.tolist()
