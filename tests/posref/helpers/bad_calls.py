"""Bad calls: tables of them, and what a call that fails owes.

Each table has its file beside the tests of its functions: tests/posref/<group>/test_bad_input.py.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import posref

NAN, INF = float("nan"), float("inf")
ONES = np.ones
Args = dict[str, Any]
Bad = tuple[str, Args, type[Exception], str]  # function, what is changed of a call that works, the error, its message


class Refuses:
    """A foreign array that does not become NumPy's, as torch's with a gradient."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("I have a gradient.\nDetach me. Please")

    def __repr__(self) -> str:
        return "a foreigner"


def several(functions: str, name: str, *cases: tuple[Any, type[Exception], str]) -> list[Bad]:
    """The same bad values for one argument of several functions. Messages are told from the argument's name on."""
    return [(f, {name: value}, error, f"{name} {says}") for f in functions.split() for value, error, says in cases]


def a_number(functions: str, name: str, wanted: str, *too_small: float) -> list[Bad]:
    """No number, not finite, or too small."""
    wrong_type = [(value, TypeError, f"must be {wanted}, got {value!r}") for value in ("4", True, [4.0], 1j)]
    wrong = [(value, ValueError, f"must be {wanted}, got {value!r}") for value in (NAN, INF, -INF, *too_small)]
    return several(functions, name, *wrong_type, *wrong)


def an_integer(functions: str, name: str, least: int, *too_small: int) -> list[Bad]:
    wanted = f"must be an integer >= {least}, got"
    wrong_type = [(value, TypeError, f"{wanted} {value!r}") for value in ("4", True, 4.0, None, [4])]
    return several(functions, name, *wrong_type, *((value, ValueError, f"{wanted} {value!r}") for value in too_small))


def a_flag(functions: str, name: str) -> list[Bad]:
    return several(
        functions, name, *((v, TypeError, f"must be True or False, got {v!r}") for v in (1, 0, None, "False"))
    )


def a_word(functions: str, name: str, *options: str) -> list[Bad]:
    wanted = f"must be one of {', '.join(map(repr, options))}, got"
    return several(
        functions, name, *((v, ValueError, f"{wanted} {v!r}") for v in ("neox", "")), (1, TypeError, f"{wanted} 1")
    )


RAGGED = "must be an array of numbers, got [[1], [1, 2]] (setting an array element with a sequence)"


def numbers(functions: str, name: str) -> list[Bad]:
    """No array of real numbers at all."""
    return several(
        functions,
        name,
        (["1"], TypeError, "must be an array of real numbers, got type <U1"),
        ([1j], TypeError, "must be an array of real numbers, got type complex128"),
        ([True], TypeError, "must be an array of real numbers, got type bool"),
        (None, TypeError, "must be an array of real numbers, got type object"),
        ([[1], [1, 2]], TypeError, RAGGED),
        (Refuses(), TypeError, "must be an array of numbers, got a foreigner (I have a gradient)"),
    )  # fmt: skip


def positions(functions: str, name: str, *, whole: bool = False) -> list[Bad]:
    """No positions: they are real, finite, and exact where they are integers."""
    kind = "integers" if whole else "real numbers"
    far = "must be at most 2**53 in magnitude, where integers are exact, got"
    cases: list[tuple[Any, type[Exception], str]] = [
        (["1"], TypeError, f"must be {kind}, got type <U1"),
        ([1j], TypeError, f"must be {kind}, got type complex128"),
        ([True], TypeError, f"must be {kind}, got type bool"),
        (None, TypeError, "must be real numbers, got None"),
        ([[1], [1, 2]], TypeError, RAGGED),
        (Refuses(), TypeError, "must be an array of numbers, got a foreigner (I have a gradient)"),
        ([0, 2**53 + 1], ValueError, f"{far} {2**53 + 1}"),
        (np.array([-(2**62), 5]), ValueError, f"{far} {-(2**62)}"),
        ([2**64], ValueError, f"{far} {2**64}"),
    ]
    if whole:
        cases += [(value, TypeError, "must be integers, got type float64") for value in ([1.0], [NAN])]
    else:
        cases += [([0, value], ValueError, "must be finite, got NaN or infinity") for value in (NAN, INF, -INF)]
    return several(functions, name, *cases)


# --- what a call that fails owes -------------------------------------------------------------------------------------


def check(valid: dict[str, Args], bad: Bad) -> None:
    """The error and its message, to the letter; nothing half-done: `out` stays as it was, and so does every input."""
    function, changes, error, says = bad
    args = valid[function] | changes
    before = copy.deepcopy(args)
    with pytest.raises(error) as caught:
        getattr(posref, function)(**args)
    assert type(caught.value) is error
    assert str(caught.value) == says
    assert all(same(args[name], before[name]) for name in args)
    assert lacking(says, changes) == [] or function == "rope"  # which passes on to rope_apply


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype) and a.tobytes() == b.tobytes()
    return a is b or repr(a) == repr(b)


def lacking(says: str, changes: Args) -> list[str]:
    """What a message lacks."""
    wanted = {
        "one line": "\n" not in says and len(says) <= 200,
        "the argument's name": any(re.search(rf"\b{name}\b", says) for name in changes),
        "what came": re.search(r"\bgot\b| of shape ", says),
        "what was expected": re.search(r"\bmust\b", says),
    }
    return [part for part, there in wanted.items() if not there]


def names(cases: list[Bad]) -> list[str]:
    """Ids for pytest."""
    return [f"{function}-{'-'.join(changes)}-{i}" for i, (function, changes, *_) in enumerate(cases)]


# --- that no argument escapes ----------------------------------------------------------------------------------------


def public(group: str) -> dict[str, Callable[..., Any]]:
    """The public functions and records of one package or module of posref."""
    found = {name: getattr(posref, name) for name in posref.__all__}
    return {n: f for n, f in found.items() if getattr(f, "__module__", "").startswith(f"posref.{group}")}


def arguments(functions: Iterable[tuple[str, Callable[..., Any]]]) -> set[tuple[str, str]]:
    return {(name, p) for name, function in functions for p in inspect.signature(function).parameters}


def covered(cases: list[Bad]) -> set[tuple[str, str]]:
    """Arguments that are bad on their own in some case."""
    return {(function, name) for function, changes, *_ in cases if len(changes) == 1 for name in changes}


# --- the tests of a table --------------------------------------------------------------------------------------------


def table_tests(valid: dict[str, Args], cases: list[Bad], *modules: str) -> tuple[Callable[..., None], ...]:
    """Each call fails as its line says; no argument of the functions of ``modules`` escapes; what is changed works."""
    functions = {name: function for module in modules for name, function in public(module).items()}

    @pytest.mark.parametrize("bad", cases, ids=names(cases))
    def test_bad_input(bad: Bad) -> None:
        check(valid, bad)

    def test_no_argument_escapes() -> None:
        assert arguments(functions.items()) == covered(cases)

    @pytest.mark.parametrize("function", functions)
    def test_the_unchanged_call_works(function: str) -> None:
        assert getattr(posref, function)(**copy.deepcopy(valid[function])) is not None

    return test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works
