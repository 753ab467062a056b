"""Array libraries behind one small interface: one file each, imported when a backend asks for it."""

from __future__ import annotations

import importlib
from typing import Any

from posref_conformance.arrays._interface import Arrays, NotItsArray

NAMED = {"numpy": "_numpy", "torch": "_torch", "cupy": "_cupy", "jax": "_jax"}

__all__ = ["NAMED", "Arrays", "NotItsArray", "arrays_of"]


def arrays_of(library: Any, device: Any = None) -> Arrays:
    """The interface for a library's name, or for any Array API namespace.

    Raises
    ------
    ValueError
        A name that is not known. ImportError: the library is not installed.
    """
    name = library if isinstance(library, str) else _name(library)
    if name in NAMED:
        module = importlib.import_module(f"posref_conformance.arrays.{NAMED[name]}")
        return module.Library(device)  # type: ignore[no-any-return]
    if not hasattr(library, "__array_namespace_info__"):
        raise ValueError(f"arrays must be one of {', '.join(NAMED)} or an Array API namespace, got {library!r}")
    from posref_conformance.arrays._namespace import Library

    return Library(library, device)


def _name(namespace: Any) -> str:
    """The library behind a namespace: its own file here knows bfloat16 and gradients."""
    first, _, rest = getattr(namespace, "__name__", "").partition(".")
    return rest if first == "array_api_compat" else first  # array_api_compat.torch, but jax.numpy
