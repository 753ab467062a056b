"""Rotary on several axes: the mistakes that ports make are caught, and right float32 code passes."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from posref_array.on_numpy import backend as right
from posref_conformance.backend import describe
from posref_conformance.cases import checks
from posref_conformance.cases.axes import CASES
from posref_conformance.verdict import FAILED, PASSED, run

Functions = dict[str, Callable[..., Any]]


def results(functions: Functions) -> dict[str, Any]:
    backend = describe("a test's", SimpleNamespace(**functions))
    asked = [(case, dtype) for case, dtype in checks(backend, CASES) if case.function in functions]
    return {case.check_id(dtype): run(backend, case, dtype) for case, dtype in asked}


def failed(functions: Functions) -> set[str]:
    """Cases that fail, without the type."""
    return {check.rpartition("/")[0] for check, result in results(functions).items() if result.status == FAILED}


# --- mistakes: what is wrong, and cases that must see it -------------------------------------------------------------


def height_and_width_swapped(positions: Any, inv_freq: Any, axis_map: Any, **options: Any) -> Any:
    order = np.arange(len(positions))
    order[[-2, -1]] = order[[-1, -2]]
    return right.rope_axes_cos_sin(positions[order], inv_freq, axis_map, **options)


def first_row_for_all(positions: Any, inv_freq: Any, axis_map: Any, **options: Any) -> Any:
    return right.rope_axes_cos_sin(positions, inv_freq, 0 * axis_map, **options)


def frequencies_from_a_base(positions: Any, inv_freq: Any, axis_map: Any, **options: Any) -> Any:
    return right.rope_axes_cos_sin(positions, right.rope_inv_freq(2 * len(axis_map)), axis_map, **options)


def angle_in_float32(positions: Any, inv_freq: Any, axis_map: Any, attention_factor: float = 1.0) -> Any:
    angle = np.moveaxis(positions[axis_map].astype(np.float32), 0, -1) * inv_freq.astype(np.float32)
    return tuple((attention_factor * f(angle)).astype(inv_freq.dtype) for f in (np.cos, np.sin))


def sections_reversed(sections: Any, **options: Any) -> Any:
    """Height, width, time taken for time, height, width."""
    if options.get("rule") == "alternating":
        options["tail"] = len(sections) - 1 - (len(sections) - 1 if options.get("tail") is None else options["tail"])
    last = len(sections) - 1
    order = right.rope_axis_map(tuple(reversed(sections)), **options)
    return np.where(order <= last, last - order, order)


def time_is_no_default(sections: Any, **options: Any) -> Any:
    if not options.get("rule", "").startswith("interleaved"):
        return right.rope_axis_map(sections, **options)
    return np.arange(sum(sections)) % len(sections)


def spare_is_time(sections: Any, **options: Any) -> Any:
    order = right.rope_axis_map(sections, **options)
    return np.where(order == len(sections), 0, order)


def one_ladder_for_all(axis_map: Any, *, ladder: str = "shared", **options: Any) -> Any:
    return right.rope_axes_inv_freq(axis_map, **options)


def own_ladder_always(axis_map: Any, *, ladder: str = "per_axis", **options: Any) -> Any:
    return right.rope_axes_inv_freq(axis_map, ladder=ladder, **options)


def halves_dealt(axis_map: Any, *, ladder: str = "shared", **options: Any) -> Any:
    """The first half of the frequencies to height, the second to width."""
    if ladder != "dealt":
        return right.rope_axes_inv_freq(axis_map, ladder=ladder, **options)
    return right.rope_axes_inv_freq(axis_map, **options)


def second_axis_left_out(positions: Any, frequencies: Any) -> Any:
    return right.rope_mixed_cos_sin(positions[:1], frequencies[:1])


def one_angle_per_pair(x: Any, cos: Any, sin: Any, **options: Any) -> Any:
    """A rotation, with the angles of the pairs' first members."""
    half = cos.shape[-1] // 2
    first = slice(half) if options.get("layout", "half") == "half" else slice(0, None, 2)
    return right.rope_apply(x, cos[..., first], sin[..., first], **options)


def columns_first(sizes: Any, **options: Any) -> Any:
    options = {name: value[::-1] if isinstance(value, tuple) else value for name, value in options.items()}
    return right.grid_positions(sizes[::-1], **options)[::-1]


def corners_for_centres(sizes: Any, *, normalize: str = "separate", block: Any = None) -> Any:
    return right.grid_coordinates(sizes, normalize=normalize, block=block) - 1 / np.array(sizes)[:, None]


def max_and_min_exchanged(sizes: Any, *, normalize: str = "separate", block: Any = None) -> Any:
    other = {"max": "min", "min": "max"}.get(normalize, normalize)
    return right.grid_coordinates(sizes, normalize=other, block=block)


