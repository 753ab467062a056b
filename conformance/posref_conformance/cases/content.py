"""Cases for what depends on the content: decomposed biases, gates and resets, forget gates, contextual positions, PaTH."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one, read_only, strided

SEEN = np.tri(5, 7, 2, dtype=bool)  # the queries are the last of the keys
DECOMPOSED, GATE, RESET = "decomposed_bias", "bias_gate", "reset_cls"
FORGET, COPE, PATH = "forget_bias", "cope_scores", "path_scores"


def _decomposed(
    i: Inputs, q_size: tuple[int, int], k_size: tuple[int, int], leading: tuple[int, ...] = (2, 3), **options: Any
) -> Call:
    q = i.data(*leading, q_size[0] * q_size[1], 6)
    tables = (i.data(2 * max(a, b) - 1, 6) for a, b in zip(q_size, k_size, strict=True))
    return Call((q, *tables, q_size, k_size), options)


def _gate(i: Inputs, *leading: int, q: int = 5) -> Call:
    return Call((i.data(*leading, 3, q, 8), i.data(3)))


def _reset(i: Inputs, *shape: int) -> Call:
    return Call((i.data(*shape), i.data(shape[-3]), i.data(shape[-3])))


def _gates(i: Inputs, *shape: int) -> Any:
    """Logarithms of forget gates."""
    return i.typed(-np.abs(i.data(*shape)).astype(np.float64) / 2)


def _forget(i: Inputs, *shape: int, both: bool = False, **options: Any) -> Call:
    return Call((_gates(i, *shape),), options | ({"backward": _gates(i, *shape)} if both else {}))


def _cope(
    i: Inputs, *, q: int = 5, k: int = 7, rows: int = 9, leading: tuple[int, ...] = (2, 3), **options: Any
) -> Call:
    return Call((i.data(*leading, q, 6), i.data(*leading, k, 6), i.data(rows, 6)), options)


def _path(i: Inputs, n: int = 5, *, leading: tuple[int, ...] = (2, 3), forget: bool = False, **options: Any) -> Call:
    w = i.data(*leading, n, 6).astype(np.float64)
    w = i.typed(w / np.linalg.norm(w, axis=-1, keepdims=True))
    beta = i.typed(i.rng.uniform(0.0, 2.0, (*leading, n)))
    options |= {"log_forget": _gates(i, *leading, n)} if forget else {}
    return Call((i.data(*leading, n, 6), i.data(*leading, n, 6), w, beta), options)


def _again(build: Any, *others: Any) -> Any:
    return lambda i: [build(i), build(i), *(other(i) for other in others)]


CASES: tuple[Case, ...] = (
    one(DECOMPOSED, "square", lambda i: _decomposed(i, (3, 3), (3, 3))),
    one(DECOMPOSED, "not-square", lambda i: _decomposed(i, (2, 5), (2, 5))),
    one(DECOMPOSED, "fewer-keys", lambda i: _decomposed(i, (4, 6), (2, 3))),
    one(DECOMPOSED, "more-keys", lambda i: _decomposed(i, (2, 3), (6, 3))),
    one(DECOMPOSED, "truncated-in-float32", lambda i: _decomposed(i, (8, 2), (6, 3), rule="float32")),
    one(DECOMPOSED, "one-row", lambda i: _decomposed(i, (1, 4), (1, 4))),
    one(DECOMPOSED, "no-heads-axis", lambda i: _decomposed(i, (2, 3), (2, 3), ())),
    one(DECOMPOSED, "no-batch", lambda i: _decomposed(i, (2, 3), (2, 3), (0, 3))),
    Case(
        DECOMPOSED, "again", _again(lambda i: _decomposed(i, (2, 3), (2, 3)), lambda i: _decomposed(i, (3, 2), (2, 3)))
    ),
    one(GATE, "batch", lambda i: _gate(i, 2)),
    one(GATE, "no-batch", lambda i: _gate(i)),
    one(GATE, "one-query", lambda i: _gate(i, 2, q=1)),
    one(GATE, "no-queries", lambda i: _gate(i, 2, q=0)),
    one(GATE, "strong", lambda i: Call((i.typed(6 * i.data(2, 3, 5, 8).astype(np.float64)), i.data(3)))),
    one(GATE, "read-only-strided", lambda i: Call((read_only(strided(i.data(3, 5, 8))), i.data(3)))),
    Case(GATE, "again", _again(lambda i: _gate(i, 2), lambda i: _gate(i, 2, q=1))),
    one(RESET, "batch", lambda i: _reset(i, 2, 3, 5, 7)),
    one(RESET, "no-batch", lambda i: _reset(i, 3, 5, 5)),
    one(RESET, "one-query", lambda i: _reset(i, 2, 3, 1, 7)),
    one(RESET, "one-key", lambda i: _reset(i, 2, 3, 5, 1)),
    one(RESET, "no-queries", lambda i: _reset(i, 2, 3, 0, 7)),
    Case(RESET, "again", _again(lambda i: _reset(i, 3, 5, 7))),
    one(FORGET, "heads", lambda i: _forget(i, 2, 3, 7)),
    one(FORGET, "no-heads-axis", lambda i: _forget(i, 7)),
    one(FORGET, "both-directions", lambda i: _forget(i, 2, 3, 7, both=True)),
    one(FORGET, "fewer-queries", lambda i: _forget(i, 3, 7, num_queries=2)),
    one(FORGET, "fewer-queries-both-directions", lambda i: _forget(i, 3, 7, both=True, num_queries=2)),
    one(FORGET, "one-token", lambda i: _forget(i, 2, 3, 1)),
    one(FORGET, "no-tokens", lambda i: _forget(i, 3, 0)),
    one(FORGET, "long", lambda i: _forget(i, 2, 211)),
    one(FORGET, "read-only-strided", lambda i: Call((read_only(strided(_gates(i, 2, 3, 7))),))),
    Case(FORGET, "again", _again(lambda i: _forget(i, 3, 7), lambda i: _forget(i, 3, 5))),
    one(COPE, "causal", lambda i: _cope(i, mask=SEEN)),
    one(COPE, "every-gate", lambda i: _cope(i)),
    one(COPE, "few-rows", lambda i: _cope(i, rows=2, mask=SEEN)),
    one(COPE, "one-row", lambda i: _cope(i, rows=1, mask=SEEN)),
    one(COPE, "plain-positions", lambda i: _cope(i, mask=SEEN, scale_positions=False)),
    one(COPE, "scale", lambda i: _cope(i, mask=SEEN, scale=0.25)),
    one(COPE, "decode", lambda i: _cope(i, q=1)),
    one(COPE, "no-heads-axis", lambda i: _cope(i, leading=(), mask=SEEN)),
    one(COPE, "no-queries", lambda i: _cope(i, q=0)),
    one(COPE, "no-keys", lambda i: _cope(i, k=0)),
    Case(COPE, "again", _again(lambda i: _cope(i, mask=SEEN), lambda i: _cope(i, q=1))),
    one(PATH, "plain", lambda i: _path(i)),
    one(PATH, "forgetting", lambda i: _path(i, forget=True)),
    one(PATH, "forgetting-scaled", lambda i: _path(i, forget=True, gate="scaled")),
    one(PATH, "scale", lambda i: _path(i, scale=0.75)),
    one(PATH, "no-heads-axis", lambda i: _path(i, leading=())),
    one(PATH, "one-token", lambda i: _path(i, 1)),
    one(PATH, "no-tokens", lambda i: _path(i, 0)),
    Case(PATH, "again", _again(lambda i: _path(i), lambda i: _path(i, 3))),
)
