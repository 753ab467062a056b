"""Golden values of learned tables: at another length or size, and decomposed."""

from __future__ import annotations

import itertools
import math
from typing import Any

from golden_formulas import Nested
from golden_rotary_cases import Case, numbers
from mpmath import mp, mpf


def keys(x: Any, a: float) -> Any:
    """Keys (1981), eq. 4 with the conditions of sec. III, for any a."""
    x, a = abs(x), mpf(a)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else mpf(0)


def offset_weights(o: int, s: int, n: int, kernel: str) -> list[Any]:
    """Of the old offsets for a new one: places by the root of a polynomial; the spline from truncated powers."""
    half, last = s // 2, n // 2
    q = mpf(1)
    if half != last:
        q = mp.findroot(lambda r: sum(r**k for k in range(half)) - last, (mpf(1), mpf("1.5")), solver="anderson")
    far = [sum((q**k for k in range(j)), mpf(0)) for j in range(half)] + [mpf(last)]
    x, t = [-v for v in far[:0:-1]] + far, mpf(o - last)

    def powers(at: Any) -> list[Any]:
        return [at**k for k in range(4)] + [max(at - knot, mpf(0)) ** 3 for knot in x[2:-2]]

    def hats(at: Any) -> list[Any]:
        return [mpf(1), at, *(abs(at - knot) for knot in x[1:-1])]

    basis = powers if kernel == "spline" else hats
    return list(mp.lu_solve(mp.matrix([basis(v) for v in x]).T, mp.matrix(basis(t))))


def resample_table(
    table: Nested,
    sizes: list[int],
    new_sizes: list[int],
    kernel: str,
    cubic_a: float,
    antialias: bool,
    align_corners: bool,
    offset: float,
    prefix: int,
    spacing: str = "uniform",
) -> Nested:
    def kappa(x: Any) -> Any:
        return keys(x, cubic_a) if kernel == "cubic" else max(mpf(0), 1 - abs(x))

    def taps(o: int, s: int, n: int) -> list[tuple[int, Any]]:
        """Cells and weights; cells beyond the border are moved to it."""
        if spacing == "geometric":
            return list(enumerate(offset_weights(o, s, n, kernel)))
        if align_corners:
            c, ratio = (mpf(o) * (s - 1) / (n - 1) if n > 1 else mpf(0)), mpf(1)
        else:
            ratio = s / (mpf(n) + mpf(offset))
            c = (o + mpf(1) / 2) * ratio - mpf(1) / 2
        stretch = max(ratio, mpf(1)) if antialias else mpf(1)
        around = range(-3 * s - 3, 4 * s + 4)
        if not antialias:
            return [(min(max(j, 0), s - 1), kappa(c - j)) for j in around]
        inside = [(j, kappa((c - j) / stretch)) for j in around if 0 <= j < s]
        total = sum(weight for _, weight in inside)
        return [(j, weight / total) for j, weight in inside]

    grid = {place: table[prefix + i] for i, place in enumerate(itertools.product(*map(range, sizes)))}
    rows = [[mpf(v) for v in row] for row in table[:prefix]]
    for new in itertools.product(*map(range, new_sizes)):
        along = [taps(o, s, n) for o, s, n in zip(new, sizes, new_sizes, strict=True)]
        row = [mpf(0)] * len(table[0])
        for chosen in itertools.product(*([t for t in axis if t[1]] for axis in along)):
            weight = mp.fprod([w for _, w in chosen])
            old = grid[tuple(j for j, _ in chosen)]
            row = [y + weight * mpf(v) for y, v in zip(row, old, strict=True)]
        rows.append(row)
    return rows


def hierarchical_table(table: Nested, rows: int, alpha: float) -> Nested:
    n, a = len(table), mpf(alpha)
    u = [[(mpf(v) - a * mpf(v0)) / (1 - a) for v, v0 in zip(row, table[0], strict=True)] for row in table]
    return [[a * x + (1 - a) * y for x, y in zip(u[i // n], u[i % n], strict=True)] for i in range(rows)]


# --- cases -----------------------------------------------------------------------------------------------------------


def resampled(note: str, seed: int, sizes: list[int], new: list[int], **others: Any) -> Case:
    given = {
        "table": numbers(seed, others.get("prefix", 0) + math.prod(sizes), 2),
        "sizes": sizes,
        "new_sizes": new,
        "kernel": "cubic",
        "cubic_a": -0.75,
    }
    return note, given | {"antialias": False, "align_corners": False, "offset": 0.0, "prefix": 0} | others


ANTIALIAS = {"antialias": True, "cubic_a": -0.5}

CASES: dict[str, list[Case]] = {
    "resample_table": [
        resampled("ViT in transformers", 1030, [3, 4], [5, 3]),
        resampled("DINO: by a factor that is a little larger", 1030, [3, 4], [5, 3], offset=0.1),
        resampled("timm: antialias, a = -0.5", 1030, [3, 4], [5, 3], **ANTIALIAS),
        resampled("antialias alone", 1030, [3, 4], [5, 3], antialias=True),
        resampled("SigLIP 2", 1030, [3, 4], [5, 3], kernel="linear", antialias=True),
        resampled("Qwen3-VL, big_vision", 1030, [3, 4], [5, 3], kernel="linear", align_corners=True),
        resampled("linear", 1030, [3, 4], [5, 3], kernel="linear"),
        resampled(
            "BEiT in transformers: (height, width) = (4, 3) read as (3, 4)", 1040, [3, 4], [5, 3], kernel="linear"
        ),
        resampled("the same table as it lies", 1040, [4, 3], [5, 3], kernel="linear"),
        resampled("a class token, far fewer cells", 1050, [5, 7], [2, 2], prefix=1, **ANTIALIAS),
        resampled("BEiT's own code: offsets", 1055, [7, 9], [9, 11], kernel="spline", spacing="geometric"),
        resampled("timm: the same, straight lines", 1055, [7, 9], [9, 11], kernel="linear", spacing="geometric"),
        resampled("from a window of 7 to one of 12", 1056, [13], [23], kernel="spline", spacing="geometric"),
        resampled("a sequence, corners on corners", 1060, [5], [9], align_corners=True),
        resampled("from one cell, to one", 1070, [1, 2], [3, 1]),
    ],
    "hierarchical_table": [
        ("Su's example", {"table": [[1.0], [2.0], [4.0]], "rows": 9, "alpha": 0.4}),
        ("another alpha", {"table": numbers(1080, 4, 2), "rows": 13, "alpha": 0.3}),
    ],
}
