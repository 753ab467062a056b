"""Distances, factors on the logits, xPos, FoPE, PoPE, weights, packing, linear attention on every library: values, errors."""

from __future__ import annotations

import math

import pytest
from array_kit import LIBRARIES, Library
from checks_kit import Bad, Good, booleans, caller, floats, numbers, on_every_library, whole

import posref
import posref_array

FUNCTIONS = (
    "cu_seqlens_positions",
    "dual_chunk_distance",
    "fope_cos_sin",
    "length_scale",
    "inkling_scale",
    "linear_attention",
    "llama4_scale",
    "log_n_scale",
    "pope_apply",
    "rerope_distance",
    "rope_permute_weight",
    "rope_pixel_freq",
    "rope_scores",
    "rope_softmax_factor",
    "self_extend_distance",
    "ssmax_scale",
    "xpos_scale",
)


# --- bad input -------------------------------------------------------------------------------------------------------

GOOD: Good = {
    "rope_pixel_freq": {"dim": 8, "max_freq": 10.0},
    "log_n_scale": {"positions": whole(3), "length": 4},
    "ssmax_scale": {"positions": whole(3), "s": floats(2)},
    "llama4_scale": {"positions": whole(3)},
    "inkling_scale": {"positions": whole(3), "length": 4},
    "length_scale": {"seq_len": 8, "length": 4},
    "rerope_distance": {"q_positions": whole(3), "k_positions": whole(4), "window": 2},
    "self_extend_distance": {"q_positions": whole(3), "k_positions": whole(4), "group_size": 2, "window": 3},
    "dual_chunk_distance": {"q_positions": whole(3), "k_positions": whole(4), "chunk_size": 4, "local_size": 1},
    "rope_scores": {"q": floats(3, 6), "k": floats(4, 6), "distances": whole(3, 4), "inv_freq": floats(2)},
    "xpos_scale": {"positions": whole(3), "dim": 4, "centre": 1},
    "fope_cos_sin": {
        "positions": whole(3),
        "inv_freq": floats(2),
        "cos_coef": floats(2, 2),
        "sin_coef": floats(2, 2),
        "pairs": 3,
    },
    "pope_apply": {"x": floats(3, 4), "positions": whole(3)},
    "rope_permute_weight": {"weight": floats(8, 2), "num_heads": 2},
    "cu_seqlens_positions": {"cu_seqlens": numbers(0, 2, 2, 5)},
    "linear_attention": {"q": floats(3, 4), "k": floats(5, 4), "v": floats(5, 2)},
}
WHOLE_MAPS = ("rerope_distance", "self_extend_distance", "dual_chunk_distance")
TURNING = {"q_positions": whole(3), "k_positions": whole(5), "inv_freq": floats(2)}

