"""Run checks in a worker process, one at a time, and survive whatever the backend does."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import IO, Any

from posref_conformance.backend import BackendError
from posref_conformance.cases import matches
from posref_conformance.contract import FUNCTIONS
from posref_conformance.verdict import EXPECTED_FAILURE, FAILED, PASSED, UNEXPECTED_PASS, Result
from posref_conformance.wording import one_line

LOADING = 120.0  # seconds for the import of the backend and its array library
DEEP = 6.0  # a generated check runs many examples: that many times the time of a fixed one
# The suite is imported before the working directory can be searched: a numpy.py there is not NumPy.
WORKER = """
import sys
sys.path = [p for p in sys.path if p]
from posref_conformance.worker import main
main(*sys.argv[1:])
"""


class Runner:
    """A backend in a process of its own.

    A check that takes longer than ``timeout`` seconds, or during which the process dies, has failed; the process is started
    again for the next one. After a function's first time-out or second death its other checks are reported as failed, unrun.
    """

    def __init__(self, backend: str, *, timeout: float = 10.0, deep: bool = False) -> None:
        self.backend, self.timeout, self.deep = backend, timeout, deep
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._stderr: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115, closed by close()
        self._given_up: dict[str, str] = {}  # function -> why
        self._lost = ""  # why no function can be run any more
        self._deaths: Counter[str] = Counter()
        try:
            self.about = self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker process and whatever it started."""
        self._stop()
        self._stderr.close()

    def checks(self, only: Sequence[str] = ()) -> list[str]:
        """The ids of the checks that can be run, those that ``only`` means.

        Raises
        ------
        BackendError
            ``only`` means none of them.
        """
        found = [c for c in self.about["checks"] if matches(c, only)]
        if only and not found:
            functions = ", ".join(FUNCTIONS)
            raise BackendError(
                f"--only {' '.join(only)} means no check that this backend can run; functions: {functions}"
            )
        return found

    def run(self, checks: Sequence[str]) -> Iterator[Result]:
        """Run checks in their order, and give each result as soon as it is there."""
        for check in checks:
            result = self._run_one(check)
            reason = self.about["expected_failures"].get(check)
            if reason is not None and result.status == FAILED:
                result = replace(result, status=EXPECTED_FAILURE, reason=f"{result.reason} (expected: {reason})")
            elif reason is not None and result.status == PASSED:
                result = replace(result, status=UNEXPECTED_PASS, reason=f"expected to fail: {reason}")
            yield result

    def unknown_expected_failures(self) -> list[str]:
        """Ids of expected failures that are no check's: each makes the run fail."""
        return sorted(set(self.about["expected_failures"]) - set(self.about["known"]))

    def _run_one(self, check: str) -> Result:
        function = check.partition("/")[0]
        if self._process is None and not self._lost and function not in self._given_up:
            try:
                self._start()
            except BackendError as problem:
                self._stop()
                self._lost = f"the backend could not be loaded again: {problem}"
        if why := self._lost or self._given_up.get(function):
            return Result(check, FAILED, f"not run: {why}")
        try:
            answer = self._ask(check, self.timeout * (DEEP if "/deep/" in check else 1.0))
        except TimeoutError as problem:
            self._given_up[function] = f"{check} {problem}"
            return Result(check, FAILED, str(problem))
        result = None if answer is None else _result(check, answer)
        if result is None:
            self._deaths[function] += 1
            if self._deaths[function] == 2:
                self._given_up[function] = f"the process died in two of this function's checks, last in {check}"
            how = self._how_it_died() if answer is None else f"wrote something else than a result: {one_line(answer)}"
            self._stop()
            return Result(check, FAILED, how)
        return result

    def _start(self) -> dict[str, Any]:
        self._answers = queue.Queue()
        mode = "deep" if self.deep else "fixed"
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, self.backend, mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # so that what it starts can be ended with it, and Ctrl-C reaches the report alone
        )
        threading.Thread(target=_pump, args=(self._process.stdout, self._answers), daemon=True).start()
        return self._greeting()

    def _greeting(self) -> dict[str, Any]:
        """What the process says of the backend, once that is imported."""
        try:
            first = self._wait(LOADING)
        except TimeoutError:
            raise BackendError(f"{self.backend} was not imported within {LOADING:g} s") from None
        if first is None:
            raise BackendError(f"{self.backend} cannot be imported: {self._how_it_died()}")
        try:
            about: dict[str, Any] = json.loads(first)
        except ValueError:
            raise BackendError(f"{self.backend} cannot be imported: it wrote {one_line(first)}") from None
        if "error" in about:
            raise BackendError(about["error"])
        return about

    def _ask(self, check: str, timeout: float) -> str | None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._stderr.truncate(0)  # what it said last belongs to this check
        try:
            self._process.stdin.write(json.dumps(check) + "\n")
            self._process.stdin.flush()
        except OSError:  # it died between two checks
            return None
        try:
            return self._wait(timeout)
        except TimeoutError:
            self._stop()
            raise TimeoutError(f"took more than {timeout:g} s") from None

    def _wait(self, timeout: float) -> str | None:
        """The next line that the process writes, or None if none will come."""
        assert self._process is not None
        end = time.monotonic() + timeout
        while True:
            alive = self._process.poll() is None  # to be asked too: a child of a dead process may keep the pipe open
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=max(0.0, min(0.2, end - time.monotonic())))
            if not alive:
                return None
            if time.monotonic() >= end:
                raise TimeoutError

    def _how_it_died(self) -> str:
        assert self._process is not None
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            how = "the process closed its side of the conversation"
        else:
            how = f"the process died of {_signal(-code)}" if code < 0 else f"the process exited with status {code}"
        return f"{how}; it last said: {said}" if (said := self._last_words()) else how

    def _last_words(self) -> str:
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - 2000))
        lines = self._stderr.read().decode(errors="replace").split("\n")
        return next((one_line(line) for line in reversed(lines) if line.strip()), "")

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)  # unless the kernel itself holds it, in a driver that does not answer
        with contextlib.suppress(OSError):
            if process.stdin:
                process.stdin.close()


def _pump(stream: IO[str], answers: queue.Queue[str | None]) -> None:
    """Lines into the queue; None once the process has closed its end. The only one to touch the stream, so it closes it."""
    with contextlib.suppress(ValueError, OSError), stream:
        for line in stream:
            answers.put(line)
    answers.put(None)


def _result(check: str, answer: str) -> Result | None:
    """The result that a line holds; None for whatever else may have been written."""
    try:
        fields = json.loads(answer)
        result = Result(**{**fields, "warnings": tuple(fields["warnings"])})
    except (ValueError, TypeError, KeyError):
        return None
    return result if result.id == check else None


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
