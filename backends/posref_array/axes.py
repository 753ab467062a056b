"""Rotary on several axes: maps, frequencies, tables, grids, and what is no rotation. See posref for the formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from posref import Scaling
from posref._arguments import choice, integer, number
from posref._axes_arguments import (
    axis_rows,
    channel_pairs,
    grid_arguments,
    grid_divisors,
    map_arguments,
    mixed_shape,
    one_per_axis,
)
from posref_array._axis_maps import axis_order, frequencies
from posref_array._frequencies import factor_of, first_part, given
from posref_array._support import (
    Array,
    Namespace,
    compiling,
    default_float,
    device_of,
    host_copy,
    in_host_memory,
    lacks_float64,
    namespace,
    require_finite,
    require_floating,
    require_integers,
    require_real,
    working_type,
)
from posref_array._tables import _angle, _rounded, _values, cos_sin, cos_sin_of
from posref_array.rotary import LAYOUTS, _join, _split


def rope_axis_map(
    sections: Sequence[int], *, rule: str = "chunked", tail: int | None = None, device: Any = None, xp: Namespace
) -> Array:
    """The axis of each pair, (pairs,) integers: :func:`posref.rope_axis_map`."""
    return xp.asarray(axis_order(*map_arguments(sections, rule, tail)), device=device)


def rope_axes_inv_freq(
    axis_map: Array,
    *,
    base: float | Sequence[float] = 10000.0,
    ladder: str = "shared",
    scaling: Scaling | Sequence[Scaling | None] | None = None,
    seq_len: int | None = None,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """Frequencies of pairs on several axes, (pairs,), on the map's device: :func:`posref.rope_axes_inv_freq`."""
    xp = namespace(xp, axis_map)
    w = [first_part(w) for w in frequencies(_axes(axis_map, ladder, xp), base, ladder, scaling, seq_len, xp)]
    return xp.asarray(w, dtype=dtype or default_float(xp), device=device_of(axis_map))


def rope_axes_cos_sin(
    positions: Array, inv_freq: Array, axis_map: Array, *, attention_factor: float = 1.0, xp: Namespace | None = None
) -> tuple[Array, Array]:
    """Cos and sin, positions.shape[1:] + (pairs,), of inv_freq's type: :func:`posref.rope_axes_cos_sin`."""
    xp = namespace(xp, inv_freq)
    require_floating("inv_freq", inv_freq)
    _require_rows(positions, axis_map, xp)
    if tuple(inv_freq.shape) != tuple(axis_map.shape):
        shapes = f"axis_map's {tuple(axis_map.shape)}, got {tuple(inv_freq.shape)}"
        raise ValueError(f"inv_freq must have one frequency per pair, of shape {shapes}")
    a = number(attention_factor, "attention_factor")
    return _selected(lambda p, axis: cos_sin_of(p, inv_freq, a, inv_freq.dtype, xp), positions, axis_map, xp)


