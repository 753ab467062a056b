"""What the generated checks ask of rotary encodings on several axes. See :mod:`posref_conformance.generators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import posref
from posref_conformance.case import FLOATS, Call, Inputs
from posref_conformance.drawing import DEFAULT, WHOLE, Draw, options_of, real_positions, sizes, some_positions

RULES = ("chunked", "interleaved", "interleaved_spare", "round_robin", "balanced", "alternating")


def _map_arguments(draw: Draw) -> tuple[tuple[int, ...], dict[str, Any]]:
    from hypothesis import strategies as st

    rule = draw(st.sampled_from(RULES))
    axes = draw(st.integers(2, 3 if rule == "balanced" else 4))
    sections = draw(st.lists(st.integers(1, 9), min_size=axes, max_size=axes))
    options: dict[str, Any] = {} if rule == "chunked" else {"rule": rule}
    if rule == "alternating":
        options["tail"] = tail = draw(st.integers(-axes, axes - 1))
        sections = [n if a == tail % axes else sections[0] for a, n in enumerate(sections)]
    return tuple(sections), options


def _map(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    sections, options = _map_arguments(draw)
    return lambda i: Call((sections,), dict(options))


def _any_map(draw: Draw) -> Any:
    sections, options = _map_arguments(draw)
    return posref.rope_axis_map(sections, **options)


def _ladder(draw: Draw) -> tuple[Any, dict[str, Any]]:
    """A map and the arguments of its frequencies; dealt only where the axes take turns."""
    from hypothesis import strategies as st

    axes, options = _any_map(draw), options_of(draw, ladder=["shared", "per_axis"], base=[10000.0, 100.0, 5e6])
    if draw(st.booleans()):
        options["scaling"] = posref.LinearScaling(draw(st.floats(1.0, 64.0)))
    if options.get("ladder") == "per_axis" and draw(st.booleans()):
        options["base"] = tuple(draw(st.floats(2.0, 1e6)) for _ in range(int(axes.max()) + 1))
    elif draw(st.booleans()):
        axes, options = np.arange(len(axes)) % 3, {**options, "ladder": "dealt"}
    return axes, options


def _inv_freq(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    axes, options = _ladder(draw)
    return lambda i: Call((axes.copy(),), dict(options))


def _table(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    axes, options = _ladder(draw)
    positions = some_positions(draw, (int(axes.max()) + 1, *sizes(draw, 1)))
    return lambda i: Call((i.typed(positions), axes.copy()), dict(options))


def _cos_sin(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    axes = _any_map(draw)
    positions = real_positions(draw, (int(axes.max()) + 1, *sizes(draw, draw(st.integers(0, 2)))))
    options = options_of(draw, attention_factor=[1.0, 1.25, 0.5])
    return lambda i: Call((positions.copy(), np.abs(i.data(len(axes))), axes.copy()), dict(options))


def _mixed(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    axes, heads, pairs = draw(st.integers(1, 3)), sizes(draw, draw(st.integers(0, 1))), draw(st.integers(1, 5))
    positions = real_positions(draw, (axes, *sizes(draw, 1)))
    return lambda i: Call((positions.copy(), i.data(axes, *heads, pairs)))


def _channels(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    pairs, rest = draw(st.integers(1, 5)), draw(st.integers(0, 4))
    options = options_of(draw, layout=["half", "interleaved"])
    if offset := draw(st.integers(0, rest)):
        options["offset"] = offset
    leading = sizes(draw, draw(st.integers(1, 3)))
    return lambda i: Call((i.data(*leading, 2 * pairs + rest), *i.table(*leading[-1:], 2 * pairs)), dict(options))


def _grid(draw: Draw) -> tuple[tuple[int, ...], dict[str, Any]]:
    from hypothesis import strategies as st

    axes = draw(st.integers(1, 3))
    outer, inner = ([draw(st.integers(1, 4)) for _ in range(axes)] for _ in range(2))
    options = {"block": tuple(inner)} if draw(st.booleans()) else {}
    return tuple(n * b for n, b in zip(outer, inner, strict=True)), options


def _grid_positions(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    from hypothesis import strategies as st

    sizes, options = _grid(draw)
    if start := draw(st.sampled_from([0, 1, tuple(-(n // 2) for n in sizes)])):
        options["start"] = start
    return lambda i: Call((sizes,), dict(options))


def _coordinates(draw: Draw, dtype: str) -> Callable[[Inputs], Call]:
    sizes, options = _grid(draw)
    options |= options_of(draw, normalize=["separate", "max", "min"])
    return lambda i: Call((sizes,), dict(options))


GENERATORS: dict[str, tuple[tuple[str, ...], Callable[[Draw, str], Callable[[Inputs], Call]]]] = {
    "rope_axis_map": (DEFAULT, _map),
    "rope_axes_inv_freq": (DEFAULT, _inv_freq),
    "rope_axes_cos_sin": (("float64", "float32"), _cos_sin),
    "rope_axes_table": (WHOLE, _table),
    "rope_mixed_cos_sin": (("float64", "float32"), _mixed),
    "rope_apply_channels": (FLOATS, _channels),
    "grid_positions": (DEFAULT, _grid_positions),
    "grid_coordinates": (DEFAULT, _coordinates),
}
