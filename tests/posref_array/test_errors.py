"""Bad input: one line that names the argument, what came and what was expected, on every library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from array_kit import LIBRARIES, Library
from checks_kit import refused

import posref
import posref_array

AT_HAND = [lib for lib in LIBRARIES if lib.name != "torch"]  # where looking at values costs nothing


@dataclass
class Of:
    """An array of this shape, or of these values, to be made by each library."""

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    values: Any = None

    def make(self, lib: Library) -> Any:
        return lib.make(np.ones(self.shape) if self.values is None else self.values, self.dtype)


def floats(*shape: int) -> Of:
    return Of(shape)


def whole(*shape: int) -> Of:
    return Of(shape, "int64")


# a call of each function that works
GOOD: dict[str, dict[str, Any]] = {
    "rope_inv_freq": {"dim": 8},
    "rope_cos_sin": {"positions": whole(3), "inv_freq": floats(4)},
    "rope_table": {"positions": whole(3), "dim": 8},
    "rope_apply": {"x": floats(3, 4), "cos": floats(3, 2), "sin": floats(3, 2)},
    "rope": {"x": floats(3, 4), "positions": whole(3)},
    "sinusoidal": {"positions": whole(3), "dim": 4},
    "timestep_embedding": {"timesteps": whole(3), "dim": 4},
    "learned": {"table": floats(3, 4), "positions": whole(3)},
    "alibi_slopes": {"num_heads": 4},
    "alibi_bias": {"slopes": floats(2), "q_positions": whole(3), "k_positions": whole(3)},
    "t5_bucket": {"relative_position": whole(3)},
    "t5_bias": {"table": floats(32, 2), "q_positions": whole(3), "k_positions": whole(3)},
    "attention": {"q": floats(2, 3, 4), "k": floats(2, 3, 4), "v": floats(2, 3, 4)},
}
NAN, INF = float("nan"), float("inf")
LONGROPE = posref.LongRopeScaling([1.0] * 4, [1.0] * 4, 64)
REVERSED = posref.YarnScaling(4.0, 64, beta_fast=1e9, beta_slow=1e8, truncate=False)

# function, what is changed, error, what its line says
BAD: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("rope_inv_freq", {"dim": 7}, ValueError, "dim must be a positive even integer, got 7"),
    ("rope_inv_freq", {"dim": 0}, ValueError, "dim must be an integer >= 1, got 0"),
    ("rope_inv_freq", {"dim": 8.0}, TypeError, "dim must be an integer >= 1, got 8.0"),
    ("rope_inv_freq", {"base": 1.0}, ValueError, "base must be a finite number > 1, got 1.0"),
    ("rope_inv_freq", {"base": NAN}, ValueError, "base must be .* got nan"),
    ("rope_inv_freq", {"scaling": "yarn"}, TypeError, "scaling must be None or .* got 'yarn'"),
    ("rope_inv_freq", {"dim": 2, "scaling": posref.NTKScaling(2.0)}, ValueError, "dim must be > 2 for NTK"),
    ("rope_inv_freq", {"dim": 6, "scaling": LONGROPE}, ValueError, "short_factor must have .* got 4"),
    ("rope_inv_freq", {"seq_len": 0}, ValueError, "seq_len must be an integer >= 1, got 0"),
    ("rope_inv_freq", {"scaling": REVERSED, "base": 2.0}, ValueError, "scaling must leave YaRN a range of pairs"),
    ("rope_cos_sin", {"inv_freq": whole(4)}, TypeError, "inv_freq must be a floating array, got type"),
    ("rope_cos_sin", {"inv_freq": floats(2, 2)}, ValueError, r"inv_freq must be a vector .* got shape \(2, 2\)"),
    ("rope_cos_sin", {"inv_freq": floats(0)}, ValueError, r"inv_freq must be a vector .* got shape \(0,\)"),
    ("rope_cos_sin", {"positions": [1, 2]}, TypeError, "positions must be an array of real numbers, got type list"),
    ("rope_cos_sin", {"positions": Of((3,), "bool")}, TypeError, "positions must be an array of real numbers"),
    ("rope_cos_sin", {"attention_factor": "1"}, TypeError, "attention_factor must be a finite number, got '1'"),
    ("rope_table", {"scaling": LONGROPE}, ValueError, "scaling must have factor or attention_factor"),
    ("rope_apply", {"x": whole(3, 4)}, TypeError, "x must be a floating array, got type"),
    ("rope_apply", {"x": 1.0}, TypeError, "x must be a floating array, got type float"),
    ("rope_apply", {"x": floats()}, ValueError, "x must have a channel axis, got a scalar"),
    ("rope_apply", {"sin": floats(3, 1)}, ValueError, "cos and sin must have the same shape"),
    ("rope_apply", {"x": floats(3, 3)}, ValueError, "cos and sin must have 1 to 1 pairs .* got 2"),
    ("rope_apply", {"offset": 1}, ValueError, "cos and sin must have 1 to 1 pairs .* and offset 1, got 2"),
    ("rope_apply", {"x": floats(2, 4)}, ValueError, "cos and sin of shape .* must broadcast"),
    (
        "rope_apply",
        {"cos": floats(2, 3, 2), "sin": floats(2, 3, 2)},
        ValueError,
        "cos and sin of shape .* must broadcast",
    ),
    ("rope_apply", {"layout": "neox"}, ValueError, "layout must be one of 'half', 'interleaved', got 'neox'"),
    ("rope_apply", {"output_layout": 1}, TypeError, "output_layout must be one of 'half', 'interleaved', got 1"),
    ("rope_apply", {"offset": -1}, ValueError, "offset must be an integer >= 0, got -1"),
    ("rope_apply", {"inverse": 1}, TypeError, "inverse must be True or False, got 1"),
    (
        "rope_apply",
        {"out": floats(2, 4)},
        ValueError,
        r"out must have x's shape and type, \(3, 4\) .*float32, got \(2, 4\)",
    ),
    ("rope_apply", {"out": Of((3, 4), "float64")}, ValueError, "out must have x's shape and type, .* got .*float64"),
    ("rope", {"x": floats(3, 5)}, ValueError, "x's channels from offset on must be a positive even integer, got 5"),
    ("rope", {"x": floats()}, ValueError, "x's channels from offset on must be an integer >= 1, got 0"),
    (
        "rope",
        {"positions": whole(2)},
        ValueError,
        r"positions of shape \(2,\) must broadcast against x.shape\[:-1\] = \(3,\)",
    ),
    ("rope", {"dim": 6}, ValueError, "dim must fit into the 4 channels of x from offset on, got 6"),
    ("rope", {"dim": 4, "offset": 2}, ValueError, "dim must fit into the 2 channels of x from offset on, got 4"),
    ("sinusoidal", {"dim": 5}, ValueError, "dim must be a positive even integer, got 5"),
    ("sinusoidal", {"dim": 2, "endpoint": True}, ValueError, "dim must be > 2 with endpoint=True"),
    ("sinusoidal", {"layout": "half"}, ValueError, "layout must be one of 'interleaved', 'concatenated', got 'half'"),
    ("sinusoidal", {"order": None}, TypeError, "order must be one of 'sin_cos', 'cos_sin', got None"),
    ("timestep_embedding", {"dim": 2}, ValueError, "dim // 2 must be > downscale_freq_shift, got dim 2 and shift 1"),
    ("timestep_embedding", {"max_period": 1}, ValueError, "max_period must be a finite number > 1, got 1"),
    ("learned", {"positions": floats(3)}, TypeError, "positions must be an array of integers, got type"),
    ("learned", {"table": floats(3)}, ValueError, r"table must be \(rows, dim\), got shape \(3,\)"),
    ("learned", {"table": whole(3, 4)}, TypeError, "table must be a floating array"),
    ("alibi_slopes", {"num_heads": 0}, ValueError, "num_heads must be an integer >= 1, got 0"),
    ("alibi_slopes", {"num_heads": True}, TypeError, "num_heads must be an integer >= 1, got True"),
    ("alibi_bias", {"slopes": floats(0)}, ValueError, "slopes must be a vector with at least one head"),
    ("alibi_bias", {"q_positions": whole()}, ValueError, "q_positions must have a sequence axis, got a scalar"),
    ("alibi_bias", {"q_positions": whole(2, 3), "k_positions": whole(3, 3)}, ValueError, "batch axes that broadcast"),
    (
        "alibi_bias",
        {"form": "bloom"},
        ValueError,
        "form must be one of 'distance', 'signed', 'key', 'past', 'sqrt', 'key_last', 'key_first', got 'bloom'",
    ),
    ("t5_bucket", {"relative_position": floats(3)}, TypeError, "relative_position must be an array of integers"),
    ("t5_bucket", {"num_buckets": 3}, ValueError, "num_buckets must be >= 4 with bidirectional=True, got 3"),
    ("t5_bucket", {"num_buckets": 1, "bidirectional": False}, ValueError, "num_buckets must be >= 2 .*, got 1"),
    ("t5_bucket", {"max_distance": 8}, ValueError, "max_distance must be > 8"),
    ("t5_bucket", {"max_distance": 2**53 + 1}, ValueError, "max_distance must be an integer <= 9007199254740992, got"),
    ("t5_bias", {"table": floats(32)}, ValueError, r"table must be \(num_buckets, heads\)"),
    ("t5_bias", {"table": floats(32, 0)}, ValueError, "at least one head"),
    ("t5_bias", {"q_positions": floats(3)}, TypeError, "q_positions must be an array of integers"),
    ("attention", {"k": floats(2, 3, 5)}, ValueError, "q, k, v must be"),
    ("attention", {"v": floats(2, 2, 4)}, ValueError, "q, k, v must be"),
    ("attention", {"q": floats(2, 3, 0), "k": floats(2, 3, 0)}, ValueError, "q, k, v must be"),
    ("attention", {"k": whole(2, 3, 4)}, TypeError, "k must be a floating array"),
    ("attention", {"scale": INF}, ValueError, "scale must be a finite number, got inf"),
    ("attention", {"bias": floats(5, 3, 3)}, ValueError, r"bias of shape \(5, 3, 3\) must broadcast"),
    ("attention", {"mask": floats(3, 3)}, TypeError, "mask must be boolean, True where a query may look"),
]


def call(lib: Library, function: str, changed: dict[str, Any]) -> Any:
    given = {
        name: value.make(lib) if isinstance(value, Of) else value
        for name, value in {**GOOD[function], **changed}.items()
    }
    return getattr(posref_array, function)(**given, xp=lib.xp)


@pytest.mark.parametrize("function", GOOD)
@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_the_calls_that_are_changed_work(lib: Library, function: str) -> None:
    call(lib, function, {})


@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
@pytest.mark.parametrize(("function", "changed", "error", "says"), BAD, ids=[f"{b[0]}-{i}" for i, b in enumerate(BAD)])
def test_bad_input(lib: Library, function: str, changed: dict[str, Any], error: type[Exception], says: str) -> None:
    refused(lambda: call(lib, function, changed), error, says)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("lib", AT_HAND, ids=lambda lib: lib.name)
def test_positions_that_are_no_numbers(lib: Library, value: float) -> None:
    for function, name in (
        ("rope_cos_sin", "positions"),
        ("rope_table", "positions"),
        ("rope", "positions"),
        ("sinusoidal", "positions"),
        ("timestep_embedding", "positions"),
        ("alibi_bias", "q_positions"),
        ("alibi_bias", "k_positions"),
    ):
        given = "timesteps" if function == "timestep_embedding" else name
        with pytest.raises(ValueError, match=f"{name} must be finite, got NaN or infinity"):
            call(lib, function, {given: Of(values=[0.0, value, 1.0])})


@pytest.mark.parametrize("position", [3, -1])
@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_rows_that_are_not_there(lib: Library, position: int) -> None:
    says = "index out of range" if lib.name == "torch" else r"positions must be in 0 \.\. 2 for a table of 3 rows"
    with pytest.raises(IndexError, match=says):
        call(lib, "learned", {"positions": Of(dtype="int64", values=[0, position])})
