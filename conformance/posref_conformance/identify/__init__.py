"""``posref identify``: which encoding numbers without code are, with which parameters and in which precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posref_conformance.identify._bias import biases, slopes
from posref_conformance.identify._finding import Finding, Values, off, precision_of
from posref_conformance.identify._frequencies import frequencies
from posref_conformance.identify._integers import integers
from posref_conformance.identify._ladder import Ladder
from posref_conformance.identify._read import read
from posref_conformance.identify._rotated import rotated
from posref_conformance.identify._sinusoids import sinusoids
from posref_conformance.identify._tables import table
from posref_conformance.identify._turns import Turns, of_turns
from posref_conformance.roundings import ROUNDOFF
from posref_conformance.schemas import WrongFile

Candidate = tuple[Finding, Turns | Values]

INPUTS, OUTPUTS = ("x", "input", "q", "before", "query"), ("y", "output", "rotated", "out", "after", "q_rot", "q_embed")

__all__ = ["Finding", "Found", "identify"]


@dataclass(frozen=True)
class Found:
    """What some arrays of a file are.

    Parameters
    ----------
    names
        Of the arrays; empty for the one of an ``.npy``.
    finding
        The encoding that they are or are nearest to.
    seen
        What was compared: turns, or the values of one array.
    """

    names: tuple[str, ...]
    finding: Finding
    seen: Turns | Values

    @property
    def name(self) -> str:
        """For people."""
        return " and ".join(filter(None, self.names))


def identify(path: Path, known: Sequence[Ladder] = (), positions: Values | None = None) -> list[Found]:
    """What the arrays of a file are, the best finding for each; nothing for what resembles nothing.

    Parameters
    ----------
    path
        ``.npy``, ``.npz`` or ``.safetensors``.
    known
        Frequencies that are likely: those of a config.
    positions
        Of the rows; None: to be told.

    Raises
    ------
    WrongFile
        It cannot be read.
    """
    arrays = read(path)
    if positions is not None and not any(len(positions) in a.shape for a in arrays.values()):
        raise WrongFile(f"{path}: {len(positions)} positions are given, and no array has as many rows")
    found: list[Found] = []
    used: set[str] = set()
    for names, pairs in _together(arrays):
        if not used & set(names) and (best := _best(names, _turning(pairs, known, positions))) is not None:
            used |= set(names)
            found.append(best)
    for name, array in arrays.items():
        if name not in used and (best := _best((name,), _alone(array, known, positions))) is not None:
            found.append(best)
    return found


def _together(arrays: dict[str, Values]) -> Iterator[tuple[tuple[str, ...], Iterator[Turns]]]:
    """Arrays that belong together by their names: cos and sin, a tensor and what it became."""
    for name in arrays:
        partner = name.replace("cos", "sin")
        if "cos" in name and partner != name and partner in arrays:
            yield (name, partner), table(arrays[name], arrays[partner])
    lower = {name.lower(): name for name in arrays}
    x, y = (next((lower[n] for n in names if n in lower), None) for names in (INPUTS, OUTPUTS))
    if x is not None and y is not None:
        yield (x, y), rotated(arrays[x], arrays[y])


def _turning(pairs: Iterator[Turns], known: Sequence[Ladder], positions: Values | None) -> Iterator[Candidate]:
    for turns in pairs:
        if positions is None or len(positions) == len(turns.cos):
            finding = of_turns(turns, known, positions)
            if finding is not None:
                yield finding, turns


def _alone(array: Values, known: Sequence[Ladder], positions: Values | None) -> Iterator[Candidate]:
    """What one array may be."""
    if np.iscomplexobj(array):
        yield from _turning(table(array.real, array.imag), known, positions)
        return
    if array.dtype.kind in "iu":
        yield from ((finding, array) for finding in integers(array, positions))
        return
    thin = np.squeeze(array)
    if thin.ndim == 1 and thin.size > 1 and (positions is None or len(positions) > 1):  # else it is that one row
        if np.all(np.isfinite(thin.astype(np.float64))):
            yield slopes(thin), thin
        found = frequencies(thin.astype(np.float64), ROUNDOFF[precision_of(thin)], known)
        if found is not None:
            yield found, thin
    rows = thin[None] if thin.ndim == 1 else thin
    if rows.ndim == 2 and rows.shape[1] % 2 == 0:
        first, second = np.split(rows, 2, axis=1)
        yield from _turning(table(first, second), known, positions)  # cos beside sin, as caches have it
        yield from ((finding, rows) for finding in sinusoids(rows, positions))
        yield from _turning(table(second, first), known, positions)
    if array.ndim >= 3:
        yield from ((finding, array) for finding in biases(array))


def _best(names: tuple[str, ...], candidates: Iterator[Candidate]) -> Found | None:
    """The first that is found, else the nearest."""
    nearest: Found | None = None
    for finding, seen in candidates:
        if finding.found:
            return Found(names, finding, seen)
        if nearest is None or off(finding) < off(nearest.finding):
            nearest = Found(names, finding, seen)
    return nearest
