"""Rows by distance, and the shift: what the closed form says is what padding and reshaping do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posref import relative_bias, relative_index, relative_shift

Floats = NDArray[np.float64]


def by_padding(x: Floats, keys: int, rule: str) -> Floats:
    """What the released codes do, on one matrix."""
    q, columns = x.shape
    if rule == "gemma-3n":  # zeros behind, one column more than is kept
        padded = np.pad(x, ((0, 0), (0, keys + 1 - columns)))
        return padded.reshape(-1)[: q * keys].reshape(q, keys)
    if rule == "transformer-xl":  # a column of zeros in front, read as rows of length q, the first dropped
        return np.pad(x, ((0, 0), (1, 0))).reshape(columns + 1, q)[1:].reshape(q, columns)[:, :keys]
    return x.reshape(columns, q)[1:].reshape(q, columns - 1)[:, :keys]  # xlnet


def pooled_by_dropping(x: Floats, keys: int, stride: int) -> Floats:
    """Funnel's: as many first rows of the reshaped matrix dropped as a query moves keys on by."""
    q, columns = x.shape
    return x.reshape(columns, q)[stride:].reshape(q, columns - stride)[:, :keys]


def is_the_dropping(shift: Callable[..., Any]) -> None:
    @given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 4), st.data())
    def check(q: int, more: int, stride: int, data: Any) -> None:
        x, keys = np.random.default_rng(q * more).normal(size=(q, stride + more)), data.draw(st.integers(1, more))
        moved = shift(x, keys, rule="xlnet", stride=stride)
        assert np.array_equal(moved, pooled_by_dropping(x, keys, stride))
        masked, i, j = shift(x, keys, rule="xlnet", stride=stride, outside="zero"), *np.ogrid[:q, :keys]
        assert np.array_equal(masked, np.where(j - stride * i + stride * q < stride + more, moved, 0))

    check()


def test_pooled_queries() -> None:
    is_the_dropping(relative_shift)
    with pytest.raises(AssertionError):
        is_the_dropping(lambda x, keys, stride, **how: relative_shift(x, keys, **how))


def is_the_padding(rule: str, shift: Callable[..., Any]) -> None:
    @given(st.integers(1, 6), st.integers(2, 9), st.data())
    def check(q: int, columns: int, data: Any) -> None:
        most = columns - 1 if rule == "xlnet" else columns
        keys = q + columns - 1 if rule == "gemma-3n" else data.draw(st.integers(1, most))
        x = np.random.default_rng(q * columns).normal(size=(q, columns))
        assert np.array_equal(shift(x, keys, rule=rule), by_padding(x, keys, rule))

    check()


@pytest.mark.parametrize("rule", ["transformer-xl", "xlnet", "gemma-3n"])
def test_the_closed_form_is_what_padding_and_reshaping_do(rule: str) -> None:
    is_the_padding(rule, relative_shift)


@pytest.mark.parametrize("rule", ["transformer-xl", "xlnet"])
def test_a_shift_that_is_masked_is_not(rule: str) -> None:
    with pytest.raises(AssertionError):
        is_the_padding(rule, lambda x, keys, rule: relative_shift(x, keys, rule=rule, outside="zero"))


# Which relative position k - q the first column of x stands for, with queries that are the last of the keys.
WINDOWS: dict[str, Callable[[int, int], tuple[int, int, str]]] = {  # (q, k) -> left, right, rule
    "transformer-xl": lambda q, k: (k - 1, 0, "transformer-xl"),
    "conformer": lambda q, k: (k - 1, k - 1, "transformer-xl"),
    "xlnet": lambda q, k: (k, q - 1, "xlnet"),
}


def is_a_look_up(window: str, index: Callable[..., Any]) -> None:
    """Shifted products with one row per distance are products with the row of each pair: D25."""

    @given(st.integers(1, 5), st.integers(0, 4))
    def check(q: int, memory: int) -> None:
        k = q if window == "conformer" else q + memory
        left, right, rule = WINDOWS[window](q, k)
        draw = np.random.default_rng(q + 7 * k)
        x, table = draw.normal(size=(2, q, 4)), draw.normal(size=(left + right + 1, 4))
        apart = np.arange(k)[None] - (np.arange(q)[:, None] + k - q)
        rows = index(apart, left, right, outside="none")
        shifted = relative_shift(x @ table.T, k, rule=rule, outside="zero")
        np.testing.assert_allclose(shifted, relative_bias(x, table, rows), rtol=0, atol=1e-13)  # (4 + 2) u * 4 * 4 * 4

    check()