MISTAKES: list[tuple[str, Callable[..., Any], set[str]]] = [
    ("rope_axes_cos_sin", height_and_width_swapped, {"chunked", "interleaved", "batch", "steps", "fractions"}),
    ("rope_axes_cos_sin", first_row_for_all, {"chunked", "interleaved", "unsorted-map", "one-token"}),
    ("rope_axes_cos_sin", frequencies_from_a_base, {"not-a-ladder", "read-only-strided"}),
    ("rope_axes_cos_sin", angle_in_float32, {"far"}),
    (
        "rope_axis_map",
        sections_reversed,
        {"chunked", "interleaved-spare-short", "round-robin", "alternating-tail-first"},
    ),
    ("rope_axis_map", time_is_no_default, {"interleaved", "interleaved-spare", "interleaved-spare-short"}),
    ("rope_axis_map", spare_is_time, {"interleaved-spare", "interleaved-spare-short"}),
    ("rope_axes_inv_freq", one_ladder_for_all, {"per-axis", "per-axis-in-turn", "dealt"}),
    ("rope_axes_inv_freq", own_ladder_always, {"shared", "shared-interleaved", "shared-yarn"}),
    ("rope_axes_inv_freq", halves_dealt, {"dealt", "dealt-three"}),
    ("rope_mixed_cos_sin", second_axis_left_out, {"heads", "one-head", "three-axes", "batch"}),
    ("rope_apply_channels", one_angle_per_pair, {"half", "interleaved", "rest", "middle-interleaved", "xdrope"}),
    ("grid_positions", columns_first, {"image", "video", "blocks", "blocks-not-square", "start"}),
    ("grid_coordinates", corners_for_centres, {"separate", "max", "min"}),
    ("grid_coordinates", max_and_min_exchanged, {"max", "min"}),
]


@pytest.mark.parametrize(("function", "wrong", "seen"), MISTAKES, ids=[w.__name__ for _, w, _ in MISTAKES])
def test_a_mistake_is_caught(function: str, wrong: Callable[..., Any], seen: set[str]) -> None:
    assert {f"{function}/{name}" for name in seen} <= failed({function: wrong})


# --- right code in float32 -------------------------------------------------------------------------------------------


def in_float32() -> Functions:
    """As models have it: float32 powers, float32 angles, the result in float32 (or float64, where float64 came in)."""

    def inv_freq(axis_map: Any, *, base: float = 10000.0) -> Any:
        n = np.float32(2 * len(axis_map))
        return (np.float32(1) / np.float32(base) ** (np.arange(0, n, 2, dtype=np.float32) / n)).astype(np.float32)

    def cos_sin(positions: Any, inv_freq: Any, axis_map: Any, *, attention_factor: float = 1.0) -> Any:
        if inv_freq.dtype == np.float64:
            raise NotImplementedError("float32 alone")
        angle = np.moveaxis(positions[axis_map].astype(np.float32), 0, -1) * inv_freq
        return np.cos(angle) * np.float32(attention_factor), np.sin(angle) * np.float32(attention_factor)

    def mixed(positions: Any, frequencies: Any) -> Any:
        if frequencies.dtype == np.float64:
            raise NotImplementedError("float32 alone")
        terms = [
            p[..., :, None].astype(np.float32) * f[..., None, :] for p, f in zip(positions, frequencies, strict=True)
        ]
        angle = np.sum(np.broadcast_arrays(*terms), axis=0, dtype=np.float32)
        return np.cos(angle), np.sin(angle)

    def coordinates(sizes: Any, *, block: Any = None, normalize: str = "separate") -> Any:
        n = {"separate": sizes, "max": [max(sizes)] * len(sizes), "min": [min(sizes)] * len(sizes)}[normalize]
        j = right.grid_positions(sizes, block=block).astype(np.float32) + np.float32(0.5)
        return np.float32(2) * (j / np.array(n, np.float32)[:, None]) - np.float32(1)

    return {
        "rope_axes_inv_freq": inv_freq,
        "rope_axes_cos_sin": cos_sin,
        "rope_mixed_cos_sin": mixed,
        "grid_coordinates": coordinates,
    }


def test_right_code_in_float32_passes() -> None:
    found = results(in_float32())
    assert {check: r.reason for check, r in found.items() if r.status == FAILED} == {}
    passed = {check.partition("/")[0] for check, result in found.items() if result.status == PASSED}
    assert passed == set(in_float32())
    worst = max(result.worst for result in found.values() if result.status == PASSED)
    assert 0.1 < worst < 0.9  # near enough to the bound that it means something
