"""From failed checks to the mistake behind them: which known mistakes give what the backend gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from posref_conformance import verdict
from posref_conformance.arrays import arrays_of
from posref_conformance.backend import Backend
from posref_conformance.case import Call, Case
from posref_conformance.diagnosis import _candidates, _shapes
from posref_conformance.diagnosis._outcome import Asked, Failure, Outcome, Values, asked, outcome
from posref_conformance.faults import Fault
from posref_conformance.faults._fault import library

SHOWN = 3
FIRST = 3
LOOKED_AT = 8  # failed checks of a function: enough to tell faults apart, few enough to be quick
COMPARED = 24  # passed checks: a mistake that would have made them fail has not been made
LARGEST = 2**17  # elements of a check that is looked at

Check = tuple[Case, str]


@dataclass(frozen=True)
class Explanation:
    """A mistake that would give what was seen.

    Parameters
    ----------
    id
        Of a fault in the catalogue, of two joined by ``+``, or of a pattern.
    sentence, fix
        As in :class:`posref_conformance.faults.Fault`.
    explained, looked_at
        Of how many failed checks it gives the result, of those that were looked at.
    """

    id: str
    sentence: str
    fix: str
    explained: int
    looked_at: int

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def diagnose(backend: Backend, failed: Sequence[Check], passed: Sequence[Check] = ()) -> list[Explanation]:
    """The mistakes that explain the failed checks of one function, simplest first, at most three."""
    failures = _seen(backend, _some(failed, LOOKED_AT))
    if not failures:
        return []
    name, right = failures[0].asked.case.function, _some(passed, COMPARED)
    found = _ranked(_candidates.singles(name), failures, right)
    if len(found) > 1:  # as good as each other so far
        more = _seen(backend, _some(failed, COMPARED))
        found = _ranked([f for f in _candidates.singles(name) if f.id in {e.id for e in found}], more, right)
        failures = more
    if not found or found[0].explained < len(failures):
        found = _better(found, _ranked_patterns(failures))
    if not found:
        found = _ranked(_candidates.pairs(name), failures, right)
    return found[:SHOWN]


def _some(checks: Sequence[Check], most: int) -> list[Asked]:
    """Some of the checks, spread over all, without the largest."""
    small = [a for a in (asked(case, dtype) for case, dtype in checks) if a.size <= LARGEST]
    return small[:: -(-len(small) // most) or 1]


def _seen(backend: Backend, checks: list[Asked]) -> list[Failure]:
    """What the backend gives, once more."""
    found = []
    for check in checks:
        name, calls = check.case.function, check.case.calls(check.dtype)
        seen = outcome(backend.function(name), backend.arrays, name, calls, check.calls)
        if seen is not None:
            found.append(_failure(check, seen, backend.precision))
    return found


def _failure(check: Asked, seen: Outcome, precision: str) -> Failure:
    name = check.case.function
    right, allowed = [], []
    for call, results in zip(check.calls, seen.results, strict=False):
        expected = [np.asarray(y) for y in verdict.expected_outputs(name, call)]
        fits = [y.shape for y in results] == [y.shape for y in expected]
        types = ["float64" if name in verdict.INTEGERS else y.dtype.name for y in results]
        right.append(tuple(expected))
        allowed.append(tuple(_loosest(name, call, expected, types, precision)) if fits else ())
    return Failure(check, seen, tuple(right), tuple(allowed))


def _loosest(name: str, call: Call, expected: list[Values], types: list[str], precision: str) -> list[Values]:
    by_profile = verdict.budget(name, call, expected, types)
    return [np.asarray(b) for b in by_profile.get(precision) or by_profile[next(iter(by_profile))]]


def _guess(fault: Fault, check: Asked) -> Outcome | None:
    """What a fault makes of a check; of a gradient on torch, of all else on NumPy."""
    if fault.needs and not check.differentiated:
        return None
    xp = library("torch") if check.differentiated else _candidates.fast()
    arrays = arrays_of("torch" if check.differentiated else "numpy")
    name = check.case.function
    function = fault.functions(xp).get(name)  # made anew: what it remembers is of this run alone
    return function and outcome(function, arrays, name, check.case.calls(check.dtype), check.calls)


def _explained(fault: Fault, failures: list[Failure]) -> int:
    """How many of the failures a fault explains; those that explain none of the first are given up."""
    count = 0
    for n, failure in enumerate(failures):
        if n == FIRST and not count:
            return 0
        count += failure.is_explained_by(_guess(fault, failure.asked))
    return count


def _ranked(faults: Iterable[Fault], failures: list[Failure], passed: list[Asked]) -> list[Explanation]:
    """Those that explain most, and of these first those that would not have failed what passed."""
    explained = {fault: count for fault in faults if (count := _explained(fault, failures))}
    most = max(explained.values(), default=0)
    best = [fault for fault, count in explained.items() if 2 * count > most]
    against = {fault: _contradicted(fault, passed) if len(best) > 1 else 0 for fault in best}
    best.sort(key=lambda fault: against[fault] - explained[fault])  # stable: simple ones stay before others
    return [
        Explanation(f.id, f.sentence, f.fix, explained[f], len(failures))
        for f in best
        if against[f] <= against[best[0]]
    ]


def _contradicted(fault: Fault, passed: list[Asked]) -> int:
    """How many of the passed checks the fault would have failed."""
    guesses = ((check, _guess(fault, check)) for check in passed)
    return sum(bool(g.event) or _failure(check, g, "native").is_wrong() for check, g in guesses if g is not None)


def _ranked_patterns(failures: list[Failure]) -> list[Explanation]:
    found: dict[str, tuple[_shapes.Pattern, int]] = {}
    for pattern in (p for f in failures for p in _shapes.patterns(f)):
        if pattern.id not in found:
            count = sum(f.is_explained_by(_shapes.outcome_of(pattern, f)) for f in failures)
            found[pattern.id] = (pattern, count)
    best = sorted((v for v in found.values() if v[1]), key=lambda v: -v[1])
    return [Explanation(p.id, p.sentence, p.fix, count, len(failures)) for p, count in best]


def _better(found: list[Explanation], others: list[Explanation]) -> list[Explanation]:
    """Both lists, by how much they explain; the first list first where that is equal."""
    return sorted([*found, *others], key=lambda e: -e.explained)
