"""What a function makes of a case: its results, and what else came of it. Two outcomes can be told to be the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref_conformance.arrays import Arrays
from posref_conformance.backend import missing_keyword
from posref_conformance.case import Call, Case
from posref_conformance.roundings import ROUNDOFF, SMALLEST
from posref_conformance.verdict import LIKE_FIRST, differentiate

Values = NDArray[Any]
CLOSE = 2.0  # bounds: two results that are each off by one from the same value
RAISED = "raised"
NEARER = 0.5  # of the distance to the right result: what is not clearly nearer to a wrong one is not explained by it


@dataclass(frozen=True)
class Outcome:
    """One run of a case.

    Parameters
    ----------
    results
        Of each call, in turn.
    event
        What else was wrong with the run: ``"raised"``; ``"argument 0"`` was modified; a ``"view of 0"`` came back, or a type,
        ``"float32"``; ``"out"`` was not written to; a later call ``"changed"`` a result. Empty if nothing was.
    """

    results: tuple[tuple[Values, ...], ...]
    event: str = ""


def outcome(
    function: Callable[..., Any], arrays: Arrays, name: str, calls: Sequence[Call], pristine: Sequence[Call]
) -> Outcome | None:
    """Run all calls of a case of the function ``name``; None where they are not implemented."""
    kept: list[tuple[Any, Values]] = []
    results: list[tuple[Values, ...]] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            for call, before in zip(calls, pristine, strict=True):
                if missing_keyword(function, call.kwargs):
                    return None
                returned, event = _called(function, arrays, name, call, before)
                read = tuple(_read(arrays, y).copy() for y in returned)
                results.append(read)
                if event:
                    return Outcome(tuple(results), event)
                kept += zip(returned, read, strict=True)
        except NotImplementedError:
            return None
        except Exception:
            return Outcome(tuple(results), RAISED)
        changed = any(not _equal(_read(arrays, y), copy) for y, copy in kept)
    return Outcome(tuple(results), "changed" if changed else "")


def _called(
    function: Callable[..., Any], arrays: Arrays, name: str, call: Call, pristine: Call
) -> tuple[list[Any], str]:
    """What comes back from one call, and the event."""
    made: dict[int, Any] = {}

    def give(value: Any) -> Any:
        return made.setdefault(id(value), arrays.make(value)) if isinstance(value, np.ndarray) else value

    args, kwargs = [give(a) for a in call.args], {k: give(v) for k, v in call.kwargs.items()}
    if call.cotangent is not None:
        return [differentiate(arrays, name, function, call, args, kwargs)], ""
    returned = function(*args, **kwargs)
    results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    out = call.kwargs.get("out")
    if name in LIKE_FIRST and arrays.dtype(results[0]) != pristine.args[0].dtype.name:
        return results, arrays.dtype(results[0])
    if out is not None and not _equal(arrays.read(kwargs["out"]), _read(arrays, results[0])):
        return results, "out"
    for n, (argument, original) in enumerate(zip(args, pristine.args, strict=True)):
        if not isinstance(original, np.ndarray) or call.args[n] is out:
            continue
        if not _equal(arrays.read(argument), original):
            return results, f"argument {n}"
        if any(not isinstance(y, (int, float)) and arrays.shares(y, argument) for y in results):
            return results, f"view of {n}"
    return results, ""


def _read(arrays: Arrays, y: Any) -> Values:
    return np.asarray(y) if isinstance(y, (int, float)) else arrays.read(y)


def _equal(a: Values, b: Values) -> bool:
    same = a.shape == b.shape and a.dtype == b.dtype
    return same and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def distance(got: Values, other: Values, bound: Values | None, *, over: str = "element") -> float:
    """How far two results are apart, as a multiple of the bound; infinite where they cannot be compared.

    Over a row or all, every element has the largest bound of them: a wrong result may have it in another place, and the angle of
    another position.
    """
    if got.shape != other.shape:
        return np.inf
    if not got.size:
        return 0.0
    a, b = got.astype(np.float64), other.astype(np.float64)
    if bound is None or bound.shape != a.shape:  # of a shape that has no bounds: a few roundings of the largest
        unit = max((ROUNDOFF.get(t.dtype.name, 0.0) for t in (got, other)), default=0.0)
        bound = np.full(a.shape, 8 * unit * _largest(b) + SMALLEST["float16"] * (unit > 0))
    elif bound.ndim:  # where the right result has no error, a wrong one may: as much as the rest of its row
        largest = np.max(bound, axis=None if over == "all" else -1, keepdims=True, initial=0.0)
        bound = np.where(bound > 0, bound, largest) if over == "element" else largest + 0 * bound
    with np.errstate(divide="ignore", invalid="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        ratio = np.where(same, 0.0, np.abs(a - b) / bound)
    return float(np.max(np.where(np.isnan(ratio), np.inf, ratio)))


def _largest(y: Values) -> float:
    """The largest magnitude among finite values."""
    wide = y.astype(np.float64)
    return float(np.max(np.abs(wide), initial=0.0, where=np.isfinite(wide)))


@dataclass(frozen=True)
class Asked:
    """A check, and its calls as they were before anyone could write to them."""

    case: Case
    dtype: str
    calls: tuple[Call, ...]
    differentiated: bool
    size: int


def asked(case: Case, dtype: str) -> Asked:
    """What a check asks."""
    calls = tuple(case.calls(dtype))
    differentiated = any(call.cotangent is not None for call in calls)
    return Asked(case, dtype, calls, differentiated, sum(a.size for call in calls for a in call.arrays()))


@dataclass(frozen=True)
class Failure:
    """A check that failed: what was seen, what is right, and the bounds of each result where there are any."""

    asked: Asked
    seen: Outcome
    right: tuple[tuple[Values, ...], ...]
    bounds: tuple[tuple[Values, ...], ...]

    def is_explained_by(self, guess: Outcome | None) -> bool:
        """Whether a guess gives what was seen: the same event, and results that are clearly nearer than the right ones."""
        if guess is None or guess.event != self.seen.event or len(guess.results) != len(self.seen.results):
            return False
        told = bool(self.seen.event)  # whether there was anything wrong to explain
        for call, (of_guess, of_seen) in enumerate(zip(guess.results, self.seen.results, strict=True)):
            if len(of_guess) != len(of_seen):
                return False
            for n, y in enumerate(of_guess):
                if not any(self._is_near(call, n, y, over) for over in ("element", "row", "all")):
                    return False
                told |= self._off(call, n) > 1
        return told

    def _is_near(self, call: int, n: int, guess: Values, over: str) -> bool:
        seen, bound = self.seen.results[call][n], self._bound(call, n)
        if bound is not None and n < len(self.right[call]):
            bound = bound * max(1.0, _largest(guess) / (_largest(self.right[call][n]) or 1.0))
        if bound is not None and not np.any(bound):
            bound = None  # right results are equal to the bit; wrong ones may have been rounded in other places
        apart, off = distance(seen, guess, bound, over=over), self._off(call, n, over)
        return apart <= CLOSE and (off > 1 or over == "element") and (off <= 1 or apart <= NEARER * off)

    @property
    def id(self) -> str:
        """Of the check."""
        return self.asked.case.check_id(self.asked.dtype)

    def is_wrong(self) -> bool:
        """Whether what was seen is off by more than its bound."""
        return any(self._off(call, n) > 1 for call, of in enumerate(self.seen.results) for n in range(len(of)))

    def _bound(self, call: int, n: int) -> Values | None:
        return self.bounds[call][n] if n < len(self.bounds[call]) else None

    def _off(self, call: int, n: int, over: str = "element") -> float:
        right = self.right[call]
        if n >= len(right):
            return np.inf
        return distance(self.seen.results[call][n], right[n], self._bound(call, n), over=over)
