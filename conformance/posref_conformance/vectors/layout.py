"""What a check looks like as files: its tensors, its parameters, its place in the manifest."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

import posref
from posref_conformance.case import FLOATS, Array, Call, Case
from posref_conformance.verdict import AT_LEAST, INTEGERS, LIKE_FIRST, WIDTH, budget, expected_outputs

MANIFEST = "manifest.json"
SUFFIX = ".safetensors"
TWO = ("cos", "sin")


def expressible(case: Case, *, gradients: bool) -> bool:
    """Whether a case can be asked in files: those of ``out=`` are about memory; gradients only where they are wanted."""
    calls = case.calls(case.dtypes[0])
    return not any("out" in c.kwargs for c in calls) and (gradients or not any(_cotangents(c) for c in calls))


def output_names(count: int) -> tuple[str, ...]:
    """What the outputs of a call are called."""
    return TWO if count == len(TWO) else ("result",)


def inputs(calls: list[Call], function: str) -> dict[str, Array]:
    """Tensors of the inputs by name."""
    named = {f"{i}/{name}": value for i, call in enumerate(calls) for name, value in _named(call, function).items()}
    return {name: value for name, value in named.items() if isinstance(value, np.ndarray)}


def expected(calls: list[Call], function: str) -> dict[str, Array]:
    """Tensors of the results, and of how far off they may be, by name."""
    tensors: dict[str, Array] = {}
    for i, call in enumerate(calls):
        results = [np.asarray(y, dtype=np.float64) for y in expected_outputs(function, call)]
        for name, y in zip(output_names(len(results)), results, strict=True):
            tensors[f"{i}/{name}"] = y
        for dtype in output_types(function, call):
            judged = "float64" if function in INTEGERS else dtype
            by_profile = budget(function, call, results, [judged] * len(results))
            for profile, limits in by_profile.items():
                for name, limit in zip(output_names(len(results)), limits, strict=True):
                    tail = f"/{profile}" if profile else ""
                    y = tensors[f"{i}/{name}"]
                    tensors[f"{i}/{name}/bound/{dtype}{tail}"] = np.broadcast_to(limit, y.shape)
    return tensors


def output_types(function: str, call: Call) -> list[str]:
    """The types that an output may have."""
    given = [a.dtype.name for a in call.arrays()]
    if _cotangents(call):
        return [_named(call, function)[call.by].dtype.name]
    if function in INTEGERS:
        return ["int64", "int32"]
    if function in LIKE_FIRST:
        return given[:1]
    if function in AT_LEAST:
        least = given[AT_LEAST[function]]
        return [least, *(t for t in FLOATS if WIDTH[t] > WIDTH[least])]
    return list(FLOATS)


def entry(case: Case, dtype: str, files: dict[str, dict[str, str]]) -> dict[str, Any]:
    """A check's part of the manifest."""
    calls = case.calls(dtype)
    return {
        "id": case.check_id(dtype),
        "function": case.function,
        "case": case.name,
        "dtype": dtype,
        "note": case.note,
        "flags": list(_flags(calls)),
        **files,
        "calls": [_call(i, call, case.function) for i, call in enumerate(calls)],
    }


def signature(function: str) -> dict[str, Any]:
    """The parameters of a function with their defaults."""
    parameters = inspect.signature(getattr(posref, function)).parameters.values()
    return {
        p.name: {} if p.default is p.empty else {"default": _plain(p.default)} for p in parameters if p.name != "out"
    }


def _call(i: int, call: Call, function: str) -> dict[str, Any]:
    arguments = {
        name: {"tensor": f"{i}/{name}"} if isinstance(value, np.ndarray) else {"value": _plain(value)}
        for name, value in _named(call, function).items()
    }
    results = [np.shape(y) for y in expected_outputs(function, call)]
    types = output_types(function, call)
    outputs = {
        name: {"tensor": f"{i}/{name}", "shape": list(shape), "dtypes": types}
        for name, shape in zip(output_names(len(results)), results, strict=True)
    }
    return {"arguments": arguments, "outputs": outputs, **({"by": call.by} if call.by else {})}


def _flags(calls: list[Call]) -> Iterator[str]:
    if len(calls) > 1:
        yield "several-calls"
    if any(_cotangents(call) for call in calls):
        yield "gradient"
    if any(not a.size for call in calls for a in call.arrays()):
        yield "empty"


def _named(call: Call, function: str) -> dict[str, Any]:
    """Arguments by name; the cotangents of a call that is differentiated are among them."""
    given = inspect.signature(getattr(posref, function)).bind(*call.args, **call.kwargs).arguments
    return {**given, **_cotangents(call)}


def _cotangents(call: Call) -> dict[str, Array]:
    if call.cotangent is None:
        return {}
    given = call.cotangent if isinstance(call.cotangent, tuple) else (call.cotangent,)
    named = {"cotangent" if len(given) == 1 else f"cotangent_{n}": c for n, c in zip(TWO, given, strict=False)}
    return named if call.again is None else {**named, "cotangent_of_gradient": call.again}


def _plain(value: Any) -> Any:
    """JSON for a parameter; a record says its type."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"type": type(value).__name__, **{k: _plain(v) for k, v in asdict(value).items()}}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value
