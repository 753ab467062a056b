"""Tables of sinusoids that are added to embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from posref_conformance.budgets import bounds
from posref_conformance.case import Call
from posref_conformance.identify._angles import fits, positions_of, rates
from posref_conformance.identify._finding import Finding, Values, compared, precision_of
from posref_conformance.identify._frequencies import rounded
from posref_conformance.identify._turns import spoken
from posref_conformance.roundings import ONE, ROUNDOFF


def sinusoids(values: Values, positions: Values | None) -> Iterator[Finding]:
    """What a table of sinusoids may be: (positions, dim), sines and cosines of the same frequencies.

    A row of zeros is that of padding.
    """
    values = np.squeeze(values) if positions is None or len(positions) > 1 else values.reshape(1, -1)
    if values.ndim != 2 or values.shape[1] % 2 or values.shape[1] < 4 or not np.all(np.isfinite(values)):
        return
    n = values.shape[1]
    for layout, first, second in (
        ("interleaved", slice(0, n, 2), slice(1, n, 2)),
        ("concatenated", slice(0, n // 2), slice(n // 2, n)),
    ):
        for order in ("sin_cos", "cos_sin"):
            sin, cos = (values[:, p] for p in ((first, second) if order == "sin_cos" else (second, first)))
            size = np.hypot(sin.astype(np.float64), cos.astype(np.float64))
            full = np.any(size > 0, axis=1)
            scale = float(np.median(size[full])) if np.any(full) else 0.0
            if scale > 0 and float(np.max(np.abs(size[full] / scale - 1))) < 0.05:
                scale = _short(scale, 4 * ROUNDOFF[precision_of(values)])
                angle = np.arctan2(sin.astype(np.float64), cos.astype(np.float64))
                how = {"layout": layout, "order": order}
                yield from _at_some_positions(values, angle, full, scale, how, positions)


def _short(scale: float, u: float) -> float:
    """The scale that was meant: a short number, or the root of a whole one."""
    root = float(np.sqrt(np.round(scale * scale)))  # infinite for one that is huge
    return next((s for s in (*rounded(scale)[:-1], root) if abs(s - scale) <= u * scale), scale)


def _at_some_positions(
    values: Values, angle: Values, full: Values, scale: float, how: dict[str, Any], positions: Values | None
) -> Iterator[Finding]:
    rows, kept = np.flatnonzero(full), angle[full]
    u, half = ROUNDOFF[precision_of(values)], angle.shape[1]
    where = rows if positions is None else positions[rows]
    measured = rates(kept, where)
    if measured is not None and measured[1] == 0 and fits(kept - kept[:1], where - where[:1], measured[0]):
        w = measured[0]
        for base, endpoint in _ladders(float(w[0] / w[-1]), half):
            start = positions_of(kept[:1], _frequencies(half, base, endpoint), u) - where[:1]
            p = where + (start if positions is None else 0)
            yield from _compared(values, full, p, scale, {"base": base, "endpoint": endpoint, **how})
    for base, endpoint in ((10000.0, False), (10000.0, True)):  # rows that are not one apart: time steps
        w = _frequencies(half, base, endpoint)
        p = positions_of(kept, w, u) if positions is None else where
        if np.array_equal(p, np.round(p)) and fits(kept, p, w):
            yield from _compared(values, full, p, scale, {"base": base, "endpoint": endpoint, **how})


def _ladders(drop: float, half: int) -> list[tuple[float, bool]]:
    """Base and endpoint by what the frequencies fall to; of two that are the same, the one with the shorter number."""
    guesses = [(b, end) for end, power in ((False, half / (half - 1)), (True, 1.0)) for b in _bases(drop**power)]
    return sorted(guesses, key=lambda g: len(f"{g[0]:.9g}".rstrip("0")))


def _compared(values: Values, full: Values, p: Values, scale: float, options: dict[str, Any]) -> Iterator[Finding]:
    half, precision = values.shape[1] // 2, precision_of(values)
    expected, limit = np.zeros(values.shape), np.zeros(values.shape)
    expected[full] = scale * _sinusoids(p, half, **options)
    told = {
        **options,
        "endpoint": options["endpoint"] or None,
        "scale": None if scale == 1.0 else scale,
        "precision": f"{precision} values",
        "row of zeros": " ".join(map(str, np.flatnonzero(~full)[:4])) or None,
        **spoken(p),
    }
    for kind in dict.fromkeys((precision, "float32")):
        (bound,) = bounds("sinusoidal", Call((p, 2 * half), options), [expected[full] / scale], [kind])[ONE]
        extra = 0.0 if scale == 1.0 else 6 * ROUNDOFF[kind]  # the product, and the scale as it was measured
        limit[full] = scale * (bound + extra)
        yield compared("sinusoidal", values, expected, limit, **told)


def _frequencies(half: int, base: float, endpoint: bool) -> Values:
    return np.asarray(base ** (-np.arange(half) / (half - 1 if endpoint else half)))


def _sinusoids(positions: Values, half: int, *, base: float, endpoint: bool, layout: str, order: str) -> Values:
    """The same in plain float64."""
    theta = positions[:, None] * _frequencies(half, base, endpoint)
    cos, sin = np.cos(theta), np.sin(theta)
    pair = [sin, cos] if order == "sin_cos" else [cos, sin]
    if layout == "concatenated":
        return np.concatenate(pair, axis=-1)
    return np.stack(pair, axis=-1).reshape(len(positions), 2 * half)


def _bases(x: float) -> list[float]:
    return [
        b for b in dict.fromkeys([*(float(f"{x:.{d}g}") for d in range(1, 7)), x]) if b > 1 and abs(b - x) < 0.05 * x
    ]
