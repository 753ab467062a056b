"""``pytest --pyargs posref_conformance --posref-backend=NAME_OR_FILE``, and what the plugin costs everyone else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

Pytest = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_pytest(tmp_path: Path) -> Pytest:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-W", "error", *arguments]
        options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120, "check": False}
        return subprocess.run(command, cwd=tmp_path, env={**os.environ, "COLUMNS": "200"}, **options)

    return run


def test_a_right_backend_passes(run_pytest: Pytest) -> None:
    done = run_pytest("--pyargs", "posref_conformance", "--posref-backend=numpy", "-k", "alibi_slopes or known")
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b(1[2-9]|[2-9]\d) passed", done.stdout)
    assert "test_backend[alibi_slopes/heads-8/default]" in done.stdout


SOME_WRONG = """
def alibi_slopes(num_heads):
    if num_heads == 3:
        raise NotImplementedError("three heads")
    return right.alibi_slopes(num_heads) * (1 + (num_heads > 8))

expected_failures = {"alibi_slopes/heads-12/default": "doubled", "alibi_slopes/heads-2/default": "outdated"}
"""


def test_each_kind_of_result_is_pytests(run_pytest: Pytest, backend_file: Callable[..., str]) -> None:
    path = backend_file(SOME_WRONG)
    done = run_pytest("--pyargs", "posref_conformance", f"--posref-backend={path}", "-k", "alibi_slopes or known")
    assert done.returncode == 1
    found = {
        kind: [line for line in done.stdout.splitlines() if line.startswith(kind)] for kind in ("SKIPPED", "XFAIL")
    }
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    assert any("not implemented: three heads" in line for line in found["SKIPPED"])
    assert any("alibi_slopes/heads-12/default] - values (expected: doubled)" in line for line in found["XFAIL"])
    assert len(failed) == 5 + 1  # 16, 20, 40, 71, 112 heads; 2 heads pass unexpectedly
    assert any("heads-2/default] - Failed: expected to fail: outdated" in line for line in failed)
    assert any("heads-16/default] - Failed: values at [" in line and ", expected " in line for line in failed)
    assert "Traceback" not in done.stdout


def test_an_unknown_expected_failure_fails(run_pytest: Pytest, backend_file: Callable[..., str]) -> None:
    path = backend_file('expected_failures = {"alibi_slopes/heads-0/default": "none"}\n')
    done = run_pytest("--pyargs", "posref_conformance", f"--posref-backend={path}", "-k", "known")
    assert done.returncode == 1
    assert "alibi_slopes/heads-0/default" in done.stdout


def test_a_dying_backend_costs_its_check(run_pytest: Pytest, backend_file: Callable[..., str]) -> None:
    source = """
    import os

    def alibi_slopes(num_heads):
        if num_heads == 3:
            os.abort()
        return right.alibi_slopes(num_heads)
    """
    done = run_pytest(
        "--pyargs", "posref_conformance", f"--posref-backend={backend_file(source)}", "-k", "alibi_slopes"
    )
    assert done.returncode == 1
    assert "1 failed, 10 passed" in done.stdout
    assert "the process died of SIGABRT" in done.stdout


def test_without_a_backend_it_is_skipped_with_a_reason(run_pytest: Pytest) -> None:
    done = run_pytest("--pyargs", "posref_conformance")
    assert done.returncode == 0
    assert "no backend was named: give --posref-backend=NAME_OR_FILE" in done.stdout


@pytest.mark.parametrize(
    ("name", "line"), [("nowhere.py", "no such file: nowhere.py"), ("nonesuch", "no backend called nonesuch")]
)
def test_a_backend_that_is_not_there_is_a_line(run_pytest: Pytest, name: str, line: str) -> None:
    done = run_pytest("--pyargs", "posref_conformance", f"--posref-backend={name}")
    assert done.returncode not in (0, 5)
    assert line in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "test_backend.py:" not in done.stdout  # no source lines of the suite's own


def test_the_plugin_imports_nothing_but_pytest() -> None:
    """It is loaded in every session of everyone who has posref installed."""
    (entry,) = (e for e in entry_points(group="pytest11") if e.name == "posref")
    code = f"import sys, pytest; before = set(sys.modules); import {entry.value}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["posref_conformance", "posref_conformance.pytest_plugin"]


def test_a_session_without_the_option_loads_nothing_of_posref(run_pytest: Pytest, tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import sys\ndef test_mine():\n    assert not {'posref', 'numpy', 'posref_conformance.runner'} & set(sys.modules)\n"
    )
    done = run_pytest("test_mine.py", "-p", "no:hypothesispytest", "-p", "no:xdist")
    assert done.returncode == 0, done.stdout
