"""A griffe extension: the reStructuredText of our docstrings, said in the Markdown of the site.

Docstrings are read in terminals and editors too, so their formulas and references are reStructuredText's, as is usual with
NumPy style. mkdocstrings knows Markdown only.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

DISPLAY = re.compile(r"^( *)\.\. math::(?P<first>[^\n]*)(?P<rest>(?:\n+\1 +[^\n]+)*)", re.M)
INLINE = re.compile(r":math:`([^`]*)`")
REFERENCE = re.compile(r":(?:func|class|meth|mod):`~?([^`]*)`")
POWER = re.compile(r"(`+[^`]*`+|\$[^$]*\$|^ *(?:>>>|\.\.\.) .*$)|(?<=\w)\*\*(?=[\w(-])", re.M)  # outside of code
PARAMETERS = re.compile(r"(?<=Parameters\n----------\n)(?:[^\n]+(?:\n|$))+")
SHARED = re.compile(r"^(\w+(?:, \w+)+)\n((?: +[^\n]*\n?)+)", re.M)
RETURNS = re.compile(r"(?<=Returns\n-------\n)(?:[^\n]+(?:\n|$))+")
LONE = re.compile(r"^(\S[^\n]*)(?:\n(?! )|\Z)", re.M)


def as_markdown(docstring: str, documented: frozenset[str] = frozenset()) -> str:
    """The docstring with formulas between dollars, and references to the ``documented`` names of posref as links."""
    docstring = DISPLAY.sub(_display, docstring)
    docstring = INLINE.sub(lambda found: f"${' '.join(found[1].split())}$", docstring)
    docstring = POWER.sub(lambda found: found[1] or r"\*\*", docstring)
    docstring = PARAMETERS.sub(lambda found: SHARED.sub(_one_by_one, found[0]), docstring)
    docstring = RETURNS.sub(lambda found: LONE.sub(":\n    \\1\n", found[0]), docstring)  # a text, not a type

    def reference(found: re.Match[str]) -> str:
        name = found[1].removeprefix("posref.")
        return f"[`{name}`][posref.{name}]" if name in documented else f"`{found[1]}`"

    return REFERENCE.sub(reference, docstring)


def _display(found: re.Match[str]) -> str:
    formula = f"{found['first']} {textwrap.dedent(found['rest'])}"
    return f"{found[1]}$$ {' '.join(formula.split())} $$"


def _one_by_one(found: re.Match[str]) -> str:
    """Parameters that share a text, each with it: griffe would give all of them the first one's type and default."""
    text = found[2].rstrip("\n") + "\n"
    return "".join(f"{name}\n{text}" for name in found[1].split(", "))


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite the docstrings of a package that has just been loaded."""
        _rewrite(pkg, frozenset(map(str, pkg.exports or ())) if pkg.name == "posref" else frozenset())


def _rewrite(thing: griffe.Object | griffe.Alias, documented: frozenset[str]) -> None:
    if isinstance(thing, griffe.Alias):
        return
    if thing.docstring:
        thing.docstring.value = as_markdown(thing.docstring.value, documented)
    for member in thing.members.values():
        _rewrite(member, documented)
