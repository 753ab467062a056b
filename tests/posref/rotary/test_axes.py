"""Rotary on several axes: one axis as a special case, norms, relative scores, ladders. Beside each property a fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posref.rotary.axes import rope_axes_cos_sin, rope_axes_inv_freq, rope_axes_table
from posref.rotary.axis_maps import rope_axis_map
from posref.rotary.frequencies import rope_attention_factor, rope_inv_freq
from posref.rotary.rotation import rope_apply
from posref.rotary.scaling import LinearScaling, NTKScaling, YarnScaling
from posref.rotary.tables import rope_table

Floats = NDArray[np.float64]
Tables = Callable[..., tuple[Any, Any]]

U = 2.0**-53
# A rotated pair errs by at most 3.1 u (|a| + |b|) per channel (test_golden.py derives it): by 3.1 sqrt(2) sqrt(2) u of its norm.
PAIR = 6.2 * U

seeds = st.integers(0, 2**32 - 1)
anywhere = st.integers(-(2**40), 2**40)
rules = st.sampled_from(["chunked", "interleaved", "round_robin", "balanced"])
sections = st.tuples(st.integers(1, 8), st.integers(1, 8), st.integers(1, 8))
ladders = st.sampled_from(["shared", "per_axis"])
places = st.tuples(anywhere, anywhere, anywhere)


def draw(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape)


def turned(tables: Tables, x: Floats, place: tuple[int, ...], axis_map: Any, ladder: str) -> Any:
    """One token at one place, (time, height, width)."""
    return rope_apply(x, *tables(np.array(place)[:, None], axis_map, ladder=ladder))


# --- faults that were really made ------------------------------------------------------------------------------------


def height_and_width_swapped(positions: Any, axis_map: Any, **options: Any) -> tuple[Any, Any]:
    return rope_axes_table(np.asarray(positions)[[0, 2, 1]], axis_map, **options)


def one_axis_for_all(positions: Any, axis_map: Any, **options: Any) -> tuple[Any, Any]:
    """The first row's positions for every pair: M-RoPE that falls back to 1-D."""
    return rope_axes_table(np.broadcast_to(positions[:1], np.shape(positions)), axis_map, **options)


def map_of_channels(positions: Any, axis_map: Any, **options: Any) -> tuple[Any, Any]:
    """The doubled channels are split, not the pairs: two members of a pair on two axes."""
    doubled = np.concatenate([axis_map, axis_map])[::2]
    cos, _ = rope_axes_table(positions, axis_map, **options)
    _, sin = rope_axes_table(positions, doubled, **options)
    return cos, sin


def positions_are_summed(positions: Any, axis_map: Any, **options: Any) -> tuple[Any, Any]:
    total = np.asarray(positions).sum(axis=0, keepdims=True)
    return rope_axes_table(np.broadcast_to(total, np.shape(positions)), axis_map, **options)


def squared(positions: Any, axis_map: Any, **options: Any) -> tuple[Any, Any]:
    return rope_axes_table(np.sign(positions) * np.abs(positions) ** 0.5, axis_map, **options)


# --- properties ------------------------------------------------------------------------------------------------------


@given(counts=sections, rule=rules, position=anywhere, base=st.floats(1.5, 1e7))
def equal_axes_are_one_axis(tables: Tables, counts: tuple[int, ...], rule: str, position: int, base: float) -> None:
    """To the last bit: text has the same position on all axes."""
    axis_map = rope_axis_map(counts, rule=rule)
    several = tables(np.full((3, 2), position), axis_map, base=base)
    assert np.array_equal(several, rope_table([position] * 2, 2 * len(axis_map), base=base))


@given(seed=seeds, counts=sections, rule=rules, ladder=ladders, place=places)
def norms_are_kept(
    tables: Tables, seed: int, counts: tuple[int, ...], rule: str, ladder: str, place: tuple[int, ...]
) -> None:
    axis_map = rope_axis_map(counts, rule=rule)
    x = draw(seed, 1, 2 * len(axis_map))
    before, after = np.linalg.norm(x), np.linalg.norm(turned(tables, x, place, axis_map, ladder))
    assert abs(after - before) <= (PAIR + (x.size + 4) * U) * before  # and two norms of that many squares


