"""Rotary on several axes against the reference, on every library and type, within bounds that helpers/array_kit.py derives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest
from array_kit import LIBRARIES, Library, U, cast, once, outside, read, type_of, working

import posref
from posref import LinearScaling, YarnScaling
from posref.rotary import axes as reference_axes
from posref.rotary.axis_maps import rope_axis_map
from posref.rotary.channelwise import rope_apply_channels
from posref.rotary.grids import grid_coordinates, grid_positions
from posref.rotary.mixed import rope_mixed_cos_sin
from posref_array import axes

ON = [pytest.param(lib, dtype, id=f"{lib.name}-{dtype}") for lib in LIBRARIES for dtype in lib.floats]
EACH = [pytest.param(lib, id=lib.name) for lib in LIBRARIES]
AT_HAND = [pytest.param(lib, id=lib.name) for lib in LIBRARIES if lib.name != "torch"]
rng = np.random.default_rng(23)

POSITIONS = np.array([[0, 1, 131071, -7], [5, 2, 0, 70000], [3, 4095, 16777217, 1]])
AXES = np.array([0, 1, 2, 1, 0, 2, 2])
YARN = YarnScaling(4.0, 4096)
LADDERS: dict[str, dict[str, Any]] = {
    "shared": {},
    "shared-yarn": {"base": 1e6, "scaling": YARN},
    "per-axis": {"ladder": "per_axis", "base": 100.0},
    "per-axis-lists": {"ladder": "per_axis", "base": (100.0, 300.0, 5e5), "scaling": (None, LinearScaling(4.0), YARN)},
}


def off(function: Callable[..., Any]) -> Callable[..., Any]:
    """A planted fault: results that are off by 2^-16 of themselves, or by one if they are integers."""

    def faulty(*args: Any, xp: Any, **kwargs: Any) -> Any:
        result = function(*args, xp=xp, **kwargs)
        if isinstance(result, tuple):
            return tuple(t * (1 + 2.0**-16) for t in result)
        return result * (1 + 2.0**-16) if "float" in type_of(result) else result + 1

    return faulty


def both(check: Callable[..., float], function: Callable[..., Any], dtype: str = "float64") -> None:
    """The function is within its bound, and the check sees a fault of it where the type can show it."""
    assert check(function) <= 1.0
    if dtype in ("float64", "float32"):
        assert check(off(function)) > 1.0


def by_pair(positions: Any, axis_map: Any) -> Any:
    return np.moveaxis(np.asarray(positions, dtype=np.float64)[axis_map], 0, -1)


@pytest.mark.parametrize("rule", ["chunked", "interleaved", "interleaved_spare", "round_robin", "balanced"])
@pytest.mark.parametrize("sections", [(2, 3, 3), (8, 12, 12), (24, 20, 20), (5, 11)])
@pytest.mark.parametrize("lib", EACH)
def test_maps(lib: Library, sections: tuple[int, ...], rule: str) -> None:
    expected = rope_axis_map(sections, rule=rule)
    both(lambda f: outside(f(sections, rule=rule, xp=lib.xp), expected, 0.0), axes.rope_axis_map)
    assert type_of(axes.rope_axis_map(sections, rule=rule, xp=lib.xp)) == "int64"


@pytest.mark.parametrize("tail", [None, 0, 1, -1])
@pytest.mark.parametrize("lib", EACH)
def test_maps_with_a_tail(lib: Library, tail: int | None) -> None:
    expected = rope_axis_map((4, 4, 4), rule="alternating", tail=tail)
    given = {"rule": "alternating", "tail": tail, "xp": lib.xp}
    assert outside(axes.rope_axis_map((4, 4, 4), **given), expected, 0.0) <= 1.0


@pytest.mark.parametrize("ladder", LADDERS)
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_frequencies_and_tables(lib: Library, dtype: str, ladder: str) -> None:
    given = LADDERS[ladder]
    w, tables = (
        reference_axes.rope_axes_inv_freq(AXES, **given),
        reference_axes.rope_axes_table(POSITIONS, AXES, **given),
    )
    axis_map, p = lib.make(AXES, "int64"), lib.make(POSITIONS, "int64")
    own = {**given, "dtype": lib.dtype(dtype)}

    def frequencies(function: Callable[..., Any]) -> float:
        return outside(function(axis_map, xp=lib.xp, **own), w, np.abs(w) * 12 * U + once(dtype, w))

    def table(function: Callable[..., Any]) -> float:
        phase = 1.2 * (14 * U * np.abs(by_pair(POSITIONS, AXES) * w) + 4 * U)  # YaRN's factor, 1.14
        got = function(p, axis_map, xp=lib.xp, **own)
        return max(outside(t, y, phase + once(dtype, y)) for t, y in zip(got, tables, strict=True))

    both(frequencies, axes.rope_axes_inv_freq, dtype)
    both(table, axes.rope_axes_table, dtype)


@pytest.mark.parametrize("lib", EACH)
def test_dealt(lib: Library) -> None:
    axis_map = np.array([0, 0, 0, 1, 1])
    w = reference_axes.rope_axes_inv_freq(axis_map, ladder="dealt")
    given = {"ladder": "dealt", "dtype": lib.dtype("float64"), "xp": lib.xp}
    both(
        lambda f: outside(
            f(lib.make(axis_map, "int64"), **{**given, "xp": lib.xp}), w, 12 * U * w + once("float64", w)
        ),
        lambda m, **kwargs: axes.rope_axes_inv_freq(m, **kwargs),
    )


@pytest.mark.parametrize("shape", [(4,), (2, 2), (4, 1), ()])
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_given_frequencies(lib: Library, dtype: str, shape: tuple[int, ...]) -> None:
    positions = POSITIONS[:, : max(1, int(np.prod(shape)))].reshape(3, *shape)
    w = lib.make(rng.random(7), dtype)
    expected = reference_axes.rope_axes_cos_sin(positions, read(w), AXES, attention_factor=1.25)
    phase = 1.25 * (2 * U * np.abs(by_pair(positions, AXES) * read(w)) + 4 * U)  # a product, cos and sin, the factor

    def tables(function: Callable[..., Any]) -> float:
        got = function(lib.make(positions, "int64"), w, lib.make(AXES, "int64"), attention_factor=1.25, xp=lib.xp)
        return max(outside(t, y, phase + once(dtype, y)) for t, y in zip(got, expected, strict=True))

    both(tables, axes.rope_axes_cos_sin, dtype)
    for result in axes.rope_axes_cos_sin(lib.make(positions, "int64"), w, lib.make(AXES, "int64"), xp=lib.xp):
        assert type_of(result) == dtype


@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_mixed(lib: Library, dtype: str) -> None:
    f = lib.make(rng.normal(size=(3, 2, 5)), dtype)
    expected = rope_mixed_cos_sin(POSITIONS, read(f))
    size = np.einsum("as,ahi->hsi", np.abs(POSITIONS), np.abs(read(f)))

    def tables(function: Callable[..., Any]) -> float:
        got = function(lib.make(POSITIONS, "int64"), f, xp=lib.xp)
        bound = 4 * U * size + 4 * U  # three products, two sums
        return max(outside(t, y, bound + once(dtype, y)) for t, y in zip(got, expected, strict=True))

    both(tables, axes.rope_mixed_cos_sin, dtype)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("offset", [0, 3])
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_channels(lib: Library, dtype: str, offset: int, layout: str) -> None:
    x, cos, sin = (lib.make(rng.normal(size=s), dtype) for s in ((2, 3, 9), (3, 6), (3, 6)))
    given = {"layout": layout, "offset": offset}
    expected = rope_apply_channels(read(x), read(cos), read(sin), **given)
    gain = 2 * np.abs([read(cos), read(sin)]).max() * np.abs(read(x)).max()
    bound = np.zeros(expected.shape)
    bound[..., offset : offset + 6] = (2 * working(dtype) * gain + cast(dtype, expected))[..., offset : offset + 6]
    both(lambda f: outside(f(x, cos, sin, xp=lib.xp, **given), expected, bound), axes.rope_apply_channels, dtype)
    assert type_of(axes.rope_apply_channels(x, cos, sin, xp=lib.xp, **given)) == dtype


@pytest.mark.parametrize("options", [{}, {"block": (2, 3)}, {"start": 1}, {"start": (-2, 3), "block": (1, 3)}])
@pytest.mark.parametrize("lib", EACH)
def test_grids(lib: Library, options: dict[str, Any]) -> None:
    for sizes in ((4, 6), (2, 3), (0, 3)):
        expected = grid_positions(sizes, **options)
        assert outside(axes.grid_positions(sizes, xp=lib.xp, **options), expected, 0.0) <= 1.0
    both(
        lambda f: outside(f((4, 6), xp=lib.xp, **options), grid_positions((4, 6), **options), 0.0), axes.grid_positions
    )


@pytest.mark.parametrize("normalize", ["separate", "max", "min"])
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_coordinates(lib: Library, dtype: str, normalize: str) -> None:
    expected = grid_coordinates((3, 7), normalize=normalize)
    given = {"normalize": normalize, "dtype": lib.dtype(dtype)}
    bound = working(dtype) * np.abs(expected) + cast(dtype, expected)  # one division
    both(lambda f: outside(f((3, 7), xp=lib.xp, **given), expected, bound), axes.grid_coordinates, dtype)


@pytest.mark.parametrize("lib", [lib for lib in LIBRARIES if lib.name != "strict"], ids=lambda lib: lib.name)
def test_far_tables_are_the_true_values_rounded(lib: Library) -> None:
    """In float32, to the last bit, at 2^31; an angle in one float64 is seen."""
    far = np.array([[2**31, 10**6 + 3, 5], [-(2**31) + 1, 7, 131071], [2**24 + 1, 2**30 + 1, 9]])
    axis_map, p = lib.make(np.arange(48) % 3, "int64"), lib.make(far, "int64")
    given = {"base": 500000.0, "ladder": "per_axis"}
    got = axes.rope_axes_table(p, axis_map, dtype=lib.dtype("float32"), xp=lib.xp, **given)
    expected = reference_axes.rope_axes_table(far, np.arange(48) % 3, **given)
    for table, y in zip(got, expected, strict=True):
        assert np.array_equal(read(table), y.astype(np.float32))
    w = reference_axes.rope_axes_inv_freq(np.arange(48) % 3, **given)
    assert not np.array_equal(
        np.cos(by_pair(far, np.arange(48) % 3) * w).astype(np.float32), expected[0].astype(np.float32)
    )
    f = lib.make(rng.normal(size=(3, 2, 24)), "float32")
    mixed = axes.rope_mixed_cos_sin(p, f, xp=lib.xp)
    for table, y in zip(mixed, rope_mixed_cos_sin(far, read(f)), strict=True):
        assert np.array_equal(read(table), y.astype(np.float32))


def test_on_a_device_without_float64() -> None:
    """Tables are made in float64 on the host, and come back in float32."""
    strict, device = LIBRARIES[1], array_api_strict.Device("no_float64")
    w = reference_axes.rope_axes_inv_freq(AXES, ladder="per_axis")
    p, axis_map = strict.make(POSITIONS, "int64", device), strict.make(AXES, "int64", device)
    expected = reference_axes.rope_axes_table(POSITIONS, AXES, ladder="per_axis")
    bound = 14 * U * np.abs(by_pair(POSITIONS, AXES) * w) + 4 * U
    got = axes.rope_axes_table(p, axis_map, ladder="per_axis", dtype=strict.xp.float32, xp=strict.xp)
    for table, y in zip(got, expected, strict=True):
        assert table.device == device
        assert outside(table, y, bound + once("float32", y)) <= 1.0
    in_float32 = np.cos(by_pair(POSITIONS, AXES).astype(np.float32) * w.astype(np.float32))  # the planted fault
    assert outside(in_float32, expected[0], bound + once("float32", expected[0])) > 1000
    made = axes.grid_coordinates((3, 7), normalize="max", dtype=strict.xp.float32, device=device, xp=strict.xp)
    assert made.device == axes.rope_axis_map((2, 3), device=device, xp=strict.xp).device == device


@pytest.mark.parametrize("lib", EACH)
def test_a_map_beyond_the_rows_is_refused(lib: Library) -> None:
    p, w = lib.make(POSITIONS[:2], "int64"), lib.make(np.ones(7), "float32")
    with pytest.raises(
        ValueError, match=r"positions must be \(axes, ...\) with a row for each of 3 axes, got shape \(2, 4\)"
    ):
        axes.rope_axes_cos_sin(p, w, lib.make(AXES, "int64"), xp=lib.xp)
    with pytest.raises(ValueError, match="axis_map must be axes from 0 on, got -1"):
        axes.rope_axes_cos_sin(p, w, lib.make(AXES - 1, "int64"), xp=lib.xp)


def test_a_map_that_is_not_looked_at_gives_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device, or under a compiler: what has no row is no number, and nobody's position by mistake."""
    monkeypatch.setattr(axes, "compiling", lambda xp: True)
    p, w = (lib := LIBRARIES[0]).make(POSITIONS[:2], "int64"), lib.make(np.ones(7), "float32")
    for table in axes.rope_axes_cos_sin(p, w, lib.make(AXES, "int64"), xp=lib.xp):
        assert np.isnan(table).tolist() == [(AXES == 2).tolist()] * 4


