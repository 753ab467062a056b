"""Where T5's logarithmic buckets begin: an estimate in float64, put right by what decides."""

from __future__ import annotations

import math

from posref._arguments import choice
from posref._bias_arguments import BUCKET_RULES


def lower_bounds(num_buckets: int, max_distance: int, both: bool, rule: str) -> list[int]:
    """The smallest distance of each bucket of one direction."""
    choice(rule, "rule", BUCKET_RULES)
    buckets = num_buckets // 2 if both else num_buckets
    exact = buckets // 2
    if not exact:
        raise ValueError(f"num_buckets must be >= {4 if both else 2} with bidirectional={both}, got {num_buckets}")
    if max_distance <= exact:
        raise ValueError(
            f"max_distance must be > {exact}, the exact range of {num_buckets} buckets, got {max_distance}"
        )
    log_buckets = buckets - exact
    bounds = list(range(exact + 1))
    for j in range(1, log_buckets):
        n = max(exact, int(exact * (max_distance / exact) ** (j / log_buckets)))
        while n > exact and _reached(n, j, log_buckets, exact, max_distance, rule):
            n -= 1
        while not _reached(n, j, log_buckets, exact, max_distance, rule):
            n += 1
        bounds.append(n)
    return bounds


def _reached(n: int, j: int, log_buckets: int, exact: int, max_distance: int, rule: str) -> bool:
    """Whether distance n is in the bucket exact + j or beyond."""
    if rule == "float32_sum":
        share = _to_float32(math.log(_to_float32(n / exact))) / _to_float32(math.log(max_distance / exact))
        part = _to_float32(_to_float32(share) * log_buckets)
        return _to_float32(exact + part) >= exact + j
    fine = 2**23 if rule == "epsilon" else 1
    scaled = n * fine + exact if rule == "epsilon" else n
    return bool(scaled**log_buckets >= max_distance**j * exact ** (log_buckets - j) * fine**log_buckets)


def _to_float32(x: float) -> float:
    """Rounded to 24 bits (Veltkamp)."""
    scaled = x * (2.0**29 + 1)
    return scaled - (scaled - x)
