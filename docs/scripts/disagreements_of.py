"""The page of the register: where public implementations disagree."""

from __future__ import annotations

from posref.catalogue import CATALOGUE
from posref.disagreements import REGISTER, Disagreement

INTRODUCTION = """# Where implementations disagree

One record per place where public code, or code and paper, make different functions of the same words. Each reading can be
computed: the expressions are Python in the names of posref, and `REGISTER` of `posref.disagreements` has them as data, where
`record.read(name)` is their value. `posref list --disagreements` prints this page, with `--json` its records. **Default** is what
posref has where nothing is said."""


def page() -> str:
    """All records."""
    return "\n\n".join([INTRODUCTION, *map(_section, REGISTER)]) + "\n"


def _section(record: Disagreement) -> str:
    titles = {encoding.id: encoding.title for encoding in CATALOGUE}
    links = ", ".join(f"[{titles[encoding]}](encodings/{encoding}.md)" for encoding in record.encodings)
    chosen = f" Argument: `{record.argument}`." if record.argument else ""
    rows = [
        f"| {reading.name}{' (**default**)' if reading.name == record.default else ''} | {reading.who} | `{reading.how}` |"
        for reading in record.readings
    ]
    return "\n\n".join(
        [
            f"## {record.title} {{ #{record.id} }}",
            f"`{record.id}` · {links}",
            *([f"```python\n{record.given}\n```"] if record.given else []),
            "| Reading | Who | How |\n| --- | --- | --- |\n" + "\n".join(rows),
            f"{record.why}{chosen}",
            f"**Source:** {record.source}",
        ]
    )
