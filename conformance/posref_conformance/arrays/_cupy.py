"""CuPy. It has no bfloat16 of its own, so none is tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from posref_conformance.arrays._interface import FLOATS, INTEGERS, NotItsArray


class Library:
    """Arrays on the current CUDA device; strides are kept."""

    name = "cupy"
    differentiates = False
    dtypes: tuple[str, ...] = tuple(d for d in FLOATS + INTEGERS if d != "bfloat16")

    def __init__(self, device: Any = None) -> None:
        if device is not None:
            cupy.cuda.Device(device).use()

    def make(self, array: NDArray[Any]) -> Any:
        if array.flags.c_contiguous or not array.size or min(array.strides) < 0:
            return cupy.asarray(np.ascontiguousarray(array))
        reach = 1 + sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) // array.itemsize
        target = cupy.lib.stride_tricks.as_strided(cupy.zeros(reach, dtype=array.dtype), array.shape, array.strides)
        target[...] = cupy.asarray(np.ascontiguousarray(array))
        return target

    def read(self, array: Any) -> NDArray[Any]:
        if not isinstance(array, cupy.ndarray):
            raise NotItsArray(f"a {type(array).__name__}, not a cupy.ndarray")
        return np.asarray(cupy.asnumpy(array))

    def dtype(self, array: Any) -> str:
        return str(array.dtype.name)

    def device(self, array: Any) -> str:
        return str(array.device)

    def shares(self, a: Any, b: Any) -> bool:
        return bool(cupy.may_share_memory(a, b))

    def gradient(self, function: Callable[[Any], Any], x: Any, cotangents: tuple[Any, ...], again: Any = None) -> Any:
        raise NotImplementedError("CuPy has no gradients")
