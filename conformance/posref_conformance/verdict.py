"""Run one check against one backend and judge values, shapes, types, devices and side effects."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import posref
from posref_conformance.adjoints import gradient, gradient_bounds
from posref_conformance.along import positions_of, worst_by_position
from posref_conformance.arrays import Arrays, NotItsArray
from posref_conformance.backend import Backend, missing_keyword
from posref_conformance.budgets import bounds
from posref_conformance.case import Array, Call, Case
from posref_conformance.roundings import PROFILES, Bounds
from posref_conformance.wording import one_line, problem_line

PASSED, FAILED, NOT_IMPLEMENTED = "passed", "failed", "not implemented"
EXPECTED_FAILURE, UNEXPECTED_PASS = "expected failure", "unexpected pass"

LIKE_FIRST = (  # the result has the first argument's type
    "rope_apply",
    "rope",
    "rope_apply_channels",
    "rope_scores",
    "rope_permute_weight",
    "pope_apply",
    "resample_table",
    "attention",
    "linear_attention",
    "relative_shift",
    "relative_bias",
    "relative_values",
    "relative_scores",
    "disentangled_scores",
    "untied_scores",
    "position_mlp",
    "cosine_scale",
    "decomposed_bias",
    "bias_gate",
    "reset_cls",
    "forget_bias",
    "cope_scores",
    "path_scores",
)
AT_LEAST = {
    "rope_cos_sin": 1,
    "rope_axes_cos_sin": 1,
    "rope_mixed_cos_sin": 1,
    "alibi_bias": 0,
    "t5_bias": 0,
    "indexed_bias": 0,
    "cape_positions": 1,
    "kerple_bias": 0,
    "learned": 0,
    "hierarchical_table": 0,
    "fourier_features": 1,
    "ssmax_scale": 1,
    "fope_cos_sin": 2,
}  # the result is at least as wide as that argument
INTEGERS = (
    "t5_bucket",
    "query_positions",
    "long_t5_blocks",
    "relative_position_index",
    "rope_axis_map",
    "grid_positions",
    "cu_seqlens_positions",
    "mask_positions",
    "relative_index",
    "deberta_bucket",
    "permuted_channels",
)
WIDTH = {"float64": 3, "float32": 2, "float16": 1, "bfloat16": 1}


@dataclass(frozen=True)
class Result:
    """What came of one check."""

    id: str
    status: str
    reason: str = ""
    profile: str | None = None  # the tightest that is met; None where the function has only one
    worst: float | None = None  # worst error as a multiple of its bound in that profile
    where: str = ""
    got: str = ""
    expected: str = ""
    bound: str = ""
    warnings: tuple[str, ...] = ()
    by_position: tuple[tuple[float, float], ...] = ()  # see posref_conformance.along
    diagnosis: tuple[dict[str, Any], ...] = ()  # mistakes that would give what came back: id, sentence, fix

    def as_json(self) -> dict[str, Any]:
        """Plain values, in the order of the fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Result:
        """The other way round."""
        tuples = {
            "warnings": tuple(fields["warnings"]),
            "by_position": tuple((float(p), float(e)) for p, e in fields["by_position"]),
            "diagnosis": tuple(fields["diagnosis"]),
        }
        return cls(**{**fields, **tuples})


class _Wrong(Exception):
    """A failure that is found before values are compared."""


class _Refused(Exception):
    """The backend's own NotImplementedError, not one that is raised while the suite looks at what came back."""


@dataclass(frozen=True)
class _Comparison:
    """One output of one call in one profile."""

    profile: str
    worst: float
    where: str
    got: str
    expected: str
    bound: str
    ratio: Array
    along: Array  # the position of each element


def run(backend: Backend, case: Case, dtype: str) -> Result:
    """Judge one check, in this process."""
    check = case.check_id(dtype)
    with warnings.catch_warnings(record=True) as caught, np.errstate():  # a backend may set it, for itself alone
        warnings.simplefilter("always")
        try:
            result = _run(backend, case, dtype)
        except _Refused as refused:
            result = Result(check, NOT_IMPLEMENTED, one_line(refused.__cause__) or "raised NotImplementedError")
        except _Wrong as wrong:
            result = Result(check, FAILED, str(wrong))
        except Exception as problem:
            result = Result(check, FAILED, f"raised {problem_line(problem)}")
    seen = tuple(dict.fromkeys(f"{w.category.__name__}: {one_line(w.message)}" for w in caught))
    return replace(result, warnings=seen)


