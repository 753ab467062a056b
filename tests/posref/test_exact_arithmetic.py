"""The few real numbers, roundings, and times_difference: held to fractions, mpmath and flint."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posref import _integers, exact
from posref._integers import fixed_cos_sin, hard_cos_sin, in_turns, narrowed, rounded_ratio

floats = st.floats(allow_nan=False, allow_infinity=False)


# --- real numbers ----------------------------------------------------------------------------------------------------


def test_the_context_is_wide_enough_and_goes_away() -> None:
    outside = decimal.getcontext().prec
    for positions, digits in ((None, 60), (np.array([5]), 61), (np.array([-(2.0**53)]), 76), (np.array([1e308]), 368)):
        with exact.real_arithmetic(positions):
            assert decimal.getcontext().prec >= digits
            assert Decimal(10).ln() != 0
    assert decimal.getcontext().prec == outside


@given(st.one_of(floats, st.integers(-(2**70), 2**70)))
def test_real_is_exact(value: float) -> None:
    assert Fraction(exact.real(value)) == Fraction(value)


@pytest.mark.parametrize("digits", [20, 60, 76, 400])
def test_pi(digits: int) -> None:
    with mpmath.workdps(digits + 20), decimal.localcontext() as context:
        context.prec = digits
        assert abs(mpmath.mpf(str(exact.pi())) - mpmath.pi) < mpmath.mpf(10) ** (1 - digits)


def test_rounded_is_rounded_once() -> None:
    tie = 1 + Fraction(1, 2**53)  # between 1 and 1 + 2^-52
    with exact.real_arithmetic():
        above, at = (
            Decimal(tie.numerator) / tie.denominator + Decimal("1e-50"),
            Decimal(tie.numerator) / tie.denominator,
        )
        assert exact.rounded([at, above, -above, Decimal("4e-324")]).tolist() == [1.0, 1 + 2**-52, -1 - 2**-52, 5e-324]


# --- integers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [1, 64, 161, 192, 1000, 3000])
def test_constants_in_integers(bits: int) -> None:
    with mpmath.workprec(bits + 64):
        assert -2 < _integers.pi_bits(bits) - mpmath.pi * 2**bits <= 0
        assert abs(_integers._turns_per_radian(bits) - mpmath.mpf(2) ** bits / (2 * mpmath.pi)) < 2


@given(st.integers(-(10**40), 10**40), st.integers(1, 10**40), st.integers(30, 500))
def test_angles_in_turns(numerator: int, denominator: int, bits: int) -> None:
    with mpmath.workprec(bits + 300):
        turns = mpmath.mpf(numerator) / denominator
        assert abs(in_turns((numerator, denominator), bits, radians=False) - turns * 2**bits) <= 2
        assert abs(in_turns((numerator, denominator), bits) - turns / (2 * mpmath.pi) * 2**bits) <= 2


@given(st.floats(-1, 1), st.integers(100, 800))
def test_series_in_integers(angle: float, bits: int) -> None:
    fixed = int(Fraction(angle) * 2**bits)
    with mpmath.workprec(bits + 64):
        for got, true in zip(fixed_cos_sin(fixed, bits), (mpmath.cos, mpmath.sin), strict=True):
            assert abs(got - true(mpmath.mpf(fixed) / 2**bits) * 2**bits) < bits


@given(floats, st.floats(1e-14, 1e12), st.floats(1e-3, 1e3))
def test_the_last_resort_alone(position: float, frequency: float, gain: float) -> None:
    (p, q), (n, d) = position.as_integer_ratio(), frequency.as_integer_ratio()
    got = hard_cos_sin((p * n, q * d), gain.as_integer_ratio(), True, np.dtype(np.float64))
    with mpmath.workprec(2400):
        angle = mpmath.mpf(position) * frequency
        for value, true in zip(got, (gain * mpmath.cos(angle), gain * mpmath.sin(angle)), strict=True):
            assert abs(value - true) <= mpmath.mpf(float(np.spacing(abs(value)))) / 2 * (1 + mpmath.mpf(2) ** -200)


@pytest.mark.parametrize("bits", [190, 200, 380, 390])
def test_the_last_resort_at_ties(bits: int) -> None:
    """Angles whose cosine is within 2^-bits of halfway between two floats, on either side: the first try cannot tell."""
    source = np.random.default_rng(9)
    for low in source.uniform(0.5, 0.99, 60).tolist():
        high = float(np.nextafter(low, 2))
        with mpmath.workprec(1000):
            tie = mpmath.acos((mpmath.mpf(low) + high) / 2)
            below = int(mpmath.floor(tie * 2**bits))
        for angle, expected in ((below, high), (below + 1, low)):  # the smaller angle has the larger cosine
            assert hard_cos_sin((angle, 1 << bits), (1, 1), True, np.dtype(np.float64))[0] == expected


def test_the_last_resort_in_turns() -> None:
    half = math.sqrt(0.5)  # correctly rounded, as IEEE has it
    expected = [
        (1.0, 0.0),
        (half, half),
        (0.0, 1.0),
        (-half, half),
        (-1.0, 0.0),
        (-half, -half),
        (0.0, -1.0),
        (half, -half),
    ]
    for eighth in range(-16, 16):
        got = hard_cos_sin((eighth, 8), (1, 1), False, np.dtype(np.float64))
        assert tuple(got) == expected[eighth % 8]


# --- narrower types --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "infinity"), [(np.float16, 0x7C00), (ml_dtypes.bfloat16, 0x7F80)])
def test_16_bits_are_rounded_once(dtype: Any, infinity: int) -> None:
    numbers = np.arange(infinity, dtype=np.uint16).view(dtype).astype(np.float64)  # all that are not negative, in order
    for sign in (1.0, -1.0):
        low, high = sign * numbers[:-1], sign * numbers[1:]
        middle = (low + high) / 2
        for value, expected in ((np.nextafter(middle, low), low), (np.nextafter(middle, high), high), (low, low)):
            np.testing.assert_array_equal(narrowed(value, np.dtype(dtype)).astype(float), expected)
    # rounding to float32 first is what goes wrong
    twice = np.nextafter(middle, high).astype(np.float32).astype(dtype).astype(float)
    assert (twice != high).any()


@given(st.floats(2.0**-20, 2.0**20, width=32), st.integers(1, 2**40))
def test_a_fraction_is_rounded_once(value: float, tiny: int) -> None:
    above = float(np.nextafter(np.float32(value), np.float32(np.inf)))
    middle = (Fraction(value) + Fraction(above)) / 2
    dtype = np.dtype(np.float32)
    for shift, expected in ((1, above), (-1, value)):
        exactly = middle + Fraction(shift, tiny * 2**90)  # closer to the middle than any float64
        assert rounded_ratio(exactly.as_integer_ratio(), dtype) == np.float32(expected)


# --- times_difference ------------------------------------------------------------------------------------------------


def ulps_off(m: float, q: float, k: float) -> float:
    got = float(exact.times_difference(np.array(m), np.asarray(q), np.asarray(k)))
    true = Fraction(m) * (Fraction(q) - Fraction(k))
    if math.isinf(got):
        assert abs(true) >= Fraction(2) ** 1024 - Fraction(2) ** 970  # beyond the last tie
        return 0.0
    return float(abs(Fraction(got) - true) / Fraction(float(np.spacing(abs(got)))))


@given(floats, floats, floats)
def test_times_difference_of_any_floats(m: float, q: float, k: float) -> None:
    assert ulps_off(m, q, k) <= 0.501


@given(st.floats(-2, 2), st.integers(-(2**53), 2**53), st.integers(-(2**53), 2**53))
def test_times_difference_of_integers(m: float, q: int, k: int) -> None:
    assert ulps_off(m, q, k) <= 0.501


@given(st.floats(-1, 1), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_times_difference_of_ordinary_floats(m: float, q: float, k: float) -> None:
    assert ulps_off(m, q, k) <= 0.501


@pytest.mark.parametrize(
    ("m", "q", "k"),
    [
        (1.0, 1.7e308, -1.7e308),  # infinite
        (1e-10, 1.7e308, -1.7e308),  # the difference overflows, the product does not
        (1e-300, 1e-10, 3e-30),  # subnormal
        (5e-324, 0.3, 1e-20),
        (1e300, 1e8, 1e-9),  # Veltkamp's splitting of m would overflow
        (1e300, 1e7, 1e-10),
        (0.3, 2.0**53, -(2.0**53) + 1),
        (0.3, 5e-324, 1.0),
        (0.0, 0.1, 1e-20),
    ],
)
def test_times_difference_at_the_edges(m: float, q: float, k: float) -> None:
    assert ulps_off(m, q, k) <= 0.501


def test_times_difference_that_is_subnormal() -> None:
    source = np.random.default_rng(7)
    m, q, k = source.uniform(1, 2, 3000) * 2.0**-1027, source.uniform(1, 30, 3000), source.uniform(0, 1e-3, 3000)
    got = exact.times_difference(m, q, k)
    for value, *arguments in zip(got.tolist(), m.tolist(), q.tolist(), k.tolist(), strict=True):
        x, y, z = map(Fraction, arguments)
        assert abs(Fraction(value) - x * (y - z)) <= Fraction(501, 1000) * Fraction(float(np.spacing(value)))


def test_times_difference_broadcasts_and_beats_the_plain_product() -> None:
    source = np.random.default_rng(0)
    m, q, k = source.random((4, 1, 1)), source.random((2, 1, 30, 1)) * 100, source.random((2, 1, 1, 50))
    got = exact.times_difference(m, q, k)
    assert got.shape == (2, 4, 30, 50)
    plain = m * (q - k)
    worst = [0.0, 0.0]
    for i in np.ndindex(got.shape):
        true = Fraction(m[i[1], 0, 0]) * (Fraction(q[i[0], 0, i[2], 0]) - Fraction(k[i[0], 0, 0, i[3]]))
        for j, value in enumerate((got[i], plain[i])):
            worst[j] = max(worst[j], float(abs(Fraction(value) - true) / Fraction(float(np.spacing(abs(got[i]))))))
    assert worst[0] <= 0.501
    assert worst[1] > 0.9
