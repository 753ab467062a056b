"""Factors on the logits, and plain and linear attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import arguments, keywords, positions, replaced, results, without
from posref_conformance.faults._fault import Fault, Functions


def _scaled(change: Callable[[float, int], float]) -> Any:
    """Attention whose scale is ``change(right scale, channels)``."""

    def wrong(right: Any, xp: Any) -> Functions:
        def attention(q: Any, k: Any, v: Any, *, scale: float | None = None, **kwargs: Any) -> Any:
            own = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
            return right.attention(q, k, v, scale=change(own, q.shape[-1]), **kwargs)

        return {"attention": attention}

    return wrong


def _bias_scaled(right: Any, xp: Any) -> Functions:
    def attention(q: Any, k: Any, v: Any, *, bias: Any = None, scale: float | None = None, **kwargs: Any) -> Any:
        own = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
        return right.attention(q, k, v, bias=None if bias is None else bias * own, scale=scale, **kwargs)

    return {"attention": attention}


def _by_the_keys(right: Any, xp: Any) -> Functions:
    def attention(q: Any, k: Any, v: Any, *, scale: float | None = None, **kwargs: Any) -> Any:
        own = max(k.shape[-2], 1) ** -0.5 if scale is None else scale
        return right.attention(q, k, v, scale=own, **kwargs)

    return {"attention": attention}


def _weighted(weights_of: Callable[[Any, Any], Any]) -> Any:
    """Attention by ``weights_of(xp, logits)``; what is hidden has the logit -inf."""

    def make(right: Any, xp: Any) -> Any:
        def attention(q: Any, k: Any, v: Any, *, bias: Any = None, mask: Any = None, scale: float | None = None) -> Any:
            a, b, c = (xp.astype(t, xp.float64) for t in (q, k, v))
            logits = (q.shape[-1] ** -0.5 if scale is None else scale) * (a @ xp.matrix_transpose(b))
            logits = logits if bias is None else logits + bias
            logits = logits if mask is None else xp.where(mask, logits, -math.inf)
            return xp.astype(weights_of(xp, logits) @ c, q.dtype)

        return attention

    return replaced(attention=make)


def _over_the_queries(xp: Any, logits: Any) -> Any:
    total = xp.sum(xp.exp(logits), axis=-2, keepdims=True)
    return xp.exp(logits) / xp.where(total > 0, total, xp.ones_like(total))


def _not_normalised(xp: Any, logits: Any) -> Any:
    return xp.exp(logits)


def _mask_added(right: Any, xp: Any) -> Functions:
    def attention(q: Any, k: Any, v: Any, *, bias: Any = None, mask: Any = None, **kwargs: Any) -> Any:
        added = None if mask is None else xp.astype(mask, q.dtype)
        both = added if bias is None else bias if added is None else bias + added
        return right.attention(q, k, v, bias=both, **kwargs)

    return {"attention": attention}


def _nan_without_keys(right: Any, xp: Any) -> Functions:
    def attention(q: Any, k: Any, v: Any, *, mask: Any = None, **kwargs: Any) -> Any:
        y = right.attention(q, k, v, mask=mask, **kwargs)
        return y if mask is None else xp.where(xp.any(mask, axis=-1)[..., None], y, y * math.nan)

    return {"attention": attention}


def _mean_without_keys(right: Any, xp: Any) -> Functions:
    def attention(q: Any, k: Any, v: Any, *, mask: Any = None, **kwargs: Any) -> Any:
        if mask is not None:
            empty = ~xp.any(mask, axis=-1)[..., None]
            mask, q = mask | empty, xp.where(empty, xp.zeros_like(q), q)
        return right.attention(q, k, v, mask=mask, **kwargs)

    return {"attention": attention}


def _llama4(formula: Callable[[Any, Any, float, int, int], Any]) -> Any:
    """Llama 4's factor by ``formula(xp, positions, attn_scale, floor_scale, shift)``."""

    def make(right: Any, xp: Any) -> Any:
        def llama4_scale(positions: Any, *, attn_scale: float = 0.1, floor_scale: int = 8192, shift: int = 1) -> Any:
            return formula(xp, xp.astype(positions, xp.float64), attn_scale, floor_scale, shift)

        return llama4_scale

    return replaced(llama4_scale=make)


def _log_n(formula: Callable[[Any, Any, float], Any]) -> Any:
    """The factor by ``formula(xp, number of keys, trained length)``, before it is clipped."""

    def make(right: Any, xp: Any) -> Any:
        def log_n_scale(positions: Any, trained_length: int, *, clip: bool = True) -> Any:
            y = formula(xp, xp.astype(positions, xp.float64) + 1, float(trained_length))
            return xp.where(y > 1, y, xp.ones_like(y)) if clip else y

        return log_n_scale

    return make


