"""The page of textbook mistakes: what stands on its right side is right, and what stands on its left is the fault."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from posref_conformance.backend import Backend, describe, load
from posref_conformance.cases import checks
from posref_conformance.faults.textbook import TEXTBOOK
from posref_conformance.verdict import FAILED, PASSED, Result, run

Script = Callable[[str], ModuleType]
IDS = [fault.id for fault in TEXTBOOK]


def results(backend: Backend, functions: Any) -> list[Result]:
    return [run(backend, case, dtype) for case, dtype in checks(backend) if case.function in functions]


@pytest.mark.parametrize("fault", IDS)
def test_right_side_passes_and_wrong_side_fails(fault: str, script: Script) -> None:
    functions = script("right").RIGHT[fault]
    wrong = load(f"fault:{fault}")
    assert set(functions) == {name for name in vars(wrong.namespace) if name != "arrays"}
    right = results(describe("right", SimpleNamespace(**functions)), functions)
    assert [r.id for r in right if r.status == FAILED] == []
    passed = {r.id for r in right if r.status == PASSED}
    failed = {r.id for r in results(wrong, functions) if r.status == FAILED}
    assert passed & failed  # the suite can tell the two sides apart


@pytest.mark.parametrize("fault", TEXTBOOK, ids=IDS)
def test_both_sides_are_code_of_the_same_functions(fault: Any, script: Script) -> None:
    textbook = script("textbook")
    for source in (textbook.wrong_source(fault), textbook.right_source(fault)):
        compile(source, fault.id, "exec")
        assert "Any" not in source
        assert all(f"def {name}(" in source for name in vars(fault.backend()) if name != "arrays")


def test_mean_cosine_is_the_sum_that_the_page_states(script: Script) -> None:
    mpmath = pytest.importorskip("mpmath")
    mean_cosine = script("pictures").mean_cosine
    with mpmath.workdps(30):
        for distance in (0, 1, 12, 1030, 4060):
            exact = sum(mpmath.cos(distance * mpmath.mpf(10000) ** (-mpmath.mpf(i) / 64)) for i in range(64)) / 64
            # 64 cosines, each rounded once, and 64 roundings of a sum below 64, divided by 64
            assert abs(mean_cosine([distance])[0] - float(exact)) <= 65 * 2.0**-53


def test_page_says_that_it_rises_and_falls(script: Script) -> None:
    text = script("textbook").cosine()
    assert "rises in 1992 of the 4096 steps" in text  # counted with mpmath as well
    assert "from 11 to 12" in text


def test_fault_without_a_right_side_is_an_error(script: Script) -> None:
    unknown = SimpleNamespace(id="not-yet")
    with pytest.raises(KeyError, match=r"right\.py has no right version of the fault not-yet"):
        script("textbook").right_source(unknown)
