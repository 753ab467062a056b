"""Every fault of the catalogue is caught, in each library and type that it can be made in. ``pytest -rP`` prints by which checks.

The whole matrix of faults and checks: ``python tests/scripts/fault_matrix.py``.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest

from posref_conformance.backend import describe
from posref_conformance.case import FLOATS
from posref_conformance.cases import CASES, checks
from posref_conformance.faults import FAULTS, Fault, both
from posref_conformance.verdict import FAILED, run

pytestmark = pytest.mark.usefixtures("reference_once")

LIBRARIES = ("numpy", "torch")
NARROW = ("float16", "bfloat16")
WITH_NARROW_DATA = {case.function for case in CASES if "bfloat16" in case.dtypes}

ONLY_WIDE = {  # what cannot be seen, or is no mistake, where data are in 16 bits
    "tables-in-float16": "float16 data have it as the precision profile 'table', bfloat16 data as more than that",
    "rows-beyond-65535": "the check with so many rows is in float32 alone",
    "softmax-without-maximum": "the check with large logits is in wide types alone: in 16 bits logits are off by too much",
    "table-kept-for-all-types": "the table is kept in the first type, which is the one",
}


def _namespace(library: str) -> Any:
    pytest.importorskip(library, reason=f"needs the {library} extra")
    return importlib.import_module(f"array_api_compat.{library}")


def _caught(fault: Fault, library: str, dtypes: tuple[str, ...]) -> dict[str, str]:
    """Each function that a fault makes wrong, and the first check that catches it; under ``""`` the first one in 16 bits."""
    functions = fault.functions(_namespace(library))
    backend = describe(fault.id, SimpleNamespace(**functions, arrays=library, dtypes=list(dtypes)))
    found: dict[str, str] = {}
    asked = [c for c in CASES if c.function in functions]
    if fault.needs:  # what only a library with gradients can have shows in them: no need to ask all else before
        asked.sort(key=lambda c: not c.name.startswith("gradient"))
    for case, dtype in checks(backend, asked):
        wanted = {case.function} | ({""} if dtype in NARROW else set()) - set(found)
        if wanted - set(found) and run(backend, case, dtype).status == FAILED:
            found |= dict.fromkeys(wanted - set(found), case.check_id(dtype))
    return found


PLANTED = [
    pytest.param(fault, library, id=f"{fault.id}-{library}")
    for fault in FAULTS.values()
    for library in LIBRARIES
    if fault.needs in (None, library)
]


@pytest.mark.parametrize(("fault", "library"), PLANTED)
def test_every_function_that_a_fault_makes_wrong_is_caught(fault: Fault, library: str) -> None:
    caught = _caught(fault, library, FLOATS)
    print(f"{fault.id:40} {library:6} {', '.join(caught.values())}")
    touched = set(fault.functions(_namespace(library)))
    assert set(caught) - {""} == touched
    seen_in_16_bits = "" in caught
    assert seen_in_16_bits is (bool(touched & WITH_NARROW_DATA) and fault.id not in ONLY_WIDE)


PAIRS = [
    (a, b)
    for a in ("layout-always-half", "layout-always-interleaved", "interleaved-in-halves-out")
    for b in (
        "turns-backwards",
        "positions-from-1",
        "counts-from-0",
        "base-ignored",
        "positions-in-bfloat16",
        "scaling-ignored",
    )
] + [
    ("turns-backwards", "positions-from-1"),
    ("turns-backwards", "positions-doubled"),
    ("base-ignored", "positions-from-1"),
    ("attention-factor-squared", "scaling-factor-squared"),
    ("alibi-slopes-start-at-one", "alibi-no-slopes"),
    ("alibi-favours-distant-keys", "bias-queries-from-0"),
    ("t5-sign-of-the-distance", "t5-always-bidirectional"),
    ("flipped-twice", "shift-always-1"),
    ("height-and-width-exchanged", "ladder-always-shared"),
]


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda f: f)
def test_two_faults_do_not_hide_each_other(first: str, second: str) -> None:
    pair = both(FAULTS[first], FAULTS[second])
    caught = _caught(pair, "numpy", ("float32",))
    assert set(caught) == set(pair.functions(_namespace("numpy")))
