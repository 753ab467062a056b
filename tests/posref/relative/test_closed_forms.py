"""Gates and temperatures are within 0.51 ulp of the true value of their arguments, by rigorous enclosures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from balls import decided, error
from flint import arb

from posref import bias_gate, inkling_scale

LIMIT, ENTRIES = 0.51, 600
DRAW = np.random.default_rng(71)


def sigmoid(p: Any) -> arb:
    return 1 / (1 + (-sum((arb(x) for x in p.tolist()), arb(0))).exp())


def worst_of_gates(gate: Callable[..., Any]) -> float:
    p = DRAW.normal(size=(3, ENTRIES // 3, 8)) * np.exp(DRAW.normal(size=(3, ENTRIES // 3, 1)))
    c = DRAW.normal(size=3)
    values = gate(p, c)

    def errors() -> list[float]:
        return [
            error(float(v), sigmoid(x[:4]) * (sigmoid(x[4:]) * arb(float(h)) - 1) + 2)
            for rows, numbers, h in zip(p, values, c, strict=True)
            for x, v in zip(rows, numbers, strict=True)
        ]

    return max(decided(errors))


def gate_in_float64(p: Any, c: Any) -> Any:
    a, b = (1 / (1 + np.exp(-part.sum(axis=-1))) for part in (p[..., :4], p[..., 4:]))
    return a * (b * c[:, None] - 1) + 2


def worst_of_temperatures(scale: Callable[..., Any]) -> float:
    length, alpha = 4095, 0.1
    positions = np.concatenate([np.exp(DRAW.uniform(0, 36, ENTRIES)), 4094 + np.exp(DRAW.uniform(-20, 2, ENTRIES))])
    values = scale(positions, length, alpha=alpha)

    def errors() -> list[float]:
        found = []
        for m, v in zip(positions.tolist(), values.tolist(), strict=True):
            ratio = (arb(m) + 1) / length
            found.append(error(v, 1 + arb(alpha) * ratio.log() if ratio > 1 else arb(1)))
        return found

    return max(decided(errors))


def temperature_in_float64(m: Any, length: int, alpha: float) -> Any:
    return 1 + alpha * np.log(np.maximum((m + 1) / length, 1))


def test_gates_are_rounded_once() -> None:
    assert worst_of_gates(bias_gate) <= LIMIT
    assert worst_of_gates(gate_in_float64) > LIMIT


def test_temperatures_are_rounded_once() -> None:
    assert worst_of_temperatures(inkling_scale) <= LIMIT
    assert worst_of_temperatures(temperature_in_float64) > LIMIT
