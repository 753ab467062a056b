"""Every two values of two options of the rotations occur together in some fixed case: where options meet, code forgets one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pytest

from posref_conformance.case import Call, Case
from posref_conformance.cases import CASES

# What the options of a call are, as words that tell apart what code tells apart.
OPTIONS = {
    "rope_apply": ("layout", "output layout", "inverse", "offset", "rest", "out", "gradient"),
    "rope": ("layout", "output layout", "inverse", "offset", "rest", "out", "gradient", "base", "scaling", "length"),
}
WITHOUT_MEANING = {  # what is written into another array is not differentiated
    (("gradient", True), ("out", "fresh")),
    (("gradient", True), ("out", "in place")),
}


def _options(call: Call, function: str) -> dict[str, Any]:
    x, given = call.args[0], call.kwargs
    layout, offset = given.get("layout", "half"), given.get("offset", 0)
    block = 2 * call.args[1].shape[-1] if function == "rope_apply" else given.get("dim") or x.shape[-1] - offset
    return {
        "layout": layout,
        "output layout": "same" if given.get("output_layout") in (None, layout) else "other",
        "inverse": bool(given.get("inverse")),
        "offset": offset > 0,
        "rest": x.shape[-1] > block + offset,
        "out": "none" if "out" not in given else "in place" if given["out"] is x else "fresh",
        "gradient": call.cotangent is not None,
        "base": given.get("base", 10000.0) != 10000.0,
        "scaling": given.get("scaling") is not None,
        "length": given.get("seq_len") is not None,
    }


def _missing(function: str, cases: Sequence[Case]) -> list[Any]:
    calls = [call for case in cases if case.function == function for call in case.calls(case.dtypes[0])]
    seen = [{name: _options(call, function)[name] for name in OPTIONS[function]} for call in calls]
    values = {name: sorted({str(s[name]) for s in seen}) for name in OPTIONS[function]}
    found = {pair for s in seen for pair in combinations(((n, str(v)) for n, v in sorted(s.items())), 2)}
    wanted = {
        ((a, x), (b, y)) for a, b in combinations(sorted(values), 2) for x, y in product(values[a], values[b])
    } - {tuple((n, str(v)) for n, v in pair) for pair in WITHOUT_MEANING}
    return sorted(wanted - found)


@pytest.mark.parametrize("function", OPTIONS)
def test_every_pair_of_option_values_occurs(function: str) -> None:
    assert _missing(function, CASES) == []


def _has(case: Case, pair: Any) -> bool:
    asked = [_options(call, case.function) for call in case.calls(case.dtypes[0])]
    return any(all(str(options[name]) == value for name, value in pair) for options in asked)


@pytest.mark.parametrize(
    ("function", "pair"),
    [
        ("rope", (("inverse", "True"), ("scaling", "True"))),
        ("rope_apply", (("out", "fresh"), ("output layout", "other"))),
    ],
    ids=["rope", "rope_apply"],
)
def test_a_pair_that_no_case_has_is_noticed(function: str, pair: Any) -> None:
    without = [c for c in CASES if c.function == function and not _has(c, pair)]
    assert pair in _missing(function, without)
