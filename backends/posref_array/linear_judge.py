"""Linear attention. See posref for the formula."""

from __future__ import annotations

from posref._arguments import broadcasts, choice
from posref_array._support import Array, Namespace, namespace, require_floating, type_name, working_type
from posref_array.rotary import rope_apply, rope_cos_sin


def linear_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    q_positions: Array | None = None,
    k_positions: Array | None = None,
    inv_freq: Array | None = None,
    layout: str = "half",
    feature: str = "elu",
    mask: Array | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Linear attention, (..., q, e), computed in float32 or wider and rounded once: :func:`posref.linear_attention`."""
    xp = namespace(xp, q)
    for name, array in (("q", q), ("k", k), ("v", v)):
        require_floating(name, array)
    if min(q.ndim, k.ndim, v.ndim) < 2 or not q.shape[-1] == k.shape[-1] > 0 or k.shape[-2] != v.shape[-2]:
        shapes = f"{tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}"
        raise ValueError(f"q, k, v must be (..., q, d), (..., k, d), (..., k, e), got {shapes}")
    work = working_type(xp, q, k, v)
    wide_q, wide_k, wide_v = (xp.astype(t, work, copy=False) for t in (q, k, v))
    if choice(feature, "feature", ("elu", "identity")) == "elu":
        wide_q, wide_k = (xp.where(x > 0.0, x + 1.0, xp.exp(xp.where(x > 0.0, 0.0, x))) for x in (wide_q, wide_k))
    weights = plain = wide_q @ xp.matrix_transpose(wide_k)  # (..., q, k)
    given = (q_positions, k_positions, inv_freq)
    if any(part is not None for part in given):
        for name, part in zip(("q_positions", "k_positions", "inv_freq"), given, strict=True):
            if part is None:
                raise ValueError(f"{name} must be given where positions or frequencies are, got None")
        turned_q = rope_apply(wide_q, *rope_cos_sin(q_positions, inv_freq, xp=xp), layout=layout, xp=xp)
        turned_k = rope_apply(wide_k, *rope_cos_sin(k_positions, inv_freq, xp=xp), layout=layout, xp=xp)
        weights = turned_q @ xp.matrix_transpose(turned_k)
    if mask is not None:
        if not broadcasts(mask.shape, plain.shape):
            shape = tuple(plain.shape)
            raise ValueError(f"mask of shape {tuple(mask.shape)} must broadcast against the scores' shape {shape}")
        if type_name(mask.dtype) != "bool":
            raise TypeError(f"mask must be boolean, True where a query may look, got type {mask.dtype}")
        weights, plain = xp.where(mask, weights, 0.0), xp.where(mask, plain, 0.0)
    total = xp.sum(plain, axis=-1, keepdims=True)
    return xp.astype((weights @ wide_v) / xp.where(total == 0.0, 1.0, total), q.dtype, copy=False)
