"""Encodings on several axes, Fourier features, resampled tables, positions among padding on every library: values, errors."""

from __future__ import annotations

import numpy as np
import pytest
from array_kit import LIBRARIES, Library, read
from checks_kit import Bad, Good, caller, floats, numbers, on_every_library, whole

import posref
import posref_array

FUNCTIONS = (
    "fourier_features",
    "frequency_bands",
    "hierarchical_table",
    "learned",
    "mask_coordinates",
    "mask_positions",
    "resample_table",
    "sinusoidal",
    "sinusoidal_axes",
    "timestep_embedding",
)


# --- bad input -------------------------------------------------------------------------------------------------------


GOOD: Good = {
    "sinusoidal": {"positions": whole(3), "dim": 4},
    "timestep_embedding": {"timesteps": whole(3), "dim": 4},
    "learned": {"table": floats(3, 4), "positions": whole(3)},
    "sinusoidal_axes": {"positions": whole(2, 3), "dim": 8},
    "frequency_bands": {"n": 4, "first": 1.0, "last": 8.0},
    "fourier_features": {"coordinates": whole(2, 3), "frequencies": floats(4)},
    "resample_table": {"table": floats(6, 2), "sizes": (2, 3), "new_sizes": (3, 4)},
    "hierarchical_table": {"table": floats(3, 4), "rows": 9},
    "mask_positions": {"mask": whole(3)},
    "mask_coordinates": {"mask": whole(2, 3)},
}
MASK = "mask must be booleans, or integers 0 and 1, got"

BAD: Bad = [
    ("sinusoidal", {"dim": 3, "odd": "zero", "endpoint": True}, ValueError, "dim must be > 3 with endpoint=True"),
    ("sinusoidal", {"odd": "pad"}, ValueError, "odd must be one of 'error', 'zero', 'split', got 'pad'"),
    ("sinusoidal", {"gain": "1"}, TypeError, "gain must be a finite number, got '1'"),
    ("sinusoidal", {"padding_idx": 1.0}, TypeError, "padding_idx must be an integer >= .*, got 1.0"),
    ("timestep_embedding", {"freq_dtype": "int8"}, ValueError, "freq_dtype must be one of 'float32', .*, got 'int8'"),
    ("learned", {"offset": -1}, ValueError, "offset must be an integer >= 0, got -1"),
    ("sinusoidal_axes", {"positions": whole()}, ValueError, r"positions must be \(axes, ...\) with .*, got shape \(\)"),
    ("sinusoidal_axes", {"positions": [1]}, TypeError, "positions must be an array of real numbers, got type list"),
    ("sinusoidal_axes", {"dim": 3}, ValueError, "dim must be >= 4, two channels for each of 2 axes, got 3"),
    ("sinusoidal_axes", {"widths": (4, 6)}, ValueError, r"widths must not add up to more than dim 8, got \(4, 6\)"),
    ("sinusoidal_axes", {"base": (10.0,)}, ValueError, "base must be one, or one for each of 2 axes, got"),
    ("sinusoidal_axes", {"dim": 4, "endpoint": True}, ValueError, "dim must give each axis more than 2 channels"),
    ("sinusoidal_axes", {"layout": "xy"}, ValueError, "layout must be one of 'axis_wave_band', .*, got 'xy'"),
    ("sinusoidal_axes", {"order": "cos"}, ValueError, "order must be one of 'sin_cos', 'cos_sin', got 'cos'"),
    ("frequency_bands", {"n": 0}, ValueError, "n must be an integer >= 1, got 0"),
    ("frequency_bands", {"first": 0.0, "spacing": "log"}, ValueError, "first must be a finite number > 0, got 0.0"),
    ("frequency_bands", {"endpoint": 1}, TypeError, "endpoint must be True or False, got 1"),
    ("fourier_features", {"frequencies": whole(4)}, TypeError, "frequencies must be a floating array, got type"),
    ("fourier_features", {"frequencies": floats(3, 4)}, ValueError, "frequencies must have a row for each of 2 axes"),
    ("fourier_features", {"coordinates": whole(0, 3)}, ValueError, r"coordinates must be \(axes, ...\) with at least"),
    ("fourier_features", {"unit": "degrees"}, ValueError, "unit must be one of 'radians', .*, got 'degrees'"),
    ("fourier_features", {"include_input": None}, TypeError, "include_input must be True or False, got None"),
    ("resample_table", {"table": whole(6, 2)}, TypeError, "table must be a floating array, got type"),
    ("resample_table", {"table": floats(7, 2)}, ValueError, r"table must be \(rows, dim\) .* 6 rows, got shape \(7, 2\)"),
    ("resample_table", {"new_sizes": (3,)}, ValueError, "new_sizes must have one integer per axis, 2, got"),
    ("resample_table", {"kernel": "box"}, ValueError, "kernel must be one of 'linear', 'cubic', 'spline', got 'box'"),
    ("resample_table", {"spacing": "geometric"}, ValueError, "spacing must be 'uniform' with the kernel 'cubic'"),
    ("resample_table", {"antialias": True, "align_corners": True}, ValueError, "align_corners must be False with"),
    ("resample_table", {"offset": 0.1, "align_corners": True}, ValueError, "offset must be 0 with align_corners=True"),
    ("hierarchical_table", {"rows": 10}, ValueError, "rows must be at most 9, the square of the table's 3, got 10"),
    ("hierarchical_table", {"table": floats(3)}, ValueError, r"table must be \(rows, dim\), got shape \(3,\)"),
    ("hierarchical_table", {"alpha": 1.0}, ValueError, "alpha must be a finite number > 0 and < 1, got 1.0"),
    ("mask_positions", {"mask": floats(3)}, TypeError, f"{MASK} type"),
    ("mask_positions", {"mask": [1]}, TypeError, f"{MASK} type list"),
    ("mask_positions", {"mask": whole()}, ValueError, r"mask must have a sequence axis, got shape \(\)"),
    ("mask_positions", {"first": 0.5}, TypeError, "first must be an integer >= .*, got 0.5"),
    ("mask_coordinates", {"mask": whole(3)}, ValueError, r"mask must have at least 2 axes, got shape \(3,\)"),
    ("mask_coordinates", {"eps": 0.0}, ValueError, "eps must be a finite number > 0, got 0.0"),
]  # fmt: skip


