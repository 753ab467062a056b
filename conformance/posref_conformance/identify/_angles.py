"""Frequencies and positions from angles that are known up to whole turns."""

from __future__ import annotations

import numpy as np

from posref_conformance.identify._finding import Values

TURN = 2 * np.pi


def wrapped(angle: Values) -> Values:
    """Between -pi and pi."""
    return np.asarray((angle + np.pi) % TURN - np.pi)


def rates(angle: Values, positions: Values) -> tuple[Values, int] | None:
    """The frequency of each column of (positions, pairs) angles, and the first column whose frequency can be told.

    From two neighbouring positions, refined with ever larger differences. A frequency is told where it turns by less than half
    a turn between neighbours: of a ladder, the slow end.
    """
    order = np.argsort(positions, kind="stable")
    p, a = positions[order].astype(np.float64), angle[order]
    gaps = np.where(np.diff(p) > 0, np.diff(p), np.inf)
    if not gaps.size or not np.isfinite(gaps.min()):
        return None
    here = int(np.argmin(gaps))
    lag = float(gaps[here])
    w = wrapped(a[here + 1] - a[here]) / lag
    distance = np.abs(p - p[here])
    for row in np.argsort(distance, kind="stable"):
        if distance[row] >= 2 * lag or distance[row] == distance.max() > lag:
            lag = float(distance[row])
            w = w + wrapped(np.sign(p[row] - p[here]) * (a[row] - a[here]) - lag * w) / lag
    first = w.size - 1
    while first > 0 and w[first - 1] > w[first]:
        first -= 1
    return w, first


def fits(angle: Values, positions: Values, w: Values) -> bool:
    """Whether angles are about these; a few wrong elements are told where all are compared."""
    off = np.abs(wrapped(angle - by_pair(positions) * w))
    return float(np.quantile(off, 0.9)) < 0.25


def by_pair(positions: Values) -> Values:
    """Positions that broadcast against pairs: (rows, pairs) where axes differ, else (rows, 1)."""
    return positions if positions.ndim == 2 else positions[:, None]


def positions_of(angle: Values, w: Values, u: float) -> Values:
    """The position of each row of angles that are off by u: what its slowest pair says, and the faster ones confirm.

    A slowest pair that has gone round is asked for several turns; the position on which the pairs agree best is taken.
    """
    turning = np.flatnonzero(w > 0)[::-1]
    best, least = np.zeros(len(angle)), np.full(len(angle), np.inf)
    if not turning.size:
        return best
    for turns in sorted(range(-4, 5), key=abs):
        open_ = np.flatnonzero(least > 16 * u)
        a = angle[open_]
        p = (a[:, turning[0]] + TURN * turns) / w[turning[0]]
        for k in turning[1:]:  # each is more exact than the one before, once the turns are known
            p = p + wrapped(a[:, k] - p * w[k]) / w[k]
        apart = np.median(np.abs(wrapped(a - p[:, None] * w)), axis=1)
        better = apart < least[open_] - 1e-9
        best[open_[better]], least[open_[better]] = p[better], apart[better]
    whole = np.round(best)
    # the fastest pair is off by u and by its float32 angle
    near = np.abs(best - whole) < np.maximum(1e-2, 8 * u / float(w.max()) + np.abs(best) * 2.0**-21)
    return np.where(near, whole, best) if np.all(near) else best
