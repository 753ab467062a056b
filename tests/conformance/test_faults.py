"""Every fault of the catalogue is caught, in each library and type that it makes sense for, and only where it is.

``pytest -rP`` prints the matrix.
"""

from __future__ import annotations

import importlib
import re
from types import SimpleNamespace
from typing import Any

import pytest

from posref_array import bind
from posref_conformance.backend import Backend, describe, load
from posref_conformance.cases import checks
from posref_conformance.faults import FAULTS, Fault
from posref_conformance.verdict import FAILED, PASSED, Result, run

LIBRARIES = ("numpy", "torch")
TYPES = ("float32", "float16", "bfloat16")


def _namespace(library: str) -> Any:
    pytest.importorskip(library, reason=f"needs the {library} extra")
    return importlib.import_module(f"array_api_compat.{library}")


def _results(backend: Backend) -> list[Result]:
    """Of the functions that the backend has."""
    return [run(backend, case, dtype) for case, dtype in checks(backend) if backend.function(case.function)]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda f: f.id)
def test_a_fault_is_caught_in_every_type(fault: Fault, library: str) -> None:
    functions = fault.functions(_namespace(library))
    for dtype in TYPES:
        results = _results(describe(fault.id, SimpleNamespace(**functions, arrays=library, dtypes=[dtype])))
        failed = [r.id for r in results if r.status == FAILED]
        print(
            f"{fault.id:37} {library:6} {dtype:9} {len(failed):2} of {len(results):2} checks: {', '.join(failed[:3])}"
        )
        assert {check.partition("/")[0] for check in failed} == set(functions)  # in each function that it makes wrong


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda f: f.id)
def test_functions_that_a_fault_does_not_touch_pass_beside_it(fault: Fault) -> None:
    xp = _namespace("numpy")
    right = {k: v for k, v in vars(bind(xp)).items() if callable(v)}
    wrong = fault.functions(xp)
    beside = describe(fault.id, SimpleNamespace(**{**right, **wrong}, arrays="numpy", dtypes=["float32"]))
    results = [r for r in _results(beside) if r.id.partition("/")[0] not in wrong]
    assert {r.status for r in results} == {PASSED}
    assert {r.id.partition("/")[0] for r in results} == set(right) - set(wrong)


# fault -> checks of the same functions that it must leave alone, and checks that it must not
TELLING = {
    "interleaved-in-halves-out": (
        ("rope_apply/half/float32", "rope/half/float32"),
        ("rope_apply/interleaved/float32", "rope/interleaved/float32"),
    ),
    "alibi-slopes-start-at-one": ((), ("alibi_slopes/heads-1/default", "alibi_slopes/heads-8/default")),
    "alibi-slopes-one-sequence": (
        ("alibi_slopes/heads-1/default", "alibi_slopes/heads-8/default", "alibi_slopes/heads-16/default"),
        ("alibi_slopes/heads-3/default", "alibi_slopes/heads-12/default", "alibi_slopes/heads-71/default"),
    ),
    "alibi-no-slopes": (("alibi_bias/no-keys/float32",), ("alibi_bias/distance/float32", "alibi_bias/decode/float32")),
    "alibi-favours-distant-keys": (("alibi_bias/no-keys/float32",), ("alibi_bias/signed/float32",)),
    "alibi-no-slopes-favours-distant-keys": (("alibi_bias/no-keys/float32",), ("alibi_bias/distance/float32",)),
    "half-table-times-all-channels": (("rope_apply/one-pair/float32",), ("rope_apply/half/float32",)),
    "yarn-scales-fast-pairs": (
        ("rope_inv_freq/plain/default", "rope_inv_freq/llama3/default"),
        ("rope_inv_freq/yarn/default", "rope_inv_freq/yarn-deepseek/default", "rope_inv_freq/yarn-untruncated/default"),
    ),
    "sinusoid-endpoint-for-paper": (
        ("sinusoidal/smallest/int64", "sinusoidal/empty/int64"),
        ("sinusoidal/paper/int64", "sinusoidal/concatenated/int64", "sinusoidal/wide/int64"),
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda f: f.id)
def test_a_fault_fails_where_it_shows_and_passes_where_it_does_not(fault: Fault) -> None:
    results = {r.id: r for r in _results(describe(fault.id, fault.backend()))}
    harmless, telling = TELLING[fault.id]
    assert {c: results[c].status for c in harmless} == dict.fromkeys(harmless, PASSED)
    assert {c: results[c].status for c in telling} == dict.fromkeys(telling, FAILED)


def test_what_the_tutorials_get_wrong_is_there() -> None:
    """Interleaved pairs in and halves out; slopes from 1; no slopes and the wrong sign; half a table; YaRN's fast pairs."""
    assert set(FAULTS) >= {
        "interleaved-in-halves-out",
        "alibi-slopes-start-at-one",
        "alibi-no-slopes-favours-distant-keys",
        "half-table-times-all-channels",
        "yarn-scales-fast-pairs",
    }


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda f: f.id)
def test_a_fault_describes_itself_in_lines_and_is_found_by_its_id(fault: Fault) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fault.id)
    for text in (fault.sentence, fault.fix):
        assert re.fullmatch(r"[A-Z][^\n]*[.]", text)
        assert len(text) <= 120
    assert fault.sentence.startswith("You")  # it is said to the person who made it
    assert fault.source
    assert "\n" not in fault.source
    assert load(f"fault:{fault.id}").name == f"fault:{fault.id}"


def test_a_fault_by_the_command(posref_command: Any) -> None:
    done = posref_command("check", "fault:interleaved-in-halves-out", "--only", "rope_apply/*interleaved/float32")
    assert done.returncode == 1
    assert "rope_apply/interleaved/float32 values are wrong" in done.stdout
    assert "posref check fault:interleaved-in-halves-out --only rope_apply/interleaved/float32" in done.stdout
