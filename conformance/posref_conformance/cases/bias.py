"""Cases for encodings that are added to the attention logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one, read_only, strided

DEFAULT = ("default",)
KEYS = np.arange(7)
SLOPES: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("bias-max", 12, {"bias_max": 16.0}),
    ("geometric", 12, {"rule": "geometric"}),
    ("scale", 71, {"scale": 0.125}),
    ("scale-inexact", 6, {"scale": 80**-0.5}),
    ("first-rank", 12, {"heads": (0, 3)}),
    ("last-rank", 12, {"heads": (6, 12)}),
)
HEADS = (1, 2, 3, 6, 8, 12, 16, 20, 40, 71, 112)  # powers of two, and what real models have between them


def _slopes(name: str, count: int, **options: Any) -> Case:
    return one("alibi_slopes", name, lambda i: Call((count,), dict(options)), dtypes=DEFAULT)


def _alibi(i: Inputs, q: Any, k: Any, *, heads: int = 3, **options: Any) -> Call:
    slopes = np.abs(i.data(heads)) + i.typed(0.01)
    return Call((slopes, np.array(q), np.array(k)), options)


def _alibi_again(i: Inputs) -> list[Call]:
    """A prompt, a decode step, other heads of the same shape, and the prompt again."""
    return [_alibi(i, KEYS, KEYS), _alibi(i, [7], np.arange(8)), _alibi(i, KEYS, KEYS), _alibi(i, KEYS + 4, KEYS)]


def _bucket(name: str, relative: Any, **options: Any) -> Case:
    return one("t5_bucket", name, lambda i: Call((i.typed(relative),), dict(options)), dtypes=("int64", "int32"))


def _t5(i: Inputs, q: Any, k: Any, *, buckets: int = 32, **options: Any) -> Call:
    return Call((i.data(buckets, 3), np.array(q), np.array(k)), options)


def _t5_again(i: Inputs) -> list[Call]:
    return [_t5(i, KEYS, KEYS), _t5(i, KEYS, KEYS), _t5(i, [6], KEYS), _t5(i, KEYS + 30, KEYS)]


def _future(i: Inputs) -> Call:
    """Other slopes for keys in the future, of another sign for one head."""
    return _alibi(i, [3, 0, 50], [2, 90, 2, -5], future_slopes=i.data(3))


def _aligned(name: str, *lengths: int, **options: Any) -> Case:
    return one("query_positions", name, lambda i: Call(lengths, dict(options)), dtypes=DEFAULT)


def _heads_first(i: Inputs) -> Call:
    return Call((i.data(3, 32), np.arange(40), np.arange(53)), {"layout": "heads_first"})


def _blocks(name: str, build: Any, size: int) -> Case:
    return one("long_t5_blocks", name, lambda i: Call((build(), size)), dtypes=DEFAULT)


def _padded() -> Any:
    """Three rows of 23 tokens: padded at the end, at the beginning, all through."""
    token = np.arange(23)
    return np.stack([token < 19, token >= 6, token < 0, token >= 0])


ALIBI = "alibi_bias"
T5 = "t5_bias"
ALL = np.arange(-300, 301)

CASES: tuple[Case, ...] = (
    *(_slopes(f"heads-{count}", count) for count in HEADS),
    one(ALIBI, "distance", lambda i: _alibi(i, KEYS, KEYS)),
    one(ALIBI, "signed", lambda i: _alibi(i, KEYS, KEYS, form="signed")),
    one(ALIBI, "key", lambda i: _alibi(i, KEYS, KEYS, form="key")),
    one(ALIBI, "decode", lambda i: _alibi(i, [6], KEYS)),
    one(ALIBI, "decode-signed", lambda i: _alibi(i, [6], KEYS, form="signed")),
    one(ALIBI, "decode-key", lambda i: _alibi(i, [6], KEYS, form="key")),
    one(ALIBI, "fewer-queries", lambda i: _alibi(i, [4, 5, 6], np.arange(11))),
    one(ALIBI, "more-queries", lambda i: _alibi(i, np.arange(11), [0, 1, 2])),
    one(ALIBI, "batch", lambda i: _alibi(i, [[5, 6], [2, 3]], [[0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 1, 2, 3]])),
    one(ALIBI, "one-batch-of-keys", lambda i: _alibi(i, [[5, 6], [2, 3]], KEYS)),
    one(ALIBI, "unsorted", lambda i: _alibi(i, [3, 0, 500], [2, 900, 2, -5])),
    one(ALIBI, "far", lambda i: _alibi(i, [100003], [0, 99999, 100002, 100003]), dtypes=("float64", "float32")),
    one(ALIBI, "beyond-float16", lambda i: _alibi(i, [2049, 2050], [0, 2047, 2049]), dtypes=("bfloat16", "float16")),
    one(ALIBI, "fractions", lambda i: _alibi(i, np.array([0.5, 2.25], "f"), np.array([0.0, 1.75], "f"))),
    one(ALIBI, "no-queries", lambda i: _alibi(i, np.zeros(0, int), KEYS)),
    one(ALIBI, "no-keys", lambda i: _alibi(i, KEYS, np.zeros(0, int))),
    one(ALIBI, "one-head", lambda i: _alibi(i, KEYS, KEYS, heads=1)),
    one(ALIBI, "read-only-strided", lambda i: Call((strided(np.abs(i.data(3))), read_only(KEYS), strided(KEYS)))),
    Case(ALIBI, "again", _alibi_again),
    *(_slopes(name, count, **options) for name, count, options in SLOPES),
    one(ALIBI, "past", lambda i: _alibi(i, KEYS, KEYS, form="past")),
    one(ALIBI, "sqrt", lambda i: _alibi(i, KEYS, KEYS, form="sqrt")),
    one(ALIBI, "key-last", lambda i: _alibi(i, [3, 4, 5, 6], KEYS, form="key_last")),
    one(ALIBI, "key-first", lambda i: _alibi(i, [3, 4, 5, 6], KEYS, form="key_first")),
    one(ALIBI, "key-last-batch", lambda i: _alibi(i, [[5], [2]], [[0, 1, 2, 3], [2, 0, 0, 1]], form="key_last")),
    one(ALIBI, "key-first-batch", lambda i: _alibi(i, [[5, 6], [2, 9]], KEYS, form="key_first")),
    one(
        ALIBI, "sqrt-fractions", lambda i: _alibi(i, np.array([0.5, 7.25], "f"), np.array([0.0, 1.5], "f"), form="sqrt")
    ),
    one(ALIBI, "past-no-queries", lambda i: _alibi(i, np.zeros(0, int), KEYS, form="past")),
    one(ALIBI, "key-last-no-keys", lambda i: _alibi(i, KEYS, np.zeros(0, int), form="key_last")),
    one(ALIBI, "future-slopes", _future),
    _aligned("decode", 1, 7),
    _aligned("prompt", 7, 7),
    _aligned("fewer-keys", 5, 3),
    _aligned("top-left", 2, 7, align="top_left"),
    _aligned("no-keys", 7, 0),
    _bucket("encoder", ALL),
    _bucket("decoder", ALL, bidirectional=False),
    _bucket("wide", np.arange(-900, 900, 7), num_buckets=320, max_distance=800),
    _bucket("few", np.arange(-20, 21), num_buckets=4, max_distance=8),
    _bucket("decoder-few", np.arange(-20, 21), bidirectional=False, num_buckets=2, max_distance=2),
    _bucket("not-a-power", np.arange(-100, 101), num_buckets=12, max_distance=50),
    _bucket("far", [-(2**30), -1000, 1000, 2**30]),
    _bucket("matrix", KEYS[None] - np.arange(5)[:, None]),
    _bucket("empty", np.zeros((3, 0))),
    one(T5, "encoder", lambda i: _t5(i, np.arange(40), np.arange(53))),
    one(T5, "decoder", lambda i: _t5(i, np.arange(40), np.arange(53), bidirectional=False)),
    one(T5, "decode", lambda i: _t5(i, [150], np.arange(151), bidirectional=False)),
    one(T5, "distance", lambda i: _t5(i, np.arange(0, 400, 9), KEYS, max_distance=300)),
    one(T5, "few-buckets", lambda i: _t5(i, KEYS, KEYS, buckets=6, max_distance=5)),
    one(T5, "batch", lambda i: _t5(i, [[5, 6], [2, 3]], [[0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 1, 2, 3]])),
    one(T5, "no-queries", lambda i: _t5(i, np.zeros(0, int), KEYS)),
    one(T5, "no-keys", lambda i: _t5(i, KEYS, np.zeros(0, int))),
    one(T5, "read-only-strided", lambda i: Call((read_only(i.data(32, 3)), strided(KEYS), read_only(KEYS)))),
    Case(T5, "again", _t5_again),
    _bucket("epsilon", [-152, -153, -154, 3], bidirectional=False, num_buckets=256, max_distance=185, rule="epsilon"),
    _bucket(
        "float32-sum",
        [-1696, -1697, -1698],
        bidirectional=False,
        num_buckets=320,
        max_distance=8192,
        rule="float32_sum",
    ),
    one(T5, "heads-first", _heads_first),
    one(T5, "scale", lambda i: _t5(i, KEYS, np.arange(11), scale=0.125)),
    one(T5, "scale-inexact", lambda i: _t5(i, KEYS, np.arange(11), scale=0.3)),
    one(
        T5,
        "epsilon",
        lambda i: _t5(i, [153], [0, 1, 2], buckets=256, bidirectional=False, max_distance=185, rule="epsilon"),
    ),
    _blocks("one-sequence", lambda: np.ones(37, bool), 16),
    _blocks("padded", _padded, 5),
    _blocks("too-short", lambda: np.ones((2, 3), bool), 4),
    _blocks("single", lambda: np.ones((1, 5), bool), 1),
    _blocks("empty", lambda: np.ones((2, 0), bool), 4),
)
