"""XPos. See posref for the formulas."""

from __future__ import annotations

import math
from typing import Any

from posref._arguments import choice, even, integer, number
from posref_array._support import (
    Array,
    Namespace,
    default_float,
    device_of,
    lacks_float64,
    namespace,
    require_finite,
    require_real,
)


def xpos_scale(
    positions: Array,
    dim: int,
    *,
    centre: float | str = "floor",
    length: int | None = None,
    scale_base: float = 512.0,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """Zeta ** ((p - c) / B), positions.shape + (dim // 2,): :func:`posref.xpos_scale`."""
    xp = namespace(xp, positions)
    require_real("positions", positions)
    require_finite("positions", positions, xp)
    pairs, base = even(dim) // 2, number(scale_base, "scale_base", above=0)
    if isinstance(centre, str):
        choice(centre, "centre", ("floor", "ceil"))
        if length is None:
            raise ValueError(f"length must be given where centre is {centre!r}, got None")
        centre = (integer(length, "length") + (centre == "ceil")) // 2
    elif length is not None:
        raise ValueError(f"length must be None where centre is a position, got {length}")
    middle = number(centre, "centre")
    logs = [math.log((i / pairs + 0.4) / 1.4) / base for i in range(pairs)]
    wide = xp.float32 if lacks_float64(xp, device_of(positions)) else xp.float64
    rates = xp.asarray(logs, dtype=wide, device=device_of(positions))
    scale = xp.exp((xp.astype(positions, wide) - middle)[..., None] * rates)
    return xp.astype(scale, dtype or default_float(xp), copy=False)
