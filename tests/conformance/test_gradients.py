"""Gradients: the adjoints are the reference's derivatives, a right backend's are within their budgets, and wrong ones are not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import posref
import posref_torch
from posref_conformance.adjoints import ADJOINTS, ROTATIONS, gradient, gradient_bounds, is_rotation
from posref_conformance.adjoints_frequencies import BY
from posref_conformance.backend import describe
from posref_conformance.case import Call, Case
from posref_conformance.cases import CASES
from posref_conformance.contract import FUNCTIONS
from posref_conformance.verdict import FAILED, INTEGERS, NOT_IMPLEMENTED, PASSED, Result, run

GRADIENTS = [c for c in CASES if any(call.cotangent is not None for call in c.calls(c.dtypes[0]))]
BY_ID = {c.check_id(d): (c, d) for c in GRADIENTS for d in c.dtypes}


def _judge(case: Case, dtype: str, functions: dict[str, Any], arrays: str = "torch") -> Result:
    return run(describe("mine", SimpleNamespace(**functions, arrays=arrays)), case, dtype)


# --- the adjoints ---------------------------------------------------------------------------------------------------


def _derivative(case: Case, call: Call) -> Any:
    """The gradient of sum(g y) by differences of the reference itself, at six points.

    They are off by h^6 / 140 of the seventh derivative, and by 11/6 2^-53 / h of the sum of magnitudes. For h = 2^-6 and
    functions that change over 1 that is 1e-13 and 1e-14.
    """
    function, h = getattr(posref, case.function), 2.0**-6
    cotangents = call.cotangent if isinstance(call.cotangent, tuple) else (call.cotangent,)
    given = inspect.signature(function).bind(*call.args, **call.kwargs).arguments
    x = np.asarray(given[call.by]).astype(np.float64)
    if call.by in ("inv_freq", "frequencies"):
        h = 2.0**-18  # angles reach 4095: theta moves by 2^-6
    if case.function == "cope_scores":
        h = 2.0**-14  # so that no position comes to a row, where the line bends

    def total(moved: Any) -> float:
        results = function(**{**given, call.by: moved})
        results = results if isinstance(results, tuple) else (results,)
        return sum(float(np.sum(np.asarray(c, np.float64) * y)) for c, y in zip(cotangents, results, strict=True))

    found = np.empty(x.shape)
    for at in np.ndindex(x.shape):
        steps = []
        for step in (-3, -2, -1, 1, 2, 3):
            moved = x.copy()
            moved[at] += step * h
            steps.append(total(moved))
        a, b, c, d, e, f = steps
        found[at] = (f - a - 9 * (e - b) + 45 * (d - c)) / (60 * h)
    return found


LINEAR_OR_SMOOTH = [c for c in GRADIENTS if not any(call.again is not None for call in c.calls(c.dtypes[0]))]
ROTATED = [c for c in LINEAR_OR_SMOOTH if is_rotation(c.function, c.calls(c.dtypes[0])[0])]
SMALL = [c for c in LINEAR_OR_SMOOTH if c not in ROTATED]


@pytest.mark.parametrize("case", SMALL, ids=lambda c: f"{c.function}/{c.name}")
def test_an_adjoint_is_the_derivative_of_the_reference(case: Case) -> None:
    (call,) = case.calls("float64")
    value = gradient(case.function, call)
    # 1e-9 of the largest: rounding of a sum of some hundred terms over h = 2^-6, 1e-12; over 2^-18 for frequencies, 1e-9 or so
    tolerance = 1e-9 * max(1.0, float(np.abs(value).max()))
    off = np.abs(value - _derivative(case, call))
    if case.function == "linear_attention" and call.by in ("q", "k"):
        x = call.args["qk".index(call.by)]
        off[np.abs(x) < 3 * 2.0**-6] = 0  # elu bends at 0, and differences across that are none
    assert off.max() <= tolerance
    assert np.abs(value).max() > 0.01


@pytest.mark.parametrize("case", ROTATED, ids=lambda c: f"{c.function}/{c.name}")
def test_the_adjoint_of_a_rotation(case: Case) -> None:
    """<g, R x> = <R^T g, x>, for the x and the g of the case and for others; R x is linear, so that this is all of it."""
    (call,) = case.calls("float64")
    forward = getattr(posref, case.function)(*call.args, **call.kwargs)
    back, x = gradient(case.function, call), np.asarray(call.args[0])
    assert np.sum(call.cotangent * forward) == pytest.approx(
        np.sum(back * x), rel=1e-12
    )  # 420 terms of order 1: 420 * 2^-53
    rng = np.random.default_rng(0)
    for _ in range(3):
        other = rng.normal(size=x.shape)
        turned = getattr(posref, case.function)(other, *call.args[1:], **call.kwargs)
        assert np.sum(call.cotangent * turned) == pytest.approx(np.sum(back * other), abs=1e-11)


def test_double_backward_is_the_rotation_itself() -> None:
    for case in (c for c in GRADIENTS if c.name.startswith("gradient-twice")):
        (call,) = case.calls("float64")
        expected = getattr(posref, case.function)(call.again, *call.args[1:], **call.kwargs)
        np.testing.assert_array_equal(gradient(case.function, call), expected)


# --- which functions ------------------------------------------------------------------------------------------------


def test_every_adjoint_is_asked_for() -> None:
    assert {c.function for c in GRADIENTS} == {*ADJOINTS, *ROTATIONS}
    assert not {*ADJOINTS, *ROTATIONS} & set(INTEGERS)
    assert {(c.function, call.by) for c in GRADIENTS for call in c.calls(c.dtypes[0])} >= set(BY)


NOT_DIFFERENTIATED = {  # and not whole numbers: why
    "alibi_slopes": "numbers of heads",
    "dual_chunk_distance": "positions",
    "fire_distance": "positions; c and the threshold are plain numbers here",
    "frequency_bands": "plain numbers",
    "grid_coordinates": "sizes",
    "inkling_scale": "positions",
    "length_scale": "plain numbers",
    "llama4_scale": "positions",
    "log_n_scale": "positions",
    "log_offset": "positions",
    "mask_coordinates": "masks",
    "rerope_distance": "positions",
    "rope_attention_factor": "plain numbers",
    "rope_axes_inv_freq": "maps",
    "rope_axes_table": "positions",
    "rope_inv_freq": "plain numbers",
    "rope_pixel_freq": "plain numbers",
    "rope_softmax_factor": "plain numbers",
    "rope_table": "positions",
    "sandwich_bias": "positions",
    "self_extend_distance": "positions",
    "sinusoidal": "positions",
    "sinusoidal_axes": "positions",
    "timestep_embedding": "times",
    "xpos_scale": "positions",
}


def test_what_has_no_gradient_says_why() -> None:
    assert {*FUNCTIONS} - {*ADJOINTS, *ROTATIONS, *INTEGERS} == set(NOT_DIFFERENTIATED)


BY_NONE = {  # what no function is differentiated by, and why
    "integers or truth values": ("index", "relative", "mask", "axis_map", "cu_seqlens", "starts", "permutation"),
    "where a token stands is given, as integers in most calls": (
        "positions",
        "q_positions",
        "k_positions",
        "relative_position",
        "distances",
        "timesteps",
        "coordinates",
        "extent",
    ),
    "a result is written there": ("out",),
}
OTHERWISE = {
    ("linear_attention", "inv_freq"): "its rotation is that of rope_cos_sin and rope_apply, which are asked",
    ("position_mlp", "norm_weight"): "a plain LayerNorm in front of the activation, not asked",
    ("position_mlp", "norm_bias"): "a plain LayerNorm in front of the activation, not asked",
}


def _without_gradient(functions: dict[str, Any]) -> set[tuple[str, str]]:
    """Arrays of functions by which nothing is asked, and for which there is no reason either."""
    asked = {(c.function, call.by) for c in GRADIENTS for call in c.calls(c.dtypes[0])}
    reasons = {name for names in BY_NONE.values() for name in names}
    arrays = {
        (function, p.name)
        for function, f in functions.items()
        for p in inspect.signature(f).parameters.values()
        if "ArrayLike" in str(p.annotation) or "NDArray" in str(p.annotation)
    }
    return {pair for pair in arrays - asked - {*OTHERWISE} if pair[1] not in reasons}


def test_every_array_of_the_contract_is_differentiated_or_there_is_a_reason() -> None:
    contract = {name: getattr(posref, name) for name in FUNCTIONS}
    assert not _without_gradient(contract)

    def invented(x: np.typing.ArrayLike, positions: np.typing.ArrayLike, *, gain: float = 1.0) -> None: ...

    assert _without_gradient({**contract, "invented": invented}) == {("invented", "x")}


def test_no_reason_is_given_for_what_is_differentiated() -> None:
    asked = {(c.function, call.by) for c in GRADIENTS for call in c.calls(c.dtypes[0])}
    known = {name for f in FUNCTIONS for name in inspect.signature(getattr(posref, f)).parameters}
    for names in BY_NONE.values():
        assert set(names) <= known
        assert not {by for _, by in asked} & set(names)
    assert not asked & {*OTHERWISE}


# --- right and wrong ones -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", BY_ID)
def test_a_right_gradient_passes_and_one_of_five_percent_more_does_not(check: str) -> None:
    """The forward pass is right in both. In 16 bits the native profile allows sums in 16 bits: the tight one is asked for."""
    case, dtype = BY_ID[check]
    function = getattr(posref_torch, case.function)

    def wrong(*args: Any, **kwargs: Any) -> Any:
        def more(y: Any) -> Any:
            return y.detach() + 1.05 * (y - y.detach())

        y = function(*args, **kwargs)
        return tuple(map(more, y)) if isinstance(y, tuple) else more(y)

    right = _judge(case, dtype, {case.function: function, "precision": "float32"})
    assert (right.status, right.profile) == (PASSED, "float32")
    assert right.worst is not None
    assert right.worst <= 0.8
    found = _judge(case, dtype, {case.function: wrong, "precision": "float32"})
    assert (found.status, found.reason) == (FAILED, "values")


def _rotate(x: Any, cos: Any, sin: Any) -> Any:
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class WithoutTranspose(torch.autograd.Function):
    """Its backward pass rotates forward again."""

    @staticmethod
    def forward(ctx: Any, x: Any, cos: Any, sin: Any) -> Any:
        ctx.save_for_backward(cos, sin)
        return _rotate(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        return _rotate(g, *ctx.saved_tensors), None, None


class Once(WithoutTranspose):
    """Right, and says that it can be differentiated once."""

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        cos, sin = ctx.saved_tensors
        return _rotate(g, cos, -sin), None, None


TWICE = Case("rope_apply", "gradient-twice", lambda i: [_twice(i)])


def _twice(i: Any) -> Call:
    x, cos, sin = i.data(3, 7, 10), *i.table(7, 5)
    return Call((x, cos, sin), {}, cotangent=i.data(3, 7, 10), by="x", again=i.data(3, 7, 10))


@pytest.mark.parametrize(
    ("function", "check", "status", "reason"),
    [
        (WithoutTranspose.apply, "rope_apply/half/float32", PASSED, ""),
        (WithoutTranspose.apply, "rope_apply/gradient/float32", FAILED, "values"),
        (Once.apply, "rope_apply/gradient/float32", PASSED, ""),
        (
            lambda *a: _rotate(*a).detach(),
            "rope_apply/gradient/float32",
            NOT_IMPLEMENTED,
            "the result carries no gradient",
        ),
        (lambda *a: _rotate(*a).detach(), "rope_apply/half/float32", PASSED, ""),
        (
            lambda x, c, s: _rotate(x, c, s) + 0 * x.double().detach().float() - x + x.detach(),
            "rope_apply/gradient/float32",
            FAILED,
            "values",
        ),
    ],
)
def test_gradients_alone_can_be_wrong(
    judge: Callable[..., Result], function: Any, check: str, status: str, reason: str
) -> None:
    case = next(c for c in CASES if c.check_id("float32") == check)
    result = _judge(case, "float32", {"rope_apply": lambda x, cos, sin: function(x, cos, sin)})
    assert (result.status, result.reason) == (status, reason)


def test_double_backward(judge: Callable[..., Result]) -> None:
    found = {
        name: _judge(TWICE, "float32", {"rope_apply": lambda x, cos, sin, f=f: f(x, cos, sin)})
        for name, f in {"plain": _rotate, "wrong": WithoutTranspose.apply, "once": Once.apply}.items()
    }
    assert found["plain"].status == PASSED
    assert found["wrong"].status == FAILED
    assert found["once"].status == NOT_IMPLEMENTED
    assert found["once"].reason == "the gradient carries no gradient"


def test_numpy_is_not_asked_for_gradients(report: Callable[..., dict[str, Any]]) -> None:
    assert not [c for c in report("numpy", "--only", "rope_apply")["checks"] if "/gradient" in c["id"]]


# --- budgets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_sums_in_sixteen_bits_are_native(kind: str) -> None:
    """A row of a table that is asked for often: the sum in its own type is within the native profile, and not within float32."""
    dtype = np.dtype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
    g = np.random.default_rng(0).normal(size=(200, 3)).astype(dtype)
    call = Call((np.zeros((2, 3), dtype), np.zeros(200, int)), cotangent=g, by="table")
    exact = gradient("learned", call)
    total = np.zeros(3, dtype)
    for row in g:
        total = (total + row).astype(dtype)
    error = np.abs(total.astype(float) - exact[0])
    bounds = {name: limit[0][0] for name, limit in gradient_bounds("learned", call, kind).items()}
    assert np.all(error <= bounds["native"])
    assert np.any(error > bounds["float32"])
    once = np.abs(exact[0].astype(dtype).astype(float) - exact[0])
    assert np.all(once <= bounds["float32"])
