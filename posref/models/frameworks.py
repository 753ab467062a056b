"""Whose reading of a config: where frameworks read the same keys differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from posref._arguments import choice, shown
from posref.models._reading import Block
from posref.models.scalings import KINDS, Kind


@dataclass(frozen=True)
class Framework:
    """What a framework does with rope keys.

    Parameters
    ----------
    version
        The release that was looked at.
    kinds
        Its rope types.
    older_type_wins
        ``type`` before ``rope_type``.
    """

    name: str
    version: str
    kinds: Mapping[str, Kind] = field(default_factory=lambda: KINDS)
    older_type_wins: bool = False

    def two_types(self, block: Block, new: str, old: str) -> None:
        """Say that a block has both spellings, and that they differ."""
        used = "latter" if self.older_type_wins else "former"
        told = f"{block.where} has rope_type {shown(new)} and type {shown(old)}; the {used} is used"
        block.note("contradictory", told)


FRAMEWORKS: Mapping[str, Framework] = {framework.name: framework for framework in (Framework("transformers", "5.24"),)}


def framework_of(block: Block) -> Framework:
    """The one whose reading is asked for."""
    return FRAMEWORKS[block.reading.framework]


def checked_framework(name: object) -> str:
    """The name of a framework."""
    return choice(name, "framework", tuple(FRAMEWORKS))
