"""No function is without the kinds of cases and faults that every function needs."""

from __future__ import annotations

import inspect
from collections import Counter

import numpy as np
import pytest

import posref
from posref_conformance.case import Call, Case, one
from posref_conformance.cases import CASES
from posref_conformance.contract import FUNCTIONS
from posref_conformance.faults import FAULTS
from posref_conformance.faults._fault import library

FEWEST = 2  # faults of a function: one alone says little of what is seen
PLAIN = (
    "rope_attention_factor",
    "rope_softmax_factor",
    "grid_coordinates",
)  # numbers and tuples in: nothing to remember
WITH_ARRAYS = [
    name
    for name in FUNCTIONS
    if any("ArrayLike" in str(p.annotation) for p in inspect.signature(getattr(posref, name)).parameters.values())
]


def _calls(function: str) -> list[list[Call]]:
    return [case.calls(case.dtypes[0]) for case in CASES if case.function == function]


@pytest.fixture(scope="module")
def faults() -> Counter[str]:
    return Counter(name for f in FAULTS.values() for name in f.functions(library(f.needs or "numpy")))


def test_each_function_has_faults(faults: Counter[str]) -> None:
    assert {name: faults[name] for name in FUNCTIONS if faults[name] < FEWEST} == {}


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name not in PLAIN])
def test_each_function_is_asked_more_than_once_in_a_case(function: str) -> None:
    """The first answer may not come back for the second question: some two questions of a case differ, and have one shape."""

    def shapes(call: Call) -> object:
        return [getattr(a, "shape", type(a)) for a in call.values()]

    def values(call: Call) -> str:
        return repr((call.args, call.kwargs))

    asked = [calls for calls in _calls(function) if len(calls) > 1]
    assert any(
        values(a) != values(b) and shapes(a)[:1] == shapes(b)[:1] for calls in asked for a in calls for b in calls
    )


@pytest.mark.parametrize("function", WITH_ARRAYS)
def test_each_function_of_arrays_meets_gaps_in_memory_and_what_is_not_to_be_written_to(function: str) -> None:
    arrays = [a for calls in _calls(function) for call in calls for a in call.arrays() if a.size > 1]
    assert any(not a.flags.c_contiguous for a in arrays)
    assert any(not a.flags.writeable for a in arrays)


@pytest.mark.parametrize("function", WITH_ARRAYS)
def test_each_function_of_arrays_meets_several_axes_or_several_rows(function: str) -> None:
    """Unequal lengths of axes: a broadcast over the wrong one fails or shows."""
    shapes = {a.shape for calls in _calls(function) for call in calls for a in call.arrays()}
    assert len({n for shape in shapes for n in shape if n > 1}) > 1


def _shared(case: Case) -> bool:
    """Whether two builds of a case have memory in common: what one backend spoils, the next one would get."""
    dtype = case.dtypes[0]
    first, second = ([a for call in case.calls(dtype) for a in call.arrays() if a.size] for _ in range(2))
    return any(np.may_share_memory(a, b) for a in first for b in second)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_two_builds_of_a_case_share_memory(function: str) -> None:
    assert [case.name for case in CASES if case.function == function and _shared(case)] == []


def test_a_constant_that_is_shared_is_noticed() -> None:
    constant = np.arange(9)
    assert not _shared(one("learned", "shared", lambda i: Call((i.data(3, 4), constant))))
    assert _shared(one("learned", "shared", lambda i: Call((i.data(3, 4), constant[::2]))))
