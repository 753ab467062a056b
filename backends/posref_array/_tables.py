"""Cos and sin of position times frequency: made in float64, cast once, so that long contexts stay right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posref_array._support import (
    Array,
    Namespace,
    device_of,
    float64_array,
    host_copy,
    lacks_float64,
    require_finite,
    require_real,
)


def cos_sin(
    positions: Array, frequencies: Sequence[float], factor: float, dtype: Any, xp: Namespace
) -> tuple[Array, Array]:
    """For frequencies that are host numbers."""
    require_real("positions", positions)
    if lacks_float64(xp, device_of(positions)):
        return _on_host(positions, np.asarray(frequencies), factor, dtype, xp)
    return cos_sin_of(positions, float64_array(xp, frequencies, positions), factor, dtype, xp)


def cos_sin_of(positions: Array, inv_freq: Array, factor: float, dtype: Any, xp: Namespace) -> tuple[Array, Array]:
    """For frequencies that are an array, of any floating type."""
    require_real("positions", positions)
    require_finite("positions", positions, xp)
    if lacks_float64(xp, device_of(positions)):
        return _on_host(positions, host_copy(inv_freq, xp), factor, dtype, xp)
    angle = xp.astype(positions, xp.float64)[..., None] * xp.astype(inv_freq, xp.float64)  # (..., pairs)
    cos, sin = xp.cos(angle), xp.sin(angle)
    if factor != 1.0:
        cos, sin = factor * cos, factor * sin
    return xp.astype(cos, dtype, copy=False), xp.astype(sin, dtype, copy=False)


def _on_host(positions: Array, inv_freq: Any, factor: float, dtype: Any, xp: Namespace) -> tuple[Array, Array]:
    """The same on the CPU in NumPy, moved to the device that lacks float64."""
    angle = host_copy(positions, xp).astype(np.float64)[..., None] * inv_freq.astype(np.float64)
    device = device_of(positions)
    cos, sin = (
        xp.astype(xp.asarray((factor * t).astype(np.float32), device=device), dtype, copy=False)
        for t in (np.cos(angle), np.sin(angle))
    )
    return cos, sin
