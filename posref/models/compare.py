"""``posref show --compare``: the readings of all frameworks side by side, and how far apart they are at the longest text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from posref.models import read_config
from posref.models.frameworks import FRAMEWORKS
from posref.models.records import ModelPositions, RopeEncoding
from posref.models.rows import scaling_of, title, told
from posref.models.show import Lines, refuse

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
    angle
        The largest difference of a pair's angle, in radians, or None where it cannot be told.
    pair
        The first pair that has it.
    attention_factor, softmax_factor, layout
        The framework's own.
    """

    encoding: int
    framework: str
    angle: float | None
    pair: int | None
    attention_factor: float | None
    softmax_factor: float
    layout: str


@dataclass(frozen=True)
class Comparison:
    """All readings of a file, and how far they are apart at ``position``, the last of the longest text; None: it is not told."""

    position: int | None
    readings: Mapping[str, ModelPositions]
    differences: tuple[Difference, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return {
            "model_type": self.readings[FIRST].model_type,
            "position": self.position,
            "readings": {name: reading.as_json() for name, reading in self.readings.items()},
            "differences": [vars(difference) for difference in self.differences],
        }


def compare_readings(path: str | os.PathLike[str] | Mapping[str, Any], *, seq_len: int | None = None) -> Comparison:
    """The readings of all frameworks; arguments and errors as in :func:`posref.models.read_config`."""
    readings = {name: read_config(path, framework=name, seq_len=seq_len) for name in FRAMEWORKS}
    ours = readings[FIRST].encodings
    lengths = [e.max_position_embeddings for e in ours if isinstance(e, RopeEncoding) and e.component == "text"]
    position = next((length - 1 for length in lengths if length), None)
    found: list[Difference] = []
    for index, encoding in enumerate(ours):
        if not isinstance(encoding, RopeEncoding) or encoding.component != "text":
            continue
        for name, reading in readings.items():
            other = _same(encoding, reading)
            if other is not None:
                found.append(_difference(index, name, encoding, other, position))
    return Comparison(position, readings, tuple(found))


def _same(encoding: RopeEncoding, reading: ModelPositions) -> RopeEncoding | None:
    """The encoding of the same part and layers in another reading."""
    for other in reading.encodings:
        if isinstance(other, RopeEncoding) and (other.part, other.layers) == (encoding.part, encoding.layers):
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
    return Difference(index, name, angle, pair, theirs.attention_factor, theirs.softmax_factor, theirs.layout)


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
        return refuse("show", path, problem.strerror or str(problem))
    except (ValueError, TypeError) as problem:
        return refuse("show", path, str(problem))
    if as_json:
        print(json.dumps(comparison.as_json(), indent=2, allow_nan=False))
    else:
        render(comparison, Console(highlight=False))
    return 0


def render(comparison: Comparison, console: Console) -> None:
    """Print a comparison, wrapped to the console's width."""
    line = Lines(console)
    first = comparison.readings[FIRST]
    line("no model_type" if first.model_type is None else f"model_type {first.model_type}", "bold")
    if not comparison.differences:
        line("no rotation of text to compare")
    for index in sorted({difference.encoding for difference in comparison.differences}):
        line(title(first.encodings[index]), "bold cyan")
        for difference in comparison.differences:
            if difference.encoding == index:
                line(_row(comparison, difference), label=difference.framework)
    for name, reading in comparison.readings.items():
        for note in reading.notes:
            if name == FIRST or note not in first.notes:
                line(note, label=name)


def _row(comparison: Comparison, difference: Difference) -> str:
    ours = comparison.readings[FIRST].encodings[difference.encoding]
    encoding = _same(ours, comparison.readings[difference.framework]) if isinstance(ours, RopeEncoding) else None
    scaling = None if encoding is None else encoding.scaling
    factors = f"attention_factor {told(difference.attention_factor)}, softmax_factor {told(difference.softmax_factor)}"
    how = "no scaling" if scaling is None else scaling_of(scaling)
    return f"{_apart(comparison.position, difference)}; {factors}; {difference.layout}; {how}"


def _apart(position: int | None, difference: Difference) -> str:
    if difference.framework == FIRST:
        return "the reading that the others are compared with"
    if difference.angle is None:
        return "angles unknown" if position is None else "angles cannot be compared"
    if difference.angle == 0:
        return f"the same angles at position {position}"
    return f"angles up to {difference.angle:.4g} rad apart at position {position} (pair {difference.pair})"
