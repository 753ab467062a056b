"""Attention's softmax, and what a bias must leave to it or to the mask."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import replaced
from posref_conformance.faults._fault import Fault, Functions
from posref_conformance.faults.logits import _weighted

LARGEST = math.log(3.4028235e38)  # beyond it exp is infinite in float32


def _normalised(xp: Any, logits: Any, *, more: float = 0.0, forget: bool = False) -> Any:
    """The softmax, with ``more`` in its denominator, or of what float32 makes of exp without the maximum subtracted."""
    if not logits.shape[-1]:
        return logits
    top = xp.max(logits, axis=-1, keepdims=True)
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    e = xp.exp(logits - top)
    total = xp.sum(e, axis=-1, keepdims=True) + more * xp.exp(-top)
    weights = e / xp.where(total > 0, total, xp.ones_like(total))
    return xp.where(top > LARGEST, xp.full_like(weights, math.nan), weights) if forget else weights


def _without_maximum(xp: Any, logits: Any) -> Any:
    return _normalised(xp, logits, forget=True)


def _one_more(xp: Any, logits: Any) -> Any:
    return _normalised(xp, logits, more=1.0)


def _with_bias(change: Callable[[Any, Any, Any], Any]) -> Any:
    """Attention that treats its bias otherwise: ``change(attention without a bias, bias, v)``."""

    def make(right: Any, xp: Any) -> Any:
        def attention(q: Any, k: Any, v: Any, *, bias: Any = None, **kwargs: Any) -> Any:
            if bias is None:
                return right.attention(q, k, v, **kwargs)
            return xp.astype(change(lambda b: right.attention(q, k, v, bias=b, **kwargs), bias, v), q.dtype)

        return attention

    return replaced(attention=make)


def _future_hidden(right: Any, xp: Any) -> Functions:
    def hidden(y: Any, q: Any, k: Any) -> Any:
        future = q[..., None, :, None] < k[..., None, None, :]
        return xp.where(future, xp.full_like(y, -math.inf), y)

    def alibi_bias(slopes: Any, q_positions: Any, k_positions: Any, **kwargs: Any) -> Any:
        return hidden(right.alibi_bias(slopes, q_positions, k_positions, **kwargs), q_positions, k_positions)

    def t5_bias(table: Any, q_positions: Any, k_positions: Any, *, bidirectional: bool = True, **kwargs: Any) -> Any:
        y = right.t5_bias(table, q_positions, k_positions, bidirectional=bidirectional, **kwargs)
        return y if bidirectional else hidden(y, q_positions, k_positions)

    return {"alibi_bias": alibi_bias, "t5_bias": t5_bias}


FAULTS = (
    Fault(
        "softmax-without-maximum",
        "You do not subtract the largest logit before exp: large logits overflow.",
        "Subtract each row's maximum first; the softmax stays the same.",
        "tutorials",
        _weighted(_without_maximum),
    ),
    Fault(
        "softmax-with-one-more",
        "You add one to the sum of the softmax.",
        "The weights of a row have the sum 1; a sink is an argument of another function.",
        "tutorials",
        _weighted(_one_more),
    ),
    Fault(
        "bias-after-the-softmax",
        "You add the bias to the weights, after the softmax.",
        "Add it to the logits.",
        "tutorials",
        _with_bias(lambda attend, bias, v: attend(None) + bias @ v),
    ),
    Fault(
        "bias-subtracted",
        "You subtract the bias from the logits.",
        "Add it: a bias carries its own sign.",
        "tutorials",
        _with_bias(lambda attend, bias, v: attend(-bias)),
    ),
    Fault(
        "bias-hides-the-future",
        "You put -inf on future keys into the bias.",
        "Leave them to the mask: a bias is finite, and serves encoders, too.",
        "tutorials",
        _future_hidden,
    ),
)
