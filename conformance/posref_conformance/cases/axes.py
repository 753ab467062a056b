"""Cases for rotary encodings on several axes: maps, ladders, tables, grids, and what is no rotation."""

from __future__ import annotations

from typing import Any

import numpy as np

import posref
from posref import DynamicNTKScaling, LinearScaling, NTKScaling, YarnScaling
from posref_conformance.case import Call, Case, Inputs, one, read_only, strided

# name -> sections, and what differs from the defaults: those of released models, and unequal ones that tell the rules apart
MAPS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "chunked": ((16, 24, 24), {}),
    "chunked-glm4v": ((8, 12, 12), {}),
    "chunked-wan": ((22, 21, 21), {}),
    "chunked-four-axes": ((16, 16, 16, 16), {}),
    "chunked-empty-axis": ((3, 0, 2), {}),
    "interleaved": ((24, 20, 20), {"rule": "interleaved"}),
    "interleaved-qwen3-5": ((11, 11, 10), {"rule": "interleaved"}),
    "interleaved-short": ((2, 3, 3), {"rule": "interleaved"}),
    "interleaved-not-kept": ((8, 12, 12), {"rule": "interleaved"}),
    "interleaved-spare": ((24, 20, 20), {"rule": "interleaved_spare"}),
    "interleaved-spare-short": ((2, 3, 3), {"rule": "interleaved_spare"}),
    "round-robin": ((8, 12, 12), {"rule": "round_robin"}),
    "round-robin-short": ((2, 3, 3), {"rule": "round_robin"}),
    "balanced": ((16, 24, 24), {"rule": "balanced"}),
    "balanced-short": ((2, 3, 3), {"rule": "balanced"}),
    "balanced-two-axes": ((5, 11), {"rule": "balanced"}),
    "alternating": ((22, 22, 20), {"rule": "alternating"}),
    "alternating-tail-first": ((20, 22, 22), {"rule": "alternating", "tail": 0}),
}

CHUNKED, INTERLEAVED = (2, 3, 3), [0, 1, 2, 0, 1, 2, 0, 1]
YARN = YarnScaling(4.0, 32768)

# name -> sections of a chunked map (or the map itself), and what differs from the defaults
LADDERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "shared": ((16, 24, 24), {"base": 1000000.0}),
    "shared-interleaved": (INTERLEAVED, {}),
    "shared-yarn": ((16, 24, 24), {"base": 1000000.0, "scaling": YARN}),
    "shared-dynamic-ntk": (CHUNKED, {"scaling": DynamicNTKScaling(2.0, 64), "seq_len": 100}),
    "per-axis": ((22, 21, 21), {"ladder": "per_axis"}),
    "per-axis-in-turn": ([0, 1, 0, 1, 0, 1], {"ladder": "per_axis"}),
    "per-axis-bases": ([0, 0, 1, 1, 1], {"ladder": "per_axis", "base": (100.0, 300.0)}),
    "per-axis-scaling": (CHUNKED, {"ladder": "per_axis", "scaling": LinearScaling(4.0)}),
    "per-axis-scalings": (CHUNKED, {"ladder": "per_axis", "scaling": (NTKScaling(2.0), None, NTKScaling(1.5))}),
    "dealt": ((16, 16), {"ladder": "dealt"}),
    "dealt-three": ([0, 0, 0, 1, 1, 2, 2], {"ladder": "dealt", "base": 50.0}),
}

# time, height, width: two text tokens, an image of 2 by 3 patches, one more token; no two axes alike
TOKENS = np.array([[0, 1, 2, 2, 2, 2, 2, 2, 5], [0, 1, 2, 2, 2, 3, 3, 3, 5], [0, 1, 2, 3, 4, 2, 3, 4, 5]])
FAR = np.array([[100003, -7, 131071], [5, 70000, 0], [16777217, 257, 2049]])


def axis_map(given: Any) -> Any:
    """A map of its own array: that of chunked sections, or one as it is."""
    return np.array(given if isinstance(given, list) else posref.rope_axis_map(given))


def _map(name: str) -> Case:
    sections, options = MAPS[name]
    return one("rope_axis_map", name, lambda i: Call((sections,), dict(options)), dtypes=("default",))


