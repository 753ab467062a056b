"""Cases for remapped distances and scores at them, for xPos, FoPE, PoPE, packed positions, permuted weights, linear attention."""

from __future__ import annotations

from typing import Any

import numpy as np

import posref
from posref_conformance.case import Call, Case, Inputs, one, read_only, strided, transposed

WHOLE, EITHER = ("int64",), ("int64", "int32")
FLOATING = ("float64", "float32")
LONG = [0, 1, 5, 7, 8, 13, 20, 31, 1000, 2**24 + 1]  # lengths of several windows and chunks
KEYS = [0, 1, 2, 5, 6, 7, 12, 13, 23, 999, 2**24 - 6]


def _map(
    function: str, name: str, q: Any, k: Any, *sizes: int, dtypes: tuple[str, ...] = WHOLE, **options: Any
) -> Case:
    return one(function, name, lambda i: Call((i.typed(q), i.typed(k), *sizes), dict(options)), dtypes=dtypes)


def _scores(
    i: Inputs,
    distances: Any,
    *,
    leading: tuple[int, ...] = (),
    q: int = 3,
    channels: int = 8,
    pairs: int = 4,
    **options: Any,
) -> Call:
    w = posref.rope_inv_freq(2 * pairs).astype(np.float32 if i.dtype != "float64" else np.float64)
    return Call((i.data(*leading, q, channels), i.data(*leading, 5, channels), np.array(distances), w), options)


PLAIN = np.arange(3)[:, None] + 2 - np.arange(5)
SELF_EXTEND = posref.self_extend_distance(np.arange(3) + 18, [0, 7, 12, 15, 20], 3, 7)


def _xpos(i: Inputs, positions: Any, dim: int = 8, **options: Any) -> Call:
    return Call((i.typed(positions), dim), options)


def _fope(i: Inputs, positions: Any, *, heads: int | None = 2, kept: int = 3, columns: int = 3, **options: Any) -> Call:
    shape = (kept, columns) if heads is None else (heads, kept, columns)
    w = posref.rope_inv_freq(2 * kept).astype(np.float32 if i.dtype != "float64" else np.float64)
    return Call((np.array(positions), w, i.data(*shape), i.data(*shape), 5), options)


def _pope(i: Inputs, positions: Any, *, shape: tuple[int, ...] = (2, 3, 5, 7), **options: Any) -> Call:
    return Call((i.data(*shape), np.array(positions)), options)


def _pope_key(i: Inputs) -> Call:
    """A bias for each head and channel, some of it beyond its bounds."""
    call = _pope(i, np.arange(5))
    return Call(call.args, {"bias": (4 * i.rng.normal(size=(3, 1, 7)) - 3).astype(call.args[0].dtype)})


def _weight(i: Inputs, heads: int, *, head_dim: int = 6, columns: int = 5, **options: Any) -> Call:
    return Call((i.data(heads * head_dim, columns), heads), options)


def _linear(
    i: Inputs, *, leading: tuple[int, ...] = (2,), q: int = 3, k: int = 5, rotated: bool = True, **options: Any
) -> Call:
    args = i.data(*leading, q, 8), i.data(*leading, k, 8), i.data(*leading, k, 3)
    if rotated:
        w = posref.rope_inv_freq(6).astype(np.float32 if i.dtype != "float64" else np.float64)
        options |= {"q_positions": np.arange(q) + 2, "k_positions": np.arange(k), "inv_freq": w}
    return Call(args, options)


def _linear_again(i: Inputs) -> list[Call]:
    return [_linear(i), _linear(i), _linear(i, q=1), _linear(i, rotated=False)]


def _packed_again(i: Inputs) -> list[Call]:
    """As many tokens in as many sequences, which are cut elsewhere."""
    return [Call((i.typed(cuts),)) for cuts in ([0, 3, 4, 11], [0, 2, 9, 11], [0, 3, 4, 11])]


REROPE, SELF, DUAL = "rerope_distance", "self_extend_distance", "dual_chunk_distance"
SCORES, XPOS, FOPE, POPE = "rope_scores", "xpos_scale", "fope_cos_sin", "pope_apply"
WEIGHT, PACKED, LINEAR = "rope_permute_weight", "cu_seqlens_positions", "linear_attention"

