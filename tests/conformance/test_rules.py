"""What a backend says about itself, and what is made of what it lacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from posref_array.on_numpy import backend as right
from posref_conformance.backend import Backend, BackendError, describe
from posref_conformance.cases import CASES, checks
from posref_conformance.verdict import FAILED, NOT_IMPLEMENTED, PASSED, Result, run

# --- not implemented ------------------------------------------------------------------------------------------------


def plain_rope_apply(x: Any, cos: Any, sin: Any, *, layout: str = "half") -> Any:
    """The kernel author's one function."""
    return right.rope_apply(x, cos, sin, layout=layout)


def _results(backend: Backend, *functions: str) -> dict[str, Result]:
    chosen = [(c, d) for c, d in checks(backend) if not functions or c.function in functions]
    return {case.check_id(dtype): run(backend, case, dtype) for case, dtype in chosen}


def test_a_backend_of_one_function_is_whole() -> None:
    results = _results(describe("small", SimpleNamespace(rope_apply=plain_rope_apply)))
    others = [r for c, r in results.items() if not c.startswith("rope_apply/")]
    assert {(r.status, r.reason) for r in others} == {
        (NOT_IMPLEMENTED, f"no function {c.function}") for c in CASES if c.function != "rope_apply"
    }
    own = {c: r for c, r in results.items() if c.startswith("rope_apply/")}
    assert own["rope_apply/half/float32"].status == PASSED
    assert own["rope_apply/interleaved/float32"].status == PASSED
    assert own["rope_apply/inverse/float32"].reason == "no keyword inverse"
    assert own["rope_apply/tail/float32"].reason == "no keyword offset"
    lacking = {c for c, r in own.items() if r.status == NOT_IMPLEMENTED}
    needing = {
        case.check_id(dtype)
        for case, dtype in checks(describe("small", SimpleNamespace()))
        if case.function == "rope_apply" and any(set(call.kwargs) - {"layout"} for call in case.calls(dtype))
    }
    assert lacking == needing
    assert all(r.status == PASSED for c, r in own.items() if c not in needing)


def test_keywords_that_keep_their_default_are_not_passed() -> None:
    """So a backend that lacks every keyword still runs what needs none."""
    bare = SimpleNamespace(
        rope_apply=lambda x, cos, sin: right.rope_apply(x, cos, sin),
        sinusoidal=lambda positions, dim: right.sinusoidal(positions, dim),
    )
    results = _results(describe("bare", bare))
    assert results["rope_apply/half/float32"].status == PASSED
    assert results["sinusoidal/paper/int64"].status == PASSED
    assert results["sinusoidal/base/int64"].reason == "no keyword base"


def test_raising_it_is_not_implemented_and_nothing_else_is(judge: Callable[..., Result]) -> None:
    def only_half(x: Any, cos: Any, sin: Any, *, layout: str = "half", **other: Any) -> Any:
        if layout != "half":
            raise NotImplementedError
        return right.rope_apply(x, cos, sin, **other)

    result = judge("rope_apply/interleaved/float32", {"rope_apply": only_half})
    assert (result.status, result.reason) == (NOT_IMPLEMENTED, "raised NotImplementedError")
    assert judge("rope_apply/inverse/float32", {"rope_apply": only_half}).status == PASSED


def test_keywords_that_are_taken_and_ignored_fail(judge: Callable[..., Result]) -> None:
    def careless(x: Any, cos: Any, sin: Any, **ignored: Any) -> Any:
        return right.rope_apply(x, cos, sin)

    assert judge("rope_apply/half/float32", {"rope_apply": careless}).status == PASSED
    for name in ("interleaved", "half-to-interleaved", "inverse", "tail", "out"):
        assert judge(f"rope_apply/{name}/float32", {"rope_apply": careless}).status == FAILED, name


def test_a_function_without_a_signature_is_called(judge: Callable[..., Result]) -> None:
    """As functions of C extensions are: what they refuse with a TypeError is a failure, since it cannot be told apart."""

    class Builtin:
        __signature__ = "none that inspect understands"

        def __call__(self, x: Any, cos: Any, sin: Any) -> Any:
            return right.rope_apply(x, cos, sin)

    assert judge("rope_apply/half/float32", {"rope_apply": Builtin()}).status == PASSED
    assert judge("rope_apply/inverse/float32", {"rope_apply": Builtin()}).reason.startswith("raised TypeError: ")


def test_a_name_that_cannot_be_called_is_not_implemented(judge: Callable[..., Result]) -> None:
    assert judge("rope_apply/half/float32", {"rope_apply": "soon"}).reason == "no function rope_apply"


def test_a_backend_may_be_an_object(judge: Callable[..., Result]) -> None:
    class Kernels:
        arrays = "numpy"

        def rope_apply(self, x: Any, cos: Any, sin: Any) -> Any:
            return right.rope_apply(x, cos, sin)

    assert judge("rope_apply/half/float32", {"rope_apply": Kernels().rope_apply}).status == PASSED
    assert describe("object", Kernels()).function("rope_apply") is not None


# --- dtypes and precision -------------------------------------------------------------------------------------------


def test_dtypes_say_what_is_asked() -> None:
    some = describe("some", SimpleNamespace(dtypes=["float32", "bfloat16"], rope_apply=plain_rope_apply))
    asked = {c.check_id(d).rpartition("/")[2] for c, d in checks(some)}
    assert asked == {"float32", "bfloat16", "default", "int64", "int32"}


def _native(x: Any, cos: Any, sin: Any) -> Any:
    """Everything in x's type."""
    cos, sin = cos.astype(x.dtype), sin.astype(x.dtype)
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def _table(x: Any, cos: Any, sin: Any) -> Any:
    """Tables in x's type, arithmetic in float32."""
    cos, sin, wide = (t.astype(x.dtype).astype(np.float32) for t in (cos, sin, x))
    return _native(wide, cos, sin).astype(x.dtype)


