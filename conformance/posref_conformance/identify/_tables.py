"""Tables of cos and sin, and sinusoids: rows of positions that are one apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import posref
from posref_conformance.budgets import bounds
from posref_conformance.case import Call, numpy_type
from posref_conformance.identify._angles import first_position, steps
from posref_conformance.identify._finding import Finding, Values, compared, precision_of
from posref_conformance.identify._frequencies import USUAL, Known, ladder, name_of, quick
from posref_conformance.roundings import ONE, ROUNDOFF, phase_error, rope_frequencies


def table(cos: Values, sin: Values, known: Sequence[Known] = ()) -> Finding | None:
    """What a pair of tables is; columns may be repeated for both members of a pair."""
    cos, sin = (np.squeeze(t) for t in (cos, sin))
    if cos.shape != sin.shape or cos.ndim != 2 or cos.shape[0] < 2:
        return None
    layout, (c, s) = _one_column_per_pair(cos, sin)
    precision = precision_of(np.stack([c, s]).astype(np.float64))
    return of_pairs("rope_table", c, s, known, precision, layout=layout)


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
    what: str, cos: Values, sin: Values, known: Sequence[Known], precision: str, spread: float = 1.0, **told: Any
) -> Finding | None:
    """The base, the scaling and the first position of cos and sin with one column per pair.

    ``precision`` is the type that they went through, and ``spread`` how many of its roundings they are off by.
    """
    c, s = cos.astype(np.float64), sin.astype(np.float64)
    factor = float(np.median(np.hypot(c, s)))
    angle = np.arctan2(s, c)
    w = steps(angle)
    if w is None or not np.all(np.isfinite(w)) or factor <= 0:
        return None
    sign = -1.0 if np.median(w) < 0 else 1.0
    w, angle = sign * w, sign * angle
    u = spread * ROUNDOFF[precision]
    nearest = ladder(w, max(u, 2.0**-24) if u > 2.0**-53 else u, 8 * u / (cos.shape[0] - 1), known)
    if nearest is None:
        return None
    (base, scaling), found = nearest
    if not found.found:  # perhaps because they went through 16 bits before
        base, scaling = _behind_narrow(w, known) or (base, scaling)
    start = first_position(angle, w)
    own = posref.rope_attention_factor(scaling) if scaling is not None else 1.0
    factor = next((f for f in (1.0, own) if abs(factor - f) < 8 * u + 1e-6), float(f"{factor:.9g}"))
    told = {
        "base": base,
        "scaling": name_of(scaling),
        **told,
        "attention factor": None if factor == 1.0 else factor,
        "precision": f"{precision} {'tables' if what == 'rope_table' else 'results'}",
        "positions from": f"{start:g}",
        "rotation": "backwards" if sign < 0 else None,
    }
    got, p = np.stack([c, sign * s]), np.arange(cos.shape[0]) + start
    return _in_some_precision(what, got, p, (base, scaling), factor, u, told)


def _behind_narrow(w: Values, known: Sequence[Known]) -> Known | None:
    """A usual base whose frequencies are w once they are rounded to 16 bits."""
    for base, scaling in (*known, *((base, None) for base in USUAL)):
        exact = quick(w.size, base, scaling).astype(np.float32)
        for name in ("bfloat16", "float16"):
            rounded = exact.astype(numpy_type(name)).astype(np.float64)
            if np.all(np.abs(w - rounded) <= 2.0**-12 * rounded + 1e-7):
                return base, scaling
    return None


def _waves(positions: Values, w: Values) -> Values:
    """Cos and sin in plain float64, off by 2 of its roundings of the angle; every bound here has 4 and more."""
    angle = positions[:, None] * w
    return np.stack([np.cos(angle), np.sin(angle)])


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
        expected = factor * _waves(positions, w)
        best = compared(what, got, expected, bound, **told)
        if best.found:
            return best
    for words, p, v in _narrowed(positions, w):
        expected = factor * _waves(p, v)
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
    p, drop = np.arange(values.shape[0]) + start, float(w[0] / w[-1])
    # one ladder with a base is another one's with the endpoint: the one with the shorter number is meant
    guesses = [(b, end) for end, power in ((False, half / (half - 1)), (True, 1.0)) for b in _bases(drop**power)]
    for base, endpoint in sorted(guesses, key=lambda g: len(f"{g[0]:.9g}".rstrip("0"))):
        options: dict[str, Any] = {"base": base, "endpoint": endpoint, "layout": layout, "order": order}
        call = Call((p, 2 * half), options)
        expected = _sinusoids(p, half, **options)
        told = {
            **options,
            "endpoint": endpoint or None,
            "precision": f"{precision} values",
            "positions from": f"{start:g}",
        }
        for kind in dict.fromkeys((precision, "float32")):
            (bound,) = bounds("sinusoidal", call, [expected], [kind])[ONE]
            yield compared("sinusoidal", values, expected, bound, **told)


def _sinusoids(positions: Values, half: int, *, base: float, endpoint: bool, layout: str, order: str) -> Values:
    """The same in plain float64."""
    w = base ** (-np.arange(half) / (half - 1 if endpoint else half))
    cos, sin = _waves(positions, w)
    pair = [sin, cos] if order == "sin_cos" else [cos, sin]
    if layout == "concatenated":
        return np.concatenate(pair, axis=-1)
    return np.stack(pair, axis=-1).reshape(len(positions), 2 * half)


def _bases(x: float) -> list[float]:
    return [
        b for b in dict.fromkeys([*(float(f"{x:.{d}g}") for d in range(1, 7)), x]) if b > 1 and abs(b - x) < 0.05 * x
    ]
