"""Learned positions: rows of a table, and the hard cap on the length."""

from __future__ import annotations

import numpy as np
import pytest

import posref

TABLE = np.random.default_rng(5).standard_normal((7, 4))


@pytest.mark.parametrize("positions", [3, [0, 6], [[6, 0, 0], [5, 5, 1]], [], np.zeros((2, 0), int)], ids=str)
def test_rows(positions: object) -> None:
    p = np.asarray(positions, dtype=int)
    found = posref.learned(TABLE, positions)  # type: ignore[arg-type]
    assert found.shape == (*p.shape, 4)
    for index in np.ndindex(*p.shape):
        assert np.array_equal(found[index], TABLE[p[index]])


@pytest.mark.parametrize("position", [7, -1, -7, 2**40])
def test_the_cap_is_hard(position: int) -> None:
    """NumPy would wrap -1 and -7, torch's embedding on a GPU would read beyond."""
    with pytest.raises(IndexError, match=rf"positions must be in 0 \.\. 6 for a table of 7 rows, got {position}$"):
        posref.learned(TABLE, [0, position])
    assert posref.learned(TABLE, [0, 6]).shape == (2, 4)


def test_the_result_is_a_copy() -> None:
    table = TABLE.copy()
    for positions in (2, [2], np.arange(7)):
        found = posref.learned(table, positions)
        assert not np.shares_memory(found, table)
        found[...] = 0
    assert np.array_equal(table, TABLE)
