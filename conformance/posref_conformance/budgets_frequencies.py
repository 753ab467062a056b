r"""Budgets for frequencies: what a scaling adds to the roundings of the ladder, and frequencies that follow no ladder.

A scaling multiplies or divides (+ 4 u relative). Further:

Blends. Pairs between two frequencies, w m + (w/s) (1 - m): the weight m comes from logarithms or rotations of float32 quality,
|dm| <= 16 u, which moves the result by 16 u w (1 - 1/s): relative to the blended frequency w', 16 u |w - w/s| / w'. NTK-by-parts
blends twice, and both of its blends move between numbers within w/s .. w: 32.

NTK fixed and mixed. The divisor is s^e, e = ((i + 1)/n)^b. Its relative error is that of its logarithm, e ln s = ln(w/w'), times
the relative error of e: a power of n at most, formed as exp(b ln n) with 3 b ln n + 2 roundings, twice where n^b is taken on its
own, and 4 for quotient, logarithm and products: (6 b ln n + 8) u.

p-RoPE. Frequencies that are 0 are exactly 0.

Pixels. Linear: pi (1 + (F/2 - 1) t), t one quotient, two products, a sum, pi rounded: 8 u of the terms' magnitudes. Log:
pi (F/2)^t as a power of 2, e or F/2: log2 F - 1 is off by 2 u (|log2 F| + 1), the rest by 3 u of itself; times ln 2, and 8 u.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import posref

Floats = NDArray[np.float64]


def scaling_roundings(scaling: Any, seq_len: float | None, w: Floats, plain: Floats) -> Floats:
    """c_w of a scaling: what it adds to that of its ladder, in roundings relative to w."""
    added = np.full(w.shape, 0.0 if scaling is None else 4.0)
    factor = getattr(scaling, "factor", 1.0)
    if isinstance(scaling, posref.DynamicYarnScaling):
        length = scaling.original_max_position_embeddings
        factor = max(scaling.least_factor, (seq_len or length) / length)
    if isinstance(scaling, (posref.YarnScaling, posref.Llama3Scaling, posref.DynamicYarnScaling)):
        added += _blended(16, w, plain, plain / factor)
    if isinstance(scaling, posref.NTKByPartsScaling):
        added += _blended(32, w, plain, plain / factor)
    if isinstance(scaling, posref.NTKScaling) and scaling.form in ("fixed", "mixed"):
        power = scaling.mixed_b if scaling.form == "mixed" else 1.0
        added += np.abs(np.log(plain / w)) * (6 * power * np.log(len(w)) + 8)
    return added


def _blended(roundings: int, w: Floats, plain: Floats, slow: Floats) -> Floats:
    between = (np.abs(w - plain) > 1e-9 * plain) & (np.abs(w - slow) > 1e-9 * w)
    result: Floats = np.where(between, roundings * np.abs(plain - slow) / w, 0.0)
    return result


def pixel_roundings(dim: int, max_freq: float, spacing: str) -> Floats:
    """Roundings of pixel frequencies, as multiples of the unit roundoff."""
    w = posref.rope_pixel_freq(dim, max_freq, spacing=spacing)
    if spacing == "log":
        steps = 2 * (abs(np.log2(max_freq)) + 1) + 3 * abs(np.log2(max_freq / 2))
        result: Floats = (np.log(2) * steps + 8) * w
        return result
    t = np.linspace(0, 1, dim // 2)
    return np.asarray(8 * np.pi * (1 + abs(max_freq / 2 - 1) * t))
