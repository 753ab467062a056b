"""Biases that decay with the distance: KERPLE, Sandwich, FIRE. See posref for the formulas."""

from __future__ import annotations

from typing import Any

from posref._arguments import choice, even, integer, number
from posref._bias_arguments import KERNELS, LIMITS, sandwich_start
from posref_array._pairs import exact_positions, outer, per_head
from posref_array._support import (
    Array,
    Namespace,
    default_float,
    device_of,
    lacks_float64,
    namespace,
    values_are_at_hand,
)


def kerple_bias(
    r1: Array, r2: Array, q_positions: Array, k_positions: Array, *, form: str = "log", xp: Namespace | None = None
) -> Array:
    """-r1 ln(1 + r2 |q - k|), (..., heads, q, k), of r1's type: :func:`posref.kerple_bias`."""
    xp = namespace(xp, r1)
    power = choice(form, "form", KERNELS) == "power"
    a, b = per_head("r1", r1, xp), per_head("r2", r2, xp)
    if a.shape != b.shape:
        raise ValueError(f"r1 and r2 must be two numbers per head, got shapes {tuple(a.shape)} and {tuple(b.shape)}")
    if values_are_at_hand(xp) and bool(xp.any(b <= 0 if power else b < 0)):
        raise ValueError(f"r2 must be {'> 0' if power else '>= 0'} for the form {form!r}, got one that is not")
    a, b = a[:, None, None], b[:, None, None]
    d = abs(_differences(q_positions, k_positions, xp))
    if not power:
        return xp.astype(-a * xp.log1p(b * d), r1.dtype)
    apart = d > 0  # the power's slope at 0 must not reach a gradient
    return xp.astype(xp.where(apart, -a * xp.where(apart, d, xp.ones_like(d)) ** b, 0.0), r1.dtype)


def sandwich_bias(
    num_heads: int,
    q_positions: Array,
    k_positions: Array,
    *,
    dim: int = 128,
    base: float = 10000.0,
    start: int = 1,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """The product of two sinusoidal encodings, (..., heads, q, k): :func:`posref.sandwich_bias`."""
    xp = namespace(xp, q_positions)
    heads, pairs, b = integer(num_heads, "num_heads"), even(dim) // 2, number(base, "base", above=1)
    first = sandwich_start(start)
    d = _differences(q_positions, k_positions, xp)
    halves = [0.5 * b ** (-i / pairs) for i in range(first, first + pairs)]
    sines = xp.sin(d[..., None] * xp.asarray(halves, dtype=d.dtype, device=device_of(d)))
    total = xp.sum(sines * sines, axis=-1)  # (..., 1, q, k)
    factors = xp.asarray([-heads / (4.0 * h) for h in range(1, heads + 1)], dtype=d.dtype, device=device_of(d))
    return xp.astype(factors[:, None, None] * total, dtype or default_float(xp), copy=False)


def fire_distance(
    q_positions: Array,
    k_positions: Array,
    c: float,
    length: float,
    *,
    limit: str = "max",
    eps: float = 1e-6,
    dtype: Any = None,
    xp: Namespace | None = None,
) -> Array:
    """The distance relative to the query's, (..., q, k): :func:`posref.fire_distance`."""
    xp = namespace(xp, q_positions)
    gain, bound = abs(number(c, "c")), number(length, "length", least=0)
    above, small = choice(limit, "limit", LIMITS) == "max", number(eps, "eps", least=0)
    d = abs(_differences(q_positions, k_positions, xp))[..., 0, :, :]
    q = xp.astype(q_positions, d.dtype)[..., :, None]
    reach = xp.where(q > bound, q, bound) if above else xp.where(q < bound, q, bound)
    rows = xp.log1p(gain * abs(reach)) + small
    if values_are_at_hand(xp) and bool(xp.any(rows == 0)):
        raise ValueError(f"eps must be > 0 where c is 0 or a query is at 0, got {eps}")
    return xp.astype(xp.log1p(gain * d) / rows, dtype or default_float(xp), copy=False)


def _differences(q_positions: Array, k_positions: Array, xp: Namespace) -> Array:
    """Q - k, exact before it is a float, (..., 1, q, k)."""
    q, k = exact_positions("q_positions", q_positions, xp), exact_positions("k_positions", k_positions, xp)
    wide = xp.float32 if lacks_float64(xp, device_of(q)) else xp.float64
    if q.dtype != k.dtype:  # integers of one, fractions of the other
        q, k = xp.astype(q, wide), xp.astype(k, wide)
    q, k = outer(q, k)
    return xp.astype(q - k, wide, copy=False)
