"""One page per record of the catalogue, the table of all of them, and a page for what no record names."""

from __future__ import annotations

import re
from typing import Any

import pictures
from contract import result

import posref
from posref.catalogue import CATALOGUE, Encoding
from posref.disagreements import REGISTER
from posref_conformance.cases import CASES, matches

FAMILIES = {
    "additive": (
        "Added to the embeddings",
        "Position $p$ gives a vector of $d$ channels, which is added to the token's embedding.",
    ),
    "rotary": (
        "Rotations",
        "Pairs of channels of queries and keys are turned by an angle that is proportional to the position; the score of a "
        "query and a key then depends on the difference of their positions alone. $p$ is the position, $d$ the number of "
        "channels that rotate, $b$ the base (`rope_theta`), $w_i$ the frequency of pair $i = 0 \\ldots d/2 - 1$, $s$ the "
        "factor, $L$ the original length.",
    ),
    "bias": (
        "Biases on the logits",
        "A number that depends on the positions $q$ of the query and $k$ of the key alone is added to each attention logit, "
        "after the scale. $h$ is the head. The causal mask is no part of it.",
    ),
    "relative": (
        "Relative to content",
        "A term of the logit depends on the distance of query $i$ and key $j$ *and* on the query, the key, or what lies between "
        "them. $T$ is a table, $d$ the number of channels of a head.",
    ),
    "logits": (
        "Factors on the logits",
        "A factor that depends on the position $m$ of the query, or on the length $S$, multiplies the logits of its row: in "
        "practice the query. $L$ is the length of the training, $n$ the number of keys, $h$ the head.",
    ),
}
NOT_A_ROTATION = (
    '!!! warning "Not a rotation"\n\n    Pairs of channels do more than turn: norms change, and scores do not depend on the '
    "difference of the positions alone."
)
ARGUMENT = re.compile(r"\w+=[\w.']+(?:\([^()]*\))?")  # base=10000, scaling=LinearScaling(8.0)
SCALINGS = {name.removesuffix("Scaling").lower(): name for name in posref.__all__ if name.endswith("Scaling")}


def navigation() -> list[Any]:
    """The pages by family, in the catalogue's order."""
    by_family = [
        {title: [{e.title: f"encodings/{e.id}.md"} for e in CATALOGUE if e.family == family]}
        for family, (title, _) in FAMILIES.items()
    ]
    return [
        {"All encodings": "encodings/index.md"},
        {"Where implementations disagree": "disagreements.md"},
        *by_family,
        {"Attention, the judge": "encodings/other.md"},
    ]


def pages() -> dict[str, str]:
    """Every generated page about encodings: path -> Markdown."""
    made = {f"encodings/{e.id}.md": page(e) for e in CATALOGUE}
    return {**made, "encodings/index.md": index(), "encodings/other.md": other()}


def page(encoding: Encoding) -> str:
    """One encoding."""
    _, about = FAMILIES[encoding.family]
    picture = pictures.PICTURES.get(encoding.id)
    parts = [
        f"# {encoding.title}",
        f"$$ {encoding.formula} $$",
        about,
        NOT_A_ROTATION if encoding.not_a_rotation else "",
        f"**Source:** {encoding.source}\n\n**Used by:** {encoding.used_by}",
        picture() if picture else "",
        _presets(encoding),
        _list("Where implementations disagree", (*encoding.disagreements, *_registered(encoding))),
        f"## Check an implementation\n\n{_checks(encoding)}",
        f"## Functions\n\n{_functions(encoding)}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def table() -> str:
    """All encodings, by family."""
    parts = []
    for family, (title, about) in FAMILIES.items():
        rows = [
            f"| [{e.title}]({e.id}.md) | `{e.id}` | ${_in_cell(e.formula)}$ | {e.used_by} |"
            for e in CATALOGUE
            if e.family == family
        ]
        head = "| Encoding | Id | Formula | Used by |\n| --- | --- | --- | --- |\n"
        parts.append(f"## {title}\n\n{about}\n\n{head}" + "\n".join(rows))
    return "\n\n".join(parts)


def index() -> str:
    """The page with the table."""
    return (
        "# Encodings\n\nOne record per encoding, `posref.catalogue.CATALOGUE`: this page and `posref list` are "
        "made from it. `posref list` also says what each backend on your machine has.\n\n" + table() + "\n"
    )


def other() -> str:
    """What is in posref but in no record."""
    known = {f for e in CATALOGUE for f in e.functions} | set(SCALINGS.values())
    known.add("read_config")  # in the guide for porters
    names = [n for n in posref.__all__ if callable(getattr(posref, n)) and n not in known]
    intro = "# Attention, the judge\n\nNo encoding, but what shows the effect of one: the properties of encodings are told by it."
    return "\n\n".join([intro, *(f"::: posref.{n}" for n in names)]) + "\n"


def _in_cell(formula: str) -> str:
    """A formula for a cell of a table, where a bar would end the cell."""
    return formula.replace("|", r"\vert ")


def _presets(encoding: Encoding) -> str:
    if not encoding.presets:
        return ""
    rows = [f"| {name} | {ARGUMENT.sub(_code, value)} |" for name, value in encoding.presets]
    return "## Presets\n\n| Of | Arguments |\n| --- | --- |\n" + "\n".join(rows)


def _code(found: re.Match[str]) -> str:
    return f"`{found[0]}`"


def _list(title: str, items: tuple[str, ...]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {item}" for item in items) if items else ""


def _registered(encoding: Encoding) -> tuple[str, ...]:
    """Its places in the register, where each reading is computed."""
    links = [f"\n    - [{d.title}](../disagreements.md#{d.id})" for d in REGISTER if encoding.id in d.encodings]
    return ("In the register, with each reading computed:" + "".join(links),) if links else ()


def _checks(encoding: Encoding) -> str:
    """The command that runs this encoding's checks: a scaling's are those of its name."""
    short = encoding.id.removeprefix("rope-")
    patterns = [f"'*/{short}*'"] if _scaling(encoding) else list(encoding.functions)
    found = [
        c for case in CASES for d in case.dtypes if matches(c := case.check_id(d), [p.strip("'") for p in patterns])
    ]
    run = " \\\n    ".join(["posref check my_backend.py", *(f"--only {p}" for p in patterns)])
    return f"```console\n$ {run}\n```\n\n{len(found)} fixed checks, all of them [listed](../checks.md)."


def _scaling(encoding: Encoding) -> str | None:
    return SCALINGS.get(encoding.id.removeprefix("rope-").replace("-", "")) if encoding.id.startswith("rope-") else None


def _functions(encoding: Encoding) -> str:
    """In full on the first page that names them, and as links on the others."""
    scaling = _scaling(encoding)
    here = [f for f in encoding.functions if _home(f) is encoding]
    elsewhere = [f"[`{f}`][posref.{f}]: {result(f)}" for f in encoding.functions if f not in here]
    parts = [f"::: posref.{name}" for name in ([scaling] if scaling else []) + here]
    if elsewhere:
        told = f" They take it as `scaling={scaling}(...)`." if scaling else ""
        parts.append(
            f"Its functions are those of [{_home(encoding.functions[0]).title}]({_home(encoding.functions[0]).id}.md).{told}"
        )
    return "\n\n".join(parts)


def _home(function: str) -> Encoding:
    return next(e for e in CATALOGUE if function in e.functions)