@given(seed=seeds, counts=sections, rule=rules, ladder=ladders, q_place=places, k_place=places, shift=places)
def score_depends_on_the_differences(
    tables: Tables,
    seed: int,
    counts: tuple[int, ...],
    rule: str,
    ladder: str,
    q_place: tuple[int, ...],
    k_place: tuple[int, ...],
    shift: tuple[int, ...],
) -> None:
    """Of every axis, and on nothing else: another shift for every axis changes nothing."""
    axis_map = rope_axis_map(counts, rule=rule)
    q, k = draw(seed, 2, 1, 2 * len(axis_map))

    def score(shift: tuple[int, ...]) -> Any:
        moved = (tuple(np.add(place, shift).tolist()) for place in (q_place, k_place))
        return np.vdot(*(turned(tables, x, place, axis_map, ladder) for x, place in zip((q, k), moved, strict=True)))

    rounding = 2 * (2 * PAIR + q.size * U)  # of two vectors and of their product, here and there
    assert abs(score((0, 0, 0)) - score(shift)) <= rounding * np.linalg.norm(q) * np.linalg.norm(k)


@given(counts=sections, rule=rules, ladder=ladders, place=places, axis=st.integers(0, 2))
def an_axis_moves_its_own_pairs(
    tables: Tables, counts: tuple[int, ...], rule: str, ladder: str, place: tuple[int, ...], axis: int
) -> None:
    """One step along an axis, and exactly the pairs of that axis have other tables."""
    axis_map = rope_axis_map(counts, rule=rule)
    step = tuple(p + (a == axis) for a, p in enumerate(place))
    (cos, sin), (cos2, sin2) = (tables(np.array(p)[:, None], axis_map, ladder=ladder) for p in (place, step))
    moved = ((cos != cos2) | (sin != sin2))[0]
    assert moved.tolist() == (axis_map == axis).tolist()


PROPERTIES = [equal_axes_are_one_axis, norms_are_kept, score_depends_on_the_differences, an_axis_moves_its_own_pairs]


@pytest.mark.parametrize("holds", PROPERTIES)
def test_the_tables_have_the_property(holds: Callable[[Tables], None]) -> None:
    holds(rope_axes_table)


@pytest.mark.parametrize(
    ("holds", "fault"),
    [
        (equal_axes_are_one_axis, positions_are_summed),
        (norms_are_kept, map_of_channels),
        (score_depends_on_the_differences, map_of_channels),
        (score_depends_on_the_differences, squared),
        (an_axis_moves_its_own_pairs, height_and_width_swapped),
        (an_axis_moves_its_own_pairs, one_axis_for_all),
        (an_axis_moves_its_own_pairs, positions_are_summed),
    ],
)
def test_a_fault_lacks_the_property(holds: Callable[[Tables], None], fault: Tables) -> None:
    with pytest.raises(AssertionError):
        holds(fault)


def test_a_swap_does_not_show_on_text_or_along_a_diagonal() -> None:
    """Why the inputs must be a grid that is not square."""
    axis_map = rope_axis_map((2, 3, 3))
    for positions, shows in (([[4], [4], [4]], False), ([[0], [5], [5]], False), ([[0], [2], [5]], True)):
        same = np.array_equal(rope_axes_table(positions, axis_map), height_and_width_swapped(positions, axis_map))
        assert same != shows


# --- ladders ---------------------------------------------------------------------------------------------------------


@given(counts=sections, rule=rules, base=st.floats(1.5, 1e7))
def test_a_ladder_per_axis_is_that_axis_alone(counts: tuple[int, ...], rule: str, base: float) -> None:
    axis_map = rope_axis_map(counts, rule=rule)
    w = rope_axes_inv_freq(axis_map, base=base, ladder="per_axis")
    for axis, n in enumerate(np.bincount(axis_map)):
        assert np.array_equal(w[axis_map == axis], rope_inv_freq(2 * int(n), base=base))
    assert not np.array_equal(w, rope_axes_inv_freq(axis_map, base=base))  # and no shared ladder


def test_a_base_and_a_scaling_per_axis() -> None:
    axis_map, scalings = [0, 0, 1, 1, 1], (None, LinearScaling(4.0))
    w = rope_axes_inv_freq(axis_map, base=(100.0, 300.0), ladder="per_axis", scaling=scalings)
    separate = [rope_inv_freq(4, base=100.0), rope_inv_freq(6, base=300.0, scaling=LinearScaling(4.0))]
    assert np.array_equal(w, np.concatenate(separate))
    swapped = rope_axes_inv_freq(axis_map, base=(300.0, 100.0), ladder="per_axis", scaling=scalings)
    assert not np.array_equal(w, swapped)


def test_cosmos_ntk_has_an_exponent_per_axis() -> None:
    """Factor 2 on 44 channels of time, none on 42 of height and width."""
    axis_map = rope_axis_map((22, 21, 21))
    w = rope_axes_inv_freq(axis_map, ladder="per_axis", scaling=(NTKScaling(2.0), None, None))
    time = (10000.0 * 2.0 ** (44 / 42)) ** (-np.arange(0, 44, 2) / 44)
    np.testing.assert_allclose(w[:22], time, rtol=1e-14, atol=0)  # two float64 powers
    assert np.array_equal(w[22:43], rope_inv_freq(42))
    of_the_whole = rope_axes_inv_freq(axis_map, scaling=NTKScaling(2.0))
    assert np.abs(of_the_whole[:22] / time - 1).max() > 0.01


