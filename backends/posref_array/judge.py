"""Plain attention. See posref for the formula."""

from __future__ import annotations

import math

from posref._arguments import broadcasts, number
from posref_array._support import Array, Namespace, namespace, require_floating, type_name, working_type


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    bias: Array | None = None,
    mask: Array | None = None,
    scale: float | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Plain softmax attention, (..., q, e), computed in float32 or wider and rounded once: :func:`posref.attention`."""
    xp = namespace(xp, q)
    for name, array in (("q", q), ("k", k), ("v", v), ("bias", q if bias is None else bias)):
        require_floating(name, array)
    if min(q.ndim, k.ndim, v.ndim) < 2 or not q.shape[-1] == k.shape[-1] > 0 or k.shape[-2] != v.shape[-2]:
        shapes = f"{tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}"
        raise ValueError(f"q, k, v must be (..., q, d), (..., k, d), (..., k, e), got {shapes}")
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else number(scale, "scale")
    work = working_type(xp, q, k, v)
    wide_q, wide_k, wide_v = (xp.astype(t, work, copy=False) for t in (q, k, v))
    logits = factor * (wide_q @ xp.matrix_transpose(wide_k))  # (..., q, k)
    for name, array in (("bias", bias), ("mask", mask)):
        if array is not None and not broadcasts(array.shape, logits.shape):
            shape = tuple(logits.shape)
            raise ValueError(f"{name} of shape {tuple(array.shape)} must broadcast against the logits' shape {shape}")
    if bias is not None:
        logits = logits + xp.astype(bias, work, copy=False)
    if mask is not None:
        if type_name(mask.dtype) != "bool":
            raise TypeError(f"mask must be boolean, True where a query may look, got type {mask.dtype}")
        logits = xp.where(mask, logits, -math.inf)
    if not k.shape[-2]:
        return xp.astype(logits @ wide_v, q.dtype, copy=False)  # a sum over no keys: zeros
    largest = xp.max(logits, axis=-1, keepdims=True)
    weights = xp.exp(logits - xp.where(largest == -math.inf, 0.0, largest))
    total = xp.sum(weights, axis=-1, keepdims=True)
    return xp.astype((weights / xp.where(total == 0.0, 1.0, total)) @ wide_v, q.dtype, copy=False)
