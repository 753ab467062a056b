"""Bad input to remapped distances, xPos, FoPE, PoPE, weights, packed positions and linear attention."""

from __future__ import annotations

from typing import Any

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

HERE = np.arange(3)

# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "rerope_distance": {"q_positions": HERE, "k_positions": HERE, "window": 2, "factor": 2.0},
    "self_extend_distance": {"q_positions": HERE, "k_positions": HERE, "group_size": 2, "window": 2},
    "dual_chunk_distance": {"q_positions": HERE, "k_positions": HERE, "chunk_size": 8, "local_size": 2},
    "rope_scores": {"q": ONES((3, 8)), "k": ONES((5, 8)), "distances": ONES((3, 5)), "inv_freq": ONES(4)},
    "xpos_scale": {"positions": HERE, "dim": 4, "length": 3},
    "fope_cos_sin": {
        "positions": HERE,
        "inv_freq": ONES(2),
        "cos_coef": ONES((2, 3)),
        "sin_coef": ONES((2, 3)),
        "pairs": 4,
    },
    "pope_apply": {"x": ONES((3, 4)), "positions": HERE},
    "rope_permute_weight": {"weight": ONES((12, 2)), "num_heads": 2},
    "cu_seqlens_positions": {"cu_seqlens": np.array([0, 3])},
    "mask_positions": {"mask": np.array([0, 1, 1])},
    "linear_attention": {
        "q": ONES((3, 4)),
        "k": ONES((5, 4)),
        "v": ONES((5, 2)),
        "q_positions": HERE,
        "k_positions": np.arange(5),
        "inv_freq": ONES(2),
    },
}

MAPS = "rerope_distance self_extend_distance dual_chunk_distance"
BATCHES = "must have batch axes that broadcast, got (2, 1) and (3, 1)"
AXIS = "must have a sequence axis, got a scalar"
LONG = "must fit into the 6 rows of a head from offset"


def both(q: Any, k: Any, says: str) -> list[Bad]:
    changes = {"q_positions": q, "k_positions": k}
    return [(f, changes, ValueError, f"q_positions and k_positions {says}") for f in MAPS.split()]


DISTANCES: list[Bad] = [
    *positions(MAPS, "q_positions", whole=True),
    *positions(MAPS, "k_positions", whole=True),
    *several(MAPS, "q_positions", (3, ValueError, AXIS)),
    *several(MAPS, "k_positions", (3, ValueError, AXIS)),
    *both(np.zeros((2, 1), int), np.zeros((3, 1), int), BATCHES),
    *an_integer("rerope_distance self_extend_distance", "window", 1, 0, -4),
    *several(
        "rerope_distance",
        "factor",
        ("4", TypeError, "must be a finite number > 0, got '4'"),
        (0, ValueError, "must be a finite number > 0, got 0"),
        (INF, ValueError, "must be a finite number > 0, got inf"),
    ),
    *an_integer("self_extend_distance", "group_size", 1, 0, -4),
    *a_word("self_extend_distance", "shift", "exact", "floor"),
    *an_integer("dual_chunk_distance", "chunk_size", 1, 0, -4),
    *an_integer("dual_chunk_distance", "local_size", 0, -1),
    ("dual_chunk_distance", {"local_size": 8}, ValueError, "local_size must be < chunk_size 8, got 8"),
    *a_flag("dual_chunk_distance", "critical"),
]

SCORES: list[Bad] = [
    *numbers("rope_scores", "q"),
    *numbers("rope_scores", "k"),
    *numbers("rope_scores", "distances"),
    *numbers("rope_scores", "inv_freq"),
    *several("rope_scores", "distances", ([[NAN] * 5], ValueError, "must be finite, got NaN or infinity")),
    *several("rope_scores", "inv_freq", ([INF], ValueError, "must be finite, got NaN or infinity")),
    *several("rope_scores", "inv_freq", (1.0, ValueError, "must have 1 axis, got shape ()")),
    *several("rope_scores", "inv_freq", ([], ValueError, "must have 1 to 4 pairs for 8 channels, got 0")),
    *several("rope_scores", "inv_freq", (ONES(5), ValueError, "must have 1 to 4 pairs for 8 channels, got 5")),
    (
        "rope_scores",
        {"q": ONES(8)},
        ValueError,
        "q and k must be (..., q, channels) and (..., k, channels), got (8,) and (5, 8)",
    ),
    (
        "rope_scores",
        {"k": ONES((5, 7))},
        ValueError,
        "q and k must be (..., q, channels) and (..., k, channels), got (3, 8) and (5, 7)",
    ),
    (
        "rope_scores",
        {"q": ONES((2, 3, 8)), "k": ONES((3, 5, 8))},
        ValueError,
        "q and k must have leading axes that broadcast, got (2, 3, 8) and (3, 5, 8)",
    ),
    (
        "rope_scores",
        {"distances": ONES((2, 3, 5))},
        ValueError,
        "distances of shape (2, 3, 5) must broadcast against the scores' shape (3, 5)",
    ),
    *a_word("rope_scores", "layout", "half", "interleaved"),
]  # fmt: skip

