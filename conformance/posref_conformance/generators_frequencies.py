"""What the generated checks ask of the scalings one by one, and of pixels and factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import posref
from posref_conformance.case import Call, Inputs

Draw = Callable[..., Any]


def scalings(draw: Draw, factor: float, length: int) -> list[Any]:
    """One of each, with drawn parameters, for any number of pairs."""
    from hypothesis import strategies as st

    share, power = draw(st.sampled_from([0.0, 0.25, 0.3, 0.5, 1.0])), draw(st.floats(0.25, 2.0))
    return [
        posref.DynamicLinearScaling(length),
        posref.DynamicYarnScaling(length, truncate=draw(st.booleans())),
        posref.ProportionalScaling(share, factor, draw(st.sampled_from(["floor", "ceil"]))),
        posref.NTKScaling(factor, draw(st.sampled_from(["base", "fixed", "mixed"])), power),
        posref.YarnScaling(factor, length, 1.0, 32.0, reversed_range=draw(st.sampled_from(["slope", "step"]))),
        posref.YarnScaling(
            factor,
            length,
            mscale=draw(st.sampled_from([None, 0.0, 0.707, 1.0])),
            mscale_all_dim=draw(st.sampled_from([None, 0.0, 0.707, 1.0])),
            mscale_rule=draw(st.sampled_from(["nonzero", "given", "always", "never"])),
            attn_factor=draw(st.floats(0.5, 2.0)),
            extrapolation_factor=draw(st.floats(0.0, 1.0)),
        ),
    ]


def softmax(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    """YaRN with and without an mscale for all channels."""
    from hypothesis import strategies as st

    scaling = posref.YarnScaling(
        draw(st.floats(0.5, 128.0)), 4096, mscale=1.0, mscale_all_dim=draw(st.sampled_from([None, 0.0, 0.707, 1.0]))
    )
    return lambda i: Call((scaling,))


def pixels(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    """Frequencies for pictures of any size."""
    from hypothesis import strategies as st

    pairs, most = draw(st.integers(1, 64)), draw(st.floats(0.5, 1000.0))
    options = {"spacing": "log"} if draw(st.booleans()) else {}
    return lambda i: Call((2 * pairs, most), dict(options))
