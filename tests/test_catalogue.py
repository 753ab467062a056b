"""An encoding is four things: a record, a function in posref_array, cases with a budget, a generator. None may be missing."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container
from typing import Any

import numpy as np
import pytest

import posref
import posref_array
from posref.catalogue import CATALOGUE, Encoding
from posref_conformance.budgets import _BUDGETS as BUDGETS
from posref_conformance.case import Case
from posref_conformance.cases import CASES
from posref_conformance.contract import FUNCTIONS, JUDGE
from posref_conformance.generators import GENERATORS

RECORDED = frozenset(function for encoding in CATALOGUE for function in encoding.functions)
WITH_CASES = frozenset(case.function for case in CASES)


def _lacks(
    function: str,
    *,
    records: Container[str] = RECORDED,
    array: Any = posref_array,
    cases: Container[str] = WITH_CASES,
    budgets: Container[str] = BUDGETS,
    generators: Container[str] = GENERATORS,
) -> list[str]:
    """What a function of the contract still needs."""
    there = {
        "a record in posref.catalogue": function in records or function == JUDGE,
        "a function in posref_array": callable(getattr(array, function, None)),
        "a place in posref_array.bind": function in vars(posref_array.bind(np)),
        "cases": function in cases,
        "a budget": function in budgets,
        "a generator": function in generators,
    }
    return [what for what, is_there in there.items() if not is_there]


def test_the_contract_is_what_posref_exports() -> None:
    exported = {n for n in posref.__all__ if not n.startswith("_")}
    records = {n for n in exported if n.endswith(("Scaling", "History"))}
    assert set(FUNCTIONS) == exported - records - {"read_config"}  # of files
    assert {"rope", "alibi_bias", "t5_bucket", "attention"} <= set(FUNCTIONS)
    assert all(f.__module__.startswith("posref.") for f in (getattr(posref, n) for n in FUNCTIONS))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_of_an_encoding_is_missing(function: str) -> None:
    assert _lacks(function) == []


def test_what_is_missing_of_a_new_encoding_is_noticed() -> None:
    assert _lacks("sandwich") == [
        "a record in posref.catalogue",
        "a function in posref_array",
        "a place in posref_array.bind",
        "cases",
        "a budget",
        "a generator",
    ]
    for part in ("records", "cases", "budgets", "generators"):
        assert len(_lacks("rope", **{part: ()})) == 1, part
    assert _lacks("rope", array=object()) == ["a function in posref_array"]


def test_nothing_stands_for_a_function_that_there_is_not() -> None:
    for where in (RECORDED, WITH_CASES, set(BUDGETS), set(GENERATORS)):
        assert set(where) <= set(FUNCTIONS)


def _parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    own = ("xp", "dtype", "device")  # what a function of any array library takes besides
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values() if p.name not in own]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_signatures_are_the_same(function: str) -> None:
    assert _parameters(getattr(posref_array, function)) == _parameters(getattr(posref, function))


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.function}/{c.name}")
def test_cases_pass_keywords_that_there_are_and_only_where_they_differ(case: Case) -> None:
    """A backend that lacks a keyword still runs every case that does not need it."""
    signature = inspect.signature(getattr(posref, case.function))
    for call in case.calls(case.dtypes[0]):
        signature.bind(*call.args, **call.kwargs)
        for name, value in call.kwargs.items():
            default = signature.parameters[name].default
            assert default is not inspect.Parameter.empty, name
            assert isinstance(value, np.ndarray) or type(value) is not type(default) or value != default, name


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_keyword_is_asked_for_by_a_case(function: str) -> None:
    parameters = inspect.signature(getattr(posref, function)).parameters.values()
    keywords = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    asked = {k for case in CASES if case.function == function for c in case.calls(case.dtypes[0]) for k in c.kwargs}
    assert keywords - asked == set()


# --- records --------------------------------------------------------------------------------------------------------


def test_records_are_told_apart_by_their_ids() -> None:
    ids = [encoding.id for encoding in CATALOGUE]
    assert len(set(ids)) == len(ids)
    assert len({encoding.title for encoding in CATALOGUE}) == len(ids)


@pytest.mark.parametrize("encoding", CATALOGUE, ids=lambda e: e.id)
def test_a_record_is_whole(encoding: Encoding) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", encoding.id)
    assert encoding.family in ("additive", "rotary", "bias", "relative", "logits")
    assert encoding.functions
    for function in encoding.functions:
        assert callable(getattr(posref, function))
    texts = (encoding.title, encoding.formula, encoding.source, encoding.used_by, *encoding.disagreements)
    for text in texts:
        assert text == text.strip() != ""
        assert "\n" not in text


PRESETS = [(e, name, text) for e in CATALOGUE for name, text in e.presets if re.match(r"\w+=", text)]


@pytest.mark.parametrize(("encoding", "name", "text"), PRESETS, ids=lambda v: v if isinstance(v, str) else None)
def test_a_preset_is_arguments_that_the_function_takes(encoding: Encoding, name: str, text: str) -> None:
    arguments, _, _ = text.partition(" under ")  # ... a causal mask, which is said and not passed
    kwargs = eval(f"dict({arguments})", {**vars(posref), "alpha": 1000.0})
    function = getattr(posref, encoding.functions[0])
    signature = inspect.signature(function)
    assert set(kwargs) <= set(signature.parameters)
    needed = [p for p in signature.parameters.values() if p.default is p.empty and p.name not in kwargs]
    inputs = {
        "positions": [0, 1],
        "seq_len": 10**6,
        "weight": np.ones((12, 2)),
        "num_heads": 2,
        "timesteps": [0, 1],
        "dim": 64,
        "x": np.ones((2, 64)),
        "slopes": [0.5],
        "shift": [0.5],
        "log_scale": [0.5],
        "r1": [0.5],
        "r2": [0.5],
        "q_positions": [1],
        "k_positions": [0, 1],
        "table": np.ones((32, 64)),
        "relative_position": [-1, 0, 1],
        "num_keys": 3,
        "q": np.ones((2, 64)),
        "k": np.ones((2, 64)),
        "w": np.ones((2, 64)),
        "beta": [0.5, 1.0],
        "log_forget": [-0.5, -1.0],
        "length": 4096,
        "index": [[0, 1], [2, 1]],
        "mask": np.ones(32, bool),
        "features": np.ones((3, 1)),
        "w1": np.ones((4, 1)),
        "b1": np.ones(4),
        "w2": np.ones((2, 4)),
        "coordinates": [[0.25, 0.5]],
        "frequencies": [[1.0, 2.0]],
    }
    assert np.isfinite(function(**{p.name: inputs[p.name] for p in needed}, **kwargs)).all()
