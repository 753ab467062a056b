"""Errors over positions as SVG: nothing to install, nothing to fetch, and it prints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

Point = tuple[float, float, bool]  # position, error as a multiple of its bound, whether the check passed

WIDTH, HEIGHT = 560, 220
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 40
LEAST = 1e-3  # errors below are drawn there: a tenth of a percent of what is allowed


def errors_over_positions(points: Sequence[Point], x_title: str) -> str:
    """A scatter plot on logarithmic axes, positions with their sign. The line at 1 is the bound."""
    reach = max([1.0, *(abs(p) for p, _, _ in points)])
    signed = any(p < 0 for p, _, _ in points)
    top = max(10.0, *(min(e, 1e12) for _, e, _ in points)) if points else 10.0

    def x(position: float) -> float:
        size = math.log2(1 + abs(position)) / math.log2(1 + reach)
        middle, half = (0.5, 0.5) if signed else (0.0, 1.0)
        return LEFT + (WIDTH - LEFT - RIGHT) * (middle + math.copysign(size, position) * half)

    def y(error: float) -> float:
        height = math.log(min(max(error, LEAST), top) / LEAST) / math.log(top / LEAST)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * height

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="error over {escape(x_title)}">',
        *_grid(x, y, reach, top, signed),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 6}" class="title">{escape(x_title)}</text>',
        f'<text x="14" y="{(TOP + HEIGHT - BOTTOM) / 2:.0f}" class="title turned">error / bound</text>',
    ]
    for position, error, passed in sorted(points, key=lambda point: not point[2]):  # what failed lies on top
        kind = "passed" if passed else "failed"
        label = f"{position:.6g}: {error:.3g} x bound"
        parts.append(f'<circle cx="{x(position):.1f}" cy="{y(error):.1f}" r="3" class="{kind}">')
        parts.append(f"<title>{escape(label)}</title></circle>")
    return "".join([*parts, "</svg>"])


def _grid(x, y, reach: float, top: float, signed: bool) -> Iterator[str]:  # type: ignore[no-untyped-def]
    step = max(1, math.ceil(math.log10(top / LEAST) / 5))
    for exponent in range(round(math.log10(LEAST)), math.floor(math.log10(top)) + 1, step):
        at = y(10.0**exponent)
        kind = "bound" if exponent == 0 else "grid"
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" class="{kind}"/>'
        yield f'<text x="{LEFT - 6}" y="{at + 4:.1f}" class="tick end">{_power(exponent)}</text>'
    if step > 1:
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(1.0):.1f}" y2="{y(1.0):.1f}" class="bound"/>'
    bits = max(1, round(math.log2(1 + reach)))
    every = max(1, math.ceil(bits / (4 if signed else 8)))
    exponents = range(every if signed else 0, bits + 1, every)  # of 2; where there are two sides, 1 lies too near to 0
    for mark in [0.0, *(2.0**k for k in exponents), *(-(2.0**k) for k in exponents if signed)]:
        if abs(mark) <= reach:
            yield f'<text x="{x(mark):.1f}" y="{HEIGHT - BOTTOM + 16}" class="tick middle">{_position(mark)}</text>'


def _position(mark: float) -> str:
    if abs(mark) < 2**14:
        return f"{mark:g}"
    return f'{"-" if mark < 0 else ""}2<tspan dy="-4" font-size="8">{round(math.log2(abs(mark)))}</tspan>'


def _power(exponent: int) -> str:
    return f"{10.0**exponent:g}" if -4 < exponent < 4 else f"1e{exponent}"
