"""Cases for encodings that are added to the attention logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one, read_only, strided

DEFAULT = ("default",)
KEYS = np.arange(7)
HEADS = (1, 2, 3, 6, 8, 12, 16, 20, 40, 71, 112)  # powers of two, and what real models have between them


def _slopes(heads: int) -> Case:
    return one("alibi_slopes", f"heads-{heads}", lambda i: Call((heads,)), dtypes=DEFAULT)


def _alibi(i: Inputs, q: Any, k: Any, *, heads: int = 3, **options: Any) -> Call:
    slopes = np.abs(i.data(heads)) + i.typed(0.01)
    return Call((slopes, np.asarray(q), np.asarray(k)), options)


def _alibi_again(i: Inputs) -> list[Call]:
    """A prompt, a decode step, other heads of the same shape, and the prompt again."""
    return [_alibi(i, KEYS, KEYS), _alibi(i, [7], np.arange(8)), _alibi(i, KEYS, KEYS), _alibi(i, KEYS + 4, KEYS)]


def _bucket(name: str, relative: Any, **options: Any) -> Case:
    return one("t5_bucket", name, lambda i: Call((i.typed(relative),), dict(options)), dtypes=("int64", "int32"))


def _t5(i: Inputs, q: Any, k: Any, *, buckets: int = 32, **options: Any) -> Call:
    return Call((i.data(buckets, 3), np.asarray(q), np.asarray(k)), options)


def _t5_again(i: Inputs) -> list[Call]:
    return [_t5(i, KEYS, KEYS), _t5(i, KEYS, KEYS), _t5(i, [6], KEYS), _t5(i, KEYS + 30, KEYS)]


ALIBI = "alibi_bias"
T5 = "t5_bias"
ALL = np.arange(-300, 301)

CASES: tuple[Case, ...] = (
    *map(_slopes, HEADS),
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
)
