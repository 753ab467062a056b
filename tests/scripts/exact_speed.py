"""How long cos_sin takes, as a multiple of plain NumPy float64 cos and sin of the same angles.

    python tests/scripts/exact_speed.py [ROUNDS]

All ways take turns in one process, and the median of the ratios within a round is printed, so that a machine that is busy or
changes its clock does not decide. CPU time, one thread. The bar: 1 for consecutive positions, 5 for arbitrary ones. The plain
table is always that of positions 0 to 131071; far from 0, NumPy's own cos takes two to five times as long.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref import exact

POSITIONS, PAIRS = 131072, 64


def ladder(base: int) -> list[Decimal]:
    log = Decimal(base).ln()
    return [(-log * k / PAIRS).exp() for k in range(PAIRS)]


def seconds(function: Callable[[], Any]) -> float:
    start = time.process_time()
    result = function()
    spent = time.process_time() - start
    del result
    return spent


def sizes(source: np.random.Generator, low: float, high: float) -> NDArray[np.float64]:
    """Floats of either sign and of every size between two powers of ten."""
    return np.asarray(source.choice([-1.0, 1.0], POSITIONS) * 10.0 ** source.uniform(low, high, POSITIONS))


def kinds_of_floats(source: np.random.Generator) -> dict[str, Callable[[], NDArray[np.float64]]]:
    whole = np.arange(POSITIONS) + 1.0
    return {
        "floats": lambda: source.uniform(-1e5, 1e5, POSITIONS),
        "floats in 0..1": lambda: source.random(POSITIONS),
        "floats 1e-6..1": lambda: sizes(source, -6, 0),
        "floats 1e-30..1": lambda: sizes(source, -30, 0),
        "floats near 1e-4": lambda: sizes(source, -4, -3.7),
        "floats near 1e-8": lambda: sizes(source, -8, -7.7),
        "floats near 1e-30": lambda: sizes(source, -30, -29.7),
        "floats 1e-12..1e12": lambda: sizes(source, -12, 12),
        "floats 1e-300..1e300": lambda: sizes(source, -300, 300),
        "floats near 1e300": lambda: sizes(source, 299.7, 300),
        "subnormal": lambda: sizes(source, -323, -308),
        "halves": lambda: source.integers(-(2**53), 2**53, POSITIONS) / 2,
        "neighbours of integers": lambda: np.nextafter(
            source.permutation(whole), source.choice([-np.inf, np.inf], POSITIONS)
        ),
        "zeros, integers, tiny": lambda: source.choice(
            np.concatenate([np.zeros(9), whole[:9], sizes(source, -20, -10)[:9]]), POSITIONS
        ),
    }


def main(rounds: int) -> None:
    source, start = np.random.default_rng(), np.arange(POSITIONS)
    floats = kinds_of_floats(source)
    with exact.real_arithmetic(np.array([2**53])):
        usual, long = ladder(10000), ladder(10**12)
        w = exact.rounded(usual)
        ways: dict[str, Callable[[], Any]] = {
            "plain NumPy float64": lambda: (lambda angles: (np.cos(angles), np.sin(angles)))(start[:, None] * w),
            "consecutive": lambda: exact.cos_sin(start + source.integers(0, 2**40), usual),
            "consecutive, float32": lambda: exact.cos_sin(start + source.integers(0, 2**31), usual, dtype=np.float32),
            "consecutive, gain 1.19": lambda: exact.cos_sin(start, usual, Decimal("1.19")),
            "consecutive, base 1e12": lambda: exact.cos_sin(start, long),
            "unsorted below 2^20": lambda: exact.cos_sin(source.integers(0, 2**20, POSITIONS), usual),
            "arbitrary below 2^32": lambda: exact.cos_sin(source.integers(0, 2**32, POSITIONS), usual),
            "arbitrary below 2^53": lambda: exact.cos_sin(source.integers(0, 2**53, POSITIONS), usual),
            "arbitrary, base 1e12": lambda: exact.cos_sin(source.integers(0, 2**32, POSITIONS), long),
            **{name: lambda make=make: exact.cos_sin(make(), usual) for name, make in floats.items()},
            **{f"{name}, base 1e12": lambda make=make: exact.cos_sin(make(), long) for name, make in floats.items()},
        }
        taken = np.array([[seconds(way) for way in ways.values()] for _ in range(rounds + 1)])[1:]
    for i, name in enumerate(ways):
        ratio, ns = np.median(taken[:, i] / taken[:, 0]), np.median(taken[:, i]) / (POSITIONS * PAIRS) * 1e9
        print(f"{name:32s} {ns:6.1f} ns a pair   {ratio:5.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
