"""Biases on every library: values against the conformance checks, bad input."""

from __future__ import annotations

import pytest
from array_kit import LIBRARIES, Library
from checks_kit import Bad, Good, booleans, caller, floats, on_every_library, whole

FUNCTIONS = (
    "alibi_bias",
    "alibi_slopes",
    "cape_positions",
    "cosine_scale",
    "fire_distance",
    "indexed_bias",
    "kerple_bias",
    "log_offset",
    "long_t5_blocks",
    "position_mlp",
    "query_positions",
    "relative_position_index",
    "sandwich_bias",
    "t5_bias",
    "t5_bucket",
)


# --- bad input -------------------------------------------------------------------------------------------------------

GOOD: Good = {
    "alibi_slopes": {"num_heads": 6},
    "alibi_bias": {"slopes": floats(2), "q_positions": whole(3), "k_positions": whole(4)},
    "query_positions": {"num_queries": 2, "num_keys": 5},
    "t5_bucket": {"relative_position": whole(3)},
    "t5_bias": {"table": floats(32, 2), "q_positions": whole(3), "k_positions": whole(4)},
    "long_t5_blocks": {"mask": booleans(9), "block_size": 4},
    "relative_position_index": {"sizes": (2, 3)},
    "indexed_bias": {"table": floats(9, 2), "index": whole(3, 4)},
    "log_offset": {"relative_position": whole(3)},
    "cape_positions": {"positions": whole(3), "shift": floats(3), "log_scale": floats(1)},
    "kerple_bias": {"r1": floats(2), "r2": floats(2), "q_positions": whole(3), "k_positions": whole(4)},
    "sandwich_bias": {"num_heads": 2, "q_positions": whole(3), "k_positions": whole(4)},
    "fire_distance": {"q_positions": whole(3), "k_positions": whole(4), "c": 0.1, "length": 8.0},
    "cosine_scale": {"log_scale": floats(3)},
    "position_mlp": {"features": floats(5, 2), "w1": floats(4, 2), "b1": floats(4), "w2": floats(3, 4)},
}
BAD: Bad = [
    ("alibi_slopes", {"bias_max": 0}, ValueError, "bias_max must be a finite number > 0, got 0"),
    ("alibi_slopes", {"rule": "mpt"}, ValueError, "rule must be one of 'released', 'geometric', got 'mpt'"),
    ("alibi_slopes", {"scale": "8"}, TypeError, "scale must be a finite number, got '8'"),
    ("alibi_slopes", {"heads": (2, 2)}, ValueError, r"heads must be a range of heads within 0 .. 6, got \(2, 2\)"),
    ("alibi_bias", {"future_slopes": floats(3)}, ValueError, r"future_slopes must be of the shape of slopes, \(2,\), got"),
    ("alibi_bias", {"future_slopes": whole(2)}, TypeError, "future_slopes must be a floating array, got type"),
    ("alibi_bias", {"future_slopes": floats(2), "form": "key"}, ValueError, "future_slopes must be None for the form 'key'"),
    ("query_positions", {"num_queries": -1}, ValueError, "num_queries must be an integer >= 0, got -1"),
    ("query_positions", {"align": "left"}, ValueError, "align must be one of 'bottom_right', 'top_left', got 'left'"),
    ("t5_bucket", {"rule": "fast"}, ValueError, "rule must be one of 'exact', 'epsilon', 'float32_sum', got 'fast'"),
    ("t5_bias", {"layout": "rows"}, ValueError, "layout must be one of 'rows_first', 'heads_first', got 'rows'"),
    ("t5_bias", {"table": floats(0, 32), "layout": "heads_first"}, ValueError, r"table must be \(heads, num_buckets\) with"),
    ("t5_bias", {"scale": float("nan")}, ValueError, "scale must be a finite number, got nan"),
    ("long_t5_blocks", {"mask": whole(3)}, TypeError, "mask must be boolean, False where there is padding, got type"),
    ("long_t5_blocks", {"mask": booleans()}, ValueError, "mask must have an axis of tokens, got a scalar"),
    ("long_t5_blocks", {"block_size": 0}, ValueError, "block_size must be an integer >= 1, got 0"),
    ("relative_position_index", {"sizes": 3}, TypeError, "sizes must be a sequence of integers, one per axis, got 3"),
    ("relative_position_index", {"offset": "k-q"}, ValueError, "offset must be one of 'query_minus_key', "),
    ("relative_position_index", {"stride": 0}, ValueError, "stride must be an integer >= 1, got 0"),
    ("relative_position_index", {"reach": (1,)}, ValueError, r"reach must have one integer per axis, 2, got \(1,\)"),
    ("relative_position_index", {"class_token": 1}, TypeError, "class_token must be True or False, got 1"),
    ("indexed_bias", {"table": whole(9, 2)}, TypeError, "table must be a floating array, got type"),
    ("indexed_bias", {"table": floats(9, 0)}, ValueError, r"table must be \(rows, heads\) with at least one head, got"),
    ("indexed_bias", {"index": floats(3, 4)}, TypeError, "index must be an array of integers, got type"),
    ("indexed_bias", {"index": whole(3)}, ValueError, r"index must be \(..., q, k\), got shape \(3,\)"),
    ("log_offset", {"relative_position": [1]}, TypeError, "relative_position must be an array of real numbers, got type list"),
    ("log_offset", {"extent": 0}, ValueError, "extent must be a finite number > 0, got 0"),
    ("log_offset", {"extent": floats(2)}, ValueError, r"extent of shape \(2,\) must broadcast against the offsets' shape \(3,\)"),
    ("cosine_scale", {"log_scale": whole(3)}, TypeError, "log_scale must be a floating array, got type"),
    ("cosine_scale", {"largest": 0.0}, ValueError, "largest must be a finite number > 0, got 0.0"),
    *(
        (name, {"q_positions": whole(2, 3), "k_positions": whole(3, 3)}, ValueError, "batch axes that broadcast, got")
        for name in ("kerple_bias", "sandwich_bias", "fire_distance")
    ),
    ("kerple_bias", {"r2": floats(3)}, ValueError, "r1 and r2 must be two numbers per head, got shapes"),
    ("kerple_bias", {"r1": floats(0)}, ValueError, r"r1 must be a vector with at least one head, got shape \(0,\)"),
    ("kerple_bias", {"form": "cubic"}, ValueError, "form must be one of 'log', 'power', got 'cubic'"),
    ("sandwich_bias", {"dim": 3}, ValueError, "dim must be a positive even integer, got 3"),
    ("sandwich_bias", {"base": 1.0}, ValueError, "base must be a finite number > 1, got 1.0"),
    ("sandwich_bias", {"start": 2}, ValueError, "start must be 0 or 1, got 2"),
    ("fire_distance", {"length": -1.0}, ValueError, "length must be a finite number >= 0, got -1.0"),
    ("fire_distance", {"limit": "mean"}, ValueError, "limit must be one of 'max', 'min', got 'mean'"),
    ("fire_distance", {"q_positions": [1]}, TypeError, "q_positions must be an array of real numbers, got type list"),
    ("cape_positions", {"positions": whole()}, ValueError, "positions must have a sequence axis, got a scalar"),
    ("cape_positions", {"shift": whole(3)}, TypeError, "shift must be a floating array, got type"),
    ("cape_positions", {"log_scale": floats(2)}, ValueError, r"log_scale of shape \(2,\) must broadcast against the positions'"),
    ("cape_positions", {"centre": 1}, TypeError, "centre must be True or False, got 1"),
    ("position_mlp", {"w1": floats(4, 3)}, ValueError, "features, w1, b1, w2 must be"),
    ("position_mlp", {"b2": floats(2)}, ValueError, r"b2 must be \(3,\), one per head, got \(2,\)"),
    ("position_mlp", {"b1": whole(4)}, TypeError, "b1 must be a floating array, got type"),
    ("position_mlp", {"activation": "gelu"}, ValueError, "activation must be one of 'relu', 'silu', 'identity', got 'gelu'"),
    ("position_mlp", {"norm_weight": floats(3)}, ValueError, r"norm_weight must be \(4,\), one per hidden value, got shape"),
    ("position_mlp", {"norm_bias": floats(4)}, ValueError, "norm_bias must be None without norm_weight, got an array"),
    ("position_mlp", {"norm_eps": 0.0}, ValueError, "norm_eps must be a finite number > 0, got 0.0"),
    ("position_mlp", {"ceiling": float("inf")}, ValueError, "ceiling must be a finite number, got inf"),
]  # fmt: skip


