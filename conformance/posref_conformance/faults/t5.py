"""T5's buckets and bias."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import always, arguments, keywords, narrow, replaced, results, without
from posref_conformance.faults._fault import Fault, Functions

BOTH = ("t5_bucket", "t5_bias")


def _buckets(log_bucket: Callable[[Any, Any, int, int, int], Any], *, limit: int | None = 1) -> Any:
    """T5's rule with another logarithm: log_bucket(xp, distance, exact, buckets, max_distance)."""

    def wrong(right: Any, xp: Any) -> Functions:
        def t5_bucket(
            relative_position: Any, *, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128
        ) -> Any:
            n = num_buckets // 2 if bidirectional else num_buckets
            r = xp.astype(relative_position, xp.int64)
            d = xp.abs(r) if bidirectional else xp.where(r < 0, -r, xp.zeros_like(r))
            exact = n // 2
            large = xp.astype(
                log_bucket(xp, xp.astype(xp.where(d > 0, d, 1), xp.float64), exact, n, max_distance), xp.int64
            )
            large = large if limit is None else xp.where(large > n - limit, n - limit, large)
            bucket = xp.where(d < exact, d, large)
            return bucket + n * xp.astype(r > 0, xp.int64) if bidirectional else bucket

        return {"t5_bucket": t5_bucket}

    return wrong


def _log(xp: Any, d: Any, exact: int, n: int, most: int) -> Any:
    return exact + xp.floor(xp.log(d / exact) / math.log(most / exact) * (n - exact))


def _log_in(dtype: str) -> Any:
    def log(xp: Any, d: Any, exact: int, n: int, most: int) -> Any:
        def short(y: Any) -> Any:
            return narrow(xp, y, dtype)

        ratio = short(short(xp.log(short(short(d) / exact))) / math.log(most / exact))
        return exact + xp.floor(short(ratio * (n - exact)))

    return log


def _rounded_up(xp: Any, d: Any, exact: int, n: int, most: int) -> Any:
    return exact + xp.ceil(xp.log(d / exact) / math.log(most / exact) * (n - exact))


def _rounded(xp: Any, d: Any, exact: int, n: int, most: int) -> Any:
    return exact + xp.round(xp.log(d / exact) / math.log(most / exact) * (n - exact))


def _log_of_the_whole(xp: Any, d: Any, exact: int, n: int, most: int) -> Any:
    return exact + xp.floor(xp.log(d / exact) / math.log(most) * (n - exact))


def _not_halved(right: Any, xp: Any) -> Any:
    def t5_bucket(relative_position: Any, *, bidirectional: bool = True, num_buckets: int = 32, **kwargs: Any) -> Any:
        size = 2 * num_buckets if bidirectional else num_buckets
        return right.t5_bucket(relative_position, bidirectional=bidirectional, num_buckets=size, **kwargs)

    return t5_bucket


