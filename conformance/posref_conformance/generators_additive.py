"""What the generated checks ask of encodings on several axes, Fourier features, resampled tables and masks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from posref._additive_arguments import NESTINGS
from posref_conformance.case import FLOATS, Call, Inputs
from posref_conformance.drawing import DEFAULT, WHOLE, Draw, options_of, sizes, some_positions

Build = Callable[[Inputs], Call]


def _sinusoidal(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    positions, half = some_positions(draw, sizes(draw, draw(st.integers(0, 2)))), draw(st.integers(2, 32))
    odd = draw(st.sampled_from(["error", "zero", "split"]))
    options = options_of(
        draw,
        base=[10000.0, 100.0],
        endpoint=[False, True],
        layout=["interleaved", "concatenated"],
        order=["sin_cos", "cos_sin"],
        scale=[1.0, 0.125, 2 * math.pi],
        gain=[1.0, 0.3],
        padding_idx=[None, 0],
    )
    if odd != "error":
        options["odd"] = odd
    dim = 2 * half + (draw(st.integers(0, 1)) if odd != "error" else 0)
    return lambda i: Call((i.typed(positions), dim), dict(options))


def _timestep(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    timesteps, dim = some_positions(draw, sizes(draw, 1), 1000), draw(st.integers(4, 33))
    options = options_of(
        draw,
        flip_sin_to_cos=[False, True],
        downscale_freq_shift=[1.0, 0.0, 0.5],
        scale=[1.0, 1000.0],
        max_period=[10000.0, 100.0],
    )
    return lambda i: Call((i.typed(timesteps), dim), dict(options))


def _learned(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st
    from hypothesis.extra.numpy import arrays

    rows, offset = draw(st.integers(1, 9)), draw(st.sampled_from([0, 2]))
    places = draw(arrays(np.int64, sizes(draw, draw(st.integers(0, 2))), elements=st.integers(0, rows - 1)))
    return lambda i: Call((i.data(rows, 3), np.asarray(places - offset)), {"offset": offset} if offset else {})


def _axes(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    axes, rest = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    widths = [2 * draw(st.integers(2, 6)) for _ in range(axes)]
    positions = some_positions(draw, (axes, *sizes(draw, draw(st.integers(0, 2)), 4)))
    options = options_of(
        draw,
        base=[10000.0, 100.0],
        endpoint=[False, True],
        layout=["axis_wave_band", *NESTINGS],
        order=["sin_cos", "cos_sin"],
    )
    if draw(st.booleans()):
        options["widths"] = tuple(widths)
    return lambda i: Call((i.typed(positions), sum(widths) + rest), dict(options))


def _bands(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    n, ends = draw(st.integers(1, 40)), tuple(draw(st.floats(2.0**-10, 2.0**10)) for _ in range(2))
    options = options_of(draw, spacing=["linear", "log"], endpoint=[True, False])
    return lambda i: Call((n, *ends), dict(options))


def _features(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    axes, n, matrix = draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.booleans())
    shape = (axes, *sizes(draw, draw(st.integers(0, 2)), 4))
    options = options_of(
        draw,
        unit=["radians", "half_turns", "turns"],
        layout=["axis_wave_band", *NESTINGS],
        order=["sin_cos", "cos_sin"],
        gain=[1.0, 0.3],
        include_input=[False, True],
    )
    return lambda i: Call((i.rng.uniform(-1, 1, shape), i.data(*((axes, n) if matrix else (n,)))), dict(options))


def _resampled(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    axes, prefix = draw(st.integers(1, 2)), draw(st.integers(0, 2))
    old = tuple(draw(st.integers(1, 9)) for _ in range(axes))
    new = tuple(draw(st.integers(0, 9)) for _ in range(axes))
    options = options_of(draw, kernel=["cubic", "linear"], cubic_a=[None, -0.75, -0.5], antialias=[False, True])
    if not options.get("antialias"):
        options |= options_of(draw, align_corners=[False, True])
    if not options.get("align_corners"):
        options |= options_of(draw, offset=[0.0, 0.1])
    if draw(st.booleans()):  # windows of 4 and more that grow by less than half
        windows = [draw(st.integers(4, 7)) for _ in range(axes)]
        old, new = (tuple(2 * (w + more) - 1 for w in windows) for more in (0, draw(st.integers(0, 1))))
        options = {"kernel": draw(st.sampled_from(["linear", "spline"])), "spacing": "geometric"}
    if prefix:
        options["prefix"] = prefix
    return lambda i: Call((i.data(prefix + math.prod(old), 2), old, new), dict(options))


def _hierarchical(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    n = draw(st.integers(1, 6))
    rows, options = draw(st.integers(0, n * n)), options_of(draw, alpha=[0.4, 0.25])
    return lambda i: Call((i.data(n, 2), rows), dict(options))


def _some_mask(draw: Draw, shape: tuple[int, ...]) -> Any:
    from hypothesis.extra.numpy import arrays

    return draw(arrays(np.bool_, shape))


def _positions(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    mask = _some_mask(draw, sizes(draw, draw(st.integers(1, 3)), 6))
    options = options_of(draw, first=[0, 2, -5], padding=[0, 1, None], largest=[None, 3], restart=[False, True])
    return lambda i: Call((mask.copy(),), dict(options))


def _coordinates(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    mask = _some_mask(draw, sizes(draw, draw(st.integers(2, 4)), 5))
    options = options_of(draw, axes=[2, 1], scale=[None, 2 * math.pi, 1.0], shift=[0.0, 0.5], eps=[1e-6, 0.5])
    return lambda i: Call((mask.copy(),), dict(options))


GENERATORS: dict[str, tuple[tuple[str, ...], Callable[[Draw, str], Build]]] = {
    "sinusoidal": (WHOLE, _sinusoidal),
    "timestep_embedding": (WHOLE, _timestep),
    "learned": (FLOATS, _learned),
    "sinusoidal_axes": (WHOLE, _axes),
    "frequency_bands": (DEFAULT, _bands),
    "fourier_features": (FLOATS, _features),
    "resample_table": (FLOATS, _resampled),
    "hierarchical_table": (FLOATS, _hierarchical),
    "mask_positions": (DEFAULT, _positions),
    "mask_coordinates": (DEFAULT, _coordinates),
}
