"""Kernels that share nothing with posref: right as they are; with one or two lines changed they are caught and named.

Both are in ``tests/data/kernels``.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from posref_conformance.backend import Backend, describe
from posref_conformance.case import Case
from posref_conformance.cases import CASES, checks
from posref_conformance.diagnosis import diagnose
from posref_conformance.verdict import FAILED, PASSED, run

pytestmark = pytest.mark.usefixtures("reference_once")

KERNELS = Path(__file__).parents[1] / "data" / "kernels"
MISTAKES = {name.lower(): of for name, of in runpy.run_path(str(KERNELS / "mistakes.py")).items() if name.isupper()}
ALL = [(file, *mistake) for file, mistakes in MISTAKES.items() for mistake in mistakes]


def _backend(file: str, changes: dict[str, str], function: str | None = None) -> Backend:
    source = (KERNELS / f"{file}.py").read_text(encoding="utf-8")
    start = source.index(f"def {function}(") if function else 0
    before, own = source[:start], source[start:]
    end = own.find("\n\n\ndef ")
    own, after = (own, "") if end < 0 or not function else (own[:end], own[end:])
    for line, wrong in changes.items():
        assert line in own, line
        own = own.replace(line, wrong)
    namespace: dict[str, Any] = {}
    exec(compile(before + own + after, f"{file}.py", "exec"), namespace)
    functions = {name: f for name, f in namespace.items() if hasattr(f, "__code__") and function in (None, name)}
    return describe(file, SimpleNamespace(**functions, dtypes=["float64", "float32", "float16"]))


def _results(backend: Backend) -> Iterator[tuple[tuple[Case, str], str]]:
    for check in checks(backend, [c for c in CASES if backend.function(c.function)]):
        yield check, run(backend, *check).status


@pytest.mark.parametrize("file", MISTAKES)
def test_the_kernels_are_right(file: str) -> None:
    results = list(_results(_backend(file, {})))
    assert sum(status == PASSED for _, status in results) > 100
    assert [check for check, status in results if status == FAILED] == []


@pytest.mark.parametrize(("file", "function", "changes", "name"), ALL, ids=[f"{m[1]}-{m[3]}" for m in ALL])
def test_a_mistake_is_caught_and_named(file: str, function: str, changes: dict[str, str], name: str) -> None:
    backend = _backend(file, changes, function)
    results = list(_results(backend))
    failed, passed = ([check for check, status in results if status == s] for s in (FAILED, PASSED))
    assert failed
    found = [e.id for e in diagnose(lambda _: backend, failed, passed)]
    assert {frozenset(i.split("+")) for i in found[:1]} == {frozenset(name.split("+"))}, found


@pytest.mark.parametrize(
    ("file", "function", "changes"),
    [
        ("rotary", "rope_apply", {"a * c - b * s, b * c": "a @ c, b * c"}),
        ("rotary", "rope", {"    p = np.asarray(positions)": "    p = np.asarray(positions)[:, :, :, None]"}),
        ("biases", "alibi_bias", {"penalty[..., None, :, :]": "penalty[..., None, :, :, 0]"}),
    ],
)
def test_of_code_that_raises_nearly_everywhere_nothing_is_said(
    file: str, function: str, changes: dict[str, str]
) -> None:
    """Other mistakes raise, too, and that alone makes them no explanation."""
    backend = _backend(file, changes, function)
    failed = [check for check, status in _results(backend) if status == FAILED]
    assert failed
    assert diagnose(lambda _: backend, failed) == []
