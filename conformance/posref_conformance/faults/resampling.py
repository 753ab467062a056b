"""Learned tables brought to another size, and windows in two dimensions."""

from __future__ import annotations

from typing import Any

from posref_conformance.faults._change import keywords, replaced, without
from posref_conformance.faults._fault import Fault, Functions

RESAMPLE = ("resample_table",)


def _sizes_exchanged(right: Any, xp: Any) -> Functions:
    def resample_table(table: Any, sizes: Any, new_sizes: Any, **kwargs: Any) -> Any:
        return right.resample_table(table, sizes, tuple(reversed(new_sizes)), **kwargs)

    return {"resample_table": resample_table}


def _grid_transposed(right: Any, xp: Any) -> Functions:
    def resample_table(table: Any, sizes: Any, new_sizes: Any, **kwargs: Any) -> Any:
        return right.resample_table(table, tuple(reversed(sizes)), tuple(reversed(new_sizes)), **kwargs)

    return {"resample_table": resample_table}


def _rounded_down(right: Any, xp: Any) -> Any:
    """Weights in the integer type of a packed table: of two neighbours, the first or nothing."""

    def resample_table(table: Any, sizes: Any, new_sizes: Any, **kwargs: Any) -> Any:
        y = right.resample_table(table, sizes, new_sizes, **kwargs)
        return xp.trunc(y)

    return resample_table


def _columns_for_rows(right: Any, xp: Any) -> Any:
    def relative_position_index(sizes: Any, **kwargs: Any) -> Any:
        return right.relative_position_index(tuple(reversed(sizes)), **kwargs)

    return relative_position_index


FAULTS = (
    Fault(
        "corners-not-aligned",
        "You put half a cell beyond the corners, though corners are to be aligned.",
        "Follow align_corners: Qwen3-VL has linspace over the table.",
        "ggml-org/llama.cpp PR #25781; sgl-project/sglang PR #10959; sgl-project/sglang PR #34013",
        without(RESAMPLE, "align_corners"),
    ),
    Fault(
        "corners-always-aligned",
        "You align the corners, though half a cell lies beyond them.",
        "Follow align_corners.",
        "ggml-org/llama.cpp PR #25781",
        keywords(RESAMPLE, lambda k: {**k, "align_corners": True, "antialias": False, "offset": 0.0}),
    ),
    Fault(
        "resampling-offset-ignored",
        "You use the quotient of the sizes for the scale, though another one is given.",
        "Follow offset: DINO's scale is (new + 0.1) / old.",
        "flagos-ai/FlagGems issue #5216; facebookresearch/dinov2 PR #378; facebookresearch/dino issue #8; "
        "facebookresearch/dino issue #36",
        without(RESAMPLE, "offset"),
    ),
    Fault(
        "resampling-kernel-ignored",
        "You resample with the cubic kernel whatever is asked for.",
        "Follow kernel.",
        "flagos-ai/FlagGems issue #5216",
        without(RESAMPLE, "kernel"),
    ),
    Fault(
        "antialias-ignored",
        "You take single samples where the table shrinks.",
        "Follow antialias: widen the kernel by the scale.",
        "flagos-ai/FlagGems issue #5216",
        without(RESAMPLE, "antialias"),
    ),
    Fault(
        "resampled-sizes-exchanged",
        "You exchange height and width of the new grid.",
        "Sizes are (height, width).",
        "pytorch/torchtitan PR #4244; princeton-vl/WAFT issue #2",
        _sizes_exchanged,
    ),
    Fault(
        "resampled-grid-transposed",
        "You read the table column by column.",
        "Its rows are those of the grid, one after the other.",
        "pytorch/torchtitan PR #4244; princeton-vl/WAFT issue #2",
        _grid_transposed,
    ),
    Fault(
        "resampled-to-integers",
        "You cut off fractions: the weights, or the result, have the integer type of a packed table.",
        "Compute weights in a floating type.",
        "Blaizzy/mlx-vlm PR #2304",
        replaced(resample_table=_rounded_down),
    ),
    Fault(
        "window-height-and-width-exchanged",
        "You exchange height and width of the window.",
        "The index is dy (2 w - 1) + dx: its stride is that of the width.",
        "leondgarse/keras_cv_attention_models issue #26",
        replaced(relative_position_index=_columns_for_rows),
    ),
)
