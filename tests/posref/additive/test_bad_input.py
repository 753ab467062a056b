"""Bad input to what is added to embeddings."""

from __future__ import annotations

import numpy as np
from bad_calls import (
    NAN,
    ONES,
    RAGGED,
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

# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "cape_positions": {"positions": np.arange(3), "shift": ONES(3), "log_scale": ONES(1)},
    "learned": {"table": ONES((3, 4)), "positions": np.arange(3)},
    "sinusoidal": {"positions": np.arange(3), "dim": 8},
    "timestep_embedding": {"timesteps": np.arange(3), "dim": 8},
    "sinusoidal_axes": {"positions": np.ones((2, 3)), "dim": 8},
    "mask_coordinates": {"mask": ONES((2, 3), bool)},
    "frequency_bands": {"n": 4, "first": 1.0, "last": 8.0},
    "fourier_features": {"coordinates": ONES((2, 3)), "frequencies": ONES(4)},
    "resample_table": {"table": ONES((7, 2)), "sizes": (2, 3), "new_sizes": (3, 4), "prefix": 1},
    "hierarchical_table": {"table": ONES((3, 4)), "rows": 9},
}

ENDPOINT = "with endpoint=True, whose exponent is -k / (n - 1) for n frequencies, got"
AXES_ENDPOINT = (
    "dim must give each axis more than 2 channels with endpoint=True, whose exponent is -k / (d // 2 - 1), got"
)
NESTINGS = ("axis_wave_band", "axis_band_wave", "wave_axis_band", "wave_band_axis", "band_axis_wave", "band_wave_axis")
NO_AXIS = [
    (v, ValueError, f"must be (axes, ...) with at least one axis, got shape {np.shape(v)}") for v in (1, ONES((0, 3)))
]
ROWS = "must be (rows, dim) with prefix + product of sizes ="
OFFSET = "positions must be in -1 .. 1 for a table of 3 rows and offset 1, got"
OPTIONS = "the kernel 'cubic', antialias, align_corners or an offset"
WITH_ANTIALIAS = "must be False with antialias=True, got True"
NEGATIVE = "must be an integer >= -9007199254740992, got"
SHIFT = "dim // 2 must be > downscale_freq_shift, got dim"
CASES: list[Bad] = [
    *positions("cape_positions", "positions"),
    ("cape_positions", {"positions": 5}, ValueError, "positions must have a sequence axis, got 5"),
    *(bad for name in ("shift", "log_scale") for bad in numbers("cape_positions", name)),
    *(
        bad
        for name in ("shift", "log_scale")
        for bad in several(
            "cape_positions",
            name,
            (NAN, ValueError, "must be finite, got NaN or infinity"),
            (ONES(2), ValueError, "of shape (2,) must broadcast against the positions' shape (3,)"),
            (ONES((1, 3)), ValueError, "of shape (1, 3) must broadcast against the positions' shape (3,)"),
        )
    ),
    *a_flag("cape_positions", "centre"),
    *positions("sinusoidal", "positions"),
    *an_integer("sinusoidal timestep_embedding", "dim", 1, 0, -2),
    *several("sinusoidal", "dim", (3, ValueError, "must be a positive even integer, got 3")),
    *a_number("sinusoidal", "base", "a finite number > 1", 1, 1.0, 0, -5),
    *a_flag("sinusoidal", "endpoint"),
    ("sinusoidal", {"endpoint": True, "dim": 2}, ValueError, f"dim must be > 2 {ENDPOINT} 2"),
    ("sinusoidal", {"endpoint": True, "dim": 3, "odd": "zero"}, ValueError, f"dim must be > 3 {ENDPOINT} 3"),
    ("sinusoidal", {"endpoint": True, "dim": 1, "odd": "split"}, ValueError, f"dim must be > 1 {ENDPOINT} 1"),
    ("sinusoidal", {"dim": 1, "odd": "zero"}, ValueError, "dim must be an integer >= 2, got 1"),
    *a_number("sinusoidal", "scale", "a finite number"),
    *a_number("sinusoidal", "gain", "a finite number"),
    *a_word("sinusoidal", "odd", "error", "zero", "split"),
    *several("sinusoidal", "padding_idx", *((v, TypeError, f"{NEGATIVE} {v!r}") for v in (1.0, "1", True))),
    *a_word("sinusoidal", "layout", "interleaved", "concatenated"),
    *a_word("sinusoidal", "order", "sin_cos", "cos_sin"),
    *positions("timestep_embedding", "timesteps"),
    *a_flag("timestep_embedding", "flip_sin_to_cos"),
    *a_number("timestep_embedding", "downscale_freq_shift", "a finite number"),
    *a_number("timestep_embedding", "scale", "a finite number"),
    *a_number("timestep_embedding", "max_period", "a finite number > 1", 1, 0, -1e4),
    ("timestep_embedding", {"dim": 2}, ValueError, f"{SHIFT} 2 and shift 1"),
    ("timestep_embedding", {"dim": 1, "downscale_freq_shift": 0}, ValueError, f"{SHIFT} 1 and shift 0"),
    ("timestep_embedding", {"downscale_freq_shift": 4}, ValueError, f"{SHIFT} 8 and shift 4"),
    *a_word("timestep_embedding", "freq_dtype", "float32", "float16", "bfloat16"),
    *numbers("learned", "table"),
    *several(
        "learned",
        "table",
        (1.0, ValueError, "must have 2 axes, got shape ()"),
        ([1.0], ValueError, "must have 2 axes, got shape (1,)"),
        (ONES((3, 1, 1)), ValueError, "must have 2 axes, got shape (3, 1, 1)"),
    ),
    *positions("learned", "positions", whole=True),
    ("learned", {"positions": [0, 3]}, IndexError, "positions must be in 0 .. 2 for a table of 3 rows, got 3"),
    ("learned", {"positions": -1}, IndexError, "positions must be in 0 .. 2 for a table of 3 rows, got -1"),
    *an_integer("learned", "offset", 0, -1),
    ("learned", {"positions": [2], "offset": 1}, IndexError, f"{OFFSET} 2"),
    ("learned", {"positions": [-2], "offset": 1}, IndexError, f"{OFFSET} -2"),
    ("learned", {"table": ONES((0, 4))}, IndexError, "positions must be in 0 .. -1 for a table of 0 rows, got 0"),
    *positions("sinusoidal_axes", "positions"),
    *several("sinusoidal_axes", "positions", *NO_AXIS),
    *an_integer("sinusoidal_axes", "dim", 1, 0, -2),
    ("sinusoidal_axes", {"dim": 3}, ValueError, "dim must be >= 4, two channels for each of 2 axes, got 3"),
    *several(
        "sinusoidal_axes",
        "widths",
        (4, TypeError, "must be a sequence of integers, one per axis, got 4"),
        ((4,), ValueError, "must have one integer per axis, 2, got (4,)"),
        ((4, 6), ValueError, "must not add up to more than dim 8, got (4, 6)"),
    ),
    ("sinusoidal_axes", {"widths": (3, 4)}, ValueError, "widths[0] must be a positive even integer, got 3"),
    ("sinusoidal_axes", {"widths": (4, 0)}, ValueError, "widths[1] must be an integer >= 1, got 0"),
    ("sinusoidal_axes", {"widths": (4, 2.0)}, TypeError, "widths[1] must be an integer >= 1, got 2.0"),
    *(bad for bad in a_number("sinusoidal_axes", "base", "a finite number > 1", 1, 0, -5) if bad[1]["base"] != [4.0]),
    ("sinusoidal_axes", {"base": (10.0,)}, ValueError, "base must be one, or one for each of 2 axes, got (10.0,)"),
    ("sinusoidal_axes", {"base": (10.0, 1)}, ValueError, "base[1] must be a finite number > 1, got 1"),
    *a_flag("sinusoidal_axes", "endpoint"),
    ("sinusoidal_axes", {"endpoint": True, "dim": 4}, ValueError, f"{AXES_ENDPOINT} [2, 2]"),
    *a_word("sinusoidal_axes fourier_features", "layout", *NESTINGS),
    *a_word("sinusoidal_axes fourier_features", "order", "sin_cos", "cos_sin"),
    *several(
        "mask_coordinates",
        "mask",
        ([[0.5]], TypeError, "must be booleans, or integers 0 and 1, got type float64"),
        ([["1"]], TypeError, "must be booleans, or integers 0 and 1, got type <U1"),
        (None, TypeError, "must be booleans, or integers 0 and 1, got type object"),
        ([[1], [1, 2]], TypeError, RAGGED),
        ([[0, 2]], ValueError, "must be booleans, or integers 0 and 1, got 2"),
        ([[0, -1]], ValueError, "must be booleans, or integers 0 and 1, got -1"),
        ([1, 0], ValueError, "must have at least 2 axes, got shape (2,)"),
    ),
    *an_integer("mask_coordinates", "axes", 1, 0, -1),
    ("mask_coordinates", {"axes": 3}, ValueError, "mask must have at least 3 axes, got shape (2, 3)"),
    *a_number("mask_coordinates", "scale", "a finite number"),
    *a_number("mask_coordinates", "shift", "a finite number"),
    *a_number("mask_coordinates", "eps", "a finite number > 0", 0, -1e-6),
    *an_integer("frequency_bands", "n", 1, 0, -2),
    *a_number("frequency_bands", "first", "a finite number"),
    *a_number("frequency_bands", "last", "a finite number"),
    *a_word("frequency_bands", "spacing", "linear", "log"),
    ("frequency_bands", {"first": 0, "spacing": "log"}, ValueError, "first must be a finite number > 0, got 0"),
    ("frequency_bands", {"last": -2.0, "spacing": "log"}, ValueError, "last must be a finite number > 0, got -2.0"),
    *a_flag("frequency_bands", "endpoint"),
    *positions("fourier_features", "coordinates"),
    *several("fourier_features", "coordinates", *NO_AXIS),
    *numbers("fourier_features", "frequencies"),
    *several(
        "fourier_features",
        "frequencies",
        (1.0, ValueError, "must be (bands,) or (axes, features), got shape ()"),
        (ONES(0), ValueError, "must be (bands,) or (axes, features), got shape (0,)"),
        (ONES((1, 2, 3)), ValueError, "must be (bands,) or (axes, features), got shape (1, 2, 3)"),
        (ONES((3, 5)), ValueError, "must have a row for each of 2 axes, got shape (3, 5)"),
        ([NAN], ValueError, "must be finite, got NaN or infinity"),
    ),
    *a_word("fourier_features", "unit", "radians", "half_turns", "turns"),
    *a_number("fourier_features", "gain", "a finite number"),
    *a_flag("fourier_features", "include_input"),
    *numbers("resample_table", "table"),
    ("resample_table", {"table": ONES(7)}, ValueError, f"table {ROWS} 7 rows, got shape (7,)"),
    ("resample_table", {"table": ONES((6, 2))}, ValueError, f"table {ROWS} 7 rows, got shape (6, 2)"),
    *several(
        "resample_table",
        "sizes",
        (6, TypeError, "must be a sequence of integers, one per axis, got 6"),
        ((), ValueError, "must have one integer per axis, got ()"),
    ),
    ("resample_table", {"sizes": (2, 4)}, ValueError, f"table {ROWS} 9 rows, got shape (7, 2)"),
    ("resample_table", {"sizes": (0, 3)}, ValueError, "sizes[0] must be an integer >= 1, got 0"),
    ("resample_table", {"new_sizes": 4}, TypeError, "new_sizes must be a sequence of integers, one per axis, got 4"),
    ("resample_table", {"new_sizes": (4,)}, ValueError, "new_sizes must have one integer per axis, 2, got (4,)"),
    ("resample_table", {"new_sizes": (4, -1)}, ValueError, "new_sizes[1] must be an integer >= 0, got -1"),
    *a_word("resample_table", "kernel", "linear", "cubic", "spline"),
    ("resample_table", {"kernel": "spline"}, ValueError,
     "kernel must be 'linear' or 'cubic' with spacing='uniform', got 'spline'"),
    *a_word("resample_table", "spacing", "uniform", "geometric"),
    *(
        ("resample_table", {"spacing": "geometric", **how}, ValueError,
         f"spacing must be 'uniform' with {OPTIONS}, got 'geometric'")
        for how in ({}, {"kernel": "linear", "antialias": True}, {"kernel": "linear", "offset": 0.1})
    ),
    *(
        ("resample_table", {"spacing": "geometric", "kernel": "linear", **how}, ValueError, says)
        for how, says in (
            ({}, "sizes must be odd and >= 3 with spacing='geometric', got (2, 3)"),
            ({"sizes": (3, 3), "table": ONES((10, 2))}, "new_sizes must be odd and >= 3 with spacing='geometric', got (3, 4)"),
            ({"sizes": (3, 3), "table": ONES((10, 2)), "new_sizes": (3, 7)},
             "new_sizes must be 3 .. 3 with 3 old cells, a ratio of 1 .. 1.5, got 7"),
            ({"sizes": (3, 5), "table": ONES((16, 2)), "kernel": "spline", "new_sizes": (3, 7)},
             "sizes must be odd and >= 5 with spacing='geometric', got (3, 5)"),
        )
    ),
    *a_number("resample_table", "cubic_a", "a finite number"),
    *a_flag("resample_table", "antialias"),
    *a_flag("resample_table", "align_corners"),
    *a_number("resample_table", "offset", "a finite number > -1", -1, -1.5),
    ("resample_table", {"antialias": True, "align_corners": True}, ValueError, f"align_corners {WITH_ANTIALIAS}"),
    ("resample_table", {"offset": 0.1, "align_corners": True}, ValueError, "offset must be 0 with align_corners=True, got 0.1"),
    *an_integer("resample_table", "prefix", 0, -1),
    *numbers("hierarchical_table", "table"),
    ("hierarchical_table", {"table": ONES(3)}, ValueError, "table must be (rows, dim), got shape (3,)"),
    *an_integer("hierarchical_table", "rows", 0, -1),
    ("hierarchical_table", {"rows": 10}, ValueError, "rows must be at most 9, the square of the table's 3, got 10"),
    *a_number("hierarchical_table", "alpha", "a finite number > 0", 0, -0.4),
    ("hierarchical_table", {"alpha": 1.0}, ValueError, "alpha must be a finite number > 0 and < 1, got 1.0"),
]  # fmt: skip


test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works = table_tests(VALID, CASES, "additive")