def _float32(x: Any, cos: Any, sin: Any) -> Any:
    return _native(*(t.astype(np.float32) for t in (x, cos, sin))).astype(x.dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("made", "meets"), [(_float32, "float32"), (_table, "table"), (_native, "native")])
def test_precision_is_the_loosest_that_passes(judge: Callable[..., Result], made: Any, meets: str, dtype: str) -> None:
    order = ["float32", "table", "native"]
    for asked in order:
        result = judge(f"rope_apply/float32-tables-many/{dtype}", {"rope_apply": made}, precision=asked)
        assert result.status == (PASSED if order.index(meets) <= order.index(asked) else FAILED), asked
        if result.status == PASSED:
            assert result.profile == meets
        else:
            assert result.worst is not None
            assert 1 < result.worst < math.inf


@pytest.mark.parametrize(
    ("about", "line"),
    [
        ({"dtypes": ["float8"]}, "dtypes must be a list out of float64, float32, "),
        ({"dtypes": "float32"}, "got float32"),
        ({"dtypes": 5}, "got 5"),
        ({"precision": "exact"}, "precision must be one of float32, table, native, got exact"),
        ({"precision": None}, "got None"),
        ({"expected_failures": ["rope_apply"]}, "expected_failures must map check ids to reasons, got list"),
        ({"expected_failures": {"rope_apply/half/float32": 3}}, "expected_failures must map check ids to reasons"),
        ({"arrays": "jnumpy"}, "arrays must be one of numpy, torch, cupy, jax or an Array API namespace, got 'jnumpy'"),
        ({"arrays": 5}, "or an Array API namespace, got 5"),
        ({"device": "cuda"}, "device must be 'cpu' or None for NumPy, got 'cuda'"),
        ({"from_numpy": np.asarray}, "from_numpy and to_numpy must both be functions"),
        ({"to_numpy": 3, "from_numpy": 3}, "from_numpy and to_numpy must both be functions"),
        ({"unavailable": lambda: "no device"}, "mine unavailable: no device"),
    ],
)
def test_a_wrong_description_is_one_line(about: dict[str, Any], line: str) -> None:
    with pytest.raises(BackendError) as caught:
        describe("mine", SimpleNamespace(**about))
    assert str(caught.value).startswith("mine")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arrays_of_a_library_of_its_own(judge: Callable[..., Result]) -> None:
    class Wrapped:
        def __init__(self, values: Any) -> None:
            self.values = values

    def rope_apply(x: Wrapped, cos: Wrapped, sin: Wrapped) -> Wrapped:
        return Wrapped(_float32(x.values, cos.values, sin.values))

    own = {"from_numpy": Wrapped, "to_numpy": lambda w: w.values}
    assert judge("rope_apply/half/bfloat16", {"rope_apply": rope_apply}, **own).status == PASSED
    broken = {"from_numpy": Wrapped, "to_numpy": lambda w: w.values.tolist()}
    assert judge("rope_apply/half/bfloat16", {"rope_apply": rope_apply}, **broken).reason == (
        "returned what to_numpy turned into a list, not a NumPy array"
    )
    assert ml_dtypes.bfloat16  # the type that to_numpy gives back


# --- expected failures ----------------------------------------------------------------------------------------------

EXPECTING = """
def rope_apply(x, cos, sin):
    return right.rope_apply(x, cos, sin) * (1 + (x.dtype == "float16"))

expected_failures = {reasons}
"""


def _expecting(report: Any, backend_file: Any, reasons: dict[str, str], *options: str) -> dict[str, Any]:
    path = backend_file(EXPECTING.replace("{reasons}", repr(reasons)))
    return dict(report(path, "--only", "rope_apply/half", *options))


def test_a_failure_that_was_expected(report: Any, backend_file: Any) -> None:
    got = _expecting(report, backend_file, {"rope_apply/half/float16": "doubled, issue 12"})
    assert (got["status"], got["summary"]) == (0, "yes: 3 checks passed, 1 failed as expected")
    (check,) = [c for c in got["checks"] if c["status"] == "expected failure"]
    assert check["reason"] == "values (expected: doubled, issue 12)"


def test_an_expected_failure_that_passes_makes_the_run_fail(report: Any, backend_file: Any) -> None:
    reasons = {"rope_apply/half/float16": "doubled", "rope_apply/half/float32": "was doubled"}
    got = _expecting(report, backend_file, reasons)
    assert (got["status"], got["verdict"]) == (1, "fail")
    (check,) = [c for c in got["checks"] if c["status"] == "unexpected pass"]
    assert (check["id"], check["reason"]) == ("rope_apply/half/float32", "expected to fail: was doubled")


def test_an_unknown_expected_failure_makes_the_run_fail(report: Any, backend_file: Any) -> None:
    reasons = {"rope_apply/half/float16": "doubled", "rope_apply/haf/float16": "misspelt"}
    got = _expecting(report, backend_file, reasons)
    assert got["status"] == 1
    assert got["summary"] == "no: expected_failures names checks that there are not: rope_apply/haf/float16"


def test_an_expected_failure_of_a_generated_check_is_known_without_them(report: Any, backend_file: Any) -> None:
    reasons = {"rope_apply/half/float16": "doubled", "rope_apply/deep/float16": "doubled"}
    assert _expecting(report, backend_file, reasons)["status"] == 0


def test_an_expected_failure_outside_of_what_was_asked_is_left_alone(report: Any, backend_file: Any) -> None:
    reasons = {"rope_apply/half/float16": "doubled", "rope_apply/interleaved/float16": "doubled"}
    assert _expecting(report, backend_file, reasons)["status"] == 0