def _run(backend: Backend, case: Case, dtype: str) -> Result:
    check = case.check_id(dtype)
    function = backend.function(case.function)
    if function is None:
        return Result(check, NOT_IMPLEMENTED, f"no function {case.function}")
    found: list[_Comparison] = []
    kept: list[tuple[Any, NDArray[Any]]] = []  # what came back, and a copy of it
    # built twice from one seed: the backend may spoil its own arrays, and the reference sees the others
    for call, pristine in zip(case.calls(dtype), case.calls(dtype), strict=True):
        if lacking := missing_keyword(function, call.kwargs):
            return Result(check, NOT_IMPLEMENTED, f"no keyword {lacking}")
        outputs, by_output = _judge(backend, case.function, function, call, pristine)
        found += [_tightest(comparisons, PROFILES.index(backend.precision)) for comparisons in by_output]
        kept += [(output, _read(backend, output).copy()) for output in outputs]
    for output, copy in kept:
        if not np.array_equal(_bits(_read(backend, output)), _bits(copy)):
            raise _Wrong("the result of one call was changed by a later call")
    worst = max(found, key=lambda c: (not c.worst <= 1, PROFILES.index(c.profile or PROFILES[0]), c.worst))
    result = Result(
        check,
        PASSED,
        worst=worst.worst,
        profile=worst.profile or None,
        by_position=worst_by_position([(c.ratio, c.along) for c in found]),
    )
    if worst.worst <= 1:
        return result
    return replace(
        result,
        status=FAILED,
        reason="values",
        where=worst.where,
        got=worst.got,
        expected=worst.expected,
        bound=worst.bound,
    )


def _tightest(comparisons: list[_Comparison], loosest: int) -> _Comparison:
    """The tightest profile that is met; if none is, the loosest one that would have been accepted."""
    accepted = [c for c in comparisons if not c.profile or PROFILES.index(c.profile) <= loosest] or comparisons[:1]
    return next((c for c in accepted if c.worst <= 1), accepted[-1])