def _inv_freq(name: str) -> Case:
    given, options = LADDERS[name]
    return one("rope_axes_inv_freq", name, lambda i: Call((axis_map(given),), dict(options)), dtypes=("default",))


def _table(name: str) -> Case:
    given, options = LADDERS[name]

    def build(i: Inputs) -> Call:
        axes = axis_map(given)
        return Call((i.typed(FAR[: axes.max() + 1]), axes), dict(options))

    return one("rope_axes_table", name, build, dtypes=("int64",))


def _cos_sin(i: Inputs, positions: Any, axes: Any, **options: Any) -> Call:
    axes = axis_map(axes)
    return Call((np.array(positions), i.typed(posref.rope_inv_freq(2 * len(axes))), axes), options)


def _again(i: Inputs) -> list[Call]:
    """The same shapes with other positions, then with another map: what is kept by shape is wrong."""
    return [_cos_sin(i, TOKENS, CHUNKED), _cos_sin(i, TOKENS[::-1], CHUNKED), _cos_sin(i, TOKENS, INTERLEAVED)]


def _steps(i: Inputs) -> list[Call]:
    """A prompt that ends within an image, then tokens one by one."""
    return [_cos_sin(i, TOKENS[:, a:b], INTERLEAVED) for a, b in ((0, 6), (6, 7), (7, 8), (8, 9))]


def _channels(i: Inputs, n: int, channels: int, **options: Any) -> Call:
    return Call((i.data(2, 3, 7, channels), *i.table(7, n)), options)


def _xdrope(i: Inputs) -> Call:
    """XD-RoPE's own tables: on the circle, in float32 as transformers has them, two angles per pair."""
    sections, positions = (1, 2, 1, 1), np.stack([np.arange(7), *TOKENS[:, :7]])
    channels = posref.rope_axis_map([2 * s for s in sections])
    cos, sin = posref.rope_axes_cos_sin(positions, np.tile(posref.rope_inv_freq(10), 2), channels)
    return Call((i.data(2, 3, 7, 10), cos.astype(np.float32), sin.astype(np.float32)))


def _grid(function: str, name: str, sizes: Any, **options: Any) -> Case:
    return one(function, name, lambda i: Call((sizes,), dict(options)), dtypes=("default",))


FREQUENCY_TYPES = ("float64", "float32")

