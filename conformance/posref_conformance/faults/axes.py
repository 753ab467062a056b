"""Rotary encodings on several axes: which axis a pair follows, and which cell a token is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import always, arguments, keywords, positions, replaced, without
from posref_conformance.faults._fault import Fault, Functions

SEVERAL = dict.fromkeys(
    ("rope_axes_cos_sin", "rope_axes_table", "rope_mixed_cos_sin", "sinusoidal_axes", "fourier_features"), (0,)
)
GRIDS = ("grid_positions", "grid_coordinates")


def _map_of(change: Callable[[list[int], list[int]], list[int]]) -> Any:
    """An interleaved map that is changed: change(map, sections)."""

    def make(right: Any, xp: Any) -> Any:
        def rope_axis_map(sections: Any, *, rule: str = "chunked", tail: int | None = None) -> Any:
            axes = right.rope_axis_map(sections, rule=rule, tail=tail)
            if rule != "interleaved":
                return axes
            return xp.asarray(change([int(a) for a in axes], list(sections)))

        return rope_axis_map

    return replaced(rope_axis_map=make)


def _one_too_many(axes: list[int], sections: list[int]) -> list[int]:
    n = len(sections)
    return [next((a for a in range(1, n) if i % n == a and i <= n * sections[a] + a), 0) for i in range(len(axes))]


def _too_short(axes: list[int], sections: list[int]) -> list[int]:
    n = len(sections)
    return [next((a for a in range(1, n) if i % n == a and i < sections[a]), 0) for i in range(len(axes))]


def _moved(axes: list[int], sections: list[int]) -> list[int]:
    return axes[-1:] + axes[:-1]


def _rows(change: Callable[[Any, Any], Any]) -> Any:
    return positions(change, SEVERAL)


def _last_two_exchanged(xp: Any, p: Any) -> Any:
    n = p.shape[0]
    return xp.stack([p[i, ...] for i in (*range(n - 2), n - 1, n - 2)]) if n > 1 else p


def _time_scaled(xp: Any, p: Any) -> Any:
    return xp.stack([2 * p[0, ...], *(p[i, ...] for i in range(1, p.shape[0]))])


def _grid(change: Callable[[Any, Any], Any], *names: str) -> Any:
    def wrong(right: Any, xp: Any) -> Functions:
        def make(name: str) -> Callable[..., Any]:
            f = getattr(right, name)
            return lambda sizes, **kwargs: change(xp, f(sizes, **kwargs))

        return {name: make(name) for name in names or GRIDS}

    return wrong


def _columns_first(right: Any, xp: Any) -> Functions:
    def make(name: str) -> Callable[..., Any]:
        f = getattr(right, name)

        def function(sizes: Any, *, block: Any = None, **kwargs: Any) -> Any:
            if block is not None:
                raise NotImplementedError
            if "start" in kwargs and not isinstance(kwargs["start"], int):
                kwargs["start"] = tuple(reversed(kwargs["start"]))
            return xp.flip(f(tuple(reversed(sizes)), **kwargs), axis=0)

        return function

    return {name: make(name) for name in GRIDS}


def _sizes_exchanged(right: Any, xp: Any) -> Functions:
    def make(name: str) -> Callable[..., Any]:
        f = getattr(right, name)
        return lambda sizes, **kwargs: f((*sizes[:-2], sizes[-1], sizes[-2]), **kwargs)

    return {name: make(name) for name in GRIDS}


def _coordinates(formula: Callable[[Any, int], Any]) -> Any:
    """Coordinates by formula(index, size) along each axis."""

    def make(right: Any, xp: Any) -> Any:
        def grid_coordinates(sizes: Any, *, block: Any = None) -> Any:
            rows = right.grid_positions(sizes, block=block)
            return xp.stack([formula(xp.astype(rows[a, ...], xp.float64), n) for a, n in enumerate(sizes)])

        return grid_coordinates

    return replaced(grid_coordinates=make)


FAULTS = (
    Fault(
        "sections-always-chunked",
        "You lay the sections one after the other, though they are interleaved.",
        "Follow the rule of the model: t h w t h w ... t t for 'interleaved'.",
        "vllm-project/vllm-gaudi PR #1437",
        without(("rope_axis_map",), "rule", "tail"),
    ),
    Fault(
        "one-pair-too-many-per-section",
        "You give an interleaved section one pair too many.",
        "Pair i follows axis a if i % 3 == a and i < 3 * sections[a].",
        "XPU-Forces/mojo_opset PR #253",
        _map_of(_one_too_many),
    ),
    Fault(
        "interleaved-sections-too-short",
        "You stop an interleaved section at its length, not at as many pairs of its axis.",
        "Take pairs a, a + 3, a + 6, ... below 3 * sections[a].",
        "vllm-project/vllm-gaudi PR #1437",
        _map_of(_too_short),
    ),
    Fault(
        "sections-dealt-out",
        "You deal the pairs out to the axes in turn, whatever rule is asked for.",
        "Follow rule: 'chunked' has one section after the other.",
        "vllm-project/vllm-gaudi PR #1437",
        always(("rope_axis_map",), rule="round_robin"),
    ),
    Fault(
        "interleaved-map-moved",
        "You have the interleaved map moved by one pair.",
        "Pair 0 follows the first axis.",
        "vllm-project/vllm PR #40680",
        _map_of(_moved),
    ),
    Fault(
        "sections-reversed",
        "You take the sections in the opposite order.",
        "The first section belongs to the first axis.",
        "tutorials",
        arguments({"rope_axis_map": (0,)}, lambda xp, sections: tuple(reversed(sections))),
    ),
    Fault(
        "sections-of-channels-for-pairs",
        "You count the sections in channels; they are in pairs.",
        "A section of n pairs is 2n channels.",
        "vllm-project/vllm-gaudi PR #1437",
        arguments({"rope_axis_map": (0,)}, lambda xp, sections: tuple(2 * s for s in sections)),
    ),
    Fault(
        "one-axis-for-all",
        "You give all axes the positions of the first.",
        "Make an index per axis: time, height, width.",
        "linkedin/Liger-Kernel PR #276; vllm-project/vllm PR #49323",
        _rows(lambda xp, p: xp.broadcast_to(p[:1, ...], p.shape)),
    ),
    Fault(
        "sequence-for-all-axes",
        "You count 0, 1, 2, ... on all axes, as in a text.",
        "Make an index per axis: time, height, width.",
        "linkedin/Liger-Kernel PR #276",
        _rows(lambda xp, p: xp.broadcast_to(xp.arange(p.shape[-1]), p.shape) if p.ndim > 1 else p),
    ),
    Fault(
        "height-and-width-exchanged",
        "You exchange height and width.",
        "Rows are (..., height, width), in the order of the map's axes.",
        "huggingface/transformers PR #41380; pytorch/torchtitan PR #4244; princeton-vl/WAFT issue #2; leondgarse/"
        "keras_cv_attention_models issue #26",
        _rows(_last_two_exchanged),
    ),
    Fault(
        "axes-reversed",
        "You take the axes in the opposite order.",
        "Row a of the positions belongs to axis a of the map.",
        "huggingface/pytorch-image-models PR #2541",
        _rows(lambda xp, p: xp.flip(p, axis=0)),
    ),
    Fault(
        "map-sorted",
        "You lay the axes one after the other, though the map mixes them.",
        "Take the axis of each pair from the map.",
        "vllm-project/vllm-gaudi PR #1437",
        arguments({"rope_axes_cos_sin": (2,)}, lambda xp, axes: xp.sort(axes)),
    ),
    Fault(
        "time-scaled",
        "You scale the positions of the first axis once more.",
        "Scale time by tokens per second where it is made, and still images not at all.",
        "huggingface/transformers issue #45325; huggingface/transformers PR #45330; huggingface/transformers issue #41152; "
        "huggingface/transformers PR #41153; sgl-project/sglang issue #3674",
        _rows(_time_scaled),
    ),
    Fault(
        "ladder-always-shared",
        "You use one ladder of frequencies for all axes together.",
        "Each axis has a ladder of its own here: it starts at 1 again.",
        "huggingface/pytorch-image-models PR #2692",
        keywords(
            ("rope_axes_inv_freq", "rope_axes_table"),
            lambda k: (
                k
                if isinstance(k.get("base"), tuple) or isinstance(k.get("scaling"), tuple)
                else {**k, "ladder": "shared"}
            ),
        ),
    ),
    Fault(
        "ladder-always-per-axis",
        "You give each axis a ladder of its own.",
        "All pairs share one ladder here: a pair keeps its frequency, whatever its axis.",
        "vllm-project/vllm-gaudi PR #1437",
        always(("rope_axes_inv_freq", "rope_axes_table"), ladder="per_axis"),
    ),
    Fault(
        "grid-columns-first",
        "You walk through the grid column by column.",
        "The last axis is the fastest: y repeats, x is tiled.",
        "huggingface/transformers PR #41380; pytorch/torchtitan PR #4244",
        _columns_first,
    ),
    Fault(
        "grid-sizes-exchanged",
        "You exchange height and width of the grid.",
        "Sizes are (height, width).",
        "huggingface/pytorch-image-models PR #2541; princeton-vl/WAFT issue #2; lightseekorg/tokenspeed PR #490",
        _sizes_exchanged,
    ),
    Fault(
        "grid-axes-exchanged",
        "You return (x, y) for (y, x).",
        "Row a of the result belongs to axis a of the sizes.",
        "huggingface/pytorch-image-models PR #2541",
        _grid(lambda xp, y: xp.flip(y, axis=0)),
    ),
    Fault(
        "grid-from-1",
        "You count the cells from 1.",
        "The first cell is at start, 0 if nothing is said.",
        "tutorials",
        _grid(lambda xp, y: y + 1, "grid_positions"),
    ),
    Fault(
        "grid-start-ignored",
        "You ignore where the grid starts.",
        "Add start to the positions.",
        "linkedin/Liger-Kernel PR #276",
        without(("grid_positions",), "start"),
    ),
    Fault(
        "grid-blocks-ignored",
        "You walk through the grid row by row, though patches come in merged blocks.",
        "Walk through the blocks, then through the cells in each.",
        "huggingface/pytorch-image-models PR #2692",
        without(GRIDS, "block"),
    ),
    Fault(
        "coordinates-of-corners",
        "You take the corners of the cells for their centres.",
        "The centre of cell i of n is at 2 (i + 0.5) / n - 1.",
        "huggingface/pytorch-image-models PR #2692",
        _coordinates(lambda i, n: 2 * i / n - 1),
    ),
    Fault(
        "coordinates-with-ends",
        "You put the first and the last cell on -1 and 1.",
        "The centre of cell i of n is at 2 (i + 0.5) / n - 1.",
        "ggml-org/llama.cpp PR #25781",
        _coordinates(lambda i, n: 2 * i / max(n - 1, 1) - 1),
    ),
    Fault(
        "coordinates-not-normalised",
        "You return cells for coordinates.",
        "The centre of cell i of n is at 2 (i + 0.5) / n - 1.",
        "huggingface/pytorch-image-models PR #2692",
        _coordinates(lambda i, n: i),
    ),
    Fault(
        "coordinates-from-0-to-1",
        "Your coordinates run from 0 to 1.",
        "They run from -1 to 1.",
        "huggingface/pytorch-image-models PR #2692",
        _coordinates(lambda i, n: (i + 0.5) / n),
    ),
)
