"""What the register says of a disagreement, and how a reading is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reading:
    """One of the things that public code makes of the same words.

    Parameters
    ----------
    name
        Short; unique in its disagreement.
    who
        The libraries and models that read so.
    how
        A Python expression in the names of posref, ``np`` and what ``given`` has set: this reading, computed.
    """

    name: str
    who: str
    how: str


@dataclass(frozen=True)
class Disagreement:
    """A place where public implementations differ in more than rounding.

    Parameters
    ----------
    id
        Short and stable.
    title
        The question that has several answers.
    encodings
        Ids in the catalogue.
    readings
        The answers, at least two.
    default
        Name of the reading that posref has where nothing is said, and where nothing can be said the one that is right for the
        weights that were released.
    why
        Why that one.
    source
        Where it was read, with the version.
    argument
        ``Function.keyword``, the argument that chooses; empty where no single one does.
    given
        Statements that set what the expressions share.
    """

    id: str
    title: str
    encodings: tuple[str, ...]
    readings: tuple[Reading, ...]
    default: str
    why: str
    source: str
    argument: str = ""
    given: str = ""

    def read(self, name: str) -> Any:
        """What a reading gives: an array, a number, a list of them; None where it refuses.

        Raises
        ------
        KeyError
            No reading of that name.
        """
        import numpy as np

        import posref

        how = {reading.name: reading.how for reading in self.readings}[name]
        names: dict[str, Any] = {**{n: getattr(posref, n) for n in posref.__all__}, "np": np}
        exec(self.given, names)  # of the register itself: no input gets here
        return eval(how, names)

    def as_json(self) -> dict[str, Any]:
        """Plain dicts, lists and strings."""
        readings = [{"name": r.name, "who": r.who, "how": r.how} for r in self.readings]
        texts = ("id", "title", "default", "why", "argument", "given", "source")
        return {
            **{key: getattr(self, key) for key in texts},
            "encodings": list(self.encodings),
            "readings": readings,
        }
