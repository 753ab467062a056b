"""KERPLE, Sandwich, FIRE and CAPE in mpmath: formulas and cases in the manner of golden_formulas and golden_cases."""

from __future__ import annotations

from typing import Any

from golden_formulas import Nested
from golden_rotary_cases import LARGEST, Case
from mpmath import mp, mpf


def kerple_bias(r1: list[float], r2: list[float], q_positions: Nested, k_positions: Nested, form: str) -> Nested:
    if isinstance(q_positions[0], list):
        return [kerple_bias(r1, r2, q, k, form) for q, k in zip(q_positions, k_positions, strict=True)]

    def kernel(a: float, b: float, d: Any) -> Any:
        return -mpf(a) * (mp.log1p(mpf(b) * d) if form == "log" else d ** mpf(b))

    return [
        [[kernel(a, b, abs(mpf(q) - mpf(k))) for k in k_positions] for q in q_positions]
        for a, b in zip(r1, r2, strict=True)
    ]


def sandwich_bias(
    num_heads: int, q_positions: Nested, k_positions: Nested, dim: int, base: float, start: int
) -> Nested:
    if isinstance(q_positions[0], list):
        rows = zip(q_positions, k_positions, strict=True)
        return [sandwich_bias(num_heads, q, k, dim, base, start) for q, k in rows]

    def product(q: float, k: float) -> Any:
        """As the product of two encodings of sines and cosines."""
        w = [mpf(base) ** (-mpf(2 * i) / dim) for i in range(start, start + dim // 2)]
        q, k = mpf(q), mpf(k)
        with mp.workdps(120):  # angles to 10^16
            return mp.fsum(mp.sin(q * f) * mp.sin(k * f) + mp.cos(q * f) * mp.cos(k * f) for f in w)

    return [
        [[(product(q, k) - mpf(dim) / 2) / (mpf(8) * h / num_heads) for k in k_positions] for q in q_positions]
        for h in range(1, num_heads + 1)
    ]


def fire_distance(q_positions: Nested, k_positions: Nested, c: float, length: float, limit: str, eps: float) -> Nested:
    if isinstance(q_positions[0], list):
        rows = zip(q_positions, k_positions, strict=True)
        return [fire_distance(q, k, c, length, limit, eps) for q, k in rows]

    def psi(x: Any) -> Any:
        return mp.log1p(abs(mpf(c) * x))

    chosen = max if limit == "max" else min
    return [
        [psi(mpf(q) - mpf(k)) / (psi(chosen(mpf(length), mpf(q))) + mpf(eps)) for k in k_positions] for q in q_positions
    ]


def cape_positions(positions: Nested, shift: Nested, log_scale: Nested, centre: bool) -> Nested:
    if isinstance(positions[0], list):
        rows = zip(positions, shift, log_scale, strict=True)
        return [cape_positions(p, d, s, centre) for p, d, s in rows]
    mean = mp.fsum(positions) / len(positions) if centre else mpf(0)
    draws = zip(positions, shift, log_scale * len(positions), strict=False)
    return [(mpf(p) - mean + mpf(d)) * mp.exp(mpf(s)) for p, d, s in draws]


# --- cases -----------------------------------------------------------------------------------------------------------


def kerple(note: str, r1: list[float], r2: list[float], q: Nested, k: Nested, form: str = "log") -> Case:
    return note, {"r1": r1, "r2": r2, "q_positions": q, "k_positions": k, "form": form}


def sandwich(note: str, q: Nested, k: Nested, heads: int = 2, **others: Any) -> Case:
    given: dict[str, Any] = {"num_heads": heads, "q_positions": q, "k_positions": k}
    return note, given | {"dim": 128, "base": 10000.0, "start": 1} | others


def fire(note: str, q: Nested, k: Nested, c: float = 0.1, length: float = 512.0, **others: Any) -> Case:
    given = {"q_positions": q, "k_positions": k, "c": c, "length": length}
    return note, given | {"limit": "max", "eps": 1e-6} | others


SLOPES = [0.25, 0.0625]
CASES: dict[str, list[Case]] = {
    "kerple_bias": [
        kerple("logarithm", [2.0, 0.3], [1.0, 0.07], [3, 0, 40], [0, 3, 5, LARGEST]),
        kerple("power", [0.5, 0.3], [1.5, 0.07], [3, 0, 40], [0, 3, 5, 10**6], "power"),
        kerple("a power of 1 is ALiBi", SLOPES, [1.0, 1.0], [3, 4], [0, 1, 2, 3], "power"),
        kerple("ALiBi's slopes, learned r2", SLOPES, [0.5, 0.1], [3, 4], [0, 1, 2, 3]),
        kerple("NeMo: the same with r2 = 0", SLOPES, [0.0, 0.0], [3, 4], [0, 1, 2, 3]),
        kerple("fractions", [1.1], [0.3], [0.1, -7.25], [2.7, 1e6]),
        kerple("a batch", [1.1], [0.3], [[0, 1], [5, 9]], [[7, 2], [5, 5]]),
    ],
    "sandwich_bias": [
        sandwich("the sum from 1 on, as in NeMo", [0, 1, 9], [0, 1, 500]),
        sandwich("the sum from 0 on", [0, 1, 9], [0, 1, 500], start=0),
        sandwich("another dim and base, three heads", [3, -4], [0, 12345], 3, dim=6, base=37.5),
        sandwich("fractions whose difference takes more than 53 bits", [0.1, 3e7], [-2.7, 0.3], dim=8),
        sandwich("a batch", [[0, 1], [5, 9]], [[7, 2], [5, 5]], 1, dim=4),
    ],
    "cape_positions": [
        ("text", {"positions": [0, 1, 5], "shift": [0.3, -1.2, 0.75], "log_scale": [0.1], "centre": False}),
        ("sound", {"positions": [0, 1, 5], "shift": [0.3, -1.2, 0.75], "log_scale": [0.1], "centre": True}),
        (
            "a batch, fractions, large positions",
            {"positions": [[0.1, LARGEST], [7, 7.3]], "shift": [[0.3, 0.7], [-1.2, 7e5]]}
            | {"log_scale": [[-0.4], [1.7]], "centre": False},
        ),
    ],
    "fire_distance": [
        fire("below the length", [10, 511], [3, 0, 10, 40]),
        fire("beyond it", [512, 1000, LARGEST], [3, 0, 999]),
        fire("the smaller of both", [10, 1000], [3, 0, 999], limit="min"),
        fire("the larger of both, the same numbers", [10, 1000], [3, 0, 999]),
        fire("the paper's, without an epsilon", [10, 1000], [3, 0, 999], eps=0.0),
        fire("a negative c, fractions", [0.1, 7.3], [-2.75, 3], -0.37, 2.5),
        fire("a batch", [[0, 1], [5, 9]], [[7, 2], [5, 5]], 0.5, 3.0),
    ],
}
