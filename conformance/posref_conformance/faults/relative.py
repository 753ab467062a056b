"""Relative attention: rows of a table by distance, the shift that spares the look-up, DeBERTa's terms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import arguments, keywords, replaced, results, without
from posref_conformance.faults._fault import Fault, Functions

SCORES = ("relative_scores", "disentangled_scores")


def _last_row_dropped(right: Any, xp: Any) -> Any:
    def relative_shift(x: Any, num_keys: int) -> Any:
        q, m = x.shape[-2:]
        if not q:
            return right.relative_shift(x, num_keys)
        padded = xp.concat([xp.zeros_like(x[..., :1]), x], axis=-1)
        rows = xp.reshape(padded, (*x.shape[:-2], m + 1, q))[..., :-1, :]
        return xp.asarray(xp.reshape(rows, x.shape)[..., :num_keys], copy=True)

    return relative_shift


def _padded_at_the_end(right: Any, xp: Any) -> Any:
    def relative_shift(x: Any, num_keys: int) -> Any:
        q, m = x.shape[-2:]
        if not q:
            return right.relative_shift(x, num_keys)
        padded = xp.concat([x, xp.zeros_like(x[..., :1])], axis=-1)
        rows = xp.reshape(padded, (*x.shape[:-2], m + 1, q))[..., 1:, :]
        return xp.asarray(xp.reshape(rows, x.shape)[..., :num_keys], copy=True)

    return relative_shift


def _not_shifted(right: Any, xp: Any) -> Any:
    return lambda x, num_keys: xp.asarray(x[..., :num_keys], copy=True)


def _mirrored(right: Any, xp: Any) -> Functions:
    def relative_index(relative_position: Any, left: int, right_: int, **kwargs: Any) -> Any:
        return right.relative_index(-relative_position, left, right_, **kwargs)

    return {"relative_index": relative_index}


def _ends_exchanged(right: Any, xp: Any) -> Functions:
    def relative_index(relative_position: Any, left: int, right_: int, **kwargs: Any) -> Any:
        return right.relative_index(relative_position, right_, left, **kwargs)

    return {"relative_index": relative_index}


def _from_the_end(right: Any, xp: Any) -> Functions:
    def relative_index(relative_position: Any, left: int, right_: int) -> Any:
        return xp.remainder(xp.astype(relative_position, xp.int64) + left, left + right_ + 1)

    return {"relative_index": relative_index}


def _position_to_content_mirrored(right: Any, xp: Any) -> Functions:
    other = {"code": "paper", "paper": "code"}
    return keywords(("disentangled_scores",), lambda k: {**k, "p2c": other[k.get("p2c", "code")]})(right, xp)


def _scale_of_plain_attention(right: Any, xp: Any) -> Functions:
    def disentangled_scores(q: Any, k: Any, relative: Any, *, scale: float | None = None, **kwargs: Any) -> Any:
        own = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
        return right.disentangled_scores(q, k, relative, scale=own, **kwargs)

    return {"disentangled_scores": disentangled_scores}


def _permuted(change: Callable[..., Any]) -> Any:
    """Permuted channels of other arguments: ``change(xp, permutation, positions)``."""

    def make(right: Any, xp: Any) -> Any:
        def permuted_channels(permutation: Any, positions: Any) -> Any:
            return right.permuted_channels(*change(xp, permutation, positions))

        return permuted_channels

    return replaced(permuted_channels=make)


def _untied(formula: Callable[..., Any]) -> Any:
    """Untied scores by ``formula(right, q, k, pos_q, pos_k, scale)`` where there are positions; the scale is a number."""

    def make(right: Any, xp: Any) -> Any:
        def untied_scores(q: Any, k: Any, *, pos_q: Any = None, pos_k: Any = None, scale: float | None = None) -> Any:
            s = 1 / math.sqrt(2 * q.shape[-1]) if scale is None else scale
            if pos_q is None:
                return right.untied_scores(q, k, scale=s)
            return formula(right.untied_scores, q, k, pos_q, pos_k, s)

        return untied_scores

    return replaced(untied_scores=make)


def _untied_scale_of_plain_attention(right: Any, xp: Any) -> Functions:
    def untied_scores(q: Any, k: Any, *, scale: float | None = None, **kwargs: Any) -> Any:
        return right.untied_scores(q, k, scale=1 / math.sqrt(q.shape[-1]) if scale is None else scale, **kwargs)

    return {"untied_scores": untied_scores}


def _position_left(right: Any, xp: Any) -> Functions:
    def relative_scores(q: Any, k: Any, table: Any, index: Any, **kwargs: Any) -> Any:
        return right.relative_scores(q, k, 0 * table, index, **kwargs)

    return {"relative_scores": relative_scores}


def _biases_exchanged(k: dict[str, Any]) -> dict[str, Any]:
    other = {"content_bias": "position_bias", "position_bias": "content_bias"}
    return {other.get(name, name): value for name, value in k.items()}


def _buckets_to(change: Callable[[int], int]) -> Any:
    """Buckets up to another distance: change(max_distance)."""
    return keywords(("deberta_bucket",), lambda k: {**k, "max_distance": change(k.get("max_distance", 512))})


FAULTS = (
    Fault(
        "shift-drops-the-last-row",
        "You drop the last row of the reshaped matrix, not the first.",
        "After padding and reshaping take [1:].",
        "labmlai/annotated_deep_learning_paper_implementations issue #185",
        replaced(relative_shift=_last_row_dropped),
    ),
    Fault(
        "shift-padded-at-the-end",
        "You pad the columns at the end.",
        "Put the column of zeros before the others.",
        "labmlai/annotated_deep_learning_paper_implementations issue #185",
        replaced(relative_shift=_padded_at_the_end),
    ),
    Fault(
        "shift-left-out",
        "You do not shift the rows: each query has the distances of the first.",
        "Move row i by i.",
        "ZhengkunTian/OpenTransformer issue #25",
        replaced(relative_shift=_not_shifted),
    ),
    Fault(
        "shift-leaves-the-next-row",
        "You leave values of the next row above the diagonal, where zeros are asked for.",
        "The shift is for a causal mask; an encoder needs 2L - 1 columns.",
        "ZhengkunTian/OpenTransformer issue #25",
        without(("relative_shift",), "outside"),
    ),
    Fault(
        "shift-rule-ignored",
        "You shift as Transformer-XL does, whatever rule is asked for.",
        "XLNet and Gemma 3n have columns in another order.",
        "ZhengkunTian/OpenTransformer issue #25",
        without(("relative_shift",), "rule"),
    ),
    Fault(
        "relative-index-mirrored",
        "You take q - k for k - q: the table is read from its other end.",
        "Keep the sign with which the table was trained.",
        "nntrainer/nntrainer PR #3982",
        _mirrored,
    ),
    Fault(
        "relative-index-ends-exchanged",
        "You exchange the rows on the left and on the right.",
        "Distances from -left to right have a row.",
        "ZhengkunTian/OpenTransformer issue #25",
        _ends_exchanged,
    ),
    Fault(
        "relative-index-wraps",
        "You let far distances wrap around to the other end of the table.",
        "Clip them to the ends before you index: negative indices do not fail.",
        "leondgarse/keras_cv_attention_models issue #26",
        _from_the_end,
    ),
    Fault(
        "relative-index-one-off",
        "You read the row after each distance's.",
        "Distance -left is row 0.",
        "leondgarse/keras_cv_attention_models issue #26",
        results(("relative_index",), lambda xp, y: y + 1),
    ),
    Fault(
        "relative-index-always-clipped",
        "You clip far distances, though they are to have no row.",
        "Follow outside.",
        "ZhengkunTian/OpenTransformer issue #25",
        without(("relative_index",), "outside"),
    ),
    Fault(
        "relative-side-ignored",
        "You multiply queries with the table where keys are asked for.",
        "Follow side.",
        "nntrainer/nntrainer PR #3982",
        without(("relative_bias",), "side"),
    ),
    Fault(
        "relative-table-reversed",
        "You read the table from its end.",
        "Row i of the table belongs to index i.",
        "nntrainer/nntrainer PR #3982",
        arguments(
            {"relative_bias": (1,), "relative_scores": (2,), "relative_values": (1,)},
            lambda xp, table: xp.flip(table, axis=-2),
        ),
    ),
    Fault(
        "relative-keys-reversed",
        "You go through the keys from the last to the first where you look up their rows.",
        "Column j of the index belongs to key j.",
        "tutorials",
        arguments(
            {"relative_bias": (2,), "relative_scores": (3,), "relative_values": (2,)},
            lambda xp, index: xp.flip(index, axis=-1),
        ),
    ),
    Fault(
        "relative-term-left-out",
        "You leave out the term of the positions.",
        "Add the products with the table's rows.",
        "NVIDIA/TensorRT-LLM PR #13870",
        _position_left,
    ),
    Fault(
        "relative-biases-exchanged",
        "You exchange the biases of content and of position.",
        "Content has u, position v.",
        "Transformer-XL (1901.02860), sec. 3.3",
        keywords(("relative_scores",), _biases_exchanged),
    ),
    Fault(
        "relative-biases-left-out",
        "You leave out the biases of content and of position.",
        "Add them to the queries before the products.",
        "Transformer-XL (1901.02860), sec. 3.3",
        without(("relative_scores",), "content_bias", "position_bias"),
    ),
    Fault(
        "relative-key-term-left-out",
        "You leave out the products of the keys with the table.",
        "Add them where key_term is set.",
        "nntrainer/nntrainer PR #3982",
        without(("relative_scores",), "key_term"),
    ),
    Fault(
        "relative-scores-not-scaled",
        "You do not divide the scores by sqrt(d).",
        "Multiply by 1/sqrt(d), or by the given scale.",
        "tutorials",
        keywords(SCORES, lambda k: {**k, "scale": k.get("scale", 1.0)}),
    ),
    Fault(
        "disentangled-scaled-as-plain",
        "You divide by sqrt(d), though the logits have several terms.",
        "Divide by sqrt(d (1 + terms)).",
        "NVIDIA/TensorRT issue #3370",
        _scale_of_plain_attention,
    ),
    Fault(
        "untied-scaled-as-plain",
        "You divide by sqrt(d), though the logits have two terms.",
        "Divide each by sqrt(2 d), the content too.",
        "TUPE (2006.15595), eq. 7",
        _untied_scale_of_plain_attention,
    ),
    Fault(
        "untied-positions-left-out",
        "You leave out the term of the positions.",
        "Add the products of pos_q and pos_k.",
        "TUPE (2006.15595), eq. 7",
        without(("untied_scores",), "pos_q", "pos_k"),
    ),
    Fault(
        "untied-positions-tied",
        "You add positions to the content before the product, which mixes the two.",
        "Multiply content with content and position with position, and add the products.",
        "TUPE (2006.15595), sec. 3.1",
        _untied(lambda f, q, k, pos_q, pos_k, s: f(q + pos_q, k + pos_k, scale=s)),
    ),
    Fault(
        "untied-positions-not-scaled",
        "You scale the content, and add the products of the positions as they are.",
        "Divide both terms by sqrt(2 d).",
        "TUPE (2006.15595), eq. 7",
        _untied(lambda f, q, k, pos_q, pos_k, s: f(q, k, scale=s) + f(pos_q, pos_k, scale=1.0)),
    ),
    Fault(
        "untied-positions-of-the-key-alone",
        "You multiply the query's content with the position of the key, as other models do.",
        "Positions of keys meet those of queries, with projections of their own.",
        "TUPE (2006.15595), sec. 3.1",
        _untied(lambda f, q, k, pos_q, pos_k, s: f(q, k + pos_k, scale=s)),
    ),
    Fault(
        "untied-scale-ignored",
        "You scale by 1/sqrt(2 d) whatever scale is given.",
        "A given scale takes its place.",
        "tutorials",
        without(("untied_scores",), "scale"),
    ),
    Fault(
        "position-to-content-mirrored",
        "You index the term of positions to content with the other sign.",
        "In DeBERTa's code it is the row of q - k, after the transposition.",
        "nntrainer/nntrainer PR #3982",
        _position_to_content_mirrored,
    ),
    Fault(
        "position-to-content-left-out",
        "You leave out the term of positions to content.",
        "Add it where pos_q is given.",
        "nntrainer/nntrainer PR #3982",
        without(("disentangled_scores",), "pos_q"),
    ),
    Fault(
        "deberta-range-of-the-sequence",
        "You end the buckets at the length of the sequence, not at max_distance.",
        "Use the model's max_relative_positions, or max_position_embeddings.",
        "NVIDIA/TensorRT issue #3370",
        _buckets_to(lambda n: n - n // 4),
    ),
    Fault(
        "deberta-always-clamped",
        "You clamp far distances, though beyond says that the buckets grow.",
        "Follow beyond.",
        "NVIDIA/TensorRT issue #3370",
        without(("deberta_bucket",), "beyond"),
    ),
    Fault(
        "deberta-without-sign",
        "You drop the sign of the bucket.",
        "Buckets of q - k < 0 are negative.",
        "nntrainer/nntrainer PR #3982",
        results(("deberta_bucket",), lambda xp, y: xp.abs(y)),
    ),
    Fault(
        "deberta-parameters-ignored",
        "You use 256 buckets up to 512, whatever is given.",
        "Pass both on.",
        "NVIDIA/TensorRT issue #3370",
        without(("deberta_bucket",), "num_buckets", "max_distance"),
    ),
    Fault(
        "permuted-once",
        "You permute the channels once, wherever the token stands.",
        "Compose the permutation with itself, once more with each position.",
        "PermuteFormer (2109.02377), sec. 3.2",
        _permuted(lambda xp, row, p: (row, xp.where(p != 0, 1, p))),
    ),
    Fault(
        "permuted-backwards",
        "You use the inverse of the permutation.",
        "Position 1 has the permutation itself: e[c] = pi[c].",
        "PermuteFormer (2109.02377), sec. 3.2",
        _permuted(lambda xp, row, p: (row, -p)),
    ),
    Fault(
        "permuted-from-1",
        "You permute the channels of the first token.",
        "Position 0 leaves them in their places.",
        "PermuteFormer (2109.02377), sec. 3.2",
        _permuted(lambda xp, row, p: (row, p + 1)),
    ),
)
