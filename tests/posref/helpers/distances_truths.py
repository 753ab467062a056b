"""As true_values, for distances, and biases that are functions of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from balls import Ball, ball
from flint import arb
from numpy.typing import NDArray
from true_values import At, power


def rerope_distance(q_positions: NDArray[Any], k_positions: NDArray[Any], window: int, factor: float) -> At:
    def at(row: int, column: int) -> Ball:
        d = int(q_positions[row]) - int(k_positions[column])
        return arb(d) if d < window else window + arb(d - window) / arb(factor)

    return at


def self_extend_distance(
    q_positions: NDArray[Any], k_positions: NDArray[Any], group_size: int, window: int, shift: str
) -> At:
    def at(row: int, column: int) -> Ball:
        q, k = int(q_positions[row]), int(k_positions[column])
        groups = q // group_size - k // group_size
        return arb(q - k) if q - k < window else groups + window - arb(window) / group_size

    return at


def kerple_bias(r1: Any, r2: Any, q_positions: Any, k_positions: Any, form: str) -> At:
    def at(head: int, row: int, column: int) -> Ball:
        d = arb(abs(int(q_positions[row]) - int(k_positions[column])))
        a, b = arb(float(r1[head])), arb(float(r2[head]))
        if form == "log":
            return -a * (1 + b * d).log()
        return -a * (d.log() * b).exp() if d != 0 else arb(0)

    return at


def fire_distance(q_positions: Any, k_positions: Any, c: float, length: float, limit: str, eps: float) -> At:
    def psi(x: Ball) -> Ball:
        return (1 + abs(arb(c) * x)).log()

    def at(row: int, column: int) -> Ball:
        q, k = int(q_positions[row]), int(k_positions[column])
        bound = max(Fraction(length), Fraction(q)) if limit == "max" else min(Fraction(length), Fraction(q))
        return psi(arb(q - k)) / (psi(ball(bound)) + arb(eps))

    return at


def log_offset(relative_position: NDArray[Any], extent: Any) -> At:
    def at(i: int) -> Ball:
        d = Fraction(relative_position[i].item())
        if d == 0:
            return arb(0)
        size = (
            ball(1 + abs(d)).log() if extent is None else ball(1 + 8 * abs(d) / Fraction(extent)).log() / arb(8).log()
        )
        return size if d > 0 else -size

    return at


def sandwich_bias(num_heads: int, q_positions: Any, k_positions: Any, dim: int, base: float, start: int) -> At:
    """As the paper has it, with the cosines of the distance and d / 2, which cancel: to be undecided is usual here."""
    w, sums = [power(base, -2 * i, dim) for i in range(start, start + dim // 2)], {}

    def at(head: int, row: int, column: int) -> Ball:
        if (row, column) not in sums:
            d = arb(q_positions[row].item()) - arb(k_positions[column].item())
            sums[row, column] = sum(((d * f).cos() for f in w), start=arb(0)) - arb(dim) / 2
        return arb(num_heads) / (8 * (head + 1)) * sums[row, column]

    return at