LENGTH = "must be given where centre is 'floor', got None"
EVEN = "must be a positive even integer, got"

XPOS: list[Bad] = [
    *positions("xpos_scale", "positions"),
    *an_integer("xpos_scale", "dim", 1, 0, -2),
    *several("xpos_scale", "dim", (3, ValueError, f"{EVEN} 3")),
    ("xpos_scale", {"length": None}, ValueError, f"length {LENGTH}"),
    ("xpos_scale", {"length": 0}, ValueError, "length must be an integer >= 1, got 0"),
    ("xpos_scale", {"length": 2.0}, TypeError, "length must be an integer >= 1, got 2.0"),
    ("xpos_scale", {"centre": 1.0}, ValueError, "length must be None where centre is a position, got 3"),
    ("xpos_scale", {"centre": "middle"}, ValueError, "centre must be one of 'floor', 'ceil', got 'middle'"),
    ("xpos_scale", {"centre": NAN, "length": None}, ValueError, "centre must be a finite number, got nan"),
    *a_number("xpos_scale", "scale_base", "a finite number > 0", 0, -1.0),
]

FOPE: list[Bad] = [
    *positions("fope_cos_sin", "positions"),
    *numbers("fope_cos_sin", "inv_freq"),
    *numbers("fope_cos_sin", "cos_coef"),
    *numbers("fope_cos_sin", "sin_coef"),
    *several("fope_cos_sin", "cos_coef", (ONES((2, 3)) * NAN, ValueError, "must be finite, got NaN or infinity")),
    (
        "fope_cos_sin",
        {"cos_coef": ONES((2, 4))},
        ValueError,
        "cos_coef and sin_coef must both be (heads, n, m) or (n, m), got (2, 4) and (2, 3)",
    ),
    (
        "fope_cos_sin",
        {"cos_coef": ONES(3), "sin_coef": ONES(3)},
        ValueError,
        "cos_coef and sin_coef must both be (heads, n, m) or (n, m), got (3,) and (3,)",
    ),
    (
        "fope_cos_sin",
        {"inv_freq": ONES(3)},
        ValueError,
        "cos_coef and sin_coef must have a row for each of inv_freq's 3 and at most pairs = 4 columns, got (2, 3)",
    ),
    (
        "fope_cos_sin",
        {"pairs": 2},
        ValueError,
        "cos_coef and sin_coef must have a row for each of inv_freq's 2 and at most pairs = 2 columns, got (2, 3)",
    ),
    (
        "fope_cos_sin",
        {"positions": 3, "cos_coef": ONES((1, 2, 3)), "sin_coef": ONES((1, 2, 3))},
        ValueError,
        "positions must have a sequence axis where the coefficients have heads, got a scalar",
    ),
    *an_integer("fope_cos_sin", "pairs", 1, 0, -1),
    *a_number("fope_cos_sin", "pad_sin", "a finite number"),
]  # fmt: skip

POPE: list[Bad] = [
    *numbers("pope_apply", "x"),
    *positions("pope_apply", "positions"),
    ("pope_apply", {"x": 1.0}, ValueError, "x must have at least one channel, got shape ()"),
    ("pope_apply", {"x": ONES((3, 0))}, ValueError, "x must have at least one channel, got shape (3, 0)"),
    (
        "pope_apply",
        {"positions": [0, 1]},
        ValueError,
        "positions of shape (2,) must broadcast against x.shape[:-1] = (3,)",
    ),
    *a_number("pope_apply", "base", "a finite number > 1", 1, 0),
    *several(
        "pope_apply",
        "bias",
        (["1"], TypeError, "must be an array of real numbers, got type <U1"),
        ([NAN], ValueError, "must be finite, got NaN or infinity"),
        (ONES(3), ValueError, "of shape (3,) must broadcast against x.shape = (3, 4)"),
    ),
]  # fmt: skip

ROWS = "must have a multiple of num_heads = 2 rows, got shape"

WEIGHTS: list[Bad] = [
    *numbers("rope_permute_weight", "weight"),
    *several(
        "rope_permute_weight",
        "weight",
        (1.0, ValueError, f"{ROWS} ()"),
        (ONES((0, 2)), ValueError, f"{ROWS} (0, 2)"),
        (ONES((11, 2)), ValueError, f"{ROWS} (11, 2)"),
    ),
    *an_integer("rope_permute_weight", "num_heads", 1, 0, -2),
    (
        "rope_permute_weight",
        {"num_heads": 5},
        ValueError,
        "weight must have a multiple of num_heads = 5 rows, got shape (12, 2)",
    ),
    *a_word("rope_permute_weight", "to", "half", "interleaved"),
    *several(
        "rope_permute_weight",
        "rotary_dim",
        (3, ValueError, f"{EVEN} 3"),
        (0, ValueError, "must be an integer >= 1, got 0"),
        (8, ValueError, f"{LONG} 0 on, got 8"),
    ),
    *an_integer("rope_permute_weight", "offset", 0, -1),
    ("rope_permute_weight", {"offset": 6}, ValueError, "rows from offset on must be an integer >= 1, got 0"),
    ("rope_permute_weight", {"offset": 1}, ValueError, f"rows from offset on {EVEN} 5"),
    ("rope_permute_weight", {"offset": 3, "rotary_dim": 4}, ValueError, f"rotary_dim {LONG} 3 on, got 4"),
]  # fmt: skip

