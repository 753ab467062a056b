"""Every closed form of posref is within 0.51 ulp of the true value of its arguments as given, by rigorous enclosures.

Random valid arguments (helpers/random_arguments.py), the papers' formulas in ball arithmetic (helpers/true_values.py), and
errors as upper bounds (helpers/balls.py). The same comparison finds the same formulas in plain float64
(helpers/plain_values.py) wanting. tests/scripts/exact_sweep.py compares more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import pytest
from balls import Undecided, ceil, clip, ctx, decided, error, floor
from exactness import LIMIT, SUBJECTS, Subject, compare
from flint import arb


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_within_half_an_ulp(subject: Subject, record_property: Callable[[str, object], None]) -> None:
    start = time.process_time()
    comparison = compare(subject, subject.entries)
    measured = (
        f"{subject}: worst of {len(comparison.errors)} entries {comparison.worst:.6f} ulp"
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
    for radius, known in ((2.0**-80, True), (2.0**-60, False)):
        ball = arb(1, radius) + arb(2) ** -53
        if known:
            assert 0.5 <= error(1.0, ball) <= 0.500001
        else:
            with pytest.raises(Undecided):
                error(1.0, ball)
