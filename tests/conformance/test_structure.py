"""What comes back is judged by more than its values: kind, number, shape, type, device, and what it did to its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_strict
import ml_dtypes
import numpy as np
import pytest

from posref_array import bind
from posref_array.on_numpy import backend as right
from posref_conformance.verdict import FAILED, NOT_IMPLEMENTED, PASSED, Result

Judge = Callable[..., Result]
CHECK = "rope_apply/half/float32"


def _changed(change: Callable[[Any], Any], name: str = "rope_apply") -> dict[str, Any]:
    """The right function, with something done to its result."""
    return {name: lambda *args, **kwargs: change(getattr(right, name)(*args, **kwargs))}


def test_the_right_function_passes(judge: Judge) -> None:
    assert judge(CHECK, _changed(lambda y: y)).status == PASSED


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda y: y.tolist(), "returned 2 outputs, expected 1"),
        (lambda y: None, "returned a NoneType, not a NumPy array"),
        (lambda y: "text", "returned a str, not a NumPy array"),
        (lambda y: (y, y), "returned 2 outputs, expected 1"),
        (lambda y: (), "returned 0 outputs, expected 1"),
        (lambda y: y[0], "returned shape (3, 7, 10), expected (2, 3, 7, 10)"),
        (lambda y: y[None], "returned shape (1, 2, 3, 7, 10), expected (2, 3, 7, 10)"),
        (lambda y: y.swapaxes(1, 2), "returned shape (2, 7, 3, 10), expected (2, 3, 7, 10)"),
        (lambda y: y.astype(np.float64), "returned type float64, expected that of the first argument, float32"),
        (lambda y: y.astype(np.complex64), "returned type complex64, expected a floating type"),
        (lambda y: y.astype(np.int64), "returned type int64, expected a floating type"),
        (lambda y: y.astype(object), "returned type object, expected a floating type"),
        (lambda y: np.where(y == y.max(), np.nan, y), "values"),
        (lambda y: np.where(y == y.max(), np.inf, y), "values"),
        (lambda y: np.nextafter(y, np.inf) * np.float32(1 + 1e-5), "values"),
    ],
)
def test_what_comes_back_is_judged(judge: Judge, change: Callable[[Any], Any], reason: str) -> None:
    result = judge(CHECK, _changed(change))
    assert (result.status, result.reason) == (FAILED, reason)


def test_a_nan_is_shown_where_it_is(judge: Judge) -> None:
    def spoil(y: Any) -> Any:
        y = y.copy()
        y[1, 2, 3, 4] = np.nan
        return y

    result = judge(CHECK, _changed(spoil))
    assert (result.where, result.got, result.worst) == ("[1, 2, 3, 4]", "nan", np.inf)


@pytest.mark.parametrize(
    ("check", "kind", "passes"),
    [
        ("rope_cos_sin/integers/float32", np.float64, True),  # wider than the frequencies
        ("rope_cos_sin/integers/float32", np.float16, False),
        ("rope_cos_sin/integers/float64", np.float32, False),
        ("alibi_bias/distance/float16", ml_dtypes.bfloat16, False),  # as wide, but another type
        ("rope_inv_freq/plain/default", np.float32, True),  # what comes back is the precision that is judged
        ("rope_inv_freq/plain/default", np.float16, True),
        ("t5_bucket/encoder/int64", np.int32, True),
        ("t5_bucket/encoder/int64", np.uint8, True),
        ("t5_bucket/encoder/int64", np.float64, False),
        ("t5_bucket/encoder/int64", bool, False),
    ],
)
def test_types_that_may_come_back(judge: Judge, check: str, kind: Any, passes: bool) -> None:
    def cast(y: Any) -> Any:
        return tuple(t.astype(kind) for t in y) if isinstance(y, tuple) else y.astype(kind)

    result = judge(check, _changed(cast, check.partition("/")[0]))
    assert (result.status == PASSED) is passes
    assert passes or result.reason.startswith("returned type ")


def test_a_bias_may_be_wider_than_its_slopes(judge: Judge) -> None:
    def alibi_bias(slopes: Any, q: Any, k: Any) -> Any:
        return right.alibi_bias(slopes.astype(np.float32), q, k)

    assert judge("alibi_bias/distance/float16", {"alibi_bias": alibi_bias}).status == PASSED
    # rounded to float16 on the way: float32 came back, so float32 is judged
    late = _changed(lambda y: y.astype(np.float32), "alibi_bias")
    assert judge("alibi_bias/distance/float16", late).reason == "values"


@pytest.mark.parametrize("number", [float, np.float64, np.asarray])
def test_a_factor_may_be_a_plain_number(judge: Judge, number: Any) -> None:
    check = "rope_attention_factor/yarn/default"
    assert judge(check, _changed(number, "rope_attention_factor")).status == PASSED
    assert judge(check, _changed(lambda a: number(a * 1.001), "rope_attention_factor")).status == FAILED


def test_a_factor_of_one_may_be_an_integer(judge: Judge) -> None:
    assert judge("rope_attention_factor/none/default", {"rope_attention_factor": lambda s: 1}).status == PASSED
    assert judge("rope_attention_factor/none/default", {"rope_attention_factor": lambda s: True}).status == FAILED


def test_the_wrong_device(judge: Judge) -> None:
    strict = bind(array_api_strict)
    elsewhere = array_api_strict.Device("device1")
    moved = {"rope_apply": lambda *a, **k: strict.rope_apply(*a, **k).to_device(elsewhere)}
    kept = {"rope_apply": strict.rope_apply}
    assert judge(CHECK, kept, arrays=array_api_strict).status == PASSED
    result = judge(CHECK, moved, arrays=array_api_strict)
    assert result.status == FAILED
    assert result.reason.startswith("returned an array on ")


def test_a_tensor_without_values(judge: Judge) -> None:
    pytest.importorskip("torch", reason="needs the torch extra")
    result = judge(CHECK, {"rope_apply": lambda x, cos, sin: x.to("meta")}, arrays="torch")
    assert (result.status, result.reason) == (FAILED, "returned a tensor on the meta device, which has no values")


def test_what_cannot_be_read_is_a_failure_and_not_unimplemented(judge: Judge) -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    result = judge(CHECK, {"rope_apply": lambda x, cos, sin: torch.rand(3).to_sparse()}, arrays="torch")
    assert result.status == FAILED
    assert result.reason.startswith("returned what cannot be read: ")


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_modified_input_is_named(judge: Judge, index: int) -> None:
    def damaging(*args: Any, **kwargs: Any) -> Any:
        y = right.rope_apply(*args, **kwargs)
        args[index][..., -1, 0] += 1
        return y

    result = judge(CHECK, {"rope_apply": damaging})
    assert (result.status, result.reason) == (FAILED, f"argument {index} was modified")


def test_a_result_written_over_its_input(judge: Judge) -> None:
    def in_place(x: Any, cos: Any, sin: Any) -> Any:
        x[...] = right.rope_apply(x, cos, sin)
        return x  # the right values, at the price of the input

    assert judge(CHECK, {"rope_apply": in_place}).reason == "argument 0 was modified"
    assert judge("rope_apply/read-only/float32", {"rope_apply": in_place}).reason.startswith("raised ValueError: ")


def test_a_view_of_an_input_is_a_failure(judge: Judge) -> None:
    """To write to what came back would change what was given: a row of a table, for instance."""

    def learned(table: Any, positions: Any) -> Any:
        first = int(positions[0])
        return table[first : first + len(positions)]

    assert judge(CHECK, {"rope_apply": lambda x, cos, sin: x[...]}).reason == "returned a view of argument 0"
    assert (
        judge("rope_apply/no-tokens/float32", {"rope_apply": lambda x, cos, sin: x[...]}).status == PASSED
    )  # of nothing
    consecutive = "learned/long/float32"
    assert judge(consecutive, {"learned": learned}).reason == "returned a view of argument 0"
    assert judge(consecutive, {"learned": lambda t, p: learned(t, p).copy()}).status == PASSED


def test_a_view_of_a_torch_tensor_is_a_failure(judge: Judge) -> None:
    def learned(table: Any, positions: Any) -> Any:
        return table[int(positions[0]) :][: len(positions)]

    consecutive = "learned/long/float32"
    assert judge(consecutive, {"learned": learned}, arrays="torch").reason == "returned a view of argument 0"
    assert judge(consecutive, {"learned": lambda t, p: learned(t, p).clone()}, arrays="torch").status == PASSED


def test_a_buffer_that_is_used_again(judge: Judge) -> None:
    """Each result is right when it is returned; the second call overwrites the first one's."""
    buffers: dict[Any, Any] = {}

    def rope_apply(x: Any, cos: Any, sin: Any, *, layout: str = "half") -> Any:
        buffer = buffers.setdefault(x.shape, np.empty_like(x))
        buffer[...] = right.rope_apply(x, cos, sin, layout=layout)
        return buffer

    result = judge("rope_apply/again/float32", {"rope_apply": rope_apply})
    assert (result.status, result.reason) == (FAILED, "the result of one call was changed by a later call")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda y, out: y, "out does not hold the result"),  # ignored
        (lambda y, out: out, "values"),  # returned, and not written
        (lambda y, out: (out.__setitem__(..., y), y + 1)[1], "out does not hold the result"),
        (lambda y, out: out.__setitem__(..., y), "returned a NoneType, not a NumPy array"),
    ],
)
def test_out_must_hold_the_result(judge: Judge, wrong: Callable[[Any, Any], Any], reason: str) -> None:
    def rope_apply(x: Any, cos: Any, sin: Any, *, offset: int = 0, out: Any) -> Any:
        return wrong(right.rope_apply(x, cos, sin, offset=offset), out)

    result = judge("rope_apply/out/float32", {"rope_apply": rope_apply})
    assert (result.status, result.reason) == (FAILED, reason)


