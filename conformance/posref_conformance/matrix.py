"""``posref report``: several backends side by side, as a table in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posref_conformance.report_html import page, times
from posref_conformance.schemas import read


def matrix(paths: Sequence[Path]) -> str:
    """One row per function, one column per report.

    Raises
    ------
    WrongFile
        A file that is no report.
    """
    reports = [read(path, "report") for path in paths]
    columns = [{line["function"]: line for line in report["functions"]} for report in reports]
    functions = dict.fromkeys(name for column in columns for name in column)
    rows = [[f"`{name}`", *(_cell(column.get(name)) for column in columns)] for name in functions]
    head = ["function", *(_text(report["backend"]) for report in reports)]
    last = ["", *(_text(report["summary"]) for report in reports)]
    lines = [head, ["---"] * len(head), *rows, last]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def html_of(path: Path) -> str:
    """One report as a page."""
    return page(read(path, "report"))


def _cell(line: dict[str, Any] | None) -> str:
    if line is None:
        return ""
    ran = line["checks"] - line["not_implemented"]
    if not ran:
        return "-"
    if line["failed"]:
        return f"**{line['failed']} of {ran} failed**"
    words = [f"{line['passed']}/{ran}"]
    if line["worst"] is not None:
        words.append(f"{times(line['worst'])} x" if float(line["worst"]) else "exact")
    if line["profile"]:
        words.append(line["profile"])
    return ", ".join(words)


def _text(words: str) -> str:
    """Text that stays text in a table of Markdown."""
    return "".join(f"\\{c}" if c in "\\|`*_<>[]&" else c for c in words)
