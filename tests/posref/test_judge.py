"""Attention, the judge of the other properties, judged itself."""

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
Attention = Callable[..., Floats]

# Logits below 20, at most 7 keys, 5 channels: some 100 roundings of 2**-53 (test_golden.py derives it), times 10.
ROUNDING = 1e-13

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 7)


def draw(seed: int, q: int, k: int) -> tuple[Any, ...]:
    """Two heads: q, k, v, a bias and a mask whose rows all look somewhere."""
    source = np.random.default_rng(seed)
    mask = source.random((2, q, k)) < 0.7
    mask[..., 0] = True
    return (*(source.standard_normal((2, n, d)) for n, d in ((q, 5), (k, 5), (k, 3), (q, k))), mask)


# --- faults ----------------------------------------------------------------------------------------------------------


def without_bias(q: Floats, k: Floats, v: Floats, *, bias: Any = None, **how: Any) -> Floats:
    return posref.attention(q, k, v, **how)


def bias_inside_the_scale(q: Floats, k: Floats, v: Floats, *, bias: Any = None, **how: Any) -> Floats:
    """Falcon's: (q k + bias) / sqrt(d)."""
    return posref.attention(q, k, v, bias=None if bias is None else bias / math.sqrt(q.shape[-1]), **how)


def inverted_mask(q: Floats, k: Floats, v: Floats, *, mask: Any = None, **how: Any) -> Floats:
    return posref.attention(q, k, v, mask=None if mask is None else ~mask, **how)


def masked_by_a_number(q: Floats, k: Floats, v: Floats, *, mask: Any = None, bias: Any = 0.0, **how: Any) -> Floats:
    """-10 where a query may not look: it leaks."""
    return posref.attention(q, k, v, bias=bias if mask is None else bias + np.where(mask, 0.0, -10.0), **how)


def one_more_in_the_denominator(q: Floats, k: Floats, v: Floats, **how: Any) -> Floats:
    """An attention sink."""
    weights = posref.attention(q, k, np.broadcast_to(np.eye(k.shape[-2]), (*v.shape[:-1], k.shape[-2])), **how)
    return np.asarray(weights @ v / 1.01)


# --- properties ------------------------------------------------------------------------------------------------------


@given(seed=seeds, n=sizes, m=sizes)
def follows_the_formula(attend: Attention, seed: int, n: int, m: int) -> None:
    """Entry by entry, with the math module."""
    q, k, v, bias, mask = draw(seed, n, m)
    y = attend(q, k, v, bias=bias, mask=mask)
    for h, i in np.ndindex(2, n):
        seen = np.flatnonzero(mask[h, i])
        weight = {j: math.exp(math.fsum(q[h, i] * k[h, j]) / math.sqrt(5) + bias[h, i, j]) for j in seen}
        total = math.fsum(weight.values())
        for c in range(3):
            assert abs(y[h, i, c] - math.fsum(weight[j] * v[h, j, c] for j in seen) / total) <= ROUNDING


@given(seed=seeds, n=sizes, m=sizes)
def is_a_mean_of_the_values(attend: Attention, seed: int, n: int, m: int) -> None:
    q, k, v, bias, mask = draw(seed, n, m)
    assert np.abs(attend(q, k, np.ones_like(v), bias=bias, mask=mask) - 1).max() <= ROUNDING
    y = attend(q, k, v, bias=bias, mask=mask)
    assert (y <= v.max(axis=-2, keepdims=True) + ROUNDING).all()
    assert (y >= v.min(axis=-2, keepdims=True) - ROUNDING).all()


@given(seed=seeds, n=sizes, m=sizes)
def does_not_see_masked_keys(attend: Attention, seed: int, n: int, m: int) -> None:
    q, k, v, bias, mask = draw(seed, n, m)
    mask = np.broadcast_to(mask[:, :1], mask.shape)  # the same keys for every query
    changed = np.where(mask[:, 0, :, None], v, v + 100)
    assert np.array_equal(attend(q, k, v, bias=bias, mask=mask), attend(q, k, changed, bias=bias, mask=mask))


PROPERTIES = [follows_the_formula, is_a_mean_of_the_values, does_not_see_masked_keys]


@pytest.mark.parametrize("holds", PROPERTIES)
def test_the_reference_has_the_property(holds: Callable[[Attention], None]) -> None:
    holds(posref.attention)


