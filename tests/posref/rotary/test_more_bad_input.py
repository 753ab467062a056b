"""Bad input to the further scalings, to RopeHistory, the softmax factor and the pixel frequencies."""

from __future__ import annotations

import copy

import pytest
from bad_calls import (
    Args,
    Bad,
    a_flag,
    a_number,
    a_word,
    an_integer,
    arguments,
    check,
    covered,
    names,
    public,
    several,
)

import posref

# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "DynamicLinearScaling": {"original_max_position_embeddings": 64},
    "DynamicYarnScaling": {"original_max_position_embeddings": 64},
    "NTKByPartsScaling": {"factor": 2.0, "original_max_position_embeddings": 64},
    "ProportionalScaling": {"partial_rotary_factor": 0.25},
    "RopeHistory": {"scaling": posref.DynamicNTKScaling(2.0, 64), "dim": 8},
    "rope_inv_freq": {"dim": 8},
    "rope_pixel_freq": {"dim": 8, "max_freq": 10.0},
    "rope_softmax_factor": {"scaling": posref.YarnScaling(2.0, 64)},
}

LENGTHS = "DynamicLinearScaling DynamicYarnScaling NTKByPartsScaling"
UNKNOWN = "must be None or one of posref's scaling records, got"
DYNAMIC = "must be one of DynamicNTKScaling, DynamicLinearScaling, DynamicYarnScaling, got"
FAST = "beta_fast must be >= beta_slow, got 32 and 33"

RECORDS: list[Bad] = [
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

HISTORY: list[Bad] = [
    *several(
        "RopeHistory",
        "scaling",
        (None, TypeError, f"{DYNAMIC} None"),
        (4.0, TypeError, f"{DYNAMIC} 4.0"),
        (posref.NTKScaling(2.0), TypeError, f"{DYNAMIC} NTKScaling(factor=2.0, form='aware', mixed_b=0.75)"),
    ),
    *an_integer("RopeHistory rope_pixel_freq", "dim", 1, 0, -2),
    *several("RopeHistory rope_pixel_freq", "dim", (3, ValueError, "must be a positive even integer, got 3")),
    *several(
        "RopeHistory",
        "dim",
        (2, ValueError, "must be > 2 for NTK scaling, whose exponent is dim / (dim - 2), got 2"),
    ),
    *a_number("RopeHistory", "base", "a finite number > 1", 1, 0),
    *a_word("RopeHistory", "rule", "transformers", "grow"),
]  # fmt: skip

FACTORS: list[Bad] = [
    *a_number("rope_pixel_freq", "max_freq", "a finite number > 0", 0, -1.0),
    *a_word("rope_pixel_freq", "spacing", "linear", "log"),
    *several(
        "rope_softmax_factor",
        "scaling",
        ("yarn", TypeError, f"{UNKNOWN} 'yarn'"),
        (4.0, TypeError, f"{UNKNOWN} 4.0"),
        (posref.YarnScaling, TypeError, f"{UNKNOWN} <class 'posref.rotary.scaling.YarnScaling'>"),
    ),
]  # fmt: skip

NARROW = "dim must be > 2 for NTK scaling, whose exponent is dim / (dim - 2), got 2"
CLAMPED = "check original_max_position_embeddings, beta_fast, beta_slow and base"

FREQUENCIES: list[Bad] = [
    ("rope_inv_freq", {"scaling": posref.NTKByPartsScaling(2.0, 4096), "dim": 2}, ValueError, NARROW),
    (
        "rope_inv_freq",
        {"scaling": posref.DynamicYarnScaling(1), "dim": 64, "seq_len": 9},
        ValueError,
        f"scaling must leave YaRN a range of pairs, got 0 to -6 once clamped to 0 .. 63; {CLAMPED}",
    ),
    (
        "rope_inv_freq",
        {"scaling": posref.NTKByPartsScaling(2.0, 1), "dim": 64},
        ValueError,
        f"scaling must leave NTK-by-parts a range of pairs, got 0 to -5 once clamped to 0 .. 63; {CLAMPED}",
    ),
]

CASES = [*RECORDS, *HISTORY, *FACTORS, *FREQUENCIES]
MODULES = ("more_scalings", "history", "magnitudes", "pixels")
HERE = {name: function for module in MODULES for name, function in public(f"rotary.{module}").items()}


@pytest.mark.parametrize("bad", CASES, ids=names(CASES))
def test_bad_input(bad: Bad) -> None:
    check(VALID, bad)


def test_no_argument_escapes() -> None:
    assert arguments(HERE.items()) == covered([*RECORDS, *HISTORY, *FACTORS])


@pytest.mark.parametrize("function", HERE)
def test_the_unchanged_call_works(function: str) -> None:
    assert getattr(posref, function)(**copy.deepcopy(VALID[function])) is not None


@pytest.mark.parametrize("bad", ["64", None, True, 64.0, 0, -1])
def test_a_history_does_not_take_a_bad_length(bad: object) -> None:
    history = posref.RopeHistory(posref.DynamicNTKScaling(2.0, 64), 8)
    history.inv_freq(128)
    with pytest.raises((TypeError, ValueError), match=r"^seq_len must be an integer >= 1, got [^\n]*$"):
        history.inv_freq(bad)  # type: ignore[arg-type]
    assert history.seq_len == 128


@pytest.mark.parametrize("ends", [(33.0, 32.0), (32.0, 32.0)])
def test_equal_ends_are_no_reversed_range(ends: tuple[float, float]) -> None:
    for record in (posref.YarnScaling, posref.DynamicYarnScaling):
        given = {"original_max_position_embeddings": 4096, "beta_fast": ends[0], "beta_slow": ends[1]}
        assert record(**given | ({"factor": 2.0} if record is posref.YarnScaling else {}))  # type: ignore[arg-type]
