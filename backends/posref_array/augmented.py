"""CAPE. See posref for the formula."""

from __future__ import annotations

from posref._arguments import boolean, broadcasts
from posref_array._support import (
    Array,
    Namespace,
    device_of,
    lacks_float64,
    namespace,
    require_finite,
    require_floating,
    require_real,
)


def cape_positions(
    positions: Array, shift: Array, log_scale: Array, *, centre: bool = False, xp: Namespace | None = None
) -> Array:
    """(p - mean + shift) e ** lambda, positions.shape, of the shift's type: :func:`posref.cape_positions`."""
    xp = namespace(xp, shift)
    require_real("positions", positions)
    require_finite("positions", positions, xp)
    if not positions.ndim:
        raise ValueError("positions must have a sequence axis, got a scalar")
    for name, array in (("shift", shift), ("log_scale", log_scale)):
        require_floating(name, array)
        require_finite(name, array, xp)
        if not broadcasts(array.shape, positions.shape):
            shapes = f"{tuple(array.shape)} must broadcast against the positions' shape {tuple(positions.shape)}"
            raise ValueError(f"{name} of shape {shapes}")
    wide = xp.float32 if lacks_float64(xp, device_of(positions)) else xp.float64
    p = xp.astype(positions, wide)
    if boolean(centre, "centre") and p.shape[-1]:
        p = p - xp.mean(p, axis=-1, keepdims=True)
    return xp.astype((p + xp.astype(shift, wide)) * xp.exp(xp.astype(log_scale, wide)), shift.dtype)
