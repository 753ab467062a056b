"""Checks of shapes that fit each other in scores. See :mod:`posref._arguments`."""

from __future__ import annotations

import numpy as np

from posref._arguments import broadcasts


def scored(
    q: tuple[int, ...], k: tuple[int, ...], distances: tuple[int, ...], inv_freq: tuple[int, ...]
) -> tuple[tuple[int, ...], int]:
    """The shape of the scores and the number of pairs, once the shapes are known to fit each other."""
    if min(len(q), len(k)) < 2 or q[-1] != k[-1]:
        raise ValueError(f"q and k must be (..., q, channels) and (..., k, channels), got {tuple(q)} and {tuple(k)}")
    try:
        shape = (*np.broadcast_shapes(q[:-2], k[:-2]), q[-2], k[-2])
    except ValueError:
        raise ValueError(f"q and k must have leading axes that broadcast, got {tuple(q)} and {tuple(k)}") from None
    if not broadcasts(distances, shape):
        raise ValueError(
            f"distances of shape {tuple(distances)} must broadcast against the scores' shape {tuple(shape)}"
        )
    if not 1 <= inv_freq[0] <= q[-1] // 2:
        raise ValueError(f"inv_freq must have 1 to {q[-1] // 2} pairs for {q[-1]} channels, got {inv_freq[0]}")
    return shape, inv_freq[0]