PACKED: list[Bad] = [
    *several(
        "cu_seqlens_positions",
        "cu_seqlens",
        ([0.0, 1.0], TypeError, "must be integers, got type float64"),
        ([], TypeError, "must be integers, got type float64"),
        (["0"], TypeError, "must be integers, got type <U1"),
        ([True], TypeError, "must be integers, got type bool"),
        (np.zeros(0, int), ValueError, "must be a vector with at least one entry, got shape (0,)"),
        (0, ValueError, "must be a vector with at least one entry, got shape ()"),
        ([[0, 1]], ValueError, "must be a vector with at least one entry, got shape (1, 2)"),
        ([1, 2], ValueError, "must start with 0, got 1"),
        ([0, 5, 3], ValueError, "must not fall, got 5 and 3"),
    ),
    *(bad for bad in positions("cu_seqlens_positions", "starts", whole=True) if bad[1]["starts"] is not None),
    ("cu_seqlens_positions", {"starts": [0, 1]}, ValueError, "starts must be (1,), one per sequence, got shape (2,)"),
    ("cu_seqlens_positions", {"starts": 0}, ValueError, "starts must be (1,), one per sequence, got shape ()"),
]

MASK = "must be booleans, or integers 0 and 1, got"
ANY = "must be an integer >= -9007199254740992, got"
PADDED: list[Bad] = [
    *several(
        "mask_positions",
        "mask",
        ([0.5], TypeError, f"{MASK} type float64"),
        (["1"], TypeError, f"{MASK} type <U1"),
        (None, TypeError, f"{MASK} type object"),
        ([0, 2], ValueError, f"{MASK} 2"),
        ([-1], ValueError, f"{MASK} -1"),
        (1, ValueError, "must have a sequence axis, got shape ()"),
    ),
    *a_flag("mask_positions", "restart"),
    *(
        bad
        for name in ("first", "padding", "largest")
        for bad in several(
            "mask_positions",
            name,
            *((v, TypeError, f"{ANY} {v!r}") for v in (1.0, "1", True)),
            (-(2**60), ValueError, f"{ANY} {-(2**60)}"),
        )
    ),
]

SHAPES = "q, k, v must be (..., q, d), (..., k, d), (..., k, e), got"
LEADING = "q, k, v must have leading axes that broadcast, got"
MISSING = "must be given where positions or frequencies are, got None"

LINEAR: list[Bad] = [
    *(bad for name in "qkv" for bad in numbers("linear_attention", name)),
    ("linear_attention", {"q": ONES(4)}, ValueError, f"{SHAPES} (4,), (5, 4), (5, 2)"),
    ("linear_attention", {"k": ONES((5, 3))}, ValueError, f"{SHAPES} (3, 4), (5, 3), (5, 2)"),
    ("linear_attention", {"v": ONES((4, 2))}, ValueError, f"{SHAPES} (3, 4), (5, 4), (4, 2)"),
    (
        "linear_attention",
        {"q": ONES((2, 3, 4)), "k": ONES((3, 5, 4))},
        ValueError,
        f"{LEADING} (2, 3, 4), (3, 5, 4), (5, 2)",
    ),
    ("linear_attention", {"q_positions": None}, ValueError, f"q_positions {MISSING}"),
    ("linear_attention", {"k_positions": None}, ValueError, f"k_positions {MISSING}"),
    ("linear_attention", {"inv_freq": None}, ValueError, f"inv_freq {MISSING}"),
    *a_word("linear_attention", "layout", "half", "interleaved"),
    *a_word("linear_attention", "feature", "elu", "identity"),
    *several(
        "linear_attention",
        "mask",
        (ONES((3, 5)), TypeError, "must be boolean, True where a query may look, got type float64"),
        (ONES((2, 5), bool), ValueError, "of shape (2, 5) must broadcast against the scores' shape (3, 5)"),
    ),
    (
        "linear_attention",
        {"q": np.zeros((3, 4)), "feature": "identity"},
        ValueError,
        "q and k must have features whose sum over the keys is not 0, got a row where it is",
    ),
]  # fmt: skip

CASES = [*DISTANCES, *SCORES, *XPOS, *FOPE, *POPE, *WEIGHTS, *PACKED, *PADDED, *LINEAR]
test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works = table_tests(
    VALID,
    CASES,
    "rotary.distance",
    "rotary.xpos",
    "rotary.fope",
    "rotary.pope",
    "rotary.weights",
    "positions",
    "linear_judge",
)
