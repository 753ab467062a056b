r"""Vector-Jacobian products of additive encodings. Notation as in :mod:`posref_conformance.adjoints`.

learned tables   a row gets the sum of the cotangents of the places that look it up
resampled ones   W^T g, W what the resize makes of the identity; its entries have the centres' error of their budget
hierarchical     W^T g likewise, without centres
features         a frequency gets sum u x (g_sin cos - g_cos sin) over positions, with the phase of a given frequency
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import posref
from posref._additive_arguments import UNITS, nested_order
from posref_conformance.gradient import Asked, Gradient, Values, of_sum
from posref_conformance.roundings import phase_error, working_roundoff


def _learned(a: Asked) -> Gradient:
    rows, value, size = np.asarray(a.given["positions"]) + a.given["offset"], *np.zeros((2, *a["table"].shape))
    np.add.at(value, rows, a.g)
    np.add.at(size, rows, np.abs(a.g))
    return of_sum(value, size, int(np.bincount(rows.ravel(), minlength=1).max(initial=0)))


def _resampled(a: Asked) -> Gradient:
    options = {name: v for name, v in a.given.items() if name != "table"}
    weights = posref.resample_table(np.eye(len(a["table"])), **options)  # (new rows, rows)
    slope = 2 * (2 + abs(a.given["cubic_a"] or -0.75)) if a.given["kernel"] == "cubic" else 2.0
    centres = sum(slope * 4 * (s + 1) for s in a.given["sizes"])
    value, size, whole = weights.T @ a.g, np.abs(weights).T @ np.abs(a.g), np.abs(a.g).sum(axis=0)
    terms = len(weights) + 16
    return Gradient(value, lambda u: u * (terms * size + centres * whole))


def _hierarchical(a: Asked) -> Gradient:
    weights = posref.hierarchical_table(np.eye(len(a["table"])), a.given["rows"], alpha=a.given["alpha"])
    share = a.given["alpha"]
    # what meets in a weight: 1, k and -k at most, where they cancel too
    size = np.abs(weights).T @ np.abs(a.g) + 4 / (1 - share) * np.abs(a.g).sum(axis=0)
    return of_sum(weights.T @ a.g, size, len(weights))


def _features(a: Asked) -> Gradient:
    x, f, gain = a["coordinates"], a["frequencies"], a.given["gain"]
    turns = UNITS[a.given["unit"]]
    unit = 1.0 if turns is None else 2 * math.pi / turns
    axes, n = (1 if f.ndim == 2 else len(x)), f.shape[-1]
    g = np.empty((*a.g.shape[:-1], 2 * n * axes))
    g[..., nested_order([n] * axes, a.given["layout"])] = a.g[..., len(x) if a.given["include_input"] else 0 :]
    waves = g.reshape(*g.shape[:-1], axes, 2, n)[..., :: 1 if a.given["order"] == "sin_cos" else -1, :]
    rows = np.moveaxis(x, 0, -1)  # (..., axes)
    theta = unit * (rows[..., None] * f if f.ndim == 1 else (rows @ f)[..., None, :])  # (..., axes or 1, n)
    by_angle = gain * unit * (waves[..., 0, :] * np.cos(theta) - waves[..., 1, :] * np.sin(theta))
    size = abs(gain) * unit * np.abs(waves).sum(axis=-2)
    off = size * phase_error(theta, len(x) + 1.0, working_roundoff(a.given["frequencies"].dtype.name), 1.0)

    def gathered(terms: Values, factors: Values) -> Values:
        if f.ndim == 1:
            return np.asarray((factors[..., None] * terms).reshape(-1, n).sum(axis=0))
        return np.asarray(factors.reshape(-1, len(x)).T @ terms.reshape(-1, n))

    count = rows.size
    total, phase = gathered(size, np.abs(rows)), gathered(off, np.abs(rows))
    return Gradient(gathered(by_angle, rows), lambda u: (count + 6) * u * total, phase)


ADJOINTS: dict[str, Callable[[Asked], Gradient]] = {
    "learned": _learned,
    "resample_table": _resampled,
    "hierarchical_table": _hierarchical,
    "fourier_features": _features,
}
