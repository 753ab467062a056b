"""What the Array API leaves open: which types there are, where float64 lives, whose namespace it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any  # of whatever library
Namespace = Any

FLOATS = ("float64", "float32", "float16", "bfloat16")


def namespace(xp: Namespace | None, *arrays: Array) -> Namespace:
    """The given namespace, or that of the arrays."""
    if xp is not None:
        return xp
    from array_api_compat import array_namespace

    return array_namespace(*arrays)


def type_name(dtype: Any) -> str:
    """float32, bfloat16, int64, ...: the same word in every library."""
    return str(dtype).rpartition(".")[2].removesuffix("'>")  # a class of NumPy's is <class 'numpy.float64'>


def require_floating(name: str, array: Array) -> None:
    """Refuse what is not an array of real floating numbers."""
    if not hasattr(array, "dtype") or type_name(array.dtype) not in FLOATS:
        raise TypeError(f"{name} must be a floating array, got type {getattr(array, 'dtype', type(array).__name__)}")


def require_integers(name: str, array: Array) -> None:
    """Refuse what is not an array of integers."""
    if not hasattr(array, "dtype") or not type_name(array.dtype).startswith(("int", "uint")):
        raise TypeError(
            f"{name} must be an array of integers, got type {getattr(array, 'dtype', type(array).__name__)}"
        )


def require_real(name: str, array: Array) -> None:
    """Refuse what is neither: bools, complex numbers, lists."""
    if not hasattr(array, "dtype") or not type_name(array.dtype).startswith(("int", "uint", "float", "bfloat")):
        raise TypeError(
            f"{name} must be an array of real numbers, got type {getattr(array, 'dtype', type(array).__name__)}"
        )


def default_float(xp: Namespace) -> Any:
    """What the library makes of a Python float: float64 in NumPy, float32 in torch."""
    return xp.asarray(0.0).dtype


def working_type(xp: Namespace, *arrays: Array) -> Any:
    """The type to compute in: float32 for float16 and bfloat16 too, float64 if any of the arrays is."""
    return xp.float64 if any(type_name(a.dtype) == "float64" for a in arrays) else xp.float32


def float64_array(xp: Namespace, values: Sequence[float], like: Array) -> Array:
    """Host numbers as float64 on the device of ``like``."""
    return xp.asarray(values, dtype=xp.float64, device=device_of(like))


def device_of(array: Array) -> Any:
    """The device, by the one name that all libraries with devices have."""
    return getattr(array, "device", None)


def lacks_float64(xp: Namespace, device: Any) -> bool:
    """Whether tables for this device have to be made elsewhere (Apple's MPS, the default jax)."""
    kind = getattr(device, "type", None)
    if kind is not None:  # torch: its own inspection allocates on every device, and is no use under compilation
        return bool(kind == "mps")
    return not _offers(xp, device, "float64", "real floating")


def widest_integer(xp: Namespace, device: Any) -> Any:
    """int64, or int32 where a device lacks it (the default jax)."""
    if hasattr(device, "type") or _offers(xp, device, "int64", "signed integer"):
        return xp.int64
    return xp.int32


def _offers(xp: Namespace, device: Any, dtype: str, kind: str) -> bool:
    if isinstance(device, str) or device is None:  # NumPy's "cpu"
        return True
    return dtype in xp.__array_namespace_info__().dtypes(device=device, kind=kind)


def host_copy(array: Array, xp: Namespace) -> Any:
    """The array's values in NumPy, also from a device where NumPy cannot look."""
    if hasattr(array, "detach"):  # torch
        return np.asarray(array.detach().cpu())
    if hasattr(array, "get"):  # CuPy, which refuses to be taken for a NumPy array
        return array.get()
    try:
        return np.asarray(array)
    except RuntimeError:  # the standard has no name for the host; the default device is as near as it gets
        return np.asarray(array.to_device(xp.__array_namespace_info__().default_device()))


def values_are_at_hand(xp: Namespace) -> bool:
    """Whether looking at values costs nothing: NumPy's do, a device's would have to wait for it."""
    return getattr(xp, "__name__", None) in ("array_api_compat.numpy", "numpy", "array_api_strict")


def compiling(xp: Namespace) -> bool:
    """Whether a compiler is reading instead of running: torch's."""
    compiler = getattr(xp, "compiler", None)
    return compiler is not None and compiler.is_compiling()


def in_host_memory(xp: Namespace, array: Array) -> bool:
    """Whether to look at values costs no more than to read them."""
    return values_are_at_hand(xp) or getattr(device_of(array), "type", None) == "cpu"


def require_finite(name: str, array: Array, xp: Namespace) -> None:
    """Refuse NaN and infinity where looking costs nothing."""
    if not type_name(array.dtype).startswith(("float", "bfloat")) or not values_are_at_hand(xp):
        return
    if not bool(xp.all(xp.isfinite(array))):
        raise ValueError(f"{name} must be finite, got NaN or infinity")