def _ssmax_from_0(right: Any, xp: Any) -> Functions:
    def ssmax_scale(positions: Any, s: Any, **kwargs: Any) -> Any:
        return right.ssmax_scale(xp.where(positions > 0, positions - 1, positions), s, **kwargs)

    return {"ssmax_scale": ssmax_scale}


def _inkling(ratio: Callable[[Any, Any], Any]) -> Any:
    """Inkling's temperature of another ratio: ``ratio(xp, (m + 1) / L)``."""

    def make(right: Any, xp: Any) -> Any:
        def inkling_scale(positions: Any, length: int, *, alpha: float = 0.1) -> Any:
            return 1 + alpha * xp.log(ratio(xp, (xp.astype(positions, xp.float64) + 1) / length))

        return inkling_scale

    return make


def _unlimited(right: Any, xp: Any) -> Any:
    def length_scale(seq_len: int, length: int, *, mscale: float = 1.0) -> float:
        return 1 + 0.1 * mscale * math.log(seq_len / length)

    return length_scale


FAULTS = (
    Fault(
        "attention-not-scaled",
        "You do not divide the logits by sqrt(d).",
        "Multiply q.k by 1/sqrt(d), or by the given scale.",
        "tutorials",
        keywords(("attention",), lambda k: {**k, "scale": k.get("scale", 1.0)}),
    ),
    Fault(
        "attention-scale-squared",
        "You scale the logits twice.",
        "Scale the queries or the logits, once.",
        "tutorials",
        _scaled(lambda scale, d: scale * scale),
    ),
    Fault(
        "attention-scale-ignored",
        "You divide by sqrt(d) whatever scale is given.",
        "A given scale takes its place.",
        "onnxruntime/mobius PR #548",
        without(("attention",), "scale"),
    ),
    Fault(
        "attention-scaled-by-the-keys",
        "You divide the logits by the root of the number of keys.",
        "Divide by the root of the number of channels.",
        "tutorials",
        _by_the_keys,
    ),
    Fault(
        "softmax-over-the-queries",
        "You normalise over the queries.",
        "The weights of a query over all keys sum to 1.",
        "tutorials",
        _weighted(_over_the_queries),
    ),
    Fault(
        "softmax-not-normalised",
        "You exponentiate the logits and do not divide by their sum.",
        "The weights of a query over all keys sum to 1.",
        "tutorials",
        _weighted(_not_normalised),
    ),
    Fault(
        "bias-scaled-with-the-logits",
        "You scale the bias together with the logits.",
        "Add it after the logits are scaled.",
        "tutorials",
        _bias_scaled,
    ),
    Fault(
        "bias-left-out",
        "You leave out the bias.",
        "Add it to the scaled logits.",
        "NVIDIA/TensorRT-LLM PR #13870; huggingface/transformers PR #4499; keras-team/keras-hub PR #2977",
        without(("attention",), "bias"),
    ),
    Fault(
        "mask-inverted",
        "You hide what may be seen.",
        "True is where a query may look.",
        "tutorials",
        keywords(
            ("attention", "linear_attention"), lambda k: {**k, "mask": ~k["mask"]} if k.get("mask") is not None else k
        ),
    ),
    Fault(
        "mask-ignored",
        "You ignore the mask.",
        "Give what must not be seen the weight 0.",
        "tutorials",
        without(("attention", "linear_attention"), "mask"),
    ),
    Fault(
        "mask-added",
        "You add the mask to the logits as 0 and 1.",
        "Give what must not be seen the logit -inf.",
        "tutorials",
        _mask_added,
    ),
    Fault(
        "nan-for-rows-without-keys",
        "You return NaN for a query that may look nowhere.",
        "Its result is zero.",
        "tutorials",
        _nan_without_keys,
    ),
    Fault(
        "mean-for-rows-without-keys",
        "You return the mean of all values for a query that may look nowhere.",
        "Its result is zero.",
        "tutorials",
        _mean_without_keys,
    ),
    Fault(
        "log-n-not-clipped",
        "Your factor falls below 1 within the trained length.",
        "It is 1 there, unless clip is False.",
        "QwenLM/Qwen issue #401",
        keywords(("log_n_scale",), lambda k: {**k, "clip": False}),
    ),
    Fault(
        "log-n-always-clipped",
        "You clip the factor at 1, though clip is False.",
        "Follow clip.",
        "QwenLM/Qwen issue #401",
        without(("log_n_scale",), "clip"),
    ),
    Fault(
        "log-n-log2",
        "You divide the logarithm by ln(2), not by that of the trained length.",
        "Use ln(m + 1) / ln(length).",
        "QwenLM/Qwen issue #401",
        replaced(log_n_scale=_log_n(lambda xp, n, length: xp.log2(n))),
    ),
    Fault(
        "log-n-not-divided",
        "You do not divide by the logarithm of the trained length.",
        "Use ln(m + 1) / ln(length).",
        "QwenLM/Qwen issue #401",
        replaced(log_n_scale=_log_n(lambda xp, n, length: xp.log(n))),
    ),
    Fault(
        "log-n-of-the-quotient",
        "You take the logarithm of a quotient, not the quotient of logarithms.",
        "Use ln(m + 1) / ln(length).",
        "QwenLM/Qwen issue #401",
        replaced(log_n_scale=_log_n(lambda xp, n, length: xp.log(n / length))),
    ),
    Fault(
        "log-n-of-the-position",
        "You take the logarithm of the position, not of the number of keys.",
        "A query at position m sees m + 1 keys.",
        "QwenLM/Qwen issue #401",
        positions(lambda xp, p: xp.where(p > 0, p - 1, p), {"log_n_scale": (0,), "inkling_scale": (0,)}),
    ),
    Fault(
        "ssmax-of-the-position",
        "You take the logarithm of the position, not of the number of keys.",
        "A query at position m sees m + 1 keys.",
        "Scalable-Softmax (2501.19399)",
        _ssmax_from_0,
    ),
    Fault(
        "ssmax-bias-left-out",
        "You leave out the bias of each head.",
        "Add it to s ln(n).",
        "Scalable-Softmax (2501.19399)",
        without(("ssmax_scale",), "bias"),
    ),
    Fault(
        "ssmax-one-head-for-all",
        "You use the first head's s for all.",
        "Each head has its own.",
        "Scalable-Softmax (2501.19399)",
        arguments({"ssmax_scale": (1,)}, lambda xp, s: xp.broadcast_to(s[:1], s.shape)),
    ),
    Fault(
        "llama4-without-floor",
        "Your factor grows with every position.",
        "It grows in steps: floor((position + shift) / floor_scale).",
        "huggingface/transformers PR #37344",
        _llama4(lambda xp, p, c, n, shift: 1 + c * xp.log(1 + (p + shift) / n)),
    ),
    Fault(
        "llama4-without-one",
        "Your factor is the logarithm alone.",
        "Add 1.",
        "huggingface/transformers PR #37344",
        _llama4(lambda xp, p, c, n, shift: c * xp.log(1 + xp.floor((p + shift) / n))),
    ),
    Fault(
        "llama4-log2",
        "You use the logarithm to base 2.",
        "Use the natural one.",
        "huggingface/transformers PR #37344",
        _llama4(lambda xp, p, c, n, shift: 1 + c * xp.log2(1 + xp.floor((p + shift) / n))),
    ),
    Fault(
        "llama4-without-logarithm",
        "Your factor grows with the steps, not with their logarithm.",
        "Take ln(1 + steps).",
        "huggingface/transformers PR #37344",
        _llama4(lambda xp, p, c, n, shift: 1 + c * xp.floor((p + shift) / n)),
    ),
    Fault(
        "llama4-one-off",
        "You count the steps from the other end of shift: they are one position off.",
        "Llama 4 steps at position + 1 = floor_scale, Ministral 3 at position = floor_scale.",
        "huggingface/transformers PR #37344",
        keywords(("llama4_scale",), lambda k: {**k, "shift": 1 - k.get("shift", 1)}),
    ),
    Fault(
        "llama4-parameters-ignored",
        "You use attn_scale 0.1 and floor_scale 8192 whatever is given.",
        "Pass both on.",
        "huggingface/transformers PR #37344",
        without(("llama4_scale",), "attn_scale", "floor_scale"),
    ),
    Fault(
        "inkling-within-the-length",
        "Your factor falls below 1 within the trained length.",
        "It is 1 there: take the logarithm of max(1, (m + 1) / L).",
        "tutorials",
        replaced(inkling_scale=_inkling(lambda xp, ratio: ratio)),
    ),
    Fault(
        "inkling-in-steps",
        "Your factor grows in steps.",
        "It grows with every position: there is no floor.",
        "tutorials",
        replaced(inkling_scale=_inkling(lambda xp, ratio: xp.clip(xp.floor(ratio), 1.0, 2.0**53))),
    ),
    Fault(
        "inkling-without-one",
        "Your factor is the logarithm alone.",
        "Add 1.",
        "tutorials",
        results(("inkling_scale",), lambda xp, y: y - 1),
    ),
    Fault(
        "inkling-alpha-ignored",
        "You use alpha 0.1 whatever is given.",
        "Pass it on.",
        "tutorials",
        without(("inkling_scale",), "alpha"),
    ),
    Fault(
        "length-scale-below-one",
        "Your factor falls below 1 within the trained length.",
        "It is 1 there.",
        "tutorials",
        replaced(length_scale=_unlimited),
    ),
    Fault(
        "length-scale-without-one",
        "Your factor is the logarithm alone.",
        "Add 1.",
        "tutorials",
        results(("length_scale",), lambda xp, y: y - 1),
    ),
    Fault(
        "length-scale-mscale-ignored",
        "You ignore mscale.",
        "Multiply the logarithm by 0.1 mscale.",
        "GaijinEntertainment/daScript PR #3479",
        without(("length_scale",), "mscale"),
    ),
)
