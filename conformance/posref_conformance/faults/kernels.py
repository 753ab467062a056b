"""Biases that are functions of the distance: KERPLE, Sandwich, FIRE."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import arguments, keywords, replaced, results, without
from posref_conformance.faults._fault import Fault, Functions

HEADWISE = {"kerple_bias": (0, 1)}


def _difference(xp: Any, q: Any, k: Any) -> Any:
    """Q - k, (..., q, k)."""
    return xp.astype(q, xp.float64)[..., :, None] - xp.astype(k, xp.float64)[..., None, :]


def _kerple(formula: Callable[[Any, Any, Any, Any], Any]) -> Any:
    """KERPLE's logarithmic kernel by ``formula(xp, r1, r2, q - k)``."""

    def make(right: Any, xp: Any) -> Any:
        def kerple_bias(r1: Any, r2: Any, q_positions: Any, k_positions: Any) -> Any:
            a, b = (xp.astype(r, xp.float64)[:, None, None] for r in (r1, r2))
            d = _difference(xp, q_positions, k_positions)[..., None, :, :]
            return xp.astype(formula(xp, a, b, d), r1.dtype)

        return kerple_bias

    return replaced(kerple_bias=make)


def _parameters_exchanged(right: Any, xp: Any) -> Functions:
    def kerple_bias(r1: Any, r2: Any, *args: Any, **kwargs: Any) -> Any:
        return right.kerple_bias(r2, r1, *args, **kwargs)

    return {"kerple_bias": kerple_bias}


def _sandwich(change: Callable[[Any, Any, int, int], Any]) -> Any:
    """Sandwich's bias that is changed: ``change(xp, right bias, heads, channels)``."""

    def make(right: Any, xp: Any) -> Any:
        def sandwich_bias(num_heads: int, *args: Any, dim: int = 128, **kwargs: Any) -> Any:
            return change(xp, right.sandwich_bias(num_heads, *args, dim=dim, **kwargs), num_heads, dim)

        return sandwich_bias

    return replaced(sandwich_bias=make)


def _head_numbers(xp: Any, heads: int) -> Any:
    return xp.astype(xp.arange(1, heads + 1), xp.float64)[:, None, None]


def _fire(formula: Callable[..., Any]) -> Any:
    """FIRE by ``formula(xp, psi, q - k, q, length)``, psi(x) being ln(1 + |c x|)."""

    def make(right: Any, xp: Any) -> Any:
        def fire_distance(q_positions: Any, k_positions: Any, c: float, length: float, *, eps: float = 1e-6) -> Any:
            d, q = _difference(xp, q_positions, k_positions), xp.astype(q_positions, xp.float64)[..., :, None]
            return formula(xp, lambda x: xp.log1p(xp.abs(c * x)), d, q, length, eps)

        return fire_distance

    return replaced(fire_distance=make)


def _by_the_key(right: Any, xp: Any) -> Any:
    def fire_distance(q_positions: Any, k_positions: Any, *args: Any, **kwargs: Any) -> Any:
        return xp.matrix_transpose(right.fire_distance(k_positions, q_positions, *args, **kwargs))

    return fire_distance


