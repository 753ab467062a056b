"""Relative scores and values: against sums that are written out, and what makes them what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posref import attention, relative_bias, relative_index, relative_scores, relative_values

Floats = NDArray[np.float64]
DRAW = np.random.default_rng(29)
Q, K = DRAW.normal(size=(2, 3, 5, 4)), DRAW.normal(size=(2, 3, 7, 4))
TABLE, APART = DRAW.normal(size=(5, 4)), np.arange(7)[None] - np.arange(5)[:, None]
ROWS = relative_index(APART, 2, 2)
U_BIAS, V_BIAS = DRAW.normal(size=(3, 4)), DRAW.normal(size=(3, 4))
ROUNDING = 1e-13  # (d + 6) u of sums of at most 3 * 4 products of numbers below 4: 10 * 2^-53 * 200


def written_out(row: Callable[[Any, Any, Any], Any]) -> Floats:
    """A sum per pair, of the query, the key and the table's row."""
    return np.array(
        [
            [
                [[row(q[i], k[j], TABLE[ROWS[i, j]]) for j in range(7)] for i in range(5)]
                for q, k in zip(*heads, strict=True)
            ]
            for heads in zip(Q, K, strict=True)
        ]
    )


def test_terms_are_those_of_the_formula() -> None:
    shaw = written_out(lambda q, k, t: q @ (k + t) / 2)
    both = written_out(lambda q, k, t: (q @ k + q @ t + k @ t) / 2)
    np.testing.assert_allclose(relative_scores(Q, K, TABLE, ROWS), shaw, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(relative_scores(Q, K, TABLE, ROWS, key_term=True), both, rtol=0, atol=ROUNDING)
    assert np.abs(shaw - both).max() > 0.1  # and so each would be noticed in the other's place


def test_transformer_xl_has_a_bias_per_head_for_content_and_one_for_position() -> None:
    got = relative_scores(Q, K, TABLE, ROWS, content_bias=U_BIAS, position_bias=V_BIAS, scale=1.0)
    of_heads = [
        [[(q[i] + u) @ k[j] + (q[i] + v) @ TABLE[ROWS[i, j]] for j in range(7)] for i in range(5)]
        for q, k, u, v in zip(Q[1], K[1], U_BIAS, V_BIAS, strict=True)
    ]
    np.testing.assert_allclose(got[1], of_heads, rtol=0, atol=ROUNDING)
    swapped = relative_scores(Q, K, TABLE, ROWS, content_bias=V_BIAS, position_bias=U_BIAS, scale=1.0)
    assert np.abs(swapped - got).max() > 0.1


def test_values_are_a_look_up_per_pair() -> None:
    w = DRAW.random((2, 3, 5, 7))
    table = DRAW.normal(size=(3, 5, 6))
    expected = np.array([[sum(w[b, h, i, j] * table[h, ROWS[i, j]] for j in range(7)) for i in range(5)]
                         for b in range(2) for h in range(3)]).reshape(2, 3, 5, 6)  # fmt: skip
    np.testing.assert_allclose(relative_values(w, table, ROWS), expected, rtol=0, atol=ROUNDING)
    assert np.abs(relative_values(w, table, 4 - ROWS) - expected).max() > 0.1


def depends_on_the_difference_alone(scores: Callable[..., Any]) -> None:
    """One query and one key at all places: the score is that of their distance."""

    @given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-90, 90))
    def check(m: int, n: int, shift: int) -> None:
        def at(a: int, b: int) -> Any:
            return scores(Q[0, 0, :1], K[0, 0, :1], TABLE, relative_index([[b - a]], 2, 2), a)

        assert np.array_equal(at(m, n), at(m + shift, n + shift))

    check()


def test_only_the_difference_of_positions_counts() -> None:
    depends_on_the_difference_alone(lambda q, k, table, rows, m: relative_scores(q, k, table, rows))
    with pytest.raises(AssertionError):
        depends_on_the_difference_alone(lambda q, k, t, rows, m: relative_scores(q, k, t, rows) + (m > 7))


