"""KERPLE, Sandwich and FIRE: what makes them so, and the readings of public code, each beside the one it differs from."""

from __future__ import annotations

import math
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
HERE = np.arange(7)
some = st.lists(st.integers(-99, 99), min_size=1, max_size=6)
anywhere = st.integers(-(2**50), 2**50)

# --- all of them know the difference alone -----------------------------------------------------------------------------

OF_THE_DIFFERENCE: dict[str, Bias] = {
    "kerple, log": lambda q, k: posref.kerple_bias([0.7, 2.0], [0.3, 1.5], q, k),
    "kerple, power": lambda q, k: posref.kerple_bias([0.7, 2.0], [0.3, 1.5], q, k, form="power"),
    "sandwich": lambda q, k: posref.sandwich_bias(2, q, k, dim=8),
}


@given(q=some, k=some, shift=anywhere)
def depends_on_the_distance(bias: Bias, q: list[int], k: list[int], shift: int) -> None:
    """To the last bit, at any distance from the origin; 0 at the query and falling from there (Sandwich nearby alone)."""
    moved = bias([p + shift for p in q], [p + shift for p in k])
    assert np.array_equal(bias(q, k), moved)
    assert np.array_equal(bias(k, q).swapaxes(-1, -2), moved)
    near = bias([0], range(4))[:, 0]
    assert (near[:, 0] == 0).all()
    assert (np.diff(near) < 0).all()


@pytest.mark.parametrize("name", OF_THE_DIFFERENCE)
def test_depends_on_the_distance(name: str) -> None:
    depends_on_the_distance(OF_THE_DIFFERENCE[name])


@pytest.mark.parametrize("name", OF_THE_DIFFERENCE)
@pytest.mark.parametrize(
    "fault",
    [
        lambda bias, q, k: bias(np.maximum(q, 0), k),
        lambda bias, q, k: bias(np.float32(q).astype(int), np.float32(k).astype(int)),
        lambda bias, q, k: -bias(q, k),
        lambda bias, q, k: bias(q, k) - 1,
    ],
)
def test_distance_faults(name: str, fault: Callable[..., Floats]) -> None:
    with pytest.raises(AssertionError):
        depends_on_the_distance(lambda q, k: fault(OF_THE_DIFFERENCE[name], q, k))


@pytest.mark.parametrize("name", OF_THE_DIFFERENCE)
def test_batches_and_empty_axes(name: str) -> None:
    bias, q, k = OF_THE_DIFFERENCE[name], np.array([[[0, 1]], [[5, 9]], [[2, 2]]]), np.array([[0, 3, 4], [7, 7, 8]])
    b = bias(q, k)  # (3, 1, 2) and (2, 3)
    assert b.shape == (3, 2, 2, 2, 3)
    for i, j in np.ndindex(3, 2):
        assert np.array_equal(b[i, j], bias(q[i, 0], k[j]))
    for n, m in ((0, 3), (3, 0), (0, 0)):
        assert bias([0] * n, [0] * m).shape == (2, n, m)


# --- KERPLE ----------------------------------------------------------------------------------------------------------


def test_kerple_by_hand() -> None:
    """The paper's formulas at points where they are short."""
    assert posref.kerple_bias([2.0], [1.0], [3], [0])[0, 0, 0] == -2 * math.log(4)
    assert posref.kerple_bias([0.5], [1.5], [4], [0], form="power")[0, 0, 0] == -4
    assert posref.kerple_bias([0.5], [1.5], [4, 0], [4, 0], form="power")[0].trace() == 0


@given(heads=st.integers(1, 12), q=some, k=some)
def is_alibi_where_the_power_is_1(bias: Bias, heads: int, q: list[int], k: list[int]) -> None:
    m = posref.alibi_slopes(heads)
    np.testing.assert_allclose(bias(m, np.ones(heads), q, k, form="power"), posref.alibi_bias(m, q, k), rtol=2 * U)


def test_kerple_is_alibi_where_the_power_is_1() -> None:
    is_alibi_where_the_power_is_1(posref.kerple_bias)


