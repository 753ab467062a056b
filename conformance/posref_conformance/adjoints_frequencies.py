r"""Vector-Jacobian products by what a rotation is made of: its tables, and frequencies that are an argument of something else.

With a pair (x_1, x_2) and the cotangents (g_1, g_2) of what it is turned to:

    tables            cos gets g_1 x_1 + g_2 x_2, sin gets g_2 x_1 - g_1 x_2, the other way round where it turns backwards
    tables, channels  each channel its own: cos gets (g_1 x_1, g_2 x_2), sin gets (-g_1 x_2, g_2 x_1)
    scores            with the pairs (a, b) of the query and (c, e) of the key, at angle d w:
                      w gets sum g d ((a e - b c) cos - (a c + b e) sin)
    FoPE              w_i gets sum p (cos (g_sin . S_i) - sin (g_cos . C_i))

A table or a frequency gets a sum over all places that share it: (n + 4) u of the magnitudes, and the phase of given frequencies.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posref_conformance.gradient import Asked, Gradient, Values, of_sum, sum_to
from posref_conformance.roundings import pair_channels, phase_error, working_roundoff


def _members(x: Values, pairs: int, layout: str, offset: int) -> tuple[Values, Values]:
    first, second = pair_channels(pairs, layout, offset)
    return x[..., first], x[..., second]


def _tables(a: Asked) -> Gradient:
    pairs, layout, offset = a["cos"].shape[-1], a.given["layout"], a.given["offset"]
    x1, x2 = _members(a["x"], pairs, layout, offset)
    g1, g2 = _members(a.g, pairs, a.given["output_layout"] or layout, offset)
    backwards = -1 if a.given["inverse"] else 1
    one, other = (g1 * x1, g2 * x2) if a.by == "cos" else (backwards * g2 * x1, -backwards * g1 * x2)
    shape = a[a.by].shape
    terms = 2 * one.size // max(1, a[a.by].size)
    return of_sum(sum_to(one + other, shape), sum_to(np.abs(one) + np.abs(other), shape), terms)


def _channel_tables(a: Asked) -> Gradient:
    pairs, layout = a["cos"].shape[-1] // 2, a.given["layout"]
    (x1, x2), (g1, g2) = (_members(t, pairs, layout, a.given["offset"]) for t in (a["x"], a.g))
    parts = (g1 * x1, g2 * x2) if a.by == "cos" else (-g1 * x2, g2 * x1)
    every, shape = np.zeros((*a.g.shape[:-1], 2 * pairs)), a[a.by].shape
    for channels, part in zip(pair_channels(pairs, layout, 0), parts, strict=True):
        every[..., channels] = part
    return of_sum(sum_to(every, shape), sum_to(np.abs(every), shape), every.size // max(1, a[a.by].size))


def _score_frequencies(a: Asked) -> Gradient:
    w, d, layout = a["inv_freq"], a["distances"], a.given["layout"]
    d = np.broadcast_to(d, (1,) * max(0, 2 - d.ndim) + d.shape)[..., None]  # (..., q, k, 1)
    (q1, q2), (k1, k2) = (_members(x, len(w), layout, 0) for x in (a["q"][..., :, None, :], a["k"][..., None, :, :]))
    along, across = q1 * k1 + q2 * k2, q1 * k2 - q2 * k1
    by_angle = across * np.cos(d * w) - along * np.sin(d * w)
    return _by_frequency(a, a.g[..., None] * d, by_angle, (np.abs(q1) + np.abs(q2)) * (np.abs(k1) + np.abs(k2)), d * w)


def _fope_frequencies(a: Asked) -> Gradient:
    p, w = a["positions"][..., None], a["inv_freq"]
    both = [  # (..., sequence, n): what each wave is asked for, padded columns being constants; and its size
        [g[..., : c.shape[-1]] @ c.swapaxes(-1, -2) for g, c in pairs]
        for pairs in (
            zip(a.cotangents, (a["cos_coef"], a["sin_coef"]), strict=True),
            zip(map(np.abs, a.cotangents), (np.abs(a["cos_coef"]), np.abs(a["sin_coef"])), strict=True),
        )
    ]
    if a["cos_coef"].ndim == 3:
        p = p[..., None, :, :]  # heads before the sequence
    (of_cos, of_sin), (size_cos, size_sin) = both
    by_angle = of_sin * np.cos(p * w) - of_cos * np.sin(p * w)
    return _by_frequency(a, p, by_angle, size_cos + size_sin, p * w)


def _by_frequency(a: Asked, factor: Values, by_angle: Values, size: Values, theta: Values) -> Gradient:
    """The sum over all places; m products meet in a term."""
    shape, total = a["inv_freq"].shape, np.abs(factor) * size
    phase = total * phase_error(theta, 0.0, working_roundoff(a.given["inv_freq"].dtype.name), 1.0)
    terms = total.size // max(1, shape[-1]) + a.cotangents[0].shape[-1] + 8
    return of_sum(sum_to(factor * by_angle, shape), sum_to(total, shape), terms, sum_to(phase, shape))


BY: dict[tuple[str, str], Callable[[Asked], Gradient]] = {
    ("rope_apply", "cos"): _tables,
    ("rope_apply", "sin"): _tables,
    ("rope_apply_channels", "cos"): _channel_tables,
    ("rope_apply_channels", "sin"): _channel_tables,
    ("rope_scores", "inv_freq"): _score_frequencies,
    ("fope_cos_sin", "inv_freq"): _fope_frequencies,
}
