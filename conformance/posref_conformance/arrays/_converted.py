"""Arrays of a library that the suite does not know: the backend brings its own converters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref_conformance.arrays._interface import FLOATS, INTEGERS, NotItsArray


class Library:
    """Arrays that are made by ``from_numpy(array)`` and read by ``to_numpy(array)``; the types are NumPy's."""

    differentiates = False
    name = "its own"
    dtypes: tuple[str, ...] = FLOATS + INTEGERS

    def __init__(self, from_numpy: Callable[[NDArray[Any]], Any], to_numpy: Callable[[Any], Any]) -> None:
        self._from_numpy, self._to_numpy = from_numpy, to_numpy

    def make(self, array: NDArray[Any]) -> Any:
        return self._from_numpy(array.copy())

    def read(self, array: Any) -> NDArray[Any]:
        values = self._to_numpy(array)
        if not isinstance(values, (np.ndarray, np.generic)):
            raise NotItsArray(f"what to_numpy turned into a {type(values).__name__}, not a NumPy array")
        return np.asarray(values)

    def dtype(self, array: Any) -> str:
        return str(self.read(array).dtype.name)

    def device(self, array: Any) -> str:
        return "its own"

    def shares(self, a: Any, b: Any) -> bool:
        return False  # nothing is known of them

    def gradient(self, function: Callable[[Any], Any], x: Any, cotangents: tuple[Any, ...], again: Any = None) -> Any:
        raise NotImplementedError("the suite knows no gradients of these arrays")
