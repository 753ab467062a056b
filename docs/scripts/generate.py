"""The mkdocs hook: what the site says of functions, checks, faults and numbers is read from the code that it is built with.

- Pages that are made whole: one per encoding of the catalogue, the checks, the textbook mistakes, the known faults,
  the changelog.
- In the pages that are written by hand, ``<!-- make: NAME -->`` becomes what ``MAKERS[NAME]`` gives, and a fence ``run`` is
  run: see ``commands``.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import commands
import contract
import disagreements_of
import encodings_of
import faults
import textbook
import tolerances
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from posref_conformance.schemas import NAMES, schema

# What pip and pytest say of a fresh machine belongs to the README; the site repeats it.
COMMANDS = re.compile(r"^## On a fresh machine\n+(.*?)(?=^## )", re.M | re.S)
ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {"cpp": "cpp", "mjs": "javascript"}
MARKER = re.compile(r"^<!-- make: ([a-z-]+) -->$", re.M)


def fresh_machine() -> str:
    """The README's section of that name."""
    found = COMMANDS.search((ROOT / "README.md").read_text(encoding="utf-8"))
    if not found:
        raise PluginError("README.md must have a section 'On a fresh machine', and another one after it")
    return found[1].strip()


def example(name: str) -> str:
    """A program of docs/examples, within the fold that stands above it."""
    text = (ROOT / "docs" / "examples" / name).read_text(encoding="utf-8")
    return textwrap.indent(f"```{LANGUAGES[name.rpartition('.')[2]]}\n{text}```", "    ")


MAKERS: dict[str, Callable[[], str]] = {
    "fresh-machine": fresh_machine,
    "functions": contract.functions,
    "vectors-cpp": lambda: example("vectors.cpp"),
    "vectors-mjs": lambda: example("vectors.mjs"),
    "roundoff": tolerances.roundoff,
    "separation": tolerances.separation,
    "fixed-tolerances": tolerances.fixed_tolerances,
}


def changelog() -> str:
    """The project's changelog, once it has one."""
    path = ROOT / "CHANGELOG.md"
    return path.read_text(encoding="utf-8") if path.is_file() else "# Changelog\n\nThere is no changelog yet.\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation."""
    nav: list[Any] = list(config.nav or [])
    last = next(i for i, entry in enumerate(nav) if "Contract" in entry)
    nav[last]["Contract"].append({"Checks": "checks.md"})
    nav.insert(last, {"Encodings": encodings_of.navigation()})
    nav += [{"Textbook snippets": "textbook.md"}, {"Known faults": "faults.md"}, {"Changelog": "changelog.md"}]
    config.nav = nav
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    pages = {
        **encodings_of.pages(),
        "checks.md": contract.checks(),
        "disagreements.md": disagreements_of.page(),
        "textbook.md": textbook.page(),
        "faults.md": faults.page(),
        "changelog.md": changelog(),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    for name in NAMES:
        found = schema(name)
        text = json.dumps(found, indent=2) + "\n"
        files.append(File.generated(config, found["$id"].removeprefix(f"{config.site_url}"), content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the markers and run the commands of a page."""

    def fill(found: re.Match[str]) -> str:
        if found[1] not in MAKERS:
            raise PluginError(f"{page.file.src_uri}: make must be one of {', '.join(MAKERS)}, got {found[1]}")
        return MAKERS[found[1]]()

    try:
        return commands.run_fences(MARKER.sub(fill, markdown))
    except commands.CommandError as problem:
        raise PluginError(f"{page.file.src_uri}: {problem}") from None
