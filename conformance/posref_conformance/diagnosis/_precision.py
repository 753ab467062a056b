"""Results that are right, but less exact than what was given: made in a narrower type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from posref_conformance import verdict
from posref_conformance.case import Call, numpy_type
from posref_conformance.diagnosis._outcome import Failure, Values

NARROWER = {"float64": ("float32", "float16", "bfloat16"), "float32": ("float16", "bfloat16")}  # the best one first
TYPES = tuple(dict.fromkeys(name for names in NARROWER.values() for name in names))
TELLING = 2.0**-5  # of a narrower type's bound: what is far below it was not made in that type


def as_exact_as(kind: str, failure: Failure) -> float:
    """The worst error as a multiple of its bound if the same calls came on arrays of that type; else infinite."""
    if failure.seen.event or kind not in NARROWER.get(_given(failure), ()) or not failure.is_wrong():
        return np.inf
    calls = zip(failure.asked.calls, failure.right, failure.seen.results, strict=False)
    return max(_worst(kind, failure.asked.case.function, *call) for call in calls)


def _given(failure: Failure) -> str:
    """The widest floating type among the arguments."""
    names = {a.dtype.name for call in failure.asked.calls for a in call.arrays()}
    return next((name for name in NARROWER if name in names), "")


def _worst(kind: str, name: str, call: Call, right: tuple[Values, ...], seen: tuple[Values, ...]) -> float:
    if [y.shape for y in right] != [y.shape for y in seen]:
        return np.inf

    def narrowed(value: Any) -> Any:
        floating = isinstance(value, np.ndarray) and value.dtype.name in NARROWER
        return value.astype(numpy_type(kind)) if floating else value

    kwargs = {key: narrowed(value) for key, value in call.kwargs.items()}
    with np.errstate(all="ignore"):
        narrow = replace(call, args=tuple(map(narrowed, call.args)), kwargs=kwargs)
        profiles = verdict.budget(name, narrow, list(right), [kind] * len(right))
        loosest = profiles[next(reversed(profiles))]
        ratios = [
            np.where(z == y, 0.0, np.abs(z.astype(np.float64) - y) / bound)
            for y, z, bound in zip(right, seen, loosest, strict=True)
        ]
    return max((float(np.max(np.nan_to_num(r, nan=np.inf), initial=0.0)) for r in ratios), default=np.inf)
