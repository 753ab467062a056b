"""Bad input to attention, and that no public function is without its table of bad calls."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from bad_calls import (
    ONES,
    RAGGED,
    Args,
    Bad,
    a_number,
    arguments,
    covered,
    lacking,
    numbers,
    public,
    table_tests,
)

import posref

# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "attention": {"q": ONES((2, 4)), "k": ONES((3, 4)), "v": ONES((3, 5))},
}

FITTING = "q, k, v must be (..., q, d), (..., k, d), (..., k, e), got"
LEADING = "q, k, v must have leading axes that broadcast, got"
LOGITS = "must broadcast against the logits' shape (2, 3)"
CASES: list[Bad] = [
    *(bad for name in "qkv" for bad in numbers("attention", name)),
    ("attention", {"q": ONES(4)}, ValueError, f"{FITTING} (4,), (3, 4), (3, 5)"),
    ("attention", {"q": ONES((2, 3))}, ValueError, f"{FITTING} (2, 3), (3, 4), (3, 5)"),
    ("attention", {"k": ONES((4, 4))}, ValueError, f"{FITTING} (2, 4), (4, 4), (3, 5)"),
    ("attention", {"v": ONES((2, 5))}, ValueError, f"{FITTING} (2, 4), (3, 4), (2, 5)"),
    ("attention", {"q": ONES((2, 0)), "k": ONES((3, 0))}, ValueError, f"{FITTING} (2, 0), (3, 0), (3, 5)"),
    ("attention", {"q": ONES((2, 2, 4)), "k": ONES((3, 3, 4))}, ValueError, f"{LEADING} (2, 2, 4), (3, 3, 4), (3, 5)"),
    *(bad for bad in numbers("attention", "bias") if bad[1]["bias"] is not None),
    ("attention", {"bias": ONES((3, 2))}, ValueError, f"bias of shape (3, 2) {LOGITS}"),
    ("attention", {"bias": ONES((5, 2, 3))}, ValueError, f"bias of shape (5, 2, 3) {LOGITS}"),
    ("attention", {"mask": ONES((2, 3))}, TypeError, "mask must be boolean, True where a query may look, got type float64"),
    ("attention", {"mask": ONES((3, 2), bool)}, ValueError, f"mask of shape (3, 2) {LOGITS}"),
    ("attention", {"mask": [[1], [1, 2]]}, TypeError, f"mask {RAGGED}"),
    *a_number("attention", "scale", "a finite number"),
]  # fmt: skip


test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works = table_tests(VALID, CASES, "judge")


def test_an_argument_that_escapes_is_noticed() -> None:
    def attention(q: Any, *, colour: str = "red") -> None: ...

    assert arguments([("attention", attention)]) - covered(CASES) == {("attention", "colour")}


def tables() -> set[str]:
    """The modules whose functions have a table of bad calls, here and in the files beside."""
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in Path(__file__).parent.rglob("test_*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    made = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == table_tests.__name__]
    return {a.value for call in made for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}


def without_table(modules: set[str]) -> set[str]:
    return set(public("")) - {name for module in modules for name in public(module)}


def test_every_public_function_has_its_table() -> None:
    assert set(public("")) >= set(posref.__all__) - {"Scaling", "__version__"}  # a union of types, and a string
    of_files = set(public("models"))  # bad in ways of their own: models/test_bad_input.py
    assert without_table(tables()) == of_files
    assert without_table(tables() - {"rotary.grids"}) == of_files | {"grid_coordinates", "grid_positions"}


def test_a_message_that_lacks_something_is_noticed() -> None:
    assert lacking("dim must be even, got 3", {"dim": 3}) == []
    assert lacking("width must be even, got 3", {"dim": 3}) == ["the argument's name"]
    assert lacking("dim must be even", {"dim": 3}) == ["what came"]
    assert lacking("bad dim: got 3", {"dim": 3}) == ["what was expected"]
    assert lacking("dim must be even,\ngot 3", {"dim": 3}) == ["one line"]
