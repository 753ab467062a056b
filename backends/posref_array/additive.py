"""Encodings that are added to the embeddings. See posref for the formulas."""

from __future__ import annotations

from typing import Any

from posref._additive_arguments import NARROW, hierarchical_rows, optional_integer, out_of_rows, sinusoid_sizes
from posref._arguments import boolean, choice, integer, number
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
    working_type,
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
    scale: float = 1.0,
    gain: float = 1.0,
    odd: str = "error",
    padding_idx: int | None = None,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """Fixed sinusoidal encoding, positions.shape + (dim,): :func:`posref.sinusoidal`."""
    xp = namespace(xp, positions)
    width, n, shift = sinusoid_sizes(dim, endpoint, odd)
    base, scale, gain = number(base, "base", above=1), number(scale, "scale"), number(gain, "gain")
    choice(layout, "layout", ("interleaved", "concatenated"))
    choice(order, "order", ("sin_cos", "cos_sin"))
    padding = optional_integer(padding_idx, "padding_idx")
    frequencies = geometric(base, n, shift, scale, xp)
    cos, sin = cos_sin(positions, frequencies, given(gain, xp), dtype or default_float(xp), xp)
    pair = [sin, cos] if order == "sin_cos" else [cos, sin]
    if layout == "concatenated":
        rows = xp.concat([pair[0], pair[1][..., : width - n]], axis=-1)
    else:
        rows = xp.reshape(xp.stack(pair, axis=-1), (*positions.shape, 2 * n))[..., :width]
    if dim > width:
        rows = xp.concat([rows, xp.zeros_like(rows[..., :1])], axis=-1)
    return rows if padding is None else xp.where((positions == padding)[..., None], xp.zeros_like(rows), rows)


def timestep_embedding(
    timesteps: Array,
    dim: int,
    *,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1.0,
    scale: float = 1.0,
    max_period: float = 10000.0,
    freq_dtype: str | None = None,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """Timestep embedding of diffusion models, timesteps.shape + (dim,): :func:`posref.timestep_embedding`."""
    xp = namespace(xp, timesteps)
    half, shift = integer(dim, "dim") // 2, number(downscale_freq_shift, "downscale_freq_shift")
    max_period, scale = number(max_period, "max_period", above=1), number(scale, "scale")
    if half <= shift:
        raise ValueError(f"dim // 2 must be > downscale_freq_shift, got dim {dim} and shift {shift:g}")
    if freq_dtype is not None:
        choice(freq_dtype, "freq_dtype", NARROW)
    frequencies = geometric(max_period, half, shift, scale, xp, freq_dtype)
    cos, sin = cos_sin(timesteps, frequencies, given(1.0, xp), dtype or default_float(xp), xp)
    parts = [cos, sin] if boolean(flip_sin_to_cos, "flip_sin_to_cos") else [sin, cos]
    if dim % 2:
        parts.append(xp.zeros_like(cos[..., :1]))
    return xp.concat(parts, axis=-1)


def learned(table: Array, positions: Array, *, offset: int = 0, xp: Namespace | None = None) -> Array:
    """One row per position, positions.shape + (dim,): :func:`posref.learned`."""
    xp = namespace(xp, table)
    require_floating("table", table)
    require_integers("positions", positions)
    before = integer(offset, "offset", least=0)
    if table.ndim != 2:
        raise ValueError(f"table must be (rows, dim), got shape {tuple(table.shape)}")
    rows = table.shape[0]
    index = xp.reshape(xp.astype(positions, widest_integer(xp, device_of(table)), copy=False), (-1,)) + before
    if values_are_at_hand(xp) and bool(xp.any((index < 0) | (index >= rows))):
        raise IndexError(out_of_rows(rows, before))
    index = xp.where(index < 0, rows, index)  # array_api_compat's take would count them from the end
    taken = xp.take(table, index, axis=0)
    return xp.reshape(taken, (*positions.shape, table.shape[1]))


def hierarchical_table(table: Array, rows: int, *, alpha: float = 0.4, xp: Namespace | None = None) -> Array:
    """A table continued to as many rows as its square, (rows, dim), of its type: :func:`posref.hierarchical_table`."""
    xp = namespace(xp, table)
    require_floating("table", table)
    wanted, share = hierarchical_rows(table.shape, rows, alpha)
    n, work = max(table.shape[0], 1), working_type(xp, table)
    p = xp.astype(table, work, copy=False)
    u = (p - share * p[:1, :]) / (1 - share)  # (n, dim)
    pairs = share * u[:, None, :] + (1 - share) * u[None, :, :]
    both = xp.reshape(pairs, (-1, table.shape[1]))
    return xp.astype(xp.concat([p, both[n:, :]], axis=0)[:wanted, :], table.dtype, copy=False)
