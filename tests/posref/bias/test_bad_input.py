"""Bad input to the biases."""

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
    positions,
    several,
    table_tests,
)

# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "alibi_bias": {"slopes": ONES(2), "q_positions": np.arange(3), "k_positions": np.arange(4)},
    "alibi_slopes": {"num_heads": 6},
    "long_t5_blocks": {"mask": ONES(9, bool), "block_size": 3},
    "query_positions": {"num_queries": 2, "num_keys": 5},
    "kerple_bias": {"r1": ONES(2), "r2": ONES(2), "q_positions": np.arange(3), "k_positions": np.arange(4)},
    "sandwich_bias": {"num_heads": 2, "q_positions": np.arange(3), "k_positions": np.arange(4)},
    "fire_distance": {"q_positions": np.arange(3), "k_positions": np.arange(4), "c": 0.1, "length": 8.0},
    "relative_position_index": {"sizes": (2, 3)},
    "indexed_bias": {"table": ONES((9, 2)), "index": np.zeros((3, 4), int)},
    "log_offset": {"relative_position": np.arange(3)},
    "cosine_scale": {"log_scale": ONES(3)},
    "position_mlp": {"features": ONES((5, 2)), "w1": ONES((4, 2)), "b1": ONES(4), "w2": ONES((3, 4))},
    "t5_bias": {"table": ONES((32, 2)), "q_positions": np.arange(3), "k_positions": np.arange(4)},
    "t5_bucket": {"relative_position": np.arange(3)},
}

