"""Relative attention on every library: values, errors."""

from __future__ import annotations

import pytest
from array_kit import LIBRARIES, Library
from checks_kit import Bad, Good, caller, floats, numbers, on_every_library, whole

GOOD: Good = {
    "relative_index": {"relative_position": whole(3), "left": 2, "right": 1},
    "relative_shift": {"x": floats(3, 5), "num_keys": 4},
    "relative_bias": {"x": floats(3, 4), "table": floats(6, 4), "index": whole(3, 5)},
    "relative_values": {"weights": floats(3, 5), "table": floats(6, 2), "index": whole(3, 5)},
    "relative_scores": {"q": floats(3, 4), "k": floats(5, 4), "table": floats(6, 4), "index": whole(3, 5)},
    "deberta_bucket": {"relative_position": whole(3)},
    "permuted_channels": {"permutation": numbers(2, 0, 1), "positions": whole(3)},
    "disentangled_scores": {
        "q": floats(3, 4),
        "k": floats(5, 4),
        "relative": whole(3, 5),
        "pos_k": floats(6, 4),
        "pos_q": floats(6, 4),
    },
    "untied_scores": {"q": floats(3, 4), "k": floats(5, 4), "pos_q": floats(3, 4), "pos_k": floats(5, 4)},
}
INTEGERS = "index must be an array of integers, got type"

