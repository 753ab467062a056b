"""As random_arguments, for distances, and biases that are functions of them."""

from __future__ import annotations

from typing import Any

from numpy.random import Generator
from random_arguments import Arguments, base, even_dim, positions, positive, power_of_ten


def whole(source: Generator) -> dict[str, Any]:
    reach = int(2 ** (4 + 36 * source.random()))
    return {
        "q_positions": source.integers(reach // 2, reach, 20),
        "k_positions": source.integers(0, reach, 30),
        "window": max(1, int(reach * source.random() / 2)),
    }


def rerope_distance(source: Generator) -> Arguments:
    return whole(source) | {"factor": positive(source)}


def self_extend_distance(source: Generator) -> Arguments:
    return whole(source) | {"group_size": int(2 + 20 * source.random() ** 3), "shift": "exact"}


def kerple_bias(source: Generator, form: str) -> Arguments:
    heads = int(source.integers(1, 6))
    r1, r2 = 10.0 ** source.uniform(-3, 1, (2, heads))
    r2 = source.uniform(0.01, 2, heads) if form == "power" else r2
    reach = int(2 ** (4 + 30 * source.random()))
    q, k = source.integers(0, reach, 12), source.integers(0, reach, 15)
    return {"r1": r1, "r2": r2, "q_positions": q, "k_positions": k, "form": form}


def fire_distance(source: Generator, limit: str) -> Arguments:
    reach = int(2 ** (4 + 30 * source.random()))
    eps = (0.0, 1e-6, power_of_ten(source, -12, 0))[source.integers(3)]
    return {
        "q_positions": source.integers(1, reach, 12),
        "k_positions": source.integers(0, reach, 15),
        "c": (-1) ** int(source.integers(2)) * power_of_ten(source, -12, 2),
        "length": power_of_ten(source, -2, 5),
        "limit": limit,
        "eps": eps,
    }


def log_offset(source: Generator, kind: str) -> Arguments:
    extent = None if kind == "paper" else power_of_ten(source, -1, 3) if kind == "any" else int(source.integers(1, 64))
    return {"relative_position": positions(source, (40,)), "extent": extent}


def sandwich_bias(source: Generator) -> Arguments:
    whole = int(2 ** (4 + 49 * source.random()))
    q, k = source.integers(-whole, whole, 4), source.integers(0, whole, 5)
    if source.random() < 0.5:
        size = power_of_ten(source, -12, 12)
        q, k = source.normal(size=4) * size, source.normal(size=5) * power_of_ten(source, -12, 12)
        q[0] = k[0] * (1 + 2.0**-50)  # next to each other
    return {
        "num_heads": int(source.integers(1, 20)),
        "q_positions": q,
        "k_positions": k,
        "dim": min(even_dim(source), 128),
        "base": base(source),
        "start": int(source.integers(2)),
    }
