"""Arrays of several libraries, made from and read back to NumPy, and how far a result may be off.

Bounds. posref_array works in float64 on tables, in u_w (float32, or float64 where an argument is) on data, and rounds once to
its result, u_o. With U = 2^-53, w a frequency, theta an angle and y the exact result:

frequencies   |w| (12 U + u_o)           Python's pow within 1 ulp = 2 U; the longest chain behind it (YaRN, Llama 3) has a
                                         division, two products, a quotient, a product and a sum: within 5 ulp
cos and sin   g (14 U |theta| + 4 U) + u_o |y|      frequency 12 U, product U and a spare one; cos, sin and the factor g
rotation      2 u_w S + u_o' |y|         S = g (|a| + |b|): two products, a sum; u_o' = 1.5 u_o for 16 bits, else 0, as the
                                         sum's rounding is then the cast
with a table  + 2 u_w S                  cos and sin were rounded to u_w first; and the phase, 14 U |theta| S
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

U = 2.0**-53
ROUNDOFF = {"float64": U, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class Library(NamedTuple):
    """An Array API namespace, the types it has, and how to get NumPy's arrays in and out."""

    name: str
    module: str
    floats: tuple[str, ...]

    @property
    def xp(self) -> Any:
        return importlib.import_module(self.module)

    def dtype(self, name: str) -> Any:
        if name == "bfloat16" and self.name == "numpy":
            import ml_dtypes

            return np.dtype(ml_dtypes.bfloat16)
        return getattr(self.xp, name)

    def make(self, values: Any, dtype: str, device: Any = None) -> Any:
        if dtype == "bfloat16":  # from float32, and so rounded once: the values given here are float32's
            return self.xp.astype(self.xp.asarray(np.asarray(values, dtype=np.float32)), self.dtype(dtype))
        return self.xp.asarray(np.asarray(values, dtype=dtype), device=device)


LIBRARIES = (
    Library("numpy", "array_api_compat.numpy", ("float64", "float32", "float16", "bfloat16")),
    Library("strict", "array_api_strict", ("float64", "float32")),
    Library("torch", "array_api_compat.torch", ("float64", "float32", "float16", "bfloat16")),
)


def type_of(array: Any) -> str:
    return str(array.dtype).rpartition(".")[2]


def read(array: Any) -> NDArray[np.float64]:
    """The values in float64; all types fit into it."""
    if type_of(array) == "bfloat16" and hasattr(array, "detach"):
        array = array.float()
    if hasattr(array, "to_device") and hasattr(array, "_array"):  # array_api_strict, on any of its devices
        array = array._array
    return np.asarray(array).astype(np.float64)


def outside(got: Any, expected: Any, bound: Any) -> float:
    """The worst error in multiples of its bound: more than 1 is a failure. A bound of 0 asks for equality."""
    values, expected = read(got), np.asarray(expected, dtype=np.float64)
    assert values.shape == expected.shape, (values.shape, expected.shape)
    error = np.abs(values - expected)
    assert np.isfinite(error).all()
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(error == 0, 0.0, error / bound), initial=0.0))


def working(*dtypes: str) -> float:
    return ROUNDOFF["float64" if "float64" in dtypes else "float32"]


def once(dtype: str, y: Any) -> Any:
    """One rounding to the type; float16's numbers below 2^-14 are 2^-24 apart."""
    return ROUNDOFF[dtype] * np.abs(y) + (2.0**-25 if dtype == "float16" else 0.0)


def cast(dtype: str, y: Any) -> Any:
    """The last rounding of a result in 16 bits, half of it more as the value was rounded before; others were not cast."""
    return 1.5 * once(dtype, y) if dtype in ("float16", "bfloat16") else 0.0 * np.abs(y)
