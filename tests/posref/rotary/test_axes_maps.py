"""Axis maps: the worked ones, what each rule promises, and beside them the maps that were really got wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posref.rotary.axis_maps import rope_axis_map

THW, HWT = "THWE", "HWT"  # E: the axis beyond the sections


def letters(sections: tuple[int, ...], names: str = THW, **options: Any) -> str:
    return "".join(names[a] for a in rope_axis_map(sections, **options))


# Run with the code of transformers, ggml, sglang and vLLM.
WORKED = [
    ((2, 3, 3), {}, "TTHHHWWW"),
    ((2, 3, 3), {"rule": "interleaved"}, "THWTHWTH"),
    ((2, 3, 3), {"rule": "interleaved_spare"}, "THWTHWEH"),
    ((2, 3, 3), {"rule": "round_robin"}, "THWTHWHW"),
    ((2, 3, 3), {"rule": "balanced"}, "THWHWHWT"),
    ((24, 20, 20), {"rule": "interleaved"}, "THW" * 20 + "TTTT"),
    ((24, 20, 20), {"rule": "interleaved_spare"}, "THW" * 20 + "TEET"),
    ((24, 20, 20), {"rule": "round_robin"}, "THW" * 20 + "TTTT"),
    ((8, 12, 12), {"rule": "round_robin"}, "THW" * 8 + "HHWHHWWW"),  # not HWHWHWHW: each pair asks its own axis first
    ((11, 11, 10), {"rule": "interleaved"}, "THW" * 10 + "TH"),
    ((4, 2, 2), {"rule": "interleaved_spare"}, "THWTHWTE"),
    ((20, 22, 22), {"rule": "alternating", "tail": 0}, "HW" * 22 + "T" * 20),
]


@pytest.mark.parametrize(("sections", "options", "worked"), WORKED)
def test_worked(sections: tuple[int, ...], options: dict[str, Any], worked: str) -> None:
    assert letters(sections, **options) == worked


def test_ernie_lists_height_first() -> None:
    assert letters((22, 22, 20), HWT, rule="alternating") == "HW" * 22 + "T" * 20


def test_interleaved_does_not_keep_its_sections() -> None:
    """GLM's sections by the rule of Qwen3-VL: transformers has no height beyond pair 31."""
    counts = [np.bincount(rope_axis_map((8, 12, 12), rule=rule)).tolist() for rule in ("interleaved", "round_robin")]
    assert counts == [[11, 11, 10], [8, 12, 12]]


# --- what the rules promise ------------------------------------------------------------------------------------------

Map = Callable[..., Any]
KEEPING = ("chunked", "round_robin", "balanced")
three_sections = st.tuples(st.integers(1, 30), st.integers(0, 30), st.integers(0, 30))


@given(sections=three_sections, rule=st.sampled_from(KEEPING))
def each_axis_has_its_pairs(axis_map: Map, sections: tuple[int, ...], rule: str) -> None:
    assert np.bincount(axis_map(sections, rule=rule), minlength=3).tolist() == list(sections)


@given(sections=three_sections)
def the_default_is_axis_zero(axis_map: Map, sections: tuple[int, ...]) -> None:
    """Where a section is used up."""
    order = axis_map(sections, rule="interleaved")
    for i, axis in enumerate(order):
        assert axis == (i % 3 if i < 3 * sections[i % 3] else 0)


@given(sections=three_sections)
def the_spare_axis_takes_what_axis_zero_took(axis_map: Map, sections: tuple[int, ...]) -> None:
    spare, default = axis_map(sections, rule="interleaved_spare"), axis_map(sections, rule="interleaved")
    assert np.array_equal(np.where(spare == 3, 0, spare), default)


@given(n=st.integers(1, 20), t=st.integers(0, 20), tail=st.integers(-3, 2))
def the_tail_is_last(axis_map: Map, n: int, t: int, tail: int) -> None:
    sections = [n, n, n]
    sections[tail] = t
    order = axis_map(sections, rule="alternating", tail=tail)
    others = [a for a in range(3) if a != tail % 3]
    assert order[: 2 * n].tolist() == others * n
    assert order[2 * n :].tolist() == [tail % 3] * t


@given(n=st.integers(1, 12), axes=st.integers(1, 4))
def equal_sections_take_turns(axis_map: Map, n: int, axes: int) -> None:
    """All rules that take turns agree where no section ends before another."""
    wanted = list(range(axes)) * n
    for rule in ("interleaved", "interleaved_spare", "round_robin"):
        assert axis_map((n,) * axes, rule=rule).tolist() == wanted


