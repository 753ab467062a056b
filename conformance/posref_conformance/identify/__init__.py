"""``posref identify``: which encoding numbers without code are, with which parameters and in which precision."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from posref_conformance.identify._bias import biases, slopes
from posref_conformance.identify._finding import Finding, Values, precision_of
from posref_conformance.identify._frequencies import Known, frequencies
from posref_conformance.identify._read import read
from posref_conformance.identify._rotated import rotated
from posref_conformance.identify._tables import sinusoid, table
from posref_conformance.roundings import ROUNDOFF

INPUTS, OUTPUTS = ("x", "input", "q", "before", "query"), ("y", "output", "rotated", "out", "after", "q_rot", "q_embed")

__all__ = ["Finding", "identify"]


def identify(path: Path, known: Sequence[Known] = ()) -> list[tuple[str, Finding]]:
    """What the arrays of a file are: their names, and the best finding for each; nothing for what resembles nothing.

    Parameters
    ----------
    path
        ``.npy``, ``.npz`` or ``.safetensors``.
    known
        Bases and scalings that are likely: those of a config.

    Raises
    ------
    WrongFile
        It cannot be read.
    """
    arrays = read(path)
    found: list[tuple[str, Finding]] = []
    used: set[str] = set()
    for names, findings in _together(arrays, known):
        best = _best(findings)
        if best is not None and not used & set(names):
            used |= set(names)
            found.append((" and ".join(filter(None, names)), best))
    for name, array in arrays.items():
        if name not in used and (best := _best(_alone(array, known))) is not None:
            found.append((name, best))
    return found


def _together(arrays: dict[str, Values], known: Sequence[Known]) -> Iterator[tuple[tuple[str, ...], Iterator[Finding]]]:
    """Arrays that belong together by their names: cos and sin, a tensor and what it became."""
    for name in arrays:
        partner = name.replace("cos", "sin")
        if "cos" in name and partner != name and partner in arrays:
            yield (name, partner), _table(arrays[name], arrays[partner], known)
    lower = {name.lower(): name for name in arrays}
    x, y = (next((lower[n] for n in names if n in lower), None) for names in (INPUTS, OUTPUTS))
    if x is not None and y is not None:
        yield (x, y), rotated(arrays[x], arrays[y], known)


def _table(cos: Values, sin: Values, known: Sequence[Known]) -> Iterator[Finding]:
    found = table(cos, sin, known)
    if found is not None:
        yield found


def _alone(array: Values, known: Sequence[Known]) -> Iterator[Finding]:
    """What one array may be."""
    if np.iscomplexobj(array):
        yield from _table(array.real, array.imag, known)
        return
    if array.dtype.kind in "iu":  # positions, buckets, token ids
        return
    thin = np.squeeze(array)
    if thin.ndim == 1 and thin.size > 1:
        found = frequencies(thin.astype(np.float64), ROUNDOFF[precision_of(thin)], known)
        if found is not None:
            yield found
        if np.all(np.isfinite(thin.astype(np.float64))):
            yield slopes(thin)
    if thin.ndim == 2:
        half = thin.shape[1] // 2
        if thin.shape[1] % 2 == 0:  # cos beside sin, as caches have it
            yield from _table(thin[:, :half], thin[:, half:], known)
        yield from sinusoid(thin)
        if thin.shape[1] % 2 == 0:
            yield from _table(thin[:, half:], thin[:, :half], known)
    if array.ndim >= 3:
        yield from biases(array)


def _best(findings: Iterator[Finding]) -> Finding | None:
    """The first that is found, else the nearest."""
    nearest: Finding | None = None
    for finding in findings:
        if finding.found:
            return finding
        if nearest is None or _off(finding) < _off(nearest):
            nearest = finding
    return nearest


def _off(finding: Finding) -> float:
    return finding.error / finding.allowed if finding.allowed else math.inf
