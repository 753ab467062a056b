"""Cases for plain attention: the place where biases, masks and scales meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one, read_only, strided


def _qkv(i: Inputs, *, q: int = 5, k: int = 7, leading: tuple[int, ...] = (2, 3)) -> tuple[Any, ...]:
    """(batch, heads, q, d), (batch, heads, k, d), (batch, heads, k, e), all lengths distinct."""
    return i.data(*leading, q, 8), i.data(*leading, k, 8), i.data(*leading, k, 6)


def _causal(q: int, k: int) -> Any:
    """Queries are the last of the keys: row i sees the keys up to i + k - q."""
    return np.arange(k)[None] <= np.arange(q)[:, None] + k - q


def _rows_without_keys() -> Any:
    mask = np.ones((5, 7), dtype=bool)
    mask[1] = mask[4] = False
    return mask


def _strided_inputs(i: Inputs) -> Call:
    q, k, v = _qkv(i)
    return Call((strided(q), read_only(k), strided(v)))


def _large(i: Inputs) -> Call:
    """Logits of a hundred and more, of which float32 has no exponential."""
    q, k, v = _qkv(i)
    return Call((i.typed(60 * q), k, v))


NAME = "attention"

CASES: tuple[Case, ...] = (
    one(NAME, "plain", lambda i: Call(_qkv(i))),
    one(NAME, "scale", lambda i: Call(_qkv(i), {"scale": 1.0})),
    one(NAME, "bias", lambda i: Call(_qkv(i), {"bias": i.data(3, 5, 7)})),
    one(NAME, "bias-and-scale", lambda i: Call(_qkv(i), {"bias": i.data(3, 5, 7), "scale": 0.25})),
    one(NAME, "bias-per-batch", lambda i: Call(_qkv(i), {"bias": i.data(2, 1, 5, 7)})),
    one(NAME, "mask", lambda i: Call(_qkv(i), {"mask": _causal(5, 7)})),
    one(NAME, "bias-and-mask", lambda i: Call(_qkv(i), {"bias": i.data(3, 5, 7), "mask": _causal(5, 7)})),
    one(NAME, "row-without-keys", lambda i: Call(_qkv(i), {"mask": _rows_without_keys()})),
    one(NAME, "decode", lambda i: Call(_qkv(i, q=1))),
    one(NAME, "no-queries", lambda i: Call(_qkv(i, q=0))),
    one(NAME, "no-keys", lambda i: Call(_qkv(i, k=0))),
    one(NAME, "no-heads-axis", lambda i: Call(_qkv(i, leading=()))),
    one(NAME, "read-only-strided", _strided_inputs),
    one(NAME, "large-logits", _large, dtypes=("float64", "float32")),
)
