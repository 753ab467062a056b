"""``posref show --compare``: the readings of all frameworks side by side, and how far apart they are at the longest text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from posref.models import read_config
from posref.models._reading import load
from posref.models.frameworks import FRAMEWORKS
from posref.models.records import ModelPositions, RopeEncoding
from posref.models.rows import scaling_of, title, told
from posref.models.show import Lines, refuse
from posref.rotary.scaling import DynamicNTKScaling, LongRopeScaling

FIRST = "transformers"


@dataclass(frozen=True)
class Difference:
    """How far a framework's rotation is from transformers' at one position.

    Parameters
    ----------
    encoding
        Its index among transformers' encodings.
    framework
        Whose reading.
    theirs
        What it makes of the same part and layers.
    angle
        The largest difference of a pair's angle, in radians, or None where it cannot be told.
    pair
        The first pair that has it; None where there is no difference.
    """

    encoding: int
    framework: str
    theirs: RopeEncoding
    angle: float | None
    pair: int | None

    def as_json(self) -> dict[str, Any]:
        """Plain strings and numbers."""
        factors = {key: getattr(self.theirs, key) for key in ("attention_factor", "softmax_factor", "layout")}
        numbers = {"encoding": self.encoding, "framework": self.framework, "angle": self.angle, "pair": self.pair}
        return {**numbers, **factors}


@dataclass(frozen=True)
class Comparison:
    """All readings of a file, and how far they are apart at ``position``, the last of the longest text; None: it is not told.

    ``seq_len`` is the length that they are for, where frequencies depend on it.
    """

    position: int | None
    seq_len: int | None
    readings: Mapping[str, ModelPositions]
    differences: tuple[Difference, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return {
            "model_type": self.readings[FIRST].model_type,
            "position": self.position,
            "seq_len": self.seq_len,
            "readings": {name: reading.as_json() for name, reading in self.readings.items()},
            "differences": [difference.as_json() for difference in self.differences],
        }


def compare_readings(path: str | os.PathLike[str] | Mapping[str, Any], *, seq_len: int | None = None) -> Comparison:
    """The readings of all frameworks.

    Parameters
    ----------
    path
        A ``config.json``, or what is in it.
    seq_len
        Length of the text, at whose last position they are compared; None is ``max_position_embeddings``.

    Raises
    ------
    OSError, ValueError, TypeError
        As :func:`posref.read_config`.
    """
    content = load(path)
    texts = _rotations(read_config(content, seq_len=seq_len))
    lengths = [encoding.max_position_embeddings for encoding in texts]
    longest = seq_len or next(filter(None, lengths), None)
    grows = any(isinstance(encoding.scaling, (DynamicNTKScaling, LongRopeScaling)) for encoding in texts)
    asked = longest if grows else None
    readings = {name: read_config(content, framework=name, seq_len=asked) for name in FRAMEWORKS}
    position = None if longest is None else longest - 1
    ours = readings[FIRST].encodings
    found: list[Difference] = []
    for index, encoding in enumerate(ours):
        if not isinstance(encoding, RopeEncoding) or encoding.component != "text":
            continue
        for name, reading in readings.items():
            other = _same(encoding, reading)
            if other is not None:
                found.append(_difference(index, name, encoding, other, position))
    return Comparison(position, asked, readings, tuple(found))


def _rotations(reading: ModelPositions) -> list[RopeEncoding]:
    return [e for e in reading.encodings if isinstance(e, RopeEncoding) and e.component == "text"]


def _same(encoding: RopeEncoding, reading: ModelPositions) -> RopeEncoding | None:
    """The encoding of the same part and layers in another reading."""
    for other in _rotations(reading):
        if (other.part, other.layers) == (encoding.part, encoding.layers):
            return other
    return None


def _difference(index: int, name: str, ours: RopeEncoding, theirs: RopeEncoding, position: int | None) -> Difference:
    angle, pair = None, None
    if position is not None and ours.inv_freq is not None and theirs.inv_freq is not None:
        turned = [_angle(encoding, position) for encoding in (ours, theirs)]
        apart = [abs(a - b) for a, b in zip(*turned, strict=True)] if len(turned[0]) == len(turned[1]) else []
        if apart:
            angle = max(apart)
            pair = apart.index(angle) if angle else None
    return Difference(index, name, theirs, angle, pair)


def _angle(encoding: RopeEncoding, position: int) -> Sequence[float]:
    """Angles of the pairs of a token of text, whose position is the same on all axes but the one that is none."""
    inv_freq = encoding.inv_freq or ()
    if encoding.axes is None or "none" not in encoding.axes.names:
        return [position * w for w in inv_freq]
    none = encoding.axes.names.index("none")
    return [0.0 if axis == none else position * w for w, axis in zip(inv_freq, encoding.axes.map, strict=True)]


def compare(path: str | os.PathLike[str], *, as_json: bool = False, seq_len: int | None = None) -> int:
    """Print the readings side by side; exit status as :func:`posref.models.show.show`."""
    try:
        comparison = compare_readings(path, seq_len=seq_len)
    except OSError as problem:
        return refuse(path, problem.strerror or str(problem))
    except (ValueError, TypeError) as problem:
        return refuse(path, str(problem))
    if as_json:
        print(json.dumps(comparison.as_json(), indent=2, allow_nan=False))
    else:
        render(comparison, Console(highlight=False))
    return 0


def render(comparison: Comparison, console: Console) -> None:
    """Print a comparison, wrapped to the console's width."""
    line = Lines(console, max(map(len, FRAMEWORKS)) + 1)
    first = comparison.readings[FIRST]
    line("no model_type" if first.model_type is None else f"model_type {first.model_type[:200]}", "bold")
    if not comparison.differences:
        line("no rotation of text to compare")
    for index in sorted({difference.encoding for difference in comparison.differences}):
        line(title(first.encodings[index]), "bold cyan")
        for difference in comparison.differences:
            if difference.encoding == index:
                line(_row(comparison.position, difference), label=difference.framework)
    for note in first.notes:
        line(note, label=FIRST)
    for label, note in _notes(comparison):
        line(note, label=label)


def _notes(comparison: Comparison) -> list[tuple[str, str]]:
    """What other readings say that transformers' does not, once where they say the same but for the framework's name."""
    found: dict[str, list[str]] = {}
    for name, reading in comparison.readings.items():
        for note in reading.notes:
            if note not in comparison.readings[FIRST].notes:
                found.setdefault(note.replace(f" in {name}", " in \0"), []).append(name)
    told = []
    for note, names in found.items():
        who = ", ".join(names)
        text = note.replace("\0", who) if "\0" in note or len(names) == 1 else f"{note} ({who})"
        told.append((names[0] if len(names) == 1 else "several", text))
    return told


def _row(position: int | None, difference: Difference) -> str:
    theirs = difference.theirs
    rows = [_apart(position, difference)]
    rows += [f"{key} {told(getattr(theirs, key))}" for key in ("attention_factor", "softmax_factor")]
    rows.append(theirs.layout)
    if difference.framework == FIRST or difference.angle != 0:
        rows.append("no scaling" if theirs.scaling is None else scaling_of(theirs.scaling))
    return "; ".join(rows)


def _apart(position: int | None, difference: Difference) -> str:
    if difference.framework == FIRST:
        return "the reading that the others are compared with"
    if difference.angle is None:
        return "angles unknown" if position is None else "angles cannot be compared"
    if difference.angle == 0:
        return f"the same angles at position {position}"
    return f"angles up to {difference.angle:.4g} rad apart at position {position} (pair {difference.pair})"
