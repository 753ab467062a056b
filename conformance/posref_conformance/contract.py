"""The contract: the functions that a backend may have, under the names and with the arguments of posref's own."""

from __future__ import annotations

import inspect

import posref

READERS = ("read_config",)  # of files, not of arrays: a backend has none
FUNCTIONS = tuple(n for n in posref.__all__ if n not in READERS and inspect.isfunction(getattr(posref, n)))
JUDGE = "attention"  # where encodings are put to use; it is none itself, and has no record in the catalogue
