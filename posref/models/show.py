"""``posref show CONFIG.json``: what a config means for positions, for a terminal or as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.text import Text

from posref.models import read_config
from posref.models.records import (
    AlibiEncoding,
    Bucket,
    Encoding,
    LearnedEncoding,
    ModelPositions,
    RopeEncoding,
    SinusoidalEncoding,
    T5Encoding,
)
from posref.models.scalings import Stretch

FIRST = 4  # of a long list, before its last one
LABELS = 10  # columns for the labels
GLUE = "\x1f"  # a space at which no line is broken


def show(path: str | os.PathLike[str], *, as_json: bool = False, seq_len: int | None = None) -> int:
    """Print what a config means for positions.

    Parameters
    ----------
    path
        A ``config.json``.
    as_json
        Everything, as JSON; else a summary for people.
    seq_len
        As in :func:`posref.models.read_config`.

    Returns
    -------
    int
        Exit status: 0 with an answer, be it that the model is not known yet; 2 without one, with one line on stderr.
    """
    try:
        answer = read_config(path, seq_len=seq_len)
        text = json.dumps(answer.as_json(), indent=2, allow_nan=False) if as_json else ""
    except OSError as problem:
        return _refuse(path, problem.strerror or str(problem))
    except (ValueError, TypeError) as problem:
        return _refuse(path, str(problem))
    if as_json:
        print(text)
    else:
        render(answer, Console(highlight=False))
    return 0


def render(answer: ModelPositions, console: Console) -> None:
    """Print an answer, wrapped to the console's width."""

    def line(text: str, style: str = "", label: str = "", wrap: bool = True) -> None:
        start = f"  {label:<{LABELS}}" if label else ""
        wrapped = textwrap.fill(
            _printable(text, console.encoding),
            width=max(console.width, len(start) + 20) if wrap else sys.maxsize,
            initial_indent=start,
            subsequent_indent=" " * len(start),
            break_on_hyphens=False,
        )
        styled = Text("\n".join(part.rstrip() for part in wrapped.replace(GLUE, " ").split("\n")), style=style)
        styled.stylize("dim", 0, len(start))
        console.print(styled, soft_wrap=True)  # it is wrapped already

    if answer.encodings:
        line(f"model_type {answer.model_type}", "bold")
    for encoding in answer.encodings:
        line(_title(encoding), "bold cyan")
        for label, value in _ROWS[type(encoding)](encoding):
            line(value, label=label)
    for note in answer.notes:
        line(note, wrap=bool(answer.encodings))


def _refuse(path: str | os.PathLike[str], problem: str) -> int:
    name = os.fsdecode(path)
    line = f"posref show: {name if name.isprintable() else ascii(name)}: {problem}"
    print(_printable(line, sys.stderr.encoding), file=sys.stderr)
    return 2


def _printable(line: str, encoding: str | None) -> str:
    """The line on one line, in characters that a stream of this encoding can take."""
    encoding = encoding or "utf-8"
    return " ".join(line.splitlines()).encode(encoding, "backslashreplace").decode(encoding)


def _title(encoding: Encoding) -> str:
    layers = None if isinstance(encoding, (LearnedEncoding, SinusoidalEncoding)) else _layers(encoding.layers)
    where = [encoding.component, encoding.part, getattr(encoding, "stack", None), layers]
    return f"{encoding.encoding}: {', '.join(filter(None, where))}"


def _rope(encoding: RopeEncoding) -> Iterable[tuple[str, str]]:
    head = f"{_told(encoding.head_dim)}, rotary_dim {_told(encoding.rotary_dim)}"
    yield "head_dim", head + (f" from channel {encoding.offset} on" if encoding.offset else "")
    out = "" if encoding.output_layout == encoding.layout else f", written as {encoding.output_layout}"
    yield "layout", encoding.layout + out
    yield "base", f"{encoding.base:.15g}"
    yield "scaling", "none" if encoding.scaling is None else _scaling(encoding.scaling)
    if encoding.seq_len is not None:
        yield "seq_len", str(encoding.seq_len)
    yield "factors", _list(f"{key} {_told(getattr(encoding, key))}" for key in ("attention_factor", "softmax_factor"))
    yield "inv_freq", _some(encoding.inv_freq)


def _alibi(encoding: AlibiEncoding) -> Iterable[tuple[str, str]]:
    yield "num_heads", _told(encoding.num_heads)
    yield "slopes", _some(encoding.slopes)
    yield (
        "form",
        {"distance": "-m |q - k|", "signed": "-m (q - k)", "key": "m k"}[encoding.form] + f" ({encoding.form})",
    )


def _t5(encoding: T5Encoding) -> Iterable[tuple[str, str]]:
    direction = "both directions" if encoding.bidirectional else "keys in the past"
    yield "table", f"{encoding.num_buckets} buckets x {_told(encoding.num_heads)} heads"
    yield "distances", f"up to {encoding.max_distance}, {direction}"
    yield "buckets", "of k - q: " + _list(f"{bucket.bucket}: {_range(bucket)}" for bucket in encoding.buckets)


def _learned(encoding: LearnedEncoding) -> Iterable[tuple[str, str]]:
    yield "table", f"{_told(encoding.rows)} rows x {_told(encoding.dim)}"
    yield "start", f"position 0 is row {encoding.offset}"


def _sinusoidal(encoding: SinusoidalEncoding) -> Iterable[tuple[str, str]]:
    last = "with endpoint" if encoding.endpoint else "without endpoint"
    yield "table", f"{_told(encoding.rows)} rows x {_told(encoding.dim)}"
    yield "base", f"{encoding.base:g}, {last}"
    yield "layout", f"{encoding.layout}, {encoding.order}"
    yield "start", f"position 0 is row {encoding.offset}, the sinusoids of {encoding.offset}"


_ROWS: dict[type[Encoding], Callable[..., Iterable[tuple[str, str]]]] = {
    RopeEncoding: _rope,
    AlibiEncoding: _alibi,
    T5Encoding: _t5,
    LearnedEncoding: _learned,
    SinusoidalEncoding: _sinusoidal,
}


def _scaling(scaling: Stretch) -> str:
    given = ((field.name, getattr(scaling, field.name)) for field in dataclasses.fields(scaling))
    fields = (f"{key} {_some(v) if isinstance(v, tuple) else _told(v)}" for key, v in given if v is not None)
    return f"{type(scaling).__name__}, {_list(fields)}"


def _told(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return f"{value}".lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _some(values: Sequence[float] | None) -> str:
    """The first ones and the last one of a list."""
    if values is None:
        return "unknown"
    numbers = [f"{value:.7g}" for value in values]
    if len(numbers) <= FIRST + 2:
        return ", ".join(numbers)
    return f"{', '.join(numbers[:FIRST])}, .. {numbers[-1]} ({len(numbers)})"


def _list(items: Iterable[str]) -> str:
    return ", ".join(item if len(item) > 40 else item.replace(" ", GLUE) for item in items)


def _range(bucket: Bucket) -> str:
    if bucket.first is None:
        return f"<= {bucket.last}"
    if bucket.last is None:
        return f">= {bucket.first}"
    return f"{bucket.first}" if bucket.first == bucket.last else f"{bucket.first} to {bucket.last}"


def _layers(layers: tuple[int, ...] | None) -> str:
    """Runs of layer indices: 0-3, 5."""
    if layers is None:
        return "layers unknown"
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], layer]
        else:
            runs.append([layer])
    return f"layer{'s' * (len(layers) != 1)} {', '.join('-'.join(map(str, run)) for run in runs)}"
