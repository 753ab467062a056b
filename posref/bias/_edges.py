"""Where T5's logarithmic buckets begin: the formula's edges, and those of two variants in float32."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def lower_bounds(buckets: int, exact: int, max_distance: int, rule: str) -> list[int]:
    """The smallest distance of each bucket; a bucket that no distance reaches has that of the next one."""
    reaches = {"exact": _reaches, "epsilon": _reaches_with_epsilon, "float32_sum": _sums_to_in_float32}[rule]
    steps = buckets - exact
    bounds = list(range(exact + 1))
    for j in range(1, steps):
        bounds.append(_first(reaches(j, steps, exact, max_distance), bounds[-1], max_distance))
    return bounds[:buckets]


def _first(reached: Callable[[int], bool], low: int, high: int) -> int:
    """The first distance that reaches a bucket, which later ones do too."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return low


def _reaches(j: int, steps: int, exact: int, max_distance: int) -> Callable[[int], bool]:
    """Steps ln(n / e) / ln(D / e) >= j, in integers."""
    wanted = max_distance**j * exact ** (steps - j)
    return lambda n: n**steps >= wanted


def _reaches_with_epsilon(j: int, steps: int, exact: int, max_distance: int) -> Callable[[int], bool]:
    """The same for n / e + 2**-23 = (2**23 n + e) / (2**23 e)."""
    wanted = max_distance**j * exact ** (steps - j) << 23 * steps
    return lambda n: ((n << 23) + exact) ** steps >= wanted


def _sums_to_in_float32(j: int, steps: int, exact: int, max_distance: int) -> Callable[[int], bool]:
    """E + ln(n / e) / ln(D / e) steps >= e + j, each operation rounded to float32. They all are monotonic, and so is the sum."""
    f = np.float32
    width = f(math.log(max_distance / exact))
    return lambda n: bool(f(exact) + f(math.log(f(n) / f(exact))) / width * f(steps) >= exact + j)
