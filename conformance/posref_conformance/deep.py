"""Generated checks: Hypothesis makes shapes and parameters, the same judge judges. One check per function and type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import posref
from posref_conformance.backend import Backend, BackendError, missing_keyword
from posref_conformance.case import FLOATS, Call, Inputs, one
from posref_conformance.drawing import Draw
from posref_conformance.generators import GENERATORS
from posref_conformance.verdict import FAILED, NOT_IMPLEMENTED, PASSED, Result, run

EXAMPLES = 60


def deep_ids() -> list[str]:
    """Ids of all generated checks: ``function/deep/dtype``."""
    return [f"{function}/deep/{dtype}" for function, (dtypes, _) in GENERATORS.items() for dtype in dtypes]


def deep_checks(backend: Backend) -> list[str]:
    """Those whose types a backend has."""
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise BackendError("--deep needs Hypothesis: pip install hypothesis") from None
    there = {"default", *(d for d in backend.arrays.dtypes if d not in FLOATS or d in backend.dtypes)}
    return [check for check in deep_ids() if check.rpartition("/")[2] in there]


def run_deep(backend: Backend, check: str) -> Result:
    """Search for an example on which the backend is wrong, and give the smallest one that is found."""
    from hypothesis import HealthCheck, Phase, given, reject, settings
    from hypothesis import strategies as st
    from hypothesis.errors import Unsatisfiable

    function, _, dtype = check.split("/")
    worst = Result(check, NOT_IMPLEMENTED, "no generated example could be run")
    failure: Result | None = None  # of the last example that failed: once Hypothesis is done, the smallest
    if backend.function(function) is None:
        return worst

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,  # the same examples every time: a failure can be reproduced by its id
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def search(data: st.DataObject) -> None:
        nonlocal worst, failure
        call = _draw(function, dtype, data.draw, backend)
        if call is None:
            reject()
        result = run(backend, one(function, "deep", lambda i: call(i)), dtype)
        if result.status == NOT_IMPLEMENTED:
            reject()  # and another one is drawn in its place
        if result.status == FAILED:
            failure = _with_example(result, call(_inputs(dtype)))
            raise AssertionError
        if worst.status != PASSED or (result.worst or 0) > (worst.worst or 0):
            worst = result

    try:
        search()
    except Unsatisfiable:  # all of them were rejected
        pass
    except Exception:  # the assertion, or Hypothesis' word for an example that fails only the first time
        if failure is None:
            raise
    return failure or worst


def _inputs(dtype: str) -> Inputs:
    return Inputs(dtype, np.random.default_rng(0))


def _with_example(result: Result, call: Call) -> Result:
    shown = [_short(a) for a in call.args] + [f"{k}={_short(v)}" for k, v in call.kwargs.items()]
    return replace(result, reason=f"{result.reason} for ({', '.join(shown)})")


def _short(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size <= 4 and value.dtype.kind in "iu":
        return repr(value.tolist())
    return f"{value.dtype.name}{list(value.shape)}"


def _draw(function: str, dtype: str, draw: Draw, backend: Backend) -> Callable[[Inputs], Call] | None:
    """Parameters are drawn once; the arrays come from them and a seed, so that they can be built twice.

    Keywords that the backend lacks are left at their defaults, if the call has a meaning without them.
    """
    from hypothesis import strategies as st

    build, own = GENERATORS[function][1](draw, dtype), backend.function(function)
    seed = draw(st.integers(0, 2**16))

    def known(i: Inputs) -> Call:
        call = build(Inputs(i.dtype, np.random.default_rng(seed)))
        kwargs = dict(call.kwargs)
        while lacking := missing_keyword(own, kwargs):
            del kwargs[lacking]
        return replace(call, kwargs=kwargs)

    full = build(Inputs(dtype, np.random.default_rng(seed)))
    if full.kwargs.keys() != known(_inputs(dtype)).kwargs.keys():
        try:
            getattr(posref, function)(*full.args, **known(_inputs(dtype)).kwargs)
        except (TypeError, ValueError):
            return None
    return known
