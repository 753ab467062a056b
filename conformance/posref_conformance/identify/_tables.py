"""Tables of cos and sin, and sinusoids: rows of positions that are one apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import posref
from posref_conformance.case import numpy_type
from posref_conformance.identify._angles import first_position, steps
from posref_conformance.identify._finding import Finding, Values, compared, precision_of
from posref_conformance.identify._frequencies import Known, ladder, name_of
from posref_conformance.roundings import ROUNDOFF, phase_error, rope_frequencies

ROWS = 96  # of a long table that are compared: the first ones, and some of the others up to the last


def table(cos: Values, sin: Values, known: Sequence[Known] = ()) -> Finding | None:
    """What a pair of tables is; columns may be repeated for both members of a pair."""
    cos, sin = (np.squeeze(t) for t in (cos, sin))
    if cos.shape != sin.shape or cos.ndim != 2 or cos.shape[0] < 2:
        return None
    layout, (c, s) = _one_column_per_pair(cos, sin)
    return of_pairs("rope_table", c, s, known, layout=layout)


def _one_column_per_pair(cos: Values, sin: Values) -> tuple[str | None, tuple[Values, Values]]:
    n = cos.shape[1]
    if n % 2 == 0 and n > 2:
        for layout, first, second in (
            ("half", slice(0, n // 2), slice(n // 2, n)),
            ("interleaved", slice(0, n, 2), slice(1, n, 2)),
        ):
            if all(np.array_equal(t[:, first], t[:, second]) for t in (cos, sin)):
                return layout, (cos[:, first], sin[:, first])
    return None, (cos, sin)


def of_pairs(
    what: str, cos: Values, sin: Values, known: Sequence[Known], u: float = 0.0, **told: Any
) -> Finding | None:
    """The base, the scaling, the first position and the precision of cos and sin with one column per pair."""
    precision = precision_of(np.stack([cos, sin]).astype(np.float64))
    c, s = cos.astype(np.float64), sin.astype(np.float64)
    factor = float(np.median(np.hypot(c, s)))
    angle = np.arctan2(s, c)
    w = steps(angle)
    if w is None or not np.all(np.isfinite(w)) or factor <= 0:
        return None
    sign = -1.0 if np.median(w) < 0 else 1.0
    w, angle = sign * w, sign * angle
    u = u or ROUNDOFF[precision]
    nearest = ladder(w, max(u, 2.0**-24) if u > 2.0**-53 else u, 8 * u / (cos.shape[0] - 1), known)
    if nearest is None:
        return None
    (base, scaling), _ = nearest
    start = first_position(angle, w)
    factor = 1.0 if abs(factor - 1) < 8 * u else float(f"{factor:.7g}")
    told = {
        "base": base,
        "scaling": name_of(scaling),
        **told,
        "attention factor": None if factor == 1.0 else factor,
        "precision": f"{precision} {'tables' if what == 'rope_table' else 'results'}",
        "positions from": f"{start:g}",
        "rotation": "backwards" if sign < 0 else None,
    }
    rows = _rows(cos.shape[0])
    got = np.stack([c[rows], sign * s[rows]])
    return _in_some_precision(what, got, rows + start, (base, scaling), factor, u, told)


def _rows(n: int) -> Values:
    return np.unique(np.concatenate([np.arange(min(n, ROWS // 2)), np.linspace(0, n - 1, ROWS // 2).astype(int)]))


def _in_some_precision(
    what: str, got: Values, positions: Values, known: Known, factor: float, u: float, told: dict[str, Any]
) -> Finding:
    """Within float32 or float64, or as what went through 16 bits on the way."""
    pairs = got.shape[-1]
    w, c_w = rope_frequencies(2 * pairs, {"base": known[0], "scaling": known[1]})
    best: Finding | None = None
    for u_p in (2.0**-53, 2.0**-24):
        theta = positions[:, None] * w
        bound = phase_error(theta, c_w, u_p, max(1.0, factor)) + 1.5 * u * factor
        expected = factor * np.stack(posref.rope_cos_sin(positions, w))
        best = compared(what, got, expected, bound, **told)
        if best.found:
            return best
    for words, p, v in _narrowed(positions, w):
        expected = factor * np.stack(posref.rope_cos_sin(p, v))
        bound = phase_error(p[:, None] * v, 2.0, 2.0**-24, max(1.0, factor)) + 1.5 * u * factor
        other = compared(what, got, expected, bound, **{**told, "precision": f"{told['precision']} of {words}"})
        if other.found:
            return other
    assert best is not None
    return best


def _narrowed(positions: Values, w: Values) -> Iterator[tuple[str, Values, Values]]:
    for name in ("bfloat16", "float16"):
        kind = numpy_type(name)
        with np.errstate(over="ignore"):
            yield f"frequencies in {name}", positions, w.astype(np.float32).astype(kind).astype(np.float64)
            narrow = positions.astype(np.float32).astype(kind).astype(np.float64)
        if np.all(np.isfinite(narrow)):
            yield f"positions in {name}", narrow, w


def sinusoid(values: Values) -> Iterator[Finding]:
    """What a table of sinusoids may be: (positions, dim), sines and cosines of the same frequencies."""
    values = np.squeeze(values)
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] % 2 or values.shape[1] < 4:
        return
    n = values.shape[1]
    for layout, first, second in (
        ("interleaved", slice(0, n, 2), slice(1, n, 2)),
        ("concatenated", slice(0, n // 2), slice(n // 2, n)),
    ):
        for order in ("sin_cos", "cos_sin"):
            sin, cos = (values[:, p] for p in ((first, second) if order == "sin_cos" else (second, first)))
            yield from _sinusoid(values, sin, cos, layout, order)


def _sinusoid(values: Values, sin: Values, cos: Values, layout: str, order: str) -> Iterator[Finding]:
    s, c = sin.astype(np.float64), cos.astype(np.float64)
    if float(np.max(np.abs(np.hypot(s, c) - 1))) > 0.05:
        return
    angle = np.arctan2(s, c)
    w = steps(angle)
    if w is None or np.any(w <= 0):
        return
    half, precision, start = w.size, precision_of(values), first_position(angle, w)
    rows = _rows(values.shape[0])
    for endpoint in (False, True):
        for base in _bases(float(w[0] / w[-1]) ** (1.0 if endpoint else half / (half - 1))):
            options = {"base": base, "endpoint": endpoint, "layout": layout, "order": order}
            expected = posref.sinusoidal(rows + start, 2 * half, **options)
            theta = np.abs(rows + start).max() * np.ones(1)
            bound = phase_error(theta, 32.0, 2.0**-24, 1.0) + 1.5 * ROUNDOFF[precision]
            told = {**options, "precision": f"{precision} values", "positions from": f"{start:g}" if start else None}
            told["endpoint"] = True if endpoint else None
            yield compared("sinusoidal", values[rows], expected, bound, **told)


def _bases(x: float) -> list[float]:
    return [
        b for b in dict.fromkeys([*(float(f"{x:.{d}g}") for d in range(1, 7)), x]) if b > 1 and abs(b - x) < 0.05 * x
    ]
