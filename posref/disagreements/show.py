"""``posref list --disagreements``: the register for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from posref.disagreements import REGISTER, Disagreement


def show(*, as_json: bool) -> None:
    """Print all records."""
    if as_json:
        print(json.dumps([record.as_json() for record in REGISTER], indent=1))
        return
    console = Console(highlight=False)
    for record in REGISTER:
        console.print(*_lines(record), sep="\n")
        console.print()
    console.print("*  what posref has where nothing is said")


def _lines(record: Disagreement) -> Iterator[RenderableType]:
    """The question, its answers with how to compute each, and why one is the default."""
    yield Text.assemble((record.id, "bold"), "  ", record.title)
    rows = Table.grid(padding=(0, 1))
    rows.add_column()
    rows.add_column()
    rows.add_column(overflow="fold")  # an expression that is cut off computes nothing
    for line in record.given.splitlines():
        rows.add_row("", "", Text(line, style="dim"))
    for reading in record.readings:
        mark = "*" if reading.name == record.default else ""
        rows.add_row("", mark, Text.assemble((reading.name, "cyan"), f": {reading.who}"))
        rows.add_row("", "", Padding(Text(reading.how, style="dim"), (0, 0, 0, 2), expand=False))
    chosen = f" ({record.argument})" if record.argument else ""
    rows.add_row("", "", f"{record.why}{chosen}")
    yield rows
