"""Position ids, and coordinates of pixels among padding. See posref for the rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref._additive_arguments import optional_integer
from posref._arguments import boolean, integer, number
from posref_array._support import (
    Array,
    Namespace,
    default_float,
    device_of,
    host_copy,
    lacks_float64,
    namespace,
    require_integers,
    type_name,
    values_are_at_hand,
    widest_integer,
)


def cu_seqlens_positions(cu_seqlens: Array, *, starts: Array | None = None, xp: Namespace | None = None) -> Array:
    """Each sequence counts anew, (tokens,): :func:`posref.cu_seqlens_positions`. Waits for a device: values make the shape."""
    xp = namespace(xp, cu_seqlens)
    require_integers("cu_seqlens", cu_seqlens)
    if cu_seqlens.ndim != 1 or not cu_seqlens.shape[0]:
        raise ValueError(f"cu_seqlens must be a vector with at least one entry, got shape {tuple(cu_seqlens.shape)}")
    ends = host_copy(cu_seqlens, xp).astype(np.int64)
    if ends[0]:
        raise ValueError(f"cu_seqlens must start with 0, got {ends[0]}")
    lengths = ends[1:] - ends[:-1]
    if (lengths < 0).any():
        raise ValueError("cu_seqlens must not fall, got an entry below the one before it")
    firsts = [0] * len(lengths)
    if starts is not None:
        require_integers("starts", starts)
        if tuple(starts.shape) != lengths.shape:
            raise ValueError(f"starts must be ({len(lengths)},), one per sequence, got shape {tuple(starts.shape)}")
        firsts = host_copy(starts, xp).tolist()
    positions = [t for first, n in zip(firsts, lengths.tolist(), strict=True) for t in range(first, first + n)]
    device = device_of(cu_seqlens)
    return xp.asarray(positions, dtype=widest_integer(xp, device), device=device)


def mask_positions(
    mask: Array,
    *,
    first: int = 0,
    padding: int | None = 0,
    largest: int | None = None,
    restart: bool = False,
    xp: Namespace | None = None,
) -> Array:
    """Positions of tokens among padding, mask.shape, integers: :func:`posref.mask_positions`."""
    xp = namespace(xp, mask)
    there, start = _counted(mask, xp), integer(first, "first", least=-(2**53))
    filler, most = optional_integer(padding, "padding"), optional_integer(largest, "largest")
    if not mask.ndim:
        raise ValueError("mask must have a sequence axis, got shape ()")
    counts = _sums(there, mask.ndim - 1, xp)
    if boolean(restart, "restart"):
        counts = counts - _largest_so_far(xp.where(there == 1, 0, counts), xp)
    positions = counts + (start - 1)
    if filler is not None:
        positions = xp.where(there == 1, positions, filler)
    return positions if most is None else xp.where(positions > most, most, positions)


def mask_coordinates(
    mask: Array,
    *,
    axes: int = 2,
    scale: float | None = None,
    shift: float = 0.0,
    eps: float = 1e-6,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """Coordinates of pixels among padding, (axes,) + mask.shape: :func:`posref.mask_coordinates`."""
    xp = namespace(xp, mask)
    there, n = _counted(mask, xp), integer(axes, "axes")
    s, h, small = None if scale is None else number(scale, "scale"), number(shift, "shift"), number(eps, "eps", above=0)
    if mask.ndim < n:
        raise ValueError(f"mask must have at least {n} axes, got shape {tuple(mask.shape)}")
    wide = xp.float32 if lacks_float64(xp, device_of(mask)) else xp.float64
    rows = []
    for axis in range(mask.ndim - n, mask.ndim):
        count = xp.astype(_sums(there, axis, xp), wide) - h
        total = xp.astype(xp.sum(there, axis=axis, keepdims=True), wide)
        rows.append(count if s is None else count * s / (total + small))
    return xp.astype(xp.stack(rows), dtype or default_float(xp), copy=False)


def _counted(mask: Array, xp: Namespace) -> Array:
    """A mask as numbers 0 and 1; others are refused where looking costs nothing."""
    if not hasattr(mask, "dtype") or not type_name(mask.dtype).startswith(("bool", "int", "uint")):
        got = getattr(mask, "dtype", type(mask).__name__)
        raise TypeError(f"mask must be booleans, or integers 0 and 1, got type {got}")
    numbers = xp.astype(mask, widest_integer(xp, device_of(mask)))
    if values_are_at_hand(xp) and bool(xp.any((numbers != 0) & (numbers != 1))):
        raise ValueError("mask must be booleans, or integers 0 and 1, got another number")
    return numbers


def _sums(numbers: Array, axis: int, xp: Namespace) -> Array:
    """Running sums. The older name first: array_api_compat's version of the standard's asks for the namespace, which warns."""
    return xp.cumsum(numbers, axis) if hasattr(xp, "cumsum") else xp.cumulative_sum(numbers, axis=axis)


def _largest_so_far(numbers: Array, xp: Namespace) -> Array:
    """Of each row, numbers from 0 on: the larger of two spans, each twice as long as those before."""
    span = 1
    while span < numbers.shape[-1]:
        earlier = xp.concat([xp.zeros_like(numbers[..., :span]), numbers[..., :-span]], axis=-1)
        numbers = xp.where(earlier > numbers, earlier, numbers)
        span *= 2
    return numbers
