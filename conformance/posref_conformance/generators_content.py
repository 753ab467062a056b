"""What the generated checks ask of what depends on the content. See :mod:`posref_conformance.generators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posref_conformance.case import FLOATS, Call, Inputs
from posref_conformance.drawing import Draw, options_of, sizes

Build = Callable[[Inputs], Call]


def _decomposed(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    axes = []
    for _ in range(2):
        least, times = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        axes.append(draw(st.sampled_from([(least, least * times), (least * times, least)])))
    q_size, k_size = ((axes[0][n], axes[1][n]) for n in (0, 1))
    d, leading = draw(st.integers(1, 6)), sizes(draw, draw(st.integers(0, 2)), 2)
    options = options_of(draw, rule=["exact", "float32"])

    def build(i: Inputs) -> Call:
        tables = (i.data(2 * max(pair) - 1, d) for pair in axes)
        return Call((i.data(*leading, q_size[0] * q_size[1], d), *tables, q_size, k_size), options)

    return build


def _gate(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    leading, heads, q = sizes(draw, draw(st.integers(0, 2)), 3), draw(st.integers(1, 4)), draw(st.integers(0, 5))
    return lambda i: Call((i.data(*leading, heads, q, 8), i.data(heads)))


def _reset(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    leading, heads = sizes(draw, draw(st.integers(0, 2)), 3), draw(st.integers(1, 4))
    q, k = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    return lambda i: Call((i.data(*leading, heads, q, k), i.data(heads), i.data(heads)))


def _logarithms(i: Inputs, *shape: int) -> Any:
    return i.typed(-np.abs(i.data(*shape)).astype(np.float64) / 2)


def _forget(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    leading, n, both = sizes(draw, draw(st.integers(0, 2)), 3), draw(st.integers(0, 9)), draw(st.booleans())
    options = {"num_queries": draw(st.integers(0, n))} if draw(st.booleans()) else {}

    def build(i: Inputs) -> Call:
        args = (_logarithms(i, *leading, n),)
        return Call(args, options | ({"backward": _logarithms(i, *leading, n)} if both else {}))

    return build


def _cope(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    q, k, rows, d = (draw(st.integers(*bounds)) for bounds in ((0, 4), (0, 6), (1, 8), (1, 6)))
    options, masked = options_of(draw, scale_positions=[True, False], scale=[None, 1.0, 0.3]), draw(st.booleans())

    def build(i: Inputs) -> Call:
        mask = {"mask": i.rng.random((q, k)) < 0.7} if masked else {}
        return Call((i.data(2, 2, q, d), i.data(2, 1, k, d), i.data(rows, d)), options | mask)

    return build


def _path(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    n, d, forgets = draw(st.integers(0, 5)), draw(st.integers(1, 5)), draw(st.booleans())
    options = options_of(draw, scale=[None, 1.0]) | (options_of(draw, gate=["plain", "scaled"]) if forgets else {})

    def build(i: Inputs) -> Call:
        w = i.data(1, n, d).astype(np.float64)
        w = i.typed(w / np.linalg.norm(w, axis=-1, keepdims=True))
        gates = {"log_forget": _logarithms(i, 2, n)} if forgets else {}
        return Call((i.data(2, n, d), i.data(2, n, d), w, i.typed(i.rng.uniform(0, 2, (2, n)))), options | gates)

    return build


GENERATORS: dict[str, tuple[tuple[str, ...], Callable[[Draw, str], Build]]] = {
    "decomposed_bias": (FLOATS, _decomposed),
    "bias_gate": (FLOATS, _gate),
    "reset_cls": (FLOATS, _reset),
    "forget_bias": (FLOATS, _forget),
    "cope_scores": (FLOATS, _cope),
    "path_scores": (FLOATS, _path),
}
