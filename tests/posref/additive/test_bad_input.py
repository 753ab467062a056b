"""Bad input to what is added to embeddings."""

from __future__ import annotations

import copy

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
    arguments,
    check,
    covered,
    names,
    numbers,
    positions,
    public,
    several,
)

import posref

# Calls that work: what the bad ones change.
VALID: dict[str, Args] = {
    "cape_positions": {"positions": np.arange(3), "shift": ONES(3), "log_scale": ONES(1)},
    "learned": {"table": ONES((3, 4)), "positions": np.arange(3)},
    "sinusoidal": {"positions": np.arange(3), "dim": 8},
    "timestep_embedding": {"timesteps": np.arange(3), "dim": 8},
}

ENDPOINT = "dim must be > 2 with endpoint=True, whose exponent is -k / (dim // 2 - 1), got 2"
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
    ("sinusoidal", {"endpoint": True, "dim": 2}, ValueError, ENDPOINT),
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
    ("learned", {"table": ONES((0, 4))}, IndexError, "positions must be in 0 .. -1 for a table of 0 rows, got 0"),
]  # fmt: skip


@pytest.mark.parametrize("bad", CASES, ids=names(CASES))
def test_bad_input(bad: Bad) -> None:
    check(VALID, bad)


def test_no_argument_escapes() -> None:
    assert arguments(public("additive").items()) == covered(CASES)


@pytest.mark.parametrize("function", public("additive"))
def test_the_unchanged_call_works(function: str) -> None:
    assert getattr(posref, function)(**copy.deepcopy(VALID[function])) is not None
