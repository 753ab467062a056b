"""What a run came to: one line per function, every failure with what it takes to see it again, and the verdict."""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import posref
from posref_conformance.roundings import PROFILES
from posref_conformance.verdict import EXPECTED_FAILURE, FAILED, NOT_IMPLEMENTED, PASSED, UNEXPECTED_PASS, Result

SCHEMA = 1
SHOWN = 5  # failures of one function that are shown in full, and warnings
NAMES = 4  # functions that are not implemented
LEAST = 70  # columns that the table takes; a narrower terminal breaks its lines, so that no number is cut


@dataclass(frozen=True)
class Line:
    """One function's part of a run."""

    function: str
    checks: int
    passed: int
    failed: int
    not_implemented: int
    expected_failures: int
    worst: float | None
    profile: str | None

    @property
    def ran(self) -> int:
        """Checks that are implemented."""
        return self.checks - self.not_implemented


@dataclass(frozen=True)
class Report:
    """The results of a run."""

    backend: str
    results: tuple[Result, ...]
    unknown_expected_failures: tuple[str, ...] = ()
    interrupted: bool = False
    unrun: int = 0  # checks that were not asked for any more
    command: str = ""  # what runs a part of this again, up to --only

    def lines(self) -> list[Line]:
        """One per function, in the order in which they were run."""
        names = dict.fromkeys(r.id.partition("/")[0] for r in self.results)
        return [_line(name, [r for r in self.results if r.id.partition("/")[0] == name]) for name in names]

    def failures(self) -> list[Result]:
        """What makes the verdict no."""
        return [r for r in self.results if r.status in (FAILED, UNEXPECTED_PASS)]

    def verdict(self) -> str:
        """One sentence."""
        ran = sum(r.status != NOT_IMPLEMENTED for r in self.results)
        bad, unknown = len(self.failures()), self.unknown_expected_failures
        if not ran and not unknown:
            return "no: nothing ran; the backend has none of the functions that were asked for"
        if bad or unknown:
            why = [f"{bad} of {_checks(ran)} failed"] if bad else []
            if unknown:
                why.append(f"expected_failures names checks that there are not: {', '.join(unknown)}")
            if self.unrun and not self.interrupted:
                why.append(f"{_checks(self.unrun)} left after the first failure")
            return f"no: {'; '.join(why)}"
        passed, expected = (sum(r.status == s for r in self.results) for s in (PASSED, EXPECTED_FAILURE))
        return f"yes: {_checks(passed)} passed" + (f", {expected} failed as expected" if expected else "")

    def exit_status(self) -> int:
        """0 yes, 1 no, 2 not answered."""
        if self.interrupted:
            return 2
        return 0 if self.verdict().startswith("yes") else 1

    def as_json(self) -> dict[str, Any]:
        """The whole report; only ``run`` differs between two runs of the same code."""
        return {
            "schema": SCHEMA,
            "backend": self.backend,
            "verdict": "pass" if self.exit_status() == 0 else "interrupted" if self.interrupted else "fail",
            "summary": self.verdict(),
            "functions": [_finite(vars(line)) for line in self.lines()],
            "checks": [{**_finite(r.as_json()), "again": self.again(r.id)} for r in self.results],
            "run": {
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "posref": posref.__version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
            },
        }

    def print(self, console: Console) -> None:
        """For people."""
        table = Table(box=None, pad_edge=False, header_style="bold", width=LEAST if console.width < LEAST else None)
        table.add_column("function", no_wrap=True)
        for name in ("passed", "not impl.", "worst", "precision"):
            table.add_column(name, justify="right" if name != "precision" else "left", no_wrap=True)
        lines = self.lines()
        for line in lines:
            if line.ran:
                table.add_row(*_cells(line))
        if table.rows:
            console.print(table, crop=False)
        if absent := [line for line in lines if not line.ran]:
            _say(console, f"[dim]not implemented: {_several([line.function for line in absent])}[/]")
        for name in dict.fromkeys(r.id.partition("/")[0] for r in self.failures()):
            self._print_failures(console, [r for r in self.failures() if r.id.partition("/")[0] == name])
        warnings = self._warnings()
        for warning, check in warnings[:SHOWN]:
            _say(console, f"[yellow]warning[/] in {escape(check)}: {escape(warning)}")
        if len(warnings) > SHOWN:
            _say(console, f"{len(warnings) - SHOWN} more warnings: --json has them all")
        style = {0: "green", 1: "red", 2: "yellow"}[self.exit_status()]
        _say(console, f"[{style} bold]{'interrupted, so far ' if self.interrupted else ''}{escape(self.verdict())}[/]")

    def _print_failures(self, console: Console, failures: Sequence[Result]) -> None:
        said: tuple[dict[str, str], ...] = ()
        for r in failures[:SHOWN]:
            _say(console, f"\n[red bold]{escape(r.id)}[/] {escape(_what(r))}")
            if r.where:
                _say(
                    console,
                    f"  at {escape(r.where)}: got {r.got}, expected {r.expected}, bound {r.bound} ({_times(r.worst)})",
                )
            for cause in r.diagnosis if r.diagnosis != said else ():  # once for failures that follow each other
                _say(console, f"  [yellow]{escape(cause['sentence'])}[/] {escape(cause['fix'])}")
            said = r.diagnosis
            _say(console, f"  [dim]{escape(self.again(r.id))}[/]")
        if len(failures) > SHOWN:
            function = failures[0].id.partition("/")[0]
            _say(console, f"\n{len(failures) - SHOWN} more of {function}: {escape(self.again(function))} --json")

    def again(self, only: str) -> str:
        """The command that runs a part of this again, for a shell."""
        return f"{self.command} --only {only}{' --deep' if '/deep/' in only else ''}"

    def _warnings(self) -> Sequence[tuple[str, str]]:
        """Each warning once, with the first check that raised it."""
        first: dict[str, str] = {}
        for r in self.results:
            for warning in r.warnings:
                first.setdefault(warning, r.id)
        return list(first.items())


