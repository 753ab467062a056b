"""Conformance checks of a function on a library, with the fault that makes them fail; arguments of bad calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from array_kit import Library

import posref_array
from posref_array import bind
from posref_conformance.backend import describe
from posref_conformance.cases import CASES, checks
from posref_conformance.verdict import FAILED, INTEGERS, PASSED, run


def floats(*shape: int) -> Callable[[Library], Any]:
    return lambda lib: lib.make(np.ones(shape), "float32")


def whole(*shape: int) -> Callable[[Library], Any]:
    return lambda lib: lib.make(np.ones(shape), "int64")


def booleans(*shape: int) -> Callable[[Library], Any]:
    return lambda lib: lib.make(np.ones(shape), "bool")


def numbers(*values: int) -> Callable[[Library], Any]:
    return lambda lib: lib.make(values, "int64")


def caller(good: dict[str, dict[str, Any]]) -> Callable[[Library, str, dict[str, Any]], Any]:
    """A function that calls one of posref_array with good arguments, some of them changed; what is callable makes an array."""

    def call(lib: Library, function: str, changed: dict[str, Any]) -> Any:
        given = {**good[function], **changed}
        made = {name: value(lib) if callable(value) else value for name, value in given.items()}
        return getattr(posref_array, function)(**made, xp=lib.xp)

    return call


def refused(call: Callable[[], Any], error: type[Exception], says: str) -> None:
    """Demand an error of exactly this type, in one line."""
    with pytest.raises(error, match=says) as caught:
        call()
    assert type(caught.value) is error
    assert len(str(caught.value).splitlines()) == 1


def failures(lib: Library, function: str, change: Callable[..., Any] | None = None) -> list[str]:
    """The fixed conformance checks that fail, of all types; with a function in the place of the library's."""
    backend = bind(lib.xp)
    if change is not None:
        setattr(backend, function, change(getattr(backend, function)))
    described = describe(lib.name, backend)
    results = [run(described, *c) for c in checks(described, [c for c in CASES if c.function == function])]
    assert results
    assert {r.status for r in results} <= {PASSED, FAILED}
    return [f"{r.id}: {r.reason} {r.where}" for r in results if r.status == FAILED]


def off(function: Callable[..., Any]) -> Callable[..., Any]:
    """The planted fault: results that are off by 2^-6 of themselves, or by one if they are integers."""

    def faulty(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        wrong = [t + 1 if function.func.__name__ in INTEGERS else t * (1 + 2.0**-6) for t in _all(result)]  # type: ignore[attr-defined]
        return tuple(wrong) if isinstance(result, tuple) else wrong[0]

    return faulty


def _all(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)
