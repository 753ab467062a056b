"""Cos and sin: on the circle, odd and even, additive in the position, and right at any distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref

Floats = NDArray[np.float64]
Table = Callable[..., tuple[Floats, Floats]]

U = 2.0**-53

dims = st.integers(1, 40).map(lambda pairs: 2 * pairs)
bases = st.floats(1.5, 1e7)
anywhere = st.integers(-(2**50), 2**50)


def in_float64(positions: Any, dim: int, *, base: float) -> tuple[Floats, Floats]:
    """What implementations do: a rounded frequency, a rounded angle. The error grows with the position."""
    angle = np.asarray(positions, dtype=float)[..., None] * posref.rope_inv_freq(dim, base=base)
    return np.cos(angle), np.sin(angle)


def half_sized(positions: Any, dim: int, *, base: float) -> tuple[Floats, Floats]:
    return posref.rope_table(positions, dim, base=base, attention_factor=0.5)


def of_the_magnitude(positions: Any, dim: int, *, base: float) -> tuple[Floats, Floats]:
    """The sign of the position lost."""
    return posref.rope_table(np.abs(positions), dim, base=base)


@given(dim=dims, base=bases, p=anywhere, q=anywhere)
def angles_add_up(table: Table, dim: int, base: float, p: int, q: int) -> None:
    (cos, sin), (cos_p, sin_p), (cos_q, sin_q) = (table([at], dim, base=base) for at in (p + q, p, q))
    # four values within u / 2, two products and a sum: 2 u + 2 u + u; and u / 2 of the value itself
    assert np.abs(cos - (cos_p * cos_q - sin_p * sin_q)).max() <= 6 * U
    assert np.abs(sin - (sin_p * cos_q + cos_p * sin_q)).max() <= 6 * U


@given(dim=dims, base=bases, p=anywhere)
def lies_on_the_circle(table: Table, dim: int, base: float, p: int) -> None:
    cos, sin = table([p], dim, base=base)
    assert np.abs(cos * cos + sin * sin - 1).max() <= 4 * U  # twice a value within u / 2, three roundings


@given(dim=dims, base=bases, p=st.floats(1e-6, 1e12))
def is_even_and_odd(table: Table, dim: int, base: float, p: float) -> None:
    (cos, sin), (cos_back, sin_back) = (table([at], dim, base=base) for at in (p, -p))
    assert np.array_equal(cos, cos_back)
    assert np.array_equal(sin, -sin_back)


@pytest.mark.parametrize("holds", [angles_add_up, lies_on_the_circle, is_even_and_odd])
def test_the_reference_has_the_property(holds: Callable[[Table], None]) -> None:
    holds(posref.rope_table)


@pytest.mark.parametrize(
    ("holds", "fault"),
    [
        (angles_add_up, in_float64),
        (angles_add_up, half_sized),
        (lies_on_the_circle, half_sized),
        (is_even_and_odd, of_the_magnitude),
    ],
)
def test_a_fault_lacks_the_property(holds: Callable[[Table], None], fault: Table) -> None:
    with pytest.raises(AssertionError):
        holds(fault)


@given(dim=dims, base=bases, position=st.integers(-(2**40), 2**40))
def test_rounded_frequencies_cost_what_they_must(dim: int, base: float, position: int) -> None:
    """Given frequencies are taken as they are: half an ulp of them, times the position, is what the tables differ by."""
    w = posref.rope_inv_freq(dim, base=base)
    exact = np.array(posref.rope_table([position], dim, base=base))
    given_frequencies = np.array(posref.rope_cos_sin([position], w))
    assert (np.abs(exact - given_frequencies) <= U * np.abs(position * w) + U).all()


def test_the_difference_can_be_seen() -> None:
    w = posref.rope_inv_freq(64)
    exact, rounded = (np.array(t) for t in (posref.rope_table([2**40], 64), posref.rope_cos_sin([2**40], w)))
    assert np.abs(exact - rounded).max() > 1e-6


@pytest.mark.parametrize("factor", [1.0, 0.0, -2.0, 1.2772588722239782])
def test_position_zero(factor: float) -> None:
    cos, sin = posref.rope_cos_sin([0], [1.0, 0.01], attention_factor=factor)
    assert cos.tolist() == [[factor, factor]]
    assert sin.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 1, 3), (0,), (2, 0)])
def test_a_column_per_pair(shape: tuple[int, ...]) -> None:
    positions = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    for cos, sin in (posref.rope_table(positions, 6), posref.rope_cos_sin(positions, [1.0, 0.5, 0.1])):
        assert cos.shape == sin.shape == (*shape, 3)
        assert cos.dtype == sin.dtype == np.float64


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float32, np.float16, ml_dtypes.bfloat16, object]
)
def test_the_type_of_the_positions_does_not_matter(dtype: Any) -> None:
    numbers = [0, 1, 100]
    given_type = np.array(numbers).astype(dtype)
    assert np.array_equal(posref.rope_table(given_type, 8), posref.rope_table(numbers, 8))
    assert not np.array_equal(posref.rope_table([0, 1, 101], 8), posref.rope_table(numbers, 8))


def test_nothing_is_read_off_the_positions() -> None:
    """A length-dependent scaling takes seq_len, however far the positions go."""
    dynamic = posref.DynamicNTKScaling(4.0, 64)
    longrope = posref.LongRopeScaling([1.0] * 4, [7.0] * 4, 64, factor=1.0)
    for scaling in (dynamic, longrope):
        assert np.array_equal(posref.rope_table([9999], 8, scaling=scaling), posref.rope_table([9999], 8))
        longer = posref.rope_table([9999], 8, scaling=scaling, seq_len=10000)
        assert not np.array_equal(longer, posref.rope_table([9999], 8))
