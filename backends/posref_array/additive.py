"""Encodings that are added to the embeddings. See posref for the formulas."""

from __future__ import annotations

from typing import Any

from posref._arguments import boolean, choice, even, integer, number
from posref_array._frequencies import geometric, given
from posref_array._support import (
    Array,
    Namespace,
    default_float,
    device_of,
    namespace,
    require_floating,
    require_integers,
    values_are_at_hand,
    widest_integer,
)
from posref_array._tables import cos_sin


def sinusoidal(
    positions: Array,
    dim: int,
    *,
    base: float = 10000.0,
    endpoint: bool = False,
    layout: str = "interleaved",
    order: str = "sin_cos",
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """Fixed sinusoidal encoding, positions.shape + (dim,): :func:`posref.sinusoidal`."""
    xp = namespace(xp, positions)
    half, base = even(dim) // 2, number(base, "base", above=1)
    choice(layout, "layout", ("interleaved", "concatenated"))
    choice(order, "order", ("sin_cos", "cos_sin"))
    if boolean(endpoint, "endpoint") and half == 1:
        raise ValueError("dim must be > 2 with endpoint=True, whose exponent is -k / (dim // 2 - 1), got 2")
    frequencies = geometric(base, half, 1.0 if endpoint else 0.0, 1.0, xp)
    cos, sin = cos_sin(positions, frequencies, given(1.0, xp), dtype or default_float(xp), xp)
    pair = [sin, cos] if order == "sin_cos" else [cos, sin]
    if layout == "concatenated":
        return xp.concat(pair, axis=-1)
    return xp.reshape(xp.stack(pair, axis=-1), (*positions.shape, 2 * half))


def timestep_embedding(
    timesteps: Array,
    dim: int,
    *,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1.0,
    scale: float = 1.0,
    max_period: float = 10000.0,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """Timestep embedding of diffusion models, timesteps.shape + (dim,): :func:`posref.timestep_embedding`."""
    xp = namespace(xp, timesteps)
    half, shift = integer(dim, "dim") // 2, number(downscale_freq_shift, "downscale_freq_shift")
    max_period, scale = number(max_period, "max_period", above=1), number(scale, "scale")
    if half <= shift:
        raise ValueError(f"dim // 2 must be > downscale_freq_shift, got dim {dim} and shift {shift:g}")
    frequencies = geometric(max_period, half, shift, scale, xp)
    cos, sin = cos_sin(timesteps, frequencies, given(1.0, xp), dtype or default_float(xp), xp)
    parts = [cos, sin] if boolean(flip_sin_to_cos, "flip_sin_to_cos") else [sin, cos]
    if dim % 2:
        parts.append(xp.zeros_like(cos[..., :1]))
    return xp.concat(parts, axis=-1)


def learned(table: Array, positions: Array, *, xp: Namespace | None = None) -> Array:
    """One row per position, positions.shape + (dim,): :func:`posref.learned`."""
    xp = namespace(xp, table)
    require_floating("table", table)
    require_integers("positions", positions)
    if table.ndim != 2:
        raise ValueError(f"table must be (rows, dim), got shape {tuple(table.shape)}")
    rows = table.shape[0]
    index = xp.reshape(xp.astype(positions, widest_integer(xp, device_of(table)), copy=False), (-1,))
    if values_are_at_hand(xp) and bool(xp.any((index < 0) | (index >= rows))):
        raise IndexError(f"positions must be in 0 .. {rows - 1} for a table of {rows} rows")
    index = xp.where(index < 0, rows, index)  # array_api_compat's take would count them from the end
    taken = xp.take(table, index, axis=0)
    return xp.reshape(taken, (*positions.shape, table.shape[1]))
