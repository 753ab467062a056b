"""Every entry of the register of disagreements, D1 to D32: golden cases in which its readings differ, and nothing else does.

A case's expected values are mpmath's (tests/scripts), so that a pair says what both readings are without our code.
"""

from __future__ import annotations

import inspect
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posref
from posref.disagreements import REGISTER

GOLDEN = Path(__file__).parents[1] / "golden"

# number -> records in posref.disagreements, and functions with the arguments that make one reading of the other
ENTRIES: dict[int, tuple[str, list[tuple[str, str]]]] = {
    1: ("sinusoid-last-frequency", [("sinusoidal", "endpoint")]),
    2: ("sinusoid-layout", [("sinusoidal", "layout"), ("sinusoidal", "order")]),
    3: ("sinusoid-odd-width", [("sinusoidal", "odd")]),
    4: ("first-position padding-id-in-the-text", [("mask_positions", "padding"), ("mask_positions", "first padding")]),
    5: ("min-timescale", [("sinusoidal", "scale")]),
    6: ("sinusoid-axis-order", [("sinusoidal_axes", "positions")]),
    7: ("sinusoid-axis-spacing", [("sinusoidal_axes", "endpoint")]),
    8: ("detr-pixel-centre", [("mask_coordinates", "shift")]),
    9: ("rt-detr-grid", [("sinusoidal_axes", "positions")]),
    10: ("diffusers-spatial-size", [("sinusoidal_axes", "positions")]),
    11: (
        "timestep-defaults timestep-frequency-type",
        [("timestep_embedding", "flip_sin_to_cos downscale_freq_shift"), ("timestep_embedding", "freq_dtype")],
    ),
    12: ("nerf-pi", [("fourier_features", "unit"), ("fourier_features", "include_input")]),
    13: (
        "resize-kernel resize-ratio bias-table-resize",
        [("resample_table", name) for name in ("kernel", "antialias", "antialias cubic_a", "align_corners", "offset")],
    ),
    14: ("beit-table-shape", [("resample_table", "sizes")]),
    15: ("alibi-slopes", [("alibi_slopes", "rule")]),
    16: ("alibi-form", [("alibi_bias", "form")]),
    17: ("alibi-scale alibi-type", [("alibi_slopes", "scale")]),
    18: ("bias-alignment", [("query_positions", "align")]),
    19: ("alibi-ranks", [("alibi_slopes", "num_heads heads")]),
    20: (
        "t5-logarithm t5-table t5-scale",
        [("t5_bucket", "rule"), ("t5_bias", "layout"), ("t5_bias", "scale")],
    ),
    21: ("relative-sign window-sign", [("relative_bias", "index"), ("relative_position_index", "offset")]),
    22: ("relative-ends", [("relative_index", "right"), ("relative_index", "outside")]),
    23: ("deberta-p2c-row", [("disentangled_scores", "p2c")]),
    24: ("deberta-beyond", [("deberta_bucket", "beyond"), ("disentangled_scores", "relative")]),
    25: ("shift-window shift-leftovers", [("relative_shift", "rule"), ("relative_shift", "outside")]),
    26: ("swin-v2-logarithm swin-v2-ceiling", [("log_offset", "extent")]),
    27: (
        "kerple-unlearned fire-limit sandwich-start",
        [("kerple_bias", "r2"), ("fire_distance", "limit"), ("sandwich_bias", "start")],
    ),
    28: ("cope-positions-scale cope-gates", [("cope_scores", "scale_positions"), ("cope_scores", "mask")]),
    29: ("path-gate-scale", [("path_scores", "gate")]),
    30: ("temperature-step temperature-steps log-n-below", [("llama4_scale", "shift"), ("log_n_scale", "clip")]),
    31: ("", []),  # one value, other roundings: relative/test_gathered.py
    32: ("tupe-reset", [("reset_cls", "from_cls to_cls")]),
}  # fmt: skip
PAIRS = [(f"D{number}", function, names) for number, (_, pairs) in ENTRIES.items() for function, names in pairs]


def cases(function: str) -> list[tuple[dict[str, Any], Any]]:
    """Arguments, those that a case does not name with their defaults, and expected values."""
    parameters = inspect.signature(getattr(posref, function)).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    found = json.loads((GOLDEN / f"{function}.json").read_text(encoding="utf-8"))["cases"]
    return [(defaults | case["args"], np.array(case["expected"], dtype=float)) for case in found]


def tells(function: str, names: str) -> bool:
    """Whether there are two cases that differ in these arguments alone, and in their values."""
    for (one, first), (other, second) in itertools.combinations(cases(function), 2):
        changed = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
        differ = first.shape != second.shape or np.abs(first - second).max(initial=0) > 1e-3
        if changed == set(names.split()) and differ:
            return True
    return False


@pytest.mark.parametrize(("number", "function", "names"), PAIRS, ids=lambda v: v.replace(" ", "-"))
def test_golden_cases_tell_the_readings(number: str, function: str, names: str) -> None:
    assert tells(function, names)


def test_what_nothing_tells_is_noticed() -> None:
    assert not tells("sinusoidal", "base")  # no two cases differ in it alone
    assert not tells("sinusoidal", "odd gain")


def test_every_entry_is_in_the_register() -> None:
    ids = {record.id for record in REGISTER}
    assert sorted(ENTRIES) == list(range(1, 33))
    assert {name for names, _ in ENTRIES.values() for name in names.split()} <= ids