@given(sections=st.tuples(st.integers(2, 30), st.integers(2, 30), st.integers(2, 30)))
def no_axis_runs_ahead(axis_map: Map, sections: tuple[int, ...]) -> None:
    """Balanced: the share of the axis that is placed next was the smallest, but for that of the pair before."""
    order = axis_map(sections, rule="balanced").tolist()
    counts, placed = [sections[0] - 1, *sections[1:]], [0, 0, 0]
    assert order[-1] == 0
    for before, axis in zip([None, *order], order[:-1], strict=False):
        shares = [placed[a] / counts[a] for a in range(3) if placed[a] < counts[a] and a != before]
        assert not shares or axis == before or placed[axis] / counts[axis] == min(shares)
        placed[axis] += 1


# --- faults that were really made ------------------------------------------------------------------------------------


def sections_reversed(sections: Any, **options: Any) -> Any:
    return rope_axis_map(tuple(reversed(sections)), **options)


def no_default(sections: Any, **options: Any) -> Any:
    """Every pair asks i mod n and no more: height and width go on where their sections end."""
    if not options["rule"].startswith("interleaved"):
        return rope_axis_map(sections, **options)
    return np.arange(sum(sections)) % len(sections)


def axis_zero_is_never_used_up(sections: Any, **options: Any) -> Any:
    order = rope_axis_map(sections, **options)
    return np.where(np.arange(len(order)) % len(sections) == 0, 0, order)


def spare_is_the_last_axis(sections: Any, **options: Any) -> Any:
    return np.minimum(rope_axis_map(sections, **options), len(sections) - 1)


def sections_in_channels(sections: Any, **options: Any) -> Any:
    """Sections taken for channels: half as many pairs."""
    return rope_axis_map(
        [n // 2 for n in sections[:-1]] + [sections[-1] + sum(n - n // 2 for n in sections[:-1])], **options
    )


def tail_first(sections: Any, *, rule: str, tail: int = -1) -> Any:
    return rope_axis_map(sections, rule=rule, tail=tail)[::-1]


def next_in_a_round(sections: Any, **options: Any) -> Any:
    """The next axis that has pairs left, after the pair before: another reading of "in turn, skipping what is used up"."""
    left, order, axis = list(sections), [], -1
    for _ in range(sum(sections)):
        axis = next(a % len(left) for a in range(axis + 1, axis + 1 + len(left)) if left[a % len(left)])
        left[axis] -= 1
        order.append(axis)
    return np.array(order)


def last_pair_is_not_reserved(sections: Any, **options: Any) -> Any:
    return np.array([*rope_axis_map((sections[0] + 1, *sections[1:]), **options)[:-1]])


PROPERTIES = [
    each_axis_has_its_pairs,
    the_default_is_axis_zero,
    the_spare_axis_takes_what_axis_zero_took,
    the_tail_is_last,
    equal_sections_take_turns,
    no_axis_runs_ahead,
]


@pytest.mark.parametrize("holds", PROPERTIES)
def test_the_map_keeps_the_promise(holds: Callable[[Map], None]) -> None:
    holds(rope_axis_map)


@pytest.mark.parametrize(
    ("holds", "fault"),
    [
        (each_axis_has_its_pairs, sections_reversed),
        (each_axis_has_its_pairs, sections_in_channels),
        (the_default_is_axis_zero, no_default),
        (the_spare_axis_takes_what_axis_zero_took, spare_is_the_last_axis),
        (the_tail_is_last, tail_first),
        (equal_sections_take_turns, sections_in_channels),
        (no_axis_runs_ahead, last_pair_is_not_reserved),
    ],
)
def test_a_fault_breaks_it(holds: Callable[[Map], None], fault: Map) -> None:
    with pytest.raises(AssertionError):
        holds(fault)


@pytest.mark.parametrize(
    "fault", [sections_reversed, no_default, axis_zero_is_never_used_up, sections_in_channels, next_in_a_round]
)
def test_the_worked_maps_tell_a_fault(fault: Map) -> None:
    wrong = [
        worked
        for sections, options, worked in WORKED
        if options.get("rule") in ("interleaved_spare", "round_robin")
        and "".join(THW[a] for a in fault(sections, **options)) != worked
    ]
    assert wrong


def test_a_map_is_an_array_of_its_own() -> None:
    first, second = rope_axis_map((2, 2)), rope_axis_map((2, 2))
    first[:] = 9
    assert second.tolist() == [0, 0, 1, 1]
    assert second.dtype == np.int64


def test_numpys_integers_are_integers() -> None:
    assert rope_axis_map(np.array([1, 2])).tolist() == [0, 1, 1]
