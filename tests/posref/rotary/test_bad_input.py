"""Bad input to the rotary functions and the scaling records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
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

import posref


def read_only(*shape: int) -> Any:
    array = np.zeros(shape)
    array.flags.writeable = False
    return array


# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "RopeHistory": {"scaling": posref.DynamicNTKScaling(2.0, 64), "dim": 8},
    "rope": {"x": ONES((3, 8)), "positions": np.arange(3), "out": np.full((3, 8), 7.0)},
    "rope_apply": {"x": ONES((3, 8)), "cos": ONES((3, 4)), "sin": ONES((3, 4)), "out": np.full((3, 8), 7.0)},
    "rope_attention_factor": {"scaling": posref.YarnScaling(2.0, 64)},
    "rope_cos_sin": {"positions": np.arange(3), "inv_freq": ONES(4)},
    "rope_inv_freq": {"dim": 8},
    "rope_pixel_freq": {"dim": 8, "max_freq": 10.0},
    "rope_softmax_factor": {"scaling": posref.YarnScaling(2.0, 64)},
    "rope_table": {"positions": np.arange(3), "dim": 8},
}

ROTARY = "rope_inv_freq rope_table rope"
DYNAMIC = "must be one of DynamicNTKScaling, DynamicLinearScaling, DynamicYarnScaling, got"
UNKNOWN = "must be None or one of posref's scaling records, got"

LONGROPE = posref.LongRopeScaling([1.0] * 4, [1.0] * 4, 64)
NARROW = "dim must be > 2 for NTK scaling, whose exponent is dim / (dim - 2), got 2"
CHECK = "check original_max_position_embeddings, beta_fast, beta_slow and base"


def frequencies(scaling: posref.Scaling, says: str, **others: Any) -> Bad:
    return "rope_inv_freq", {"scaling": scaling} | others, ValueError, says


FREQUENCIES: list[Bad] = [
    *an_integer("rope_inv_freq rope_table", "dim", 1, 0, -2),
    *several("rope_inv_freq rope_table rope", "dim", (3, ValueError, "must be a positive even integer, got 3")),
    *several("rope", "dim", (0, ValueError, "must be an integer >= 1, got 0")),
    *several("rope", "dim", ("8", TypeError, "must be an integer >= 1, got '8'")),
    *a_number(ROTARY, "base", "a finite number > 1", 1, 1.0, 0, -5),
    *several(
        f"{ROTARY} rope_attention_factor",
        "scaling",
        ("yarn", TypeError, f"{UNKNOWN} 'yarn'"),
        (4.0, TypeError, f"{UNKNOWN} 4.0"),
        ({"rope_type": "linear"}, TypeError, f"{UNKNOWN} {{'rope_type': 'linear'}}"),
        (posref.LinearScaling, TypeError, f"{UNKNOWN} <class 'posref.rotary.scaling.LinearScaling'>"),
    ),
    *several(
        "rope_attention_factor rope_table rope",
        "scaling",
        (LONGROPE, ValueError, "must have factor or attention_factor where it is a LongRopeScaling, got neither"),
    ),
    *several(
        f"{ROTARY} rope_attention_factor",
        "seq_len",
        *((v, TypeError, f"must be an integer >= 1, got {v!r}") for v in ("64", True, 64.0, NAN, INF)),
        *((v, ValueError, f"must be an integer >= 1, got {v}") for v in (0, -1)),
    ),
    frequencies(posref.NTKScaling(2.0), NARROW, dim=2),
    frequencies(posref.DynamicNTKScaling(2.0, 64), NARROW, dim=2),
    frequencies(LONGROPE, "short_factor must have one number per pair, 3 for dim 6, got 4", dim=6),
    frequencies(LONGROPE, "long_factor must have one number per pair, 3 for dim 6, got 4", dim=6, seq_len=65),
    frequencies(
        posref.YarnScaling(4.0, 1),
        f"scaling must leave YaRN a range of pairs, got 0 to -6 once clamped to 0 .. 63; {CHECK}",
        dim=64,
    ),
    frequencies(
        posref.YarnScaling(4.0, 10**8),
        f"scaling must leave YaRN a range of pairs, got 129 to 7 once clamped to 0 .. 7; {CHECK}",
        base=1.5,
    ),
    ("rope_inv_freq", {"scaling": posref.NTKByPartsScaling(2.0, 4096), "dim": 2}, ValueError, NARROW),
    (
        "rope_inv_freq",
        {"scaling": posref.DynamicYarnScaling(1), "dim": 64, "seq_len": 9},
        ValueError,
        f"scaling must leave YaRN a range of pairs, got 0 to -6 once clamped to 0 .. 63; {CHECK}",
    ),
    (
        "rope_inv_freq",
        {"scaling": posref.NTKByPartsScaling(2.0, 1), "dim": 64},
        ValueError,
        f"scaling must leave NTK-by-parts a range of pairs, got 0 to -5 once clamped to 0 .. 63; {CHECK}",
    ),
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
        (posref.YarnScaling, TypeError, f"{UNKNOWN} <class 'posref.rotary.blended_scaling.YarnScaling'>"),
    ),
]  # fmt: skip

SHAPES = "cos and sin must have the same shape (..., pairs), got"


def pairs(most: int, channels: int, offset: int, got: int) -> str:
    return f"cos and sin must have 1 to {most} pairs for x with {channels} channels and offset {offset}, got {got}"


def against(tables: tuple[int, ...], leading: tuple[int, ...]) -> str:
    return f"cos and sin of shape {tables} must broadcast against x.shape[:-1] = {leading}"


ROTATION: list[Bad] = [
    *positions("rope_cos_sin rope_table rope", "positions"),
    *numbers("rope_cos_sin", "inv_freq"),
    *several(
        "rope_cos_sin",
        "inv_freq",
        ([], ValueError, "must have at least one frequency, got none"),
        (1.0, ValueError, "must have 1 axis, got shape ()"),
        ([[1.0]], ValueError, "must have 1 axis, got shape (1, 1)"),
        ([NAN], ValueError, "must be finite, got NaN or infinity"),
        ([INF], ValueError, "must be finite, got NaN or infinity"),
    ),
    *a_number("rope_cos_sin rope_table", "attention_factor", "a finite number"),
    *numbers("rope_apply rope", "x"),
    *numbers("rope_apply", "cos"),
    *numbers("rope_apply", "sin"),
    ("rope_apply", {"x": 1.0}, ValueError, "x must have a channel axis, got a scalar"),
    ("rope", {"x": 1.0}, ValueError, "x's channels from offset on must be an integer >= 1, got 0"),
    ("rope", {"x": ONES((3, 7))}, ValueError, "x's channels from offset on must be a positive even integer, got 7"),
    ("rope", {"x": ONES((3, 0))}, ValueError, "x's channels from offset on must be an integer >= 1, got 0"),
    ("rope_apply", {"x": ONES((3, 7))}, ValueError, pairs(3, 7, 0, 4)),
    ("rope_apply", {"x": ONES((4, 8))}, ValueError, against((3, 4), (4,))),
    ("rope_apply", {"x": ONES(8)}, ValueError, against((3, 4), ())),
    ("rope_apply", {"cos": ONES((3, 3))}, ValueError, f"{SHAPES} (3, 3) and (3, 4)"),
    ("rope_apply", {"cos": ONES(4)}, ValueError, f"{SHAPES} (4,) and (3, 4)"),
    ("rope_apply", {"sin": ONES((3, 5))}, ValueError, f"{SHAPES} (3, 4) and (3, 5)"),
    *(
        ("rope_apply", {"cos": ONES(shape), "sin": ONES(shape)}, ValueError, says)
        for shape, says in (
            ((), f"{SHAPES} () and ()"),
            ((3, 5), pairs(4, 8, 0, 5)),
            ((3, 0), pairs(4, 8, 0, 0)),
            ((2, 3, 4), against((2, 3, 4), (3,))),
            ((2, 4), against((2, 4), (3,))),
        )
    ),
    ("rope", {"positions": [0, 1]}, ValueError, "positions of shape (2,) must broadcast against x.shape[:-1] = (3,)"),
    ("rope", {"dim": 10}, ValueError, "dim must fit into the 8 channels of x from offset on, got 10"),
    *a_word("rope_apply rope", "layout", "half", "interleaved"),
    *a_word("rope_apply rope", "output_layout", "half", "interleaved"),
    *an_integer("rope_apply rope", "offset", 0, -1),
    ("rope_apply", {"offset": 1}, ValueError, pairs(3, 8, 1, 4)),
    ("rope", {"offset": 1}, ValueError, "x's channels from offset on must be a positive even integer, got 7"),
    ("rope", {"offset": 9}, ValueError, "x's channels from offset on must be an integer >= 1, got -1"),
    ("rope", {"offset": 2, "dim": 8}, ValueError, "dim must fit into the 6 channels of x from offset on, got 8"),
    ("rope", {"x": 1.0, "dim": 2}, ValueError, "dim must fit into the 0 channels of x from offset on, got 2"),
    *a_flag("rope_apply rope", "inverse"),
    *several(
        "rope_apply rope",
        "out",
        *(
            (value, ValueError, f"must be a floating array of x's shape (3, 8), got {came}")
            for value, came in (
                (np.zeros((3, 7)), "an array of shape (3, 7) and type float64"),
                (np.zeros((3, 8), np.int64), "an array of shape (3, 8) and type int64"),
                (np.zeros((3, 8), complex), "an array of shape (3, 8) and type complex128"),
                (np.zeros((3, 8), "V8"), "an array of shape (3, 8) and type |V8"),
                (np.zeros((3, 8), [("a", "f8")]), "an array of shape (3, 8) and type [('a', '<f8')]"),
                ([0.0], "[0.0]"),
            )
        ),
        (read_only(3, 8), ValueError, "must be writeable, got a read-only array"),
    ),
]  # fmt: skip

CASES = [*FREQUENCIES, *HISTORY, *FACTORS, *ROTATION]


test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works = table_tests(
    VALID,
    CASES,
    "rotary.frequencies",
    "rotary.history",
    "rotary.magnitudes",
    "rotary.pixels",
    "rotary.rotation",
    "rotary.tables",
)


@pytest.mark.parametrize("bad", ["64", None, True, 64.0, 0, -1])
def test_a_history_does_not_take_a_bad_length(bad: object) -> None:
    history = posref.RopeHistory(posref.DynamicNTKScaling(2.0, 64), 8)
    history.inv_freq(128)
    with pytest.raises((TypeError, ValueError), match=r"^seq_len must be an integer >= 1, got [^\n]*$"):
        history.inv_freq(bad)  # type: ignore[arg-type]
    assert history.seq_len == 128
