"""From failed checks to the mistake behind them: which known mistakes give what the backend gave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from posref_conformance import verdict
from posref_conformance.arrays import arrays_of
from posref_conformance.backend import Backend
from posref_conformance.case import Call, Case
from posref_conformance.diagnosis import _candidates, _precision, _shapes
from posref_conformance.diagnosis._outcome import RAISED, Asked, Failure, Outcome, Values, asked, outcome
from posref_conformance.faults import Fault
from posref_conformance.faults._fault import Functions, library

SHOWN = 3
SHOWN_FAILURES = 5  # by the report, in full
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
    checks
        Ids of the failed checks whose results it gives, of those that were looked at.
    """

    id: str
    sentence: str
    fix: str
    checks: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "checks": list(self.checks)}


def diagnose(
    backend_of: Callable[[Check], Backend], failed: Sequence[Check], passed: Sequence[Check] = ()
) -> list[Explanation]:
    """The mistakes that explain the failed checks of one function, simplest first, at most three.

    Parameters
    ----------
    backend_of
        Whom to ask a check once more.
    failed, passed
        Checks of the function with either result.
    """
    failures = _seen(backend_of, _chosen(failed))
    if not failures:
        return []
    name, right = failures[0].asked.case.function, _spread(passed, COMPARED)
    found = _ranked(_candidates.singles(name), failures, right)
    named = [Explanation(f.id, f.sentence, f.fix, checks) for f, checks in found]
    if not named or len(named[0].checks) < len(failures):
        told = [*named, *_patterns(failures), *_less_exact(failures)]
        named = sorted(told, key=lambda e: -len(e.checks))
    if not named or len(named[0].checks) < len(failures):
        named = sorted([*named, *_pairs(name, [f for f, _ in found], failures, right)], key=lambda e: -len(e.checks))
    return named[:SHOWN]


def _pairs(name: str, found: list[Fault], failures: list[Failure], right: list[Asked]) -> list[Explanation]:
    """Two mistakes at once: one of those that explain a part with any other, else of kinds that are likely to come together."""
    failures = [f for f in failures if f.seen.event != RAISED]  # any two that raise would do
    if not failures:
        return []
    if not found:
        return [Explanation(f.id, f.sentence, f.fix, c) for f, c in _ranked(_candidates.pairs(name), failures, right)]
    one = found[0]
    explained = set(_explained(one, failures))
    rest = [f for f in failures if f.id not in explained]  # what a pair has to add
    likely = [f for f in _candidates.with_another(name, one) if _explained(f, rest)]
    ranked = _ranked(likely, failures, right)
    return [Explanation(f.id, f.sentence, f.fix, c) for f, c in ranked if len(c) > len(explained)]


def _chosen(failed: Sequence[Check]) -> list[Asked]:
    """Some failed checks: a few from all over, by which most mistakes are ruled out; those that a report shows; more."""
    few, first, more = _spread(failed, LOOKED_AT), _spread(failed[:SHOWN_FAILURES], COMPARED), _spread(failed, COMPARED)
    return list({(a.case.name, a.dtype): a for a in (*few, *first, *more)}.values())


def _spread(checks: Sequence[Check], most: int) -> list[Asked]:
    """Some of the checks, spread over all, without the largest."""
    small = [a for a in (asked(case, dtype) for case, dtype in checks) if a.size <= LARGEST]
    return small[:: -(-len(small) // most) or 1]


def _seen(backend_of: Callable[[Check], Backend], checks: list[Asked]) -> list[Failure]:
    """What the backend gives, once more."""
    found = []
    for check in checks:
        name, calls = check.case.function, check.case.calls(check.dtype)
        backend = backend_of((check.case, check.dtype))
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


class _Guesser:
    """A fault that is asked one check after the other, as the backend was: what it remembers counts."""

    def __init__(self, fault: Fault) -> None:
        self._fault, self._made = fault, dict[bool, Functions]()

    def __call__(self, check: Asked) -> Outcome | None:
        """What the fault makes of a check; of a gradient on torch, of all else on NumPy."""
        on_torch, name = check.differentiated, check.case.function
        if self._fault.needs and not on_torch:
            return None
        if on_torch not in self._made:
            self._made[on_torch] = self._fault.functions(library("torch") if on_torch else _candidates.fast())
        function = self._made[on_torch].get(name)
        if function is None:
            return None
        arrays = arrays_of("torch" if on_torch else "numpy")
        return outcome(function, arrays, name, check.case.calls(check.dtype), check.calls)


def _explained(fault: Fault, failures: list[Failure]) -> tuple[str, ...]:
    """Which of the failures a fault explains; those that explain none of the first are given up.

    That both raise says little, unless it is so everywhere.
    """
    found, guess, told = list[str](), _Guesser(fault), False
    for n, failure in enumerate(failures):
        if n == FIRST and not found:
            return ()
        if failure.is_explained_by(guess(failure.asked)):
            found.append(failure.id)
            told |= failure.seen.event != RAISED
    return tuple(found) if told or len(found) == len(failures) else ()


def _ranked(
    faults: Iterable[Fault], failures: list[Failure], passed: list[Asked]
) -> list[tuple[Fault, tuple[str, ...]]]:
    """Those that explain most, and of these first those that would not have failed what passed."""
    explained = {fault: checks for fault in faults if (checks := _explained(fault, failures))}
    most = max(map(len, explained.values()), default=0)
    best = [fault for fault, checks in explained.items() if 2 * len(checks) > most]
    against = {fault: _contradicted(fault, passed) if len(best) > 1 else 0 for fault in best}
    best.sort(key=lambda fault: against[fault] - len(explained[fault]))  # stable: simple ones stay before others
    return [(fault, explained[fault]) for fault in best if against[fault] <= against[best[0]]]


def _contradicted(fault: Fault, passed: list[Asked]) -> int:
    """How many of the passed checks the fault would have failed."""
    guess = _Guesser(fault)
    guesses = ((check, guess(check)) for check in passed)
    return sum(bool(g.event) or _failure(check, g, "native").is_wrong() for check, g in guesses if g is not None)


def _patterns(failures: list[Failure]) -> list[Explanation]:
    """What can be told from the results alone."""
    suggested = {p.id: p for f in failures for p in _shapes.patterns(f)}
    found = []
    for pattern in suggested.values():
        checks = tuple(f.id for f in failures if f.is_explained_by(_shapes.outcome_of(pattern, f)))
        if 2 * len(checks) > len(failures):
            found.append(Explanation(pattern.id, pattern.sentence, pattern.fix, checks))
    return found


def _less_exact(failures: list[Failure]) -> list[Explanation]:
    """The first narrower type for which nearly all would be right."""
    for kind in _precision.TYPES:
        errors = {f.id: _precision.as_exact_as(kind, f) for f in failures}
        checks = tuple(check for check, error in errors.items() if error <= 1)
        if 2 * len(checks) > len(failures) and max(errors[check] for check in checks) > _precision.TELLING:
            sentence = f"Your results are as exact as {kind} allows, and what was given is wider."
            fix = f"Look for what is made or kept in {kind}, angles first; if no more is meant, say so in the backend's dtypes."
            return [Explanation(f"as-exact-as-{kind}", sentence, fix, checks)]
    return []
