"""A table of offsets for a larger window as BEiT's code has it: its old rows lie on a geometric progression of the new offsets.

The row of offset j, counted from the middle, lies at sign(j) (1 + q + ... + q^(|j| - 1)), with the q > 1 that brings the last one
to the last new offset: near offsets stay where they are, far ones are drawn apart. Between the rows there are straight lines, or
the cubic spline through all of them, whose third derivative has no jump at the last point but one ("not a knot").
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from posref._each import fewer_digits

Reals = Sequence[Decimal]


def geometric_weights(s: int, n: int, kernel: str) -> list[list[float]]:
    """(n, s): the weights of the old rows for each new one, each rounded once."""
    with fewer_digits():
        x = places(s // 2, n // 2)
        bends = _second_derivatives(x) if kernel == "spline" else [[Decimal(0)] * s] * s
        return [[float(w) for w in _at(Decimal(o - n // 2), x, bends)] for o in range(n)]


def places(half: int, last: int) -> list[Decimal]:
    """Where the old rows lie: from -last to last."""
    q, steps, total = ratio(half, last), [Decimal(0)], Decimal(0)
    for k in range(half):
        total += q**k
        steps.append(total)
    steps[-1] = Decimal(last)
    return [-step for step in steps[:0:-1]] + steps


def ratio(half: int, last: int) -> Decimal:
    """The q >= 1 with 1 + q + ... + q^(half - 1) = last, by Newton's method from above: the sum is convex in q."""
    q, step = Decimal("1.5"), Decimal(1)
    if half == last:
        return Decimal(1)
    while step > Decimal("1e-35"):
        value = sum((q**k for k in range(half)), Decimal(-last))
        step = value / sum((k * q ** (k - 1) for k in range(1, half)), Decimal(0))
        q -= step
    return q


def _at(t: Decimal, x: Reals, bends: Sequence[Reals]) -> list[Decimal]:
    """The weights of all rows at one place."""
    i = min(bisect_right(x, t) - 1, len(x) - 2)
    h = x[i + 1] - x[i]
    b = (t - x[i]) / h
    a, square = 1 - b, h * h / 6
    row = [square * ((a**3 - a) * m + (b**3 - b) * m1) for m, m1 in zip(bends[i], bends[i + 1], strict=True)]
    row[i], row[i + 1] = row[i] + a, row[i + 1] + b
    return row


def _second_derivatives(x: Reals) -> list[list[Decimal]]:
    """M, (points, rows): what each row adds to the spline's second derivative at each point.

    h_{i-1} M_{i-1} + 2 (h_{i-1} + h_i) M_i + h_i M_{i+1} = 6 (y_{i+1} - y_i) / h_i - 6 (y_i - y_{i-1}) / h_{i-1}, where
    M_0 = M_1 + (h_0 / h_1) (M_1 - M_2) and the same at the other end; by elimination from the first row to the last.
    """
    s, h = len(x), [b - a for a, b in pairwise(x)]
    below, middle, above = ([Decimal(0)] * s for _ in range(3))
    right = [[Decimal(0)] * s for _ in range(s)]
    for i in range(1, s - 1):
        below[i], middle[i], above[i] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        right[i][i - 1], right[i][i + 1] = 6 / h[i - 1], 6 / h[i]
        right[i][i] = -right[i][i - 1] - right[i][i + 1]
    first, last = h[0] / h[1], h[-1] / h[-2]
    middle[1], above[1] = middle[1] + h[0] * (1 + first), above[1] - h[0] * first
    middle[-2], below[-2] = middle[-2] + h[-1] * (1 + last), below[-2] - h[-1] * last
    for i in range(2, s - 1):
        times = below[i] / middle[i - 1]
        middle[i] -= times * above[i - 1]
        right[i] = [r - times * r1 for r, r1 in zip(right[i], right[i - 1], strict=True)]
    m = [[Decimal(0)] * s for _ in range(s)]
    for i in range(s - 2, 0, -1):
        m[i] = [
            (r - above[i] * m1) / middle[i] for r, m1 in zip(right[i], m[i + 1] if i < s - 2 else m[0], strict=True)
        ]
    m[0] = [a + first * (a - b) for a, b in zip(m[1], m[2], strict=True)]
    m[-1] = [a + last * (a - b) for a, b in zip(m[-2], m[-3], strict=True)]
    return m
