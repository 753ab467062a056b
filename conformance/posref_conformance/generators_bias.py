"""What the generated checks ask of biases. See :mod:`posref_conformance.generators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posref_conformance.case import FLOATS, Call, Inputs
from posref_conformance.drawing import DEFAULT, WHOLE, Draw, options_of, sizes, some_positions

RULES = ["exact", "epsilon", "float32_sum"]


def _slopes(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    count = draw(st.integers(1, 300))
    options = options_of(draw, bias_max=[8.0, 4.0, 16.0], rule=["released", "geometric"], scale=[1.0, 0.125])
    if draw(st.booleans()):
        first = draw(st.integers(0, count - 1))
        options["heads"] = (first, draw(st.integers(first + 1, count)))
    return lambda i: Call((count,), dict(options))


def _alibi(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    q, k = (some_positions(draw, sizes(draw, 1), 2**10) for _ in range(2))  # products stay finite in float16
    options = options_of(draw, form=["distance", "signed", "key", "past", "sqrt", "key_last", "key_first"])
    return lambda i: Call((np.abs(i.data(3)), q.copy(), k.copy()), dict(options))


def _query_positions(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    lengths, options = (
        (
            draw(st.integers(0, 300)),
            draw(st.integers(0, 300)),
        ),
        options_of(draw, align=["bottom_right", "top_left"]),
    )
    return lambda i: Call(lengths, dict(options))


def _buckets(draw: Draw) -> tuple[int, dict[str, Any]]:
    from hypothesis import strategies as st

    both, num_buckets = draw(st.booleans()), draw(st.integers(4, 64))
    exact = (num_buckets // 2 if both else num_buckets) // 2
    options = {"bidirectional": both, "max_distance": exact + draw(st.integers(1, 500))}
    return num_buckets, {k: v for k, v in options.items() if v not in (True, 128)} | options_of(draw, rule=RULES)


def _bucket(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    relative, (num_buckets, options) = some_positions(draw, sizes(draw, 2), 700), _buckets(draw)
    if num_buckets != 32:
        options["num_buckets"] = num_buckets
    return lambda i: Call((i.typed(relative),), dict(options))


def _t5(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    q, k = (some_positions(draw, sizes(draw, 1), 700) for _ in range(2))
    num_buckets, options = _buckets(draw)
    options |= options_of(draw, layout=["rows_first", "heads_first"], scale=[1.0, 8.0, 0.3])
    shape = (2, num_buckets) if "layout" in options else (num_buckets, 2)
    return lambda i: Call((i.data(*shape), q.copy(), k.copy()), dict(options))


def _blocks(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    shape, size = sizes(draw, draw(st.integers(1, 2)), 40), draw(st.integers(1, 17))
    return lambda i: Call((i.rng.random(shape) < 0.9, size))


def _index(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    cells = sizes(draw, draw(st.integers(1, 3)), 4)
    options = options_of(
        draw,
        offset=["query_minus_key", "key_minus_query", "absolute"],
        stride=[1, 2, 3],
        reach=[None, tuple(draw(st.integers(0, 4)) for _ in cells)],
        class_token=[False, True],
    )
    return lambda i: Call((cells,), dict(options))


def _lookup(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    shape, rows = sizes(draw, draw(st.integers(2, 3))), draw(st.integers(1, 9))
    return lambda i: Call((i.data(rows, 3), i.rng.integers(-1, rows, shape)))


def _log_offset(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    offsets = some_positions(draw, sizes(draw, 2), 2**20)
    options = options_of(draw, extent=[None, 7, 15, 2.5])
    return lambda i: Call((i.typed(offsets),), dict(options))


def _cosine_scale(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    shape, options = sizes(draw, 2), options_of(draw, largest=[100.0, 2.0])
    return lambda i: Call((i.data(*shape),), dict(options))


def _mlp(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    n, hidden, heads = (draw(st.integers(1, 9)) for _ in range(3))
    shape, biased = sizes(draw, draw(st.integers(0, 2))), draw(st.booleans())
    options = options_of(draw, activation=["relu", "silu", "identity"], ceiling=[None, 16.0, 2.5])
    norms = draw(st.integers(0, 2))  # no norm, one without a bias, one with it

    def build(i: Inputs) -> Call:
        arrays = i.data(*shape, n), i.data(hidden, n), i.data(hidden), i.data(heads, hidden)
        norm = {name: i.data(hidden) for name in ("norm_weight", "norm_bias")[:norms]}
        return Call(arrays, options | ({"b2": i.data(heads)} if biased else {}) | norm)

    return build


def _kerple(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    q, k = (some_positions(draw, sizes(draw, 1), 2**6) for _ in range(2))  # squares stay finite in float16
    options = options_of(draw, form=["log", "power"])

    def build(i: Inputs) -> Call:
        r2 = np.minimum(np.abs(i.data(3)) + i.typed(0.01), i.typed(1.5))
        return Call((np.abs(i.data(3)), r2, q.copy(), k.copy()), dict(options))

    return build


def _sandwich(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    q, k = (some_positions(draw, sizes(draw, 1), 2**12) for _ in range(2))
    heads, options = draw(st.integers(1, 9)), options_of(draw, dim=[128, 2, 10], base=[10000.0, 100.0], start=[1, 0])
    return lambda i: Call((heads, i.typed(q), i.typed(k)), dict(options))


def _fire(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    q, k = (some_positions(draw, sizes(draw, 1), 2**12) for _ in range(2))
    c, length = draw(st.floats(0.01, 2.0)), draw(st.floats(0.5, 1000.0))
    options = options_of(draw, limit=["max", "min"], eps=[1e-6, 0.25])
    return lambda i: Call((i.typed(np.abs(q)), i.typed(k), c, length), dict(options))


def _cape(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    positions = some_positions(draw, sizes(draw, draw(st.integers(1, 2))), 1000)
    shape, options = positions.shape, options_of(draw, centre=[False, True])
    shift, scale = (draw(st.sampled_from([shape, (*shape[:-1], 1), (1,)])) for _ in range(2))
    return lambda i: Call((positions.copy(), i.data(*shift), i.data(*scale)), dict(options))


GENERATORS: dict[str, tuple[tuple[str, ...], Callable[[Draw, str], Callable[[Inputs], Call]]]] = {
    "alibi_slopes": (DEFAULT, _slopes),
    "alibi_bias": (FLOATS, _alibi),
    "query_positions": (DEFAULT, _query_positions),
    "t5_bucket": (WHOLE, _bucket),
    "t5_bias": (FLOATS, _t5),
    "long_t5_blocks": (DEFAULT, _blocks),
    "relative_position_index": (DEFAULT, _index),
    "indexed_bias": (FLOATS, _lookup),
    "log_offset": (WHOLE, _log_offset),
    "cosine_scale": (FLOATS, _cosine_scale),
    "cape_positions": (FLOATS, _cape),
    "kerple_bias": (FLOATS, _kerple),
    "sandwich_bias": (WHOLE, _sandwich),
    "fire_distance": (WHOLE, _fire),
    "position_mlp": (FLOATS, _mlp),
}
