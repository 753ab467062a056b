"""Any other Array API namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref_conformance.arrays._interface import FLOATS, INTEGERS, NotItsArray


class Library:
    """Arrays of a namespace that tells its types through ``__array_namespace_info__``."""

    differentiates = False

    def __init__(self, namespace: Any, device: Any = None) -> None:
        self._xp, self._device = namespace, device
        self.name = str(namespace.__name__)
        there = namespace.__array_namespace_info__().dtypes(device=device)
        self.dtypes = tuple(d for d in FLOATS + INTEGERS if d in there)
        self._type: type[Any] = type(namespace.asarray(0, device=device))

    def make(self, array: NDArray[Any]) -> Any:
        flat = self._xp.asarray(array.ravel().tolist(), dtype=getattr(self._xp, array.dtype.name), device=self._device)
        return self._xp.reshape(flat, array.shape)

    def read(self, array: Any) -> NDArray[Any]:
        if not isinstance(array, self._type):
            raise NotItsArray(f"a {type(array).__name__}, not a {self._type.__name__} of {self.name}")
        try:
            return np.asarray(array)
        except RuntimeError:  # the array is on a device where NumPy cannot look
            return np.asarray(array.to_device(self._xp.__array_namespace_info__().default_device()))

    def dtype(self, array: Any) -> str:
        return str(array.dtype).rpartition(".")[2]

    def device(self, array: Any) -> str:
        return str(array.device)

    def shares(self, a: Any, b: Any) -> bool:
        return False  # the standard has no way to ask

    def gradient(self, function: Callable[[Any], Any], x: Any, cotangents: tuple[Any, ...], again: Any = None) -> Any:
        raise NotImplementedError(f"{self.name} has no gradients that the suite knows how to ask for")
