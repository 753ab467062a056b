r"""Budgets for factors on the logits. u is the working type's roundoff, y the exact result; a cast to 16 bits is added.

A logarithm. ln(m + 1) with m and the sum rounded: 2 u absolute, then 2 u relative by the library. A quotient or product with a
second logarithm or a factor: 3 u relative.

    log-n          ln n / ln L:               u (6 |y| + 2 / ln L)
    SSMax          s ln n + b:                u (6 |s ln n| + 2 |s| + |b| + |y|)
    Llama 4        1 + c ln(1 + steps):       u (6 |c ln| + 1.5 |y|), where the number of steps is right: an integer, which has no
                                              roundings. Positions that float32 cannot tell apart need integers or float64.
    Inkling        1 + alpha ln((m + 1) / L): u (6 |alpha ln| + 3 |alpha| + 1.5 |y|), the quotient being rounded twice
    length         0.1 m ln(S / L) + 1:       u (8 |y| + 2 m), the quotient being rounded before the logarithm

In log-n the two sides of the clip agree at n = L, so that neither side is wrong there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref_conformance.case import Call
from posref_conformance.roundings import ONE, Bounds, last_rounding, values_of, working_roundoff


def _log_n(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    y = expected[0]
    return {
        ONE: [working_roundoff(dtypes[0]) * (6 * np.abs(y) + 2 / np.log(call.args[1])) + last_rounding(dtypes[0], y)]
    }


def _ssmax(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    y, s = expected[0], np.abs(values_of(call, 1))[:, None]
    bias = np.abs(np.asarray(call.kwargs.get("bias", np.zeros(len(s)))).astype(np.float64))[:, None]
    term = s * np.log1p(values_of(call, 0))[..., None, :]
    return {ONE: [working_roundoff(dtypes[0]) * (6 * term + 2 * s + bias + np.abs(y)) + last_rounding(dtypes[0], y)]}


def _llama4(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    y = expected[0]
    return {ONE: [working_roundoff(dtypes[0]) * (6 * np.abs(y - 1) + 1.5 * np.abs(y)) + last_rounding(dtypes[0], y)]}


def _length(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    mscale = call.kwargs.get("mscale", 1.0)
    return {
        ONE: [
            working_roundoff(dtypes[0]) * (8 * np.abs(expected[0]) + 2 * mscale) + last_rounding(dtypes[0], expected[0])
        ]
    }


def _inkling(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    y, alpha = expected[0], abs(call.kwargs.get("alpha", 0.1))
    roundings = 6 * np.abs(y - 1) + 3 * alpha + 1.5 * np.abs(y)
    return {ONE: [working_roundoff(dtypes[0]) * roundings + last_rounding(dtypes[0], y)]}


BUDGETS: dict[str, Callable[[Call, list[NDArray[Any]], list[str]], Bounds]] = {
    "log_n_scale": _log_n,
    "ssmax_scale": _ssmax,
    "llama4_scale": _llama4,
    "inkling_scale": _inkling,
    "length_scale": _length,
}
