"""Which base and scaling have given frequencies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from posref import LinearScaling, Llama3Scaling, Scaling, YarnScaling
from posref_conformance.diagnosis._candidates import fast
from posref_conformance.faults._fault import right
from posref_conformance.identify._finding import Finding, Values, compared
from posref_conformance.roundings import ladder_roundings

LENGTHS = tuple(2**n for n in range(9, 21))
USUAL = (10000.0, 500000.0, 1000000.0, 150000.0, 5000000.0, 100.0)
BANDS = ((1.0, 4.0), (1.0, 1.0))
Known = tuple[float, Scaling | None]


def name_of(scaling: Scaling | None) -> str | None:
    """A scaling in words."""
    if scaling is None:
        return None
    kind = type(scaling).__name__.removesuffix("Scaling").replace("Llama3", "Llama-3").replace("Yarn", "YaRN")
    words = [kind, "scaling"]
    if (factor := getattr(scaling, "factor", None)) is not None:
        words.append(f"factor {factor:g}")
    if length := getattr(scaling, "original_max_position_embeddings", None):
        words.append(f"original length {length}")
    if getattr(scaling, "truncate", True) is False:
        words.append("not truncated")
    return " ".join(words)


def frequencies(w: Values, u: float, known: Sequence[Known] = ()) -> Finding | None:
    """What a vector of frequencies is; u is how exact they are, relative."""
    nearest = ladder(w, u, 0.0, known)
    return None if nearest is None else nearest[1]


def ladder(w: Values, u: float, slack: float, known: Sequence[Known] = ()) -> tuple[Known, Finding] | None:
    """The base and the scaling whose frequencies are nearest to w, within u, relative, and slack.

    ``known`` are tried first: those of a config.
    """
    if w.ndim != 1 or w.size < 1 or not np.all(np.isfinite(w)) or np.any(w <= -slack):
        return None
    best: tuple[Known, Finding] | None = None
    for base, scaling in (*known, *_guesses(np.maximum(w, 1e-12), slack)):
        try:
            expected = quick(w.size, base, scaling)
        except (ValueError, OverflowError):
            continue
        bound = (_roundings(expected) * max(u, 2.0**-53) + 1.5 * u) * expected + slack
        found = compared("rope_inv_freq", w, expected, bound, base=base, scaling=name_of(scaling))
        if best is None or _off(found) < _off(best[1]):
            best = (base, scaling), found
        if found.found:
            return best
    return best


def quick(pairs: int, base: float, scaling: Scaling | None) -> Values:
    """The frequencies to a few roundings of float64: thousands of guesses are compared."""
    return np.asarray(right(fast()).rope_inv_freq(2 * pairs, base=base, scaling=scaling))


def _roundings(w: Values) -> Values:
    return np.asarray(ladder_roundings(np.where(w > 0, w, 1.0)) + 24)  # 16 of a blend's weight, a scaling's and ours


def _off(found: Finding) -> float:
    return found.error / found.allowed if found.allowed else math.inf


def _guesses(w: Values, slack: float) -> Iterator[Known]:
    """Plain ladders through the first and the last that is told apart from 0; then the scalings that end where w does."""
    n = w.size
    if n == 1:
        yield 10000.0, None
        return
    told = max(1, int(np.flatnonzero(w > 20 * slack)[-1:].sum()))
    through = (b for k in dict.fromkeys((told, n - 1, 1)) for b in _round(float((w[0] / w[k]) ** (n / k))))
    for base in dict.fromkeys(b for b in (*through, *USUAL) if b > 1):
        yield base, None
        for factor in _round(float(1 / w[0])):
            if factor > 1:
                yield base, LinearScaling(factor)
    if abs(w[0] - 1) > 0.01:  # what blends leaves the fast pairs alone
        return
    steep = [b for b in (*_round(float((w[0] / w[1]) ** n)), *USUAL) if b > 1]
    for base in dict.fromkeys(steep):
        last = float(base ** (-(n - 1) / n) / w[-1])
        for factor in _round(last):
            if factor > 1:
                yield from _blended(base, factor)


def _blended(base: float, factor: float) -> Iterator[Known]:
    for length in LENGTHS:
        for low, high in BANDS:
            yield base, Llama3Scaling(factor, length, low, high)
        for truncate in (True, False):
            yield base, YarnScaling(factor, length, truncate=truncate)


def _round(x: float) -> list[float]:
    """A number that was meant to be a short one: with 2, 3, ... digits, and as it is."""
    if not math.isfinite(x) or x <= 0:
        return []
    shorter = [float(f"{x:.{digits}g}") for digits in range(1, 8)]
    return [*dict.fromkeys(s for s in shorter if abs(s - x) <= 0.02 * x), x]
