"""What depends on the content: counts, gates and reflections on the way from key to query, and biases that are changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posref import alibi_bias, attention, bias_gate, cope_scores, decomposed_bias, forget_bias, path_scores, reset_cls

Floats = NDArray[np.float64]
DRAW = np.random.default_rng(53)
N = 6
CAUSAL = np.tri(N, dtype=bool)
Q, K = DRAW.normal(size=(2, N, 4)), DRAW.normal(size=(2, N, 4))
W = DRAW.normal(size=(2, N, 4))
W /= np.linalg.norm(W, axis=-1, keepdims=True)
BETA, LOGS = DRAW.uniform(0, 2, (2, N)), -DRAW.random((2, N))
ROUNDING = 1e-12  # a hundred roundings of numbers below 100


# --- forget gates ----------------------------------------------------------------------------------------------------


def forgets(bias: Callable[..., Any]) -> None:
    """Products of the gates in between: they multiply along a path, and 1 is no gate at all."""

    @given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=9))
    def check(gates: list[float]) -> None:
        through = np.exp(bias(np.log(gates)))
        n = len(gates)
        for i in range(n):
            for j in range(i + 1):
                assert through[i, j] == pytest.approx(np.prod(gates[j + 1 : i + 1]), rel=1e-12)
        assert (np.diagonal(through) == 1).all()

    check()


def test_a_bias_of_forget_gates_is_their_product() -> None:
    forgets(forget_bias)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda logs: forget_bias(np.roll(logs, 1)),  # the gate of the key itself counts, and not the query's
        lambda logs: forget_bias(logs).T,
        lambda logs: 2 * forget_bias(logs),
    ],
)
def test_faults_of_forget_gates_are_noticed(wrong: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        forgets(wrong)


def test_a_gate_that_is_the_same_everywhere_is_alibi() -> None:
    places = np.arange(7)
    alibi = alibi_bias([0.25], places, places)[0]
    both = forget_bias(np.full(7, -0.25), backward=np.full(7, -0.25))
    assert np.array_equal(both, alibi)
    assert not np.array_equal(forget_bias(np.full(7, -0.25)), alibi)


def test_the_published_numbers() -> None:
    got = forget_bias(np.log([0.9, 0.8, 0.5]))
    expected = [[0, np.nan, np.nan], [-0.22314, 0, np.nan], [-0.91629, -0.69315, 0]]
    assert np.nanmax(np.abs(got - expected)) <= 5e-6


def test_fewer_queries_are_the_last_rows() -> None:
    backward = -DRAW.random((2, N))
    for n in (0, 1, 3, N):
        assert np.array_equal(forget_bias(LOGS, num_queries=n), forget_bias(LOGS)[:, N - n :])
        got = forget_bias(LOGS, backward=backward, num_queries=n)
        assert np.array_equal(got, forget_bias(LOGS, backward=backward)[:, N - n :])


def test_both_directions_are_one_turned_around() -> None:
    """x-transformers: tril of one difference and triu of the other; each the causal one in its own direction."""
    backward = -DRAW.random((2, N))
    both = forget_bias(LOGS, backward=backward)
    assert np.array_equal(both[:, CAUSAL], forget_bias(LOGS)[:, CAUSAL])
    # seen from the end, the gates of the tokens after the query up to the key
    turned = forget_bias(np.flip(np.roll(backward, -1, axis=-1), -1))[:, ::-1, ::-1]
    future = ~CAUSAL
    np.testing.assert_allclose(both[:, future], turned[:, future], rtol=0, atol=ROUNDING)


def test_long_sums_are_exact_where_prefix_sums_in_float64_are_not() -> None:
    logs = np.concatenate([[-1e16], np.full(20, -0.1)])
    exact, plain = forget_bias(logs)[-1], np.cumsum(logs)[-1] - np.cumsum(logs)
    assert exact[1] == pytest.approx(-1.9, rel=1e-15)
    assert abs(plain[1] + 1.9) > 0.05


# --- contextual positions --------------------------------------------------------------------------------------------


def counts(scores: Callable[..., Any]) -> None:
    """With gates of exactly 1 and 0, positions are counts of the keys that are seen, and the row is that of the count."""
    table = DRAW.normal(size=(9, 4))
    q = np.full((N, 4), 100.0)  # s q k is 800 or -800: gates of 1, and of 0 to the last bit
    marked = np.array([1, 0, 1, 1, 0, 1])
    k = np.where(marked, 4.0, -4.0)[:, None] * np.ones(4)
    got = scores(q, k, table, mask=CAUSAL, scale=0.5, scale_positions=False)
    for i in range(N):
        for j in range(i + 1):
            count = marked[j : i + 1].sum()
            assert got[i, j] == pytest.approx(0.5 * q[i] @ k[j] + q[i] @ table[count], rel=1e-12)


def test_positions_are_counts_where_gates_are_whole() -> None:
    counts(cope_scores)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda q, k, table, mask, **how: cope_scores(q, k, table, **how),
        lambda q, k, table, **how: cope_scores(q, k, table[1:], **how),
        lambda q, k, table, **how: cope_scores(q, k, table[:3], **how),
        lambda q, k, table, **how: cope_scores(q, k, table, **how | {"scale_positions": True}),
    ],
)
def test_faults_of_counts_are_noticed(wrong: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        counts(wrong)


def test_the_worked_example_of_positions() -> None:
    """Logits [[0], [1, 0], [2, -1, 0]]: positions are read off a table that holds the position itself."""
    q, k = np.eye(3), np.array([[0, 1, 2], [0, 0, -1], [0, 0, 0.0]])  # q_i k_j is the logit
    table = np.outer(np.arange(9.0), np.ones(3))  # z_i(p) = p
    got = cope_scores(q, k, table, mask=np.tri(3, dtype=bool), scale=1.0) - q @ k.T
    expected = [[0.5, np.nan, np.nan], [1.23106, 0.5, np.nan], [1.64974, 0.76894, 0.5]]
    assert np.nanmax(np.abs(got - expected)) <= 5e-6


def test_readings_of_cope_differ() -> None:
    """D28: positions scaled or not; the number of rows; gates of masked keys."""
    table = DRAW.normal(size=(9, 4))
    q, k = Q, K
    ours = cope_scores(q, k, table, mask=CAUSAL)
    for other in (
        cope_scores(q, k, table, mask=CAUSAL, scale_positions=False),
        cope_scores(q, k, table[:2], mask=CAUSAL),
        cope_scores(q, k, table),
    ):
        assert np.abs(ours - other)[:, CAUSAL].max() > 0.1
    plain = cope_scores(q, k, table, mask=CAUSAL, scale_positions=False)
    content = q @ k.swapaxes(-1, -2) / 2
    np.testing.assert_allclose(ours - content, (plain - content) / 2, rtol=0, atol=ROUNDING)


# --- PaTH ------------------------------------------------------------------------------------------------------------


def transports(scores: Callable[..., Any]) -> None:
    got = scores(Q, K, W, BETA, scale=1.0)
    for b in range(2):
        for i in range(N):
            for j in range(i + 1):
                key = K[b, j]
                for t in range(j + 1, i + 1):
                    key = (np.eye(4) - BETA[b, t] * np.outer(W[b, t], W[b, t])) @ key
                assert got[b, i, j] == pytest.approx(Q[b, i] @ key, rel=1e-9, abs=1e-12)
    assert not got[:, ~CAUSAL].any()


def test_path_is_a_product_of_matrices() -> None:
    transports(path_scores)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda q, k, w, beta, **how: path_scores(q, k, w, np.roll(beta, 1, axis=-1), **how),
        lambda q, k, w, beta, **how: path_scores(q, k, w, -beta, **how),
        lambda q, k, w, beta, **how: path_scores(q, k, w * 1.001, beta, **how),
        lambda q, k, w, beta, **how: q @ k.swapaxes(-1, -2) * CAUSAL,
    ],
)
def test_faults_of_path_are_noticed(wrong: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        transports(wrong)


def test_path_without_strength_is_plain_attention_and_a_reflection_keeps_length() -> None:
    scores = path_scores(Q, K, W, np.zeros((2, N)))
    v = DRAW.normal(size=(2, N, 3))
    plain = attention(Q, K, v, mask=CAUSAL)
    weights = np.where(CAUSAL, np.exp(scores - scores.max(axis=-1, keepdims=True)), 0.0)
    np.testing.assert_allclose(weights / weights.sum(axis=-1, keepdims=True) @ v, plain, rtol=0, atol=ROUNDING)
    # with beta 2 every step is a reflection: the scores of all unit queries with a key have its length
    seen = np.stack([path_scores(np.tile(e, (N, 1)), K[0], W[0], np.full(N, 2.0), scale=1.0) for e in np.eye(4)])
    lengths = np.linalg.norm(K[0], axis=-1)
    np.testing.assert_allclose(
        np.linalg.norm(seen, axis=0)[CAUSAL], np.broadcast_to(lengths, (N, N))[CAUSAL], rtol=1e-12
    )


def test_the_gate_of_path_is_scaled_or_not() -> None:
    """D29: fla's plain reference of PaTH scales it, that of the Forgetting Transformer does not."""
    plain = path_scores(Q, K, W, BETA, log_forget=LOGS)
    scaled = path_scores(Q, K, W, BETA, log_forget=LOGS, gate="scaled")
    product, gate = path_scores(Q, K, W, BETA), forget_bias(LOGS)
    np.testing.assert_allclose(plain[:, CAUSAL], (product + gate)[:, CAUSAL], rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(scaled[:, CAUSAL], (product + gate / 2)[:, CAUSAL], rtol=0, atol=ROUNDING)
    assert np.abs(plain - scaled).max() > 0.1


# --- biases that are changed -----------------------------------------------------------------------------------------


def test_the_gate_of_wavlm() -> None:
    assert (bias_gate(np.zeros((3, 2, 8)), np.ones(3)) == 1.75).all()
    p, c = DRAW.normal(size=(2, 3, 5, 8)), DRAW.normal(size=3)
    update, reset = (1 / (1 + np.exp(-part.sum(axis=-1))) for part in (p[..., :4], p[..., 4:]))
    paper = 1 + (1 - update) + update * reset * c[:, None]  # d + g_u d + (1 - g_u) g_r c d, with g_u = 1 - update
    np.testing.assert_allclose(bias_gate(p, c), paper, rtol=0, atol=ROUNDING)
    assert np.abs(bias_gate(p[..., ::-1], c) - paper).max() > 0.1  # the other four for each gate
    ordered = p.reshape(2, 3, 5, 4, 2).swapaxes(-1, -2).reshape(p.shape)
    assert np.abs(bias_gate(ordered, c) - paper).max() > 0.01  # every other one


def test_a_strong_gate_has_its_limits() -> None:
    large = np.full((1, 1, 8), 1e4)
    assert bias_gate(large, [0.5])[0, 0] == 1.5
    assert bias_gate(-large, [0.5])[0, 0] == 2.0


def test_the_class_token_has_numbers_of_its_own() -> None:
    """D32: the paper resets the sum, the code each term: equal where the numbers are the sums, and only there."""
    absolute, relative = DRAW.normal(size=(2, 3, 5, 5)), DRAW.normal(size=(3, 5, 5))
    a, b, c, d = DRAW.normal(size=(4, 3))
    paper = reset_cls(absolute + relative, a + c, b + d)
    code = reset_cls(absolute, a, b) + reset_cls(relative, c, d)
    assert np.array_equal(paper[..., 1:, 1:], code[..., 1:, 1:])
    np.testing.assert_allclose(paper, code, rtol=0, atol=ROUNDING)
    one_alone = reset_cls(absolute, a + c, b + d) + relative
    assert np.abs(one_alone - paper)[..., 0, :].max() > 0.1
    assert (paper[..., 0, :] == (a + c)[:, None]).all()  # the corner is the class token's own
    assert (paper[..., 1:, 0] == (b + d)[:, None]).all()


def tupe(q: Any, k: Any, pos_q: Any, pos_k: Any, v: Any, bias: Any, d: int) -> Any:
    """Weights and values by eq. 6 and 7 of TUPE, term by term."""
    logits = (np.einsum("hid,hjd->hij", q, k) + np.einsum("hid,hjd->hij", pos_q, pos_k)) / np.sqrt(2 * d) + bias
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v


def test_untied_positions_stand_beside_the_content() -> None:
    """TUPE-A and TUPE-R: attention of both side by side has the scale 1 / sqrt(2 d) by itself."""
    q, k, pos_q, pos_k, v = DRAW.normal(size=(5, 3, 7, 4))
    relative = DRAW.normal(size=(3, 7, 7))
    both = np.concatenate([q, pos_q], axis=-1), np.concatenate([k, pos_k], axis=-1)
    for bias in (np.zeros((3, 7, 7)), relative):
        expected = tupe(q, k, pos_q, pos_k, v, bias, 4)
        np.testing.assert_allclose(attention(*both, v, bias=bias), expected, rtol=0, atol=ROUNDING)
        assert np.abs(attention(*both, v, bias=bias, scale=0.5) - expected).max() > 0.01  # 1 / sqrt(d)
        tied = np.concatenate([k, q], axis=-1)
        assert np.abs(attention(both[0], tied, v, bias=bias) - expected).max() > 0.01


def decomposes(bias: Callable[..., Any]) -> None:
    @given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.booleans())
    def check(height: int, width: int, times: int, of_queries: bool) -> None:
        fine, coarse = (height * times, width), (height, width)
        q_size, k_size = (fine, coarse) if of_queries else (coarse, fine)
        tall, wide = 2 * fine[0] - 1, 2 * width - 1
        q = DRAW.normal(size=(2, q_size[0] * q_size[1], 3))
        h, w = DRAW.normal(size=(tall, 3)), DRAW.normal(size=(wide, 3))
        got = bias(q, h, w, q_size, k_size).reshape(2, *q_size, *k_size)
        step_q, step_k = (1, times) if of_queries else (times, 1)
        for y, x, v, u in np.ndindex(*q_size, *k_size):
            rows = y * step_q - v * step_k + (k_size[0] - 1) * step_k, x - u + width - 1
            expected = q[:, y * width + x] @ (h[rows[0]] + w[rows[1]])
            assert got[:, y, x, v, u] == pytest.approx(expected, rel=1e-9, abs=1e-12)

    check()


