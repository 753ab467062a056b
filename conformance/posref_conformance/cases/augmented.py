"""Cases for positions that are augmented."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one, read_only, strided

TOKENS = np.array([3, 0, 1, 7, 7, 12])


def _cape(i: Inputs, positions: Any, shift: tuple[int, ...], scale: tuple[int, ...], **options: Any) -> Call:
    return Call((np.array(positions), i.data(*shift), i.data(*scale)), options)


def _again(i: Inputs) -> list[Call]:
    return [_cape(i, TOKENS, (6,), (1,)), _cape(i, TOKENS, (6,), (1,)), _cape(i, TOKENS + 3, (6,), (1,))]


CAPE = "cape_positions"
CASES: tuple[Case, ...] = (
    one(CAPE, "tokens", lambda i: _cape(i, TOKENS, (6,), (1,))),
    one(CAPE, "centre", lambda i: _cape(i, TOKENS, (6,), (1,), centre=True)),
    one(CAPE, "whole", lambda i: _cape(i, TOKENS, (), ())),
    one(CAPE, "batch", lambda i: _cape(i, [TOKENS, TOKENS[::-1], TOKENS + 4], (3, 6), (3, 1), centre=True)),
    one(CAPE, "fractions", lambda i: _cape(i, np.array([0.25, -3.5, 1e3], "f"), (3,), (1,))),
    one(CAPE, "no-tokens", lambda i: _cape(i, np.zeros((2, 0), int), (2, 1), (2, 1))),
    one(CAPE, "read-only-strided", lambda i: Call((strided(TOKENS), read_only(i.data(6)), strided(i.data(6))))),
    one(CAPE, "later-token", lambda i: _cape(i, [9], (1,), (1,))),
    one(CAPE, "far", lambda i: _cape(i, [100003, 2049, 257, 4099], (4,), (1,)), dtypes=("float64", "float32")),
    Case(CAPE, "again", _again),
)
