"""The contract: the functions that a backend may have, under the names and with the arguments of posref's own."""

from __future__ import annotations

import inspect

import posref

FUNCTIONS = tuple(name for name in posref.__all__ if inspect.isfunction(getattr(posref, name)))
JUDGE = "attention"  # where encodings are put to use; it is none itself, and has no record in the catalogue
