"""``posref check``: run, show progress, report."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import posref
from posref_conformance.cases import CASES, matches
from posref_conformance.contract import functions_of
from posref_conformance.deep import deep_ids
from posref_conformance.process import Limits
from posref_conformance.report import Report, progress_console
from posref_conformance.runner import Runner
from posref_conformance.verdict import FAILED, UNEXPECTED_PASS, Result


@dataclass(frozen=True)
class Options:
    """What is asked, and how."""

    only: Sequence[str] = ()
    families: Sequence[str] = ()
    deep: bool = False
    limits: Limits = field(default_factory=Limits)
    jobs: int = 1
    exit_first: bool = False
    as_json: bool = False
    html: Path | None = None

    def again(self, backend: str) -> str:
        """The beginning of the command that runs a part of this again, for a shell."""
        usual, words = Limits(), ["posref", "check", shlex.quote(backend)]
        if self.limits.seconds != usual.seconds:
            words.append(f"--timeout {self.limits.seconds:g}")
        if self.limits.gibibytes != usual.gibibytes:
            words.append(f"--memory {self.limits.gibibytes:g}")
        return " ".join(words)


def check(backend: str, options: Options) -> int:
    """Hold a backend against the reference and print what came of it.

    Returns
    -------
    The exit status: 0 yes, 1 no, 2 interrupted.

    Raises
    ------
    BackendError
        The backend cannot be loaded, or what was asked for means no check.
    """
    console = Console(width=None if sys.stdout.isatty() else 120)
    if not options.as_json:
        console.print(f"posref {posref.__version__}: checking {backend}", soft_wrap=True, markup=False, highlight=False)
        sys.stdout.flush()  # the first line is there at once, whatever the backend's import takes
    results: list[Result] = []
    interrupted = False
    with Runner(backend, limits=options.limits, deep=options.deep, jobs=options.jobs) as runner:
        checks = runner.checks(options.only, functions_of(options.families))
        order = {check: n for n, check in enumerate(checks)}
        try:
            _run(runner, checks, results, options.exit_first)
            results.sort(key=lambda r: order[r.id])  # several jobs end in any order
            results = runner.diagnosed(results)
        except KeyboardInterrupt:
            interrupted = True
            results.sort(key=lambda r: order[r.id])
        report = Report(
            backend,
            tuple(results),
            tuple(runner.unknown_expected_failures()),
            interrupted=interrupted,
            unrun=len(checks) - len(results),
            command=options.again(backend),
        )
    return publish(report, console, as_json=options.as_json, html=options.html)


def check_vectors(folder: Path, outputs: Path, *, only: Sequence[str], as_json: bool, html: Path | None) -> int:
    """Judge what a program wrote, and print what came of it; the exit status.

    Raises
    ------
    WrongFile
        The vectors are not whole, or the outputs are not to be found.
    """
    from posref_conformance.vectors.judge import Vectors

    vectors = Vectors(folder)
    results = tuple(vectors.diagnosed(list(vectors.outputs(outputs, only)), outputs))
    command = f"posref vectors check {shlex.quote(str(folder))} {shlex.quote(str(outputs))}"
    report = Report(str(outputs), results, command=command)
    return publish(report, Console(width=None if sys.stdout.isatty() else 120), as_json=as_json, html=html)


def publish(report: Report, console: Console, *, as_json: bool, html: Path | None) -> int:
    """Give a report in every form that was asked for, and the exit status."""
    if html:
        from posref_conformance.report_html import page

        html.write_text(page(report.as_json()), encoding="utf-8")
    if as_json:
        print(json.dumps(report.as_json(), indent=1, allow_nan=False))
    else:
        report.print(console)
    if report.interrupted:
        print("posref: interrupted", file=sys.stderr)
    return report.exit_status()


def list_checks(backend: str | None, options: Options) -> int:
    """Print the ids that would be run; of all checks, if there is no backend."""
    functions = functions_of(options.families)
    if backend:
        with Runner(backend, limits=options.limits, deep=options.deep) as runner:
            found = runner.checks(options.only, functions)
    else:
        every = [c.check_id(d) for c in CASES for d in c.dtypes] + (deep_ids() if options.deep else [])
        found = [c for c in every if matches(c, options.only) and c.partition("/")[0] in functions]
    print(*found, sep="\n", end="\n" if found else "")
    return 0 if found else 1


def _run(runner: Runner, checks: Sequence[str], results: list[Result], exit_first: bool) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failed]}"))
    console, failed = progress_console(), 0
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(checks), failed="")
        for result in runner.run(checks):
            results.append(result)
            failed += result.status in (FAILED, UNEXPECTED_PASS)
            words = f"{failed} failed" if failed else ""
            bar.update(task, advance=1, description=result.id.partition("/")[0], failed=words)
            if failed and exit_first:
                return
