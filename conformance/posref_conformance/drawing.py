"""What generated checks draw: sizes, positions, keywords that differ from their defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Draw = Callable[..., Any]
WHOLE = ("int64",)
DEFAULT = ("default",)


def sizes(draw: Draw, axes: int, most: int = 5) -> tuple[int, ...]:
    """Lengths of some axes; the first is not empty."""
    from hypothesis import strategies as st

    return tuple(draw(st.integers(0 if a else 1, most)) for a in range(axes))


def some_positions(draw: Draw, shape: tuple[int, ...], largest: int = 2**20) -> Any:
    """Integer positions of either sign."""
    from hypothesis import strategies as st
    from hypothesis.extra.numpy import arrays

    return draw(arrays(np.int64, shape, elements=st.integers(-largest, largest)))


def real_positions(draw: Draw, shape: tuple[int, ...], largest: int = 2**20) -> Any:
    """Positions of either sign, whole ones or binary fractions of them."""
    from hypothesis import strategies as st

    positions, bits = some_positions(draw, shape, largest), draw(st.sampled_from([0, 0, 1, 7]))
    return np.asarray(positions / 2**bits) if bits else positions


def options_of(draw: Draw, **choices: Any) -> dict[str, Any]:
    """Keywords that differ from their defaults, the first of each list."""
    from hypothesis import strategies as st

    drawn = {name: draw(st.sampled_from(values)) for name, values in choices.items()}
    return {name: value for name, value in drawn.items() if value != choices[name][0]}
