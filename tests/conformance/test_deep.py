"""Generated checks find what fixed cases miss, show a small example, and find it again by the check's id."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from posref_array.on_numpy import backend as right
from posref_conformance.backend import describe
from posref_conformance.contract import FUNCTIONS
from posref_conformance.deep import deep_ids, run_deep
from posref_conformance.verdict import FAILED, NOT_IMPLEMENTED, PASSED

# Wrong for one number of pairs in one layout: a loop that is unrolled by four and forgets what is left over, for instance.
HIDDEN = """
def rope_apply(x, cos, sin, *, layout="half", **rest):
    y = right.rope_apply(x, cos, sin, layout=layout, **rest)
    return -y if cos.shape[-1] == 2 and layout == "interleaved" else y
"""


def test_a_fault_that_fixed_cases_miss(backend_file: Callable[..., str], report: Callable[..., dict[str, Any]]) -> None:
    path = backend_file(HIDDEN)
    assert report(path, "--only", "rope_apply")["status"] == 0
    deep = report(path, "--only", "rope_apply/deep", "--deep")
    assert deep["status"] == 1
    for check in deep["checks"]:
        assert check["status"] == "failed"
        assert "layout='interleaved'" in check["reason"]  # the example, and it is a small one:
        assert f"for ({check['id'].rpartition('/')[2]}[1, 4], " in check["reason"]
    assert len(deep["checks"]) == 4


def test_the_line_that_reproduces_it_does(backend_file: Callable[..., str], posref_command: Callable[..., Any]) -> None:
    path = backend_file(HIDDEN)
    first = posref_command("check", path, "--only", "rope_apply/deep/float32", "--deep").stdout.splitlines()
    line = f"  posref check {path} --only rope_apply/deep/float32 --deep"
    assert line in first
    again = posref_command(*line.split()[1:]).stdout.splitlines()
    assert again == first


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_right_backend_passes_and_a_wrong_one_does_not(function: str) -> None:
    given = getattr(right, function)

    def wrong(*args: Any, **kwargs: Any) -> Any:
        y = given(*args, **kwargs)
        return tuple(t + 1 for t in y) if isinstance(y, tuple) else y + 1

    checks = [c for c in deep_ids() if c.startswith(f"{function}/")]
    assert checks
    check = next((c for c in checks if c.endswith("/float32")), checks[0])
    result = run_deep(describe("right", SimpleNamespace(**{function: given})), check)
    assert result.status == PASSED, result
    assert run_deep(describe("wrong", SimpleNamespace(**{function: wrong})), check).status == FAILED
    none = run_deep(describe("none", SimpleNamespace()), check)
    assert (none.status, none.reason) == (NOT_IMPLEMENTED, "no generated example could be run")


def test_a_backend_that_is_wrong_the_first_time_only() -> None:
    """Hypothesis calls it flaky, and that is no reason to let it pass."""
    wrong = [True]

    def alibi_slopes(num_heads: int) -> Any:
        return right.alibi_slopes(num_heads) * (2 if wrong and wrong.pop() else 1)

    result = run_deep(describe("flaky", SimpleNamespace(alibi_slopes=alibi_slopes)), "alibi_slopes/deep/default")
    assert (result.status, result.reason.partition(" for ")[0]) == (FAILED, "values")


def test_without_hypothesis_it_says_so(tmp_path: Path, posref_command: Callable[..., Any]) -> None:
    (tmp_path / "hypothesis.py").write_text("raise ImportError('not installed')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = posref_command("check", "numpy", "--deep", "--only", "learned", env=environment)
    assert (done.returncode, done.stderr) == (2, "posref: --deep needs Hypothesis: pip install hypothesis\n")
    assert posref_command("check", "numpy", "--only", "learned", env=environment).returncode == 0


def _counted(name: str, function: Any) -> tuple[Any, list[Any]]:
    calls: list[Any] = []

    def counting(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        return function(*args, **kwargs)

    counting.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return counting, calls


@pytest.mark.parametrize("name", ["rope_apply", "rope", "rope_inv_freq", "sinusoidal", "alibi_bias", "attention"])
def test_a_backend_that_knows_few_keywords_is_asked_as_much(name: str) -> None:
    """What it lacks is left at its default: fifty examples and more, and every keyword that it has among them."""
    given = getattr(right, name)
    kept = {"rope_apply": "layout", "rope": "layout", "sinusoidal": "layout", "alibi_bias": "form"}.get(name)
    required = [p for p in inspect.signature(given).parameters.values() if p.default is p.empty]
    few = [*required, *(p for n, p in inspect.signature(given).parameters.items() if n == kept)]

    def small(*args: Any, **kwargs: Any) -> Any:
        return given(*args, **kwargs)

    small.__signature__ = inspect.Signature(few)  # type: ignore[attr-defined]
    function, calls = _counted(name, small)
    check = next(c for c in deep_ids() if c.startswith(f"{name}/"))
    assert run_deep(describe("small", SimpleNamespace(**{name: function})), check).status == PASSED
    assert len(calls) >= 50
    assert {k for _, kwargs in calls for k in kwargs} == ({kept} if kept else set())


def test_what_a_backend_refuses_is_drawn_anew() -> None:
    def rope_apply(x: Any, cos: Any, sin: Any, *, layout: str = "half") -> Any:
        if layout != "half" or 2 * cos.shape[-1] != x.shape[-1]:
            raise NotImplementedError
        return right.rope_apply(x, cos, sin)

    function, calls = _counted("rope_apply", rope_apply)
    assert run_deep(describe("small", SimpleNamespace(rope_apply=function)), "rope_apply/deep/float32").status == PASSED
    taken = [kwargs for (x, cos, _), kwargs in calls if 2 * cos.shape[-1] == x.shape[-1] and not kwargs]
    assert len(taken) >= 50


def test_fractions_are_among_the_positions() -> None:
    def rope_cos_sin(positions: Any, inv_freq: Any, *, attention_factor: float = 1.0) -> Any:
        return right.rope_cos_sin(np.trunc(positions), inv_freq, attention_factor=attention_factor)

    result = run_deep(describe("whole", SimpleNamespace(rope_cos_sin=rope_cos_sin)), "rope_cos_sin/deep/float32")
    assert result.status == FAILED