@pytest.mark.parametrize(
    ("holds", "fault"),
    [
        (follows_the_formula, without_bias),
        (follows_the_formula, bias_inside_the_scale),
        (follows_the_formula, inverted_mask),
        (follows_the_formula, masked_by_a_number),
        (is_a_mean_of_the_values, one_more_in_the_denominator),
        (is_a_mean_of_the_values, inverted_mask),  # rows that look nowhere are zero
        (does_not_see_masked_keys, masked_by_a_number),
        (does_not_see_masked_keys, inverted_mask),
    ],
)
def test_a_fault_lacks_the_property(holds: Callable[[Attention], None], fault: Attention) -> None:
    with pytest.raises(AssertionError):
        holds(fault)


# --- the corners -----------------------------------------------------------------------------------------------------

Q, K, V, BIAS, MASK = draw(3, 4, 6)


def test_a_constant_per_query_is_not_seen() -> None:
    per_query = np.array([5.0, -3.0, 0.0, 700.0])[:, None]
    np.testing.assert_allclose(
        posref.attention(Q, K, V, bias=BIAS + per_query), posref.attention(Q, K, V, bias=BIAS), atol=2e-12
    )  # a logit beside 700 is rounded to 512 * 2**-53 = 6e-14, a weight by twice that, 7 values below 3 by 1.2e-12 in all
    assert (
        np.abs(posref.attention(Q, K, V, bias=BIAS + np.arange(6)) - posref.attention(Q, K, V, bias=BIAS)).max() > 0.1
    )


def test_a_row_that_looks_nowhere_is_zero() -> None:
    mask = MASK.copy()
    mask[:, 2] = False
    y = posref.attention(Q, K, V, mask=mask)
    assert not y[:, 2].any()
    assert np.array_equal(np.delete(y, 2, axis=1), np.delete(posref.attention(Q, K, V, mask=MASK), 2, axis=1))


@pytest.mark.parametrize("size", [1e3, -1e3, 1e300])
def test_large_logits_neither_overflow_nor_vanish(size: float) -> None:
    bias = np.array([0.0, size])
    y = posref.attention([[0.0]], [[0.0], [0.0]], [[1.0], [2.0]], bias=bias)
    assert y.tolist() == [[2.0 if size > 0 else 1.0]]


def test_an_infinite_negative_bias_is_a_mask() -> None:
    masked = posref.attention(Q, K, V, bias=BIAS, mask=MASK)
    assert np.array_equal(posref.attention(Q, K, V, bias=np.where(MASK, BIAS, -np.inf)), masked)
    assert not posref.attention(Q, K, V, bias=np.full(6, -np.inf)).any()


def test_scale() -> None:
    assert np.array_equal(posref.attention(Q, K, V, scale=1 / math.sqrt(5)), posref.attention(Q, K, V))
    np.testing.assert_allclose(
        posref.attention(Q, K, V, scale=2.0), posref.attention(2 * Q, K, V, scale=1.0), atol=ROUNDING
    )
    mean = np.broadcast_to(V.mean(axis=-2, keepdims=True), (2, 4, 3))
    np.testing.assert_allclose(posref.attention(Q, K, V, scale=0.0), mean, atol=ROUNDING)


def test_leading_axes_broadcast() -> None:
    """One key head for two query heads, a bias for all batches, a mask for all heads."""
    q, k, v = Q[None], K[:1], V[:1]
    assert np.array_equal(posref.attention(q, k, v)[0, 1], posref.attention(Q[1], K[0], V[0]))
    wide = posref.attention(np.stack([Q, Q[::-1]]), K, V, bias=BIAS[0], mask=MASK[1])
    assert wide.shape == (2, 2, 4, 3)
    assert np.array_equal(wide[1, 0], posref.attention(Q[1], K[0], V[0], bias=BIAS[0], mask=MASK[1]))
    assert posref.attention(Q[0], K[0], V).shape == (2, 4, 3)  # v has an axis that q and k lack


@pytest.mark.parametrize(("queries", "keys", "width"), [(0, 6, 3), (4, 0, 3), (0, 0, 3), (4, 6, 0)])
def test_empty_axes(queries: int, keys: int, width: int) -> None:
    """No query: no row. No key: nowhere to look, zeros."""
    q, k, v = Q[:, :queries], K[:, :keys], V[:, :keys, :width]
    y = posref.attention(q, k, v, bias=BIAS[:, :queries, :keys], mask=MASK[:, :queries, :keys])
    assert y.shape == (2, queries, width)
    assert not y.any() or keys > 0
    assert posref.attention(Q[:0], K[:0], V[:0]).shape == (0, 4, 3)
