"""As true_values, for tables of several axes, xPos, distances and factors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from balls import Ball, at_least
from flint import arb, fmpq
from numpy.typing import NDArray
from true_values import At, power, wave


def ball(value: Fraction) -> Ball:
    return arb(fmpq(value.numerator, value.denominator))


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


def rope_softmax_factor(scaling: Any) -> At:
    growth = arb(scaling.factor).log() if scaling.factor > 1 else arb(0)
    value = (scaling.mscale_all_dim * growth / 10 + 1) ** 2 if scaling.mscale_all_dim else arb(1)
    return lambda: value


def xpos_scale(positions: NDArray[Any], dim: int, centre: Any, length: int | None, scale_base: float) -> At:
    if length is not None:
        centre = length // 2 if centre == "floor" else math.ceil(length / 2)

    def at(*i: int) -> Ball:
        zeta = (arb(2 * i[-1]) / dim + arb(2) / 5) / (arb(7) / 5)
        return (zeta.log() * (arb(positions[i[:-1]].item()) - arb(centre)) / arb(scale_base)).exp()

    return at


def log_n_scale(positions: NDArray[Any], length: int, clip: bool) -> At:
    def at(*i: int) -> Ball:
        m = Fraction(positions[i].item())
        return arb(1) if clip and m + 1 <= length else ball(m + 1).log() / arb(length).log()

    return at


def ssmax_scale(positions: NDArray[Any], s: NDArray[Any], bias: NDArray[Any] | None) -> At:
    def at(*i: int) -> Ball:
        *batch, head, row = i
        n = ball(Fraction(positions[(*batch, row)].item()) + 1)
        return arb(float(s[head])) * n.log() + arb(0 if bias is None else float(bias[head]))

    return at


def llama4_scale(positions: NDArray[Any], attn_scale: float, floor_scale: int, shift: int) -> At:
    def at(*i: int) -> Ball:
        steps = math.floor((Fraction(positions[i].item()) + shift) / floor_scale)
        return 1 + arb(attn_scale) * arb(1 + steps).log()

    return at


def length_scale(seq_len: int, length: int, mscale: float) -> At:
    growth = ball(Fraction(seq_len, length)).log() if seq_len > length else arb(0)
    return lambda: arb(mscale) * growth / 10 + 1


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


def grid_coordinates(sizes: tuple[int, int], normalize: str) -> At:
    def at(axis: int, cell: int) -> Ball:
        j = divmod(cell, sizes[1])[axis]
        n = {"separate": sizes[axis], "max": max(sizes), "min": min(sizes)}[normalize]
        return 2 * (arb(j) + 0.5) / n - 1

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


def cosine_scale(log_scale: NDArray[Any], largest: float) -> At:
    def at(i: int) -> Ball:
        s = arb(float(log_scale[i]))
        return arb(largest) if at_least(s, arb(largest).log()) else s.exp()

    return at
