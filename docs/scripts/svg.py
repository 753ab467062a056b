"""Line charts as SVG in the page: no file, no library, and the colours follow the site's light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 36, 46  # room for tick labels, the legend and the axis title
Series = tuple[str, Sequence[float], Sequence[float]]  # a name, x and y


def lines(series: Sequence[Series], x_label: str, caption: str, *, log: bool = False, steps: bool = False) -> str:
    """A figure with one line per series; ``log`` for x, ``steps`` for values that jump."""
    left, right = _range([x for _, xs, _ in series for x in xs])
    low, high = _range([y for _, _, ys in series for y in ys])
    x_ticks = [10.0**e for e in range(9)] if log else _ticks(left, right)
    x_ticks = [x for x in x_ticks if left <= x <= right]
    y_ticks = _ticks(low, high)
    low, high = min(low, y_ticks[0]), max(high, y_ticks[-1])

    def across(x: float) -> float:
        a, b, x = (math.log(v) for v in (left, right, x)) if log else (left, right, x)
        return LEFT + (x - a) / (b - a) * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    bottom = HEIGHT - BOTTOM
    parts = [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(y):.1f}" y2="{up(y):.1f}"/>' for y in y_ticks
    ]
    parts += [f'<text x="{LEFT - 8}" y="{up(y) + 4:.1f}" text-anchor="end">{_number(y)}</text>' for y in y_ticks]
    parts += [f'<text x="{across(x):.1f}" y="{bottom + 18}" text-anchor="middle">{_number(x)}</text>' for x in x_ticks]
    parts += [f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>']
    for i, (name, xs, ys) in enumerate(series):
        points = [(across(x), up(y)) for x, y in zip(xs, ys, strict=True)]
        parts.append(f'<path class="line line{i}" d="{_path(points, steps)}"/>')
        at = LEFT + i * (WIDTH - LEFT - RIGHT) / len(series)
        parts.append(f'<line class="line line{i}" x1="{at:.0f}" x2="{at + 22:.0f}" y1="16" y2="16"/>')
        parts.append(f'<text x="{at + 28:.0f}" y="20">{escape(name)}</text>')
    return (
        f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(caption)}">'
        f"{''.join(parts)}</svg><figcaption>{escape(caption)}</figcaption></figure>"
    )


def _path(points: Sequence[tuple[float, float]], steps: bool) -> str:
    (x, y), *rest = points
    if steps:
        return f"M{x:.1f} {y:.1f}" + "".join(f"H{a:.1f}V{b:.1f}" for a, b in rest)
    return f"M{x:.1f} {y:.1f}L" + " ".join(f"{a:.1f} {b:.1f}" for a, b in rest)


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 1, high + 1)


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers that lie between, or just outside of, the ends."""
    raw = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(m * unit for m in (1, 2, 2.5, 5, 10) if m * unit >= raw * 0.99)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")
