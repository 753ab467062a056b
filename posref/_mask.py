"""Masks of what is there and what is padding."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import as_array


def checked_mask(value: ArrayLike) -> NDArray[np.bool_]:
    """A mask of booleans, or of 0 and 1 as attention masks often are."""
    mask = as_array(value, "mask")
    if mask.dtype.kind not in "biu" and mask.size:  # an empty list is floating to NumPy
        raise TypeError(f"mask must be booleans, or integers 0 and 1, got type {mask.dtype}")
    other = mask[(mask != 0) & (mask != 1)]
    if other.size:
        raise ValueError(f"mask must be booleans, or integers 0 and 1, got {other.flat[0]}")
    return mask.astype(np.bool_)
