"""Backends written for a test, and the two ways to run them: the worker process alone, and the whole command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import posref
from posref_conformance import verdict
from posref_conformance.backend import Backend, describe, missing_keyword
from posref_conformance.budgets import bounds
from posref_conformance.case import Call, Case
from posref_conformance.cases import CASES, checks
from posref_conformance.process import Limits
from posref_conformance.roundings import ONE
from posref_conformance.runner import Runner
from posref_conformance.verdict import Result

Results = dict[str, Result]


@pytest.fixture
def backend_file(tmp_path: Path) -> Callable[..., str]:
    """Write a backend and give its path. ``right`` in it is a backend that is right about everything."""

    def write(*parts: str, name: str = "mine.py") -> str:
        path = tmp_path / name
        header = "import numpy as np\nfrom posref_array.on_numpy import backend as right\n"
        path.write_text(header + "".join(map(textwrap.dedent, parts)), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def run_backend(backend_file: Callable[..., str]) -> Callable[..., Results]:
    """Run the checks of a backend, given as parts of a file, in its worker process: results by id."""

    def run(*parts: str, only: tuple[str, ...] = (), timeout: float = 10.0, **options: Any) -> Results:
        with Runner(backend_file(*parts), limits=Limits(timeout), **options) as runner:
            return {result.id: result for result in runner.run(runner.checks(only))}

    return run


@pytest.fixture
def posref_command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line, in a directory of its own."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-c", "from posref.cli import main; main()", *arguments]
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120, **options}
        return subprocess.run(command, check=False, **options)

    return run


@pytest.fixture
def report(posref_command: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """The report of ``posref check ... --json``, with the exit status put into it."""

    def run(*arguments: str) -> dict[str, Any]:
        done = posref_command("check", *arguments, "--json")
        assert done.stdout, done.stderr
        return {**json.loads(done.stdout), "status": done.returncode}

    return run


@pytest.fixture
def sleep() -> str:
    """A command that lasts for a day, and that no other test runs."""
    return f"sleep 86400.{uuid.uuid4().int % 10**9}"


@pytest.fixture
def processes() -> Callable[..., list[int]]:
    """Processes that have some words in their command line; without words, the children of this one, zombies among them."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc to look for processes")

    def find(words: str = "") -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has just ended
            if words in command.replace("\0", " ") if words else parent == os.getpid():
                found.append(int(entry.name))
        return found

    return find


@pytest.fixture
def left_running(processes: Callable[..., list[int]]) -> Callable[..., list[int]]:
    """What of ``processes`` stays: one that was killed takes a moment to end, on a busy machine a long one."""

    def find(words: str = "") -> list[int]:
        end = time.monotonic() + 10
        while (found := processes(words)) and time.monotonic() < end:
            time.sleep(0.05)
        return found

    return find


@pytest.fixture(scope="module")
def reference_once() -> Iterator[None]:
    """The reference is asked once for each call, however many backends are held against it."""
    known: dict[Any, Any] = {}
    ask = verdict.expected_outputs

    def plain(value: Any) -> Any:
        return (value.tobytes(), value.dtype.name, value.shape) if isinstance(value, np.ndarray) else repr(value)

    def remembered(name: str, call: Call) -> Any:
        if call.cotangent is not None:
            return ask(name, call)
        key = (name, *map(plain, call.args), *((k, plain(v)) for k, v in sorted(call.kwargs.items())))
        if key not in known:
            known[key] = ask(name, call)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict, "expected_outputs", remembered)
        yield


BY_ID = {case.check_id(dtype): (case, dtype) for case in CASES for dtype in case.dtypes}


@pytest.fixture
def judge() -> Callable[..., Result]:
    """Judge one check, in this process, against functions given as a dictionary."""

    def run(check: str, functions: dict[str, Any], **about: Any) -> Result:
        return verdict.run(describe("a test's", SimpleNamespace(**functions, **about)), *BY_ID[check])

    return run


@pytest.fixture
def ratios() -> Callable[..., dict[str, float]]:
    """The errors of functions as multiples of their bounds, in the profile that they claim.

    Checks that they do not implement are left out; some they must.
    """

    def measure(
        functions: dict[str, Any], profile: str, cases: Sequence[Case] = CASES, **about: Any
    ) -> dict[str, float]:
        backend = describe("a right one", SimpleNamespace(**functions, **about))
        asked = [(c, d) for c, d in checks(backend, cases) if backend.function(c.function)]
        found = {case.check_id(dtype): _ratio(backend, case, dtype, profile) for case, dtype in asked}
        measured = {check: ratio for check, ratio in found.items() if ratio is not None}
        assert measured
        return measured

    return measure


def _ratio(backend: Backend, case: Case, dtype: str, profile: str) -> float | None:
    function, worst = backend.function(case.function), 0.0

    def give(value: Any) -> Any:
        return backend.arrays.make(value) if isinstance(value, np.ndarray) else value

    for call in case.calls(dtype):
        if call.cotangent is not None or missing_keyword(function, call.kwargs):
            return None
        args, kwargs = [give(a) for a in call.args], {k: give(v) for k, v in call.kwargs.items()}
        try:
            got = function(*args, **kwargs)
        except NotImplementedError:
            return None
        outputs = [backend.arrays.read(t) for t in (got if isinstance(got, tuple) else (got,))]
        exact = getattr(posref, case.function)(*call.args, **call.kwargs)
        exact = [np.asarray(t) for t in (exact if isinstance(exact, tuple) else (exact,))]
        allowed = bounds(case.function, call, exact, [t.dtype.name for t in outputs])
        for y, wanted, bound in zip(outputs, exact, allowed.get(profile) or allowed[ONE], strict=True):
            assert y.shape == wanted.shape
            error = np.abs(y.astype(np.float64) - wanted)
            with np.errstate(invalid="ignore", divide="ignore"):
                worst = max(worst, float(np.max(np.where(error == 0, 0.0, error / bound), initial=0.0)))
    return worst