def test_in_place_that_reads_what_it_has_written(judge: Judge) -> None:
    def rope_apply(x: Any, cos: Any, sin: Any, *, out: Any) -> Any:
        half = x.shape[-1] // 2
        a, b = x[..., :half], x[..., half:]
        out[..., :half] = a * cos - b * sin
        out[..., half:] = a * sin + b * cos  # where out is x, a is the new one by now
        return out

    assert judge("rope_apply/in-place/float32", {"rope_apply": rope_apply}).reason == "values"


def test_other_exceptions_are_failures(judge: Judge) -> None:
    def refuse(problem: type[Exception]) -> dict[str, Any]:
        def rope_apply(x: Any, cos: Any, sin: Any) -> Any:
            raise problem("no half precision here")

        return {"rope_apply": rope_apply}

    assert judge(CHECK, refuse(NotImplementedError)).status == NOT_IMPLEMENTED
    assert judge(CHECK, refuse(NotImplementedError)).reason == "no half precision here"
    assert judge(CHECK, refuse(TypeError)).reason == "raised TypeError: no half precision here"


def test_settings_of_numpy_end_with_the_check(judge: Judge) -> None:
    before = np.geterr()

    def rope_apply(x: Any, cos: Any, sin: Any) -> Any:
        np.seterr(all="raise")
        return right.rope_apply(x, cos, sin)

    assert judge(CHECK, {"rope_apply": rope_apply}).status == PASSED
    assert np.geterr() == before