CASES: tuple[Case, ...] = (
    *map(_map, MAPS),
    *map(_inv_freq, LADDERS),
    *map(_table, LADDERS),
    one(
        "rope_axes_table",
        "factor-over-scaling",
        lambda i: Call((i.typed(TOKENS), axis_map((16, 24, 24))), {"scaling": YARN, "attention_factor": 1.0}),
        dtypes=("int64",),
    ),
    one(
        "rope_axes_table",
        "fractions",
        lambda i: Call((i.typed(TOKENS / 4 - 0.125), axis_map(CHUNKED)), {"ladder": "per_axis", "base": 100.0}),
        dtypes=("float64", "float32"),
    ),
    one("rope_axes_cos_sin", "chunked", lambda i: _cos_sin(i, TOKENS, CHUNKED), dtypes=FREQUENCY_TYPES),
    one("rope_axes_cos_sin", "interleaved", lambda i: _cos_sin(i, TOKENS, INTERLEAVED), dtypes=FREQUENCY_TYPES),
    one("rope_axes_cos_sin", "far", lambda i: _cos_sin(i, FAR, CHUNKED), dtypes=FREQUENCY_TYPES),
    one("rope_axes_cos_sin", "unsorted-map", lambda i: _cos_sin(i, TOKENS, [2, 0, 1, 1, 0]), dtypes=FREQUENCY_TYPES),
    one(
        "rope_axes_cos_sin",
        "batch",
        lambda i: _cos_sin(i, np.stack([TOKENS, TOKENS[::-1]], axis=1), CHUNKED),  # (axes, batch, sequence)
        dtypes=FREQUENCY_TYPES,
    ),
    one("rope_axes_cos_sin", "one-token", lambda i: _cos_sin(i, TOKENS[:, 7], CHUNKED), dtypes=FREQUENCY_TYPES),
    one("rope_axes_cos_sin", "empty", lambda i: _cos_sin(i, np.zeros((3, 0), int), CHUNKED), dtypes=FREQUENCY_TYPES),
    one(
        "rope_axes_cos_sin",
        "spare-row",
        lambda i: _cos_sin(i, np.concatenate([TOKENS, TOKENS[:1] + 40]), CHUNKED),
        dtypes=FREQUENCY_TYPES,
        note="a fourth row that no pair uses, as llama.cpp passes it",
    ),
    one(
        "rope_axes_cos_sin",
        "fractions",
        lambda i: _cos_sin(i, 2 * np.pi * posref.grid_coordinates((3, 5)), [0, 0, 1, 1]),
        dtypes=FREQUENCY_TYPES,
        note="DINOv3's positions",
    ),
    one(
        "rope_axes_cos_sin",
        "not-a-ladder",
        lambda i: Call((TOKENS.copy(), np.abs(i.data(5)), np.array([0, 1, 2, 1, 0])), {"attention_factor": 1.25}),
        dtypes=FREQUENCY_TYPES,
        note="frequencies that follow no formula: what is recomputed from a base shows",
    ),
    one(
        "rope_axes_cos_sin",
        "read-only-strided",
        lambda i: Call((read_only(TOKENS), strided(np.abs(i.data(5))), read_only(np.array([0, 1, 2, 1, 0])))),
        dtypes=FREQUENCY_TYPES,
    ),
    Case("rope_axes_cos_sin", "again", _again, dtypes=FREQUENCY_TYPES),
    Case("rope_axes_cos_sin", "steps", _steps, dtypes=FREQUENCY_TYPES),
    one("rope_mixed_cos_sin", "heads", lambda i: Call((TOKENS[:2].copy(), i.data(2, 4, 5))), dtypes=FREQUENCY_TYPES),
    one("rope_mixed_cos_sin", "one-head", lambda i: Call((TOKENS[:2].copy(), i.data(2, 3))), dtypes=FREQUENCY_TYPES),
    one("rope_mixed_cos_sin", "three-axes", lambda i: Call((TOKENS / 4, i.data(3, 2, 5))), dtypes=FREQUENCY_TYPES),
    one(
        "rope_mixed_cos_sin",
        "batch",
        lambda i: Call(
            (np.stack([TOKENS[:2], TOKENS[1:]], axis=1)[:, :, None], i.data(2, 3, 5))
        ),  # (axes, batch, 1, seq.)
        dtypes=FREQUENCY_TYPES,
    ),
    one("rope_mixed_cos_sin", "empty", lambda i: Call((np.zeros((2, 0)), i.data(2, 3, 5))), dtypes=FREQUENCY_TYPES),
    one("rope_apply_channels", "half", lambda i: _channels(i, 10, 10)),
    one("rope_apply_channels", "interleaved", lambda i: _channels(i, 10, 10, layout="interleaved")),
    one("rope_apply_channels", "rest", lambda i: _channels(i, 6, 11)),
    one("rope_apply_channels", "middle-interleaved", lambda i: _channels(i, 6, 11, layout="interleaved", offset=3)),
    one("rope_apply_channels", "xdrope", _xdrope),
    one("rope_apply_channels", "per-row", lambda i: Call((i.data(2, 3, 7, 6), *i.table(2, 1, 7, 6)))),
    one("rope_apply_channels", "no-tokens", lambda i: Call((i.data(2, 0, 6), *i.table(0, 6)))),
    one("rope_apply_channels", "read-only", lambda i: Call(tuple(map(read_only, (i.data(5, 6), *i.table(5, 6)))))),
    _grid("grid_positions", "image", (2, 3)),
    _grid("grid_positions", "video", (2, 3, 5)),
    _grid("grid_positions", "blocks", (2, 4, 6), block=(1, 2, 2)),
    _grid("grid_positions", "blocks-not-square", (6, 4), block=(3, 2)),
    _grid("grid_positions", "start", (2, 3), start=1),
    _grid("grid_positions", "centred", (1, 5, 4), start=(0, -3, -2)),
    _grid("grid_positions", "empty", (0, 3)),
    _grid("grid_coordinates", "separate", (3, 7)),
    _grid("grid_coordinates", "max", (3, 7), normalize="max"),
    _grid("grid_coordinates", "min", (5, 3), normalize="min"),
    _grid("grid_coordinates", "blocks", (2, 6), block=(2, 2)),
)
