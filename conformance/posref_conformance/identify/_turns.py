"""Cos and sin, one column per pair, as they were found: which frequencies at which positions give them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from posref_conformance.case import numpy_type
from posref_conformance.identify._angles import by_pair, fits, positions_of, rates
from posref_conformance.identify._finding import Finding, Values, compared, off
from posref_conformance.identify._frequencies import BASES, USUAL, ladder, rounded
from posref_conformance.identify._ladder import Ladder, name_of
from posref_conformance.roundings import ROUNDOFF, phase_error

SAMPLE = 32  # rows on which a guess is tried first
ENOUGH = 8  # numbers, without which positions that are free to choose would fit anything


@dataclass(frozen=True)
class Turns:
    """What was found.

    Parameters
    ----------
    what
        ``rope_table`` or ``rope``.
    cos, sin
        (rows, pairs), float64.
    precision, spread
        The type that they went through, and how many of its roundings they are off by.
    told
        What is known of them already: layout, channels.
    """

    what: str
    cos: Values
    sin: Values
    precision: str
    spread: float = 1.0
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def u(self) -> float:
        """How far off they are, relative to 1."""
        return self.spread * ROUNDOFF[self.precision]

    @cached_property
    def angle(self) -> Values:
        """Between -pi and pi."""
        return np.arctan2(self.sin, self.cos)

    @cached_property
    def factor(self) -> float:
        """The attention factor."""
        return float(np.median(np.hypot(self.cos, self.sin)))


@dataclass(frozen=True)
class Guess:
    """A ladder, a position for each row and a sign of the rotation."""

    ladder: Ladder
    positions: Values
    sign: float = 1.0


def of_turns(turns: Turns, known: Sequence[Ladder], positions: Values | None) -> Finding | None:
    """The base, the scaling and the positions; the nearest where none gives these numbers; None if they turn at random."""
    nearest: Finding | None = None
    if not (np.all(np.isfinite(turns.angle)) and turns.factor > 0):
        return None
    for guess in _guesses(turns, known, positions):
        found = against(turns, guess)
        if found.found:
            return found
        if nearest is None or off(found) < off(nearest):
            nearest = found
    return nearest


def _guesses(turns: Turns, known: Sequence[Ladder], positions: Values | None) -> Iterator[Guess]:
    for sign in (1.0, -1.0):  # what is likely, at any positions
        if positions is None:
            yield from placed(turns, (*known, *USUAL), sign)
        else:
            yield from (g for one in (*known, *USUAL) if (g := at(turns, one, positions, sign)))
    for sign in (1.0, -1.0):
        angle = sign * turns.angle
        rows = np.arange(len(angle)) if positions is None else positions
        measured = rates(*(_from_zero(angle, rows) if positions is not None else (angle, rows)))
        if measured is None or measured[0][-1] < 0:
            continue
        w, first = measured
        span = float(np.ptp(rows)) if positions is None else float(np.abs(rows).max())
        if positions is not None:
            yield from (Guess(one, rows, sign) for one in _ladders(turns, w, first, known, span))
        elif fits(angle - angle[:1], rows, w):  # rows that are one apart
            for one in _ladders(turns, w, 0, known, span):
                yield Guess(one, rows + positions_of(angle[:1], one.quick(w.size), turns.u), sign)
        if positions is None and first < w.size - 1:  # or several
            yield from placed(turns, _steep(w, first), sign)


def _from_zero(angle: Values, positions: Values) -> tuple[Values, Values]:
    """With position 0, where no pair has turned."""
    return np.concatenate([np.zeros_like(angle[:1]), angle]), np.concatenate([[0], positions])


def _ladders(turns: Turns, w: Values, first: int, known: Sequence[Ladder], span: float) -> Iterator[Ladder]:
    """What has measured frequencies; what has them behind a rounding to 16 bits."""
    yield from _behind_narrow(w, first, known)
    u = turns.u
    nearest = ladder(w, max(u, 2.0**-24) if u > 2.0**-53 else u, 8 * u / span, known, first)
    if nearest is not None:
        yield nearest[0]


def _behind_narrow(w: Values, first: int, known: Sequence[Ladder]) -> Iterator[Ladder]:
    """Usual ladders whose frequencies are w once they are rounded to 16 bits."""
    for one in (*known, *map(Ladder, BASES)):
        try:
            exact = one.quick(w.size).astype(np.float32)[first:]
        except ValueError:
            continue
        for name in ("bfloat16", "float16"):
            narrow = exact.astype(numpy_type(name)).astype(np.float64)
            if np.all(np.abs(w[first:] - narrow) <= 2.0**-12 * narrow + 1e-7):
                yield one


def _steep(w: Values, first: int) -> Iterator[Ladder]:
    """Plain ladders that fall as fast as the measured frequencies."""
    last = w.size - 1
    for base in rounded(float((w[first] / w[last]) ** (w.size / (last - first)))):
        if base > 1:
            yield Ladder(base)


def placed(turns: Turns, ladders: Sequence[Ladder] | Iterator[Ladder], sign: float) -> Iterator[Guess]:
    """Ladders with which each row has a whole position of its own."""
    if turns.angle.size < ENOUGH or turns.angle.shape[1] < 2:
        return
    angle = sign * turns.angle
    sample = np.unique(np.linspace(0, len(angle) - 1, SAMPLE).astype(int))
    for one in ladders:
        try:
            w = one.quick(angle.shape[1])
        except (ValueError, OverflowError):
            continue
        few = positions_of(angle[sample], w, turns.u)
        backwards = few.min() < 0 and few.max() <= 0  # positions below 0 are rather a rotation by minus the angle
        if not backwards and np.array_equal(few, np.round(few)) and fits(angle[sample], few, w):
            yield Guess(one, positions_of(angle, w, turns.u), sign)


def at(turns: Turns, one: Ladder, positions: Values, sign: float) -> Guess | None:
    """A ladder at given positions, if it is about right."""
    try:
        w = one.quick(turns.angle.shape[1])
    except (ValueError, OverflowError):
        return None
    return Guess(one, positions, sign) if fits(sign * turns.angle, positions, w) else None


def against(turns: Turns, guess: Guess, factor: float | None = None, *, narrow: bool = True) -> Finding:
    """How far what was found is from a guess: in float32 or float64, or as what went through 16 bits on the way.

    ``factor`` is the attention factor; None: what it is. Without ``narrow``, positions and frequencies in 16 bits are wrong.
    """
    if factor is None:
        own = (1.0, guess.ladder.attention_factor)
        factor = next((f for f in own if abs(turns.factor - f) < 8 * turns.u + 1e-6), float(f"{turns.factor:.9g}"))
    got = np.stack([turns.cos, guess.sign * turns.sin])
    w, c_w = guess.ladder.exact(got.shape[-1])
    best: Finding | None = None
    for words, p, v, c, u_p in _ways(guess.positions, w, c_w, narrow):
        theta = by_pair(p) * v
        bound = phase_error(theta, c, u_p, max(1.0, factor)) + 1.5 * turns.u * factor
        found = compared(turns.what, got, factor * np.stack([np.cos(theta), np.sin(theta)]), bound)
        if best is None or found.found:
            usual = words == "angles in float32" and turns.precision != "float64"
            told = _told(turns, guess, factor, "" if usual else words)
            best = dataclasses.replace(found, parameters=told)
        if found.found:
            break
    assert best is not None
    return best


def _ways(positions: Values, w: Values, c_w: Values, narrow: bool) -> Iterator[tuple[str, Values, Values, Any, float]]:
    """How angles are formed: words, positions, frequencies, their roundings, and of which type."""
    yield "", positions, w, c_w, 2.0**-53
    yield "angles in float32", positions, w, c_w, 2.0**-24
    for name in ("bfloat16", "float16") if narrow else ():
        yield f"frequencies in {name}", positions, through(w, name), 2.0, 2.0**-24
        p = through(positions, name)
        if np.all(np.isfinite(p)):
            yield f"positions in {name}", p, w, 2.0, 2.0**-24


def through(values: Values, name: str) -> Values:
    """Rounded to float32, then to 16 bits."""
    with np.errstate(over="ignore"):
        return np.asarray(values.astype(np.float32).astype(numpy_type(name)).astype(np.float64))


def _told(turns: Turns, guess: Guess, factor: float, words: str) -> dict[str, Any]:
    kind = "tables" if turns.what == "rope_table" else "results"
    return {
        "base": guess.ladder.base,
        "scaling": name_of(guess.ladder.scaling),
        "seq_len": guess.ladder.seq_len,
        **turns.told,
        "attention factor": None if factor == 1.0 else factor,
        "precision": f"{turns.precision} {kind}" + (f" of {words}" if words else ""),
        **spoken(guess.positions),
        "rotation": "backwards" if guess.sign < 0 else None,
    }


def spoken(positions: Values) -> dict[str, Any]:
    """Positions in words."""
    p = positions
    if p.ndim == 2:  # told where the axes are
        return {}
    step = np.diff(p)
    if np.all(step == 1):
        return {"positions from": f"{p[0]:g}"}
    if len(p) <= 6:
        return {"positions": " ".join(f"{x:.12g}" for x in p)}
    if np.all(step == step[0]):
        return {"positions from": f"{p[0]:.12g}", "step": f"{step[0]:.12g}"}
    return {"positions": f"{p.min():.12g} to {p.max():.12g}, in no even steps"}
