"""RoPE-Mixed: what it has in common with axial rotary, and that every axis and every head counts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from posref.rotary.axes import rope_axes_cos_sin
from posref.rotary.mixed import rope_mixed_cos_sin
from posref.rotary.rotation import rope_apply

Tables = Callable[..., tuple[Any, Any]]
U = 2.0**-53
PAIR = 6.2 * U  # of a rotated pair's norm: test_rotation.py

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)


def draw(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


@given(seed=seeds, axes=sizes, tokens=sizes, pairs=sizes)
def one_axis_per_pair_is_axial(tables: Tables, seed: int, axes: int, tokens: int, pairs: int) -> None:
    """To the last bit: frequencies that are zero but for one axis of each pair."""
    positions = np.random.default_rng(seed).integers(-999, 999, size=(axes, tokens))
    axis_map, w = np.arange(pairs) % axes, np.abs(draw(seed, pairs))
    frequencies = np.where(axis_map == np.arange(axes)[:, None], w, 0.0)
    assert np.array_equal(tables(positions, frequencies), rope_axes_cos_sin(positions, w, axis_map))


@given(seed=seeds, axes=sizes, tokens=sizes, heads=sizes, pairs=sizes)
def heads_are_apart(tables: Tables, seed: int, axes: int, tokens: int, heads: int, pairs: int) -> None:
    positions, frequencies = draw(seed, axes, tokens), draw(seed + 1, axes, heads, pairs)
    together = np.array(tables(positions, frequencies))
    assert together.shape == (2, heads, tokens, pairs)
    for head in range(heads):
        assert np.array_equal(together[:, head], tables(positions, frequencies[:, head]))


@given(seed=seeds, axes=st.integers(1, 3), pairs=sizes)
def score_depends_on_the_differences(tables: Tables, seed: int, axes: int, pairs: int) -> None:
    whole = np.random.default_rng(seed).integers
    q_place, k_place, shift = (whole(-(2**30), 2**30, size=(axes, 1)) for _ in range(3))
    q, k, frequencies = draw(seed, 1, 2 * pairs), draw(seed + 1, 1, 2 * pairs), draw(seed + 2, axes, pairs)
    here, there = (
        np.vdot(rope_apply(q, *tables(q_place + s, frequencies)), rope_apply(k, *tables(k_place + s, frequencies)))
        for s in (0 * shift, shift)
    )
    assert abs(here - there) <= 2 * (2 * PAIR + q.size * U) * np.linalg.norm(q) * np.linalg.norm(k)


def last_axis_left_out(positions: Any, frequencies: Any) -> tuple[Any, Any]:
    return rope_mixed_cos_sin(positions[:1], frequencies[:1])


def axes_swapped(positions: Any, frequencies: Any) -> tuple[Any, Any]:
    return rope_mixed_cos_sin(positions[::-1], frequencies)


def one_head_for_all(positions: Any, frequencies: Any) -> tuple[Any, Any]:
    first = frequencies if frequencies.ndim == 2 else np.broadcast_to(frequencies[:, :1], frequencies.shape)
    return rope_mixed_cos_sin(positions, first)


def angle_in_float64(positions: Any, frequencies: Any) -> tuple[Any, Any]:
    """Summed with rounding: at 2**30 the angle is off by 10^-7."""
    angle = sum(p[:, None] * f for p, f in zip(positions.astype(float), frequencies, strict=True))
    return np.cos(angle), np.sin(angle)


PROPERTIES = [one_axis_per_pair_is_axial, heads_are_apart, score_depends_on_the_differences]


@pytest.mark.parametrize("holds", PROPERTIES)
def test_the_tables_have_the_property(holds: Callable[[Tables], None]) -> None:
    holds(rope_mixed_cos_sin)


@pytest.mark.parametrize(
    ("holds", "fault"),
    [
        (one_axis_per_pair_is_axial, last_axis_left_out),
        (one_axis_per_pair_is_axial, axes_swapped),
        (heads_are_apart, one_head_for_all),
        (score_depends_on_the_differences, angle_in_float64),
    ],
)
def test_a_fault_lacks_the_property(holds: Callable[[Tables], None], fault: Tables) -> None:
    with pytest.raises(AssertionError):
        holds(fault)


def test_sums_are_exact() -> None:
    """2 * 0.1 - 0.2 is zero, 3 * 0.1 - 0.3 is not, for the float64 numbers of these names."""
    _, sin = rope_mixed_cos_sin([[2, 3], [-1, -1]], [[0.1, 0.1], [0.2, 0.3]])
    assert sin[0, 0] == 0.0
    assert sin[1, 1] == float(3 * Fraction(0.1) - Fraction(0.3)) == 2.0**-55
    _, rounded = angle_in_float64(np.array([[3], [-1]]), np.array([[0.1], [0.3]]))
    assert rounded[0, 0] != sin[1, 1]


def test_angles_beyond_all_measure() -> None:
    """2^153 radians: exact, where a float64 does not know which turn it is in."""
    cos, sin = rope_mixed_cos_sin([[2**53], [1]], [[2.0**100], [0.3]])
    with mp.workdps(100):
        angle = mpf(2) ** 153 + mpf(0.3)
        assert (cos[0, 0], sin[0, 0]) == (float(mp.cos(angle)), float(mp.sin(angle)))


def test_positions_with_a_batch() -> None:
    positions, frequencies = draw(1, 2, 3, 1, 5), draw(2, 2, 4, 6)  # (axes, batch, 1, tokens), (axes, heads, pairs)
    together = np.array(rope_mixed_cos_sin(positions, frequencies))
    assert together.shape == (2, 3, 4, 5, 6)
    for b in range(3):
        assert np.array_equal(together[:, b], rope_mixed_cos_sin(positions[:, b, 0], frequencies))


def test_no_tokens() -> None:
    cos, sin = rope_mixed_cos_sin(np.zeros((2, 0)), draw(3, 2, 4, 6))
    assert cos.shape == sin.shape == (4, 0, 6)
