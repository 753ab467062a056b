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
from posref_array._frequencies import attention_factor as _attention_factor
from posref_array._support import (
    Array,
    Namespace,
    default_float,
    device_of,
    host_copy,
    lacks_float64,
    namespace,
    require_finite,
    require_floating,
    require_integers,
    require_real,
    values_are_at_hand,
    working_type,
)
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
    w = frequencies(_axes(axis_map, ladder, xp), base, ladder, scaling, seq_len)
    return xp.asarray(w, dtype=dtype or default_float(xp), device=device_of(axis_map))


def rope_axes_cos_sin(
    positions: Array, inv_freq: Array, axis_map: Array, *, attention_factor: float = 1.0, xp: Namespace | None = None
) -> tuple[Array, Array]:
    """Cos and sin, positions.shape[1:] + (pairs,), of inv_freq's type: :func:`posref.rope_axes_cos_sin`."""
    xp = namespace(xp, inv_freq)
    require_floating("inv_freq", inv_freq)
    p = _by_pair(positions, axis_map, xp)
    if tuple(inv_freq.shape) != tuple(axis_map.shape):
        shapes = f"axis_map's {tuple(axis_map.shape)}, got {tuple(inv_freq.shape)}"
        raise ValueError(f"inv_freq must have one frequency per pair, of shape {shapes}")
    return _tables(_turned, (p, inv_freq), [number(attention_factor, "attention_factor")], inv_freq.dtype, xp)


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
    p, axes = _by_pair(positions, axis_map, xp), _axes(axis_map, ladder, xp)
    w = frequencies(axes, base, ladder, scaling, seq_len)
    if attention_factor is not None:
        factors = [number(attention_factor, "attention_factor")]
    elif ladder == "per_axis":
        own = [_attention_factor(s) for s in one_per_axis(scaling, "scaling", max(axes) + 1)]
        factors = [own[a] for a in axes] if len(set(own)) > 1 else own[:1]
    else:
        factors = [_attention_factor(scaling)]  # type: ignore[arg-type]  # it is one: frequencies has seen to that
    return _tables(_turned, (p, np.asarray(w)), factors, dtype or default_float(xp), xp)


def rope_mixed_cos_sin(positions: Array, frequencies: Array, *, xp: Namespace | None = None) -> tuple[Array, Array]:
    """Cos and sin of angles that sum over the axes, of the frequencies' type: :func:`posref.rope_mixed_cos_sin`."""
    xp = namespace(xp, frequencies)
    require_real("positions", positions)
    require_floating("frequencies", frequencies)
    require_finite("positions", positions, xp)
    mixed_shape(positions.shape, frequencies.shape)
    return _tables(_mixed, (positions, frequencies), [1.0], frequencies.dtype, xp)


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
    if values_are_at_hand(xp) and int(xp.min(axis_map)) < 0:
        raise ValueError(f"axis_map must be axes from 0 on, got {int(xp.min(axis_map))}")


def _by_pair(positions: Array, axis_map: Array, xp: Namespace) -> Array:
    """The position of each pair, (..., pairs)."""
    require_real("positions", positions)
    require_finite("positions", positions, xp)
    _require_map(axis_map, xp)
    axis_rows(positions.shape, int(xp.max(axis_map)) + 1 if values_are_at_hand(xp) else 1)
    try:
        return xp.moveaxis(xp.take(positions, axis_map, axis=0), 0, -1)
    except IndexError:  # torch's on the CPU; a device would end in an assertion
        rows = positions.shape[0]
        raise IndexError(f"axis_map must be axes in 0 .. {rows - 1}, the rows of positions, got another one") from None


def _turned(xp: Namespace, p: Array, w: Array) -> Array:
    return p * w


def _mixed(xp: Namespace, p: Array, f: Array) -> Array:
    terms = [p[a, ...][..., :, None] * f[a, ...][..., None, :] for a in range(p.shape[0])]  # (..., sequence, pairs)
    return sum(terms[1:], terms[0])


def _tables(
    angle: Callable[..., Array], arrays: tuple[Array, Array], factors: list[float], dtype: Any, xp: Namespace
) -> tuple[Array, Array]:
    """Cos and sin of an angle that is formed in float64, times one factor or one per pair, cast once."""
    device = device_of(arrays[0])
    if lacks_float64(xp, device):
        t = angle(np, *(host_copy(a, xp).astype(np.float64) for a in arrays))
        on_host = [(np.asarray(factors) * f(t)).astype(np.float32) for f in (np.cos, np.sin)]
        cos, sin = (xp.astype(xp.asarray(y, device=device), dtype, copy=False) for y in on_host)
        return cos, sin
    t = angle(xp, *(_as_float64(a, device, xp) for a in arrays))
    cos, sin = xp.cos(t), xp.sin(t)
    if factors != [1.0]:
        gain = xp.asarray(factors, dtype=xp.float64, device=device)
        cos, sin = gain * cos, gain * sin
    return xp.astype(cos, dtype, copy=False), xp.astype(sin, dtype, copy=False)


def _as_float64(array: Array, device: Any, xp: Namespace) -> Array:
    if isinstance(array, np.ndarray):  # the host's, where the library is another
        return xp.asarray(array, dtype=xp.float64, device=device)
    return xp.astype(array, xp.float64, copy=False)
