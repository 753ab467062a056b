"""The catalogue of faults: what each says of itself, and the textbook ones in every type, where they show and where not.

That every fault is caught is in ``test_every_fault_is_caught.py``.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from posref_array import bind
from posref_conformance.backend import Backend, describe, load
from posref_conformance.cases import checks
from posref_conformance.faults import FAULTS, KINDS, UNEXPRESSED, Fault, both
from posref_conformance.verdict import FAILED, PASSED, Result, run

LIBRARIES = ("numpy", "torch")
TEXTBOOK = KINDS["textbook"]
TYPES = ("float32", "float16", "bfloat16")


def _namespace(library: str) -> Any:
    pytest.importorskip(library, reason=f"needs the {library} extra")
    return importlib.import_module(f"array_api_compat.{library}")


def _results(backend: Backend) -> list[Result]:
    """Of the functions that the backend has."""
    return [run(backend, case, dtype) for case, dtype in checks(backend) if backend.function(case.function)]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("fault", TEXTBOOK, ids=lambda f: f.id)
def test_a_fault_is_caught_in_every_type(fault: Fault, library: str) -> None:
    functions = fault.functions(_namespace(library))
    for dtype in TYPES:
        results = _results(describe(fault.id, SimpleNamespace(**functions, arrays=library, dtypes=[dtype])))
        failed = [r.id for r in results if r.status == FAILED]
        print(
            f"{fault.id:37} {library:6} {dtype:9} {len(failed):2} of {len(results):2} checks: {', '.join(failed[:3])}"
        )
        assert {check.partition("/")[0] for check in failed} == set(functions)  # in each function that it makes wrong


@pytest.mark.parametrize("fault", TEXTBOOK, ids=lambda f: f.id)
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


@pytest.mark.parametrize("fault", TEXTBOOK, ids=lambda f: f.id)
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
    assert len(fault.functions(_namespace(fault.needs or "numpy"))) > 0
    assert load(f"fault:{fault.id}").name == f"fault:{fault.id}"


SOURCES = Path(__file__).parents[1] / "data" / "fault_sources.txt"  # public reports of wrong position encodings


def test_every_report_is_expressed_or_said_not_to_be() -> None:
    reports = SOURCES.read_text(encoding="utf-8").splitlines()
    assert len(reports) > 190
    assert reports == sorted(set(reports), key=str.lower)
    named = {s for record in (*FAULTS.values(), *UNEXPRESSED) for s in record.source.split("; ")}
    assert sorted(set(reports) - named) == []
    numbered = {s for s in named if re.search(r"(issue|PR) #\d+$", s) and " before " not in s}
    assert sorted(numbered - set(reports)) == []  # a number that is not on the list is a slip of the pen


@pytest.mark.parametrize("record", UNEXPRESSED, ids=lambda r: r.source.partition(";")[0])
def test_what_is_not_expressed_has_a_reason_and_names_faults_that_there_are(record: Any) -> None:
    for text in (record.sentence, record.reason):
        assert re.fullmatch(r"[A-Za-z][^\n]*[.]", text)
    nearest = record.reason.partition("Nearest: ")[2].rstrip(".").split(", ")
    assert [name for name in nearest if name and name not in FAULTS] == []


def test_ids_are_given_once() -> None:
    assert len(FAULTS) == sum(map(len, KINDS.values()))


def test_two_faults_at_once_are_wrong_in_both_ways() -> None:
    """Backwards, and by the angle of the next position: neither alone gives what comes out."""
    xp = _namespace("numpy")
    x, p = xp.reshape(xp.arange(8.0), (2, 4)), xp.asarray([3, 5])
    pair = both(FAULTS["turns-backwards"], FAULTS["positions-from-1"])
    got = pair.functions(xp)["rope"](x, p)
    angle = np.asarray([4.0, 6.0])[:, None] * np.asarray([1.0, 0.01])
    a, b = x[:, :2], x[:, 2:]
    expected = np.concatenate([a * np.cos(angle) + b * np.sin(angle), b * np.cos(angle) - a * np.sin(angle)], axis=-1)
    assert np.allclose(got, expected, rtol=1e-12)
    for alone in (FAULTS["turns-backwards"], FAULTS["positions-from-1"]):
        assert not np.allclose(alone.functions(xp)["rope"](x, p), expected)
    assert pair.id == "turns-backwards+positions-from-1"
    assert set(pair.source.split("; ")) >= {"karpathy/nanochat PR #489", "huggingface/transformers issue #45325"}


def test_a_fault_by_the_command(posref_command: Any) -> None:
    done = posref_command("check", "fault:interleaved-in-halves-out", "--only", "rope_apply/*interleaved/float32")
    assert done.returncode == 1
    assert "rope_apply/interleaved/float32 values are wrong" in done.stdout
    assert "posref check fault:interleaved-in-halves-out --only rope_apply/interleaved/float32" in done.stdout