WRONG: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("rope_axes_cos_sin", {"axis_map": np.ones(7)}, TypeError, "axis_map must be an array of integers, got type"),
    (
        "rope_axes_cos_sin",
        {"axis_map": np.zeros((1, 7), int)},
        ValueError,
        "axis_map must be a vector with at least one",
    ),
    ("rope_axes_cos_sin", {"axis_map": np.zeros(0, int)}, ValueError, "axis_map must be a vector with at least one"),
    ("rope_axes_cos_sin", {"inv_freq": np.ones(6)}, ValueError, r"inv_freq must have one frequency .* got \(6,\)"),
    ("rope_axes_cos_sin", {"inv_freq": np.ones(7, int)}, TypeError, "inv_freq must be a floating array"),
    ("rope_axes_cos_sin", {"positions": np.array(3)}, ValueError, r"positions must be \(axes, ...\) .* got shape \(\)"),
    ("rope_axes_cos_sin", {"positions": POSITIONS > 0}, TypeError, "positions must be an array of real numbers"),
    ("rope_axes_cos_sin", {"attention_factor": "1"}, TypeError, "attention_factor must be a finite number, got '1'"),
    (
        "rope_axes_table",
        {"ladder": "own"},
        ValueError,
        "ladder must be one of 'shared', 'per_axis', 'dealt', got 'own'",
    ),
    ("rope_axes_table", {"base": (2.0, 3.0)}, ValueError, "base must be one for all axes for the ladder 'shared'"),
    (
        "rope_axes_table",
        {"base": (2.0,), "ladder": "per_axis"},
        ValueError,
        "base must be one, or one for each of 3 axes",
    ),
    (
        "rope_axes_table",
        {"ladder": "dealt"},
        ValueError,
        r"axis_map must have .* a deal in turn gives .* got \[2, 2, 3\]",
    ),
    (
        "rope_mixed_cos_sin",
        {"frequencies": np.ones((2, 5))},
        ValueError,
        "frequencies must have a row for each of 3 axes",
    ),
    ("rope_mixed_cos_sin", {"frequencies": np.ones(5)}, ValueError, r"frequencies must be \(axes, ..., pairs\)"),
    ("rope_apply_channels", {"cos": np.ones((3, 4))}, ValueError, "cos and sin must have the same shape"),
    ("rope_apply_channels", {"layout": "neox"}, ValueError, "layout must be one of 'half', 'interleaved', got 'neox'"),
    ("rope_apply_channels", {"offset": 4}, ValueError, "cos and sin must have 2 to 4 columns, an even number"),
    ("rope_apply_channels", {"x": np.ones((3, 8), int)}, TypeError, "x must be a floating array"),
]
GOOD: dict[str, dict[str, Any]] = {
    "rope_axes_cos_sin": {"positions": POSITIONS, "inv_freq": np.ones(7), "axis_map": AXES},
    "rope_axes_table": {"positions": POSITIONS, "axis_map": AXES},
    "rope_mixed_cos_sin": {"positions": POSITIONS, "frequencies": np.ones((3, 2, 5))},
    "rope_apply_channels": {"x": np.ones((3, 8)), "cos": np.ones((3, 6)), "sin": np.ones((3, 6))},
}


