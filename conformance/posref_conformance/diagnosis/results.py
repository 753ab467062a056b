"""Results of a run, with the mistakes that explain the failures among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from posref_conformance.verdict import FAILED, PASSED, Result

ENDED = ("not run", "the process", "took more than", "wrote something else", "replaces", "no file")  # nothing came back
Causes = Callable[[dict[str, list[str]]], list[dict[str, Any]]]


def diagnosed(results: Sequence[Result], causes: Causes) -> list[Result]:
    """The results, each failure with what explains it: ``causes`` is asked once for each function that has any."""
    found: dict[str, list[dict[str, str]]] = {}
    failed = [r for r in results if _has_outputs(r)]
    for function in dict.fromkeys(map(_function, failed)):
        passed = [r.id for r in results if r.status == PASSED and _function(r) == function and not _is_deep(r)]
        asked = {"failed": [r.id for r in failed if _function(r) == function], "passed": passed}
        for cause in causes(asked):
            said = {name: cause[name] for name in ("id", "sentence", "fix")}
            for check in cause["checks"]:
                found.setdefault(check, []).append(said)
    return [replace(r, diagnosis=tuple(found.get(r.id, ()))) for r in results]


def _has_outputs(result: Result) -> bool:
    """Whether a check failed by what came back, or by what was raised."""
    return result.status == FAILED and not result.reason.startswith(ENDED) and not _is_deep(result)


def _is_deep(result: Result) -> bool:
    return "/deep/" in result.id


def _function(result: Result) -> str:
    return result.id.partition("/")[0]
