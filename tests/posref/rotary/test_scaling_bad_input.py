"""Bad input to the scaling records."""

from __future__ import annotations

import numpy as np
import pytest
from bad_calls import (
    NAN,
    ONES,
    Args,
    Bad,
    a_flag,
    a_number,
    a_word,
    an_integer,
    several,
    table_tests,
)

import posref

# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "DynamicLinearScaling": {"original_max_position_embeddings": 64},
    "DynamicNTKScaling": {"factor": 2.0, "original_max_position_embeddings": 64},
    "DynamicYarnScaling": {"original_max_position_embeddings": 64},
    "LinearScaling": {"factor": 2.0},
    "Llama3Scaling": {
        "factor": 2.0,
        "original_max_position_embeddings": 64,
        "low_freq_factor": 1,
        "high_freq_factor": 4,
    },
    "LongRopeScaling": {"short_factor": [1.0], "long_factor": [2.0], "original_max_position_embeddings": 64},
    "NTKByPartsScaling": {"factor": 2.0, "original_max_position_embeddings": 64},
    "NTKScaling": {"factor": 2.0},
    "ProportionalScaling": {"partial_rotary_factor": 0.25},
    "YarnScaling": {"factor": 2.0, "original_max_position_embeddings": 64},
}

SCALINGS = "LinearScaling NTKScaling DynamicNTKScaling YarnScaling Llama3Scaling LongRopeScaling"
LENGTHS = "DynamicLinearScaling DynamicYarnScaling NTKByPartsScaling"
FAST = "beta_fast must be >= beta_slow, got 32 and 33"
RECORDS: list[Bad] = [
    *a_number(SCALINGS, "factor", "a finite number > 0", 0, -1.0),
    *an_integer("DynamicNTKScaling YarnScaling Llama3Scaling", "original_max_position_embeddings", 1, 0, -4),
    *an_integer("LongRopeScaling", "original_max_position_embeddings", 2, 1, 0, -4),
    *a_number("YarnScaling", "beta_fast", "a finite number > 0", 0, -1),
    *a_number("YarnScaling", "beta_slow", "a finite number > 0", 0, -1),
    ("YarnScaling", {"beta_slow": 33}, ValueError, FAST),
    *a_number("YarnScaling LongRopeScaling", "attention_factor", "a finite number >= 0", -1),
    *a_number("YarnScaling", "mscale", "a finite number >= 0", -1),
    *a_number("YarnScaling", "mscale_all_dim", "a finite number >= 0", -1),
    *a_flag("YarnScaling", "truncate"),
    *a_word("YarnScaling", "ramp", "index", "rotations"),
    *a_word("YarnScaling", "mscale_rule", "nonzero", "given", "always", "never"),
    *a_word("YarnScaling", "reversed_range", "error", "slope", "step"),
    ("YarnScaling", {"beta_slow": 33, "ramp": "rotations", "reversed_range": "step"}, ValueError, FAST),
    *a_number("YarnScaling", "attn_factor", "a finite number >= 0", -1),
    *a_number("YarnScaling", "extrapolation_factor", "a finite number >= 0", -1),
    *a_word("NTKScaling", "form", "aware", "base", "fixed", "mixed"),
    *a_number("NTKScaling", "mixed_b", "a finite number > 0", 0, -1),
    *a_number("LongRopeScaling", "short_mscale", "a finite number >= 0", -1),
    *a_number("LongRopeScaling", "long_mscale", "a finite number >= 0", -1),
    *a_number("Llama3Scaling", "low_freq_factor", "a finite number > 0", 0, -1),
    *a_number("Llama3Scaling", "high_freq_factor", "a finite number > 0", 0, -1),
    ("Llama3Scaling", {"low_freq_factor": 5}, ValueError, "high_freq_factor must be >= low_freq_factor, got 4 and 5"),
]
for factors in ("short_factor", "long_factor"):
    wanted = "must be a list of numbers > 0, one per pair, got"
    RECORDS += several(
        "LongRopeScaling",
        factors,
        *((v, TypeError, f"{wanted} {v!r}") for v in (1.0, "12", b"12", None, np.array(1.0), {1.0: 2.0})),
        ([], ValueError, "must have one number per pair, got none"),
        (ONES(0), ValueError, "must have one number per pair, got none"),
    )
    RECORDS += [
        ("LongRopeScaling", {factors: [1.0, 0.0]}, ValueError, f"{factors}[1] must be a finite number > 0, got 0.0"),
        ("LongRopeScaling", {factors: [NAN]}, ValueError, f"{factors}[0] must be a finite number > 0, got nan"),
        ("LongRopeScaling", {factors: ["1"]}, TypeError, f"{factors}[0] must be a finite number > 0, got '1'"),
        ("LongRopeScaling", {factors: [[1.0]]}, TypeError, f"{factors}[0] must be a finite number > 0, got [1.0]"),
    ]

