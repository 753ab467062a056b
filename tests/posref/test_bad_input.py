"""Bad input to attention, and that no public function is without its table of bad calls."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from bad_calls import ONES, RAGGED, Args, Bad, a_number, arguments, check, covered, lacking, names, numbers, public

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


@pytest.mark.parametrize("bad", CASES, ids=names(CASES))
def test_bad_input(bad: Bad) -> None:
    check(VALID, bad)


def test_no_argument_escapes() -> None:
    assert arguments(public("judge").items()) == covered(CASES)


@pytest.mark.parametrize("function", public("judge"))
def test_the_unchanged_call_works(function: str) -> None:
    assert getattr(posref, function)(**copy.deepcopy(VALID[function])) is not None


def test_an_argument_that_escapes_is_noticed() -> None:
    def attention(q: Any, *, colour: str = "red") -> None: ...

    assert arguments([("attention", attention)]) - covered(CASES) == {("attention", "colour")}


def test_every_public_function_has_its_table() -> None:
    groups = {getattr(posref, name).__module__.split(".")[1] for name in posref.__all__ if name not in NO_CALLS}
    here = Path(__file__).parent
    elsewhere = {"judge", "linear_judge", "logits", "positions"}  # here and in test_logits, test_distance_bad_input
    assert {group for group in groups if not (here / group / "test_bad_input.py").exists()} == elsewhere
    assert sum(len(public(group)) for group in groups) == len(posref.__all__) - len(NO_CALLS)


NO_CALLS = ("Scaling", "__version__")  # a union of types, and a string


def test_a_message_that_lacks_something_is_noticed() -> None:
    assert lacking("dim must be even, got 3", {"dim": 3}) == []
    assert lacking("width must be even, got 3", {"dim": 3}) == ["the argument's name"]
    assert lacking("dim must be even", {"dim": 3}) == ["what came"]
    assert lacking("bad dim: got 3", {"dim": 3}) == ["what was expected"]
    assert lacking("dim must be even,\ngot 3", {"dim": 3}) == ["one line"]
