"""Cases for the third step of rotary encodings, the rotation, and for all three steps at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref import DynamicNTKScaling, LinearScaling, Llama3Scaling, LongRopeScaling, YarnScaling
from posref_conformance.case import Call, Case, Inputs, one, read_only, strided, transposed
from posref_conformance.cases.rotary import LONG, SHORT

# (batch, heads, sequence, channels): distinct, so that no two axes can be taken for each other
SHAPE = (2, 3, 7, 10)


def _apply(i: Inputs, *, shape: tuple[int, ...] = SHAPE, pairs: int | None = None, **options: Any) -> Call:
    """Data with one table for all its leading axes."""
    x = i.data(*shape)
    cos, sin = i.table(*shape[-2:-1], shape[-1] // 2 if pairs is None else pairs)
    return Call((x, cos, sin), options)


def _wide_tables(i: Inputs, **options: Any) -> Call:
    x = i.data(*SHAPE)
    return Call((x, *i.circle(SHAPE[-2], 5, dtype="float32")), options)


def _out(i: Inputs, *, in_place: bool, **options: Any) -> Call:
    call = _apply(i, **options)
    out = call.args[0] if in_place else np.full_like(call.args[0], 7)
    return Call(call.args, {**call.kwargs, "out": out})


def _laid_out(i: Inputs, how: Any, **options: Any) -> Call:
    call = _apply(i, **options)
    return Call(tuple(how(a) for a in call.args), call.kwargs)


def _apply_twice(i: Inputs) -> list[Call]:
    return [_apply(i), _apply(i), _apply(i, layout="interleaved")]


def _decode_apply(i: Inputs) -> list[Call]:
    """One token at a time, each with the table's row of its own position."""
    cos, sin = i.circle(5, 4)
    x = i.data(2, 3, 5, 8)
    return [Call((x[:, :, t : t + 1], cos[t : t + 1], sin[t : t + 1])) for t in (0, 1, 4)]


def _rope(i: Inputs, positions: Any, *, shape: tuple[int, ...] = SHAPE, **options: Any) -> Call:
    return Call((i.data(*shape), np.array(positions)), options)


def _rope_out(i: Inputs, positions: Any, **options: Any) -> Call:
    call = _rope(i, positions, **options)
    return Call(call.args, {**call.kwargs, "out": np.full_like(call.args[0], 7)})


def _cube(i: Inputs) -> Call:
    """As many sequences as heads as tokens: whoever guesses an axis by its length is wrong here."""
    return _apply(i, shape=(3, 3, 3, 10))


def _steps(i: Inputs) -> list[Call]:
    """A prompt, then tokens one by one, then another prompt: an offset that is forgotten or kept shows."""
    x = i.data(1, 3, 12, 8)
    spans = ((0, 5), (5, 6), (6, 7), (7, 12), (0, 5))
    return [Call((x[:, :, a:b], np.arange(a, b))) for a, b in spans]


def _types(i: Inputs) -> list[Call]:
    """16 bits first, then the type under test: a table that is kept without its type shows."""
    positions = np.arange(7) + 2
    return [Call((i.data(*SHAPE, dtype="float16"), positions)), Call((i.data(*SHAPE), positions))]


def _bases(i: Inputs) -> list[Call]:
    return [_rope(i, np.arange(7)), _rope(i, np.arange(7), base=500000.0), _rope(i, np.arange(7))]


PER_ROW = np.array([[[3, 4, 5, 6, 7, 8, 9]], [[0, 0, 1, 2, 3, 4, 4]]])  # (batch, 1, sequence)
BACK: dict[str, Any] = {"layout": "interleaved", "output_layout": "half", "inverse": True}
EVERYTHING: dict[str, Any] = {
    **BACK,
    "dim": 6,
    "offset": 2,
    "base": 500000.0,
    "scaling": DynamicNTKScaling(2.0, 32),
    "seq_len": 57,
}
ROPE = "rope"
APPLY = "rope_apply"