RECORDS += [
    *an_integer(LENGTHS, "original_max_position_embeddings", 1, 0, -4),
    *a_number("NTKByPartsScaling ProportionalScaling", "factor", "a finite number > 0", 0, -1.0),
    *a_number("DynamicYarnScaling", "beta_fast", "a finite number > 0", 0, -1),
    *a_number("DynamicYarnScaling", "beta_slow", "a finite number > 0", 0, -1),
    ("DynamicYarnScaling", {"beta_slow": 33}, ValueError, FAST),
    *a_flag("DynamicYarnScaling", "truncate"),
    *a_word("DynamicYarnScaling", "ramp", "index", "rotations"),
    *a_number("DynamicYarnScaling", "attn_factor", "a finite number >= 0", -1),
    *a_number("DynamicYarnScaling NTKByPartsScaling", "extrapolation_factor", "a finite number >= 0", -1),
    *a_number("DynamicYarnScaling", "least_factor", "a finite number >= 1", 0.5, -1),
    *a_number("NTKByPartsScaling", "ntk_factor", "a finite number >= 0", -1),
    *(
        bad
        for name in ("beta_0", "beta_1", "gamma_0", "gamma_1")
        for bad in a_number("NTKByPartsScaling", name, "a finite number > 0", 0, -1)
    ),
    ("NTKByPartsScaling", {"beta_1": 1.5}, ValueError, "beta_0 must be >= beta_1, got 1.25 and 1.5"),
    ("NTKByPartsScaling", {"gamma_0": 1}, ValueError, "gamma_0 must be >= gamma_1, got 1 and 2"),
    *a_number("ProportionalScaling", "partial_rotary_factor", "a finite number >= 0", -0.25),
    ("ProportionalScaling", {"partial_rotary_factor": 1.5}, ValueError, "partial_rotary_factor must be <= 1, got 1.5"),
    *a_word("ProportionalScaling", "rounding", "floor", "ceil"),
]  # fmt: skip

test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works = table_tests(
    VALID, RECORDS, "rotary.scaling", "rotary.blended_scaling", "rotary.dynamic_scaling"
)


@pytest.mark.parametrize("record", ["DynamicNTKScaling", "YarnScaling", "Llama3Scaling", "LongRopeScaling"])
def test_a_missing_length_is_named(record: str) -> None:
    args = {k: v for k, v in VALID[record].items() if k != "original_max_position_embeddings"}
    with pytest.raises(TypeError, match=r"^[^\n]* missing [^\n]*'original_max_position_embeddings'[^\n]*$"):
        getattr(posref, record)(**args)


@pytest.mark.parametrize("ends", [(33.0, 32.0), (32.0, 32.0)])
def test_equal_ends_are_no_reversed_range(ends: tuple[float, float]) -> None:
    for record in (posref.YarnScaling, posref.DynamicYarnScaling):
        given = {"original_max_position_embeddings": 4096, "beta_fast": ends[0], "beta_slow": ends[1]}
        assert record(**given | ({"factor": 2.0} if record is posref.YarnScaling else {}))  # type: ignore[arg-type]