def call(lib: Library, function: str, changed: dict[str, Any]) -> Any:
    given = {
        n: lib.make(v, v.dtype.name) if isinstance(v, np.ndarray) else v for n, v in (GOOD[function] | changed).items()
    }
    return getattr(axes, function)(**given, xp=lib.xp)


@pytest.mark.parametrize("lib", EACH)
@pytest.mark.parametrize(("function", "changed", "error", "says"), WRONG)
def test_bad_input(lib: Library, function: str, changed: dict[str, Any], error: type[Exception], says: str) -> None:
    call(lib, function, {})
    with pytest.raises(error, match=says) as caught:
        call(lib, function, changed)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("lib", AT_HAND)
def test_positions_that_are_no_numbers(lib: Library, value: float) -> None:
    wrong = {"positions": np.array([[0.0], [value], [1.0]])}
    for function in ("rope_axes_cos_sin", "rope_axes_table", "rope_mixed_cos_sin"):
        with pytest.raises(ValueError, match="positions must be finite, got NaN or infinity"):
            call(lib, function, wrong)


@pytest.mark.parametrize("lib", EACH)
def test_equal_axes_are_one_axis(lib: Library) -> None:
    p = lib.make(np.tile(POSITIONS[0], (3, 1)), "int64")
    several = axes.rope_axes_table(p, lib.make(AXES, "int64"), dtype=lib.dtype("float64"), xp=lib.xp)
    for table, y in zip(several, posref.rope_table(POSITIONS[0], 14), strict=True):
        w = posref.rope_inv_freq(14)
        assert outside(table, y, 14 * U * np.abs(POSITIONS[0][:, None] * w) + 4 * U + once("float64", y)) <= 1.0
