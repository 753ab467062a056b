"""Public docstrings: whole, and with examples that run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import posref

MODULES = ["posref", *(module.name for module in pkgutil.walk_packages(posref.__path__, "posref."))]
FUNCTIONS = [name for name in posref.__all__ if inspect.isroutine(getattr(posref, name))]
RECORDS = [name for name in posref.__all__ if inspect.isclass(getattr(posref, name))]

SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "Examples")


def sections(docstring: str) -> dict[str, str]:
    """Text by heading, headings being underlined; the summary has none."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def lacking(function: Callable[..., Any]) -> list[str]:
    """What the docstring of a public function lacks."""
    found = sections(function.__doc__ or "")
    missing = [heading for heading in SECTIONS if not found.get(heading, "").strip()]
    entries = found.get("Parameters", "")
    named = {name.strip() for line in re.findall(r"^\S.*$", entries, re.MULTILINE) for name in line.split(",")}
    missing += [name for name in inspect.signature(function).parameters if name not in named]
    missing += sorted(named - set(inspect.signature(function).parameters))  # described, but not there
    if not found[""].strip().split("\n")[0].endswith("."):
        missing.append("a summary")
    if "Source:" not in found.get("Notes", ""):
        missing.append("Source")
    if ">>>" not in found.get("Examples", ""):
        missing.append("an example")
    return missing


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_documented(name: str) -> None:
    assert lacking(getattr(posref, name)) == []


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "read_config"])
def test_a_formula_or_a_rule_is_given(name: str) -> None:
    """The formula in the docstring; where several rules apply, as a list."""
    assert re.search(r"\.\. math::|:math:", getattr(posref, name).__doc__)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_documented(name: str) -> None:
    record = getattr(posref, name)
    text = inspect.cleandoc(record.__doc__)
    assert text.split("\n")[0].endswith(".")
    assert "Source:" in text
    assert [p for p in inspect.signature(record).parameters if not re.search(rf"\b{p}\b", text)] == []


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_what_it_is(name: str) -> None:
    assert (importlib.import_module(name).__doc__ or "").strip()


def test_a_docstring_that_lacks_something_is_noticed() -> None:
    def poor(x: Any, y: Any) -> None: ...

    poor.__doc__ = """No full stop

    Parameters
    ----------
    x, z
        Something.

    Returns
    -------

    Notes
    -----
    Nobody knows.
    """
    assert lacking(poor) == ["Returns", "Raises", "Examples", "y", "z", "a summary", "Source", "an example"]


def examples(module: ModuleType) -> doctest.TestResults:
    return doctest.testmod(module, raise_on_error=False, verbose=False, report=False)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert examples(importlib.import_module(name)).failed == 0


def test_a_wrong_example_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("wrong", ">>> 1 + 1\n3\n")
    assert examples(module) == doctest.TestResults(failed=1, attempted=1)
    assert "Expected:" in capsys.readouterr().out


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_an_example_that_runs(name: str) -> None:
    function = getattr(posref, name)
    found = doctest.DocTestFinder().find(function, name, module=inspect.getmodule(function))
    assert sum(len(test.examples) for test in found) > 0
