"""``posref show CONFIG.json``: what a config means for positions, for a terminal or as JSON."""

from __future__ import annotations

import json
import os
import sys
import textwrap

from rich.console import Console
from rich.text import Text

from posref.models import read_config
from posref.models.records import ModelPositions
from posref.models.rows import GLUE, ROWS, title

LABELS = 10  # columns of the labels


def show(
    path: str | os.PathLike[str],
    *,
    as_json: bool = False,
    framework: str = "transformers",
    seq_len: int | None = None,
) -> int:
    """Print what a config means for positions.

    Parameters
    ----------
    path
        A ``config.json``.
    as_json
        Everything, as JSON; else a summary for people.
    framework, seq_len
        As in :func:`posref.read_config`.

    Returns
    -------
    int
        Exit status: 0 with an answer, be it that the model is not known yet; 2 without one, with one line on stderr.
    """
    try:
        answer = read_config(path, framework=framework, seq_len=seq_len)
        text = json.dumps(answer.as_json(), indent=2, allow_nan=False) if as_json else ""
    except OSError as problem:
        return refuse(path, problem.strerror or str(problem))
    except (ValueError, TypeError) as problem:
        return refuse(path, str(problem))
    if as_json:
        print(text)
    else:
        render(answer, Console(highlight=False))
    return 0


class Lines:
    """Prints lines, wrapped to the console's width."""

    def __init__(self, console: Console, labels: int = LABELS) -> None:
        self.console = console
        self.labels = labels

    def __call__(self, text: str, style: str = "", label: str = "", wrap: bool = True) -> None:
        """Print a line, with a label in front of it or not."""
        start = f"  {label:<{self.labels}}" if label else ""
        wrapped = textwrap.fill(
            printable(text, self.console.encoding),
            width=max(self.console.width, len(start) + 20) if wrap else sys.maxsize,
            initial_indent=start,
            subsequent_indent=" " * len(start),
            break_on_hyphens=False,
        )
        styled = Text("\n".join(part.rstrip() for part in wrapped.replace(GLUE, " ").split("\n")), style=style)
        styled.stylize("dim", 0, len(start))
        self.console.print(styled, soft_wrap=True)  # it is wrapped already


def render(answer: ModelPositions, console: Console) -> None:
    """Print an answer, wrapped to the console's width."""
    line, known = Lines(console), bool(answer.encodings) or len(answer.notes) != 1
    if known:
        line("no model_type" if answer.model_type is None else f"model_type {answer.model_type[:200]}", "bold")
    for encoding in answer.encodings:
        line(title(encoding), "bold cyan")
        for label, value in ROWS[type(encoding)](encoding):
            line(value, label=label)
    for note in answer.notes:
        line(note, wrap=known)


def refuse(path: str | os.PathLike[str], problem: str) -> int:
    """Say on stderr, in one line, why there is no answer; the exit status."""
    name = os.fsdecode(path)
    line = f"posref: {name if name.isprintable() else ascii(name)}: {problem}"
    print(printable(line, sys.stderr.encoding), file=sys.stderr)
    return 2


def printable(line: str, encoding: str | None) -> str:
    """The line on one line, in characters that a stream of this encoding can take."""
    encoding = encoding or "utf-8"
    return " ".join(line.splitlines()).encode(encoding, "backslashreplace").decode(encoding)
