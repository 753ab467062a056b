"""Bad input to the biases."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from bad_calls import (
    NAN,
    ONES,
    Args,
    Bad,
    a_flag,
    a_word,
    an_integer,
    arguments,
    check,
    covered,
    names,
    numbers,
    positions,
    public,
    several,
)

import posref

# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "alibi_bias": {"slopes": ONES(2), "q_positions": np.arange(3), "k_positions": np.arange(4)},
    "alibi_slopes": {"num_heads": 6},
    "t5_bias": {"table": ONES((32, 2)), "q_positions": np.arange(3), "k_positions": np.arange(4)},
    "t5_bucket": {"relative_position": np.arange(3)},
}

BATCHES = "q_positions and k_positions must have batch axes that broadcast, got"
FEW = "must be >= 4 with bidirectional=True, got"
NONE = "must be >= 2 with bidirectional=False, got"
HEADLESS = "must be (num_buckets, heads) with at least one head, got shape"
CASES: list[Bad] = [
    *an_integer("alibi_slopes", "num_heads", 1, 0, -2),
    *numbers("alibi_bias", "slopes"),
    *several(
        "alibi_bias",
        "slopes",
        ([], ValueError, "must have at least one head, got none"),
        (1.0, ValueError, "must have 1 axis, got shape ()"),
        ([[1.0]], ValueError, "must have 1 axis, got shape (1, 1)"),
        ([NAN], ValueError, "must be finite, got NaN or infinity"),
    ),
    *(bad for side in ("q_positions", "k_positions") for bad in positions("alibi_bias", side)),
    *(bad for side in ("q_positions", "k_positions") for bad in positions("t5_bias", side, whole=True)),
    *(
        (function, {side: np.array(5)}, ValueError, f"{side} must have a sequence axis, got np.int64(5)")
        for function in ("alibi_bias", "t5_bias")
        for side in ("q_positions", "k_positions")
    ),
    *(
        (f, {"q_positions": [[1], [2]], "k_positions": [[1]] * 3}, ValueError, f"{BATCHES} (2, 1) and (3, 1)")
        for f in ("alibi_bias", "t5_bias")
    ),
    *a_word("alibi_bias", "form", "distance", "signed", "key"),
    *positions("t5_bucket", "relative_position", whole=True),
    *numbers("t5_bias", "table"),
    *several(
        "t5_bias",
        "table",
        (1.0, ValueError, "must have 2 axes, got shape ()"),
        ([1.0], ValueError, "must have 2 axes, got shape (1,)"),
        (ONES((3, 1, 1)), ValueError, "must have 2 axes, got shape (3, 1, 1)"),
    ),
    *a_flag("t5_bucket t5_bias", "bidirectional"),
    *an_integer("t5_bucket", "num_buckets", 1, 0, -4),
    ("t5_bucket", {"num_buckets": 3}, ValueError, f"num_buckets {FEW} 3"),
    ("t5_bias", {"table": ONES((3, 2))}, ValueError, f"table's num_buckets {FEW} 3"),
    ("t5_bias", {"table": ONES((0, 2))}, ValueError, f"table's num_buckets {FEW} 0"),
    ("t5_bias", {"table": ONES((32, 0))}, ValueError, f"table {HEADLESS} (32, 0)"),
    ("t5_bucket", {"num_buckets": 1, "bidirectional": False}, ValueError, f"num_buckets {NONE} 1"),
    *an_integer("t5_bucket t5_bias", "max_distance", 1, 0, -128),
    *several(
        "t5_bucket t5_bias",
        "max_distance",
        *((n, ValueError, f"must be an integer <= {2**53}, got {n}") for n in (2**53 + 1, 2**64)),
    ),
    *several("t5_bucket t5_bias", "max_distance", (8, ValueError, "must be > 8, the exact range of 32 buckets, got 8")),
]  # fmt: skip


@pytest.mark.parametrize("bad", CASES, ids=names(CASES))
def test_bad_input(bad: Bad) -> None:
    check(VALID, bad)


def test_no_argument_escapes() -> None:
    assert arguments(public("bias").items()) == covered(CASES)


@pytest.mark.parametrize("function", public("bias"))
def test_the_unchanged_call_works(function: str) -> None:
    assert getattr(posref, function)(**copy.deepcopy(VALID[function])) is not None