def test_decomposed_positions() -> None:
    decomposes(decomposed_bias)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda q, h, w, q_size, k_size: decomposed_bias(q, h[::-1], w, q_size, k_size),
        lambda q, h, w, q_size, k_size: decomposed_bias(q / 2, h, w, q_size, k_size),  # the scaled query
        lambda q, h, w, q_size, k_size: decomposed_bias(q, h, 0 * w, q_size, k_size),
    ],
)
def test_faults_of_decomposed_positions_are_noticed(wrong: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        decomposes(wrong)


def test_empty_axes() -> None:
    assert forget_bias(np.zeros((3, 0))).shape == (3, 0, 0)
    assert cope_scores(Q[:, :0], K, np.ones((2, 4))).shape == (2, 0, N)
    assert cope_scores(Q, K[:, :0], np.ones((2, 4))).shape == (2, N, 0)
    assert path_scores(Q[:, :0], K[:, :0], W[:, :0], BETA[:, :0], log_forget=LOGS[:, :0]).shape == (2, 0, 0)
    assert bias_gate(np.zeros((3, 0, 8)), np.ones(3)).shape == (3, 0)
    assert reset_cls(np.zeros((3, 0, 4)), np.ones(3), np.ones(3)).shape == (3, 0, 4)
    assert decomposed_bias(np.zeros((0, 4, 3)), np.ones((3, 3)), np.ones((3, 3)), (2, 2), (2, 2)).shape == (0, 4, 4)
