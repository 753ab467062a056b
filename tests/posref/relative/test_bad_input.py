"""Bad input to relative attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from bad_calls import (
    ONES,
    Args,
    Bad,
    a_flag,
    a_number,
    a_word,
    an_integer,
    arguments,
    covered,
    numbers,
    positions,
    several,
    table_tests,
)

HERE, INDEX = np.arange(3), np.zeros((3, 5), int)

# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "relative_index": {"relative_position": HERE, "left": 2, "right": 2},
    "relative_shift": {"x": ONES((3, 5)), "num_keys": 4},
    "relative_bias": {"x": ONES((3, 4)), "table": ONES((6, 4)), "index": INDEX},
    "relative_values": {"weights": ONES((3, 5)), "table": ONES((6, 4)), "index": INDEX},
    "relative_scores": {"q": ONES((3, 4)), "k": ONES((5, 4)), "table": ONES((6, 4)), "index": INDEX},
    "permuted_channels": {"permutation": np.array([2, 0, 1]), "positions": HERE},
    "deberta_bucket": {"relative_position": HERE, "num_buckets": 8, "max_distance": 20},
    "disentangled_scores": {
        "q": ONES((3, 4)),
        "k": ONES((5, 4)),
        "relative": INDEX,
        "pos_k": ONES((6, 4)),
        "pos_q": ONES((6, 4)),
    },
    "untied_scores": {"q": ONES((3, 4)), "k": ONES((5, 4)), "pos_q": ONES((3, 4)), "pos_k": ONES((5, 4))},
}

WITH_ROWS = "relative_bias relative_values relative_scores"
NO_ROW = "must be in 0 .. 5 for 6 rows, or -1, got"
LEADING = "table and index must have leading axes that broadcast, got"

ROWS: list[Bad] = [
    *positions("relative_index", "relative_position", whole=True),
    *an_integer("relative_index", "left", 0, -1),
    *an_integer("relative_index", "right", 0, -1),
    *a_word("relative_index", "outside", "clip", "none"),
    *numbers("relative_shift", "x"),
    *several("relative_shift", "x", (ONES(3), ValueError, "must be (..., q, columns), got shape (3,)")),
    *an_integer("relative_shift", "num_keys", 0, -1),
    ("relative_shift", {"num_keys": 6}, ValueError, "num_keys must be at most 5 for x with 5 columns, got 6"),
    (
        "relative_shift",
        {"num_keys": 5, "rule": "xlnet"},
        ValueError,
        "num_keys must be at most 4 for x with 5 columns, got 5",
    ),
    *a_word("relative_shift", "rule", "transformer-xl", "xlnet", "gemma-3n"),
    *a_word("relative_shift", "outside", "next-row", "zero"),
    *an_integer("relative_shift", "stride", 1, 0),
    ("relative_shift", {"stride": 2}, ValueError, "stride must be 1 for the rule 'transformer-xl', got 2"),
    (
        "relative_shift",
        {"num_keys": 4, "stride": 2, "rule": "xlnet"},
        ValueError,
        "num_keys must be at most 3 for x with 5 columns, got 4",
    ),
]

PRODUCTS: list[Bad] = [
    *numbers("relative_bias", "x"),
    *numbers("relative_values", "weights"),
    *numbers("relative_scores", "q"),
    *numbers("relative_scores", "k"),
    *numbers(WITH_ROWS, "table"),
    *positions(WITH_ROWS, "index", whole=True),
    *several(WITH_ROWS, "index", (INDEX + 6, IndexError, f"{NO_ROW} 6"), (INDEX - 2, IndexError, f"{NO_ROW} -2")),
    ("relative_bias", {"x": ONES(4)}, ValueError, "x must be (..., n, d), got shape (4,)"),
    ("relative_bias", {"x": ONES((3, 0))}, ValueError, "x must be (..., n, d), got shape (3, 0)"),
    ("relative_values", {"weights": ONES(5)}, ValueError, "weights must be (..., q, k), got shape (5,)"),
    *several(
        "relative_bias relative_scores",
        "table",
        (ONES((6, 3)), ValueError, "must be (..., rows, 4) with at least one row, got shape (6, 3)"),
        (ONES((0, 4)), ValueError, "must be (..., rows, 4) with at least one row, got shape (0, 4)"),
        (ONES(4), ValueError, "must be (..., rows, 4) with at least one row, got shape (4,)"),
    ),
    ("relative_values", {"table": ONES((0, 4))}, ValueError,
     "table must be (..., rows, e) with at least one row, got shape (0, 4)"),
    *several(
        "relative_bias",
        "index",
        (HERE, ValueError, "must be (..., 3, k) for x of shape (3, 4), got shape (3,)"),
        (INDEX[:2], ValueError, "must be (..., 3, k) for x of shape (3, 4), got shape (2, 5)"),
    ),
    ("relative_bias", {"index": INDEX[:, :4], "side": "key"}, ValueError,
     "index must be (..., q, 3) for x of shape (3, 4), got shape (3, 4)"),
    ("relative_values", {"index": INDEX.T}, ValueError,
     "index must be (..., 3, 5) for weights of shape (3, 5), got shape (5, 3)"),
    ("relative_bias", {"x": ONES((2, 3, 4)), "table": ONES((3, 6, 4))}, ValueError,
     f"x, {LEADING} (2, 3, 4), (3, 6, 4) and (3, 5)"),
    *a_word("relative_bias", "side", "query", "key"),
    ("relative_scores", {"q": ONES(4)}, ValueError, "q and k must be (..., q, d) and (..., k, d), got (4,) and (5, 4)"),
    ("relative_scores", {"k": ONES((5, 3))}, ValueError,
     "q and k must be (..., q, d) and (..., k, d), got (3, 4) and (5, 3)"),
    ("relative_scores", {"q": ONES((2, 3, 4)), "k": ONES((3, 5, 4))}, ValueError,
     "q and k must have leading axes that broadcast, got (2, 3, 4) and (3, 5, 4)"),
    ("relative_scores", {"index": INDEX[:, :4]}, ValueError,
     "index must end in (3, 5), queries and keys, got shape (3, 4)"),
    *numbers("relative_scores", "content_bias")[:3],
    *numbers("relative_scores", "position_bias")[:3],
    *several(
        "relative_scores",
        "content_bias",
        (ONES(3), ValueError, "of shape (3,) must broadcast against (4,), q without its sequence axis"),
        (1.0, ValueError, "of shape () must broadcast against (4,), q without its sequence axis"),
    ),
    *a_flag("relative_scores", "key_term"),
    *a_number("relative_scores", "scale", "a finite number"),
]  # fmt: skip

RELATIVE, TABLES = "disentangled_scores", "must be (..., rows, 4) with an even number of rows, got shape"
ONCE = "permutation must hold each of 0 .. 2 once in a row, got another row"
CHANNELS: list[Bad] = [
    *positions("permuted_channels", "permutation", whole=True),
    *positions("permuted_channels", "positions", whole=True),
    ("permuted_channels", {"permutation": 0}, ValueError,
     "permutation must be (..., d) with at least one channel, got shape ()"),
    ("permuted_channels", {"permutation": np.zeros((2, 0), int)}, ValueError,
     "permutation must be (..., d) with at least one channel, got shape (2, 0)"),
    *(("permuted_channels", {"permutation": row}, ValueError, ONCE)
      for row in ([0, 1, 1], [1, 2, 3], [-1, 0, 1], [[0, 1, 2], [0, 0, 2]])),
]  # fmt: skip
DEBERTA: list[Bad] = [
    *positions("deberta_bucket", "relative_position", whole=True),
    *an_integer("deberta_bucket", "num_buckets", 2, 1, 0),
    *an_integer("deberta_bucket", "max_distance", 1, 0),
    ("deberta_bucket", {"max_distance": 5}, ValueError,
     "max_distance must be > 5, the exact range of 8 buckets, got 5"),
    *a_word("deberta_bucket", "beyond", "clamp", "grow"),
    *numbers(RELATIVE, "q"),
    *numbers(RELATIVE, "k"),
    *positions(RELATIVE, "relative", whole=True),
    ("disentangled_scores", {"q": ONES(4)}, ValueError,
     "q and k must be (..., q, d) and (..., k, d), got (4,) and (5, 4)"),
    ("disentangled_scores", {"k": ONES((5, 3))}, ValueError,
     "q and k must be (..., q, d) and (..., k, d), got (3, 4) and (5, 3)"),
    (RELATIVE, {"relative": INDEX.T}, ValueError, "relative must end in (3, 5), queries and keys, got shape (5, 3)"),
    *numbers(RELATIVE, "pos_k")[:3],
    *numbers(RELATIVE, "pos_q")[:3],
    *several(RELATIVE, "pos_k", (ONES((5, 4)), ValueError, f"{TABLES} (5, 4)"), (ONES(4), ValueError, f"{TABLES} (4,)")),
    *several(RELATIVE, "pos_q", (ONES((6, 3)), ValueError, f"{TABLES} (6, 3)"), (ONES((0, 4)), ValueError, f"{TABLES} (0, 4)")),
    (RELATIVE, {"q": ONES((2, 3, 4)), "pos_k": ONES((3, 6, 4))}, ValueError,
     "q, k, relative and tables must have leading axes that broadcast, got (2, 3, 4), (5, 4), (3, 5), (3, 6, 4), (6, 4)"),
    *a_word(RELATIVE, "p2c", "code", "paper"),
    *a_flag(RELATIVE, "p2p"),
    (RELATIVE, {"p2p": True, "pos_q": None}, ValueError,
     "p2p must be False without both pos_k and pos_q, got True with pos_k"),
    (RELATIVE, {"p2p": True, "pos_q": ONES((4, 4))}, ValueError,
     "p2p must be False for more than 2 queries, half the rows, got 3"),
    *a_number(RELATIVE, "scale", "a finite number"),
]  # fmt: skip

TUPE: list[Bad] = [
    *(bad for name in ("q", "k") for bad in numbers("untied_scores", name)),
    *(bad for name in ("pos_q", "pos_k") for bad in numbers("untied_scores", name)[:3]),
    ("untied_scores", {"q": ONES(4)}, ValueError, "q and k must be (..., q, d) and (..., k, d), got (4,) and (5, 4)"),
    ("untied_scores", {"k": ONES((5, 3))}, ValueError,
     "q and k must be (..., q, d) and (..., k, d), got (3, 4) and (5, 3)"),
    ("untied_scores", {"pos_k": None}, ValueError, "pos_q and pos_k must be given both or neither, got pos_q alone"),
    ("untied_scores", {"pos_q": None}, ValueError, "pos_q and pos_k must be given both or neither, got pos_k alone"),
    *several(
        "untied_scores",
        "pos_q",
        (ONES((5, 4)), ValueError, "must end in (3, 4), as q does, got shape (5, 4)"),
        (ONES((3, 5)), ValueError, "must end in (3, 4), as q does, got shape (3, 5)"),
        (ONES((1, 4)), ValueError, "must end in (3, 4), as q does, got shape (1, 4)"),
    ),
    *several(
        "untied_scores",
        "pos_k",
        (ONES((3, 4)), ValueError, "must end in (5, 4), as k does, got shape (3, 4)"),
        (ONES(4), ValueError, "must end in (5, 4), as k does, got shape (4,)"),
    ),
    ("untied_scores", {"q": ONES((2, 3, 4)), "pos_k": ONES((3, 5, 4))}, ValueError,
     "q, k, pos_q and pos_k must have leading axes that broadcast, got (2, 3, 4), (5, 4), (3, 4), (3, 5, 4)"),
    *a_number("untied_scores", "scale", "a finite number"),
]  # fmt: skip

CASES = [*ROWS, *PRODUCTS, *CHANNELS, *DEBERTA, *TUPE]


test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works = table_tests(
    VALID, CASES, "relative.rows", "relative.gathered", "relative.disentangled", "relative.permuted", "relative.untied"
)


def test_an_argument_that_escapes_is_noticed() -> None:
    def relative_bias(x: Any, *, colour: str = "red") -> None: ...

    assert arguments([("relative_bias", relative_bias)]) - covered(CASES) == {("relative_bias", "colour")}
