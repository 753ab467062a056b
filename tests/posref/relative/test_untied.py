"""TUPE: two terms that do not mix, and the class token's numbers in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posref import attention, reset_cls, t5_bias, untied_scores

DRAW = np.random.default_rng(67)
N, D = 6, 4
Q, K, V = DRAW.normal(size=(3, 2, 3, N, D))
P_Q, P_K = DRAW.normal(size=(2, 3, N, D))  # a projection for each head
FROM, TO = DRAW.normal(size=(2, 3))
ROUNDING = 1e-13  # (2 d + 4) u of sums of 8 products of numbers below 5: 12 * 1.2e-16 * 200 / sqrt(8)


def is_untied(scores: Callable[..., Any]) -> None:
    """With the order of the tokens changed, contents follow and positions stay; each term is bilinear, of its own side alone."""

    @given(st.permutations(range(N)), st.floats(-3, 3))
    def check(order: list[int], factor: float) -> None:
        both = scores(Q, K, pos_q=P_Q, pos_k=P_K)
        content, placed = scores(Q, K), scores(P_Q, P_K)
        moved = scores(Q[:, :, order], K[:, :, order], pos_q=P_Q, pos_k=P_K)
        np.testing.assert_allclose(both, content + placed, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(moved - placed, content[:, :, order][..., order], rtol=0, atol=2 * ROUNDING)
        larger = scores(Q, K, pos_q=factor * P_Q, pos_k=P_K)
        np.testing.assert_allclose(larger, content + factor * placed, rtol=0, atol=4 * ROUNDING)

    check()
    # d channels of ones, twice: 2 d / sqrt(2 d)
    ones = np.ones((1, D))
    assert scores(ones, ones, pos_q=ones, pos_k=ones)[0, 0] == pytest.approx((2 * D) ** 0.5, rel=1e-15)
    assert scores(ones, ones, pos_q=ones, pos_k=ones, scale=0.5)[0, 0] == D


def test_content_and_position_do_not_mix() -> None:
    is_untied(untied_scores)


def _tied(q: Any, k: Any, *, pos_q: Any = 0.0, pos_k: Any = 0.0, **how: Any) -> Any:
    return untied_scores(q + pos_q, k + pos_k, **how)


@pytest.mark.parametrize(
    "wrong",
    [
        _tied,
        lambda q, k, **how: untied_scores(q, k, **{"scale": D**-0.5, **how}),
        lambda q, k, pos_q=None, pos_k=None, **how: untied_scores(q, k, **how),
        lambda q, k, pos_q=None, pos_k=None, **how: untied_scores(q, k, pos_q=pos_k, pos_k=pos_q, **how),
        lambda q, k, **how: untied_scores(q, k, **{**how, "scale": None}),
    ],
)
def test_faults_are_noticed(wrong: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        is_untied(wrong)


def as_the_authors(numbers: Any, spare: Any, relative: Any) -> tuple[Any, Any]:
    """The biases as their code builds them: two rows of the table before those of the tokens make the class token's numbers.

    Both terms are reset, each with numbers of its own; given are projected rows (heads, N + 1, D).
    """
    (p_q, p_k), (from_cls, to_cls) = numbers, spare
    whole = np.einsum("hqd,hkd->hqk", p_q, p_k) / np.sqrt(2 * D)
    placed, apart = whole[:, 1:, 1:].copy(), relative.copy()
    placed[:, :, 0], placed[:, 0, :] = whole[:, 1, 1, None], whole[:, 0, 0, None]
    apart[:, :, 0], apart[:, 0, :] = to_cls[:, None], from_cls[:, None]
    return placed, apart


def test_tupe_as_its_authors_have_it() -> None:
    rows = DRAW.normal(size=(2, 3, N + 1, D))
    relative = t5_bias(DRAW.normal(size=(32, 3)), np.arange(N), np.arange(N))
    placed, apart = as_the_authors(rows, (FROM, TO), relative)
    content = np.einsum("bhqd,bhkd->bhqk", Q, K) / np.sqrt(2 * D)

    cls = np.einsum("hnd,hnd->hn", *rows[:, :, :2]) / np.sqrt(2 * D)  # of each spare row with itself
    bias = untied_scores(rows[0, :, 1:], rows[1, :, 1:])
    tupe_a = untied_scores(Q, K) + reset_cls(bias, cls[:, 0], cls[:, 1])
    np.testing.assert_allclose(tupe_a, content + placed, rtol=0, atol=ROUNDING)
    tupe_r = untied_scores(Q, K) + reset_cls(bias + relative, cls[:, 0] + FROM, cls[:, 1] + TO)
    np.testing.assert_allclose(tupe_r, content + placed + apart, rtol=0, atol=2 * ROUNDING)
    whole = untied_scores(Q, K, pos_q=rows[0, :, 1:], pos_k=rows[1, :, 1:])
    assert (
        np.abs(whole - tupe_a)[..., 0, :].max() > 0.1
    )  # the class token is not reset where the terms are added at once
    np.testing.assert_allclose(whole[..., 1:, 1:], tupe_a[..., 1:, 1:], rtol=0, atol=2 * ROUNDING)
    content_reset = reset_cls(whole, cls[:, 0], cls[:, 1])
    assert np.abs(content_reset - tupe_a)[..., 0, :].max() > 0.1  # and the content is never reset


def test_the_term_of_positions_is_a_bias_of_attention() -> None:
    scores = untied_scores(Q, K, pos_q=P_Q, pos_k=P_K)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    expected = weights / weights.sum(axis=-1, keepdims=True) @ V
    scale = (2 * D) ** -0.5
    np.testing.assert_allclose(
        attention(Q, K, V, bias=untied_scores(P_Q, P_K), scale=scale), expected, rtol=0, atol=10 * ROUNDING
    )
    assert np.abs(attention(Q, K, V, bias=untied_scores(P_Q, P_K)) - expected).max() > 0.01  # with 1/sqrt(d)


def test_empty_axes() -> None:
    assert untied_scores(Q[..., :0, :], K, pos_q=P_Q[:, :0], pos_k=P_K).shape == (2, 3, 0, N)
    assert untied_scores(Q, K[..., :0, :], pos_q=P_Q, pos_k=P_K[:, :0]).shape == (2, 3, N, 0)
