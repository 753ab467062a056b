"""The fixed cases, and how they are found by id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import numpy as np

from posref_conformance.backend import Backend
from posref_conformance.case import FLOATS, Case
from posref_conformance.cases import (
    additive,
    attention,
    augmented,
    axes,
    bias,
    content,
    decays,
    distance,
    features,
    gradients,
    gradients_content,
    gradients_relative,
    logits,
    relative,
    repeated,
    rotary,
    rotation,
    scalings,
    sizes,
    telling,
    windows,
)

_CASES: tuple[Case, ...] = (
    *rotary.CASES,
    *scalings.CASES,
    *rotation.CASES,
    *axes.CASES,
    *distance.CASES,
    *additive.CASES,
    *augmented.CASES,
    *features.CASES,
    *bias.CASES,
    *windows.CASES,
    *decays.CASES,
    *logits.CASES,
    *relative.CASES,
    *content.CASES,
    *attention.CASES,
    *sizes.CASES,
    *gradients.CASES,
    *gradients_content.CASES,
    *gradients_relative.CASES,
    *telling.CASES,
)
CASES = (*_CASES, *repeated.cases(_CASES))


def checks(backend: Backend, cases: Sequence[Case] = CASES) -> Iterator[tuple[Case, str]]:
    """Every case with every one of its types that a backend has, where its library can make the inputs."""
    there = set(backend.arrays.dtypes)
    for case in cases:
        for dtype in case.dtypes:
            if dtype in FLOATS and dtype not in backend.dtypes:
                continue
            calls = case.calls(dtype)
            needed = {a.dtype.name for call in calls for a in call.arrays() if a.dtype != np.bool_}
            differentiated = any(call.cotangent is not None for call in calls)
            if needed <= there and (backend.arrays.differentiates or not differentiated):
                yield case, dtype


def matches(check: str, patterns: Sequence[str]) -> bool:
    """Whether an id is meant by ``--only``: a function, an id, the beginning of one, or a pattern with ``*``."""
    return not patterns or any(
        check == p or check.startswith(p.rstrip("/") + "/") or fnmatchcase(check, p) for p in patterns
    )
