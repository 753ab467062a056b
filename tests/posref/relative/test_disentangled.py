"""DeBERTa: buckets that are monotone and end where they should, and the terms of the logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posref import deberta_bucket, disentangled_scores, relative_bias, relative_index

DRAW = np.random.default_rng(31)
Q, K = DRAW.normal(size=(2, 3, 4, 6)), DRAW.normal(size=(2, 3, 5, 6))
POS_K, POS_Q = DRAW.normal(size=(3, 8, 6)), DRAW.normal(size=(3, 8, 6))
AWAY = np.arange(4)[:, None] - np.arange(5)  # q - k
ROUNDING = 1e-13  # (d + 6) u of four sums of 6 products of numbers below 4


def are_buckets(bucket: Callable[..., Any]) -> None:
    @given(st.integers(2, 40), st.integers(2, 600))
    def check(num_buckets: int, more: int) -> None:
        middle = num_buckets // 2
        most = middle + more
        r = np.arange(-most - 50, most + 51)
        clamped, grown = (bucket(r, num_buckets=num_buckets, max_distance=most, beyond=b) for b in ("clamp", "grow"))
        for buckets in (clamped, grown):
            assert np.array_equal(buckets, -buckets[::-1])  # the other sign for the other direction
            assert (np.diff(buckets) >= 0).all()
            assert np.array_equal(buckets[abs(r) <= middle], r[abs(r) <= middle])
        last = 2 * middle - 1
        assert np.array_equal(clamped[abs(r) < most], grown[abs(r) < most])
        assert (np.abs(clamped[abs(r) >= most - 1]) == last).all()
        assert middle == 1 or (np.abs(grown[abs(r) >= most]) > last).all()

    check()


def test_buckets() -> None:
    are_buckets(deberta_bucket)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda r, **how: deberta_bucket(r, **how | {"beyond": "clamp"}),
        lambda r, **how: deberta_bucket(r, **how | {"max_distance": how["max_distance"] + 9}),
        lambda r, **how: np.abs(deberta_bucket(r, **how)),
        lambda r, **how: deberta_bucket(r + 1, **how),
    ],
)
def test_faults_of_buckets_are_noticed(wrong: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        are_buckets(wrong)


def test_beyond_the_last_distance_two_readings_end_in_different_rows() -> None:
    """D24: 512 keys into the future: Microsoft's clamped distance gives row 1, transformers' clamped row 0."""
    r = [-512, -511, 511, 512]
    clamped, grown = deberta_bucket(r), deberta_bucket(r, beyond="grow")
    assert clamped.tolist() == [-255, -255, 255, 255]
    assert grown.tolist() == [-256, -255, 255, 256]
    rows = [relative_index(b, 256, 255).tolist() for b in (clamped, grown)]
    assert rows == [[1, 1, 511, 511], [0, 1, 511, 511]]


def test_the_terms_are_three_products() -> None:
    rows = relative_index(AWAY, 4, 3)
    content = Q @ K.swapaxes(-1, -2)
    c2p = relative_bias(Q, POS_K, rows)
    p2c = np.einsum("bhkd,hqkd->bhqk", K, POS_Q[:, rows])
    got = disentangled_scores(Q, K, AWAY, pos_k=POS_K, pos_q=POS_Q)
    np.testing.assert_allclose(got, (content + c2p + p2c) / 18**0.5, rtol=0, atol=ROUNDING)
    one = disentangled_scores(Q, K, AWAY, pos_k=POS_K)
    np.testing.assert_allclose(one, (content + c2p) / 12**0.5, rtol=0, atol=ROUNDING)
    assert np.abs(one - got).max() > 0.1


def test_the_paper_reads_the_table_of_queries_from_the_other_side() -> None:
    """D23: eq. 4 has delta(j, i). On the diagonal and beyond the table's ends alone the two can agree."""
    code, paper = (disentangled_scores(Q, K, AWAY, pos_q=POS_Q, p2c=p2c, scale=1.0) for p2c in ("code", "paper"))
    rows = relative_index(-AWAY, 4, 3)
    expected = Q @ K.swapaxes(-1, -2) + np.einsum("bhkd,hqkd->bhqk", K, POS_Q[:, rows])
    np.testing.assert_allclose(paper, expected, rtol=0, atol=ROUNDING)
    assert np.array_equal(code[..., AWAY == 0], paper[..., AWAY == 0])
    assert (np.abs(code - paper)[..., AWAY != 0] > 1e-6).all()


def test_position_to_position_is_the_same_for_every_content() -> None:
    with_it = disentangled_scores(Q, K, AWAY, pos_k=POS_K, pos_q=POS_Q, p2p=True, scale=1.0)
    without = disentangled_scores(Q, K, AWAY, pos_k=POS_K, pos_q=POS_Q, scale=1.0)
    term = np.einsum("hqd,hqkd->hqk", POS_Q[:, 4:8], POS_K[:, relative_index(AWAY, 4, 3)])
    np.testing.assert_allclose(with_it - without, np.broadcast_to(term, without.shape), rtol=0, atol=ROUNDING)
    assert np.abs(term).min() > 1e-3


def test_empty_axes() -> None:
    for q, k in ((0, 5), (4, 0)):
        got = disentangled_scores(Q[..., :q, :], K[..., :k, :], AWAY[:q, :k], pos_k=POS_K, pos_q=POS_Q)
        assert got.shape == (2, 3, q, k)
