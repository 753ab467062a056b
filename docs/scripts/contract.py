"""The contract's tables: functions with their signatures, and every check."""

from __future__ import annotations

import inspect
import re

import posref
from posref_conformance.case import Case
from posref_conformance.cases import CASES
from posref_conformance.generators import GENERATORS

NAMES = tuple(dict.fromkeys(case.function for case in CASES))


def signature(name: str) -> str:
    """A call without types: ``rope_apply(x, cos, sin, *, layout="half")``."""
    parameters = inspect.signature(getattr(posref, name)).parameters.values()
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return f"{name}{inspect.Signature(bare)}".replace("'", '"')


def result(name: str) -> str:
    """What a function returns, in its docstring's words."""
    doc = inspect.getdoc(getattr(posref, name)) or ""
    found = re.search(r"Returns\n-------\n((?:.+\n?)+)", doc)
    if not found:
        return f"`{inspect.signature(getattr(posref, name)).return_annotation}`"
    words = re.sub(r":func:(`[^`]+`)", r"\1", found[1]).replace("``", "`")
    return " ".join(re.sub(r"\n +", ": ", words, count=1).split())


def functions() -> str:
    """The functions of the contract."""
    rows = []
    for name in NAMES:
        fixed = sum(len(case.dtypes) for case in CASES if case.function == name)
        rows.append(f"| [`{signature(name)}`][posref.{name}] | {result(name)} | [{fixed}](checks.md#{name}) |")
    return "| Function | Gives | Checks |\n| --- | --- | --- |\n" + "\n".join(rows)


CHECKS = """# Checks

{total} fixed checks. A check's id is `function/case/dtype`; ids are stable across releases. `dtype` is the type of the data, or
of the positions where a function has no other array; `default` where it has no array at all. A backend is asked what its
library's types and its own `dtypes` allow.

With `--deep` come generated ones, `function/deep/dtype`: Hypothesis makes shapes and parameters, the same judge judges."""


def checks() -> str:
    """The page of all checks."""
    intro = CHECKS.format(total=sum(len(case.dtypes) for case in CASES))
    return "\n\n".join([intro, *map(_cases, NAMES)]) + "\n"


def _cases(function: str) -> str:
    """A function's cases by the types that they are asked in."""
    by_types: dict[str, list[Case]] = {}
    for case in (case for case in CASES if case.function == function):
        by_types.setdefault(", ".join(case.dtypes), []).append(case)
    rows = [f"| {types} | {', '.join(f'`{case.name}`' for case in cases)} |" for types, cases in by_types.items()]
    notes = [f"- `{case.name}`: {case.note}" for cases in by_types.values() for case in cases if case.note]
    deep = [f"| {', '.join(GENERATORS[function][0])} | with `--deep`: `deep` |"] if function in GENERATORS else []
    table = "| Types | Cases |\n| --- | --- |\n" + "\n".join(rows + deep)
    return "\n\n".join([f"## {function} {{#{function}}}", table, *(["\n".join(notes)] if notes else [])])
