"""The presets of the catalogue: the code in them runs, and means what the words beside it say."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from posref._catalogue_axes import AXES
from posref.rotary.axes import rope_axes_inv_freq, rope_axes_table
from posref.rotary.axis_maps import rope_axis_map
from posref.rotary.grids import grid_coordinates, grid_positions
from posref.rotary.scaling import LinearScaling, NTKScaling

# D channels turn; t, h, w cells; what a model's config or an input would say
GIVEN = {
    "D": 96, "t": 2, "h": 4, "w": 6, "n": 6, "m": 8, "trained": 4,
    "alpha": 4.0, "r_t": 2.0, "r_h": 1.5, "r_w": 1.5, "ntk_factor": 2.0, "linear_factor": 3.0,
}  # fmt: skip
NAMES = {f.__name__: f for f in (rope_axis_map, grid_positions, grid_coordinates, NTKScaling, LinearScaling)} | {
    "np": np
}
PRESETS = {f"{record.id}: {name}": text for record in AXES for name, text in record.presets}


def calls(text: str, function: str) -> Iterator[str]:
    """Every call of a function in a text, to its closing bracket."""
    for found in re.finditer(rf"\b{function}\(", text):
        depth = 0
        for end in range(found.end() - 1, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if not depth:
                yield text[found.start() : end + 1]
                break


def run(code: str) -> object:
    return eval(code, {"__builtins__": {}}, NAMES | GIVEN)


@pytest.mark.parametrize("name", PRESETS)
def test_the_code_runs(name: str) -> None:
    text = PRESETS[name]
    found = [
        code for function in ("rope_axis_map", "grid_positions", "grid_coordinates") for code in calls(text, function)
    ]
    sizes = {"sections": (10, 12, 12)} if "balanced" in text or "tail=0" in text else {}
    for code in found:
        if sizes:  # t, h, w are sections there
            code = code.replace("(t, h, w)", "(10, 12, 12)").replace("(t, h, h)", "(10, 12, 12)")
        assert isinstance(run(code), np.ndarray), code
    assert found or "mochi" in name or "ltx" in name


@pytest.mark.parametrize("name", PRESETS)
def test_as_many_pairs_as_half_of_the_channels(name: str) -> None:
    for code in calls(PRESETS[name], "rope_axis_map"):
        if "D" in code:
            assert len(run(code)) == GIVEN["D"] // 2  # type: ignore[arg-type]


# Map, base, ladder and scaling all in one place; the sections of the others are a model's own.
WHOLE = [
    name
    for name, text in PRESETS.items()
    if text.startswith("rope_axis_map") and "two sections" not in text and "tail=0" not in text
]


@pytest.mark.parametrize("name", WHOLE)
def test_the_ladder_fits_the_map(name: str) -> None:
    arguments = PRESETS[name].split(";")[0]
    w = eval(f"inv_freq({arguments})", {"__builtins__": {}}, NAMES | GIVEN | {"inv_freq": rope_axes_inv_freq})
    assert (w > 0).all()
    assert (w <= 1).all()


def test_layouts_and_axes_are_known_words() -> None:
    for name, text in PRESETS.items():
        for layout in re.findall(r"layout='(\w+)'", text):
            assert layout in ("half", "interleaved"), name
        for rule in re.findall(r"rule='(\w+)'", text):
            rope_axis_map((2, 2), rule=rule)
        for ladder in re.findall(r"ladder='(\w+)'", text):
            rope_axes_table([[0], [1]], [0, 1], ladder=ladder)


def test_a_preset_that_does_not_run_is_noticed() -> None:
    assert list(calls("rope_axis_map((D // 4, (1)), rule='x'); more", "rope_axis_map")) == [
        "rope_axis_map((D // 4, (1)), rule='x')"
    ]
    with pytest.raises(ValueError, match="rule must be one of"):
        run("rope_axis_map((4, 4), rule='x')")
    with pytest.raises(NameError):
        run("rope_axis_map((E // 4, 4))")
    assert len(run("rope_axis_map((D // 4, D // 8))")) != GIVEN["D"] // 2  # type: ignore[arg-type]


def test_ids_are_unique_and_say_what_is_no_rotation() -> None:
    assert len({record.id for record in AXES}) == len(AXES) == 5
    unlike = {record.id for record in AXES if "not a rotation" in record.title}
    assert unlike == {record.id for record in AXES if "rope_apply_channels" in record.functions}
