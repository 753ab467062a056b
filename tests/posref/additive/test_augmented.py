"""CAPE's positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import posref

U = 2.0**-53


@given(seed=st.integers(0, 2**32 - 1), centre=st.booleans(), tokens=st.integers(1, 9))
def is_shifted_and_stretched(augmented: Callable[..., Any], seed: int, centre: bool, tokens: int) -> None:
    """Distances grow by the scale and the difference of the shifts; what is the same for all of a sequence moves it alone."""
    draw = np.random.default_rng(seed)
    p, local, stretch = (
        draw.integers(-99, 99, (2, tokens)),
        draw.standard_normal((2, tokens)),
        draw.standard_normal((2, 1)),
    )
    y = augmented(p, local, stretch, centre=centre)
    expected = (p - p.mean(axis=-1, keepdims=True) * centre + local) * np.exp(stretch)
    # a mean and two sums of numbers below 100, an exponential within an ulp, a product
    np.testing.assert_allclose(y, expected, rtol=4 * U, atol=16 * U * 100 * np.exp(stretch.max()))
    still = augmented(p, 0.0, 0.0, centre=centre)
    assert centre or np.array_equal(still, p)
    moved = augmented(p, 7.0, 0.0, centre=centre)
    np.testing.assert_allclose(moved - still, 7.0, rtol=0, atol=200 * U)
    if centre:
        assert np.array_equal(augmented(p + 1000, local, stretch, centre=True), y)


def test_cape() -> None:
    is_shifted_and_stretched(posref.cape_positions)


@pytest.mark.parametrize(
    "fault",
    [
        lambda p, d, s, centre: posref.cape_positions(p, 0.0, s, centre=centre) + d,  # shifted after it is stretched
        lambda p, d, s, centre: posref.cape_positions(p, d, -np.asarray(s), centre=centre),
        lambda p, d, s, centre: posref.cape_positions(p, d, s),
        lambda p, d, s, centre: posref.cape_positions(
            p, np.asarray(d)[..., ::-1] if np.ndim(d) else d, s, centre=centre
        ),
    ],
)
def test_cape_faults(fault: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        is_shifted_and_stretched(fault)


def is_rounded_once(augmented: Callable[..., Any]) -> None:
    """From mpmath, at 60 digits: also where almost nothing is left of a sum, and where numbers are large or small."""
    draw, apart = np.random.default_rng(5), [1e-300, 1e-9, 1.0, 1e15, 1e150]
    p, shift = draw.normal(size=(5, 40)) * np.reshape(apart, (5, 1)), draw.normal(size=(5, 40))
    shift[:, ::2] = -p[:, ::2] * (1 + draw.integers(-2, 3, (5, 20)) * 2.0**-52)
    stretch = draw.normal(size=(5, 1))
    for centre in (False, True):
        got = augmented(p, shift, stretch, centre=centre)
        with mp.workdps(700):  # 1e150 and 1e-300 in one sum
            for row in range(5):
                mean = sum(map(mpf, p[row].tolist())) / 40 * centre
                times = mp.exp(mpf(stretch[row, 0]))
                exact = [(mpf(a) - mean + mpf(b)) * times for a, b in zip(p[row], shift[row], strict=True)]
                assert got[row].tolist() == [float(x) for x in exact]


def test_every_position_is_rounded_once() -> None:
    is_rounded_once(posref.cape_positions)


@pytest.mark.parametrize(
    "fault",
    [
        lambda p, d, s, centre: (p - p.mean(axis=-1, keepdims=True) * centre + d) * np.exp(s),
        lambda p, d, s, centre: np.nextafter(posref.cape_positions(p, d, s, centre=centre), 0),
    ],
)
def test_further_roundings_are_noticed(fault: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        is_rounded_once(fault)


def test_no_tokens() -> None:
    assert posref.cape_positions(np.zeros((2, 0), int), 0.5, 0.5, centre=True).shape == (2, 0)