call = caller(GOOD)


test_values, test_the_calls_that_are_changed_work, test_bad_input = on_every_library(FUNCTIONS, GOOD, BAD)


@pytest.mark.parametrize("row", [-2, 9])
@pytest.mark.parametrize("lib", [lib for lib in LIBRARIES if lib.name != "torch"], ids=lambda lib: lib.name)
def test_rows_that_are_not_there_are_refused_where_looking_costs_nothing(lib: Library, row: int) -> None:
    with pytest.raises(IndexError, match=r"index must be in -1 \.\. 8 for a table of 9 rows"):
        call(lib, "indexed_bias", {"index": lib.make([[0, row]], "int64")})


def test_an_extent_of_0_is_refused_where_looking_costs_nothing() -> None:
    with pytest.raises(ValueError, match="extent must be > 0"):
        call(LIBRARIES[0], "log_offset", {"extent": LIBRARIES[0].make([1, 0, 2], "int64")})


def test_numbers_that_make_no_kernel_are_refused_where_looking_costs_nothing() -> None:
    numpy = LIBRARIES[0]
    with pytest.raises(ValueError, match="r2 must be > 0 for the form 'power'"):
        call(numpy, "kerple_bias", {"r2": numpy.make([0, 1], "float32"), "form": "power"})
    with pytest.raises(ValueError, match="eps must be > 0 where c is 0 or a query is at 0"):
        call(numpy, "fire_distance", {"c": 0.0, "eps": 0.0})


def test_every_function_is_here() -> None:
    assert set(FUNCTIONS) == set(GOOD)