def test_pixtral_deals_the_ladder_out() -> None:
    """Worked in transformers for 8 channels: height 1 and 0.01, width 0.1 and 0.001."""
    worked = [1.0, 0.01, 0.1, 0.001]
    assert rope_axes_inv_freq([0, 0, 1, 1], ladder="dealt").tolist() == worked
    assert rope_axes_inv_freq([0, 0, 1, 1], ladder="per_axis").tolist() != worked


def test_the_shared_ladder_does_not_look_at_the_map() -> None:
    w = rope_inv_freq(64)
    for counts, rule in (((8, 12, 12), "chunked"), ((11, 11, 10), "interleaved"), ((16, 16), "round_robin")):
        assert np.array_equal(rope_axes_inv_freq(rope_axis_map(counts, rule=rule)), w)


def test_dealt_in_turn_is_shared() -> None:
    axis_map = np.arange(11) % 3
    assert np.array_equal(rope_axes_inv_freq(axis_map, ladder="dealt"), rope_inv_freq(22))


def test_each_axis_brings_its_own_factor() -> None:
    yarn, axis_map = YarnScaling(4.0, 4096), np.array([0, 1, 1])
    cos, _ = rope_axes_table(np.zeros((2, 1), int), axis_map, ladder="per_axis", scaling=(None, yarn))
    assert cos.tolist() == [[1.0, *[rope_attention_factor(yarn)] * 2]]
    cos, _ = rope_axes_table(np.zeros((2, 1), int), axis_map, scaling=yarn)
    assert cos.tolist() == [[rope_attention_factor(yarn)] * 3]


def test_given_frequencies_are_used_as_they_are() -> None:
    """A frequency of 0 does not turn, whatever its axis' positions: LTX's padding, ESMFold2's rest."""
    cos, sin = rope_axes_cos_sin([[1e6, -3.0], [0.5, 2.0]], [0.0, 0.5], [0, 1], attention_factor=2.0)
    assert cos[:, 0].tolist() == [2.0, 2.0]
    assert sin[:, 0].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(sin[:, 1], 2 * np.sin([0.25, 1.0]), rtol=2 * U, atol=0)


@pytest.mark.parametrize("shape", [(), (4,), (2, 4), (2, 1, 4), (0,), (3, 0)])
def test_positions_keep_their_shape(shape: tuple[int, ...]) -> None:
    axis_map = rope_axis_map((2, 1))
    positions = np.random.default_rng(3).integers(-9, 9, size=(2, *shape))
    for table, row in zip(rope_axes_table(positions, axis_map), (0, 1), strict=True):
        assert table.shape == (*shape, 3)
        for axis in (0, 1):
            alone = rope_table(positions[axis], 6)[row]
            assert np.array_equal(table[..., axis_map == axis], alone[..., axis_map == axis])


def test_a_row_that_no_pair_uses_changes_nothing() -> None:
    """Four rows are always there in ggml."""
    positions = np.arange(12).reshape(4, 3) ** 2
    assert np.array_equal(rope_axes_table(positions, [0, 1, 2]), rope_axes_table(positions[:3], [0, 1, 2]))
    assert np.array_equal(rope_axes_table(positions, [0, 3, 3])[0][:, 1:], rope_table(positions[3], 6)[0][:, 1:])


@given(counts=sections, channels=st.integers(2, 48))
def test_sections_beyond_the_head_are_an_error_and_no_others(counts: tuple[int, ...], channels: int) -> None:
    """Never a guess: more pairs than the head has do not rotate, nor do axes that positions have no row for."""
    axis_map = rope_axis_map(counts)
    cos, sin = rope_axes_table(np.zeros((3, 1)), axis_map)
    if len(axis_map) > channels // 2:
        with pytest.raises(
            ValueError, match=f"cos and sin must have 1 to {channels // 2} pairs .*, got {len(axis_map)}"
        ):
            rope_apply(np.ones((1, channels)), cos, sin)
    else:
        assert rope_apply(np.ones((1, channels)), cos, sin).shape == (1, channels)
    last = int(axis_map.max())
    with pytest.raises(ValueError, match="positions"):
        rope_axes_table(np.zeros((last, 1)), axis_map)
    with pytest.raises(ValueError, match=r"inv_freq|axis_map"):
        rope_axes_cos_sin(np.zeros((3, 1)), np.ones(len(axis_map) + 1), axis_map)