def rope_axes_table(
    positions: Array,
    axis_map: Array,
    *,
    base: float | Sequence[float] = 10000.0,
    ladder: str = "shared",
    scaling: Scaling | Sequence[Scaling | None] | None = None,
    seq_len: int | None = None,
    attention_factor: float | None = None,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> tuple[Array, Array]:
    """Cos and sin, positions.shape[1:] + (pairs,), made in float64 and cast once: :func:`posref.rope_axes_table`."""
    xp = namespace(xp, positions)
    _require_rows(positions, axis_map, xp)
    axes, dtype = _axes(axis_map, ladder, xp), dtype or default_float(xp)
    w = frequencies(axes, base, ladder, scaling, seq_len, xp)
    if attention_factor is None:
        own = [factor_of(s, xp, seq_len) for s in one_per_axis(scaling, "scaling", max(axes) + 1)]
    else:
        own = [given(number(attention_factor, "attention_factor"), xp)]
    return _selected(lambda p, axis: cos_sin(p, w, own[min(axis, len(own) - 1)], dtype, xp), positions, axis_map, xp)


def rope_mixed_cos_sin(positions: Array, frequencies: Array, *, xp: Namespace | None = None) -> tuple[Array, Array]:
    """Cos and sin of angles that sum over the axes, of the frequencies' type: :func:`posref.rope_mixed_cos_sin`."""
    xp = namespace(xp, frequencies)
    require_real("positions", positions)
    require_floating("frequencies", frequencies)
    require_finite("positions", positions, xp)
    mixed_shape(positions.shape, frequencies.shape)
    if not lacks_float64(xp, device_of(positions)):
        return _mixed(positions, frequencies, frequencies.dtype, xp)
    import array_api_compat.numpy

    there = _mixed(host_copy(positions, xp), host_copy(frequencies, xp), np.float32, array_api_compat.numpy)
    device = device_of(positions)
    cos, sin = (xp.astype(xp.asarray(t, device=device), frequencies.dtype, copy=False) for t in there)
    return cos, sin


def rope_apply_channels(
    x: Array, cos: Array, sin: Array, *, layout: str = "half", offset: int = 0, xp: Namespace | None = None
) -> Array:
    """No rotation unless the angles of each pair are equal, like x: :func:`posref.rope_apply_channels`."""
    xp = namespace(xp, x)
    for name, array in (("x", x), ("cos", cos), ("sin", sin)):
        require_floating(name, array)
    choice(layout, "layout", LAYOUTS)
    end = offset + 2 * channel_pairs(x.shape, cos.shape, sin.shape, integer(offset, "offset", least=0))
    work = working_type(xp, x, cos, sin)
    a, b = _split(xp.astype(x[..., offset:end], work, copy=False), layout)
    (c_a, c_b), (s_a, s_b) = (_split(xp.astype(t, work, copy=False), layout) for t in (cos, sin))
    block = xp.astype(_join(a * c_a - b * s_a, a * s_b + b * c_b, layout, xp), x.dtype, copy=False)
    return xp.concat([x[..., :offset], block, x[..., end:]], axis=-1)


def grid_positions(
    sizes: Sequence[int],
    *,
    block: Sequence[int] | None = None,
    start: int | Sequence[int] = 0,
    device: Any = None,
    xp: Namespace,
) -> Array:
    """Positions of a grid's cells, (axes, cells) integers: :func:`posref.grid_positions`."""
    cells, inner, first = grid_arguments(sizes, block, start)
    radix = [n // b for n, b in zip(cells, inner, strict=True)] + inner  # of the blocks, then of the cells in one
    j = xp.arange(math.prod(cells), device=device)
    digits = [j // max(1, math.prod(radix[d + 1 :])) % max(1, n) for d, n in enumerate(radix)]
    axes = range(len(cells))
    return xp.stack([digits[a] * inner[a] + digits[len(cells) + a] + first[a] for a in axes])


def grid_coordinates(
    sizes: Sequence[int],
    *,
    block: Sequence[int] | None = None,
    normalize: str = "separate",
    dtype: Any = None,
    device: Any = None,
    xp: Namespace,
) -> Array:
    """Coordinates of the centres of a grid's cells from -1 to 1, (axes, cells): :func:`posref.grid_coordinates`."""
    j, dtype = grid_positions(sizes, block=block, device=device, xp=xp), dtype or default_float(xp)
    work = xp.float64 if dtype == xp.float64 else xp.float32
    n = xp.asarray([[d] for d in grid_divisors(list(sizes), normalize)], device=device)
    return xp.astype(xp.astype(2 * j + 1 - n, work) / xp.astype(n, work), dtype, copy=False)


def _axes(axis_map: Array, ladder: str, xp: Namespace) -> list[int]:
    """The map on the host. The shared ladder does not look at it, and so waits for no device."""
    _require_map(axis_map, xp)
    if ladder == "shared":
        return [0] * axis_map.shape[0]
    return [int(a) for a in host_copy(axis_map, xp)]


def _require_map(axis_map: Array, xp: Namespace) -> None:
    require_integers("axis_map", axis_map)
    if axis_map.ndim != 1 or not axis_map.shape[0]:
        raise ValueError(f"axis_map must be a vector with at least one pair, got shape {tuple(axis_map.shape)}")
    if in_host_memory(xp, axis_map) and not compiling(xp) and int(xp.min(axis_map)) < 0:
        raise ValueError(f"axis_map must be axes from 0 on, got {int(xp.min(axis_map))}")


def _require_rows(positions: Array, axis_map: Array, xp: Namespace) -> None:
    """Require a row for every axis; where looking at the map would cost something, for one."""
    require_real("positions", positions)
    _require_map(axis_map, xp)
    looks = in_host_memory(xp, axis_map) and not compiling(xp)
    axis_rows(positions.shape, int(xp.max(axis_map)) + 1 if looks else 1)


def _selected(
    table: Callable[[Array, int], tuple[Array, Array]], positions: Array, axis_map: Array, xp: Namespace
) -> tuple[Array, Array]:
    """Of every row's tables the columns of its pairs. A pair without a row stays NaN."""
    cos, sin = table(positions[0, ...], 0)
    cos, sin = (xp.where(axis_map == 0, t, xp.full_like(t, math.nan)) for t in (cos, sin))
    for axis in range(1, positions.shape[0]):
        c, s = table(positions[axis, ...], axis)
        cos, sin = xp.where(axis_map == axis, c, cos), xp.where(axis_map == axis, s, sin)
    return cos, sin


def _mixed(positions: Array, frequencies: Array, dtype: Any, xp: Namespace) -> tuple[Array, Array]:
    """Angles as sums of two float64, as in _tables: the products' errors and those of the sums are carried along."""
    high: Array = 0.0
    low: Array = 0.0
    for a in range(positions.shape[0]):
        w = xp.astype(frequencies[a, ...], xp.float64)[..., None, :]
        product, error = _angle(positions[a, ...], w, None, xp)  # (..., sequence, pairs)
        total = high + product
        back = total - high
        high, low = total, low + error + ((high - (total - back)) + (product - back))
    cos, sin = _values(high, xp.where(abs(low) < 2.0**-4, low, 0.0), 1.0, xp)
    return _rounded(cos, dtype, xp), _rounded(sin, dtype, xp)
