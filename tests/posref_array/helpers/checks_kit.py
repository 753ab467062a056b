"""Conformance checks of a function on a library, with the fault that makes them fail; arguments of bad calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from array_kit import LIBRARIES, Library

import posref_array
from posref_array import bind
from posref_conformance.backend import describe
from posref_conformance.cases import CASES, checks
from posref_conformance.verdict import FAILED, INTEGERS, PASSED, run

Good = dict[str, dict[str, Any]]  # arguments of calls that work; what is callable makes an array of a library
Bad = list[
    tuple[str, dict[str, Any], type[Exception], str]
]  # function, what is changed of them, the error, its message


def floats(*shape: int) -> Callable[[Library], Any]:
    return lambda lib: lib.make(np.ones(shape), "float32")


def whole(*shape: int) -> Callable[[Library], Any]:
    return lambda lib: lib.make(np.ones(shape), "int64")


def booleans(*shape: int) -> Callable[[Library], Any]:
    return lambda lib: lib.make(np.ones(shape), "bool")


def numbers(*values: int) -> Callable[[Library], Any]:
    return lambda lib: lib.make(values, "int64")


def caller(good: Good) -> Callable[[Library, str, dict[str, Any]], Any]:
    """A function that calls one of posref_array with good arguments, some of them changed."""

    def call(lib: Library, function: str, changed: dict[str, Any]) -> Any:
        given = {**good[function], **changed}
        made = {name: value(lib) if callable(value) else value for name, value in given.items()}
        called = getattr(posref_array, function)
        return called(**made, xp=lib.xp) if "xp" in inspect.signature(called).parameters else called(**made)

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


def on_every_library(functions: Iterable[str], good: Good, bad: Bad) -> tuple[Callable[..., None], ...]:
    """Functions pass their checks, and fail them when they are off; the good calls work, and the bad ones are refused."""
    call = caller(good)
    each = pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)

    @pytest.mark.parametrize("function", functions)
    @each
    def test_values(lib: Library, function: str) -> None:
        assert failures(lib, function) == []
        assert failures(lib, function, off) != []

    @pytest.mark.parametrize("function", good)
    @each
    def test_the_calls_that_are_changed_work(lib: Library, function: str) -> None:
        call(lib, function, {})

    @each
    @pytest.mark.parametrize(
        ("function", "changed", "error", "says"), bad, ids=[f"{b[0]}-{i}" for i, b in enumerate(bad)]
    )
    def test_bad_input(lib: Library, function: str, changed: dict[str, Any], error: type[Exception], says: str) -> None:
        refused(lambda: call(lib, function, changed), error, says)

    return test_values, test_the_calls_that_are_changed_work, test_bad_input


def _all(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)
