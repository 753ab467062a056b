"""One process that a backend lives in: start it, ask it, watch its time, memory and output, end it."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from posref_conformance.backend import BackendError
from posref_conformance.wording import one_line

LOADING = 120.0  # seconds for the import of the backend and its array library
LOOK = 0.05  # seconds between two looks at memory and output
OUTPUT = 2**20  # bytes that are kept of what it prints; its last words are all that is ever quoted
# The suite is imported before the working directory can be searched: a numpy.py there is not NumPy.
WORKER = """
import sys
sys.path = [p for p in sys.path if p]
from posref_conformance.worker import main
main(*sys.argv[1:])
"""


@dataclass(frozen=True)
class Limits:
    """What one check may cost."""

    seconds: float = 10.0
    gibibytes: float = 4.0  # of resident memory, on top of what the process had once the backend was imported


class Exceeded(Exception):
    """A check took more than it may; its process has been ended. ``what`` is "time" or "memory"."""

    def __init__(self, what: str, sentence: str) -> None:
        super().__init__(sentence)
        self.what = what


class Died(Exception):
    """The process ended in the middle of a check, and how."""


class Process:
    """A process that has imported the backend. ``about`` is what it says of it.

    Raises
    ------
    BackendError
        The backend cannot be loaded.
    """

    def __init__(self, backend: str, *, deep: bool, limits: Limits) -> None:
        self._limits = limits
        self._at_start: int | None = None  # resident memory, once the backend is there
        self._stderr: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115, closed by close()
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, backend, "deep" if deep else "fixed"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # so that what it starts can be ended with it, and Ctrl-C reaches the report alone
        )
        threading.Thread(target=_pump, args=(self._process.stdout, self._answers), daemon=True).start()
        try:
            self.about = self._greeting(backend)
        except BaseException:
            self.close()
            raise
        self._at_start = resident(self._process.pid)

    def ask(self, check: str | dict[str, Any], times: float = 1.0) -> str:
        """The line that it answers, within so many times the limit of seconds.

        Raises
        ------
        Exceeded, Died
            In either case the process is to be closed, and another one to be started.
        """
        assert self._process.stdin is not None
        self._stderr.truncate(0)  # what it said last belongs to this check
        seconds = self._limits.seconds * times
        try:
            self._process.stdin.write(json.dumps(check) + "\n")
            self._process.stdin.flush()
            answer = self._wait(seconds)
        except TimeoutError:
            raise Exceeded("time", f"took more than {seconds:g} s") from None
        except OSError:  # it died between two checks
            answer = None
        if answer is None:
            raise Died(self._how_it_died())
        return answer

    def close(self) -> None:
        """End it, and whatever it started."""
        process = self._process
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
        self._stderr.close()

    def _greeting(self, backend: str) -> dict[str, Any]:
        """What the process says of the backend, once that is imported."""
        try:
            first = self._wait(LOADING)
        except TimeoutError:
            raise BackendError(f"{backend} was not imported within {LOADING:g} s") from None
        if first is None:
            raise BackendError(f"{backend} cannot be imported: {self._how_it_died()}")
        try:
            about: dict[str, Any] = json.loads(first)
        except ValueError:
            raise BackendError(f"{backend} cannot be imported: it wrote {one_line(first)}") from None
        if "error" in about:
            raise BackendError(about["error"])
        return about

    def _wait(self, seconds: float) -> str | None:
        """The next line that the process writes, or None if none will come."""
        end = time.monotonic() + seconds
        while True:
            alive = self._process.poll() is None  # to be asked too: a child of a dead process may keep the pipe open
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=max(0.0, min(LOOK, end - time.monotonic())))
            if not alive:
                return None
            if time.monotonic() >= end:
                raise TimeoutError
            self._look()

    def _look(self) -> None:
        """Hold memory and output to their limits."""
        if os.fstat(self._stderr.fileno()).st_size > OUTPUT:
            self._stderr.truncate(0)
        start, now = self._at_start, resident(self._process.pid)
        if start is not None and now is not None and now - start > self._limits.gibibytes * 2**30:
            raise Exceeded("memory", f"took more than {self._limits.gibibytes:g} GiB of memory")

    def _how_it_died(self) -> str:
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


def resident(pid: int) -> int | None:
    """Bytes of memory that a process holds; None where that cannot be told.

    What is resident and not what is addressed: CUDA alone reserves address space by the terabyte.
    """
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        pass
    if sys.platform != "darwin":
        return None
    said = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return int(said) * 1024 if said.strip().isdigit() else None


def _pump(stream: IO[str], answers: queue.Queue[str | None]) -> None:
    """Lines into the queue; None once the process has closed its end. The only one to touch the stream, so it closes it."""
    with contextlib.suppress(ValueError, OSError), stream:
        for line in stream:
            answers.put(line)
    answers.put(None)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
