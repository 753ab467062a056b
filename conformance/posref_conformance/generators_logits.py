"""What the generated checks ask of factors on the logits. See :mod:`posref_conformance.generators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posref_conformance.case import FLOATS, Call, Inputs
from posref_conformance.drawing import DEFAULT, WHOLE, Draw, options_of, sizes, some_positions


def _from_zero(draw: Draw, axes: int, largest: int) -> Any:
    return np.abs(some_positions(draw, sizes(draw, axes), largest))


def _log_n(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    positions, length = _from_zero(draw, draw(st.integers(0, 3)), 2**20), draw(st.integers(2, 2**17))
    options = options_of(draw, clip=[True, False])
    return lambda i: Call((i.typed(positions), length), dict(options))


def _ssmax(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    positions, heads, biased = (
        _from_zero(draw, draw(st.integers(1, 2)), 2**20),
        draw(st.integers(1, 5)),
        draw(st.booleans()),
    )
    return lambda i: Call((positions.copy(), i.data(heads)), {"bias": i.data(heads)} if biased else {})


def _llama4(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    positions = _from_zero(draw, draw(st.integers(0, 2)), 2**24)
    options = options_of(draw, attn_scale=[0.1, 0.25, 1.0], floor_scale=[8192, 7, 16384], shift=[1, 0])
    return lambda i: Call((i.typed(positions),), dict(options))


def _inkling(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    positions, length = _from_zero(draw, draw(st.integers(0, 3)), 2**24), draw(st.integers(1, 2**17))
    options = options_of(draw, alpha=[0.1, 0.25, -1.0])
    return lambda i: Call((i.typed(positions), length), dict(options))


def _length(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    lengths = draw(st.integers(1, 2**24)), draw(st.integers(1, 2**20))
    options = options_of(draw, mscale=[1.0, 0.5, 0.0])
    return lambda i: Call(lengths, dict(options))


GENERATORS: dict[str, tuple[tuple[str, ...], Callable[[Draw, str], Callable[[Inputs], Call]]]] = {
    "log_n_scale": (WHOLE, _log_n),
    "ssmax_scale": (FLOATS, _ssmax),
    "llama4_scale": (WHOLE, _llama4),
    "inkling_scale": (WHOLE, _inkling),
    "length_scale": (DEFAULT, _length),
}
