"""A rotated tensor with its input: the angle of each pair, and with it everything that a table tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from posref_conformance.faults._change import members
from posref_conformance.identify._finding import Finding, Values, precision_of
from posref_conformance.identify._frequencies import Known
from posref_conformance.identify._tables import of_pairs
from posref_conformance.roundings import ROUNDOFF


def rotated(x: Values, y: Values, known: Sequence[Known] = ()) -> Iterator[Finding]:
    """What may have been done to x, (..., sequence, channels), to give y."""
    if x.shape != y.shape or x.ndim < 2 or x.shape[-2] < 2:
        return
    moved = np.flatnonzero(np.any(x != y, axis=tuple(range(x.ndim - 1))))
    if not moved.size:
        return
    start, end = int(moved[0]), int(moved[-1]) + 1
    channels = x.shape[-1]
    # a slow pair may not have moved yet: all channels, or what has moved, are what rotates
    for offset, stop in dict.fromkeys(((0, channels), (start, end), (start, start + 2 * -(-(end - start) // 2)))):
        if (stop - offset) % 2 == 0 and stop <= channels:
            for layout in ("half", "interleaved"):
                found = _in_layout(x, y, layout, offset, (stop - offset) // 2, known)
                if found is not None:
                    yield found


def _in_layout(x: Values, y: Values, layout: str, offset: int, pairs: int, known: Sequence[Known]) -> Finding | None:
    first, second = members(pairs, layout, offset)
    before, after = (t[..., first].astype(np.float64) + 1j * t[..., second].astype(np.float64) for t in (x, y))
    leading = tuple(range(x.ndim - 2))
    size = np.sum(np.abs(before) ** 2, axis=leading)
    if not np.all(size > 0):
        return None
    turn = np.sum(after * np.conj(before), axis=leading) / size
    # what is left over once each pair has been turned: nothing but roundings, if these are the pairs
    u = ROUNDOFF[precision_of(y)]
    left = np.abs(after - turn * before)
    if float(np.max(left)) > 16 * u * float(np.max(np.abs(before))) * max(1.0, float(np.max(np.abs(turn)))):
        return None
    partial = (
        None if (offset, 2 * pairs) == (0, x.shape[-1]) else f"{offset} .. {offset + 2 * pairs - 1} of {x.shape[-1]}"
    )
    told = {"layout": layout, "channels": partial}
    return of_pairs("rope", turn.real, turn.imag, known, precision_of(y), spread=4.0, **told)
