"""Which base and scaling have given frequencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from posref import LinearScaling, Llama3Scaling, NTKScaling, YarnScaling
from posref_conformance.identify._finding import Finding, Values, compared, off
from posref_conformance.identify._ladder import Ladder, name_of
from posref_conformance.roundings import ladder_roundings

LENGTHS = tuple(2**n for n in range(9, 21))
BASES = (10000.0, 500000.0, 1000000.0, 150000.0, 5000000.0, 100.0)
BANDS = ((1.0, 4.0), (1.0, 1.0))
USUAL = (  # with which rows that are not one apart are tried
    *(Ladder(base) for base in BASES),
    *(Ladder(500000.0, Llama3Scaling(factor, 8192, 1.0, 4.0)) for factor in (8.0, 32.0)),
    *(Ladder(10000.0, LinearScaling(factor)) for factor in (2.0, 4.0, 8.0)),
)


def frequencies(w: Values, u: float, known: Sequence[Ladder] = ()) -> Finding | None:
    """What a vector of frequencies is; u is how exact they are, relative."""
    nearest = ladder(w, u, 0.0, known)
    return None if nearest is None else nearest[1]


def ladder(
    w: Values, u: float, slack: float, known: Sequence[Ladder] = (), first: int = 0
) -> tuple[Ladder, Finding] | None:
    """The base and the scaling whose frequencies are nearest to w, from pair ``first`` on, within u, relative, and slack.

    ``known`` are tried first: those of a config.
    """
    told = w[first:]
    if w.ndim != 1 or told.size < 1 or not np.all(np.isfinite(told)) or np.any(told <= -slack):
        return None
    best: tuple[Ladder, Finding] | None = None
    for guess in (*known, *_guesses(np.maximum(w, 1e-12), slack, first)):
        try:
            expected = guess.quick(w.size)[first:]
        except (ValueError, OverflowError):
            continue
        bound = (_roundings(expected) * max(u, 2.0**-53) + 1.5 * u) * expected + slack
        found = compared("rope_inv_freq", told, expected, bound, base=guess.base, scaling=name_of(guess.scaling))
        if best is None or off(found) < off(best[1]):
            best = guess, found
        if found.found:
            return best
    return best


def _roundings(w: Values) -> Values:
    return np.asarray(ladder_roundings(np.where(w > 0, w, 1.0)) + 24)  # 16 of a blend's weight, a scaling's and ours


def _guesses(w: Values, slack: float, first: int) -> Iterator[Ladder]:
    """Plain ladders through the first and the last that is told apart from 0; then the scalings that end where w does."""
    n = w.size
    if n - first == 1:
        yield Ladder(10000.0)
        return
    told = max(first + 1, int(np.flatnonzero(w > 20 * slack)[-1:].sum()))
    ends = dict.fromkeys((told, n - 1, first + 1))
    through = dict.fromkeys(b for k in ends for b in rounded(float((w[first] / w[k]) ** (n / (k - first)))))
    short = [base for base in through if base > 1 and base == float(f"{base:.3g}")]
    yield from map(Ladder, short)
    yield from _stretched(through, n)
    for base in dict.fromkeys((*through, *BASES)):
        if base > 1:
            yield Ladder(base)
            for factor in rounded(float(base ** (-first / n) / w[first])):
                if factor > 1:
                    yield Ladder(base, LinearScaling(factor))
    if first == 0 and abs(w[0] - 1) > 0.01:  # what blends leaves the fast pairs alone
        return
    steep = rounded(float((w[0] / w[1]) ** n)) if first == 0 else []
    for base in dict.fromkeys((*steep, *BASES)):
        if base > 1:
            plain = base ** (-np.arange(n) / n)
            ratio = plain / w
            # a blend is between the two, and the last pair's is all of the factor: the shortest number that it can be
            near = (f for f in rounded(float(ratio[-1])) if abs(ratio[-1] - f) <= (1e-5 + slack / w[-1]) * f)
            factor = next(near, 1.0)
            if factor > 1 and np.all((ratio[first:] > 0.999) & (ratio[first:] < 1.001 * factor)):
                yield from _blended(base, factor)


def _stretched(bases: Iterable[float], n: int) -> Iterator[Ladder]:
    """NTK: a usual base times a short factor to the power of n/(n - 1), so that the last frequency is divided by it."""
    for stretched in bases:
        for base in BASES:
            factor = (stretched / base) ** ((n - 1) / n)
            short = float(f"{factor:.3g}")
            if short > 1 and abs(short - factor) < 2e-5 * factor:
                yield Ladder(base, NTKScaling(short))


def _blended(base: float, factor: float) -> Iterator[Ladder]:
    for length in LENGTHS:
        for low, high in BANDS:
            yield Ladder(base, Llama3Scaling(factor, length, low, high))
        for truncate in (True, False):
            yield Ladder(base, YarnScaling(factor, length, truncate=truncate))


def rounded(x: float) -> list[float]:
    """A number that was meant to be a short one: with 1, 2, 3, ... digits, and as it is."""
    if not math.isfinite(x) or x <= 0:
        return []
    shorter = [float(f"{x:.{digits}g}") for digits in range(1, 8)]
    return [*dict.fromkeys(s for s in shorter if abs(s - x) <= 0.02 * x), x]
