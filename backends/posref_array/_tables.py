"""Cos and sin of position times frequency: float32 tables that are the true values, rounded, for positions to 2^31.

An angle of size t in one float64 is off by t 2^-53, which a float32 table shows from 10^6 on. Here it is the sum of two:

    p w = high + low,      high = fl(p w1),      low = (p w1 - high) + p w2

with w = w1 + w2 to 106 bits and an exact difference in brackets (Dekker). The library's cos and sin reduce ``high`` by whole
turns as exactly as they can, and the addition theorem brings in ``low``, which is at most 2^-22 for angles to 2^31:

    cos(high + low) = cos high - sin high (low - low^3/6) - cos high low^2/2       up to low^4/24 < 2^-92

What remains is the library's own error of an ulp or two, and a rounding of the correction: DOUBT. It leaves about 2^-26 of the
entries open, too near to a tie of the result's type. Those few are settled by :mod:`posref.exact`, on the host: making a table
waits for its device anyway, for the frequencies come from there. Under a compiler or a transform, where there are no values to
look at, they may be the other neighbour.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from posref import exact
from posref_array._frequencies import Number, first_part, second_part
from posref_array._support import (
    Array,
    Namespace,
    compiling,
    device_of,
    float64_array,
    host_copy,
    lacks_float64,
    require_finite,
    require_real,
    type_name,
)

DOUBT = 2.0**-50  # relative, of a value and of the correction
BITS = {"bfloat16": 8, "float16": 11}


def cos_sin(
    positions: Array, frequencies: Sequence[Number], factor: Number, dtype: Any, xp: Namespace
) -> tuple[Array, Array]:
    """Both tables, positions.shape + (n,), for frequencies that are host numbers: Decimal to be exact, else float."""
    require_real("positions", positions)
    require_finite("positions", positions, xp)
    if lacks_float64(xp, device_of(positions)):
        return _on_host(positions, frequencies, factor, dtype, xp)
    w1, w2 = [first_part(w) for w in frequencies], [second_part(w) for w in frequencies]
    high, low = _angle(positions, float64_array(xp, w1, positions), float64_array(xp, w2, positions), xp)
    both = _values(high, low, float(factor), xp)
    tables = tuple(_rounded(t, dtype, xp) for t in both)
    if isinstance(factor, Decimal) and type_name(dtype) != "float64" and not compiling(xp):
        for i, (table, value) in enumerate(zip(tables, both, strict=True)):
            _settle(table, value, low, positions, frequencies, factor, i, xp)
    return tables[0], tables[1]


def cos_sin_of(positions: Array, inv_freq: Array, factor: float, dtype: Any, xp: Namespace) -> tuple[Array, Array]:
    """Both tables for frequencies that are an array, of any floating type."""
    require_real("positions", positions)
    require_finite("positions", positions, xp)
    if lacks_float64(xp, device_of(positions)):
        return _on_host(positions, host_copy(inv_freq, xp).astype(np.float64).tolist(), factor, dtype, xp)
    w = xp.astype(inv_freq, xp.float64)
    cos, sin = _values(*_angle(positions, w, None, xp), factor, xp)
    return _rounded(cos, dtype, xp), _rounded(sin, dtype, xp)


def _angle(positions: Array, w1: Array, w2: Array | None, xp: Namespace) -> tuple[Array, Array]:
    """Position times frequency as a sum of two float64."""
    p = xp.astype(positions, xp.float64)[..., None]
    p_upper = _upper_half(p * 2.0**-64) * 2.0**64  # so that no position is too large to be split
    w_upper = _upper_half(w1)
    p_lower, w_lower = p - p_upper, w1 - w_upper
    high = p * w1
    low = ((p_upper * w_upper - high) + p_upper * w_lower + p_lower * w_upper) + p_lower * w_lower
    if w2 is not None:
        low = low + p * w2
    return high, xp.where(abs(low) < 2.0**-4, low, 0.0)  # an angle beyond 2^49 stays the one float64


def _upper_half(x: Array) -> Array:
    """X rounded to 26 bits (Veltkamp)."""
    scaled = x * (2.0**27 + 1)
    return scaled - (scaled - x)


def _values(high: Array, low: Array, factor: float, xp: Namespace) -> tuple[Array, Array]:
    """Cos and sin of high + low, times the factor, in float64."""
    cos, sin = xp.cos(high), xp.sin(high)
    half_square = 0.5 * low * low
    odd = low - half_square * low * (1 / 3)
    c, s = cos - (sin * odd + cos * half_square), sin + (cos * odd - sin * half_square)
    return (c, s) if factor == 1.0 else (factor * c, factor * s)


def _rounded(value: Array, dtype: Any, xp: Namespace) -> Array:
    """A float64 value rounded once. Libraries reach 16-bit types by way of float32, which would round twice.

    So the value is rounded to as many bits beforehand (Veltkamp, with another split); float16's subnormals to multiples of 2^-24.
    """
    bits = BITS.get(type_name(dtype))
    if bits is not None:
        scaled = value * (2.0 ** (53 - bits) + 1)
        near = scaled - (scaled - value)
        if bits == BITS["float16"]:
            near = xp.where(abs(value) < 2.0**-14, (value + 1.5 * 2.0**28) - 1.5 * 2.0**28, near)
        value = near
    return xp.astype(value, dtype, copy=False)


def _settle(
    table: Array,
    value: Array,
    low: Array,
    positions: Array,
    frequencies: Sequence[Any],
    factor: Decimal,
    i: int,
    xp: Any,
) -> None:
    """Put right, in place, the entries of one table whose rounding the doubt leaves open; i is 0 for cos, 1 for sin."""
    if getattr(table, "requires_grad", False):
        return
    doubt = DOUBT * (abs(value) + float(factor) * abs(low))
    unlike = _rounded(value + doubt, table.dtype, xp) != _rounded(value - doubt, table.dtype, xp)
    with contextlib.suppress(RuntimeError):  # a transform, such as torch's vmap, that has no values to look at
        if not bool(xp.any(unlike)):
            return
        host = np.broadcast_to(host_copy(positions, xp).astype(np.float64)[..., None], unlike.shape)
        kind = np.dtype("float32") if type_name(table.dtype) == "float32" else host_copy(table[:0], xp).dtype
        with exact.real_arithmetic(host):
            for at in map(tuple, np.argwhere(host_copy(unlike, xp))):
                settled = exact.cos_sin(host[at], [frequencies[at[-1]]], factor, dtype=kind)[i]
                table[at] = float(settled[0])


def _on_host(
    positions: Array, frequencies: Sequence[Number], factor: Number, dtype: Any, xp: Namespace
) -> tuple[Array, Array]:
    """The same in NumPy, moved to the device that lacks float64."""
    import array_api_compat.numpy

    there = cos_sin(host_copy(positions, xp), frequencies, factor, np.float32, array_api_compat.numpy)
    cos, sin = (xp.astype(xp.asarray(t, device=device_of(positions)), dtype, copy=False) for t in there)
    return cos, sin
