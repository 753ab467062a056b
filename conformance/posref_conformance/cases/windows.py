"""Cases for biases of windows: indices, look-ups, logarithmic offsets and the small networks over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one, read_only, strided, transposed

DEFAULT = ("default",)
FLOATING = ("float64", "float32")
INDEX = np.array([[4, 0, 2], [-1, 10, 2]])


def _index(name: str, *sizes: int, **options: Any) -> Case:
    return one("relative_position_index", name, lambda i: Call((sizes,), dict(options)), dtypes=DEFAULT)


def _offset(name: str, offsets: Any, dtypes: tuple[str, ...] = ("int64", "int32"), **options: Any) -> Case:
    return one("log_offset", name, lambda i: Call((i.typed(offsets),), dict(options)), dtypes=dtypes)


def _per_axis(i: Inputs) -> Call:
    return Call((WINDOW.copy(),), {"extent": np.array([[3], [7]])})


def _lookup(i: Inputs, index: Any, rows: int = 11, **options: Any) -> Call:
    return Call((i.data(rows, 3), np.array(index)), options)


def _lookup_again(i: Inputs) -> list[Call]:
    return [_lookup(i, INDEX), _lookup(i, INDEX), _lookup(i, INDEX[::-1]), _lookup(i, INDEX)]


def _mlp(i: Inputs, *leading: int, features: int = 2, hidden: int = 7, heads: int = 3, **options: Any) -> Call:
    arrays = i.data(*leading, features), i.data(hidden, features), i.data(hidden), i.data(heads, hidden)
    return Call(arrays, options)


def _with_bias(i: Inputs, **options: Any) -> Call:
    call = _mlp(i, 5, 4, features=1)
    return Call(call.args, {"b2": i.data(3)} | options)


def _transposed(i: Inputs) -> Call:
    return Call((transposed(i.data(6, 2)), transposed(i.data(7, 2)), i.data(7), i.data(3, 7)))


WINDOW = np.stack([np.arange(-4, 5), np.arange(-4, 5)[::-1]])
INDEXED, MLP, SCALE = "indexed_bias", "position_mlp", "cosine_scale"

CASES: tuple[Case, ...] = (
    _index("swin", 7, 7),
    _index("not-square", 2, 5),
    _index("beit", 3, 4, class_token=True),
    _index("maxvit", 3, 5, offset="key_minus_query"),
    _index("levit", 3, 4, offset="absolute"),
    _index("levit-subsampling", 5, 4, offset="absolute", stride=2),
    _index("short-reach", 4, 3, reach=(1, 2)),
    _index("long-reach", 2, 3, reach=(4, 2), offset="key_minus_query"),
    _index("short-reach-with-class", 3, 2, offset="absolute", reach=(1, 1), class_token=True),
    _index("video", 2, 3, 4),
    _index("one-axis", 6),
    _index("one-cell-with-class", 1, 1, class_token=True),
    _index("empty", 3, 0),
    one(INDEXED, "rows", lambda i: _lookup(i, INDEX)),
    one(INDEXED, "heads-first", lambda i: Call((i.data(3, 11), INDEX.copy()), {"layout": "heads_first"})),
    one(INDEXED, "batch", lambda i: _lookup(i, np.stack([INDEX, INDEX[::-1]]))),
    one(INDEXED, "int32", lambda i: _lookup(i, INDEX.astype(np.int32))),
    one(INDEXED, "one-row", lambda i: _lookup(i, [[0, -1], [0, 0]], rows=1)),
    one(INDEXED, "no-queries", lambda i: _lookup(i, np.zeros((0, 3), int))),
    one(INDEXED, "read-only-strided", lambda i: Call((read_only(i.data(11, 3)), strided(INDEX)))),
    Case(INDEXED, "again", _lookup_again),
    _offset("paper", WINDOW),
    _offset("far", [-(2**30), -1000, 0, 1, 2**30]),
    _offset("fractions", [-2.5, 0.0, 0.125, 100.25], dtypes=FLOATING),
    _offset("extent", WINDOW, extent=7),
    _offset("fractional-extent", WINDOW, extent=2.5),
    one("log_offset", "extent-per-axis", _per_axis, dtypes=("int64",)),
    _offset("scalar", -5),
    _offset("empty", np.zeros((2, 0))),
    one("log_offset", "read-only-strided", lambda i: Call((read_only(strided(np.arange(5))),)), dtypes=("int64",)),
    one(SCALE, "heads", lambda i: Call((i.typed([[0.0], [2.25], [-1.5], [4.5], [4.75], [100.0]]),))),
    one(SCALE, "largest", lambda i: Call((i.typed([-3.0, 0.5, 1.0, 1.5]),), {"largest": 3.0})),
    one(SCALE, "empty", lambda i: Call((i.data(2, 0),))),
    one(SCALE, "read-only-strided", lambda i: Call((read_only(strided(i.data(5))),))),
    one(MLP, "relu", lambda i: _mlp(i, 13)),
    one(MLP, "silu", lambda i: _mlp(i, 13, activation="silu")),
    one(MLP, "identity", lambda i: _mlp(i, 13, activation="identity")),
    one(MLP, "swin-v2", lambda i: _mlp(i, 13, hidden=64, ceiling=16.0)),
    one(MLP, "fire", _with_bias),
    one(MLP, "all-options", lambda i: _with_bias(i, activation="silu", ceiling=2.0)),
    one(MLP, "layer-norm", lambda i: _mlp(i, 13, norm_weight=i.data(7))),
    one(MLP, "crossformer", lambda i: _mlp(i, 13, norm_weight=i.data(7), norm_bias=i.data(7), norm_eps=4.0)),
    one(MLP, "one-of-each", lambda i: _mlp(i, features=1, hidden=1, heads=1, activation="silu")),
    one(MLP, "no-pairs", lambda i: _mlp(i, 0, 4)),
    one(MLP, "transposed", _transposed),
)
