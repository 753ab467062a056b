"""Factors on the attention logits. See posref for the formulas."""

from __future__ import annotations

import math
from typing import Any

from posref._arguments import boolean, integer, number
from posref_array._support import (
    Array,
    Namespace,
    default_float,
    device_of,
    lacks_float64,
    namespace,
    require_finite,
    require_floating,
    require_real,
    type_name,
    values_are_at_hand,
    widest_integer,
)


def log_n_scale(
    positions: Array, length: int, *, clip: bool = True, dtype: Any = None, xp: Namespace | None = None
) -> Array:
    """ln(m + 1) / ln L, positions.shape: :func:`posref.log_n_scale`."""
    xp = namespace(xp, positions)
    least, trained = boolean(clip, "clip"), integer(length, "length", least=2)
    keys = _wide(positions, xp) + 1.0
    scale = xp.log(keys) / math.log(trained)
    if least:
        scale = xp.where(keys > trained, scale, xp.ones_like(scale))
    return xp.astype(scale, dtype or default_float(xp), copy=False)


def ssmax_scale(positions: Array, s: Array, *, bias: Array | None = None, xp: Namespace | None = None) -> Array:
    """S ln n + b, (..., heads, q), of s' type: :func:`posref.ssmax_scale`."""
    xp = namespace(xp, s)
    require_floating("s", s)
    if s.ndim != 1 or not s.shape[0]:
        raise ValueError(f"s must be a vector with at least one head, got shape {tuple(s.shape)}")
    if not positions.ndim:
        raise ValueError("positions must have a sequence axis, got a scalar")
    logs = xp.log(_wide(positions, xp) + 1.0)[..., None, :]
    scale = xp.astype(s, logs.dtype, copy=False)[:, None] * logs
    if bias is not None:
        require_floating("bias", bias)
        if tuple(bias.shape) != tuple(s.shape):
            raise ValueError(f"bias must be of the shape of s, {tuple(s.shape)}, got {tuple(bias.shape)}")
        scale = scale + xp.astype(bias, logs.dtype, copy=False)[:, None]
    return xp.astype(scale, s.dtype, copy=False)


def llama4_scale(
    positions: Array,
    *,
    attn_scale: float = 0.1,
    floor_scale: int = 8192,
    shift: int = 1,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """1 + c ln(1 + floor((m + shift) / L)), positions.shape: :func:`posref.llama4_scale`."""
    xp = namespace(xp, positions)
    c, length, ahead = (
        number(attn_scale, "attn_scale"),
        integer(floor_scale, "floor_scale"),
        integer(shift, "shift", least=0),
    )
    if ahead > 1:
        raise ValueError(f"shift must be 0 or 1, got {ahead}")
    wide = _wide(positions, xp)
    if type_name(positions.dtype).startswith(("int", "uint")):  # exact beyond float32's integers
        steps = (xp.astype(positions, widest_integer(xp, device_of(positions))) + ahead) // length
    else:
        steps = xp.floor((wide + ahead) / length)
    scale = 1.0 + c * xp.log(1.0 + xp.astype(steps, wide.dtype, copy=False))
    return xp.astype(scale, dtype or default_float(xp), copy=False)


def inkling_scale(
    positions: Array, length: int, *, alpha: float = 0.1, dtype: Any = None, xp: Namespace | None = None
) -> Array:
    """1 + alpha ln((m + 1) / L) from L on, positions.shape: :func:`posref.inkling_scale`."""
    xp = namespace(xp, positions)
    trained, growth = integer(length, "length"), number(alpha, "alpha")
    ratio = (_wide(positions, xp) + 1.0) / trained
    scale = 1.0 + growth * xp.log(xp.where(ratio < 1.0, 1.0, ratio))
    return xp.astype(scale, dtype or default_float(xp), copy=False)


def length_scale(seq_len: int, length: int, *, mscale: float = 1.0) -> float:
    """0.1 m ln(S / L) + 1: :func:`posref.length_scale`."""
    longer, trained = integer(seq_len, "seq_len"), integer(length, "length")
    return 1.0 + 0.1 * number(mscale, "mscale", least=0) * max(0.0, math.log(longer / trained))


def _wide(positions: Array, xp: Namespace) -> Array:
    """Positions in the widest floating type of their device; negative ones are refused where looking costs nothing."""
    require_real("positions", positions)
    require_finite("positions", positions, xp)
    if values_are_at_hand(xp) and bool(xp.any(positions < 0)):
        raise ValueError("positions must be >= 0, got a negative one")
    return xp.astype(positions, xp.float32 if lacks_float64(xp, device_of(positions)) else xp.float64, copy=False)