BAD: Bad = [
    ("rope_pixel_freq", {"dim": 7}, ValueError, "dim must be a positive even integer, got 7"),
    ("rope_pixel_freq", {"max_freq": 0.0}, ValueError, "max_freq must be a finite number > 0, got 0.0"),
    ("rope_pixel_freq", {"spacing": "cubic"}, ValueError, "spacing must be one of 'linear', 'log', got 'cubic'"),
    ("log_n_scale", {"length": 1}, ValueError, "length must be an integer >= 2, got 1"),
    ("log_n_scale", {"clip": 1}, TypeError, "clip must be True or False, got 1"),
    ("log_n_scale", {"positions": [1]}, TypeError, "positions must be an array of real numbers, got type list"),
    ("inkling_scale", {"length": 0}, ValueError, "length must be an integer >= 1, got 0"),
    ("inkling_scale", {"alpha": "1"}, TypeError, "alpha must be a finite number, got '1'"),
    ("ssmax_scale", {"s": whole(2)}, TypeError, "s must be a floating array, got type"),
    ("ssmax_scale", {"s": floats(0)}, ValueError, r"s must be a vector with at least one head, got shape \(0,\)"),
    ("ssmax_scale", {"positions": whole()}, ValueError, "positions must have a sequence axis, got a scalar"),
    ("ssmax_scale", {"bias": floats(3)}, ValueError, r"bias must be of the shape of s, \(2,\), got \(3,\)"),
    ("llama4_scale", {"attn_scale": math.nan}, ValueError, "attn_scale must be a finite number, got nan"),
    ("llama4_scale", {"floor_scale": 0}, ValueError, "floor_scale must be an integer >= 1, got 0"),
    ("llama4_scale", {"shift": 2}, ValueError, "shift must be 0 or 1, got 2"),
    *(
        (name, {p: floats(3)}, TypeError, f"{p} must be an array of integers, got type")
        for name in WHOLE_MAPS
        for p in ("q_positions", "k_positions")
    ),
    *((name, {"k_positions": whole()}, ValueError, "k_positions must have a sequence axis, got a scalar") for name in WHOLE_MAPS),
    *(
        (name, {"q_positions": whole(2, 3), "k_positions": whole(3, 3)}, ValueError, "batch axes that broadcast, got")
        for name in WHOLE_MAPS
    ),
    ("rerope_distance", {"window": 0}, ValueError, "window must be an integer >= 1, got 0"),
    ("rerope_distance", {"factor": 0.0}, ValueError, "factor must be a finite number > 0, got 0.0"),
    ("self_extend_distance", {"group_size": 0}, ValueError, "group_size must be an integer >= 1, got 0"),
    ("self_extend_distance", {"shift": "round"}, ValueError, "shift must be one of 'exact', 'floor', got 'round'"),
    ("dual_chunk_distance", {"local_size": 4}, ValueError, "local_size must be < chunk_size 4, got 4"),
    ("dual_chunk_distance", {"critical": None}, TypeError, "critical must be True or False, got None"),
    ("rope_scores", {"q": whole(3, 6)}, TypeError, "q must be a floating array, got type"),
    ("rope_scores", {"k": floats(4, 5)}, ValueError, "q and k must be"),
    ("rope_scores", {"inv_freq": floats(4)}, ValueError, "inv_freq must have"),
    ("rope_scores", {"inv_freq": floats(1, 2)}, ValueError, r"inv_freq must be a vector, got shape \(1, 2\)"),
    ("rope_scores", {"distances": whole(4, 3)}, ValueError, "distances of shape"),
    ("rope_scores", {"layout": "neox"}, ValueError, "layout must be one of 'half', 'interleaved', got 'neox'"),
    ("xpos_scale", {"dim": 3}, ValueError, "dim must be a positive even integer, got 3"),
    ("xpos_scale", {"centre": "floor"}, ValueError, "length must be given where centre is 'floor', got None"),
    ("xpos_scale", {"length": 3}, ValueError, "length must be None where centre is a position, got 3"),
    ("xpos_scale", {"scale_base": 0}, ValueError, "scale_base must be a finite number > 0, got 0"),
    ("fope_cos_sin", {"inv_freq": floats(0)}, ValueError, "inv_freq must be a vector with at least one frequency"),
    ("fope_cos_sin", {"sin_coef": floats(2, 3)}, ValueError, "cos_coef and sin_coef must both be"),
    ("fope_cos_sin", {"pairs": 1}, ValueError, "cos_coef and sin_coef must have a row for each of inv_freq's 2"),
    ("fope_cos_sin", {"pad_sin": math.inf}, ValueError, "pad_sin must be a finite number, got inf"),
    ("pope_apply", {"x": whole(3, 4)}, TypeError, "x must be a floating array, got type"),
    ("pope_apply", {"positions": whole(2)}, ValueError, r"positions of shape \(2,\) must broadcast"),
    ("pope_apply", {"base": 1.0}, ValueError, "base must be a finite number > 1, got 1.0"),
    ("pope_apply", {"bias": floats(3)}, ValueError, r"bias of shape \(3,\) must broadcast"),
    ("rope_permute_weight", {"num_heads": 3}, ValueError, r"weight must have a multiple of num_heads = 3 rows, got"),
    ("rope_permute_weight", {"to": "neox"}, ValueError, "to must be one of 'half', 'interleaved', got 'neox'"),
    ("rope_permute_weight", {"rotary_dim": 6}, ValueError, "rotary_dim must fit into the 4 rows of a head .*, got 6"),
    ("rope_permute_weight", {"offset": 1}, ValueError, "rows from offset on must be a positive even integer, got 3"),
    ("cu_seqlens_positions", {"cu_seqlens": floats(3)}, TypeError, "cu_seqlens must be an array of integers"),
    ("cu_seqlens_positions", {"cu_seqlens": whole(2, 2)}, ValueError, "cu_seqlens must be a vector with at least one"),
    ("cu_seqlens_positions", {"cu_seqlens": whole(2)}, ValueError, "cu_seqlens must start with 0, got 1"),
    (
        "cu_seqlens_positions",
        {"cu_seqlens": numbers(0, 3, 2)},
        ValueError,
        "cu_seqlens must not fall, got an entry below",
    ),
    ("cu_seqlens_positions", {"starts": floats(3)}, TypeError, "starts must be an array of integers"),
    ("cu_seqlens_positions", {"starts": whole(2)}, ValueError, r"starts must be \(3,\), one per sequence, got shape \(2,\)"),
    ("linear_attention", {"k": floats(5, 3)}, ValueError, "q, k, v must be"),
    ("linear_attention", {"feature": "relu"}, ValueError, "feature must be one of 'elu', 'identity', got 'relu'"),
    ("linear_attention", {"mask": floats(3, 5)}, TypeError, "mask must be boolean, True where a query may look"),
    ("linear_attention", {"mask": booleans(5, 3)}, ValueError, r"mask of shape \(5, 3\) must broadcast"),
    *(
        ("linear_attention", {**TURNING, name: None}, ValueError, f"{name} must be given where .*, got None")
        for name in TURNING
    ),
]  # fmt: skip


call = caller(GOOD)


test_values, test_the_calls_that_are_changed_work, test_bad_input = on_every_library(FUNCTIONS, GOOD, BAD)


@pytest.mark.parametrize("function", ["log_n_scale", "ssmax_scale", "llama4_scale", "inkling_scale"])
@pytest.mark.parametrize("lib", [lib for lib in LIBRARIES if lib.name != "torch"], ids=lambda lib: lib.name)
def test_positions_below_0_are_refused_where_looking_costs_nothing(lib: Library, function: str) -> None:
    with pytest.raises(ValueError, match="positions must be >= 0, got a negative one"):
        call(lib, function, {"positions": numbers(3, -1)})


def test_the_factor_of_the_softmax_is_the_references() -> None:
    deepseek = posref.YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=1.0)
    assert posref_array.rope_softmax_factor(deepseek) == pytest.approx(posref.rope_softmax_factor(deepseek), rel=4e-16)
