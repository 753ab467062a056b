"""Relative attention and its kin, differentiated: grids and sequences of unequal lengths, heads that share a table or a bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs
from posref_conformance.cases.gradients import differentiated, gradient_case
from posref_conformance.cases.relative import PER_BATCH, ROWS, SOME

SHORT = np.clip(np.arange(4)[None] - np.arange(3)[:, None], -2, 1) + 2  # 3 queries, 4 keys, 4 rows
BIAS, VALUES, SHIFT = "relative_bias", "relative_values", "relative_shift"
SCORES, DISENTANGLED, DECOMPOSED = "relative_scores", "disentangled_scores", "decomposed_bias"
UNTIED = "untied_scores"


def _bias(i: Inputs, by: str, index: Any = SOME, heads: tuple[int, ...] = (), **options: Any) -> Call:
    n = index.shape[-1 if options.get("side") == "key" else -2]
    return differentiated(i, BIAS, by, i.data(2, 3, n, 6), i.data(*heads, 7, 6), index.copy(), **options)


def _values(i: Inputs, by: str, *heads: int) -> Call:
    weights = i.typed(np.abs(i.data(2, 3, 5, 7)).astype(np.float64) / 3)
    return differentiated(i, VALUES, by, weights, i.data(*heads, 5, 4), SOME.copy())


def _shift(i: Inputs, *shape: int, keys: int, **options: Any) -> Call:
    return differentiated(i, SHIFT, "x", i.data(*shape), keys, **options)


def _scores(i: Inputs, by: str, index: Any = SHORT, **options: Any) -> Call:
    """Keys that all heads share, and a bias of each kind: one for each head, one for all of them."""
    q, k = index.shape[-2:]
    arrays = i.data(2, 3, q, 4), i.data(2, 1, k, 4), i.data(7, 4), index.copy()
    return differentiated(i, SCORES, by, *arrays, content_bias=i.data(3, 4), position_bias=i.data(4), **options)


def _disentangled(i: Inputs, by: str, **options: Any) -> Call:
    """Distances as far as the table goes, and further."""
    apart = 2 * np.arange(3)[:, None] - np.arange(4)
    tables = {"pos_k": i.data(2, 8, 4), "pos_q": i.data(8, 4)}
    return differentiated(i, DISENTANGLED, by, i.data(2, 2, 3, 4), i.data(2, 2, 4, 4), apart, **tables, **options)


def _untied(i: Inputs, by: str, heads: tuple[int, ...] = (3,), **options: Any) -> Call:
    """Keys that all heads share, and positions that the batch shares."""
    placed = {"pos_q": i.data(*heads, 3, 4), "pos_k": i.data(*heads, 5, 4)}
    return differentiated(i, UNTIED, by, i.data(2, 3, 3, 4), i.data(2, 1, 5, 4), **placed, **options)


def _decomposed(i: Inputs, by: str, q_size: tuple[int, int] = (2, 3), k_size: tuple[int, int] = (4, 3)) -> Call:
    tables = (i.data(2 * max(a, b) - 1, 4) for a, b in zip(q_size, k_size, strict=True))
    return differentiated(i, DECOMPOSED, by, i.data(2, q_size[0] * q_size[1], 4), *tables, q_size, k_size)


CASES: tuple[Case, ...] = (
    *(gradient_case(BIAS, f"by-{by}", lambda i, by=by: _bias(i, by)) for by in ("x", "table")),
    *(gradient_case(BIAS, f"of-keys-by-{by}", lambda i, by=by: _bias(i, by, side="key")) for by in ("x", "table")),
    gradient_case(BIAS, "per-batch-by-table", lambda i: _bias(i, "table", PER_BATCH, (3,))),
    *(gradient_case(VALUES, f"by-{by}", lambda i, by=by: _values(i, by)) for by in ("weights", "table")),
    gradient_case(VALUES, "per-head-by-table", lambda i: _values(i, "table", 3)),
    gradient_case(SHIFT, "", lambda i: _shift(i, 2, 5, 7, keys=6)),
    gradient_case(SHIFT, "zeros", lambda i: _shift(i, 2, 5, 7, keys=6, outside="zero")),
    gradient_case(SHIFT, "xlnet", lambda i: _shift(i, 2, 5, 12, keys=7, rule="xlnet")),
    gradient_case(SHIFT, "gemma-3n", lambda i: _shift(i, 2, 3, 5, keys=7, rule="gemma-3n")),
    *(
        gradient_case(SCORES, f"by-{by.replace('_', '-')}", lambda i, by=by: _scores(i, by, key_term=True))
        for by in ("q", "k", "table", "content_bias", "position_bias")
    ),
    gradient_case(SCORES, "plain-by-table", lambda i: _scores(i, "table", ROWS, scale=0.25)),
    *(
        gradient_case(DISENTANGLED, f"by-{by.replace('_', '-')}", lambda i, by=by: _disentangled(i, by))
        for by in ("q", "k", "pos_k", "pos_q")
    ),
    *(
        gradient_case(
            DISENTANGLED,
            f"everything-by-{by.replace('_', '-')}",
            lambda i, by=by: _disentangled(i, by, p2c="paper", p2p=True, scale=0.25),
        )
        for by in ("pos_k", "pos_q")
    ),
    *(
        gradient_case(UNTIED, f"by-{by.replace('_', '-')}", lambda i, by=by: _untied(i, by))
        for by in ("q", "k", "pos_q", "pos_k")
    ),
    gradient_case(UNTIED, "for-all-heads-by-pos-k", lambda i: _untied(i, "pos_k", (), scale=0.25)),
    *(
        gradient_case(DECOMPOSED, f"by-{by.replace('_', '-')}", lambda i, by=by: _decomposed(i, by))
        for by in ("q", "height_table", "width_table")
    ),
    gradient_case(DECOMPOSED, "fewer-keys-by-width-table", lambda i: _decomposed(i, "width_table", (2, 6), (2, 3))),
)
