"""Reading JSON that strangers wrote: safely, and with account of what was used, assumed and left over."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from posref._arguments import LARGEST_POSITION, integer, number, shown
from posref.models.records import Encoding

LARGEST_FILE = 8 * 2**20  # bytes; real ones are small, but for those that name thousands of classes
SIZES = ("hidden_size", "d_model", "n_embd", "num_hidden_layers", "num_layers", "model_type")  # what parts have
QUOTES = "'\""
DEEPEST = 16  # parts within parts; real ones are three deep
MOST_IGNORED = 20  # keys that are noted one by one
_ABOUT_POSITIONS = re.compile(
    "rope|rota|alibi|posit|pos_|relative|ntk|logn|yarn|dual_chunk|attn_type_list|hybrid_layer_pattern"
)


class Untold(Exception):
    """A file leaves out what an encoding cannot be computed without; the message says what."""


def load(source: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    """The object in a JSON file, or the mapping itself; ValueError, TypeError or OSError where there is none."""
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"path_or_mapping must be a path or a mapping, got {shown(source)}")
    if os.path.isdir(source):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), source)
    with open(source, "rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"the file must be a config of at most {LARGEST_FILE >> 20} MiB, got more")
    try:
        values = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError as problem:
        raise ValueError(f"the file must be UTF-8, got byte {content[problem.start]:#04x} at {problem.start}") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"the file must be JSON: {problem.msg} (line {problem.lineno})") from None
    except _Refused:
        raise
    except ValueError:  # what Python says here is advice about a setting
        raise ValueError("numbers must be finite, got an integer of thousands of digits") from None
    except RecursionError:
        raise ValueError("the file must be a config, got JSON that is nested too deeply") from None
    if not isinstance(values, dict):
        raise TypeError(f"the file must hold a JSON object, got {shown(values)}")
    return values


class _Refused(ValueError):
    """JSON that Python reads and this module does not."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Refused(f"keys must be unique, got {shown(twice)} twice")
    return values


def _as_json(value: object) -> str:
    return f"{value}".lower() if isinstance(value, bool) else shown(value)


def _no_constant(word: str) -> None:
    raise _Refused(f"numbers must be finite, got {word}")


def _is_part(key: str, value: object) -> bool:
    """Whether an object is the config of a part: ``quantization_config`` is none."""
    return key.endswith("_config") and isinstance(value, Mapping) and any(size in value for size in SIZES)


class NotKnown(Exception):
    """A file says something that posref does not know; the message says what."""


class Refused(Exception):
    """A framework does not load such a file; the message says why."""


@dataclass(frozen=True)
class Reading:
    """What is asked about one file, and what is said about it; its blocks share it.

    Parameters
    ----------
    framework
        Whose reading is asked for.
    seq_len
        As in :func:`posref.read_config`.
    readers
        ``model_type`` -> reader, for models that are made of others.
    notes
        A dict, as a set that keeps its order.
    """

    framework: str = "transformers"
    seq_len: int | None = None
    readers: Mapping[str, Reader] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)


