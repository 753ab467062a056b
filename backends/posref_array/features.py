"""Sinusoids on several axes and Fourier features. See posref for the formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from posref import exact
from posref._additive_arguments import (
    UNITS,
    axis_bases,
    axis_widths,
    band_ends,
    feature_shapes,
    nested_order,
)
from posref._arguments import boolean, choice, number
from posref_array._frequencies import geometric, given
from posref_array._kinds import Kind, Number, log
from posref_array._support import (
    Array,
    Namespace,
    compiling,
    default_float,
    device_of,
    host_copy,
    lacks_float64,
    namespace,
    require_finite,
    require_floating,
    require_real,
)
from posref_array._tables import _rounded, cos_sin


def sinusoidal_axes(
    positions: Array,
    dim: int,
    *,
    widths: Sequence[int] | None = None,
    base: float | Sequence[float] = 10000.0,
    endpoint: bool = False,
    layout: str = "axis_wave_band",
    order: str = "sin_cos",
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """Fixed sinusoidal encoding on several axes, positions.shape[1:] + (dim,): :func:`posref.sinusoidal_axes`."""
    xp = namespace(xp, positions)
    require_real("positions", positions)
    if not positions.ndim or not positions.shape[0]:
        raise ValueError(f"positions must be (axes, ...) with at least one axis, got shape {tuple(positions.shape)}")
    total, sizes = axis_widths(dim, widths, positions.shape[0])
    bases, shift = axis_bases(base, len(sizes)), 1.0 if boolean(endpoint, "endpoint") else 0.0
    if shift and min(sizes) == 2:
        raise ValueError(
            "dim must give each axis more than 2 channels with endpoint=True, whose exponent is -k / (d // 2 - 1), "
            f"got {sizes}"
        )
    choice(order, "order", ("sin_cos", "cos_sin"))
    channels = nested_order([n // 2 for n in sizes], layout)
    parts = []
    for a, (b, width) in enumerate(zip(bases, sizes, strict=True)):
        w = geometric(b, width // 2, shift, 1.0, xp)
        cos, sin = cos_sin(positions[a, ...], w, given(1.0, xp), dtype or default_float(xp), xp)
        parts += [sin, cos] if order == "sin_cos" else [cos, sin]
    rows = _taken(xp.concat(parts, axis=-1), channels, xp)
    if total == len(channels):
        return rows
    nothing = xp.zeros((*positions.shape[1:], total - len(channels)), dtype=rows.dtype, device=device_of(positions))
    return xp.concat([rows, nothing], axis=-1)


def frequency_bands(
    n: int,
    first: float,
    last: float,
    *,
    spacing: str = "linear",
    endpoint: bool = True,
    dtype: Any = None,
    device: Any = None,
    xp: Namespace,
) -> Array:
    """Frequencies from one number to another, (n,): :func:`posref.frequency_bands`."""
    count, low, high = band_ends(n, first, last, spacing)
    steps = max(1, count - 1 if boolean(endpoint, "endpoint") else count)
    if compiling(xp):
        bands = _bands(low, high, count, steps, spacing, float)
    else:
        with exact.real_arithmetic():
            bands = [float(band) for band in _bands(low, high, count, steps, spacing, Decimal)]
    return xp.asarray(bands, dtype=dtype or default_float(xp), device=device)


def _bands(low: float, high: float, count: int, steps: int, spacing: str, kind: Kind) -> list[Number]:
    """Weighted means of the two ends, or of their logarithms."""
    a, b = kind(low), kind(high)
    if spacing == "linear":
        return [((steps - k) * a + k * b) / steps for k in range(count)]
    logs = [((steps - k) * log(a) + k * log(b)) / steps for k in range(count)]
    return [x.exp() if isinstance(x, Decimal) else math.exp(x) for x in logs]


def fourier_features(
    coordinates: Array,
    frequencies: Array,
    *,
    unit: str = "radians",
    layout: str = "axis_wave_band",
    order: str = "sin_cos",
    gain: float = 1.0,
    include_input: bool = False,
    xp: Namespace | None = None,
) -> Array:
    """Sines and cosines of coordinates, of the frequencies' type: :func:`posref.fourier_features`."""
    xp = namespace(xp, frequencies)
    require_real("coordinates", coordinates)
    require_floating("frequencies", frequencies)
    require_finite("coordinates", coordinates, xp)
    require_finite("frequencies", frequencies, xp)
    feature_shapes(coordinates.shape, frequencies.shape)
    turns, g = UNITS[choice(unit, "unit", tuple(UNITS))], number(gain, "gain")
    choice(order, "order", ("sin_cos", "cos_sin"))
    axes = 1 if frequencies.ndim == 2 else coordinates.shape[0]
    channels, raw = nested_order([frequencies.shape[-1]] * axes, layout), boolean(include_input, "include_input")
    radians = 1.0 if turns is None else math.radians(360.0) / turns
    if not lacks_float64(xp, device_of(frequencies)):
        return _features(coordinates, frequencies, radians, g, order, channels, raw, frequencies.dtype, xp)
    import array_api_compat.numpy as host

    there = host_copy(coordinates, xp), host_copy(frequencies, xp)
    made = _features(*there, radians, g, order, channels, raw, np.dtype(np.float32), host)
    return xp.astype(xp.asarray(made, device=device_of(frequencies)), frequencies.dtype, copy=False)


def _features(
    coordinates: Array,
    frequencies: Array,
    radians: float,
    gain: float,
    order: str,
    channels: list[int],
    raw: bool,
    dtype: Any,
    xp: Namespace,
) -> Array:
    """In float64, rounded once."""
    x, f = xp.astype(coordinates, xp.float64), xp.astype(frequencies, xp.float64)
    if f.ndim == 1:
        angles = [x[a, ...][..., None] * f * radians for a in range(x.shape[0])]
    else:
        angles = [sum(x[a, ...][..., None] * f[a, :] for a in range(x.shape[0])) * radians]
    parts = []
    for angle in angles:
        sin, cos = gain * xp.sin(angle), gain * xp.cos(angle)
        parts += [sin, cos] if order == "sin_cos" else [cos, sin]
    rows = _taken(xp.concat(parts, axis=-1), channels, xp)
    if raw:
        rows = xp.concat([xp.moveaxis(x, 0, -1), rows], axis=-1)
    return _rounded(rows, dtype, xp)


def _taken(rows: Array, channels: list[int], xp: Namespace) -> Array:
    """Channels in another order."""
    if channels == list(range(len(channels))):
        return rows
    return xp.take(rows, xp.asarray(channels, device=device_of(rows)), axis=-1)