CASES: tuple[Case, ...] = (
    _map(REROPE, "rerope", LONG, KEYS, 8, dtypes=EITHER),
    _map(REROPE, "leaky", LONG, KEYS, 8, dtypes=EITHER, factor=4),
    _map(REROPE, "leaky-fraction", LONG, KEYS, 5, factor=2.7),
    _map(REROPE, "batch", [[20, 21], [3, 90]], [[0, 1, 2], [50, 60, 88]], 7, factor=3.0),
    _map(REROPE, "shared-keys", [[20, 21], [3, 90]], [0, 1, 2], 7),
    _map(REROPE, "empty", np.zeros(0), [0, 1], 2),
    _map(SELF, "self-extend", LONG, KEYS, 4, 8, dtypes=EITHER),
    _map(SELF, "fraction", LONG, KEYS, 3, 8),
    _map(SELF, "floor", LONG, KEYS, 3, 8, shift="floor"),
    _map(SELF, "no-groups", LONG, KEYS, 1, 4),
    _map(SELF, "batch", [[20, 21], [3, 90]], [[0, 1, 2], [50, 60, 88]], 5, 11),
    _map(DUAL, "dual-chunk", LONG, KEYS, 8, 2, dtypes=EITHER),
    _map(DUAL, "no-local", LONG, KEYS, 7, 0),
    _map(DUAL, "large-local", LONG, KEYS, 9, 6),
    _map(DUAL, "critical", LONG, KEYS, 8, 2, critical=True),
    _map(DUAL, "batch", [[20, 21], [3, 90]], [[0, 1, 2], [50, 60, 88]], 16, 5),
    one(SCORES, "plain-distances", lambda i: _scores(i, PLAIN)),
    one(SCORES, "interleaved", lambda i: _scores(i, PLAIN, layout="interleaved")),
    one(SCORES, "partial", lambda i: _scores(i, PLAIN, pairs=2)),
    one(SCORES, "fractions", lambda i: _scores(i, SELF_EXTEND)),
    one(SCORES, "heads", lambda i: _scores(i, PLAIN, leading=(2, 3))),
    one(SCORES, "distances-per-batch", lambda i: _scores(i, np.stack([PLAIN, PLAIN + 100])[:, None], leading=(2, 3))),
    one(SCORES, "one-distance", lambda i: _scores(i, 9)),
    one(SCORES, "far", lambda i: _scores(i, PLAIN + 100003)),
    one(SCORES, "no-queries", lambda i: _scores(i, np.zeros((0, 5), int), q=0)),
    one(XPOS, "floor", lambda i: _xpos(i, np.arange(9), length=9), dtypes=WHOLE),
    one(XPOS, "ceil", lambda i: _xpos(i, np.arange(9), length=9, centre="ceil"), dtypes=EITHER),
    one(XPOS, "at-a-position", lambda i: _xpos(i, [0, 5, 511, 4095, -300], centre=100), dtypes=WHOLE),
    one(XPOS, "scale-base", lambda i: _xpos(i, [[0, 1], [2, 700]], 6, centre=0.5, scale_base=64.0), dtypes=WHOLE),
    one(XPOS, "fractions", lambda i: _xpos(i, [0.5, -12.25], 64, centre=0.0), dtypes=FLOATING),
    one(XPOS, "empty", lambda i: _xpos(i, np.zeros((2, 0)), length=4), dtypes=WHOLE),
    one(FOPE, "heads", lambda i: _fope(i, np.arange(7) * 3)),
    one(FOPE, "shared", lambda i: _fope(i, [[0, 5], [9, 4095]], heads=None)),
    one(FOPE, "fewer-columns", lambda i: _fope(i, np.arange(7), columns=2)),
    one(FOPE, "padded-with-zero", lambda i: _fope(i, np.arange(7), pad_sin=0.0)),
    one(FOPE, "batch", lambda i: _fope(i, [[0, 5, 2], [9, 4095, 1]])),
    one(POPE, "query", lambda i: _pope(i, np.arange(5))),
    one(POPE, "key", _pope_key),
    one(POPE, "base", lambda i: _pope(i, [5, 0, 257, 2049, 1], base=500000.0)),
    one(POPE, "per-row", lambda i: _pope(i, np.arange(10).reshape(2, 1, 5))),
    one(POPE, "one-token", lambda i: _pope(i, [4095], shape=(2, 1, 4))),
    one(POPE, "no-tokens", lambda i: _pope(i, np.zeros(0, int), shape=(2, 0, 4))),
    one(WEIGHT, "to-half", lambda i: _weight(i, 3)),
    one(WEIGHT, "to-interleaved", lambda i: _weight(i, 3, to="interleaved")),
    one(WEIGHT, "one-head", lambda i: _weight(i, 1, head_dim=10)),
    one(WEIGHT, "partial", lambda i: _weight(i, 2, head_dim=9, rotary_dim=6)),
    one(WEIGHT, "tail", lambda i: _weight(i, 2, head_dim=10, offset=4, to="interleaved")),
    one(WEIGHT, "tail-of-some", lambda i: _weight(i, 2, head_dim=11, offset=3, rotary_dim=6)),
    one(WEIGHT, "bias", lambda i: Call((i.data(12), 2))),
    one(WEIGHT, "strided", lambda i: Call((strided(i.data(12, 3)), 2))),
    one(WEIGHT, "read-only-transposed", lambda i: Call((read_only(transposed(i.data(12, 3))), 2))),
    one(PACKED, "packed", lambda i: Call((i.typed([0, 3, 4, 11]),)), dtypes=EITHER),
    one(PACKED, "empty-sequences", lambda i: Call((i.typed([0, 0, 3, 3, 3, 5, 5]),)), dtypes=EITHER),
    one(PACKED, "starts", lambda i: Call((i.typed([0, 3, 3, 4, 11]),), {"starts": i.typed([0, 7, 100, -2])}), dtypes=EITHER),
    one(PACKED, "one-sequence", lambda i: Call((i.typed([0, 6]),)), dtypes=WHOLE),
    one(PACKED, "no-tokens", lambda i: Call((i.typed([0, 0]),)), dtypes=WHOLE),
    one(PACKED, "no-sequences", lambda i: Call((i.typed([0]),)), dtypes=WHOLE),
    Case(PACKED, "again", _packed_again, dtypes=WHOLE),
    one(LINEAR, "rotated", lambda i: _linear(i)),
    one(LINEAR, "plain", lambda i: _linear(i, rotated=False)),
    one(LINEAR, "interleaved", lambda i: _linear(i, layout="interleaved")),
    one(LINEAR, "causal", lambda i: _linear(i, q=5, mask=np.tri(5, dtype=bool))),
    one(LINEAR, "a-row-that-may-look-nowhere", lambda i: _linear(i, mask=np.array([[True] * 5, [False] * 5, [True] * 5]))),
    one(
        LINEAR,
        "features",
        lambda i: Call((np.abs(i.data(3, 8)), np.abs(i.data(5, 8)), i.data(5, 2)), {"feature": "identity"}),
    ),
    one(LINEAR, "no-keys", lambda i: _linear(i, k=0)),
    one(LINEAR, "heads", lambda i: _linear(i, leading=(2, 3))),
    Case(LINEAR, "again", _linear_again),
)  # fmt: skip