def _judge(
    backend: Backend, name: str, function: Any, call: Call, pristine: Call
) -> tuple[list[Any], list[list[_Comparison]]]:
    """Call, then compare every output in every profile."""
    arrays = backend.arrays
    made: dict[int, Any] = {}

    def give(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return made.setdefault(id(value), arrays.make(value))  # the same array twice stays the same array (out=x)

    try:  # to make the arrays may be refused too, by a backend's own converter
        args, kwargs = [give(a) for a in call.args], {k: give(v) for k, v in call.kwargs.items()}
        if call.cotangent is None:
            returned = function(*args, **kwargs)
        else:
            returned = differentiate(arrays, name, function, call, args, kwargs)
    except NotImplementedError as problem:
        raise _Refused from problem
    outputs, expected = _outputs(returned), expected_outputs(name, pristine)
    _check_structure(backend, name, call, kwargs, outputs, expected)
    _check_damage(backend, call, pristine, made)
    if call.cotangent is None and "out" not in kwargs:
        _check_own_memory(backend, call, made, outputs)
    read = [_read(backend, o) for o in outputs]
    dtypes = ["float64" if _is_number(o) else arrays.dtype(o) for o in outputs]
    if name in INTEGERS:
        dtypes = ["float64"] * len(dtypes)  # equality needs no type
    by_profile = budget(name, pristine, expected, dtypes)
    names = ["cos, ", "sin, "] if len(outputs) == 2 else [""] * len(outputs)
    along = [positions_of(name, pristine, np.shape(y)) for y in expected]
    return outputs, [
        [_compare(profile, read[i], expected[i], bound[i], along[i], names[i]) for profile, bound in by_profile.items()]
        for i in range(len(outputs))
    ]


def differentiate(arrays: Arrays, name: str, function: Any, call: Call, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The gradient by one argument, the others being held."""
    place = _place(name, call)

    def of(x: Any) -> Any:
        if isinstance(place, str):
            return function(*args, **{**kwargs, place: x})
        return function(*args[:place], x, *args[place + 1 :], **kwargs)

    cotangents = call.cotangent if isinstance(call.cotangent, tuple) else (call.cotangent,)
    again = None if call.again is None else arrays.make(call.again)
    x = kwargs[place] if isinstance(place, str) else args[place]
    return arrays.gradient(of, x, tuple(arrays.make(c) for c in cotangents if c is not None), again)


def _differentiated(name: str, call: Call) -> Any:
    """The argument by which a call is differentiated."""
    place = _place(name, call)
    return call.kwargs[place] if isinstance(place, str) else call.args[place]


def _place(name: str, call: Call) -> int | str:
    """Where the argument is by which a call is differentiated: among the positional ones, or a keyword."""
    return (
        call.by if call.by in call.kwargs else list(inspect.signature(getattr(posref, name)).parameters).index(call.by)
    )


def expected_outputs(name: str, call: Call) -> list[Any]:
    """What the reference gives."""
    if call.cotangent is None:
        return _outputs(getattr(posref, name)(*call.args, **_without_out(call.kwargs)))
    return [gradient(name, call)]


def budget(name: str, call: Call, expected: list[Any], dtypes: list[str]) -> Bounds:
    """How far each output may be off, given the types that came back."""
    return bounds(name, call, expected, dtypes) if call.cotangent is None else gradient_bounds(name, call, dtypes[0])


def _without_out(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in kwargs.items() if k != "out"}


def _outputs(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _is_number(output: Any) -> bool:
    return isinstance(output, (int, float)) and not isinstance(output, bool)


def _read(backend: Backend, output: Any) -> NDArray[Any]:
    return np.asarray(output) if _is_number(output) else backend.arrays.read(output)


def _check_structure(
    backend: Backend, name: str, call: Call, kwargs: dict[str, Any], outputs: list[Any], expected: list[Any]
) -> None:
    """Number, kind, shape, type and device of what came back."""
    if len(outputs) != len(expected):
        raise _Wrong(f"returned {len(outputs)} outputs, expected {len(expected)}")
    given = call.arrays()
    for output, wanted in zip(outputs, expected, strict=True):
        shape = np.shape(wanted)
        if _is_number(output) and not shape:
            continue  # a factor may be a plain number
        try:
            got = backend.arrays.read(output)
        except NotItsArray as problem:
            raise _Wrong(f"returned {problem}") from None
        except Exception as problem:
            raise _Wrong(f"returned what cannot be read: {problem_line(problem)}") from None
        if got.shape != shape:
            raise _Wrong(f"returned shape {got.shape}, expected {shape}")
        if call.cotangent is None:
            _check_type(name, backend.arrays.dtype(output), [a.dtype.name for a in given])
        elif (of := backend.arrays.dtype(output)) != (wanted_type := _differentiated(name, call).dtype.name):
            raise _Wrong(f"returned a gradient of type {of}, expected that of {call.by}, {wanted_type}")
        if given and backend.arrays.device(output) != (device := backend.arrays.device(backend.arrays.make(given[0]))):
            raise _Wrong(f"returned an array on {backend.arrays.device(output)}, expected {device}")
    if "out" in kwargs and not np.array_equal(
        _bits(backend.arrays.read(kwargs["out"])), _bits(_read(backend, outputs[0]))
    ):
        raise _Wrong("out does not hold the result")


def _check_type(name: str, got: str, given: list[str]) -> None:
    if name in INTEGERS:
        if not got.startswith(("int", "uint")):
            raise _Wrong(f"returned type {got}, expected integers")
        return
    if got not in WIDTH:
        raise _Wrong(f"returned type {got}, expected a floating type")
    if name in LIKE_FIRST and got != given[0]:
        raise _Wrong(f"returned type {got}, expected that of the first argument, {given[0]}")
    if name in AT_LEAST:
        least = given[AT_LEAST[name]]
        if got != least and WIDTH[got] <= WIDTH[least]:
            raise _Wrong(f"returned type {got}, expected {least} or wider")


def _check_damage(backend: Backend, call: Call, pristine: Call, made: dict[int, Any]) -> None:
    """Every input but ``out`` must be as it was."""
    out = call.kwargs.get("out")
    names = [f"argument {i}" for i in range(len(call.args))] + list(call.kwargs)
    for name, given, original in zip(names, call.values(), pristine.values(), strict=True):
        if isinstance(given, np.ndarray) and given is not out:
            after = backend.arrays.read(made[id(given)])
            if not np.array_equal(_bits(after), _bits(original.astype(after.dtype))):  # JAX narrows int64
                raise _Wrong(f"{name} was modified")


def _check_own_memory(backend: Backend, call: Call, made: dict[int, Any], outputs: list[Any]) -> None:
    """What comes back is the caller's to write to: it may not be a piece of what was given."""
    for name, given in zip(
        (*map("argument {}".format, range(len(call.args))), *call.kwargs), call.values(), strict=True
    ):
        if isinstance(given, np.ndarray):
            for output in outputs:
                if not _is_number(output) and backend.arrays.shares(output, made[id(given)]):
                    raise _Wrong(f"returned a view of {name}")


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array).view(np.uint8)


def _compare(profile: str, got: Array, expected: Array, bound: Array, along: Array, prefix: str) -> _Comparison:
    """The worst error as a multiple of its bound, where it is and what was there."""
    got64, expected = got.astype(np.float64), np.asarray(expected, dtype=np.float64)
    if not expected.size:
        return _Comparison(profile, 0.0, "", "", "", "", expected, along)
    same = (got64 == expected) | (np.isnan(got64) & np.isnan(expected))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(same, 0.0, np.abs(got64 - expected) / bound)
    ratio = np.where(np.isnan(ratio), np.inf, ratio)  # a NaN where a number was due, or the other way round
    at = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    index = ", ".join(map(str, map(int, at)))
    return _Comparison(
        profile,
        float(ratio[at]),
        f"{prefix}[{index}]",
        _number(got64[at]),
        _number(expected[at]),
        f"{float(np.asarray(bound)[at]):.3g}",
        ratio,
        along,
    )


def _number(value: Any) -> str:
    return f"{float(value):.9g}"