@pytest.mark.parametrize(
    "fault",
    [
        lambda a, b, q, k, form: posref.kerple_bias(a, b, q, k),
        lambda a, b, q, k, form: posref.kerple_bias(b, a, q, k, form=form),
        lambda a, b, q, k, form: posref.kerple_bias(a, b, np.abs(q), k, form=form),
    ],
)
def test_kerple_faults(fault: Bias) -> None:
    with pytest.raises(AssertionError):
        is_alibi_where_the_power_is_1(fault)


def test_nemos_kerple_is_no_bias_at_all() -> None:
    """Its r1 are ALiBi's slopes, its r2 are zeros that stay so; the released code keeps r2 at 0.01 or more."""
    slopes = posref.alibi_slopes(4)
    assert not posref.kerple_bias(slopes, np.zeros(4), HERE, HERE).any()
    assert posref.kerple_bias(slopes, np.full(4, 0.01), HERE, HERE).min() < -0.01


def test_a_weight_is_the_exponential_of_a_power() -> None:
    """The released code's weights multiply the logits: exp(-a d ** p), 1 at the query, falling to 0."""
    weight = np.exp(posref.kerple_bias([0.3], [1.2], [6], HERE, form="power"))[0, 0]
    np.testing.assert_allclose(weight, np.exp(-0.3 * (6.0 - HERE) ** 1.2), rtol=8 * U)


# --- Sandwich --------------------------------------------------------------------------------------------------------


@given(q=some, k=some, dim=st.sampled_from([2, 8, 64]), base=st.sampled_from([100.0, 10000.0]), heads=st.integers(1, 5))
def is_the_product_of_two_encodings(bias: Bias, q: list[int], k: list[int], dim: int, base: float, heads: int) -> None:
    """From index 0 on: sinusoidal(q) . sinusoidal(k), less d / 2, times H / (8 h)."""
    product = posref.sinusoidal(q, dim, base=base) @ posref.sinusoidal(k, dim, base=base).T
    expected = (product - dim / 2) / (8 * np.arange(1, heads + 1)[:, None, None] / heads)
    got = bias(heads, q, k, dim=dim, base=base, start=0)
    # products and sum: dim + 3 roundings of a sum of at most dim / 2, times at most H / 8
    np.testing.assert_allclose(got, expected, rtol=0, atol=(dim + 3) * U * dim / 2 * heads / 8)


def test_sandwich_is_the_product_of_two_encodings() -> None:
    is_the_product_of_two_encodings(posref.sandwich_bias)


@pytest.mark.parametrize(
    "fault",
    [
        lambda heads, q, k, dim, base, start: posref.sandwich_bias(heads, q, k, dim=dim, base=base),  # from 1 on
        lambda heads, q, k, dim, base, start: posref.sandwich_bias(heads, q, k, dim=dim, start=0),
        lambda heads, q, k, dim, base, start: (
            posref.sandwich_bias(heads, q, k, dim=dim, base=base, start=0)[::-1] * 1.01
        ),
    ],
)
def test_sandwich_faults(fault: Bias) -> None:
    with pytest.raises(AssertionError):
        is_the_product_of_two_encodings(fault)


def test_both_starts_of_the_sum_are_two_functions() -> None:
    """At distance 1 with 8 h / H = 1: -1.4466 from 1 on (NeMo), -1.9063 from 0 on."""
    from_1, from_0 = (posref.sandwich_bias(8, [1], [0], start=s)[0, 0, 0] for s in (1, 0))
    assert from_1 == pytest.approx(-1.4466, abs=5e-5)
    assert from_0 == pytest.approx(-1.9063, abs=5e-5)


@given(q=st.floats(-1e6, 1e6), k=st.floats(-1e6, 1e6))
def test_fractions_are_exact_differences(q: float, k: float) -> None:
    """Also where q - k takes more than one float64: against mpmath."""
    from mpmath import mp, mpf

    with mp.workdps(60):
        d = mpf(q) - mpf(k)
        w = [mpf(100) ** (-mpf(i) / 2) for i in (1, 2)]
        expected = float((mp.fsum(mp.cos(d * f) for f in w) - 2) / 8)
    # sines within 1.1 u of themselves, those of a sum of two floats within 3 u of 1; squares, sum, factor
    got = posref.sandwich_bias(1, [q], [k], dim=4, base=100.0)[0, 0, 0]
    assert got == pytest.approx(expected, rel=10 * U, abs=2 * U * math.sqrt(abs(expected)) + 1e-32)


