"""Run checks in processes of their own, several at a time if asked to, and survive whatever the backend does."""

from __future__ import annotations

import json
import queue
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from posref_conformance.backend import BackendError
from posref_conformance.cases import matches
from posref_conformance.contract import FUNCTIONS
from posref_conformance.diagnosis.results import diagnosed
from posref_conformance.process import Died, Exceeded, Limits, Process
from posref_conformance.verdict import EXPECTED_FAILURE, FAILED, PASSED, UNEXPECTED_PASS, Result
from posref_conformance.wording import one_line

DEEP = 6.0  # a generated check runs many examples: that many times the time of a fixed one
# A function that hangs or dies every time must not take the whole day: after so many its other checks are not run.
ENOUGH = {"time": 3, "death": 10}
SAID = {"time": "took too long", "death": "ended the process"}


class Runner:
    """A backend in processes of its own.

    A check that takes too much time or memory, or during which the process dies, has failed; the process is started again for
    the next one. With several jobs each process takes whole functions, so that what a function's checks meet of one another is
    the same however many there are.
    """

    def __init__(self, backend: str, *, limits: Limits | None = None, deep: bool = False, jobs: int = 1) -> None:
        self.backend, self.deep, self.jobs = backend, deep, jobs
        self.limits = limits or Limits()
        self._lock = threading.Lock()
        self._running: set[Process] = set()
        self._idle: list[Process] = []  # started, and not at work
        self._closed = False
        self._given_up: dict[str, str] = {}  # function -> why
        self._lost = ""  # why no function can be run any more
        self._ended: Counter[tuple[str, str]] = Counter()  # function, "time" or "death" -> how often
        first = self._start()
        self._idle.append(first)
        self.about = first.about

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes and whatever they started."""
        with self._lock:
            self._closed = True
        for process in list(self._running):
            self._end(process)

    def checks(self, only: Sequence[str] = (), functions: Sequence[str] = FUNCTIONS) -> list[str]:
        """The ids of the checks that can be run, those that ``only`` means, of some functions.

        Raises
        ------
        BackendError
            ``only`` means none of them.
        """
        found = [c for c in self.about["checks"] if matches(c, only) and c.partition("/")[0] in functions]
        if only and not found:
            raise BackendError(
                f"--only {' '.join(only)} means no check that this backend can run; functions: {', '.join(functions)}"
            )
        return found

    def run(self, checks: Sequence[str]) -> Iterator[Result]:
        """Run checks and give each result as soon as it is there: in their order, if there is one job."""
        if self.jobs == 1:
            yield from self._run_part(checks)
            return
        parts: dict[str, list[str]] = {}
        for check in checks:
            parts.setdefault(_function(check), []).append(check)
        asked, done = _Queue(parts.values()), queue.Queue[Result | BaseException | None]()
        workers = [threading.Thread(target=self._work, args=(asked, done), daemon=True) for _ in range(self.jobs)]
        for worker in workers:
            worker.start()
        for _ in workers:
            while (result := done.get()) is not None:
                if isinstance(result, BaseException):
                    raise result
                yield result

    def diagnosed(self, results: Sequence[Result]) -> list[Result]:
        """The results, with the mistakes that explain failures among them."""
        return diagnosed(results, self._causes)

    def _causes(self, asked: dict[str, list[str]]) -> list[dict[str, Any]]:
        """What a process makes of failed checks, and if that is nothing, a new one, which remembers nothing of other checks.

        Nothing, too, if it takes too long or does not survive it.
        """
        return self._causes_of(self._take(), asked) or self._causes_of(None, asked)

    def _causes_of(self, process: Process | None, asked: dict[str, list[str]]) -> list[dict[str, Any]]:
        try:
            process = process or self._start()
            causes: list[dict[str, Any]] = json.loads(process.ask(asked, DEEP))["diagnosis"]
        except (BackendError, Exceeded, Died, ValueError, TypeError, KeyError):
            if process:
                self._end(process)
            return []
        self._idle.append(process)
        return causes

    def unknown_expected_failures(self) -> list[str]:
        """Ids of expected failures that are no check's: each makes the run fail."""
        return sorted(set(self.about["expected_failures"]) - set(self.about["known"]))

    def _work(self, asked: _Queue, done: queue.Queue[Result | BaseException | None]) -> None:
        """One of several jobs: whole functions until none is left; None at the end."""
        try:
            self._idle.append(self._take() or self._start())
            while (part := asked.take()) is not None and not self._closed:
                for result in self._run_part(part):
                    done.put(result)
        except BackendError:  # it loads once and not twice: the first job does it all
            pass
        except BaseException as problem:
            if not self._closed:  # a mistake of ours, to be raised where the results are waited for
                done.put(problem)
        done.put(None)

    def _run_part(self, checks: Sequence[str]) -> Iterator[Result]:
        """Checks in their order, in one process after the other."""
        process = self._take()
        try:
            for check in checks:
                result, process = self._run_one(check, process)
                if self._closed:
                    raise _Closed
                yield self._with_expectation(result)
        finally:
            if process:
                self._idle.append(process)

    def _with_expectation(self, result: Result) -> Result:
        reason = self.about["expected_failures"].get(result.id)
        if reason is not None and result.status == FAILED:
            return replace(result, status=EXPECTED_FAILURE, reason=f"{result.reason} (expected: {reason})")
        if reason is not None and result.status == PASSED:
            return replace(result, status=UNEXPECTED_PASS, reason=f"expected to fail: {reason}")
        return result

    def _run_one(self, check: str, process: Process | None) -> tuple[Result, Process | None]:
        """A check's result, and the process if it lives on."""
        function = _function(check)
        if process is None and not self._lost and function not in self._given_up:
            try:
                process = self._start()
            except BackendError as problem:
                self._lost = f"the backend could not be loaded again: {problem}"
        if why := self._given_up.get(function):
            return Result(check, FAILED, f"not run: {why}"), process
        if process is None:
            return Result(check, FAILED, f"not run: {self._lost}"), None
        try:
            answer = process.ask(check, DEEP if "/deep/" in check else 1.0)
        except (Exceeded, Died) as problem:
            kind, how = "time" if getattr(problem, "what", "") == "time" else "death", str(problem)
        else:
            if result := _result(check, answer):
                return result, process
            kind, how = "death", f"wrote something else than a result: {one_line(answer)}"
        self._end(process)
        self._count(function, kind, check)
        return Result(check, FAILED, how), None

    def _count(self, function: str, kind: str, check: str) -> None:
        self._ended[function, kind] += 1
        if self._ended[function, kind] == ENOUGH[kind]:
            self._given_up[function] = f"{ENOUGH[kind]} of this function's checks {SAID[kind]}, last {check}"

    def _take(self) -> Process | None:
        """A process that waits for work."""
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _start(self) -> Process:
        if self._closed:
            raise _Closed
        process = Process(self.backend, deep=self.deep, limits=self.limits)
        with self._lock:
            self._running.add(process)
            closed = self._closed
        if closed:  # while it was being started
            self._end(process)
            raise _Closed
        return process

    def _end(self, process: Process) -> None:
        with self._lock:
            self._running.discard(process)
        process.close()


class _Closed(Exception):
    """The runner has been closed while a job was at work."""


class _Queue:
    """What the jobs take their parts from."""

    def __init__(self, parts: Iterable[list[str]]) -> None:
        self._parts, self._lock = iter(parts), threading.Lock()

    def take(self) -> list[str] | None:
        with self._lock:
            return next(self._parts, None)


def _function(check: str) -> str:
    return check.partition("/")[0]


def _result(check: str, answer: str) -> Result | None:
    """The result that a line holds; None for whatever else may have been written."""
    try:
        result = Result.from_json(json.loads(answer))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return result if result.id == check else None
