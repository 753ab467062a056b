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
    if isinstance(library, str):
        if library not in NAMED:
            raise ValueError(f"arrays must be one of {', '.join(NAMED)} or an Array API namespace, got {library!r}")
        module = importlib.import_module(f"posref_conformance.arrays.{NAMED[library]}")
        return module.Library(device)  # type: ignore[no-any-return]
    for name in NAMED:  # array_api_compat.torch and torch itself: the library's own file knows bfloat16 and gradients
        if library.__name__.rpartition(".")[2] == name:
            return arrays_of(name, device)
    from posref_conformance.arrays._namespace import Library

    return Library(library, device)
