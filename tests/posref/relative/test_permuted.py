"""Permuted channels: PermuteFormer's scores depend on the distance alone; the rows by composing them one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posref import permuted_channels

Rows = Callable[[Any, Any], Any]
FAULTS: dict[str, Rows] = {
    "once": lambda row, p: permuted_channels(row, np.minimum(p, 1)),
    "backwards": lambda row, p: permuted_channels(row, -np.asarray(p)),
    "from 1": lambda row, p: permuted_channels(row, np.asarray(p) + 1),
}


def released(row: Any, n: int) -> Any:
    """The released code's way: the next row is the one before it, taken at the permutation."""
    rows = [np.arange(len(row))]
    for _ in range(n - 1):
        rows.append(rows[-1][row])
    return np.stack(rows)


@pytest.mark.parametrize("d", [1, 2, 7, 64])
def test_as_the_released_code(d: int) -> None:
    row = np.random.default_rng(d).permutation(d)
    assert np.array_equal(permuted_channels(row, np.arange(40)), released(row, 40))


@pytest.mark.parametrize("fault", FAULTS)
def test_other_rows_are_noticed(fault: str) -> None:
    row = np.array([1, 2, 0, 4, 3])
    assert not np.array_equal(FAULTS[fault](row, np.arange(9)), released(row, 9))


def scores(rows: Rows, i: Any, j: Any, r: float = 0.9) -> Any:
    """Of queries at i and keys at j, the same content everywhere."""
    source = np.random.default_rng(5)
    row, q, k = source.permutation(12), source.normal(size=12), source.normal(size=12)
    queries = r ** i[:, None] * q[rows(row, i)]
    keys = r ** -j[:, None].astype(float) * k[rows(row, j)]
    return queries @ keys.T


def test_scores_depend_on_the_distance_alone() -> None:
    """Sums of 12 products below 10 times r^-30 = 24, at most 42 moved alike: 12 roundings of 2^-53 are below 1e-12."""
    i, j = np.arange(5), np.arange(7)
    here = scores(permuted_channels, i, j)
    for moved in (1, 5, 30):
        assert np.abs(scores(permuted_channels, i + moved, j + moved) - here).max() < 1e-12
    assert np.abs(scores(FAULTS["once"], i + 5, j + 5) - scores(FAULTS["once"], i, j)).max() > 0.1


def test_positions_add_up_and_come_back() -> None:
    row = np.random.default_rng(3).permutation(30)
    two, three, five = (permuted_channels(row, p) for p in (2, 3, 5))
    assert np.array_equal(two[three], five)
    assert np.array_equal(two[permuted_channels(row, -2)], np.arange(30))
    cycles = np.array([1, 2, 0, 4, 3, 6, 7, 8, 5])  # of 3, 2 and 4: back after 12
    assert np.array_equal(permuted_channels(cycles, 12 * 2**40 + 1), cycles)
    assert not np.array_equal(permuted_channels(cycles, 6), np.arange(9))


def test_heads_come_first() -> None:
    rows = np.stack([np.random.default_rng(s).permutation(6) for s in range(3)])
    found = permuted_channels(rows, [[0, 4], [9, 2]])
    assert found.shape == (3, 2, 2, 6)
    assert np.array_equal(found[1, 1, 0], permuted_channels(rows[1], 9))