class Block:
    """One JSON object: typed look-ups that remember which keys were asked for. ``null`` counts as absent."""

    def __init__(self, values: Mapping[str, Any], reading: Reading, where: str = "") -> None:
        self.values = values
        self.reading = reading
        self.where = where
        self.family: str | None = None  # of models, by whose reader it is read
        self._used: set[str] = set()

    def replaced(self, values: Mapping[str, Any], *, counts: bool = True) -> Block:
        """The same model's block with other values; ``counts``: whether a key that is looked up there is looked up here, too."""
        block = Block(values, self.reading, self.where)
        block.family = self.family
        if counts:
            block._used = self._used
        return block

    def name(self, key: str) -> str:
        """The key with the way to it, for messages."""
        return f"{self.where}.{key}" if self.where else key

    def note(self, kind: str, text: str) -> None:
        """Say something about the file; kinds: ignored, defaulted, contradictory, unusual, unknown, nope, seq_len."""
        self.reading.notes[f"{kind}: {text}"] = None

    def note_default(self, key: str, default: str, who: str = "transformers") -> None:
        """Note that a framework's default stands in for a key."""
        owner = f"{who}'" if who.endswith("s") else f"{who}'s"
        self.note("defaulted", f"{self.name(key)} is absent, {owner} default is {default}")

    def raw(self, key: str) -> Any:
        """The value as it stands, or None."""
        self._used.add(key)
        return self.values.get(key)

    def number(self, key: str, *, above: float = 0, least: float | None = None) -> float | None:
        """A finite number, positive unless told otherwise; or None."""
        value = self.raw(key)
        if value is None:
            return None
        return (
            number(value, self.name(key), above=above) if least is None else number(value, self.name(key), least=least)
        )

    def integer(self, key: str, *, least: int = 1, most: int = LARGEST_POSITION) -> int | None:
        """A whole number from ``least`` to ``most``, be it written 4096 or 4096.0; or None."""
        value = self.raw(key)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        whole = integer(value, self.name(key), least=least)
        if whole > most:
            raise ValueError(f"{self.name(key)} must be an integer from {least} to {most}, got {shown(whole)}")
        return whole

    def integer_or(self, key: str, default: int, *, least: int = 1, most: int = LARGEST_POSITION) -> int:
        """As :meth:`integer`, or the default of transformers, which is noted."""
        value = self.integer(key, least=least, most=most)
        if value is None:
            self.note_default(key, f"{default}")
            return default
        return value

    def boolean(self, key: str) -> bool | None:
        """True, False or None. A number in its place is taken as the models' code takes it, and noted: Llama 4 has one."""
        value = self.raw(key)
        if isinstance(value, int) and not isinstance(value, bool):
            self.note("unusual", f"{self.name(key)} is {shown(value)}, a number; any but 0 is read as true")
            return value != 0
        if value is not None and not isinstance(value, bool):
            raise TypeError(f"{self.name(key)} must be true or false, got {shown(value)}")
        return value

    def boolean_or(self, key: str, default: bool) -> bool:
        """True or False, or the default of transformers, which is noted."""
        value = self.boolean(key)
        if value is None:
            self.note_default(key, f"{default}".lower())
            return default
        return value

    def word(self, key: str) -> str | None:
        """A string, or None."""
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise TypeError(f"{self.name(key)} must be a string, got {shown(value)}")
        return value

    def numbers(self, key: str, *, most: int) -> tuple[float, ...]:
        """A list of positive numbers; its length is looked at before its elements are."""
        values, name = self.raw(key), self.name(key)
        if not isinstance(values, (list, tuple)):
            raise TypeError(f"{name} must be a list of numbers > 0, one per pair, got {shown(values)}")
        if not 0 < len(values) <= most:
            raise ValueError(f"{name} must have one number per pair, got {len(values)} numbers")
        return tuple(number(value, f"{name}[{i}]", above=0) for i, value in enumerate(values))

    def block(self, key: str) -> Block | None:
        """An object within this one, or None."""
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise TypeError(f"{self.name(key)} must be an object, got {shown(value)}")
        if self.where.count(".") >= DEEPEST:
            raise ValueError(f"parts must be nested at most {DEEPEST + 1} deep, got {self.where[:40]}...")
        return Block(value, self.reading, self.name(key))

    def words(self, key: str, *, most: int) -> tuple[str, ...] | None:
        """A list of at most ``most`` strings, or None."""
        values = self._list(key, "strings", most)
        if values is None:
            return None
        if not all(isinstance(value, str) for value in values):
            raise TypeError(f"{self.name(key)} must be a list of strings, got {shown(values)}")
        return tuple(values)

    def integers(self, key: str, *, most: int, least: int = 0) -> tuple[int, ...] | None:
        """A list of at most ``most`` whole numbers, or None."""
        values, name = self._list(key, "integers", most), self.name(key)
        if values is None:
            return None
        whole = (int(v) if isinstance(v, float) and v.is_integer() else v for v in values)
        return tuple(integer(value, f"{name}[{i}]", least=least) for i, value in enumerate(whole))

    def _list(self, key: str, of: str, most: int) -> Sequence[Any] | None:
        values = self.raw(key)
        if values is not None and not isinstance(values, (list, tuple)):
            raise TypeError(f"{self.name(key)} must be a list of {of}, got {shown(values)}")
        if values is not None and len(values) > most:
            raise ValueError(f"{self.name(key)} must be a list of at most {most} {of}, got {len(values)}")
        return values

    def either(self, keys: Sequence[str], *, most: int = LARGEST_POSITION) -> int | None:
        """An integer that goes by several names, of which the first wins."""
        found = {key: value for key in keys if (value := self.integer(key, most=most)) is not None}
        if len(set(found.values())) > 1:
            told = " and ".join(f"{self.name(key)} {value}" for key, value in found.items())
            self.note("contradictory", f"{told}; the first is used")
        return next(iter(found.values()), None)

    def note_ignored(self, *, only_about_positions: bool = False) -> None:
        """Note the keys that nobody asked for, and the parts of the model that nobody read."""
        if only_about_positions:
            for key, value in self.values.items():
                if key not in self._used and isinstance(key, str) and _is_part(key, value):
                    self.note("not known yet", f"{shown(self.name(key)).strip(QUOTES)}, a part that was not read")
        ignored = [
            (key, value)
            for key, value in self.values.items()
            if key not in self._used and value is not None and isinstance(key, str)
            if not only_about_positions or _ABOUT_POSITIONS.search(key.lower())
        ]
        for key, value in ignored[:MOST_IGNORED]:
            path = self.name(key)
            self.note(
                "ignored", f"{path if path.isprintable() and len(path) < 80 else shown(path)} = {_as_json(value)}"
            )
        if len(ignored) > MOST_IGNORED:
            self.note("ignored", f"{len(ignored) - MOST_IGNORED} more keys")


Reader = Callable[[Block], Sequence[Encoding]]