@pytest.mark.parametrize("window", WINDOWS)
def test_a_shift_is_a_look_up(window: str) -> None:
    is_a_look_up(window, relative_index)


@pytest.mark.parametrize("window", WINDOWS)
def test_of_other_rows_it_is_none(window: str) -> None:
    with pytest.raises(AssertionError):
        is_a_look_up(window, lambda apart, left, right, outside: relative_index(-apart, left, right, outside=outside))


def test_the_windows_are_four_tables_for_the_same_pairs() -> None:
    """D25: on one matrix, each rule reads other columns; the short window of the first Conformers has no future."""
    x = np.arange(1.0, 13).reshape(3, 4)
    xl, xlnet = relative_shift(x, 3), relative_shift(x, 3, rule="xlnet")
    assert xl.tolist() == [[3, 4, 0], [6, 7, 8], [9, 10, 11]]  # after 4 comes the padding, and then another query's 5
    assert xlnet.tolist() == [[4, 5, 6], [7, 8, 9], [10, 11, 12]]
    legacy, full = relative_shift(x[:, :3], 3), relative_shift(np.arange(1.0, 16).reshape(3, 5), 3)
    assert legacy.tolist() == [[3, 0, 5], [6, 7, 0], [9, 10, 11]]
    assert full.tolist() == [[3, 4, 5], [7, 8, 9], [11, 12, 13]]
    assert relative_shift(x[:, :3], 3, outside="zero").tolist() == [[3, 0, 0], [6, 7, 0], [9, 10, 11]]


def clips_to_its_ends(index: Callable[..., Any]) -> None:
    @given(st.integers(0, 9), st.integers(0, 9))
    def check(left: int, right: int) -> None:
        relative = np.arange(-30, 31)
        rows, some = index(relative, left, right), index(relative, left, right, outside="none")
        inside = (relative >= -left) & (relative <= right)
        assert np.array_equal(np.unique(rows), np.arange(left + right + 1))  # every row, and no other
        assert (np.diff(rows) >= 0).all()  # monotone in the distance
        assert np.array_equal(rows[inside], relative[inside] + left)  # a bijection between the ends
        assert (rows[relative < -left] == 0).all()
        assert (rows[relative > right] == left + right).all()
        assert np.array_equal(some, np.where(inside, rows, -1))

    check()


def test_rows_are_clipped_to_their_ends() -> None:
    clips_to_its_ends(relative_index)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda r, left, right, **how: relative_index(r, right, left, **how),
        lambda r, left, right, **how: relative_index(r, left, right + 1, **how),
        lambda r, left, right, outside="clip": relative_index(r, left, right),
    ],
)
def test_faults_of_rows_are_noticed(wrong: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        clips_to_its_ends(wrong)


def test_signs_and_ends_are_the_callers() -> None:
    """D21 and D22: the same pairs, other rows."""
    apart = np.arange(5)[None] - np.arange(3)[:, None]  # k - q
    shaw, speecht5 = relative_index(apart, 2, 2), relative_index(-apart, 2, 1)
    assert shaw.tolist() == [[2, 3, 4, 4, 4], [1, 2, 3, 4, 4], [0, 1, 2, 3, 4]]
    assert np.array_equal(relative_index(-apart, 2, 2), 4 - shaw)  # the table read from its other end
    assert speecht5.tolist() == [[2, 1, 0, 0, 0], [3, 2, 1, 0, 0], [3, 3, 2, 1, 0]]
    assert relative_index([-70, 70], 64, 8).tolist() == [0, 72]


def test_positions_as_far_as_integers_are_exact() -> None:
    assert relative_index([2**53, -(2**53)], 2**52, 7).tolist() == [2**52 + 7, 0]
