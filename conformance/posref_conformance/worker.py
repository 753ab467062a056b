"""The process that a backend runs in: it may crash, exit or hang, and only its own check is lost.

Lines of JSON come in on standard input and go out on what standard output was at the start. Whatever the backend prints,
from Python or from C, goes to standard error, so that it cannot be taken for an answer.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from posref_conformance.backend import BackendError, load
from posref_conformance.cases import CASES, checks
from posref_conformance.deep import deep_checks, run_deep
from posref_conformance.verdict import FAILED, Result, run


def main(name: str, deep: bool) -> None:
    """Load the backend, say what can be checked, then run what is asked for until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        backend = load(name)
        by_id = {case.check_id(dtype): (case, dtype) for case, dtype in checks(backend)}
        deep_ids = deep_checks(backend) if deep else []
    except BackendError as problem:
        _say(answers, {"error": str(problem)})
        return
    known = [case.check_id(dtype) for case in CASES for dtype in case.dtypes]
    _say(
        answers,
        {
            "checks": [*by_id, *deep_ids],
            "known": [*known, *deep_ids],
            "expected_failures": backend.expected_failures,
            "dtypes": list(backend.dtypes),
            "arrays": backend.arrays.name,
        },
    )
    for line in sys.stdin:
        check = json.loads(line)
        result = run(backend, *by_id[check]) if check in by_id else run_deep(backend, check)
        try:
            _say(answers, result.as_json())
        except BaseException as problem:  # what a backend may have done to json, or to strings that it returned
            _say(answers, Result(check, FAILED, f"no result could be written: {type(problem).__name__}").as_json())


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "deep")
