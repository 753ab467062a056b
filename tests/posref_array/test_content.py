"""What depends on the content, on every library: values, errors."""

from __future__ import annotations

from checks_kit import Bad, Good, booleans, floats, on_every_library, whole

GOOD: Good = {
    "decomposed_bias": {
        "q": floats(6, 4),
        "height_table": floats(3, 4),
        "width_table": floats(5, 4),
        "q_size": (2, 3),
        "k_size": (2, 3),
    },
    "bias_gate": {"projection": floats(2, 3, 8), "const": floats(2)},
    "reset_cls": {"bias": floats(2, 3, 5), "from_cls": floats(2), "to_cls": floats(2)},
    "forget_bias": {"log_forget": floats(3)},
    "cope_scores": {"q": floats(3, 4), "k": floats(5, 4), "table": floats(6, 4)},
    "path_scores": {
        "q": floats(3, 4),
        "k": floats(3, 4),
        "w": floats(3, 4),
        "beta": floats(3),
        "log_forget": floats(3),
    },
}
HEADS = r"must have one number for each of 2 heads, got shape \(3,\)"
FLOATING = "must be a floating array, got type"

BAD: Bad = [
    ("decomposed_bias", {"q": whole(6, 4)}, TypeError, f"q {FLOATING}"),
    ("decomposed_bias", {"q": floats(5, 4)}, ValueError, r"q must be \(..., 6, d\) for q_size \(2, 3\), got shape"),
    ("decomposed_bias", {"height_table": floats(5, 4)}, ValueError, r"height_table must be \(3, 4\), resampled where"),
    ("decomposed_bias", {"width_table": whole(5, 4)}, TypeError, f"width_table {FLOATING}"),
    ("decomposed_bias", {"q_size": 6}, TypeError, r"q_size must be \(height, width\), got 6"),
    ("decomposed_bias", {"k_size": (0, 3)}, ValueError, "k_size must be an integer >= 1, got 0"),
    ("decomposed_bias", {"rule": "floor"}, ValueError, "rule must be one of 'exact', 'float32', got 'floor'"),
    ("bias_gate", {"projection": floats(2, 3, 4)}, ValueError, r"projection must be \(..., heads, q, 8\), got shape"),
    ("bias_gate", {"const": floats(3)}, ValueError, f"const {HEADS}"),
    ("bias_gate", {"const": whole(2)}, TypeError, f"const {FLOATING}"),
    ("reset_cls", {"bias": floats(3, 5)}, ValueError, r"bias must be \(..., heads, q, k\), got shape \(3, 5\)"),
    ("reset_cls", {"from_cls": floats(3)}, ValueError, f"from_cls {HEADS}"),
    ("reset_cls", {"to_cls": whole(2)}, TypeError, f"to_cls {FLOATING}"),
    ("forget_bias", {"log_forget": floats()}, ValueError, "log_forget must have an axis of tokens, got a scalar"),
    ("forget_bias", {"log_forget": whole(3)}, TypeError, f"log_forget {FLOATING}"),
    ("forget_bias", {"backward": floats(4)}, ValueError, r"backward must be of the shape of log_forget, \(3,\), got"),
    ("forget_bias", {"num_queries": 4}, ValueError, "num_queries must be at most 3, the number of tokens, got 4"),
    ("cope_scores", {"k": floats(5, 3)}, ValueError, r"q and k must be \(..., q, d\) and \(..., k, d\), got"),
    ("cope_scores", {"table": floats(0, 4)}, ValueError, r"table must be \(rows, 4\) with at least one row, got shape"),
    ("cope_scores", {"mask": floats(3, 5)}, TypeError, "mask must be boolean, True where a query may look, got type"),
    ("cope_scores", {"mask": booleans(5, 3)}, ValueError, r"mask of shape \(5, 3\) must broadcast"),
    ("cope_scores", {"scale": "1"}, TypeError, "scale must be a finite number, got '1'"),
    ("cope_scores", {"scale_positions": 1}, TypeError, "scale_positions must be True or False, got 1"),
    ("path_scores", {"w": floats(3, 5)}, ValueError, r"q, k, w must be \(..., n, d\), got"),
    ("path_scores", {"beta": floats(4)}, ValueError, r"beta must be \(..., 3\), one number per token, got shape"),
    ("path_scores", {"log_forget": whole(3)}, TypeError, f"log_forget {FLOATING}"),
    ("path_scores", {"gate": "open"}, ValueError, "gate must be one of 'plain', 'scaled', got 'open'"),
]


test_values, test_the_calls_that_are_changed_work, test_bad_input = on_every_library(GOOD, GOOD, BAD)
