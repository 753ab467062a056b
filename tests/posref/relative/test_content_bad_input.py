"""Bad input to what depends on the content."""

from __future__ import annotations

import numpy as np
from bad_calls import (
    INF,
    NAN,
    ONES,
    Args,
    Bad,
    a_flag,
    a_number,
    a_word,
    an_integer,
    numbers,
    several,
    table_tests,
)

# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "decomposed_bias": {
        "q": ONES((6, 4)),
        "height_table": ONES((3, 4)),
        "width_table": ONES((5, 4)),
        "q_size": (2, 3),
        "k_size": (2, 3),
    },
    "bias_gate": {"projection": ONES((2, 3, 8)), "const": ONES(2)},
    "reset_cls": {"bias": ONES((2, 3, 5)), "from_cls": ONES(2), "to_cls": ONES(2)},
    "forget_bias": {"log_forget": ONES(3)},
    "cope_scores": {"q": ONES((3, 4)), "k": ONES((5, 4)), "table": ONES((6, 4))},
    "path_scores": {"q": ONES((3, 4)), "k": ONES((3, 4)), "w": ONES((3, 4)), "beta": ONES(3), "log_forget": ONES(3)},
}

PAIR, FINITE = "must be (height, width), got", "must be finite, got NaN or infinity"
TABLE, VECTORS = "must be (3, 4), resampled where it is not, got shape", "q, k, w must be (..., n, d), got"
PER_HEAD = "must have one number for each of 2 heads, got shape (3,)"

BIASES: list[Bad] = [
    *numbers("decomposed_bias", "q"),
    ("decomposed_bias", {"q": ONES((5, 4))}, ValueError, "q must be (..., 6, d) for q_size (2, 3), got shape (5, 4)"),
    ("decomposed_bias", {"q": ONES(6)}, ValueError, "q must be (..., 6, d) for q_size (2, 3), got shape (6,)"),
    *numbers("decomposed_bias", "height_table"),
    *numbers("decomposed_bias", "width_table"),
    *several("decomposed_bias", "height_table", (ONES((5, 4)), ValueError, f"{TABLE} (5, 4)")),
    ("decomposed_bias", {"width_table": ONES((5, 3))}, ValueError,
     "width_table must be (5, 4), resampled where it is not, got shape (5, 3)"),
    *several(
        "decomposed_bias",
        "q_size",
        (6, TypeError, f"{PAIR} 6"),
        ("23", TypeError, f"{PAIR} '23'"),
        ((1, 2, 3), TypeError, f"{PAIR} (1, 2, 3)"),
        ((2, 0), ValueError, "must be an integer >= 1, got 0"),
        ((2, 3.0), TypeError, "must be an integer >= 1, got 3.0"),
    ),
    *several("decomposed_bias", "k_size", (6, TypeError, f"{PAIR} 6"), ((0, 3), ValueError, "must be an integer >= 1, got 0")),
    *a_word("decomposed_bias", "rule", "exact", "float32"),
    *numbers("bias_gate", "projection"),
    *numbers("bias_gate", "const"),
    *several(
        "bias_gate",
        "projection",
        (ONES((2, 3, 4)), ValueError, "must be (..., heads, q, 8), got shape (2, 3, 4)"),
        (ONES((3, 8)), ValueError, "must be (..., heads, q, 8), got shape (3, 8)"),
        (np.full((2, 3, 8), NAN), ValueError, FINITE),
    ),
    *several("bias_gate", "const", (ONES(3), ValueError, PER_HEAD), ([1.0, INF], ValueError, FINITE)),
    *numbers("reset_cls", "bias"),
    *numbers("reset_cls", "from_cls"),
    *numbers("reset_cls", "to_cls"),
    *several("reset_cls", "bias", (ONES((3, 5)), ValueError, "must be (..., heads, q, k), got shape (3, 5)")),
    *several("reset_cls", "from_cls", (ONES(3), ValueError, PER_HEAD)),
    *several("reset_cls", "to_cls", (ONES(3), ValueError, PER_HEAD)),
]  # fmt: skip

SCORES: list[Bad] = [
    *numbers("forget_bias", "log_forget"),
    *several(
        "forget_bias",
        "log_forget",
        (-1.0, ValueError, "must have an axis of tokens, got -1.0"),
        ([0.0, -INF], ValueError, FINITE),
    ),
    *numbers("forget_bias", "backward")[:3],
    *several("forget_bias", "backward", (ONES(4), ValueError, "must be of the shape of log_forget, (3,), got (4,)"),
             ([NAN] * 3, ValueError, FINITE)),
    *[bad for bad in an_integer("forget_bias", "num_queries", 0, -1) if bad[1] != {"num_queries": None}],
    ("forget_bias", {"num_queries": 4}, ValueError, "num_queries must be at most 3, the number of tokens, got 4"),
    *(bad for name in ("q", "k", "table") for bad in numbers("cope_scores", name)),
    ("cope_scores", {"q": ONES(4)}, ValueError, "q and k must be (..., q, d) and (..., k, d), got (4,) and (5, 4)"),
    ("cope_scores", {"k": ONES((5, 3))}, ValueError, "q and k must be (..., q, d) and (..., k, d), got (3, 4) and (5, 3)"),
    *several(
        "cope_scores",
        "table",
        (ONES((6, 3)), ValueError, "must be (rows, 4) with at least one row, got shape (6, 3)"),
        (ONES((0, 4)), ValueError, "must be (rows, 4) with at least one row, got shape (0, 4)"),
        (ONES((2, 6, 4)), ValueError, "must be (rows, 4) with at least one row, got shape (2, 6, 4)"),
    ),
    *several(
        "cope_scores",
        "mask",
        (ONES((3, 5)), TypeError, "must be boolean, True where a query may look, got type float64"),
        (ONES((2, 5), bool), ValueError, "of shape (2, 5) must broadcast against the scores' shape (3, 5)"),
    ),
    *a_number("cope_scores", "scale", "a finite number"),
    *a_flag("cope_scores", "scale_positions"),
    *(bad for name in ("q", "k", "w", "beta") for bad in numbers("path_scores", name)),
    ("path_scores", {"q": ONES(4)}, ValueError, f"{VECTORS} (4,), (3, 4), (3, 4)"),
    ("path_scores", {"k": ONES((5, 4))}, ValueError, f"{VECTORS} (3, 4), (5, 4), (3, 4)"),
    ("path_scores", {"w": ONES((3, 5))}, ValueError, f"{VECTORS} (3, 4), (3, 4), (3, 5)"),
    ("path_scores", {"beta": ONES(4)}, ValueError, "beta must be (..., 3), one number per token, got shape (4,)"),
    ("path_scores", {"log_forget": ONES(4)}, ValueError,
     "log_forget must be (..., 3), one number per token, got shape (4,)"),
    ("path_scores", {"q": ONES((2, 3, 4)), "beta": ONES((3, 3))}, ValueError,
     "q, k, w and gates must have leading axes that broadcast, got (2, 3, 4), (3, 4), (3, 4), (3, 3), (3,)"),
    *a_word("path_scores", "gate", "plain", "scaled"),
    *a_number("path_scores", "scale", "a finite number"),
]  # fmt: skip

CASES = [*BIASES, *SCORES]
test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works = table_tests(
    VALID,
    CASES,
    "relative.decomposed",
    "relative.gates",
    "relative.forgetting",
    "relative.contextual",
    "relative.householder",
)