# --- FIRE ------------------------------------------------------------------------------------------------------------


@given(q=st.lists(st.integers(0, 3000), min_size=1, max_size=6), length=st.floats(0.5, 999.0), c=st.floats(0.01, 3.0))
def is_a_share_of_the_query(share: Bias, q: list[int], length: float, c: float) -> None:
    """From 0 at the query to at most 1 at the start of the sequence, which it is for queries beyond the length."""
    keys = np.arange(0, 3001, 100)
    y = share(q, keys, c, length, eps=0.0)
    for i, row in zip(q, y, strict=True):
        seen = row[keys <= i]
        assert ((seen >= 0) & (seen <= 1)).all()
        assert (np.diff(seen) < 0).all()
        assert (seen[0] == 1) == (i >= length)
        expected = np.log1p(c * (i - keys[keys <= i])) / math.log1p(c * max(length, i))
        np.testing.assert_allclose(seen, expected, rtol=8 * U)


def test_fire_is_a_share_of_the_query() -> None:
    is_a_share_of_the_query(posref.fire_distance)


@pytest.mark.parametrize(
    "fault",
    [
        lambda q, k, c, length, eps: posref.fire_distance(q, k, c, length, limit="min", eps=1e-9),
        lambda q, k, c, length, eps: posref.fire_distance(q, k, c, length),  # with the code's epsilon
        lambda q, k, c, length, eps: posref.fire_distance(q, k, c, length + 1, eps=eps),
        lambda q, k, c, length, eps: posref.fire_distance(k[:1] * 0 + q, k + 1, c, length, eps=eps),
    ],
)
def test_fire_faults(fault: Bias) -> None:
    with pytest.raises(AssertionError):
        is_a_share_of_the_query(fault)


def test_the_larger_and_the_smaller_limit_are_two_functions() -> None:
    """With c = 0.1 and L = 512: the released code's max, and a port's min, which passes 1."""
    near, far = (posref.fire_distance([i], [3], 0.1, 512.0)[0, 0] for i in (10, 1000))
    assert near == pytest.approx(0.134164, abs=1e-6)
    assert far == pytest.approx(0.999355, abs=1e-6)
    near, far = (posref.fire_distance([i], [3], 0.1, 512.0, limit="min")[0, 0] for i in (10, 1000))
    assert near == pytest.approx(0.7655, abs=1e-4)
    assert far > 1.1


def test_the_epsilon_is_the_codes() -> None:
    """It lowers the first rows, where psi is small."""
    code, paper = (posref.fire_distance([1], [0], 1e-4, 0.5, eps=e)[0, 0] for e in (1e-6, 0.0))
    assert paper == 1
    assert code == pytest.approx(1 / (1 + 1e-6 / math.log1p(1e-4)), rel=4 * U)


def test_fires_bias_is_a_network_of_it() -> None:
    draw, q, k = np.random.default_rng(11), np.array([[3, 600], [5, 0]]), np.arange(4)
    w1, b1, w2, b2 = (draw.standard_normal(s) for s in ((32, 1), (32,), (2, 32), (2,)))
    share: Any = posref.fire_distance(q, k, 0.1, 512.0)
    bias = np.moveaxis(posref.position_mlp(share[..., None], w1, b1, w2, b2=b2), -1, -3)
    assert bias.shape == (2, 2, 2, 4)
    x = math.log1p(0.1 * 597) / (math.log1p(60.0) + 1e-6)
    by_hand = np.maximum(w1[:, 0] * x + b1, 0) @ w2[1] + b2[1]
    assert bias[0, 1, 1, 3] == pytest.approx(by_hand, abs=1e-13)
