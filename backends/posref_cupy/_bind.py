"""A function of posref_array as one of CuPy's."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from posref_cupy._device import namespace, ready


def on_cupy(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function without ``xp``: on CuPy's namespace, on the device of its first array.

    Raises
    ------
    RuntimeError
        Nothing to compute on. TypeError: an array of another library; a dtype that this CuPy lacks.
    """
    signature = inspect.signature(function)
    shown = signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "xp"])
    names = tuple(shown.parameters)

    @functools.wraps(function)
    def bound(*args: Any, **kwargs: Any) -> Any:
        cupy = ready()
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        for name, value in given.items():
            if hasattr(value, "__dlpack__") and not isinstance(value, type):  # an array, of whatever library
                require_array(cupy, name, value)
        require_dtype(cupy, given.get("dtype"))
        devices = [value.device for value in given.values() if isinstance(value, cupy.ndarray)]
        with devices[0] if devices else contextlib.nullcontext():
            return function(*args, **kwargs, xp=namespace())

    bound.__signature__ = shown  # type: ignore[attr-defined]
    return bound


def require_array(cupy: Any, name: str, array: Any) -> None:
    """Refuse what is not CuPy's."""
    if not isinstance(array, cupy.ndarray):
        raise TypeError(f"{name} must be a CuPy array, got type {type(array).__module__}.{type(array).__name__}")


def require_dtype(cupy: Any, dtype: Any) -> None:
    """Refuse bfloat16 where CuPy does not know it: before CuPy 14."""
    if dtype is None or np.dtype(dtype).name != "bfloat16" or int(cupy.__version__.split(".")[0]) >= 14:
        return
    raise TypeError(
        f"dtype must not be bfloat16: CuPy has none of its own and takes ml_dtypes' from 14 on, this is {cupy.__version__}"
    )
