"""A rotated tensor with its input: the angle of each pair, and with it everything that a table tells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posref_conformance.faults._change import members
from posref_conformance.identify._finding import Values, precision_of
from posref_conformance.identify._turns import Turns
from posref_conformance.roundings import ROUNDOFF


def rotated(x: Values, y: Values) -> Iterator[Turns]:
    """What may have been done to x, (..., sequence, channels) or (..., sequence, heads, channels), to give y."""
    if x.shape != y.shape or x.ndim < 2:
        return
    moved = np.flatnonzero(np.any(x != y, axis=tuple(range(x.ndim - 1))))
    if not moved.size:
        return
    start, end = int(moved[0]), int(moved[-1]) + 1
    channels = x.shape[-1]
    for a, b in ((x, y), (np.swapaxes(x, -2, -3), np.swapaxes(y, -2, -3))) if x.ndim > 2 else ((x, y),):
        # a slow pair may not have moved yet: all channels, or what has moved, are what rotates
        for offset, stop in dict.fromkeys(((0, channels), (start, end), (start, start + 2 * -(-(end - start) // 2)))):
            if (stop - offset) % 2 == 0 and stop <= channels:
                for layout in ("half", "interleaved"):
                    found = _in_layout(a, b, layout, offset, (stop - offset) // 2)
                    if found is not None:
                        yield found


def _in_layout(x: Values, y: Values, layout: str, offset: int, pairs: int) -> Turns | None:
    first, second = members(pairs, layout, offset)
    before, after = (t[..., first].astype(np.float64) + 1j * t[..., second].astype(np.float64) for t in (x, y))
    leading = tuple(range(x.ndim - 2))
    size = np.sum(np.abs(before) ** 2, axis=leading)
    if not np.all(size > 0):
        return None
    turn = np.sum(after * np.conj(before), axis=leading) / size
    # what is left over once each pair has been turned: nothing but roundings, if these are the pairs
    precision = precision_of(y)
    left = np.abs(after - turn * before)
    largest = float(np.max(np.abs(before))) * max(1.0, float(np.max(np.abs(turn))))
    if float(np.max(left)) > 16 * ROUNDOFF[precision] * largest:
        return None
    partial = (
        None if (offset, 2 * pairs) == (0, x.shape[-1]) else f"{offset} .. {offset + 2 * pairs - 1} of {x.shape[-1]}"
    )
    return Turns("rope", turn.real, turn.imag, precision, 4.0, {"layout": layout, "channels": partial})
