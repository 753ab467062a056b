"""NumPy, with ml_dtypes' bfloat16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref_conformance.arrays._interface import FLOATS, INTEGERS, NotItsArray


class Library:
    """NumPy arrays, as they are: strides and read-only flags reach the backend."""

    name = "numpy"
    differentiates = False
    dtypes: tuple[str, ...] = FLOATS + INTEGERS

    def __init__(self, device: Any = None) -> None:
        if device not in (None, "cpu"):
            raise ValueError(f"device must be 'cpu' or None for NumPy, got {device!r}")

    def make(self, array: NDArray[Any]) -> Any:
        return array

    def read(self, array: Any) -> NDArray[Any]:
        if not isinstance(array, (np.ndarray, np.generic)):  # a reduction to zero axes gives a NumPy scalar
            raise NotItsArray(f"a {type(array).__name__}, not a NumPy array")
        return np.asarray(array)

    def dtype(self, array: Any) -> str:
        return str(array.dtype.name)

    def device(self, array: Any) -> str:
        return "cpu"

    def shares(self, a: Any, b: Any) -> bool:
        return bool(np.may_share_memory(a, b))

    def gradient(self, function: Callable[[Any], Any], x: Any, cotangents: tuple[Any, ...], again: Any = None) -> Any:
        raise NotImplementedError("NumPy has no gradients")
