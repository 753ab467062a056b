"""Results that are filled part by part, so that what is needed on the way stays small beside them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

ENTRIES = 1 << 16  # at once: a dozen float64 of each are 6 MiB


def blocks(shape: Sequence[int], entries: int = ENTRIES) -> Iterator[tuple[slice, ...]]:
    """Slices that cut an array into parts of at most so many entries: the last axes whole as far as they fit."""
    sizes: list[int] = []
    for n in reversed(shape):
        sizes.insert(0, max(1, min(n, entries)))
        entries = max(1, entries // sizes[0])
    starts = (range(0, n, size) for n, size in zip(shape, sizes, strict=True))
    for start in itertools.product(*starts):
        yield tuple(slice(a, a + size) for a, size in zip(start, sizes, strict=True))


def filled(
    function: Callable[..., Any], *arrays: NDArray[Any], dtype: DTypeLike = np.float64, entries: int = ENTRIES
) -> NDArray[Any]:
    """An elementwise function of arrays that broadcast, part by part."""
    views = np.broadcast_arrays(*arrays)
    result = np.empty(views[0].shape, dtype)
    for block in blocks(result.shape, entries):
        result[block] = function(*(view[block] for view in views))
    return result
