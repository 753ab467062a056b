"""What depends on the content, and positions that are drawn, differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Array, Call, Case, Inputs
from posref_conformance.cases.gradients import differentiated, gradient_case

SEEN = np.tri(4, 6, 2, dtype=bool)  # the queries are the last of the keys
CAPE, COPE, PATH = "cape_positions", "cope_scores", "path_scores"
GATE, RESET, FORGET = "bias_gate", "reset_cls", "forget_bias"


def _cape(i: Inputs, by: str, **options: Any) -> Call:
    """A shift of each token, and a scale of each sequence."""
    tokens = np.array([[3, 0, 1, 7, 12], [0, 1, 2, 3, 4]])
    return differentiated(i, CAPE, by, tokens, i.data(2, 5), i.data(2, 1), **options)


def _gate(i: Inputs, by: str) -> Call:
    return differentiated(i, GATE, by, i.data(2, 2, 2, 8), i.data(2))


def _reset(i: Inputs, by: str) -> Call:
    return differentiated(i, RESET, by, i.data(2, 3, 4, 5), i.data(3), i.data(3))


def _gates(i: Inputs, *shape: int) -> Array:
    """Logarithms of forget gates."""
    return i.typed(-np.abs(i.data(*shape)).astype(np.float64) / 2)


def _forget(i: Inputs, by: str, both: bool, **options: Any) -> Call:
    gates = _gates(i, 2, 7)
    return differentiated(i, FORGET, by, gates, **({"backward": _gates(i, 2, 7)} if both else {}), **options)


def _cope(i: Inputs, by: str, *, rows: int = 9, **options: Any) -> Call:
    """With few rows some positions lie beyond the last one, and have no step to go on."""
    return differentiated(
        i, COPE, by, i.data(2, 3, 4, 4), i.data(2, 1, 6, 4), i.data(rows, 4), mask=SEEN.copy(), **options
    )


def _path(i: Inputs, by: str, **options: Any) -> Call:
    """Directions that both heads share."""
    w = i.data(2, 1, 4, 3).astype(np.float64)
    w = i.typed(w / np.linalg.norm(w, axis=-1, keepdims=True))
    beta = i.typed(i.rng.uniform(0.25, 2.0, (2, 2, 4)))
    arrays = i.data(2, 2, 4, 3), i.data(2, 2, 4, 3), w, beta
    return differentiated(i, PATH, by, *arrays, log_forget=_gates(i, 2, 2, 4), **options)


CASES: tuple[Case, ...] = (
    gradient_case(CAPE, "by-shift", lambda i: _cape(i, "shift")),
    gradient_case(CAPE, "by-log-scale", lambda i: _cape(i, "log_scale", centre=True)),
    *(gradient_case(GATE, f"by-{by}", lambda i, by=by: _gate(i, by)) for by in ("projection", "const")),
    gradient_case(RESET, "by-bias", lambda i: _reset(i, "bias")),
    gradient_case(RESET, "by-from-cls", lambda i: _reset(i, "from_cls")),
    gradient_case(RESET, "by-to-cls", lambda i: _reset(i, "to_cls")),
    gradient_case(FORGET, "by-log-forget", lambda i: _forget(i, "log_forget", both=False, num_queries=3)),
    gradient_case(FORGET, "by-past-of-two", lambda i: _forget(i, "log_forget", both=True)),
    gradient_case(FORGET, "by-backward", lambda i: _forget(i, "backward", both=True, num_queries=5)),
    *(gradient_case(COPE, f"by-{by}", lambda i, by=by: _cope(i, by)) for by in ("q", "k", "table")),
    gradient_case(COPE, "few-rows-by-q", lambda i: _cope(i, "q", rows=3, scale_positions=False, scale=0.75)),
    gradient_case(COPE, "few-rows-by-k", lambda i: _cope(i, "k", rows=3)),
    *(gradient_case(PATH, f"by-{by}", lambda i, by=by: _path(i, by)) for by in ("q", "k", "w", "beta")),
    gradient_case(PATH, "by-log-forget", lambda i: _path(i, "log_forget")),
    gradient_case(PATH, "scaled-by-log-forget", lambda i: _path(i, "log_forget", gate="scaled")),
)