def _zero_above(right: Any, xp: Any) -> Any:
    def t5_bucket(relative_position: Any, *, bidirectional: bool = True, num_buckets: int = 32, **kwargs: Any) -> Any:
        y = right.t5_bucket(relative_position, bidirectional=bidirectional, num_buckets=num_buckets, **kwargs)
        return xp.where(relative_position == 0, num_buckets // 2, y) if bidirectional else y

    return t5_bucket


def _future_counted(right: Any, xp: Any) -> Any:
    def t5_bucket(relative_position: Any, *, bidirectional: bool = True, **kwargs: Any) -> Any:
        r = relative_position if bidirectional else -xp.abs(relative_position)
        return right.t5_bucket(r, bidirectional=bidirectional, **kwargs)

    return t5_bucket


def _one_less(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**kwargs, "max_distance": kwargs.get("max_distance", 128) - 1}


def _one_fewer(xp: Any, d: Any, exact: int, n: int, most: int) -> Any:
    return exact + xp.floor(xp.log(d / exact) / math.log(most / exact) * (n - exact - 1))


def _other_side(right: Any, xp: Any) -> Functions:
    def t5_bias(table: Any, q_positions: Any, k_positions: Any, **kwargs: Any) -> Any:
        return xp.matrix_transpose(right.t5_bias(table, k_positions, q_positions, **kwargs))

    return {"t5_bias": t5_bias, **arguments({"t5_bucket": (0,)}, lambda xp, r: -r)(right, xp)}


def _one_query(change: Callable[[Any, Any], Any]) -> Any:
    """A bias that is changed for a single query: change(xp, right bias as a function of further keywords)."""

    def wrong(right: Any, xp: Any) -> Functions:
        def t5_bias(table: Any, q_positions: Any, k_positions: Any, **kwargs: Any) -> Any:
            if q_positions.shape[-1] != 1:
                return right.t5_bias(table, q_positions, k_positions, **kwargs)
            return change(xp, lambda **other: right.t5_bias(table, q_positions, k_positions, **{**kwargs, **other}))

        return {"t5_bias": t5_bias}

    return wrong


def _flat(right: Any, xp: Any) -> Functions:
    def t5_bias(table: Any, q_positions: Any, k_positions: Any, **kwargs: Any) -> Any:
        y = right.t5_bias(table, q_positions, k_positions, **kwargs)
        n = y.ndim
        return xp.reshape(xp.permute_dims(y, (*range(n - 3), n - 2, n - 1, n - 3)), y.shape)

    return {"t5_bias": t5_bias}


FAULTS = (
    Fault(
        "t5-buckets-without-limit",
        "You do not stop at the last bucket: far tokens fall into buckets of the other side, or beyond the table.",
        "Take the minimum with the last bucket of the side.",
        "huggingface/candle PR #1312",
        _buckets(_log, limit=None),
    ),
    Fault(
        "t5-log-in-bfloat16",
        "You compute the logarithm of the buckets in bfloat16: some distances fall into the next one.",
        "Compute it in float32.",
        "mindspore-lab/mindone PR #670",
        _buckets(_log_in("bfloat16")),
    ),
    Fault(
        "t5-log-in-float16",
        "You compute the logarithm of the buckets in float16: some distances fall into the next one.",
        "Compute it in float32.",
        "mindspore-lab/mindone PR #670",
        _buckets(_log_in("float16")),
    ),
    Fault(
        "t5-log-rounded-up",
        "You round the logarithm of the buckets up.",
        "Round down.",
        "huggingface/candle PR #1312",
        _buckets(_rounded_up),
    ),
    Fault(
        "t5-log-rounded",
        "You round the logarithm of the buckets to the nearest.",
        "Round down.",
        "huggingface/candle PR #1312",
        _buckets(_rounded),
    ),
    Fault(
        "t5-log-of-max-distance",
        "You divide by ln(max_distance), not by ln(max_distance / exact).",
        "The buckets end where the distance is max_distance: divide by ln(max_distance / exact).",
        "tutorials",
        _buckets(_log_of_the_whole),
    ),
    Fault(
        "t5-buckets-not-halved",
        "You use all buckets for each side of an encoder.",
        "Half of them are for what comes later.",
        "huggingface/transformers PR #8518",
        replaced(t5_bucket=_not_halved),
    ),
    Fault(
        "t5-zero-on-the-other-side",
        "You put distance 0 to the keys after the query.",
        "Only k > q has the upper half of the buckets.",
        "nntrainer/nntrainer PR #3982",
        replaced(t5_bucket=_zero_above),
    ),
    Fault(
        "t5-one-bucket-beyond",
        "You stop one bucket beyond the last.",
        "The last bucket is n - 1.",
        "huggingface/candle PR #1312",
        _buckets(_log, limit=0),
    ),
    Fault(
        "t5-one-bucket-too-few",
        "You spread the logarithm over one bucket too few.",
        "Multiply by the number of buckets beyond the exact ones.",
        "huggingface/candle PR #1312",
        _buckets(_one_fewer),
    ),
    Fault(
        "t5-sign-of-the-distance",
        "You take q - k for k - q: past and future are exchanged.",
        "Pass k - q: keys after the query have the upper half of the buckets.",
        "nntrainer/nntrainer PR #3982",
        _other_side,
    ),
    Fault(
        "t5-always-bidirectional",
        "You use the encoder's buckets for the decoder.",
        "A decoder has bidirectional=False: all buckets are for the past.",
        "huggingface/transformers PR #8518; guillaume-be/rust-bert PR #171",
        without(BOTH, "bidirectional"),
    ),
    Fault(
        "t5-never-bidirectional",
        "You use the decoder's buckets for the encoder.",
        "An encoder has bidirectional=True: half of the buckets are for what comes later.",
        "huggingface/transformers PR #8518",
        always(BOTH, bidirectional=False),
    ),
    Fault(
        "t5-max-distance-ignored",
        "You use max_distance 128 whatever is given.",
        "Pass it on.",
        "NVIDIA/TensorRT issue #3370",
        without(BOTH, "max_distance"),
    ),
    Fault(
        "t5-num-buckets-ignored",
        "You use 32 buckets whatever is given.",
        "Use the rows of the table.",
        "NVIDIA/TensorRT issue #3370",
        without(("t5_bucket",), "num_buckets"),
    ),
    Fault(
        "t5-another-rule-at-decode",
        "You use the other rule of buckets for a single query.",
        "Use the same rule in all phases: a decode step is the last row of the whole bias.",
        "NVIDIA/TensorRT-LLM issue #1343",
        _one_query(lambda xp, bias: bias(bidirectional=True)),
    ),
    Fault(
        "t5-no-bias-at-decode",
        "You leave out the bias for a single query.",
        "Add it with a cache, too.",
        "NVIDIA/TensorRT-LLM PR #13870",
        _one_query(lambda xp, bias: 0 * bias()),
    ),
    Fault(
        "t5-heads-last",
        "You read a (q, k, heads) table as (heads, q, k).",
        "Move the axis of the heads; do not reshape.",
        "huggingface/transformers PR #4499",
        _flat,
    ),
    Fault(
        "t5-bias-negated",
        "You subtract the bias.",
        "Add the table's rows as they are.",
        "huggingface/transformers PR #4499",
        results(("t5_bias",), lambda xp, y: -y),
    ),
    Fault(
        "t5-table-reversed",
        "You read the table from its end.",
        "Bucket b is row b.",
        "nntrainer/nntrainer PR #3982",
        arguments({"t5_bias": (0,)}, lambda xp, table: xp.flip(table, axis=0)),
    ),
    Fault(
        "t5-future-counted",
        "You give future keys a decoder's buckets by their distance.",
        "In a decoder they are all in bucket 0: max(q - k, 0), not |q - k|.",
        "tutorials",
        replaced(t5_bucket=_future_counted),
    ),
    Fault(
        "t5-max-distance-one-less",
        "You take max_distance - 1 for max_distance.",
        "The logarithm is that of max_distance / exact itself.",
        "tutorials",
        keywords(("t5_bucket",), _one_less),
    ),
)
