"""A fault: a wrong version of some of the contract's functions, with what to say to the person who made it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any


@dataclass(frozen=True)
class Fault:
    """One known mistake.

    Parameters
    ----------
    id
        Short and stable; ``posref check fault:ID`` runs the suite against it.
    sentence
        What is wrong, said to its author.
    fix
        What to do.
    source
        Where it was seen.
    functions
        Makes the wrong functions for an array namespace.
    """

    id: str
    sentence: str
    fix: str
    source: str
    functions: Callable[[Any], dict[str, Callable[..., Any]]]

    def backend(self, xp: Any = None, arrays: Any = "numpy") -> SimpleNamespace:
        """A backend that has the wrong functions and nothing else."""
        if xp is None:
            import array_api_compat.numpy as xp
        return SimpleNamespace(arrays=arrays, **self.functions(xp))
