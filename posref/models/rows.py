"""The rows of an answer's summary: one function per kind of encoding."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from posref.models import shape
from posref.models.records import (
    AlibiEncoding,
    Axes,
    Bucket,
    DebertaEncoding,
    Encoding,
    LearnedEncoding,
    QueryScaleEncoding,
    RelativeEncoding,
    RopeEncoding,
    SinusoidalEncoding,
    T5Encoding,
)
from posref.rotary.scaling import Scaling

FIRST = 4  # of a long list, before its last one
GLUE = "\x1f"  # a space at which no line is broken

FORMS = {"distance": "-m |q - k|", "signed": "-m (q - k)", "key": "m k", "sqrt": "-m sqrt(q - k)"}  # of ALiBi
QUIET = ("ramp", "mscale_rule", "attn_factor", "extrapolation_factor", "reversed_range", "form", "mixed_b", "rounding")

Rows = Iterable[tuple[str, str]]


def title(encoding: Encoding) -> str:
    """What it is, and where."""
    at_the_input = isinstance(encoding, (LearnedEncoding, SinusoidalEncoding))
    layers = "layers unknown" if encoding.layers is None else shape.runs(encoding.layers)
    layers = "" if at_the_input else layers
    where = [encoding.component, encoding.part, getattr(encoding, "stack", None), layers]
    return f"{encoding.encoding}: {', '.join(filter(None, where))}"


def _rope(encoding: RopeEncoding) -> Rows:
    head = f"{told(encoding.head_dim)}, rotary_dim {told(encoding.rotary_dim)}"
    yield "head_dim", head + (f" from channel {encoding.offset} on" if encoding.offset else "")
    out = "" if encoding.output_layout == encoding.layout else f", written as {encoding.output_layout}"
    yield "layout", encoding.layout + out + (", by minus the angle" if encoding.inverse else "")
    yield "base", f"{encoding.base:.15g}"
    yield "scaling", "none" if encoding.scaling is None else scaling_of(encoding.scaling)
    if encoding.seq_len is not None:
        yield "seq_len", str(encoding.seq_len)
    yield "factors", _list(f"{key} {told(getattr(encoding, key))}" for key in ("attention_factor", "softmax_factor"))
    yield "inv_freq", _some(encoding.inv_freq)
    if encoding.axes is not None:
        yield "axes", _axes(encoding.axes)


def _axes(axes: Axes) -> str:
    """Their names with the pairs that they have, and the rule."""
    unit = "channels" if axes.rule == "channels" else "pairs"
    counts = (f"{name} {axes.map.count(i)} {unit}" for i, name in enumerate(axes.names))
    positions = "" if axes.positions is None else f"; positions {axes.positions}"
    return f"{_list(counts)}, {axes.rule}{positions}"


def _query_scale(encoding: QueryScaleEncoding) -> Rows:
    position = f"p + {encoding.shift}" if encoding.shift else "p"
    if encoding.rule == "log-n":
        yield "queries", f"times max(1, ln({position}) / ln({encoding.length}))"
    else:
        yield "queries", f"times 1 + {told(encoding.beta)} ln(1 + floor(({position}) / {encoding.length}))"


def _deberta(encoding: DebertaEncoding) -> Rows:
    buckets = "every distance" if encoding.position_buckets is None else f"{encoding.position_buckets} buckets a side"
    yield "table", f"{told(encoding.rows)} rows x {told(encoding.dim)}"
    yield "distances", f"q - k up to {told(encoding.max_relative_positions)}, {buckets}"
    yield "terms", f"{_list(encoding.terms)}; share_att_key {told(encoding.share_att_key)}"


def _alibi(encoding: AlibiEncoding) -> Rows:
    yield "num_heads", told(encoding.num_heads)
    yield "slopes", _some(encoding.slopes)
    yield "form", f"{FORMS[encoding.form]} ({encoding.form})"


def _t5(encoding: T5Encoding) -> Rows:
    direction = "both directions" if encoding.bidirectional else "keys in the past"
    yield "table", f"{encoding.num_buckets} buckets x {told(encoding.num_heads)} heads"
    yield "distances", f"up to {encoding.max_distance}, {direction}"
    yield "tables", "one for all layers" if encoding.shared else "one per layer"
    yield "buckets", "of k - q: " + _list(f"{bucket.bucket}: {_range(bucket)}" for bucket in encoding.buckets)


def _relative(encoding: RelativeEncoding) -> Rows:
    yield "num_heads", told(encoding.num_heads)
    if encoding.rows is not None:
        more = ", three of them for the class token" if encoding.class_token else ""
        yield "table", f"{encoding.rows} rows x {told(encoding.dim)}{more}"
    if encoding.layout is not None:
        yield "sinusoids", f"of the offset, {told(encoding.dim)} channels, {encoding.layout}"
    if encoding.window is not None:
        measure = encoding.pretrained_window
        more = "" if measure is None else f", offsets by those of {measure[0]} x {measure[1]}"
        yield "window", f"{encoding.window[0]} x {encoding.window[1]} patches{more}"
    if encoding.clip is not None:
        sign = "k - q" if encoding.offset == "key_minus_query" else "q - k"
        yield "distances", f"{sign} from {encoding.clip[0]} to {encoding.clip[1]}"
    if encoding.layout is None:
        yield "tables", "one for all layers" if encoding.shared else "one per layer"


def _learned(encoding: LearnedEncoding) -> Rows:
    yield "table", f"{told(encoding.rows)} rows x {told(encoding.dim)}"
    if encoding.grid is None:
        yield "start", f"position 0 is row {encoding.offset}"
        return
    resampled = "" if encoding.resampling is None else f", {encoding.resampling} to other grids"
    yield "grid", f"{encoding.grid[0]} x {encoding.grid[1]} patches from row {encoding.offset} on{resampled}"


def _sinusoidal(encoding: SinusoidalEncoding) -> Rows:
    last = "with endpoint" if encoding.endpoint else "without endpoint"
    yield "table", f"{told(encoding.rows)} rows x {told(encoding.dim)}"
    yield "base", f"{encoding.base:g}, {last}"
    yield "layout", f"{encoding.layout}, {encoding.order}"
    yield "start", f"position 0 is row {encoding.offset}, the sinusoids of {encoding.offset}"


ROWS: dict[type[Encoding], Callable[..., Rows]] = {
    RopeEncoding: _rope,
    AlibiEncoding: _alibi,
    T5Encoding: _t5,
    LearnedEncoding: _learned,
    SinusoidalEncoding: _sinusoidal,
    QueryScaleEncoding: _query_scale,
    RelativeEncoding: _relative,
    DebertaEncoding: _deberta,
}


def scaling_of(scaling: Scaling) -> str:
    """A scaling with its parameters; those that no key of a config sets, only where they are not the default."""
    told_by_keys = (field for field in dataclasses.fields(scaling) if field.name not in QUIET)
    others = (field for field in dataclasses.fields(scaling) if field.name in QUIET)
    shown = (*told_by_keys, *(field for field in others if getattr(scaling, field.name) != field.default))
    given = ((field.name, getattr(scaling, field.name)) for field in shown)
    fields = (f"{key} {_some(v) if isinstance(v, tuple) else told(v)}" for key, v in given if v is not None)
    return f"{type(scaling).__name__}, {_list(fields)}"


def told(value: object) -> str:
    """A value in words."""
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
