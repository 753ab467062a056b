"""As true_values, for tables of several axes."""

from __future__ import annotations

from typing import Any

from balls import Ball
from flint import arb
from numpy.typing import NDArray
from true_values import At, power, wave


def axes_frequencies(axis_map: NDArray[Any], base: Any, ladder: str, scaling: Any) -> list[Ball]:
    """Pair by pair: the k-th pair of its axis a."""
    axes, found = axis_map.tolist(), []
    n = max(axes) + 1
    for i, a in enumerate(axes):
        k, of_axis = axes[:i].count(a), axes.count(a)
        if ladder == "per_axis":
            found.append(power(base[a], -k, of_axis) / (arb(scaling[a].factor) if scaling else 1))
        else:
            found.append(power(base, -(i if ladder == "shared" else k * n + a), len(axes)))
    return found


def rope_axes_inv_freq(axis_map: NDArray[Any], base: Any, ladder: str, scaling: Any) -> At:
    return axes_frequencies(axis_map, base, ladder, scaling).__getitem__


def rope_axes_table(
    positions: NDArray[Any], axis_map: NDArray[Any], base: Any, ladder: str, scaling: Any, attention_factor: Any
) -> At:
    w, a = axes_frequencies(axis_map, base, ladder, scaling), arb(1 if attention_factor is None else attention_factor)
    return lambda part, *i: a * wave(part == 0, positions[(axis_map[i[-1]], *i[:-1])], w[i[-1]])


def rope_axes_cos_sin(
    positions: NDArray[Any], inv_freq: NDArray[Any], axis_map: NDArray[Any], attention_factor: float
) -> At:
    w, a = [arb(v) for v in inv_freq.tolist()], arb(attention_factor)
    return lambda part, *i: a * wave(part == 0, positions[(axis_map[i[-1]], *i[:-1])], w[i[-1]])


def rope_mixed_cos_sin(positions: NDArray[Any], frequencies: NDArray[Any]) -> At:
    def at(part: int, head: int, row: int, pair: int) -> Ball:
        angle = sum(
            (arb(p.item()) * arb(f.item()) for p, f in zip(positions[:, row], frequencies[:, head, pair], strict=True)),
            start=arb(0),
        )
        return angle.cos() if part == 0 else angle.sin()

    return at


def rope_pixel_freq(dim: int, max_freq: float, spacing: str) -> At:
    n, half = dim // 2, arb(max_freq) / 2

    def at(i: int) -> Ball:
        if n == 1:
            return arb.pi()
        if spacing == "linear":
            return arb.pi() * (1 + arb(i) / (n - 1) * (half - 1))
        return arb.pi() * (half.log() * i / (n - 1)).exp()

    return at


def grid_coordinates(sizes: tuple[int, int], normalize: str) -> At:
    def at(axis: int, cell: int) -> Ball:
        j = divmod(cell, sizes[1])[axis]
        n = {"separate": sizes[axis], "max": max(sizes), "min": min(sizes)}[normalize]
        return 2 * (arb(j) + 0.5) / n - 1

    return at
