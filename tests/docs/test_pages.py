"""What the pages say in words is what the code does."""

from __future__ import annotations

import doctest
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from posref.cli import check
from posref_conformance import process, runner, verdict

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "```pycon" in path.read_text(encoding="utf-8"))
Script = Callable[[str], ModuleType]


def examples(text: str) -> doctest.TestResults:
    """The results of a page's Python sessions, which share their names."""
    sessions = "\n".join(re.findall(r"^```pycon\n(.*?)^```$", text, re.M | re.S))
    test = doctest.DocTestParser().get_doctest(sessions, {}, "page", None, 0)
    return doctest.DocTestRunner(verbose=False).run(test)


@pytest.mark.parametrize("page", PAGES, ids=[path.stem for path in PAGES])
def test_examples_are_true(page: Path) -> None:
    found = examples(page.read_text(encoding="utf-8"))
    assert found.attempted > 0
    assert found.failed == 0


def test_untrue_example_is_found() -> None:
    assert examples("```pycon\n>>> 1 + 1\n3\n```\n").failed == 1


def test_contract_has_the_numbers_of_the_code() -> None:
    text = (DOCS / "contract.md").read_text(encoding="utf-8")
    timeout = next(p.default for p in check.params if p.name == "timeout")
    assert f"may take {timeout:g} s" in text
    assert runner.DEEP == 6
    assert "six times as long" in text
    memory = next(p.default for p in check.params if p.name == "memory")
    assert f"may add {memory:g} GiB" in text
    assert (process.Limits().seconds, process.Limits().gibibytes) == (timeout, memory)
    assert runner.ENOUGH == {"time": 3, "death": 10}
    assert "third time-out or tenth death" in text


def test_contract_has_the_types_of_the_code() -> None:
    text = (DOCS / "contract.md").read_text(encoding="utf-8")
    table = re.search(r"^### Types out\n(.*?)\n### ", text, re.M | re.S)
    assert table
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table[1].splitlines() if line.startswith("|")]
    told = {name for row in rows for name in row}
    assert told == {*verdict.LIKE_FIRST, *verdict.AT_LEAST, *verdict.INTEGERS}


def test_gradients_are_named_as_they_are_budgeted() -> None:
    assert "posref_conformance.adjoints_attention" in (DOCS / "tolerances.md").read_text(encoding="utf-8")
    assert importlib.util.find_spec("posref_conformance.adjoints_attention")


def test_commands_are_run_and_their_output_shown(script: Script) -> None:
    page = '```python title="a.py"\nprint("from a file")\n```\n\n```run\n$ python a.py\n$ true\n```\n'
    shown = script("commands").run_fences(page)
    assert shown.endswith("```console\n$ python a.py\nfrom a file\n$ true\n```\n")
    assert "```console\n$ false\n```" in script("commands").run_fences("```run 1\n$ false\n```")


@pytest.mark.parametrize("fence", ["```run\n$ false\n```", "```run 1\n$ true\n```"])
def test_command_that_ends_otherwise_stops_the_build(script: Script, fence: str) -> None:
    commands = script("commands")
    with pytest.raises(commands.CommandError, match="must exit with"):
        commands.run_fences(fence)


def test_chart_draws_what_it_is_given(script: Script) -> None:
    drawn = script("svg").lines([("a < b", [0, 1, 2], [0.0, 1.0, 0.5])], "x", "A chart.")
    (path,) = re.findall(r'<path class="line line0" d="M([^"]+)"', drawn)
    x0, y0, x1, y1, x2, y2 = map(float, re.split("[ L]", path))
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)  # coordinates have one decimal
    assert (y0 - y2) / (y0 - y1) == pytest.approx(0.5, abs=0.01)
    assert "a &lt; b" in drawn
