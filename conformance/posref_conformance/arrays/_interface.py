"""What the suite needs of an array library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "uint8")


class NotItsArray(TypeError):
    """A value that is no array of the library."""


class Arrays(Protocol):
    """Make arrays of the library from NumPy's, and read them back, to the bit."""

    name: str
    differentiates: bool
    dtypes: tuple[str, ...]  # of those that the suite has inputs for; bool goes without saying

    def make(self, array: NDArray[Any]) -> Any:
        """The same values and type; the same strides where the library has them; never the same memory if read-only."""

    def read(self, array: Any) -> NDArray[Any]:
        """The values in NumPy's memory; NotItsArray for anything else than one of the library's arrays."""

    def dtype(self, array: Any) -> str:
        """float32, bfloat16, int64, ..."""

    def device(self, array: Any) -> str:
        """A word that is equal for arrays on the same device."""

    def shares(self, a: Any, b: Any) -> bool:
        """Whether two of the library's arrays lie in the same memory, as far as it can be told."""

    def gradient(self, function: Callable[[Any], Any], x: Any, cotangents: tuple[Any, ...], again: Any = None) -> Any:
        """The vector-Jacobian product, a cotangent for each result; NotImplementedError where there is none.

        With ``again``, a cotangent of that product, the product's own by the first cotangent: double backward.
        """