CASES: tuple[Case, ...] = (
    one(APPLY, "half", _apply),
    one(APPLY, "interleaved", lambda i: _apply(i, layout="interleaved")),
    one(APPLY, "half-to-interleaved", lambda i: _apply(i, output_layout="interleaved")),
    one(APPLY, "interleaved-to-half", lambda i: _apply(i, layout="interleaved", output_layout="half")),
    one(APPLY, "inverse", lambda i: _apply(i, inverse=True)),
    one(APPLY, "inverse-interleaved", lambda i: _apply(i, layout="interleaved", inverse=True)),
    one(APPLY, "partial", lambda i: _apply(i, pairs=3)),
    one(APPLY, "partial-interleaved", lambda i: _apply(i, pairs=3, layout="interleaved")),
    one(APPLY, "tail", lambda i: _apply(i, pairs=3, offset=4)),
    one(APPLY, "tail-interleaved", lambda i: _apply(i, pairs=3, offset=4, layout="interleaved")),
    one(APPLY, "middle-to-half", lambda i: _apply(i, pairs=3, offset=2, layout="interleaved", output_layout="half")),
    one(APPLY, "middle-to-interleaved", lambda i: _apply(i, pairs=3, offset=2, output_layout="interleaved")),
    one(APPLY, "inverse-tail", lambda i: _apply(i, pairs=3, offset=4, inverse=True)),
    one(APPLY, "inverse-to-half", lambda i: _apply(i, layout="interleaved", output_layout="half", inverse=True)),
    one(APPLY, "odd-channels", lambda i: _apply(i, shape=(2, 5, 11), pairs=5)),
    one(APPLY, "one-pair", lambda i: _apply(i, shape=(3, 5, 2))),
    one(APPLY, "one-token", lambda i: _apply(i, shape=(3, 2, 1, 8))),
    one(APPLY, "no-tokens", lambda i: _apply(i, shape=(2, 3, 0, 8))),
    one(APPLY, "vector", lambda i: Call((i.data(6), *i.table(3)))),
    one(APPLY, "per-row-tables", lambda i: Call((i.data(*SHAPE), *i.table(2, 1, 7, 5)))),
    one(APPLY, "one-row-for-all", lambda i: Call((i.data(*SHAPE), *i.table(1, 5)))),
    one(APPLY, "full-tables", lambda i: Call((i.data(*SHAPE), *i.table(*SHAPE[:-1], 5)))),
    one(APPLY, "wide", lambda i: _apply(i, shape=(1, 2, 3, 256))),
    one(APPLY, "large-values", lambda i: Call((i.typed(30 * i.rng.normal(size=(2, 5, 8))), *i.circle(5, 4)))),
    one(APPLY, "float32-tables", _wide_tables, dtypes=("float16", "bfloat16")),
    one(
        APPLY,
        "float32-tables-interleaved",
        lambda i: _wide_tables(i, layout="interleaved"),
        dtypes=("float16", "bfloat16"),
    ),
    one(
        APPLY,
        "float32-tables-many",
        lambda i: Call((i.data(2, 3, 97, 128), *i.circle(97, 64, dtype="float32"))),
        dtypes=("float16", "bfloat16"),
        note="values enough that each precision profile errs beyond the bound of the next tighter one",
    ),
    one(APPLY, "strided", lambda i: _laid_out(i, strided)),
    one(APPLY, "transposed", lambda i: _laid_out(i, transposed, layout="interleaved")),
    one(APPLY, "read-only", lambda i: _laid_out(i, read_only)),
    one(APPLY, "out", lambda i: _out(i, in_place=False, pairs=3, offset=2)),
    one(APPLY, "out-interleaved", lambda i: _out(i, in_place=False, layout="interleaved")),
    one(APPLY, "in-place-partial", lambda i: _out(i, in_place=True, pairs=3, offset=2, inverse=True)),
    one(APPLY, "in-place", lambda i: _out(i, in_place=True)),
    one(APPLY, "in-place-interleaved", lambda i: _out(i, in_place=True, layout="interleaved")),
    one(APPLY, "in-place-to-half", lambda i: _out(i, in_place=True, layout="interleaved", output_layout="half")),
    one(APPLY, "out-inverse-to-half", lambda i: _out(i, in_place=False, **BACK, pairs=3, offset=2)),
    one(APPLY, "equal-lengths", _cube),
    Case(APPLY, "again", _apply_twice),
    Case(APPLY, "decode", _decode_apply),
    one(ROPE, "half", lambda i: _rope(i, np.arange(7))),
    one(ROPE, "interleaved", lambda i: _rope(i, np.arange(7), layout="interleaved")),
    one(ROPE, "interleaved-to-half", lambda i: _rope(i, np.arange(7), layout="interleaved", output_layout="half")),
    one(ROPE, "inverse", lambda i: _rope(i, np.arange(7), inverse=True)),
    one(ROPE, "partial", lambda i: _rope(i, np.arange(7), dim=6)),
    one(ROPE, "tail", lambda i: _rope(i, np.arange(7), dim=6, offset=4)),
    one(ROPE, "tail-interleaved", lambda i: _rope(i, np.arange(7), dim=6, offset=4, layout="interleaved")),
    one(ROPE, "rest-from-offset", lambda i: _rope(i, np.arange(7), offset=2)),
    one(ROPE, "base", lambda i: _rope(i, np.arange(7), base=500000.0)),
    one(ROPE, "unsorted", lambda i: _rope(i, [5, 0, 0, 257, 2049, 1, -4])),
    one(ROPE, "far", lambda i: _rope(i, 100003 + np.arange(7), shape=(1, 2, 7, 64))),
    one(ROPE, "fractions", lambda i: _rope(i, np.arange(7) / 4 + 0.125)),
    one(ROPE, "per-row", lambda i: _rope(i, PER_ROW)),
    one(ROPE, "per-row-interleaved", lambda i: _rope(i, PER_ROW, layout="interleaved")),
    one(ROPE, "one-position", lambda i: _rope(i, 12, shape=(2, 3, 4, 6))),
    one(ROPE, "one-token", lambda i: _rope(i, [[[4]], [[9]], [[0]]], shape=(3, 2, 1, 8))),
    one(ROPE, "no-tokens", lambda i: _rope(i, np.zeros(0, int), shape=(2, 3, 0, 8))),
    one(ROPE, "linear", lambda i: _rope(i, np.arange(7) + 50, scaling=LinearScaling(4.0))),
    one(ROPE, "dynamic-ntk", lambda i: _rope(i, np.arange(7) + 50, scaling=DynamicNTKScaling(2.0, 32), seq_len=57)),
    one(
        ROPE,
        "partial-yarn",
        lambda i: _rope(i, PER_ROW, shape=(2, 3, 7, 96), dim=64, scaling=YarnScaling(16.0, 4096)),
        dtypes=("float64", "float32"),
    ),
    one(ROPE, "yarn", lambda i: _rope(i, np.arange(7) + 50, shape=(2, 7, 64), scaling=YarnScaling(16.0, 4096))),
    one(
        ROPE,
        "inverse-yarn",
        lambda i: _rope(i, np.arange(7) + 50, shape=(2, 7, 64), scaling=YarnScaling(16.0, 4096), inverse=True),
        note="the transpose: the attention factor stays",
    ),
    one(
        ROPE,
        "llama3",
        lambda i: _rope(i, np.arange(7) + 50, shape=(2, 7, 64), base=5e5, scaling=Llama3Scaling(8.0, 8192, 1.0, 4.0)),
    ),
    one(
        ROPE,
        "longrope-long",
        lambda i: _rope(
            i, [4096], shape=(2, 1, 16), scaling=LongRopeScaling(SHORT, LONG, 4096, factor=32.0), seq_len=4097
        ),
    ),
    one(
        ROPE,
        "many",
        lambda i: _rope(i, np.arange(97), shape=(2, 3, 97, 128)),
        dtypes=("float16", "bfloat16"),
        note="values enough that each precision profile errs beyond the bound of the next tighter one",
    ),
    one(ROPE, "equal-lengths", lambda i: _rope(i, [4, 9, 2], shape=(3, 3, 3, 10))),
    one(ROPE, "strided", lambda i: Call((strided(i.data(*SHAPE)), strided(np.arange(7))))),
    one(ROPE, "read-only", lambda i: Call((read_only(i.data(*SHAPE)), read_only(np.arange(7))))),
    one(ROPE, "out", lambda i: Call((i.data(*SHAPE), np.arange(7)), {"out": np.zeros_like(i.data(*SHAPE))})),
    one(ROPE, "out-of-everything", lambda i: _rope_out(i, np.arange(7) + 50, **EVERYTHING), note="all options at once"),
    one(
        ROPE, "length-unused", lambda i: _rope(i, np.arange(7) + 50, seq_len=57), note="no scaling that would follow it"
    ),
    Case(ROPE, "steps", _steps),
    Case(ROPE, "bases", _bases),
    Case(ROPE, "types", _types),
)