call = caller(GOOD)


test_values, test_the_calls_that_are_changed_work, test_bad_input = on_every_library(FUNCTIONS, GOOD, BAD)


@pytest.mark.parametrize("function", ["mask_positions", "mask_coordinates"])
@pytest.mark.parametrize("lib", [lib for lib in LIBRARIES if lib.name != "torch"], ids=lambda lib: lib.name)
def test_other_numbers_in_a_mask_are_refused_where_looking_costs_nothing(lib: Library, function: str) -> None:
    with pytest.raises(ValueError, match=f"{MASK} another number"):
        call(lib, function, {"mask": lambda lib: lib.make([[0, 2]], "int64")})


@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_a_row_before_the_first_is_no_row(lib: Library) -> None:
    """What indexing would count from the end."""
    with pytest.raises(IndexError):
        call(lib, "learned", {"positions": numbers(0, -2), "offset": 1})


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("lib", [lib for lib in LIBRARIES if "float16" in lib.floats], ids=lambda lib: lib.name)
def test_coordinates_in_16_bits_keep_their_angles(lib: Library, half: str) -> None:
    """Angles are made in float64 of the coordinates as they are; 16 bits are no place for them."""
    x = lib.make([[0.5, 3.25, 100.0]], half)
    result = read(posref_array.fourier_features(x, lib.make([1.0, 3.0], "float64"), xp=lib.xp))
    expected = posref.fourier_features(read(x), [1.0, 3.0])
    assert np.abs(result - expected).max() < 300 * 4 * 2.0**-53
    angle = (read(x)[0][:, None] * [1.0, 3.0]).astype(np.float16).astype(float)  # the planted fault
    angle += np.spacing(np.float16(300)) / 2
    assert np.abs(np.sin(angle) - expected[:, :2]).max() > 0.01


def test_a_device_without_float64_gets_features_that_were_made_in_it() -> None:
    import array_api_strict

    strict, device = LIBRARIES[1], array_api_strict.Device("no_float64")
    x, f = np.array([[0.25, 1000.0]]), np.array([1.0, 77.0])
    made = posref_array.fourier_features(
        strict.make(x, "float32", device), strict.make(f, "float32", device), unit="turns", xp=strict.xp
    )
    assert made.device == device
    expected = posref.fourier_features(x, f, unit="turns")
    assert np.abs(read(made) - expected).max() <= 2.0**-24 + 77000 * 7 * 4 * 2.0**-53
    in_float32 = np.sin(np.float32(2 * np.pi) * x.astype(np.float32)[0][:, None] * f.astype(np.float32))
    assert np.abs(in_float32 - expected[:, :2]).max() > 1e-3
    for coordinates in (
        posref_array.mask_coordinates(strict.make([[1, 1]], "int64", device), xp=strict.xp, dtype=strict.xp.float32),
        posref_array.sinusoidal_axes(
            strict.make([[1], [2]], "int64", device), 8, xp=strict.xp, dtype=strict.xp.float32
        ),
    ):
        assert coordinates.device == device
