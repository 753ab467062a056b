"""As true_values, for factors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from balls import Ball, at_least, ball
from flint import arb
from numpy.typing import NDArray
from true_values import At


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


def inkling_scale(positions: NDArray[Any], length: int, alpha: float) -> At:
    def at(*i: int) -> Ball:
        return 1 + arb(alpha) * ball(max(Fraction(1), (Fraction(positions[i].item()) + 1) / length)).log()

    return at


def length_scale(seq_len: int, length: int, mscale: float) -> At:
    growth = ball(Fraction(seq_len, length)).log() if seq_len > length else arb(0)
    return lambda: arb(mscale) * growth / 10 + 1


def cosine_scale(log_scale: NDArray[Any], largest: float) -> At:
    def at(i: int) -> Ball:
        s = arb(float(log_scale[i]))
        return arb(largest) if at_least(s, arb(largest).log()) else s.exp()

    return at
