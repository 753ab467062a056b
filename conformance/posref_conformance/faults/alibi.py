"""ALiBi: its slopes, and the distance that they multiply."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import (
    KEYS,
    QUERIES,
    always,
    arguments,
    counted,
    keywords,
    numbers,
    positions,
    replaced,
    results,
    without,
)
from posref_conformance.faults._fault import Fault, Functions

BIAS = ("alibi_bias",)
ALIBI_QUERIES = {"alibi_bias": QUERIES["alibi_bias"]}


def _slopes(change: Callable[[Any, int], list[float]]) -> Any:
    """``change(right, heads)`` gives the slopes as a list."""

    def make(right: Any, xp: Any) -> Any:
        return lambda num_heads: numbers(xp, change(right, num_heads))

    return replaced(alibi_slopes=make)


def _list(right: Any, heads: int) -> list[float]:
    return [float(m) for m in right.alibi_slopes(heads)]


def _padded(right: Any, heads: int) -> list[float]:
    return _list(right, 2 ** math.ceil(math.log2(heads)))


def _local(right: Any, heads: int) -> list[float]:
    return _list(right, heads) if heads % 2 else 2 * _list(right, heads // 2)


def _from_one(heads: int) -> list[float]:
    return [2.0 ** (-8.0 * h / heads) for h in range(heads)]


def _power(heads: int) -> int:
    return int(2 ** math.floor(math.log2(heads)))


def _below(right: Any, heads: int) -> list[float]:
    return _list(right, _power(heads))


def _more(right: Any, heads: int) -> list[float]:
    return _list(right, 2 * _power(heads))


def _first_of_more(right: Any, heads: int) -> list[float]:
    return _padded(right, heads)[:heads]


def _zero_at_decode(right: Any, xp: Any) -> Functions:
    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any, *, form: str = "distance") -> Any:
        y = right.alibi_bias(slopes, q_positions, k_positions, form=form)
        return 0 * y if q_positions.shape[-1] == 1 else y

    return {"alibi_bias": alibi_bias}


def _heads_before_batch(right: Any, xp: Any) -> Functions:
    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any, **kwargs: Any) -> Any:
        y = right.alibi_bias(slopes, q_positions, k_positions, **kwargs)
        if y.ndim != 4:
            return y
        return xp.reshape(xp.permute_dims(y, (1, 0, 2, 3)), y.shape)

    return {"alibi_bias": alibi_bias}


def _ends_aligned(right: Any, xp: Any) -> Functions:
    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any, **kwargs: Any) -> Any:
        last = max(k_positions.shape[-1] - q_positions.shape[-1], 0)
        q = xp.astype(counted(xp, q_positions) + last, q_positions.dtype)
        return right.alibi_bias(slopes, q, k_positions, **kwargs)

    return {"alibi_bias": alibi_bias}


def _future_zero(right: Any, xp: Any) -> Functions:
    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any, *, form: str = "distance") -> Any:
        y = right.alibi_bias(slopes, q_positions, k_positions, form=form)
        future = q_positions[..., None, :, None] < k_positions[..., None, None, :]
        return xp.where(future, xp.zeros_like(y), y)

    return {"alibi_bias": alibi_bias}


def _transposed(xp: Any, y: Any) -> Any:
    return xp.reshape(xp.matrix_transpose(y), y.shape)


def _exchanged(right: Any, xp: Any) -> Functions:
    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any, **kwargs: Any) -> Any:
        y = right.alibi_bias(slopes, k_positions, q_positions, **kwargs)
        return xp.matrix_transpose(y)

    return {"alibi_bias": alibi_bias}


def _distances(formula: Callable[[Any, Any], Any]) -> Any:
    """-m times another distance: ``formula(xp, q - k)``."""

    def make(right: Any, xp: Any) -> Any:
        def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any) -> Any:
            q, k = xp.astype(q_positions, xp.float64), xp.astype(k_positions, xp.float64)
            d = formula(xp, q[..., None, :, None] - k[..., None, None, :])
            return xp.astype(-xp.astype(slopes, xp.float64)[:, None, None] * d, slopes.dtype)

        return alibi_bias

    return replaced(alibi_bias=make)


def _other_form(k: dict[str, Any]) -> dict[str, Any]:
    return {**k, "form": {"distance": "key", "signed": "distance", "key": "signed"}[k.get("form", "distance")]}


FAULTS = (
    Fault(
        "alibi-slopes-padded",
        "You return the slopes of the next power of two, too many of them.",
        "Take the power of two below, then every second slope of the power above, n in all.",
        "huggingface/transformers PR #28380",
        _slopes(_padded),
    ),
    Fault(
        "alibi-slopes-cut",
        "You take the first n slopes of the next power of two.",
        "Take the power of two below, then every second slope of the power above.",
        "huggingface/transformers PR #28380; ml-explore/mlx issue #343; ml-explore/mlx PR #3071",
        _slopes(_first_of_more),
    ),
    Fault(
        "alibi-slopes-both-from-one",
        "You start both sequences of slopes at 1; they start at 2**(-8/n) for a power of two n.",
        "Count the heads from 1: 2**(-8 h / n), h = 1 .. n.",
        "paiml/aprender PR #2143",
        _slopes(
            lambda right, heads: _from_one(_power(heads)) + _from_one(2 * _power(heads))[::2][: heads - _power(heads)]
        ),
    ),
    Fault(
        "alibi-slopes-even",
        "You take the second, fourth, ... slope of the power above; those are the ones you have.",
        "Take the first, third, ... one.",
        "ml-explore/mlx issue #343",
        _slopes(lambda right, heads: _below(right, heads) + _more(right, heads)[1::2][: heads - _power(heads)]),
    ),
    Fault(
        "alibi-slopes-not-every-second",
        "You take the first slopes of the power above, not every second one.",
        "Take the first, third, ... one.",
        "ml-explore/mlx issue #343",
        _slopes(lambda right, heads: _below(right, heads) + _more(right, heads)[: heads - _power(heads)]),
    ),
    Fault(
        "alibi-slopes-rooted",
        "Your slopes are the square roots of the right ones.",
        "The exponents are -8h/n.",
        "tutorials",
        _slopes(lambda right, heads: [math.sqrt(m) for m in _list(right, heads)]),
    ),
    Fault(
        "alibi-slopes-of-a-rank",
        "You start the slopes again at head 0 on each rank.",
        "Slice the slopes of all heads: a rank's first head is not head 0.",
        "bigscience-workshop/Megatron-DeepSpeed issue #227; flashinfer-ai/flashinfer issue #1606; "
        "flashinfer-ai/flashinfer PR #5101",
        _slopes(_local),
    ),
    Fault(
        "alibi-slopes-sorted",
        "You sort the slopes of a number of heads that is no power of two.",
        "The slopes of the second sequence come after those of the first: each head keeps its own.",
        "ml-explore/mlx PR #3071",
        _slopes(lambda right, heads: sorted(_list(right, heads), reverse=True)),
    ),
    Fault(
        "alibi-slopes-reversed",
        "You give the slopes in the opposite order: the last head has the steepest.",
        "The first slope is the largest of its sequence.",
        "tutorials",
        _slopes(lambda right, heads: _list(right, heads)[::-1]),
    ),
    Fault(
        "alibi-slopes-of-8-heads",
        "Your exponents go in steps of 1, whatever the number of heads.",
        "The step is 8/n for n heads: 2**(-8h/n).",
        "paiml/aprender PR #2143",
        _slopes(lambda right, heads: [2.0**-h for h in range(1, heads + 1)]),
    ),
    Fault(
        "alibi-heads-reversed",
        "You give each head the slope of another.",
        "Head h has slope h.",
        "huggingface/transformers PR #17866",
        arguments({"alibi_bias": (0,)}, lambda xp, slopes: xp.flip(slopes, axis=0)),
    ),
    Fault(
        "alibi-one-slope-for-all",
        "You use the first slope for all heads.",
        "Each head has its own.",
        "tutorials",
        arguments({"alibi_bias": (0,)}, lambda xp, slopes: xp.broadcast_to(slopes[:1], slopes.shape)),
    ),
    Fault(
        "alibi-heads-before-batch",
        "You lay out heads before the batch: rows of the batch get each other's heads.",
        "The result is (batch, heads, q, k).",
        "huggingface/transformers PR #17866",
        _heads_before_batch,
    ),
    Fault(
        "alibi-zero-at-decode",
        "Your bias is zero for a single query.",
        "Build it over the keys: the query is at its own position, not at 0 of 1.",
        "keras-team/keras-hub PR #2977; keras-team/keras-hub PR #2862; keras-team/keras-hub issue #2861",
        _zero_at_decode,
    ),
    Fault(
        "bias-queries-from-0",
        "You count the queries from 0, though they come after keys.",
        "Use the queries' positions: with a cache they start at k_len - q_len.",
        "lucidrains/rotary-embedding-torch PR #2; NVIDIA/TransformerEngine issue #1046; RobertCsordas/moeut PR #6; "
        "keras-team/keras-hub PR #2977",
        positions(counted, QUERIES),
    ),
    Fault(
        "bias-keys-from-0",
        "You count the keys from 0 whatever their positions are.",
        "Use the keys' positions.",
        "NVIDIA/TransformerEngine issue #1046",
        positions(counted, KEYS),
    ),
    Fault(
        "alibi-ends-aligned",
        "You take the queries for the last of the keys, whatever their positions are.",
        "Use the queries' positions.",
        "lucidrains/rotary-embedding-torch PR #2",
        _ends_aligned,
    ),
    Fault(
        "bias-queries-one-off",
        "You put the queries one position too far.",
        "A query at position p is at distance 0 from the key at p.",
        "RobertCsordas/moeut PR #6",
        positions(lambda xp, p: p + 1, QUERIES),
    ),
    Fault(
        "alibi-row-constant-left-out",
        "You use slope * k: right below a causal softmax alone, where a row's constant cancels.",
        "Use -slope * |q - k|, or say form='key'.",
        "ofirpress/attention_with_linear_biases issue #5; Dao-AILab/flash-attention issue #796; "
        "Dao-AILab/flash-attention issue #1585",
        always(BIAS, form="key"),
    ),
    Fault(
        "alibi-sign-of-the-future",
        "You do not take the distance's absolute value: future keys get a bonus.",
        "Use -slope * |q - k| where there is no causal mask.",
        "ofirpress/attention_with_linear_biases issue #5",
        always(BIAS, form="signed"),
    ),
    Fault(
        "alibi-future-zero",
        "Your bias is zero for future keys.",
        "They are at a distance as well: -slope * |q - k|.",
        "ofirpress/attention_with_linear_biases issue #5",
        _future_zero,
    ),
    Fault(
        "alibi-distance-squared",
        "You square the distance.",
        "The bias is linear in it: -slope * |q - k|.",
        "tutorials",
        _distances(lambda xp, d: d * d),
    ),
    Fault(
        "alibi-distance-from-1",
        "You count the distance from 1: a token is at distance 1 from itself.",
        "A query at position p is at distance 0 from the key at p.",
        "tutorials",
        _distances(lambda xp, d: xp.abs(d) + 1),
    ),
    Fault(
        "alibi-logarithm",
        "You take the logarithm of the distance.",
        "The bias is linear in it: -slope * |q - k|.",
        "tutorials",
        _distances(lambda xp, d: xp.log1p(xp.abs(d))),
    ),
    Fault(
        "alibi-form-ignored",
        "You return -slope * |q - k| whatever form is asked for.",
        "Follow form.",
        "ofirpress/attention_with_linear_biases issue #5",
        without(BIAS, "form"),
    ),
    Fault(
        "alibi-forms-mixed-up",
        "You mix up the forms of the bias.",
        "Return -m|q - k| for 'distance', -m(q - k) for 'signed', m k for 'key'.",
        "ofirpress/attention_with_linear_biases issue #5",
        keywords(BIAS, _other_form),
    ),
    Fault(
        "alibi-queries-and-keys-exchanged",
        "You exchange queries and keys.",
        "The result is (heads, q, k) of k - q.",
        "tutorials",
        _exchanged,
    ),
    Fault(
        "alibi-scaled-with-the-logits",
        "You divide the bias by sqrt(d) together with the logits.",
        "Add it after the logits are scaled.",
        "tutorials",
        results(BIAS, lambda xp, y: y / 8),
    ),
    Fault(
        "alibi-distance-truncated",
        "You cut off the fractions of positions.",
        "Keep positions real: -slope * |q - k| of what is given.",
        "tutorials",
        positions(lambda xp, p: xp.trunc(p), {"alibi_bias": (1, 2)}),
    ),
    Fault(
        "alibi-distance-limited",
        "You limit the distance to 256 tokens.",
        "The bias goes on falling: -slope * |q - k|.",
        "tutorials",
        _distances(lambda xp, d: xp.clip(xp.abs(d), 0, 256)),
    ),
)
