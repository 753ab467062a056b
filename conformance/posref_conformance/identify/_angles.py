"""Frequencies and positions from angles that are known up to whole turns."""

from __future__ import annotations

import numpy as np

from posref_conformance.identify._finding import Values

TURN = 2 * np.pi


def wrapped(angle: Values) -> Values:
    """Between -pi and pi."""
    return np.asarray((angle + np.pi) % TURN - np.pi)


def steps(angle: Values) -> Values | None:
    """The frequency of each column of (positions, pairs) angles, for positions that are one apart.

    From the first difference, refined with differences over 2, 4, 8, ... positions; None where the rows are no such sequence.
    """
    if angle.ndim != 2 or angle.shape[0] < 2:
        return None
    w = np.median(wrapped(angle[1:2] - angle[:1]), axis=0)
    lag = 2
    while lag < angle.shape[0]:
        apart = angle[lag] - angle[0]
        w = w + wrapped(apart - lag * w) / lag
        lag *= 2
    apart = angle[-1] - angle[0]
    w = w + wrapped(apart - (angle.shape[0] - 1) * w) / (angle.shape[0] - 1)
    rows = np.arange(angle.shape[0])[:, None]
    off = np.abs(wrapped(angle - angle[:1] - rows * w))
    return w if float(np.quantile(off, 0.9)) < 0.25 else None  # a few wrong elements are told where all are compared


def first_position(angle: Values, w: Values) -> float:
    """The position of the first row: what its slowest pair says, and the faster ones confirm."""
    p = float(angle[0, -1] / w[-1]) if w[-1] else 0.0
    for k in range(w.size - 2, -1, -1):  # each is more exact than the one before, once the turns are known
        if w[k]:
            p += float(wrapped(angle[0, k] - p * w[k]) / w[k])
    return float(round(p)) if abs(p - round(p)) < 1e-2 else p
