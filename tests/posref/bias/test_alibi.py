"""ALiBi: slopes, and biases that know the difference of positions alone (or, in the key form, do so for softmax)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref

Floats = NDArray[np.float64]
Bias = Callable[..., Floats]

U = 2.0**-53

head_counts = st.integers(1, 20)
lengths = st.integers(1, 9)
anywhere = st.integers(-(2**50), 2**50)


# --- slopes ----------------------------------------------------------------------------------------------------------


@given(heads=st.integers(1, 300))
def follows_the_released_rule(slopes: Callable[[int], Floats], heads: int) -> None:
    """A geometric sequence from 2 ** (-8 / n) to 2 ** -8, then every other slope of twice as many heads."""
    n = 1 << heads.bit_length() - 1
    m = slopes(heads)
    assert m.shape == (heads,)
    assert m[n - 1] == 2.0**-8
    np.testing.assert_allclose(m[0], 2 ** (-8 / n), rtol=2 * U)
    np.testing.assert_allclose(m[1:n] / m[: n - 1], 2 ** (-8 / n), rtol=4 * U)
    if heads > n:
        np.testing.assert_allclose(m[n], 2 ** (-4 / n), rtol=2 * U)  # between 1 and the first
        np.testing.assert_allclose(m[n + 1 :] / m[n:-1], 2 ** (-8 / n), rtol=4 * U)


def test_slopes() -> None:
    follows_the_released_rule(posref.alibi_slopes)


@pytest.mark.parametrize(
    "fault",
    [
        lambda h: 2.0 ** (-8 * np.arange(1, h + 1) / h),  # the plain formula for every number of heads
        lambda h: 2.0 ** (-8 * np.arange(h) / h),  # starting at 1
        lambda h: np.sort(posref.alibi_slopes(h))[::-1],
        lambda h: posref.alibi_slopes(max(1, h // 2)),  # the heads of one tensor-parallel rank alone
    ],
)
def test_slope_faults(fault: Callable[[int], Floats]) -> None:
    with pytest.raises(AssertionError):
        follows_the_released_rule(fault)


# --- the forms -------------------------------------------------------------------------------------------------------


def plain(slopes: Floats, q: Any, k: Any, **how: Any) -> Floats:
    return posref.alibi_bias(slopes, q, k, **how)


def of_the_key_alone(slopes: Floats, q: Any, k: Any, **how: Any) -> Floats:
    return posref.alibi_bias(slopes, q, k, form="key")


def scaled_by_the_query(slopes: Floats, q: Any, k: Any, **how: Any) -> Floats:
    return np.asarray(posref.alibi_bias(slopes, q, k, **how) * (1 + np.abs(np.asarray(q, float))[:, None] * 2.0**-50))


def from_the_last_key(slopes: Floats, q: Any, k: Any, **how: Any) -> Floats:
    return posref.alibi_bias(slopes, [max(k)] * len(q), k, **how)


@given(
    heads=head_counts,
    q=st.lists(st.integers(-99, 99), min_size=1, max_size=9),
    k=st.lists(st.integers(-99, 99), min_size=1, max_size=9),
    shift=anywhere,
    form=st.sampled_from(["distance", "signed"]),
)
def depends_on_the_difference(bias: Bias, heads: int, q: list[int], k: list[int], shift: int, form: str) -> None:
    """To the last bit, at any distance from the origin."""
    slopes = posref.alibi_slopes(heads)
    moved = bias(slopes, [p + shift for p in q], [p + shift for p in k], form=form)
    assert np.array_equal(bias(slopes, q, k, form=form), moved)


def test_depends_on_the_difference() -> None:
    depends_on_the_difference(plain)


@pytest.mark.parametrize("fault", [of_the_key_alone, scaled_by_the_query])
def test_difference_faults(fault: Bias) -> None:
    with pytest.raises(AssertionError):
        depends_on_the_difference(fault)


@given(heads=head_counts, q=st.integers(-9, 9), length=st.integers(1, 9))
def prefers_near_keys(bias: Bias, heads: int, q: int, length: int) -> None:
    """Never positive, zero at the query, falling on both sides."""
    b = bias(posref.alibi_slopes(heads), [q], list(range(q - length, q + length + 1)))[:, 0]
    assert (b <= 0).all()
    assert (b[:, length] == 0).all()
    assert (np.diff(b[:, : length + 1]) > 0).all()
    assert (np.diff(b[:, length:]) < 0).all()


def test_prefers_near_keys() -> None:
    prefers_near_keys(plain)


@pytest.mark.parametrize(
    "fault",
    [
        lambda m, q, k: -posref.alibi_bias(m, q, k),  # the sign that favours distant keys
        lambda m, q, k: posref.alibi_bias(m, q, k, form="signed"),
        of_the_key_alone,
        from_the_last_key,
    ],
)
def test_preference_faults(fault: Bias) -> None:
    with pytest.raises(AssertionError):
        prefers_near_keys(fault)


SLOPES = posref.alibi_slopes(6)
P = np.array([3, 0, 17, 5, 6])


def test_no_slopes_is_no_alibi() -> None:
    """Heads differ: one bias for all of them would have the slopes left out."""
    b = posref.alibi_bias(SLOPES, P, P)
    assert len(np.unique(b[:, 0, 2])) == 6


def test_signed_is_distance_in_the_past_and_its_opposite_in_the_future() -> None:
    distance, signed = (posref.alibi_bias(SLOPES, P, P, form=form) for form in ("distance", "signed"))
    past = P[:, None] >= P
    assert np.array_equal(signed, np.where(past, distance, -distance))
    assert signed.max() > 0


def test_key_differs_by_a_constant_per_query_which_causal_softmax_does_not_see() -> None:
    here = np.arange(7)
    signed, key = (posref.alibi_bias(SLOPES, here, here, form=form) for form in ("signed", "key"))
    assert np.array_equal(key - signed, np.broadcast_to(SLOPES[:, None, None] * here[:, None], key.shape))
    q, k, v = np.random.default_rng(2).standard_normal((3, 6, 7, 4))

    def attend(bias: Floats, mask: NDArray[np.bool_] | None) -> Floats:
        return posref.attention(q, k, v, bias=bias, mask=mask)

    causal = np.tri(7, dtype=bool)
    np.testing.assert_allclose(attend(signed, causal), attend(key, causal), atol=1e-13)  # some hundred roundings
    distance = posref.alibi_bias(SLOPES, here, here)
    assert np.abs(attend(distance, None) - attend(key, None)).max() > 1e-3  # without the mask it is another function


@pytest.mark.parametrize("form", ["distance", "signed", "key"])
def test_batches_of_positions(form: str) -> None:
    q, k = np.array([[[0, 1]], [[5, 9]], [[2, 2]]]), np.array([[0, 3, 4], [7, 7, 8]])  # (3, 1, 2) and (2, 3)
    b = posref.alibi_bias(SLOPES, q, k, form=form)
    assert b.shape == (3, 2, 6, 2, 3)
    for i, j in np.ndindex(3, 2):
        assert np.array_equal(b[i, j], posref.alibi_bias(SLOPES, q[i, 0], k[j], form=form))


@pytest.mark.parametrize("form", ["distance", "signed", "key"])
@pytest.mark.parametrize(("q", "k"), [(0, 3), (3, 0), (0, 0)])
def test_empty_positions(form: str, q: int, k: int) -> None:
    assert posref.alibi_bias(SLOPES, np.arange(q), np.arange(k), form=form).shape == (6, q, k)


# 2 ** -1 .. 2 ** -8 and their neighbours, as the paper's code gives them.
PUBLISHED = {
    1: [0.00390625],
    2: [0.0625, 0.00390625],
    6: [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125],
    12: [*(2.0**-h for h in range(1, 9)), 0.70710678, 0.35355339, 0.1767767, 0.08838835],
}


@pytest.mark.parametrize("heads", PUBLISHED)
def test_published_slopes(heads: int) -> None:
    np.testing.assert_allclose(posref.alibi_slopes(heads), PUBLISHED[heads], rtol=0, atol=6e-9)
