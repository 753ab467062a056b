"""A single element that is off is caught, wherever in a result it stands."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import posref
from posref_array.on_numpy import backend as right
from posref_conformance.backend import describe
from posref_conformance.budgets import bounds
from posref_conformance.case import Call, Case
from posref_conformance.cases import CASES
from posref_conformance.verdict import FAILED, INTEGERS, run

CHECKED = [
    c for c in CASES if c.function not in INTEGERS and all(call.cotangent is None for call in c.calls(c.dtypes[0]))
]


@pytest.mark.parametrize("case", CHECKED, ids=lambda c: f"{c.function}/{c.name}")
def test_an_element_off_by_twice_its_bound_is_caught_in_every_column(case: Case) -> None:
    """In the last call of the case, another row for each column: nothing is averaged away, nothing left out."""
    dtype = "float32" if "float32" in case.dtypes else case.dtypes[0]
    last = case.calls(dtype)[-1]
    exact, returned = _outputs(posref, case, last), _outputs(right, case, last)
    loosest = list(bounds(case.function, last, exact, [y.dtype.name for y in returned]).values())[-1]
    for output, (wanted, bound) in enumerate(zip(exact, loosest, strict=True)):
        for column in range(min(wanted.shape[-1] if wanted.ndim else 1, 8)):
            if not wanted.size:
                continue
            rows = wanted.shape[:-1]
            at = (*np.unravel_index(7919 * column % int(np.prod(rows)), rows), column) if wanted.ndim else ()
            step = np.spacing(np.abs(wanted[at]).astype(returned[output].dtype))  # where the bound is 0
            off = wanted[at] + 2 * max(float(bound[at]), float(step))
            wrong = _replacing(getattr(right, case.function), len(case.calls(dtype)), output, at, off)
            backend = describe("one element off", SimpleNamespace(**{case.function: wrong}))
            assert run(backend, case, dtype).status == FAILED, (output, at)


def _outputs(namespace: Any, case: Case, call: Call) -> list[Any]:
    y = getattr(namespace, case.function)(*call.args, **{k: v for k, v in call.kwargs.items() if k != "out"})
    return [np.asarray(t) for t in (y if isinstance(y, tuple) else (y,))]


def _replacing(f: Callable[..., Any], call: int, output: int, at: tuple[Any, ...], value: float) -> Callable[..., Any]:
    """The right function, with one element of one output of one call replaced."""
    count = 0

    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        y = f(*args, **kwargs)
        if count != call:
            return y
        if isinstance(y, float):
            return value
        outputs = list(y) if isinstance(y, tuple) else [y]
        outputs[output] = outputs[output] if "out" in kwargs else outputs[output].copy()
        outputs[output][at] = value
        return tuple(outputs) if isinstance(y, tuple) else outputs[0]

    return function
