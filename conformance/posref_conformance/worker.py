"""The process that a backend runs in: it may crash, exit or hang, and only its own check is lost.

Lines of JSON come in on standard input and go out on what standard output was at the start. Whatever the backend prints,
from Python or from C, goes to standard error, so that it cannot be taken for an answer.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from posref_conformance.backend import Backend, BackendError, load
from posref_conformance.cases import CASES, checks
from posref_conformance.deep import deep_checks, deep_ids, run_deep
from posref_conformance.diagnosis import Check, diagnose
from posref_conformance.guard import Guard
from posref_conformance.verdict import FAILED, Result, run
from posref_conformance.wording import problem_line


def main(name: str, mode: str) -> None:
    """Load the backend, say what can be checked, then run what is asked for until the input ends."""
    requests, answers = _streams()
    guard = Guard()
    try:
        backend = load(name)
        if replaced := guard.repair():
            raise BackendError(f"{name} {_replaces(replaced)}")
        by_id = {case.check_id(dtype): (case, dtype) for case, dtype in checks(backend)}
        generated = deep_checks(backend) if mode == "deep" else []
    except BackendError as problem:
        _say(answers, {"error": str(problem)})
        return
    about = {
        "checks": [*by_id, *generated],
        "known": [*(case.check_id(dtype) for case in CASES for dtype in case.dtypes), *deep_ids()],
        "expected_failures": backend.expected_failures,
    }
    _say(answers, about)
    for line in requests:
        check = json.loads(line)
        if isinstance(check, dict):
            _say(answers, {"diagnosis": _diagnosis(backend, by_id, check)})
            continue
        try:
            result = run(backend, *by_id[check]) if check in by_id else run_deep(backend, check)
        except BaseException as problem:  # sys.exit and KeyboardInterrupt too
            result = Result(check, FAILED, f"raised {problem_line(problem)}")
        if replaced := guard.repair():
            result = Result(check, FAILED, _replaces(replaced))
        _say(answers, result.as_json())


def _diagnosis(backend: Backend, by_id: dict[str, Check], asked: dict[str, list[str]]) -> list[dict[str, Any]]:
    """What may be behind the checks of a function that failed; nothing, if that cannot be told."""
    failed, passed = ([by_id[check] for check in asked[kind]] for kind in ("failed", "passed"))
    try:
        return [cause.as_json() for cause in diagnose(lambda _: backend, failed, passed)]
    except Exception:  # what a backend does may be stranger than any fault
        return []


def _streams() -> tuple[TextIO, TextIO]:
    """Requests and answers, out of the backend's reach: it reads nothing, and what it writes goes to standard error."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return requests, answers


def _replaces(names: list[str]) -> str:
    return f"replaces {', '.join(names[:3])}, which the suite itself uses"


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()
