"""Faults that were really made, as backends: what the suite must catch."""

from posref_conformance.faults._fault import Fault
from posref_conformance.faults.textbook import TEXTBOOK

FAULTS: dict[str, Fault] = {f.id: f for f in TEXTBOOK}

__all__ = ["FAULTS", "Fault"]
