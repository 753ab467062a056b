"""PoPE. See posref for the formulas."""

from __future__ import annotations

import math

from posref._arguments import broadcasts, number, require_positions_of
from posref_array._frequencies import geometric, given
from posref_array._support import Array, Namespace, namespace, require_finite, require_floating, working_type
from posref_array._tables import cos_sin


def pope_apply(
    x: Array, positions: Array, *, base: float = 10000.0, bias: Array | None = None, xp: Namespace | None = None
) -> Array:
    """Softplus(x) times cosines, then sines, (..., 2 d), of x's type: :func:`posref.pope_apply`."""
    xp = namespace(xp, x)
    require_floating("x", x)
    if not x.ndim or not x.shape[-1]:
        raise ValueError(f"x must have at least one channel, got shape {tuple(x.shape)}")
    require_positions_of(x.shape, positions.shape)
    work = working_type(xp, x)
    frequencies = geometric(number(base, "base", above=1), x.shape[-1], 0, 1.0, xp)
    cos, sin = cos_sin(positions, frequencies, given(1.0, xp), work, xp)
    if bias is not None:
        require_floating("bias", bias)
        require_finite("bias", bias, xp)
        if not broadcasts(bias.shape, x.shape):
            raise ValueError(f"bias of shape {tuple(bias.shape)} must broadcast against x.shape = {tuple(x.shape)}")
        delta = xp.astype(bias, work, copy=False)
        delta = xp.where(
            delta > 0.0, 0.0, xp.where(delta < -2 * math.pi, -2 * math.pi, delta)
        )  # clip breaks a dynamic graph
        c, s = xp.cos(delta), xp.sin(delta)
        cos, sin = cos * c - sin * s, sin * c + cos * s
    wide = xp.astype(x, work, copy=False)
    length = xp.where(wide > 0.0, wide, 0.0) + xp.log1p(xp.exp(-xp.abs(wide)))  # neither overflows nor loses its tail
    return xp.astype(xp.concat([length * cos, length * sin], axis=-1), x.dtype, copy=False)
