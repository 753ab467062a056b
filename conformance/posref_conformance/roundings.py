"""The terms that error budgets are made of; where they come from is derived in :mod:`posref_conformance.budgets`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import posref
from posref_conformance.budgets_frequencies import scaling_roundings
from posref_conformance.case import Call

Bound = NDArray[np.float64]
Bounds = dict[str, list[Bound]]  # precision profile -> a bound per output; the tightest profile first
C = 4.0
ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
SMALLEST = {"float64": 0.0, "float32": 2.0**-149, "float16": 4 * 2.0**-25, "bfloat16": 2.0**-133}
PROFILES = ("float32", "table", "native")
ONE = ""  # the profile of functions that have only one


def working_roundoff(dtype: str) -> float:
    """u_w: that of float64 for float64 results, else of float32."""
    return ROUNDOFF["float64"] if dtype == "float64" else ROUNDOFF["float32"]


def last_rounding(dtype: str, y: NDArray[Any]) -> Bound:
    """The last rounding, where it is not already the working type's; half of it more for a cast from a rounded value."""
    rounding = 1.5 * ROUNDOFF[dtype] * np.abs(y) if dtype in ("float16", "bfloat16") else 0.0 * y
    return rounding + SMALLEST[dtype]


def values_of(call: Call, i: int) -> NDArray[np.float64]:
    """An argument of a call, as float64."""
    return np.asarray(call.args[i]).astype(np.float64)


def ladder_roundings(w: NDArray[np.float64]) -> NDArray[np.float64]:
    """c_w of a power of the base."""
    return 3 * np.abs(np.log(w)) + 2


def rope_frequencies(dim: int, kwargs: dict[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The frequencies that a call means, and c_w for each."""
    base, scaling = kwargs.get("base", 10000.0), kwargs.get("scaling")
    w = posref.rope_inv_freq(dim, base=base, scaling=scaling, seq_len=kwargs.get("seq_len"))
    plain = posref.rope_inv_freq(dim, base=base)
    c_w = ladder_roundings(np.minimum(np.where(w > 0, w, plain), plain))  # a frequency of 0 (p-RoPE) is exact
    return w, c_w + scaling_roundings(scaling, kwargs.get("seq_len"), w, plain)


def phase_error(theta: NDArray[Any], c_w: NDArray[Any] | float, u: float, g: float) -> Bound:
    """Error of g cos(theta) or g sin(theta) for an angle whose frequency is off by c_w u."""
    return np.asarray(u * (C + (C + c_w) * np.abs(theta)) * g)


def rotation_error(x: NDArray[Any], g: Bound, phase: Bound, call: Call, y: NDArray[Any], dtype: str) -> Bounds:
    """The three profiles, for channels in their place in the result; g and phase are (..., pairs)."""
    layout, offset = call.kwargs.get("layout", "half"), call.kwargs.get("offset", 0)
    pairs = g.shape[-1]
    source = pair_channels(pairs, layout, offset)
    target = pair_channels(pairs, call.kwargs.get("output_layout") or layout, offset)
    size = np.broadcast_to(np.abs(x[..., source[0]]) + np.abs(x[..., source[1]]), (*x.shape[:-1], pairs))
    u_w, u_o = working_roundoff(dtype), ROUNDOFF[dtype]
    result: Bounds = {}
    for profile, working, rounded in zip(PROFILES, (2 * u_w, 2 * u_w, 0.0), (0.0, u_o, 2.5 * u_o), strict=True):
        bound = np.zeros(x.shape)
        for channels in target:
            moved = (phase + (working + rounded) * g) * size
            bound[..., channels] = moved + 1.5 * u_o * np.abs(y[..., channels]) + SMALLEST[dtype]
        result[profile] = [bound]
    return result


def pair_channels(pairs: int, layout: str, offset: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Channels of the first and of the second members of all pairs."""
    i = np.arange(pairs)
    return (offset + i, offset + i + pairs) if layout == "half" else (offset + 2 * i, offset + 2 * i + 1)


def exact_equality(call: Call, expected: list[NDArray[Any]], dtypes: list[str]) -> Bounds:
    """Integers and look-ups: no error at all."""
    return {ONE: [np.zeros(y.shape) for y in expected]}
