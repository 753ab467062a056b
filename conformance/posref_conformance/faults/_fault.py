"""A fault: a known mistake, as what it makes of right functions, with what to say to the person who made it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

Functions = dict[str, Callable[..., Any]]
Wrong = Callable[[Any, Any], Functions]


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
        Where it was seen, one or more separated by ``"; "``.
    wrong
        Of a namespace of right functions and their array library, the functions that come out wrong. The right ones may be wrong
        in another way already: so faults are combined.
    needs
        An array library without which the mistake cannot be made, such as ``"torch"`` for a gradient.
    """

    id: str
    sentence: str
    fix: str
    source: str
    wrong: Wrong
    needs: str | None = None

    def functions(self, xp: Any) -> Functions:
        """The wrong functions for the arrays of a library, each time anew: what one remembers is its own."""
        return self.wrong(right(xp), xp)

    def backend(self, xp: Any = None, arrays: Any = None) -> SimpleNamespace:
        """A backend that has the wrong functions and nothing else, on NumPy or on the library that it needs."""
        if xp is None:
            xp, arrays = library(self.needs or "numpy"), self.needs or "numpy"
        return SimpleNamespace(arrays=arrays, **self.functions(xp))


def both(first: Fault, second: Fault) -> Fault:
    """Two mistakes at once."""

    def wrong(right: Any, xp: Any) -> Functions:
        before = first.wrong(right, xp)
        return {**before, **second.wrong(SimpleNamespace(**{**vars(right), **before}), xp)}

    sources = dict.fromkeys([*first.source.split("; "), *second.source.split("; ")])
    return Fault(
        f"{first.id}+{second.id}",
        f"{first.sentence} {second.sentence}",
        f"{first.fix} {second.fix}",
        "; ".join(sources),
        wrong,
        first.needs or second.needs,
    )


def library(name: str) -> Any:
    """The array namespace of a library."""
    return __import__(f"array_api_compat.{name}", fromlist=["_"])


@functools.lru_cache(maxsize=8)
def right(xp: Any) -> SimpleNamespace:
    """posref_array on a library; what is made of no array is float64, so that a fault stands out from its rounding."""
    from posref_array import bind

    wide = xp.asarray(0.0, dtype=xp.float64).dtype
    return SimpleNamespace(**{k: v for k, v in vars(bind(xp, dtype=wide)).items() if callable(v)})