BATCHES = "q_positions and k_positions must have batch axes that broadcast, got"
FEW = "must be >= 4 with bidirectional=True, got"
NONE = "must be >= 2 with bidirectional=False, got"
TURNED_HEADLESS = "must be (heads, num_buckets) with at least one head, got shape"
HEADLESS = "must be (num_buckets, heads) with at least one head, got shape"
LAYERS = "features, w1, b1, w2 must be (..., n), (hidden, n), (hidden,), (heads, hidden), got"
KERNELS = "kerple_bias sandwich_bias fire_distance"
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
        (function, {side: np.array(5)}, ValueError, f"{side} must have a sequence axis, got a scalar")
        for function in ("alibi_bias", "t5_bias")
        for side in ("q_positions", "k_positions")
    ),
    *(
        (f, {"q_positions": [[1], [2]], "k_positions": [[1]] * 3}, ValueError, f"{BATCHES} (2, 1) and (3, 1)")
        for f in ("alibi_bias", "t5_bias", "kerple_bias", "sandwich_bias", "fire_distance")
    ),
    *a_number("alibi_slopes", "bias_max", "a finite number > 0", 0, -8.0),
    *a_word("alibi_slopes", "rule", "released", "geometric"),
    *a_number("alibi_slopes", "scale", "a finite number"),
    *several(
        "alibi_slopes",
        "heads",
        (3, TypeError, "must be (first, end), got 3"),
        ("ab", TypeError, "must be (first, end), got 'ab'"),
        ((1,), TypeError, "must be (first, end), got (1,)"),
        ((3, 3), ValueError, "must be a range of heads within 0 .. 6, got (3, 3)"),
        ((3, 7), ValueError, "must be a range of heads within 0 .. 6, got (3, 7)"),
        ((0, 0), ValueError, "must be a range of heads within 0 .. 6, got (0, 0)"),
    ),
    ("alibi_slopes", {"heads": (-1, 3)}, ValueError, "heads[0] must be an integer >= 0, got -1"),
    ("alibi_slopes", {"heads": (0, 2.0)}, TypeError, "heads[1] must be an integer >= 0, got 2.0"),
    *a_word("alibi_bias", "form", "distance", "signed", "key", "past", "sqrt", "key_last", "key_first"),
    *(bad for bad in numbers("alibi_bias", "future_slopes") if bad[1]["future_slopes"] is not None),
    *several(
        "alibi_bias",
        "future_slopes",
        ([], ValueError, "must have at least one head, got none"),
        ([1.0], ValueError, "must be of the shape of slopes, (2,), got (1,)"),
        ([[1.0, 1.0]], ValueError, "must have 1 axis, got shape (1, 2)"),
        ([1.0, INF], ValueError, "must be finite, got NaN or infinity"),
    ),
    (
        "alibi_bias",
        {"future_slopes": ONES(2), "form": "key"},
        ValueError,
        "future_slopes must be None for the form 'key', got 2 slopes",
    ),
    *an_integer("query_positions", "num_queries", 0, -1),
    *an_integer("query_positions", "num_keys", 0, -1),
    *a_word("query_positions", "align", "bottom_right", "top_left"),
    *several(
        "long_t5_blocks",
        "mask",
        ([1, 0], TypeError, "must be boolean, False where there is padding, got type int64"),
        (None, TypeError, "must be boolean, False where there is padding, got type object"),
        ([[True], [True, False]], TypeError, "must be an array of numbers, got [[True], [True, False]] "
         "(setting an array element with a sequence)"),
        (True, ValueError, "must have an axis of tokens, got np.True_"),
    ),
    *an_integer("long_t5_blocks", "block_size", 1, 0, -16),
    *a_word("t5_bucket t5_bias", "rule", "exact", "epsilon", "float32_sum"),
    *a_word("t5_bias", "layout", "rows_first", "heads_first"),
    *a_number("t5_bias", "scale", "a finite number"),
    ("t5_bias", {"layout": "heads_first", "table": ONES((0, 32))}, ValueError, f"table {TURNED_HEADLESS} (0, 32)"),
    *positions("t5_bucket", "relative_position", whole=True),
    *(bad for f in KERNELS.split() for side in ("q_positions", "k_positions") for bad in positions(f, side)),
    *(
        (function, {side: np.array(5)}, ValueError, f"{side} must have a sequence axis, got a scalar")
        for function in KERNELS.split()
        for side in ("q_positions", "k_positions")
    ),
    *(bad for name in ("r1", "r2") for bad in numbers("kerple_bias", name)),
    *several(
        "kerple_bias",
        "r1",
        (1.0, ValueError, "must have 1 axis, got shape ()"),
        ([], ValueError, "and r2 must be two numbers per head, got shapes (0,) and (2,)"),
        ([1.0, NAN], ValueError, "must be finite, got NaN or infinity"),
    ),
    *several(
        "kerple_bias",
        "r2",
        ([-1.0, 1.0], ValueError, "must be >= 0 for the form 'log', got -1"),
        ([[1.0, 1.0]], ValueError, "must have 1 axis, got shape (1, 2)"),
    ),
    ("kerple_bias", {"r2": ONES(3)}, ValueError, "r1 and r2 must be two numbers per head, got shapes (2,) and (3,)"),
    ("kerple_bias", {"r2": [0.0, 1.0], "form": "power"}, ValueError, "r2 must be > 0 for the form 'power', got 0"),
    *a_word("kerple_bias", "form", "log", "power"),
    *an_integer("sandwich_bias", "num_heads", 1, 0, -2),
    *several(
        "sandwich_bias",
        "dim",
        (7, ValueError, "must be a positive even integer, got 7"),
        (0, ValueError, "must be an integer >= 1, got 0"),
        (8.0, TypeError, "must be an integer >= 1, got 8.0"),
    ),
    *a_number("sandwich_bias", "base", "a finite number > 1", 1.0, -3.0),
    *an_integer("sandwich_bias", "start", 0, -1),
    ("sandwich_bias", {"start": 2}, ValueError, "start must be 0 or 1, got 2"),
    *a_number("fire_distance", "c", "a finite number"),
    *a_number("fire_distance", "length", "a finite number >= 0", -1.0),
    *a_word("fire_distance", "limit", "max", "min"),
    *a_number("fire_distance", "eps", "a finite number >= 0", -1e-6),
    ("fire_distance", {"eps": 0.0, "c": 0.0}, ValueError, "eps must be > 0 where c is 0 or a query is at 0, got 0.0"),
    ("fire_distance", {"eps": 0.0, "length": 0.0}, ValueError, "eps must be > 0 where c is 0 or a query is at 0, got 0.0"),
    *several(
        "relative_position_index",
        "sizes",
        (7, TypeError, "must be a sequence of integers, one per axis, got 7"),
        ((), ValueError, "must have one integer per axis, got ()"),
    ),
    ("relative_position_index", {"sizes": (2, -1)}, ValueError, "sizes[1] must be an integer >= 0, got -1"),
    ("relative_position_index", {"sizes": (2.0, 1)}, TypeError, "sizes[0] must be an integer >= 0, got 2.0"),
    *a_word("relative_position_index", "offset", "query_minus_key", "key_minus_query", "absolute"),
    *an_integer("relative_position_index", "stride", 1, 0, -2),
    *several(
        "relative_position_index",
        "reach",
        (3, TypeError, "must be a sequence of integers, one per axis, got 3"),
        ((1,), ValueError, "must have one integer per axis, 2, got (1,)"),
    ),
    ("relative_position_index", {"reach": (1, -1)}, ValueError, "reach[1] must be an integer >= 0, got -1"),
    *a_flag("relative_position_index", "class_token"),
    *numbers("indexed_bias", "table"),
    *several(
        "indexed_bias",
        "table",
        ([1.0], ValueError, "must have 2 axes, got shape (1,)"),
        (ONES((9, 0)), ValueError, "must be (rows, heads) with at least one head, got shape (9, 0)"),
    ),
    *positions("indexed_bias", "index", whole=True),
    *several(
        "indexed_bias",
        "index",
        ([1, 2], ValueError, "must be (..., q, k), got shape (2,)"),
        ([[9, 0]], IndexError, "must be in -1 .. 8 for a table of 9 rows, got 9"),
        ([[0, -2]], IndexError, "must be in -1 .. 8 for a table of 9 rows, got -2"),
    ),
    *a_word("indexed_bias", "layout", "rows_first", "heads_first"),
    *positions("log_offset", "relative_position"),
    *(bad for bad in numbers("log_offset", "extent") if bad[1]["extent"] is not None),
    *several(
        "log_offset",
        "extent",
        (0, ValueError, "must be > 0, got 0"),
        ([1.0, -2.0, 3.0], ValueError, "must be > 0, got -2"),
        (NAN, ValueError, "must be finite, got NaN or infinity"),
        ([1.0, 2.0], ValueError, "of shape (2,) must broadcast against the offsets' shape (3,)"),
    ),
    *numbers("cosine_scale", "log_scale"),
    *several("cosine_scale", "log_scale", ([INF], ValueError, "must be finite, got NaN or infinity")),
    *a_number("cosine_scale", "largest", "a finite number > 0", 0, -1.0),
    *(bad for name in ("features", "w1", "b1", "w2") for bad in numbers("position_mlp", name)),
    *(bad for bad in numbers("position_mlp", "b2") if bad[1]["b2"] is not None),
    ("position_mlp", {"features": 1.0}, ValueError, f"{LAYERS} (), (4, 2), (4,), (3, 4)"),
    ("position_mlp", {"features": ONES(3)}, ValueError, f"{LAYERS} (3,), (4, 2), (4,), (3, 4)"),
    ("position_mlp", {"w1": ONES((2, 2))}, ValueError, f"{LAYERS} (5, 2), (2, 2), (4,), (3, 4)"),
    ("position_mlp", {"b1": ONES((4, 1))}, ValueError, f"{LAYERS} (5, 2), (4, 2), (4, 1), (3, 4)"),
    ("position_mlp", {"w2": ONES((0, 4))}, ValueError, f"{LAYERS} (5, 2), (4, 2), (4,), (0, 4)"),
    ("position_mlp", {"b2": ONES(2)}, ValueError, "b2 must be (3,), one per head, got (2,)"),
    *a_word("position_mlp", "activation", "relu", "silu", "identity"),
    *(bad for bad in numbers("position_mlp", "norm_weight") if bad[1]["norm_weight"] is not None),
    ("position_mlp", {"norm_weight": ONES(3)}, ValueError, "norm_weight must be (4,), one per hidden value, got shape (3,)"),
    ("position_mlp", {"norm_bias": ONES(4)}, ValueError, "norm_bias must be None without norm_weight, got an array"),
    (
        "position_mlp",
        {"norm_weight": ONES(4), "norm_bias": 1.0},
        ValueError,
        "norm_bias must be (4,), one per hidden value, got shape ()",
    ),
    *a_number("position_mlp", "norm_eps", "a finite number > 0", 0, -1e-5),
    *(bad for bad in a_number("position_mlp", "ceiling", "a finite number") if bad[1]["ceiling"] is not None),
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


test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works = table_tests(VALID, CASES, "bias")
