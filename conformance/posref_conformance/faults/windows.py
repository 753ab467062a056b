"""Windows: indices of pairs of cells, look-ups, logarithmic offsets, the small networks over them, cosines' scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import arguments, keywords, replaced, results, without
from posref_conformance.faults._fault import Fault, Functions

INDEX, LOOKUP, OFFSET, MLP, SCALE = (
    ("relative_position_index",),
    ("indexed_bias",),
    ("log_offset",),
    ("position_mlp",),
    ("cosine_scale",),
)
OTHER_SIDE = {"query_minus_key": "key_minus_query", "key_minus_query": "query_minus_key"}


def _stride_of_the_height(right: Any, xp: Any) -> Any:
    def relative_position_index(sizes: Any) -> Any:
        if len(sizes) != 2 or 0 in sizes:
            return right.relative_position_index(sizes)
        y = right.relative_position_index(sizes)
        row, column = y // (2 * sizes[1] - 1), xp.remainder(y, 2 * sizes[1] - 1)
        return row * (2 * sizes[0] - 1) + column

    return relative_position_index


def _walked_by_columns(right: Any, xp: Any) -> Any:
    def relative_position_index(sizes: Any) -> Any:
        if len(sizes) != 2 or 0 in sizes:
            return right.relative_position_index(sizes)
        h, w = sizes
        cell = xp.arange(h * w)
        x, y = cell // w, xp.remainder(cell, w)
        return (y[:, None] - y + h - 1) * (2 * w - 1) + x[:, None] - x + w - 1

    return relative_position_index


def _heads_last(right: Any, xp: Any) -> Functions:
    def indexed_bias(table: Any, index: Any, **kwargs: Any) -> Any:
        y = right.indexed_bias(table, index, **kwargs)
        return xp.reshape(xp.moveaxis(y, -3, -1), y.shape)

    return {"indexed_bias": indexed_bias}


def _last_row_for_none(right: Any, xp: Any) -> Functions:
    def indexed_bias(table: Any, index: Any, *, layout: str = "rows_first") -> Any:
        rows = table.shape[0 if layout == "rows_first" else 1]
        return right.indexed_bias(table, xp.where(index < 0, rows - 1, index), layout=layout)

    return {"indexed_bias": indexed_bias}


def _offset(formula: Callable[[Any, Any], Any]) -> Any:
    """Offsets without an extent, by ``formula(xp, d)``."""

    def make(right: Any, xp: Any) -> Any:
        def log_offset(relative_position: Any, *, extent: Any = None) -> Any:
            if extent is not None:
                return right.log_offset(relative_position, extent=extent)
            return formula(xp, xp.astype(relative_position, xp.float64))

        return log_offset

    return replaced(log_offset=make)


def _natural(right: Any, xp: Any) -> Functions:
    def log_offset(relative_position: Any, *, extent: Any = None) -> Any:
        y = right.log_offset(relative_position, extent=extent)
        return y if extent is None else y * math.log(8)

    return {"log_offset": log_offset}


def _activated_twice(right: Any, xp: Any) -> Functions:
    def position_mlp(*args: Any, ceiling: float | None = None, **kwargs: Any) -> Any:
        y = right.position_mlp(*args, ceiling=ceiling, **kwargs)
        return xp.where(y > 0, y, xp.zeros_like(y)) if ceiling is None else y

    return {"position_mlp": position_mlp}


def _by_tanh(right: Any, xp: Any) -> Functions:
    def position_mlp(*args: Any, ceiling: float | None = None, **kwargs: Any) -> Any:
        y = right.position_mlp(*args, **kwargs)
        return y if ceiling is None else xp.astype(ceiling * xp.tanh(y), y.dtype)

    return {"position_mlp": position_mlp}


def _scale(formula: Callable[[Any, Any, float], Any]) -> Any:
    """The scale of cosines by ``formula(xp, s, largest)``."""

    def make(right: Any, xp: Any) -> Any:
        def cosine_scale(log_scale: Any, *, largest: float = 100.0) -> Any:
            return xp.astype(formula(xp, xp.astype(log_scale, xp.float64), largest), log_scale.dtype)

        return cosine_scale

    return replaced(cosine_scale=make)


FAULTS = (
    Fault(
        "window-offset-mirrored",
        "You take k - q for q - k, or the other way round.",
        "Follow offset: Swin has query minus key, MaxViT key minus query.",
        "leondgarse/keras_cv_attention_models issue #26",
        keywords(INDEX, lambda k: {**k, "offset": OTHER_SIDE.get(k.get("offset", "query_minus_key"), "absolute")}),
    ),
    Fault(
        "window-offset-ignored",
        "You take query minus key whatever offset is asked for.",
        "Follow offset.",
        "leondgarse/keras_cv_attention_models issue #26",
        without(INDEX, "offset"),
    ),
    Fault(
        "window-stride-of-the-height",
        "You multiply the vertical offset by 2h - 1; the stride is that of the width.",
        "The index is dy (2 w - 1) + dx.",
        "leondgarse/keras_cv_attention_models issue #26",
        replaced(relative_position_index=_stride_of_the_height),
    ),
    Fault(
        "window-columns-first",
        "You walk through the window column by column.",
        "The last axis is the fastest: the cell at (y, x) is y w + x.",
        "leondgarse/keras_cv_attention_models issue #26",
        replaced(relative_position_index=_walked_by_columns),
    ),
    Fault(
        "window-class-token-left-out",
        "You leave out the rows of the class token.",
        "With class_token three rows are added: to it, from it, and its own.",
        "BEiT (2106.08254)",
        without(INDEX, "class_token"),
    ),
    Fault(
        "window-reach-ignored",
        "You make the table as large as the window whatever reach says.",
        "Follow reach: offsets beyond it have no row.",
        "microsoft/Swin-Transformer issue #385",
        without(INDEX, "reach"),
    ),
    Fault(
        "window-steps-ignored",
        "You take every cell for a query, though queries are subsampled.",
        "Follow stride.",
        "LeViT (2104.01136)",
        without(INDEX, "stride"),
    ),
    Fault(
        "lookup-heads-last",
        "You read a (q, k, heads) result as (heads, q, k).",
        "Move the axis of the heads; do not reshape.",
        "tutorials",
        _heads_last,
    ),
    Fault(
        "lookup-last-row-for-none",
        "You read the last row where a pair has none.",
        "Index -1 gives 0: negative indices do not fail.",
        "tutorials",
        _last_row_for_none,
    ),
    Fault(
        "lookup-transposed",
        "You exchange queries and keys.",
        "The index is (queries, keys).",
        "tutorials",
        arguments({"indexed_bias": (1,)}, lambda xp, index: xp.reshape(xp.matrix_transpose(index), index.shape)),
    ),
    Fault(
        "lookup-table-reversed",
        "You read the table from its end.",
        "Index i is row i.",
        "tutorials",
        arguments({"indexed_bias": (0,)}, lambda xp, table: xp.flip(table, axis=0)),
    ),
    Fault(
        "offset-without-sign",
        "You drop the sign of the offset.",
        "Multiply the logarithm by the sign.",
        "Swin v2 (2111.09883), eq. 3",
        results(OFFSET, lambda xp, y: xp.abs(y)),
    ),
    Fault(
        "offset-not-logarithmic",
        "You use the offset itself, not its logarithm.",
        "Use sign(d) ln(1 + |d|).",
        "minyoungpark1/swin_transformer_v2_jax issue #1",
        _offset(lambda xp, d: d),
    ),
    Fault(
        "offset-log2",
        "You use the logarithm to base 2.",
        "Without an extent it is the natural one.",
        "microsoft/Swin-Transformer issue #224",
        _offset(lambda xp, d: xp.sign(d) * xp.log1p(xp.abs(d)) / math.log(2)),
    ),
    Fault(
        "offset-extent-ignored",
        "You do not divide by the extent of the window.",
        "Use log8(1 + 8 |d| / extent).",
        "microsoft/Swin-Transformer issue #385; microsoft/Swin-Transformer issue #224",
        without(OFFSET, "extent"),
    ),
    Fault(
        "offset-of-an-extent-natural",
        "You do not divide by ln(8).",
        "With an extent the logarithm is to base 8.",
        "microsoft/Swin-Transformer issue #224",
        _natural,
    ),
    Fault(
        "mlp-activation-ignored",
        "You use relu whatever activation is asked for.",
        "Follow activation.",
        "tutorials",
        without(MLP, "activation"),
    ),
    Fault(
        "mlp-activated-at-the-end",
        "You apply the activation after the last layer, too.",
        "It belongs between the layers.",
        "Blaizzy/mlx-vlm PR #2128",
        _activated_twice,
    ),
    Fault(
        "mlp-without-activation",
        "You leave out the activation.",
        "It belongs between the layers.",
        "tutorials",
        keywords(MLP, lambda k: {**k, "activation": "identity"}),
    ),
    Fault(
        "mlp-hidden-bias-left-out",
        "You leave out the bias of the hidden layer.",
        "Add b1 before the activation.",
        "tutorials",
        arguments({"position_mlp": (2,)}, lambda xp, b: xp.zeros_like(b)),
    ),
    Fault(
        "mlp-output-bias-left-out",
        "You leave out the bias of the output.",
        "Add b2 where it is given.",
        "tutorials",
        without(MLP, "b2"),
    ),
    Fault(
        "mlp-ceiling-ignored",
        "You leave out the ceiling.",
        "Swin v2 returns 16 sigmoid(y).",
        "Swin v2 (2111.09883)",
        without(MLP, "ceiling"),
    ),
    Fault(
        "mlp-ceiling-by-tanh",
        "You bend the result with tanh.",
        "Multiply the logistic function by the ceiling.",
        "Swin v2 (2111.09883)",
        _by_tanh,
    ),
    Fault(
        "scale-not-limited",
        "You do not limit the scale of cosines.",
        "Take the minimum with largest.",
        "Swin v2 (2111.09883), sec. 3.2",
        _scale(lambda xp, s, most: xp.exp(xp.clip(s, -50.0, 9.0))),
    ),
    Fault(
        "scale-limit-ignored",
        "You limit the scale at 100 whatever is given.",
        "Pass largest on.",
        "Swin v2 (2111.09883), sec. 3.2",
        without(SCALE, "largest"),
    ),
    Fault(
        "scale-of-the-logarithm",
        "You multiply by the learned number itself; it is a logarithm.",
        "Multiply by its exponential.",
        "borisdayma/dalle-mini PR #297",
        _scale(lambda xp, s, most: xp.where(s < most, s, most)),
    ),
    Fault(
        "scale-limited-before-exp",
        "You limit the logarithm at largest, not at ln(largest).",
        "Limit the exponential.",
        "Swin v2 (2111.09883), sec. 3.2",
        _scale(lambda xp, s, most: xp.exp(xp.where(s < most, s, most))),
    ),
)
