"""``posref check``: run, show progress, report."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import posref
from posref_conformance.report import Report, progress_console
from posref_conformance.runner import Runner
from posref_conformance.verdict import FAILED, Result


def check(
    backend: str, *, only: Sequence[str] = (), deep: bool = False, timeout: float = 10.0, as_json: bool = False
) -> int:
    """Hold a backend against the reference and print what came of it.

    Returns
    -------
    The exit status: 0 yes, 1 no, 2 interrupted.

    Raises
    ------
    BackendError
        The backend cannot be loaded, or ``only`` means no check.
    """
    console = Console(width=None if sys.stdout.isatty() else 120)
    if not as_json:
        console.print(f"posref {posref.__version__}: checking {backend}", soft_wrap=True, markup=False, highlight=False)
        sys.stdout.flush()  # the first line is there at once, whatever the backend's import takes
    results: list[Result] = []
    interrupted = False
    with Runner(backend, timeout=timeout, deep=deep) as runner:
        checks = runner.checks(only)
        try:
            _run(runner, checks, results)
        except KeyboardInterrupt:
            interrupted = True
        report = Report(backend, tuple(results), tuple(runner.unknown_expected_failures()), interrupted)
    if as_json:
        print(json.dumps(report.as_json(), indent=1, allow_nan=False))
    else:
        report.print(console)
    if interrupted:
        print("posref: interrupted", file=sys.stderr)
    return report.exit_status()


def _run(runner: Runner, checks: Sequence[str], results: list[Result]) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failed]}"))
    console = progress_console()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(checks), failed="")
        for result in runner.run(checks):
            results.append(result)
            failed = sum(r.status == FAILED for r in results)
            bar.update(
                task, advance=1, description=result.id.partition("/")[0], failed=f"{failed} failed" if failed else ""
            )
