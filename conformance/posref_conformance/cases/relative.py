"""Cases for relative attention: rows of a table by the distance of query and key, and the shift that spares the look-up."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one, read_only, strided, transposed

EITHER = ("int64", "int32")
APART = np.arange(7)[None] - np.arange(5)[:, None]  # k - q of 5 queries and 7 keys
ROWS = np.clip(APART, -3, 3) + 3
SOME = np.where(np.abs(APART) > 2, -1, APART + 2)  # of 5 rows; far keys have none
INDEX, SHIFT = "relative_index", "relative_shift"
BIAS, VALUES, SCORES = "relative_bias", "relative_values", "relative_scores"
BUCKET, DISENTANGLED, UNTIED, PERMUTED = "deberta_bucket", "disentangled_scores", "untied_scores", "permuted_channels"
TURNS = np.array([[3, 0, 4, 5, 2, 1], [1, 2, 0, 4, 3, 5]])  # a cycle of 6; cycles of 3, 2 and 1


def _index(name: str, relative: Any, left: int, right: int, **options: Any) -> Case:
    return one(INDEX, name, lambda i: Call((i.typed(relative), left, right), dict(options)), dtypes=EITHER)


def _shift(name: str, shape: tuple[int, ...], keys: int, **options: Any) -> Case:
    return one(SHIFT, name, lambda i: Call((i.data(*shape), keys), dict(options)))


def _bias(
    i: Inputs, index: Any = ROWS, *, leading: tuple[int, ...] = (2, 3), heads: tuple[int, ...] = (), **options: Any
) -> Call:
    n = index.shape[-1 if options.get("side") == "key" else -2]
    return Call((i.data(*leading, n, 6), i.data(*heads, 7, 6), index.copy()), options)


def _values(i: Inputs, index: Any = ROWS, *, heads: tuple[int, ...] = ()) -> Call:
    weights = i.typed(np.abs(i.data(2, 3, *index.shape[-2:])).astype(np.float64) / 3)
    return Call((weights, i.data(*heads, 7, 4), index.copy()))


def _scores(
    i: Inputs, index: Any = ROWS, *, leading: tuple[int, ...] = (2, 3), biases: bool = False, **options: Any
) -> Call:
    q, k = index.shape[-2:]
    if biases:
        options |= {"content_bias": i.data(*leading[1:], 8), "position_bias": i.data(*leading[1:], 8)}
    return Call((i.data(*leading, q, 8), i.data(*leading, k, 8), i.data(7, 8), index.copy()), options)


def _shift_again(i: Inputs) -> list[Call]:
    return [Call((i.data(2, 3, 5), 5)), Call((i.data(2, 3, 5), 5)), Call((i.data(2, 3, 5), 4))]


def _bias_again(i: Inputs) -> list[Call]:
    """A prompt, other numbers, other distances of the same shape, a decode step."""
    return [_bias(i), _bias(i), _bias(i, ROWS[::-1]), _bias(i, ROWS[-1:])]


def _values_again(i: Inputs) -> list[Call]:
    return [_values(i), _values(i), _values(i, ROWS[:, ::-1])]


def _scores_again(i: Inputs) -> list[Call]:
    return [_scores(i), _scores(i), _scores(i, ROWS[::-1]), _scores(i, ROWS[-1:])]


def _strided(i: Inputs) -> Call:
    return Call((strided(i.data(5, 6)), read_only(transposed(i.data(7, 6))), strided(ROWS)))


def _bucket(name: str, relative: Any, **options: Any) -> Case:
    return one(BUCKET, name, lambda i: Call((i.typed(relative),), dict(options)), dtypes=EITHER)


def _disentangled(
    i: Inputs,
    relative: Any = -APART,
    *,
    heads: tuple[int, ...] = (3,),
    tables: str = "kq",
    rows: int = 8,
    **options: Any,
) -> Call:
    q, k = relative.shape[-2:]
    options = {f"pos_{t}": i.data(*heads, rows, 8) for t in tables} | options
    return Call((i.data(2, 3, q, 8), i.data(2, 3, k, 8), relative.copy()), options)


def _disentangled_again(i: Inputs) -> list[Call]:
    return [_disentangled(i), _disentangled(i), _disentangled(i, APART), _disentangled(i, -APART[-1:])]


def _untied(
    i: Inputs,
    q: int = 5,
    k: int = 7,
    *,
    leading: tuple[int, ...] = (2, 3),
    of_keys: tuple[int, ...] | None = None,
    heads: tuple[int, ...] | None = (3,),
    d: int = 8,
    **options: Any,
) -> Call:
    """Content of so many queries and keys, and positions for each head; heads None is without positions."""
    args = i.data(*leading, q, d), i.data(*(leading if of_keys is None else of_keys), k, d)
    placed = {} if heads is None else {"pos_q": i.data(*heads, q, d), "pos_k": i.data(*heads, k, d)}
    return Call(args, placed | options)


def _untied_strided(i: Inputs) -> Call:
    placed = {"pos_q": read_only(transposed(i.data(5, 8))), "pos_k": strided(i.data(7, 8))}
    return Call((strided(i.data(5, 8)), read_only(transposed(i.data(7, 8)))), placed)


def _untied_again(i: Inputs) -> list[Call]:
    """A prompt, other numbers, another scale, a decode step, no positions."""
    return [_untied(i), _untied(i), _untied(i, scale=0.5), _untied(i, q=1), _untied(i, heads=None)]


PER_BATCH = np.stack([ROWS, np.clip(APART - 20, -3, 3) + 3])[:, None]  # the second row of the batch is far ahead


def _permuted(i: Inputs, positions: Any, permutation: Any = TURNS[0]) -> Call:
    return Call((i.typed(permutation), i.typed(positions)))


def _permuted_again(i: Inputs) -> list[Call]:
    """A prompt, other positions, another permutation, a decode step."""
    p = np.arange(5)
    return [_permuted(i, p), _permuted(i, p + 1), _permuted(i, p, TURNS[1]), _permuted(i, [7]), _permuted(i, p)]


CASES: tuple[Case, ...] = (
    _index("shaw", np.arange(-9, 10), 3, 3),
    _index("one-less-on-the-right", np.arange(-9, 10), 4, 3),
    _index("left-and-right", [-70, -65, -64, -1, 0, 7, 8, 9, 2**30, -(2**30)], 64, 8),
    _index("causal", APART, 6, 0),
    _index("no-row-beyond", np.arange(-9, 10), 3, 5, outside="none"),
    _index("matrix", APART, 2, 2),
    _index("empty", np.zeros((3, 0)), 2, 2),
    _shift("transformer-xl", (2, 3, 5, 7), 7),
    _shift("transformer-xl-masked", (2, 3, 5, 7), 7, outside="zero"),
    _shift("conformer", (3, 5, 9), 5),
    _shift("conformer-legacy", (3, 5, 5), 5),
    _shift("xlnet", (2, 5, 12), 7, rule="xlnet"),
    _shift("xlnet-all-columns", (2, 5, 7), 6, rule="xlnet"),
    _shift("xlnet-masked", (2, 5, 7), 6, rule="xlnet", outside="zero"),
    _shift("funnel-pooled", (2, 3, 12), 6, rule="xlnet", stride=2),
    _shift("funnel-pooled-all-columns", (2, 3, 7), 5, rule="xlnet", stride=2),
    _shift("funnel-pooled-masked", (2, 3, 7), 5, rule="xlnet", outside="zero", stride=2),
    _shift("gemma-3n", (2, 4, 3, 5), 7, rule="gemma-3n"),
    _shift("one-query", (3, 1, 7), 7),
    _shift("more-queries", (3, 7, 4), 4),
    _shift("no-queries", (3, 0, 7), 7),
    one(SHIFT, "read-only-strided", lambda i: Call((read_only(strided(i.data(2, 5, 7))), 6))),
    Case(SHIFT, "again", _shift_again),
    one(BIAS, "shared-table", lambda i: _bias(i)),
    one(BIAS, "table-per-head", lambda i: _bias(i, heads=(3,))),
    one(BIAS, "of-keys", lambda i: _bias(i, side="key")),
    one(BIAS, "of-keys-per-head", lambda i: _bias(i, heads=(3,), side="key")),
    one(BIAS, "no-row-beyond", lambda i: _bias(i, SOME)),
    one(BIAS, "per-batch", lambda i: _bias(i, PER_BATCH)),
    one(BIAS, "decode", lambda i: _bias(i, ROWS[-1:])),
    one(BIAS, "more-queries", lambda i: _bias(i, np.ascontiguousarray(ROWS.T))),
    one(BIAS, "no-queries", lambda i: _bias(i, ROWS[:0])),
    one(BIAS, "no-keys", lambda i: _bias(i, ROWS[:, :0])),
    one(BIAS, "read-only-strided", _strided),
    Case(BIAS, "again", _bias_again),
    one(VALUES, "shared-table", lambda i: _values(i)),
    one(VALUES, "table-per-head", lambda i: _values(i, heads=(3,))),
    one(VALUES, "no-row-beyond", lambda i: _values(i, SOME)),
    one(VALUES, "per-batch", lambda i: _values(i, PER_BATCH)),
    one(VALUES, "decode", lambda i: _values(i, ROWS[-1:])),
    one(VALUES, "no-keys", lambda i: _values(i, ROWS[:, :0])),
    one(VALUES, "no-queries", lambda i: _values(i, ROWS[:0])),
    Case(VALUES, "again", _values_again),
    _bucket("deberta-v3", np.arange(-530, 531, 7)),
    _bucket(
        "edges", [-512, -511, -510, -129, -128, -127, 0, 127, 128, 129, 130, 200, 256, 300, 400, 510, 511, 512, 2000]
    ),
    _bucket("grows", [-5000, -513, -512, -511, 511, 512, 513, 700, 2**30], beyond="grow"),
    _bucket("few", np.arange(-30, 31), num_buckets=8, max_distance=20),
    _bucket("two", np.arange(-6, 7), num_buckets=2, max_distance=5),
    _bucket("matrix", 60 * APART, num_buckets=32, max_distance=128),
    _bucket("empty", np.zeros((3, 0))),
    one(DISENTANGLED, "deberta", lambda i: _disentangled(i)),
    one(DISENTANGLED, "content-to-position", lambda i: _disentangled(i, tables="k")),
    one(DISENTANGLED, "position-to-content", lambda i: _disentangled(i, tables="q")),
    one(DISENTANGLED, "paper", lambda i: _disentangled(i, p2c="paper")),
    one(DISENTANGLED, "position-to-position", lambda i: _disentangled(i, p2p=True, rows=10)),
    one(DISENTANGLED, "content-alone", lambda i: _disentangled(i, tables="")),
    one(DISENTANGLED, "far", lambda i: _disentangled(i, 3 * APART)),
    one(DISENTANGLED, "shared-table", lambda i: _disentangled(i, heads=())),
    one(DISENTANGLED, "scale", lambda i: _disentangled(i, scale=0.25)),
    one(DISENTANGLED, "per-batch", lambda i: _disentangled(i, np.stack([-APART, 2 - APART])[:, None])),
    one(DISENTANGLED, "one-query", lambda i: _disentangled(i, -APART[-1:])),
    one(DISENTANGLED, "no-queries", lambda i: _disentangled(i, APART[:0])),
    one(DISENTANGLED, "no-keys", lambda i: _disentangled(i, APART[:, :0])),
    Case(DISENTANGLED, "again", _disentangled_again),
    one(UNTIED, "tupe", lambda i: _untied(i)),
    one(UNTIED, "more-queries", lambda i: _untied(i, 7, 5)),
    one(UNTIED, "positions-for-all-heads", lambda i: _untied(i, heads=())),
    one(UNTIED, "per-batch", lambda i: _untied(i, heads=(2, 1))),
    one(UNTIED, "keys-for-all-heads", lambda i: _untied(i, of_keys=(2, 1))),
    one(UNTIED, "heads-of-positions-alone", lambda i: _untied(i, leading=())),
    one(UNTIED, "no-heads-axis", lambda i: _untied(i, leading=(), heads=())),
    one(UNTIED, "one-term", lambda i: _untied(i, heads=None)),
    one(UNTIED, "one-term-per-head", lambda i: _untied(i, leading=(3,), heads=None)),
    one(UNTIED, "odd-width", lambda i: _untied(i, d=5)),
    one(UNTIED, "scale", lambda i: _untied(i, scale=0.5)),
    one(UNTIED, "one-query", lambda i: _untied(i, q=1)),
    one(UNTIED, "no-queries", lambda i: _untied(i, q=0)),
    one(UNTIED, "no-keys", lambda i: _untied(i, k=0)),
    one(UNTIED, "read-only-strided", _untied_strided),
    Case(UNTIED, "again", _untied_again),
    one(PERMUTED, "channels", lambda i: _permuted(i, np.arange(8)), dtypes=EITHER),
    one(PERMUTED, "heads", lambda i: _permuted(i, np.arange(8), TURNS), dtypes=EITHER),
    one(PERMUTED, "batch", lambda i: _permuted(i, [[3, 0, 1], [2, 9, 2]], TURNS), dtypes=EITHER),
    one(PERMUTED, "keys-first", lambda i: _permuted(i, [-1, -7, 4], TURNS[:, None]), dtypes=EITHER),
    one(PERMUTED, "far", lambda i: _permuted(i, [2**31 - 2, 1 - 2**31, 2**24 + 1], TURNS), dtypes=EITHER),
    one(PERMUTED, "beyond-32-bits", lambda i: _permuted(i, [2**53 - 1, 2**40 + 1, -(2**33)]), dtypes=("int64",)),
    one(PERMUTED, "one-channel", lambda i: _permuted(i, [5, 2], [[0], [0]]), dtypes=EITHER),
    one(PERMUTED, "no-positions", lambda i: _permuted(i, [], TURNS), dtypes=EITHER),
    one(
        PERMUTED,
        "read-only-strided",
        lambda i: Call((read_only(transposed(i.typed(TURNS))), strided(i.typed([3, 1, 8])))),
        dtypes=EITHER,
    ),
    Case(PERMUTED, "again", _permuted_again, EITHER),
    one(SCORES, "shaw", lambda i: _scores(i)),
    one(SCORES, "transformer-xl", lambda i: _scores(i, biases=True)),
    one(SCORES, "one-bias-for-all-heads", lambda i: _scores(i, content_bias=i.data(8), position_bias=i.data(1, 8))),
    one(SCORES, "key-query", lambda i: _scores(i, key_term=True)),
    one(SCORES, "scale", lambda i: _scores(i, scale=1.0)),
    one(SCORES, "no-row-beyond", lambda i: _scores(i, SOME)),
    one(SCORES, "no-heads-axis", lambda i: _scores(i, leading=())),
    one(SCORES, "per-batch", lambda i: _scores(i, PER_BATCH)),
    one(SCORES, "decode", lambda i: _scores(i, ROWS[-1:], biases=True)),
    one(SCORES, "no-queries", lambda i: _scores(i, ROWS[:0])),
    one(SCORES, "no-keys", lambda i: _scores(i, ROWS[:, :0])),
    Case(SCORES, "again", _scores_again),
)