def test_no_row_is_a_score_of_0_and_no_value() -> None:
    some = relative_index(APART, 1, 2, outside="none")
    bias, w = relative_bias(Q, TABLE[:4], some), np.ones((2, 3, 5, 7))
    assert (bias[..., some < 0] == 0).all()
    assert (bias[..., some >= 0] != 0).all()
    longer = np.concatenate([TABLE[:4], np.zeros((1, 4))])  # the same with a row of zeros
    assert np.array_equal(bias, relative_bias(Q, longer, np.where(some < 0, 4, some)))
    expected = relative_values(w, longer, np.where(some < 0, 4, some))
    np.testing.assert_allclose(relative_values(w, TABLE[:4], some), expected, rtol=0, atol=ROUNDING)


def test_the_side_of_the_keys_is_that_of_the_queries_turned_over() -> None:
    of_keys = relative_bias(K, TABLE, ROWS, side="key")
    np.testing.assert_allclose(of_keys, relative_bias(K, TABLE, ROWS.T).swapaxes(-1, -2), rtol=0, atol=ROUNDING)
    square = relative_index(APART[:, :5], 2, 2)
    assert np.abs(relative_bias(Q, TABLE, square) - relative_bias(Q, TABLE, square, side="key")).max() > 0.1


def test_the_sum_scaled_and_the_terms_scaled_are_one_value_with_other_roundings() -> None:
    """D31, in bfloat16: BERT divides the sum, Wav2Vec2-BERT the terms."""
    import ml_dtypes

    def in_16_bits(value: Any) -> Any:
        return np.asarray(value).astype(ml_dtypes.bfloat16)

    q, k, table = (in_16_bits(x).astype(np.float64) for x in (Q, K, TABLE))
    content, position = q @ k.swapaxes(-1, -2), relative_bias(q, table, ROWS)
    s = 3**-0.5
    together = in_16_bits(in_16_bits(in_16_bits(content) + in_16_bits(position)) * in_16_bits(s)).astype(float)
    apart = in_16_bits(in_16_bits(content * s) + in_16_bits(position * s)).astype(float)
    exact = relative_scores(q, k, table, ROWS, scale=s)
    size = relative_scores(np.abs(q), np.abs(k), np.abs(table), ROWS, scale=s)
    assert np.abs(together - apart).max() > 0  # they differ,
    for got in (together, apart):  # and both are right: terms, sum, scale and product each within 2^-8
        assert (np.abs(got - exact) <= 4.1 * 2.0**-8 * size).all()


def test_a_batch_of_decode_steps_is_the_rows_of_the_prompt() -> None:
    """More keys than queries, each row of the batch at its own offset."""
    positions = np.array([[4], [2]])  # of the queries
    rows = relative_index(np.arange(7) - positions[..., None], 2, 2)[:, None]  # (batch, 1, 1, 7)
    q = np.stack([Q[0, :, 4:5], Q[1, :, 2:3]])
    prompt = relative_scores(Q, K, TABLE, ROWS)
    got = relative_scores(q, K, TABLE, rows)
    expected = np.stack([prompt[0, :, 4:5], prompt[1, :, 2:3]])
    np.testing.assert_allclose(got, expected, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(("q", "k"), [(0, 7), (5, 0), (0, 0)])
def test_empty_axes(q: int, k: int) -> None:
    rows = ROWS[:q, :k]
    assert relative_scores(Q[..., :q, :], K[..., :k, :], TABLE, rows, key_term=True).shape == (2, 3, q, k)
    assert relative_values(np.ones((2, 3, q, k)), TABLE, rows).shape == (2, 3, q, 4)
    assert not relative_values(np.ones((2, 3, q, 0)), TABLE, ROWS[:q, :0]).any()


def test_keys_and_values_together_are_attention_over_keys_and_values_of_each_pair() -> None:
    """Shaw's eq. 1 and 3 with both tables, against attention of one query at a time."""
    v, of_values = DRAW.normal(size=(2, 3, 7, 6)), DRAW.normal(size=(5, 6))
    scores = relative_scores(Q, K, TABLE, ROWS)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    got = weights @ v + relative_values(weights, of_values, ROWS)
    for i in range(5):
        alone = attention(Q[..., i : i + 1, :], K + TABLE[ROWS[i]], v + of_values[ROWS[i]])
        np.testing.assert_allclose(got[..., i : i + 1, :], alone, rtol=0, atol=ROUNDING)
    assert np.abs(weights @ v - got).max() > 0.1
