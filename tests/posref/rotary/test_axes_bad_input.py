"""Bad input to rotary encodings on several axes."""

from __future__ import annotations

import numpy as np
from bad_calls import (
    INF,
    NAN,
    ONES,
    Args,
    Bad,
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
    "grid_coordinates": {"sizes": [2, 4]},
    "grid_positions": {"sizes": [2, 4]},
    "rope_apply_channels": {"x": ONES((3, 8)), "cos": ONES((3, 6)), "sin": ONES((3, 6))},
    "rope_axes_cos_sin": {"positions": ONES((2, 3)), "inv_freq": ONES(4), "axis_map": np.array([0, 0, 1, 1])},
    "rope_axes_inv_freq": {"axis_map": np.array([0, 0, 1, 1])},
    "rope_axes_table": {"positions": ONES((2, 3)), "axis_map": np.array([0, 0, 1, 1])},
    "rope_axis_map": {"sections": [2, 3, 3]},
    "rope_mixed_cos_sin": {"positions": ONES((2, 3)), "frequencies": ONES((2, 4, 5))},
}

ONE_PER_AXIS = "must be a sequence of integers, one per axis, got"
RULES = ("chunked", "interleaved", "interleaved_spare", "round_robin", "balanced", "alternating")
UNKNOWN = "must be None or one of posref's scaling records, got"


def per_axis(functions: str, name: str, least: int, *, axes: int | None = None) -> list[Bad]:
    """No integers, one per axis."""
    wanted = f"must be an integer >= {least}, got"
    wrong = several(
        functions,
        name,
        (4, TypeError, f"{ONE_PER_AXIS} 4"),
        ("24", TypeError, f"{ONE_PER_AXIS} '24'"),
        ({2, 4}, TypeError, f"{ONE_PER_AXIS} {{2, 4}}"),
        ([], ValueError, f"must have one integer per axis{f', {axes}' if axes else ''}, got []"),
    )
    for value, error in (
        (2.0, TypeError),
        (True, TypeError),
        ("2", TypeError),
        (NAN, TypeError),
        (least - 1, ValueError),
    ):
        wrong += [(f, {name: [2, value]}, error, f"{name}[1] {wanted} {value!r}") for f in functions.split()]
    return wrong


MAPS: list[Bad] = [
    *per_axis("rope_axis_map", "sections", 0),
    ("rope_axis_map", {"sections": [0, 0]}, ValueError, "sections must have at least one pair, got [0, 0]"),
    *a_word("rope_axis_map", "rule", *RULES),
    ("rope_axis_map", {"tail": 0}, ValueError, "tail must be None for the rule 'chunked', got 0"),
    ("rope_axis_map", {"tail": "h"}, ValueError, "tail must be None for the rule 'chunked', got 'h'"),
]
for changes, says in (
    ({"sections": [4]}, "sections must have 2 or 3 axes for the rule 'balanced', got [4]"),
    ({"sections": [4, 1, 1, 1]}, "sections must have 2 or 3 axes for the rule 'balanced', got [4, 1, 1, 1]"),
    ({"sections": [0, 1, 2]}, "sections must have a pair of axis 0 for the rule 'balanced', got [0, 1, 2]"),
):
    MAPS.append(("rope_axis_map", {"rule": "balanced", **changes}, ValueError, says))
EQUAL = "sections must be equal but for the tail's for the rule 'alternating', got"
for changes, error, says in (
    ({"sections": [2, 3, 1]}, ValueError, f"{EQUAL} [2, 3, 1]"),
    ({"tail": 0, "sections": [1, 2, 3]}, ValueError, f"{EQUAL} [1, 2, 3]"),
    ({"tail": 3}, ValueError, "tail must be an axis, -3 to 2, got 3"),
    ({"tail": -4}, ValueError, "tail must be an integer >= -3, got -4"),
    ({"tail": 1.0}, TypeError, "tail must be an integer >= -3, got 1.0"),
):  # fmt: skip
    MAPS.append(("rope_axis_map", {"rule": "alternating", **changes}, error, says))

