"""The contract: the functions that a backend may have, under the names and with the arguments of posref's own."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import posref
from posref.catalogue import CATALOGUE

READERS = ("read_config",)  # of files, not of arrays: a backend has none
FUNCTIONS = tuple(n for n in posref.__all__ if n not in READERS and inspect.isfunction(getattr(posref, n)))
JUDGE = "attention"  # where encodings are put to use; it is none itself, and has no record in the catalogue
FAMILIES = {
    family: tuple(dict.fromkeys(f for e in CATALOGUE if e.family == family for f in e.functions))
    for family in dict.fromkeys(e.family for e in CATALOGUE)
} | {"judge": (JUDGE,)}


def functions_of(families: Sequence[str]) -> tuple[str, ...]:
    """The functions of some families of the catalogue; all of them where none is named."""
    return tuple(f for f in FUNCTIONS if any(f in FAMILIES[family] for family in families)) if families else FUNCTIONS
