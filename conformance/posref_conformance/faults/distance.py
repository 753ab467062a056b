"""Remapped distances, xPos, FoPE, PoPE, linear attention, packed positions, permuted weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import OUTER, keywords, numbers, replaced, results, without
from posref_conformance.faults._fault import Fault, Functions

OTHER = {"half": "interleaved", "interleaved": "half"}


def _outer(xp: Any, q: Any, k: Any) -> tuple[Any, Any]:
    q, k = xp.astype(q, xp.int64), xp.astype(k, xp.int64)
    return q[..., :, None], k[..., None, :]


def _distances(*names: str) -> Callable[..., Any]:
    """Functions of q and k whose distance is exchanged for another: ``change(xp, q, k, right)``."""

    def make(change: Callable[[Any, Any, Any, Callable[..., Any]], Any]) -> Any:
        def wrong(right: Any, xp: Any) -> Functions:
            def of(name: str) -> Callable[..., Any]:
                f = getattr(right, name)
                return lambda q, k, *args, **kwargs: change(xp, q, k, lambda a, b: f(a, b, *args, **kwargs))

            return {name: of(name) for name in names}

        return wrong

    return make


def _exchanged(xp: Any, q: Any, k: Any, f: Callable[..., Any]) -> Any:
    return xp.matrix_transpose(f(k, q))


def _plain(xp: Any, q: Any, k: Any, f: Callable[..., Any]) -> Any:
    a, b = _outer(xp, q, k)
    return xp.astype(a - b, xp.float64)


def _rerope(formula: Callable[..., Any]) -> Any:
    """ReRoPE by ``formula(xp, distance, window, factor)``."""

    def make(right: Any, xp: Any) -> Any:
        def rerope_distance(q_positions: Any, k_positions: Any, window: int, *, factor: float | None = None) -> Any:
            q, k = _outer(xp, q_positions, k_positions)
            return formula(xp, xp.astype(q - k, xp.float64), window, factor)

        return rerope_distance

    return replaced(rerope_distance=make)


def _group_of_difference(right: Any, xp: Any) -> Any:
    def self_extend_distance(
        q_positions: Any, k_positions: Any, group_size: int, window: int, *, shift: str = "exact"
    ) -> Any:
        q, k = _outer(xp, q_positions, k_positions)
        ahead = window - (window // group_size if shift == "floor" else window / group_size)
        d = xp.astype(q - k, xp.float64)
        return xp.where(d < window, d, xp.floor(d / group_size) + ahead)

    return self_extend_distance


def _without_shift(right: Any, xp: Any) -> Any:
    def self_extend_distance(q_positions: Any, k_positions: Any, group_size: int, window: int) -> Any:
        q, k = _outer(xp, q_positions, k_positions)
        d = q - k
        return xp.astype(xp.where(d < window, d, q // group_size - k // group_size), xp.float64)

    return self_extend_distance


def _cumulative(right: Any, xp: Any) -> Any:
    def cu_seqlens_positions(cu_seqlens: Any) -> Any:
        return xp.arange(int(cu_seqlens[-1]))

    return cu_seqlens_positions


def _heads(change: Callable[[int, int], int]) -> Any:
    """A permutation by ``change(heads, rows)`` heads; where rows do not divide, as one head."""

    def make(right: Any, xp: Any) -> Any:
        def rope_permute_weight(weight: Any, num_heads: int, *, to: str = "half") -> Any:
            heads = change(num_heads, weight.shape[0])
            if weight.shape[0] % (2 * heads):
                heads = 1
            return right.rope_permute_weight(weight, heads, to=to)

        return rope_permute_weight

    return replaced(rope_permute_weight=make)


def _other_direction(k: dict[str, Any]) -> dict[str, Any]:
    return {**k, "to": OTHER[k.get("to", "half")]}


def _magnitude(change: Callable[[Any, Any], Any]) -> Any:
    """PoPE with another magnitude than softplus: ``change(xp, x)``."""

    def make(right: Any, xp: Any) -> Any:
        def pope_apply(x: Any, positions: Any, *, base: float = 10000.0) -> Any:
            cos, sin = right.rope_table(positions, 2 * x.shape[-1], base=base)
            work = xp.float64 if x.dtype == xp.float64 else xp.float32
            length = change(xp, xp.astype(x, work))
            parts = [length * xp.astype(t, work) for t in (cos, sin)]
            return xp.astype(xp.concat(parts, axis=-1), x.dtype)

        return pope_apply

    return replaced(pope_apply=make)


def _pope_interleaved(xp: Any, y: Any) -> Any:
    half = y.shape[-1] // 2
    return xp.reshape(xp.stack([y[..., :half], y[..., half:]], axis=-1), y.shape)


def _not_divided(right: Any, xp: Any) -> Any:
    def xpos_scale(positions: Any, dim: int, **kwargs: Any) -> Any:
        y = right.xpos_scale(positions, dim, **kwargs)
        logs = [math.log((2 * i / dim + 0.4) / 1.4) for i in range(dim // 2)]
        return y ** (numbers(xp, [(log + math.log(1.4)) / log for log in logs]) + 0 * y)

    return xpos_scale


def _coefficients_exchanged(right: Any, xp: Any) -> Functions:
    def fope_cos_sin(positions: Any, inv_freq: Any, cos_coef: Any, sin_coef: Any, pairs: int, **kwargs: Any) -> Any:
        return right.fope_cos_sin(positions, inv_freq, sin_coef, cos_coef, pairs, **kwargs)

    return {"fope_cos_sin": fope_cos_sin}


def _as_rope(right: Any, xp: Any) -> Functions:
    def fope_cos_sin(positions: Any, inv_freq: Any, cos_coef: Any, sin_coef: Any, pairs: int, **kwargs: Any) -> Any:
        one = xp.eye(cos_coef.shape[-2], cos_coef.shape[-1], dtype=cos_coef.dtype)
        same = xp.astype(xp.broadcast_to(one, cos_coef.shape), cos_coef.dtype)
        return right.fope_cos_sin(positions, inv_freq, same, same, pairs, **kwargs)

    return {"fope_cos_sin": fope_cos_sin}


def _not_rotated(k: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in k.items() if name not in ("q_positions", "k_positions", "inv_freq", "layout")
    }


FAULTS = (
    Fault(
        "remapped-queries-and-keys-exchanged",
        "You take k - q for q - k.",
        "The distance is the query's position minus the key's.",
        "bojone/rerope issue #17",
        _distances(*OUTER)(_exchanged),
    ),
    Fault(
        "distance-not-remapped",
        "You return the plain distance.",
        "Beyond the window it grows more slowly, or not at all.",
        "bojone/rerope issue #17",
        _distances(*OUTER)(_plain),
    ),
    Fault(
        "rerope-factor-ignored",
        "You stop the distance at the window, though a factor is given.",
        "Beyond the window it grows by 1/factor.",
        "bojone/rerope issue #17",
        without(("rerope_distance",), "factor"),
    ),
    Fault(
        "rerope-jumps-at-the-window",
        "You divide the whole distance by factor beyond the window: it jumps there.",
        "Divide what is beyond the window: w + (d - w) / factor.",
        "bojone/rerope issue #17",
        _rerope(lambda xp, d, w, s: xp.where(d < w, d, w + 0 * d if s is None else d / s)),
    ),
    Fault(
        "rerope-absolute",
        "You bound the distance to keys after the query, too.",
        "Only distances beyond the window change.",
        "bojone/rerope issue #17",
        _rerope(lambda xp, d, w, s: xp.clip(d, -w, w) if s is None else xp.where(d < w, d, w + (d - w) / s)),
    ),
    Fault(
        "self-extend-groups-of-the-difference",
        "You group the difference; queries and keys are grouped each for itself.",
        "Take q // G - k // G.",
        "Self-Extend (2401.01325), sec. 3",
        replaced(self_extend_distance=_group_of_difference),
    ),
    Fault(
        "self-extend-without-shift",
        "You do not move the grouped distances: they start again below the window.",
        "Add w - w / G.",
        "Self-Extend (2401.01325), sec. 3",
        replaced(self_extend_distance=_without_shift),
    ),
    Fault(
        "self-extend-shift-ignored",
        "You move the grouped distances by w - w / G whatever shift is asked for.",
        "Add w - w // G for shift='floor'.",
        "Self-Extend (2401.01325), sec. 3",
        without(("self_extend_distance",), "shift"),
    ),
    Fault(
        "dual-chunk-critical-ignored",
        "You bound distances between chunks, though critical is asked for.",
        "Follow critical.",
        "Dual chunk attention (2402.17463), sec. 3",
        without(("dual_chunk_distance",), "critical"),
    ),
    Fault(
        "xpos-not-divided",
        "You do not divide the base of the scale by 1.4.",
        "It is (2i/d + 0.4) / 1.4, which reaches 1 at the last pair.",
        "LeX (2212.10554), sec. 3",
        replaced(xpos_scale=_not_divided),
    ),
    Fault(
        "xpos-inverted",
        "You divide by the scale of the queries where you multiply, or exchange queries and keys.",
        "Multiply the queries by the scale and the keys by its inverse.",
        "LeX (2212.10554), sec. 3",
        results(("xpos_scale",), lambda xp, y: 1 / y),
    ),
    Fault(
        "xpos-scale-base-ignored",
        "You use scale_base 512 whatever is given.",
        "Pass it on.",
        "LeX (2212.10554), sec. 3",
        without(("xpos_scale",), "scale_base"),
    ),
    Fault(
        "xpos-from-0",
        "You count xPos from position 0, not from the middle.",
        "Subtract the centre: half of the length unless another one is given.",
        "LeX (2212.10554), sec. 3",
        keywords(("xpos_scale",), lambda k: {**{n: v for n, v in k.items() if n != "length"}, "centre": 0.0}),
    ),
    Fault(
        "fope-coefficients-exchanged",
        "You mix cosines with the coefficients of the sines.",
        "Each has its own coefficients.",
        "FoPE (2412.17739), sec. 3",
        _coefficients_exchanged,
    ),
    Fault(
        "fope-not-mixed",
        "You leave the coefficients out: this is rotary encoding.",
        "Multiply the cosines and sines by the matrices.",
        "FoPE (2412.17739), sec. 3",
        _as_rope,
    ),
    Fault(
        "fope-padding-ignored",
        "You pad the sines with 1 whatever is asked for.",
        "Follow pad_sin.",
        "FoPE (2412.17739), sec. 3",
        without(("fope_cos_sin",), "pad_sin"),
    ),
    Fault(
        "pope-relu",
        "You use relu for softplus.",
        "The magnitude is ln(1 + exp(x)).",
        "PoPE (2509.10534), sec. 3",
        _magnitude(lambda xp, x: xp.where(x > 0, x, xp.zeros_like(x))),
    ),
    Fault(
        "pope-not-positive",
        "You use x itself for the magnitude: its sign turns the angle.",
        "The magnitude is ln(1 + exp(x)).",
        "PoPE (2509.10534), sec. 3",
        _magnitude(lambda xp, x: x),
    ),
    Fault(
        "pope-bias-ignored",
        "You leave out the bias of the angles.",
        "Add it, between -2 pi and 0.",
        "PoPE (2509.10534), sec. 3",
        without(("pope_apply",), "bias"),
    ),
    Fault(
        "pope-interleaved",
        "You alternate cosines and sines.",
        "Cosines come first, then the sines.",
        "PoPE (2509.10534), sec. 3",
        results(("pope_apply",), _pope_interleaved),
    ),
    Fault(
        "linear-attention-not-rotated",
        "You do not rotate queries and keys.",
        "Rotate them after the feature map, in the numerator alone.",
        "RoFormer (2104.09864), eq. 19",
        keywords(("linear_attention",), _not_rotated),
    ),
    Fault(
        "linear-attention-feature-ignored",
        "You use elu(x) + 1 whatever feature map is asked for.",
        "Follow feature.",
        "RoFormer (2104.09864), eq. 19",
        without(("linear_attention",), "feature"),
    ),
    Fault(
        "packed-positions-run-on",
        "You count on where a new sequence begins.",
        "Start again at 0 for each sequence.",
        "huggingface/nanoVLM issue #201; huggingface/nanoVLM PR #204; pytorch/torchtitan PR #2560",
        replaced(cu_seqlens_positions=_cumulative),
    ),
    Fault(
        "packed-positions-from-1",
        "You start each sequence at 1.",
        "Start at 0.",
        "huggingface/sentence-transformers PR #3879",
        results(("cu_seqlens_positions",), lambda xp, y: y + 1),
    ),
    Fault(
        "weight-permuted-with-other-heads",
        "You permute with another number of heads: with grouped queries, keys have fewer.",
        "Permute the keys' weight with num_key_value_heads.",
        "ggml-org/llama.cpp PR #3364; ggml-org/llama.cpp issue #3018; jzhang38/TinyLlama issue #24; "
        "huggingface/transformers PR #31788; huggingface/transformers issue #31766",
        _heads(lambda heads, rows: 1 if heads > 1 else 5 if rows % 10 == 0 else 3),
    ),
    Fault(
        "weight-permuted-the-other-way",
        "You permute in the other direction.",
        "To halves: even rows first, then odd ones. To interleaved: back.",
        "huggingface/transformers PR #31788",
        keywords(("rope_permute_weight",), _other_direction),
    ),
    Fault(
        "weight-not-permuted",
        "You leave the weight as it is.",
        "A checkpoint of the other layout needs its rows in another order.",
        "huggingface/candle issue #3410",
        replaced(rope_permute_weight=lambda right, xp: lambda weight, num_heads, **k: xp.asarray(weight, copy=True)),
    ),
    Fault(
        "weight-rest-permuted",
        "You permute the rows that do not rotate, too.",
        "Permute the rotary_dim rows from offset on.",
        "ggml-org/llama.cpp PR #3364",
        without(("rope_permute_weight",), "rotary_dim"),
    ),
)
