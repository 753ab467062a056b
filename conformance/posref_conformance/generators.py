"""What the generated checks ask: for each function, draw parameters, then build the call from them and a seeded generator.

Hypothesis is imported where it is used: fixed checks do without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import posref
from posref_conformance import (
    generators_additive,
    generators_axes,
    generators_bias,
    generators_content,
    generators_distance,
    generators_logits,
    generators_relative,
)
from posref_conformance.case import FLOATS, Call, Inputs
from posref_conformance.drawing import DEFAULT, WHOLE, Draw, options_of, real_positions, sizes, some_positions
from posref_conformance.generators_frequencies import pixels, scalings, softmax


def _scaling(draw: Draw, pairs: int) -> Any:
    from hypothesis import strategies as st

    factor, length = draw(st.floats(1.0, 64.0)), draw(st.integers(64, 65536))
    kinds = [
        posref.LinearScaling(factor),
        posref.YarnScaling(factor, length, truncate=draw(st.booleans())),
        posref.Llama3Scaling(factor, length, 1.0, draw(st.floats(2.0, 8.0))),
        posref.LongRopeScaling(
            [1.0 + 0.1 * i for i in range(pairs)], [factor + i for i in range(pairs)], length, factor=factor
        ),
    ]
    kinds += scalings(draw, factor, length)
    if pairs > 1:
        kinds += [
            posref.NTKScaling(factor),
            posref.DynamicNTKScaling(factor, length),
            posref.NTKByPartsScaling(factor, length),
        ]
    chosen = draw(st.sampled_from(kinds))
    try:
        posref.rope_inv_freq(2 * pairs, scaling=chosen)
    except ValueError:  # YaRN's range is reversed for some sizes: an error that is not the backend's to give
        return kinds[0]
    return chosen


def _inv_freq(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    pairs = draw(st.integers(1, 64))
    options = options_of(draw, base=[10000.0, 500000.0, 100.0, 1e6], seq_len=[None, 1, 5000, 200000])
    if draw(st.booleans()):
        options["scaling"] = _scaling(draw, pairs)
    return lambda i: Call((2 * pairs,), dict(options))


def _factor(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    scaling, options = _scaling(draw, 4), options_of(draw, seq_len=[None, 1, 5000, 200000])
    return lambda i: Call((scaling,), dict(options))


def _cos_sin(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    positions, pairs = real_positions(draw, sizes(draw, draw(st.integers(0, 3)))), draw(st.integers(1, 9))
    options = options_of(draw, attention_factor=[1.0, 1.25, 0.5])
    return lambda i: Call((positions.copy(), np.abs(i.data(pairs))), dict(options))


def _table(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    positions, build = some_positions(draw, sizes(draw, draw(st.integers(0, 2)))), _inv_freq(draw, dtype)
    return lambda i: Call((i.typed(positions), *build(i).args), build(i).kwargs)


def _rotation(draw: Draw) -> tuple[tuple[int, ...], int, dict[str, Any]]:
    """Leading shape with the sequence, pairs, and where they lie among the channels."""
    from hypothesis import strategies as st

    pairs, rest = draw(st.integers(1, 6)), draw(st.integers(0, 5))
    options = options_of(
        draw, layout=["half", "interleaved"], output_layout=[None, "half", "interleaved"], inverse=[False, True]
    )
    if offset := draw(st.integers(0, rest)):
        options["offset"] = offset
    return (*sizes(draw, draw(st.integers(1, 3))), 2 * pairs + rest), pairs, options


def _apply(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    shape, pairs, options = _rotation(draw)
    leading = tuple(n if draw(st.booleans()) else 1 for n in shape[:-1])[draw(st.integers(0, len(shape) - 1)) :]
    return lambda i: Call((i.data(*shape), *i.table(*leading, pairs)), dict(options))


def _rope(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    shape, pairs, options = _rotation(draw)
    positions = real_positions(draw, shape[-2:-1])
    options |= options_of(draw, base=[10000.0, 500000.0])
    if 2 * pairs + options.get("offset", 0) < shape[-1]:
        options["dim"] = 2 * pairs
    if draw(st.booleans()):
        options["scaling"] = _scaling(draw, pairs)
    return lambda i: Call((i.data(*shape), positions.copy()), dict(options))


def _attention(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    q, k, d = draw(st.integers(0, 5)), draw(st.integers(0, 7)), draw(st.integers(1, 9))
    masked, biased = draw(st.booleans()), draw(st.booleans())

    def build(i: Inputs) -> Call:
        kwargs: dict[str, Any] = {"mask": i.rng.random((q, k)) < 0.7} if masked else {}
        if biased:
            kwargs["bias"] = i.data(2, q, k)
        return Call((i.data(2, q, d), i.data(2, k, d), i.data(2, k, 3)), kwargs)

    return build


GENERATORS: dict[str, tuple[tuple[str, ...], Callable[[Draw, str], Callable[[Inputs], Call]]]] = {
    "rope_inv_freq": (DEFAULT, _inv_freq),
    "rope_attention_factor": (DEFAULT, _factor),
    "rope_softmax_factor": (DEFAULT, softmax),
    "rope_pixel_freq": (DEFAULT, pixels),
    "rope_cos_sin": (("float64", "float32"), _cos_sin),
    "rope_table": (WHOLE, _table),
    "rope_apply": (FLOATS, _apply),
    "rope": (FLOATS, _rope),
    "attention": (FLOATS, _attention),
    **generators_additive.GENERATORS,
    **generators_axes.GENERATORS,
    **generators_bias.GENERATORS,
    **generators_logits.GENERATORS,
    **generators_distance.GENERATORS,
    **generators_relative.GENERATORS,
    **generators_content.GENERATORS,
}
