"""JAX. Without ``jax_enable_x64`` it has no float64, and checks that need it are left out; int64 becomes int32, as JAX has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from posref_conformance.arrays._interface import FLOATS, INTEGERS, NotItsArray


class Library:
    """Arrays on the default device, or on one of ``jax.devices(device)``."""

    name = "jax"
    differentiates = True

    def __init__(self, device: Any = None) -> None:
        self._device = jax.devices(device)[0] if isinstance(device, str) else device
        without = () if jax.config.jax_enable_x64 else ("float64",)
        self.dtypes = tuple(d for d in FLOATS + INTEGERS if d not in without)

    def make(self, array: NDArray[Any]) -> Any:
        if array.dtype == np.int64 and not jax.config.jax_enable_x64 and np.any(array != array.astype(np.int32)):
            raise NotImplementedError("integers beyond 32 bits need jax_enable_x64")
        return jax.device_put(jnp.asarray(array), self._device)

    def read(self, array: Any) -> NDArray[Any]:
        if not isinstance(array, jax.Array):
            raise NotItsArray(f"a {type(array).__name__}, not a jax.Array")
        return np.asarray(array)

    def dtype(self, array: Any) -> str:
        return str(array.dtype.name)

    def device(self, array: Any) -> str:
        return str(sorted(map(str, array.devices())))

    def shares(self, a: Any, b: Any) -> bool:
        return False  # nothing can be written to

    def gradient(self, function: Callable[[Any], Any], x: Any, cotangents: tuple[Any, ...], again: Any = None) -> Any:
        results, pull = jax.vjp(function, x)
        given = cotangents if isinstance(results, tuple) else cotangents[0]
        return pull(given)[0] if again is None else jax.vjp(lambda c: pull(c)[0], given)[1](again)[0]