def _line(name: str, results: Sequence[Result]) -> Line:
    count = {
        s: sum(r.status == s for r in results)
        for s in (PASSED, FAILED, UNEXPECTED_PASS, NOT_IMPLEMENTED, EXPECTED_FAILURE)
    }
    judged = [r for r in results if r.status in (PASSED, FAILED) and r.worst is not None]
    profiles = [r.profile for r in judged if r.status == PASSED and r.profile]
    profile = max(profiles, key=PROFILES.index) if profiles else None
    in_it = [r.worst for r in judged if r.worst is not None and (r.profile == profile or r.status == FAILED)]
    return Line(
        name,
        len(results),
        count[PASSED],
        count[FAILED] + count[UNEXPECTED_PASS],
        count[NOT_IMPLEMENTED],
        count[EXPECTED_FAILURE],
        max(in_it, default=None),
        profile if not count[FAILED] else None,
    )


def _cells(line: Line) -> tuple[str, ...]:
    precision = "exact" if line.worst == 0 and line.profile is None else line.profile or "within bound"
    return (
        f"[{'red' if line.failed else 'green'}]{line.function}[/]",
        f"{line.passed}/{line.ran}",
        str(line.not_implemented) if line.not_implemented else "-",
        _times(line.worst),
        "fails" if line.failed else precision,
    )


def _several(names: list[str]) -> str:
    """Names, or the first few of them and how many there are more."""
    shown = names if len(names) <= NAMES + 1 else names[:NAMES]
    more = f" and {len(names) - len(shown)} more functions" if len(names) > len(shown) else ""
    return ", ".join(shown) + more


def _what(r: Result) -> str:
    if r.status == UNEXPECTED_PASS:
        return f"passed, but was {r.reason}"
    return "values are wrong" if r.reason == "values" else r.reason.replace("values for", "values are wrong for")


def _times(worst: float | None) -> str:
    if worst is None:
        return "-"
    return f"{worst:.2f} x bound" if worst < 1000 else f"{worst:.1e} x bound"


def _checks(n: int) -> str:
    return f"{n} check" if n == 1 else f"{n} checks"


def _say(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, highlight=False)  # ids and commands are for copying: never broken or cut


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def progress_console() -> Console:
    """Where a progress bar goes: never into what is piped on."""
    return Console(file=sys.stderr)