FAULTS = (
    Fault(
        "kernel-form-ignored",
        "You use the logarithmic kernel whatever form is asked for.",
        "Follow form: -r1 |q - k| ** r2 for 'power'.",
        "KERPLE (2205.09921), eq. 5 and 6",
        without(("kerple_bias",), "form"),
    ),
    Fault(
        "kernel-parameters-exchanged",
        "You exchange r1 and r2.",
        "Multiply the logarithm by r1, and the distance in it by r2.",
        "KERPLE (2205.09921), eq. 6",
        _parameters_exchanged,
    ),
    Fault(
        "kernel-without-minus",
        "Your kernel grows with the distance.",
        "Negate it.",
        "KERPLE (2205.09921), eq. 6",
        results(("kerple_bias", "sandwich_bias"), lambda xp, y: -y),
    ),
    Fault(
        "kernel-of-the-sum",
        "You take ln(1 + d) and multiply by r2; r2 belongs to the distance.",
        "Use ln(1 + r2 |q - k|).",
        "KERPLE (2205.09921), eq. 6",
        _kerple(lambda xp, a, b, d: -a * b * xp.log1p(xp.abs(d))),
    ),
    Fault(
        "kernel-without-r2",
        "You use ln(1 + |q - k|): r2 is missing.",
        "Use ln(1 + r2 |q - k|).",
        "KERPLE (2205.09921), eq. 6",
        _kerple(lambda xp, a, b, d: -a * xp.log1p(xp.abs(d))),
    ),
    Fault(
        "kernel-of-the-past-alone",
        "Your kernel is 0 for keys after the query.",
        "Use the absolute distance.",
        "KERPLE (2205.09921), eq. 6",
        _kerple(lambda xp, a, b, d: -a * xp.log1p(b * xp.clip(d, 0.0, 2.0**53))),
    ),
    Fault(
        "kernel-log2",
        "You use the logarithm to base 2.",
        "Use the natural one.",
        "KERPLE (2205.09921), eq. 6",
        _kerple(lambda xp, a, b, d: -a * xp.log1p(b * xp.abs(d)) / math.log(2)),
    ),
    Fault(
        "kernel-of-one-head",
        "You use the first head's numbers for all heads.",
        "Each head has its own.",
        "KERPLE (2205.09921), sec. 4",
        arguments(HEADWISE, lambda xp, r: xp.broadcast_to(r[:1], r.shape)),
    ),
    Fault(
        "sandwich-without-heads",
        "You give all heads the same bias.",
        "Divide by the number of the head, from 1: H / (8 h).",
        "Sandwich (2212.10356), sec. 4",
        _sandwich(lambda xp, y, heads, dim: y * _head_numbers(xp, heads)),
    ),
    Fault(
        "sandwich-not-zero-at-0",
        "You do not subtract the value at distance 0.",
        "Subtract d / 2, so that a token's own bias is 0.",
        "Sandwich (2212.10356), sec. 4",
        _sandwich(lambda xp, y, heads, dim: y + heads * dim / 16 / _head_numbers(xp, heads)),
    ),
    Fault(
        "sandwich-compression-left-out",
        "You leave out the factor 8 / H of the heads.",
        "Head h of H has the ratio 8 h / H.",
        "Sandwich (2212.10356), sec. 4",
        _sandwich(lambda xp, y, heads, dim: y * 8 / heads),
    ),
    Fault(
        "sandwich-start-ignored",
        "You count frequencies from 1 whatever start says.",
        "Follow start: the paper's exponents start at 1, NeMo's too, others' at 0.",
        "Sandwich (2212.10356), sec. 3",
        without(("sandwich_bias",), "start"),
    ),
    Fault(
        "sandwich-dim-ignored",
        "You use 128 channels whatever dim is.",
        "Pass it on.",
        "Sandwich (2212.10356), sec. 4",
        without(("sandwich_bias",), "dim"),
    ),
    Fault(
        "fire-not-normalised",
        "You do not divide by the query's own length.",
        "Divide by ln(1 + |c max(L, q)|).",
        "FIRE (2310.04418), eq. 9",
        _fire(lambda xp, psi, d, q, n, e: psi(d)),
    ),
    Fault(
        "fire-without-logarithm",
        "You divide distances, not their logarithms.",
        "Transform both by ln(1 + |c x|).",
        "FIRE (2310.04418), eq. 9",
        _fire(lambda xp, psi, d, q, n, e: xp.abs(d) / (xp.clip(q, float(n), 2.0**53) + e)),
    ),
    Fault(
        "fire-by-the-length",
        "You divide by the threshold for all queries.",
        "Beyond the threshold divide by the query's position.",
        "FIRE (2310.04418), eq. 9",
        _fire(lambda xp, psi, d, q, n, e: psi(d) / (psi(n + 0 * q) + e)),
    ),
    Fault(
        "fire-by-the-query",
        "You divide by the query's position even below the threshold.",
        "Divide by the larger of both.",
        "FIRE (2310.04418), eq. 9",
        _fire(lambda xp, psi, d, q, n, e: psi(d) / (psi(q) + e)),
    ),
    Fault(
        "fire-limit-ignored",
        "You take the larger of length and position whatever limit says.",
        "Follow limit.",
        "FIRE (2310.04418), eq. 9",
        without(("fire_distance",), "limit"),
    ),
    Fault(
        "fire-limits-exchanged",
        "You take the smaller of length and position for the larger.",
        "Take the larger one for 'max', the smaller one for 'min'.",
        "FIRE (2310.04418), eq. 9",
        keywords(("fire_distance",), lambda k: {**k, "limit": "max" if k.get("limit") == "min" else "min"}),
    ),
    Fault(
        "fire-of-the-key",
        "You divide by the key's position.",
        "Divide by the query's.",
        "FIRE (2310.04418), eq. 9",
        replaced(fire_distance=_by_the_key),
    ),
    Fault(
        "fire-eps-ignored",
        "You use eps 1e-6 whatever is given.",
        "Pass it on.",
        "FIRE (2310.04418), eq. 9",
        without(("fire_distance",), "eps"),
    ),
)