MAPPED = "rope_axes_inv_freq rope_axes_cos_sin rope_axes_table"
LADDERS = "rope_axes_inv_freq rope_axes_table"
TABLES: list[Bad] = [
    *several(
        MAPPED,
        "axis_map",
        ([0.0, 1.0], TypeError, "must be integers, got type float64"),
        (["t"], TypeError, "must be integers, got type <U1"),
        ([True, False], TypeError, "must be integers, got type bool"),
        (None, TypeError, "must be integers, got type object"),
        ([[0, 1]], ValueError, "must be a vector with at least one pair, got shape (1, 2)"),
        (np.zeros(0, int), ValueError, "must be a vector with at least one pair, got shape (0,)"),
        ([0, 0, -1, 1], ValueError, "must be axes from 0 on, got -1"),
    ),
    *a_word(LADDERS, "ladder", "shared", "per_axis", "dealt"),
    *(bad for bad in a_number(LADDERS, "base", "a finite number > 1", 1, 0.5, -2.0) if bad[1]["base"] != [4.0]),
    *several(
        LADDERS, "base", ([2.0, 3.0], ValueError, "must be one for all axes for the ladder 'shared', got [2.0, 3.0]")
    ),
    *several(LADDERS, "scaling", (4.0, TypeError, f"{UNKNOWN} 4.0"), ("linear", TypeError, f"{UNKNOWN} 'linear'")),
    *several(
        LADDERS,
        "scaling",
        ([None, None], ValueError, "must be one for all axes for the ladder 'shared', got [None, None]"),
    ),
    *(bad for bad in an_integer(LADDERS, "seq_len", 1, 0, -1) if bad[1]["seq_len"] is not None),
    *a_number("rope_axes_cos_sin rope_axes_table", "attention_factor", "a finite number"),
    *positions("rope_axes_cos_sin rope_axes_table", "positions"),
    *several(
        "rope_axes_cos_sin rope_axes_table",
        "positions",
        (3, ValueError, "must be (axes, ...) with a row for each of 2 axes, got shape ()"),
        (ONES((1, 3)), ValueError, "must be (axes, ...) with a row for each of 2 axes, got shape (1, 3)"),
        (ONES((0, 3)), ValueError, "must be (axes, ...) with a row for each of 2 axes, got shape (0, 3)"),
    ),
    *numbers("rope_axes_cos_sin", "inv_freq"),
    *several(
        "rope_axes_cos_sin",
        "inv_freq",
        (ONES((2, 2)), ValueError, "must have 1 axis, got shape (2, 2)"),
        ([1.0, 2.0, NAN, 1.0], ValueError, "must be finite, got NaN or infinity"),
        (ONES(3), ValueError, "must have one frequency per pair of axis_map, 4, got 3"),
        (ONES(8), ValueError, "must have one frequency per pair of axis_map, 4, got 8"),
    ),
]
for function in LADDERS.split():
    own = {"ladder": "per_axis"}
    TABLES += [
        (function, own | {"base": [2.0]}, ValueError, "base must be one, or one for each of 2 axes, got [2.0]"),
        (function, own | {"base": [2.0, 1.0]}, ValueError, "base must be a finite number > 1, got 1.0"),
        (function, own | {"scaling": [None]}, ValueError, "scaling must be one, or one for each of 2 axes, got [None]"),
        (function, own | {"scaling": [None, 3]}, TypeError, f"scaling {UNKNOWN} 3"),
        (
            function,
            {"ladder": "dealt", "axis_map": [0, 0, 0, 1]},
            ValueError,
            "axis_map must have as many pairs of each axis as a deal in turn gives for 'dealt', got [3, 1]",
        ),
    ]

FITTING = "frequencies of shape (2, 4, 5) must broadcast against positions of shape"
MIXED: list[Bad] = [
    *positions("rope_mixed_cos_sin", "positions"),
    *numbers("rope_mixed_cos_sin", "frequencies"),
    *several(
        "rope_mixed_cos_sin",
        "positions",
        (ONES(3), ValueError, "must be (axes, ..., sequence), got shape (3,)"),
        (ONES((0, 3)), ValueError, "must be (axes, ..., sequence), got shape (0, 3)"),
    ),
    *several(
        "rope_mixed_cos_sin",
        "frequencies",
        (ONES(3), ValueError, "must be (axes, ..., pairs), got shape (3,)"),
        (ONES((2, 0)), ValueError, "must be (axes, ..., pairs), got shape (2, 0)"),
        (ONES((3, 5)), ValueError, "must have a row for each of 2 axes, got shape (3, 5)"),
        ([[1.0], [INF]], ValueError, "must be finite, got NaN or infinity"),
    ),
    (
        "rope_mixed_cos_sin",
        {"positions": ONES((2, 3, 7))},
        ValueError,
        f"{FITTING} (2, 3, 7) between the first and the last axis",
    ),
]


def columns(most: int, offset: int) -> str:
    return f"cos and sin must have 2 to {most} columns, an even number, for x with 8 channels and offset {offset}, got"


BOTH = "must have the same shape (..., channels), got"
CHANNELS: list[Bad] = [
    *(bad for name in ("x", "cos", "sin") for bad in numbers("rope_apply_channels", name)),
    ("rope_apply_channels", {"x": 1.0}, ValueError, "x must have a channel axis, got a scalar"),
    ("rope_apply_channels", {"cos": ONES((3, 4))}, ValueError, f"cos and sin {BOTH} (3, 4) and (3, 6)"),
    ("rope_apply_channels", {"sin": 1.0}, ValueError, f"cos and sin {BOTH} (3, 6) and ()"),
    *(
        ("rope_apply_channels", {"cos": ONES((3, n)), "sin": ONES((3, n))}, ValueError, f"{columns(8, 0)} {n}")
        for n in (0, 3, 10)
    ),
    *an_integer("rope_apply_channels", "offset", 0, -1),
    ("rope_apply_channels", {"offset": 3}, ValueError, f"{columns(5, 3)} 6"),
    *a_word("rope_apply_channels", "layout", "half", "interleaved"),
    (
        "rope_apply_channels",
        {"cos": ONES((2, 6)), "sin": ONES((2, 6))},
        ValueError,
        "cos and sin of shape (2, 6) must broadcast against x.shape[:-1] = (3,)",
    ),
]  # fmt: skip

GRIDS: list[Bad] = [
    *per_axis("grid_positions grid_coordinates", "sizes", 0),
    *per_axis("grid_positions grid_coordinates", "block", 1, axes=2),
    *several(
        "grid_positions grid_coordinates",
        "block",
        ([2], ValueError, "must have one integer per axis, 2, got [2]"),
        ([2, 3], ValueError, "must divide sizes, (2, 4), got [2, 3]"),
    ),
    ("grid_positions", {"start": [1]}, ValueError, "start must have one integer per axis, 2, got [1]"),
    ("grid_positions", {"start": 0.5}, TypeError, f"start must be an integer >= {-(2**53)}, got 0.5"),
    ("grid_positions", {"start": [0, 0.5]}, TypeError, f"start[1] must be an integer >= {-(2**53)}, got 0.5"),
    *a_word("grid_coordinates", "normalize", "separate", "max", "min"),
]

CASES: list[Bad] = [*MAPS, *TABLES, *MIXED, *CHANNELS, *GRIDS]


test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works = table_tests(
    VALID, CASES, "rotary.axes", "rotary.axis_maps", "rotary.grids", "rotary.mixed", "rotary.channelwise"
)
