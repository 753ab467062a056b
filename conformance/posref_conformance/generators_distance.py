"""What the generated checks ask of remapped distances, xPos, FoPE, PoPE, weights, packing and linear attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import posref
from posref_conformance.case import FLOATS, Call, Inputs
from posref_conformance.drawing import WHOLE, Draw, options_of, real_positions, sizes, some_positions

Build = Callable[[Inputs], Call]


def _frequencies(i: Inputs, pairs: int) -> Any:
    return posref.rope_inv_freq(2 * pairs).astype(np.float64 if i.dtype == "float64" else np.float32)


def _map(draw: Draw, lengths: tuple[int, ...], options: dict[str, Any]) -> Build:
    q, k = (some_positions(draw, sizes(draw, 1), 2**20) for _ in range(2))
    return lambda i: Call((i.typed(q), i.typed(k), *lengths), dict(options))


def _rerope(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    factor = draw(st.sampled_from([None, 2.0, 16.0, 2.7]))
    return _map(draw, (draw(st.integers(1, 600)),), {} if factor is None else {"factor": factor})


def _self_extend(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    lengths = draw(st.integers(1, 40)), draw(st.integers(1, 2000))
    return _map(draw, lengths, options_of(draw, shift=["exact", "floor"]))


def _dual_chunk(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    chunk = draw(st.integers(1, 3000))
    lengths = chunk, draw(st.integers(0, chunk - 1))
    return _map(draw, lengths, options_of(draw, critical=[False, True]))


def _scores(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    q, k, pairs, rest = (draw(st.integers(*bounds)) for bounds in ((0, 4), (0, 5), (1, 4), (0, 3)))
    leading, options = sizes(draw, draw(st.integers(0, 2)), 3), options_of(draw, layout=["half", "interleaved"])
    distances = some_positions(draw, (q, k), 2**12)

    def build(i: Inputs) -> Call:
        data = (i.data(*leading, n, 2 * pairs + rest) for n in (q, k))
        return Call((*data, distances.copy(), _frequencies(i, pairs)), dict(options))

    return build


def _xpos(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    positions, pairs = some_positions(draw, sizes(draw, draw(st.integers(0, 2))), 2**13), draw(st.integers(1, 32))
    rule = draw(st.sampled_from(["floor", "ceil", 0, 2.5]))
    options: dict[str, Any] = {} if rule == "floor" else {"centre": rule}
    if isinstance(rule, str):
        options["length"] = draw(st.integers(1, 2**13))
    return lambda i: Call((i.typed(positions), 2 * pairs), dict(options))


def _fope(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    kept, columns, more = draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(0, 3))
    shape = (*([draw(st.integers(1, 3))] if draw(st.booleans()) else []), kept, columns)
    positions, options = (
        real_positions(draw, sizes(draw, draw(st.integers(1, 2)))),
        options_of(draw, pad_sin=[1.0, 0.0]),
    )

    def build(i: Inputs) -> Call:
        coefficients = i.data(*shape), i.data(*shape)
        return Call((positions.copy(), _frequencies(i, kept), *coefficients, columns + more), dict(options))

    return build


def _pope(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    shape, biased = (*sizes(draw, draw(st.integers(1, 3))), draw(st.integers(1, 7))), draw(st.booleans())
    positions, options = real_positions(draw, shape[-2:-1]), options_of(draw, base=[10000.0, 100.0])

    def build(i: Inputs) -> Call:
        bias = {"bias": i.typed(i.rng.uniform(-7, 1, shape[-1]))} if biased else {}
        return Call((i.data(*shape), positions.copy()), options | bias)

    return build


def _weight(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    heads, pairs, before, after = (draw(st.integers(*b)) for b in ((1, 5), (1, 4), (0, 3), (0, 3)))
    options = {"rotary_dim": 2 * pairs} | ({"offset": before} if before else {})
    options |= options_of(draw, to=["half", "interleaved"])
    return lambda i: Call((i.data(heads * (before + 2 * pairs + after), 3), heads), dict(options))


def _packed(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    ends, started = np.cumsum([0, *draw(st.lists(st.integers(0, 9), max_size=6))]), draw(st.booleans())
    starts = draw(st.lists(st.integers(-(2**30), 2**30), min_size=len(ends) - 1, max_size=len(ends) - 1))
    return lambda i: Call((i.typed(ends),), {"starts": i.typed(np.array(starts, np.int64))} if started else {})


def _linear(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    q, k, pairs, rest = (draw(st.integers(*b)) for b in ((0, 4), (0, 5), (1, 3), (0, 3)))
    masked, rotated = draw(st.booleans()), draw(st.booleans())
    positions = {"q_positions": some_positions(draw, (q,), 2**12), "k_positions": some_positions(draw, (k,), 2**12)}
    options = options_of(draw, layout=["half", "interleaved"]) if rotated else {}

    def build(i: Inputs) -> Call:
        kwargs: dict[str, Any] = dict(options)
        if masked:
            kwargs["mask"] = i.rng.random((q, k)) < 0.7
        if rotated:
            kwargs |= {name: p.copy() for name, p in positions.items()} | {"inv_freq": _frequencies(i, pairs)}
        width = 2 * pairs + rest
        return Call((i.data(2, q, width), i.data(2, k, width), i.data(2, k, 3)), kwargs)

    return build


GENERATORS: dict[str, tuple[tuple[str, ...], Callable[[Draw, str], Build]]] = {
    "rerope_distance": (WHOLE, _rerope),
    "self_extend_distance": (WHOLE, _self_extend),
    "dual_chunk_distance": (WHOLE, _dual_chunk),
    "rope_scores": (FLOATS, _scores),
    "xpos_scale": (WHOLE, _xpos),
    "fope_cos_sin": (FLOATS, _fope),
    "pope_apply": (FLOATS, _pope),
    "rope_permute_weight": (FLOATS, _weight),
    "cu_seqlens_positions": (WHOLE, _packed),
    "linear_attention": (FLOATS, _linear),
}
