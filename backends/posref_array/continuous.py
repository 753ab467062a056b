"""Biases that a small network makes of offsets. See posref for the formulas."""

from __future__ import annotations

import math
from typing import Any

from posref._arguments import choice, number
from posref._bias_arguments import ACTIVATIONS, mlp_shapes, norm_shapes
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
    values_are_at_hand,
    working_type,
)


def log_offset(
    relative_position: Array, *, extent: Array | float | None = None, dtype: Any = None, xp: Namespace | None = None
) -> Array:
    """Sign(d) ln(1 + |d|), of d's shape: :func:`posref.log_offset`."""
    xp = namespace(xp, relative_position)
    require_real("relative_position", relative_position)
    require_finite("relative_position", relative_position, xp)
    wide = xp.float32 if lacks_float64(xp, device_of(relative_position)) else xp.float64
    d = xp.astype(relative_position, wide)
    if extent is None:
        scaled, unit = d, 1.0
    else:
        scaled, unit = 8.0 * d / _extent(extent, d, xp), math.log(8.0)
    return xp.astype(xp.sign(scaled) * xp.log1p(abs(scaled)) / unit, dtype or default_float(xp), copy=False)


def _extent(extent: Any, d: Array, xp: Namespace) -> Any:
    if not hasattr(extent, "dtype"):
        return number(extent, "extent", above=0)
    require_real("extent", extent)
    if values_are_at_hand(xp) and not bool(xp.all(extent > 0)):
        raise ValueError("extent must be > 0, got one that is not")
    for n, m in zip(reversed(extent.shape), reversed(d.shape), strict=False):
        if n != m and 1 not in (n, m):
            got, shape = tuple(extent.shape), tuple(d.shape)
            raise ValueError(f"extent of shape {got} must broadcast against the offsets' shape {shape}")
    return xp.astype(extent, d.dtype)


def cosine_scale(log_scale: Array, *, largest: float = 100.0, xp: Namespace | None = None) -> Array:
    """Min(exp(s), L), like s: :func:`posref.cosine_scale`."""
    xp = namespace(xp, log_scale)
    require_floating("log_scale", log_scale)
    require_finite("log_scale", log_scale, xp)
    most = number(largest, "largest", above=0)
    s = xp.astype(log_scale, working_type(xp, log_scale))
    below = s < math.log(most)
    return xp.astype(xp.where(below, xp.exp(xp.where(below, s, 0.0)), most), log_scale.dtype)


def position_mlp(
    features: Array,
    w1: Array,
    b1: Array,
    w2: Array,
    *,
    b2: Array | None = None,
    activation: str = "relu",
    ceiling: float | None = None,
    norm_weight: Array | None = None,
    norm_bias: Array | None = None,
    norm_eps: float = 1e-5,
    xp: Namespace | None = None,
) -> Array:
    """A perceptron from features to a bias per head, (..., heads), of the features' type: :func:`posref.position_mlp`."""
    xp = namespace(xp, features)
    norms = {"norm_weight": norm_weight, "norm_bias": norm_bias}
    optional = {name: array for name, array in ({"b2": b2} | norms).items() if array is not None}
    given = {"features": features, "w1": w1, "b1": b1, "w2": w2} | optional
    for name, array in given.items():
        require_floating(name, array)
    choice(activation, "activation", ACTIVATIONS)
    mlp_shapes(features.shape, w1.shape, b1.shape, w2.shape, w2.shape[:1] if b2 is None else b2.shape)
    if norm_bias is not None and norm_weight is None:
        raise ValueError("norm_bias must be None without norm_weight, got an array")
    norm_shapes({name: array.shape for name, array in norms.items() if array is not None}, b1.shape)
    epsilon, wide = number(norm_eps, "norm_eps", above=0), working_type(xp, *given.values())
    x, first, bias, second = (xp.astype(array, wide) for array in (features, w1, b1, w2))
    hidden = x @ xp.permute_dims(first, (1, 0)) + bias
    if norm_weight is not None:
        hidden = hidden - xp.mean(hidden, axis=-1, keepdims=True)
        spread = xp.sqrt(xp.mean(hidden * hidden, axis=-1, keepdims=True) + epsilon)
        hidden = hidden / spread * xp.astype(norm_weight, wide)
        hidden = hidden if norm_bias is None else hidden + xp.astype(norm_bias, wide)
    y = _activated(hidden, activation, xp) @ xp.permute_dims(second, (1, 0))
    if b2 is not None:
        y = y + xp.astype(b2, wide)
    if ceiling is not None:
        y = number(ceiling, "ceiling") * _logistic(y, xp)
    return xp.astype(y, features.dtype)


def _activated(x: Array, how: str, xp: Namespace) -> Array:
    if how == "relu":
        return xp.where(x > 0, x, xp.zeros_like(x))
    return x if how == "identity" else x * _logistic(x, xp)


def _logistic(x: Array, xp: Namespace) -> Array:
    """By the hyperbolic tangent, which cannot overflow."""
    return 0.5 * (1.0 + xp.tanh(0.5 * x))