BAD: Bad = [
    ("relative_index", {"relative_position": floats(3)}, TypeError, "relative_position must be an array of integers"),
    ("relative_index", {"left": -1}, ValueError, "left must be an integer >= 0, got -1"),
    ("relative_index", {"right": 2.0}, TypeError, "right must be an integer >= 0, got 2.0"),
    ("relative_index", {"outside": "wrap"}, ValueError, "outside must be one of 'clip', 'none', got 'wrap'"),
    ("relative_shift", {"x": whole(3, 5)}, TypeError, "x must be a floating array, got type"),
    ("relative_shift", {"x": floats(5)}, ValueError, r"x must be \(..., q, columns\), got shape \(5,\)"),
    ("relative_shift", {"num_keys": 6}, ValueError, "num_keys must be at most 5 for x with 5 columns, got 6"),
    ("relative_shift", {"rule": "bert"}, ValueError, "rule must be one of 'transformer-xl', 'xlnet', 'gemma-3n'"),
    ("relative_shift", {"stride": 2}, ValueError, "stride must be 1 for the rule 'transformer-xl', got 2"),
    ("relative_shift", {"outside": "one"}, ValueError, "outside must be one of 'next-row', 'zero', got 'one'"),
    ("relative_bias", {"x": whole(3, 4)}, TypeError, "x must be a floating array, got type"),
    ("relative_bias", {"table": floats(6, 3)}, ValueError, r"table must be \(..., rows, 4\) with at least one row"),
    ("relative_bias", {"index": floats(3, 5)}, TypeError, INTEGERS),
    ("relative_bias", {"index": whole(2, 5)}, ValueError, r"index must be \(..., 3, k\) for x of shape \(3, 4\)"),
    ("relative_bias", {"side": "value"}, ValueError, "side must be one of 'query', 'key', got 'value'"),
    ("relative_values", {"table": floats(0, 2)}, ValueError, r"table must be \(..., rows, e\) with at least one row"),
    ("relative_values", {"index": floats(3, 5)}, TypeError, INTEGERS),
    ("relative_values", {"index": whole(3, 4)}, ValueError, r"index must be \(..., 3, 5\) for weights of shape"),
    ("relative_scores", {"k": floats(5, 3)}, ValueError, r"q and k must be \(..., q, d\) and \(..., k, d\), got"),
    ("relative_scores", {"index": whole(3, 4)}, ValueError, r"index must end in \(3, 5\), queries and keys, got"),
    ("relative_scores", {"content_bias": floats(3)}, ValueError, r"content_bias of shape \(3,\) must broadcast"),
    ("relative_scores", {"position_bias": whole(4)}, TypeError, "position_bias must be a floating array, got type"),
    ("relative_scores", {"key_term": 1}, TypeError, "key_term must be True or False, got 1"),
    ("relative_scores", {"scale": float("nan")}, ValueError, "scale must be a finite number, got nan"),
    ("deberta_bucket", {"relative_position": floats(3)}, TypeError, "relative_position must be an array of integers"),
    ("permuted_channels", {"permutation": floats(3)}, TypeError, "permutation must be an array of integers"),
    ("permuted_channels", {"positions": floats(3)}, TypeError, "positions must be an array of integers"),
    ("permuted_channels", {"permutation": whole(3, 0)}, ValueError, r"with at least one channel, got shape \(3, 0\)"),
    ("deberta_bucket", {"num_buckets": 1}, ValueError, "num_buckets must be an integer >= 2, got 1"),
    ("deberta_bucket", {"max_distance": 129}, ValueError, "max_distance must be > 129, the exact range of 256 buckets"),
    ("deberta_bucket", {"beyond": "wrap"}, ValueError, "beyond must be one of 'clamp', 'grow', got 'wrap'"),
    ("disentangled_scores", {"q": whole(3, 4)}, TypeError, "q must be a floating array, got type"),
    ("disentangled_scores", {"k": floats(5, 3)}, ValueError, r"q and k must be \(..., q, d\) and \(..., k, d\), got"),
    ("disentangled_scores", {"relative": floats(3, 5)}, TypeError, "relative must be an array of integers"),
    ("disentangled_scores", {"relative": whole(5, 3)}, ValueError, r"relative must end in \(3, 5\), queries and keys"),
    ("disentangled_scores", {"pos_k": floats(5, 4)}, ValueError, "pos_k must be .* with an even number of rows, got"),
    ("disentangled_scores", {"pos_q": whole(6, 4)}, TypeError, "pos_q must be a floating array, got type"),
    ("disentangled_scores", {"p2c": "both"}, ValueError, "p2c must be one of 'code', 'paper', got 'both'"),
    ("disentangled_scores", {"p2p": True, "pos_k": None}, ValueError, "p2p must be False without both pos_k and pos_q"),
    ("disentangled_scores", {"scale": "1"}, TypeError, "scale must be a finite number, got '1'"),
    ("untied_scores", {"q": whole(3, 4)}, TypeError, "q must be a floating array, got type"),
    ("untied_scores", {"k": floats(5, 3)}, ValueError, r"q and k must be \(..., q, d\) and \(..., k, d\), got"),
    (
        "untied_scores",
        {"pos_q": floats(5, 4)},
        ValueError,
        r"pos_q must end in \(3, 4\), as q does, got shape \(5, 4\)",
    ),
    ("untied_scores", {"pos_k": whole(5, 4)}, TypeError, "pos_k must be a floating array, got type"),
    ("untied_scores", {"pos_k": None}, ValueError, "pos_q and pos_k must be given both or neither, got pos_q alone"),
    ("untied_scores", {"scale": float("inf")}, ValueError, "scale must be a finite number, got inf"),
]
ROWLESS = ("relative_bias", "relative_values", "relative_scores")


call = caller(GOOD)


test_values, test_the_calls_that_are_changed_work, test_bad_input = on_every_library(GOOD, GOOD, BAD)


@pytest.mark.parametrize("function", ROWLESS)
@pytest.mark.parametrize("row", [6, -2])
@pytest.mark.parametrize("lib", [lib for lib in LIBRARIES if lib.name != "torch"], ids=lambda lib: lib.name)
def test_rows_that_there_are_not_are_refused_where_looking_costs_nothing(lib: Library, row: int, function: str) -> None:
    index = lib.xp.reshape(numbers(*[0, row, 0, 0, 0] * 3)(lib), (3, 5))
    with pytest.raises(IndexError, match=r"index must be in 0 \.\. 5 for 6 rows, or -1, got another"):
        call(lib, function, {"index": lambda lib: index})
