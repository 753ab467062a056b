"""Every closed form of posref is within 0.51 ulp of the true value of its arguments as given, by rigorous enclosures.

Random valid arguments (helpers/random_arguments.py), the papers' formulas in ball arithmetic (helpers/true_values.py), and
errors as upper bounds (helpers/balls.py). The same comparison finds the same formulas in plain float64
(helpers/plain_values.py) wanting. tests/scripts/exact_sweep.py compares more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from balls import Undecided, ceil, clip, ctx, decided, error, floor
from exactness import LIMIT, SUBJECTS, WITHOUT_A_CLOSED_FORM, Subject, compare, errors_of
from flint import arb

import posref
from posref import DynamicNTKScaling, LinearScaling, LongRopeScaling, NTKScaling, YarnScaling


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_within_half_an_ulp(subject: Subject, record_property: Callable[[str, object], None]) -> None:
    start = time.process_time()
    comparison = compare(subject, subject.entries)
    measured = (
        f"{subject}: worst of {len(comparison.errors)} entries {comparison.worst:.9f} ulp"
        f" ({time.process_time() - start:.1f} s)"
    )
    print(measured)
    record_property("measured", measured)
    assert comparison.worst <= LIMIT, comparison.arguments


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_plain_float64_is_not(subject: Subject) -> None:
    with np.errstate(all="ignore"):
        errors = np.array(compare(subject, 3000, plain=True).errors)
    beyond = (errors > LIMIT) & np.isfinite(errors)  # results that are NaN or overflow are no art to find
    print(f"{subject} in plain float64: {beyond.mean():.0%} of {errors.size} entries beyond {LIMIT} ulp")
    assert beyond.mean() > 0.02


@pytest.mark.parametrize("kind", ["YaRN", "YaRN, not truncated", "Llama 3"])
def test_some_decisions_are_on_the_edge(kind: str) -> None:
    """Plain float64 takes a wrong one, which shows: no rounding is as large."""
    (subject,) = (s for s in SUBJECTS if (s.function, s.kind) == ("rope_inv_freq", kind))
    with np.errstate(all="ignore"):
        errors = compare(subject, 3000, plain=True).errors
    assert max(filter(math.isfinite, errors)) > 1e6


def test_no_function_is_missing() -> None:
    functions = {name for name in posref.__all__ if callable(getattr(posref, name)) and "Scaling" not in name}
    without = {name for names in WITHOUT_A_CLOSED_FORM for name in names.split(", ")}
    proven = {subject.function for subject in SUBJECTS}
    assert functions == proven | without
    assert not proven & without


# --- what is easily missed -------------------------------------------------------------------------------------------


LARGEST = YarnScaling(1e9, 4096, mscale=1.7e308, mscale_all_dim=5e-324)
BIAS = {"slopes": np.array([1e300, 1e-300]), "q_positions": np.array([1.7e308, 1.0]), "k_positions": np.array([-1e308])}
TABLE = {"positions": np.array([0, 3, -(2**53)]), "dim": 6, "base": 10000.0, "seq_len": None, "attention_factor": None}
FREQUENCIES = {"dim": 6, "base": 10000.0, "seq_len": None}
TIMESTEPS = {"timesteps": np.array([0.5, 999.0]), "dim": 4, "flip_sin_to_cos": False, "max_period": 10000.0}
LARGE_SCALES = {
    "positions": np.arange(-290200, -289800, 8),
    "dim": 4,
    "centre": 0.0,
    "length": None,
    "scale_base": 512.0,
}
TURNS = {"coordinates": np.array([[2.0**1000], [2.0**-1000]]), "frequencies": np.ones((2, 1)), "unit": "turns"}
TURNS |= {"order": "sin_cos", "gain": 1.0}
EDGES: dict[str, tuple[str, dict[str, Any]]] = {
    "frequencies of 1e300: 300 digits more": ("rope_table", TABLE | {"scaling": LinearScaling(1e-300)}),
    "frequencies beyond float64": ("rope_table", TABLE | {"scaling": LinearScaling(5e-324)}),
    "frequencies beyond float64, as such": ("rope_inv_freq", FREQUENCIES | {"scaling": LinearScaling(5e-324)}),
    "one fast pair": ("rope_table", TABLE | {"scaling": LongRopeScaling([1.0, 1e-99, 1.0], [1.0] * 3, 4096, 4.0)}),
    "s S / L - (s - 1) is 1": ("rope_inv_freq", FREQUENCIES | {"scaling": DynamicNTKScaling(1e300, 4096)}),
    "s S / L - (s - 1), tiny s": (
        "rope_inv_freq",
        FREQUENCIES | {"scaling": DynamicNTKScaling(1e-300, 1), "seq_len": 9},
    ),
    "a factor of 1e-300": ("rope_table", TABLE | {"scaling": NTKScaling(1e-300)}),
    "an attention factor beyond float64": ("rope_attention_factor", {"scaling": LARGEST}),
    "a table beyond float64": ("rope_table", TABLE | {"scaling": LARGEST}),
    "a scale of 1e300": ("timestep_embedding", TIMESTEPS | {"scale": 1e300, "downscale_freq_shift": 1.0}),
    "exponents of 1e16": ("timestep_embedding", TIMESTEPS | {"scale": 1.0, "downscale_freq_shift": 2 - 2.0**-52}),
    "scales next to the largest number": ("xpos_scale", LARGE_SCALES),
    "whole turns beside a small rest": ("fourier_features", TURNS),
    "a product beyond float64": ("alibi_bias", BIAS | {"form": "key"}),
    "a difference beyond float64": ("alibi_bias", BIAS | {"form": "distance"}),
}


@pytest.mark.parametrize("edge", EDGES)
def test_edges(edge: str) -> None:
    function, arguments = EDGES[edge]
    values = np.array(getattr(posref, function)(**arguments))
    assert max(errors_of(function, arguments, values)) <= LIMIT


# --- the comparison itself -------------------------------------------------------------------------------------------


def test_decisions_wait_for_the_bits_that_they_need() -> None:
    asked = []

    def of_an_integer(value: Callable[[], arb]) -> tuple[arb, arb]:
        asked.append(ctx.prec)
        return floor(value()), ceil(value())

    assert decided(lambda: of_an_integer(lambda: 7 + arb(2) ** -1000 + arb.pi() - arb.pi())) == (7, 8)
    assert asked == [300, 600, 1200]
    with pytest.raises(Undecided):  # no number of bits tells that this is 7
        decided(lambda: floor(7 + arb.pi() - arb.pi()))
    with pytest.raises(Undecided):
        decided(lambda: clip(arb.pi() - arb.pi()))


@pytest.mark.parametrize(
    ("got", "true", "expected"),
    [
        (1.0, {0: 1, -53: 1}, 0.5),
        (1.0, {0: 1, -54: -1}, 0.5),  # below a power of two neighbours are half as far apart
        (-1.0, {0: -1, -54: 1}, 0.5),
        (1.0, {0: 1, -53: -1}, 1.0),
        (0.0, {-1075: 1}, 0.5),
        (5e-324, {-1074: 3}, 2.0),
        (2.0**-1022, {-1022: 1, -1075: -1}, 0.5),
        (math.inf, {1024: 1, 970: -1}, 0.0),
        (math.inf, {1024: 1, 970: -1, 0: -1}, math.inf),
        (-math.inf, {1024: 1}, math.inf),
        (math.nan, {}, math.inf),
    ],
)
def test_errors_in_ulp(got: float, true: dict[int, int], expected: float) -> None:
    ctx.prec = 2200
    assert error(got, sum(digit * arb(2) ** exponent for exponent, digit in true.items())) == expected


def test_an_error_is_known_or_undecided() -> None:
    ctx.prec = 300
    tie = 1 + arb(2) ** -53
    assert 0.5 <= error(1.0, tie + arb(0, 2.0**-80)) <= 0.500001
    for value, ball in ((1.0, tie + arb(0, 2.0**-60)), (1.0, arb(0, 1).log()), (math.inf, arb(0, math.inf))):
        with pytest.raises(Undecided):
            error(value, ball)
