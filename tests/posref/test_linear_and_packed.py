"""Linear attention with RoFormer's rotation, and positions of packed sequences."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref
from posref import cu_seqlens_positions, linear_attention, rope_inv_freq

Floats = NDArray[np.float64]
DRAW = np.random.default_rng(9)
Q, K, V = (DRAW.standard_normal((2, n, c)) for n, c in ((4, 8), (6, 8), (6, 3)))
W = rope_inv_freq(6)
ROUNDING = 1e-13  # sums of some ten products of numbers of some 1, over a normaliser above 1

# --- linear attention ------------------------------------------------------------------------------------------------


def features(x: Floats) -> Floats:
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def by_hand(q_positions: Any, k_positions: Any, *, turned_below: bool = False) -> Floats:
    """Term by term, with posref's scores for the rotation; a fault is to turn the normaliser as well."""
    q, k = features(Q), features(K)
    distance = np.subtract.outer(q_positions, k_positions)
    weights, plain = posref.rope_scores(q, k, distance, W), q @ k.swapaxes(-1, -2)
    return np.asarray((weights @ V) / (weights if turned_below else plain).sum(axis=-1, keepdims=True))


def rotated(q_positions: Any, k_positions: Any) -> Floats:
    return linear_attention(Q, K, V, q_positions=q_positions, k_positions=k_positions, inv_freq=W)


def test_the_numerator_alone_is_rotated() -> None:
    q, k = np.array([3, 9, 1, 40]), np.arange(6)
    np.testing.assert_allclose(rotated(q, k), by_hand(q, k), rtol=0, atol=ROUNDING)
    assert np.abs(rotated(q, k) - by_hand(q, k, turned_below=True)).max() > 1e-3


@given(shift=st.integers(-4000, 4000))
def test_only_differences_of_positions_count(shift: int) -> None:
    q, k = np.array([3, 9, 1, 40]), np.arange(6)
    np.testing.assert_allclose(rotated(q + shift, k + shift), rotated(q, k), rtol=0, atol=ROUNDING)
    if shift:
        assert np.abs(rotated(q + shift, k) - rotated(q, k)).max() > 1e-6


def test_without_a_rotation_it_is_an_average() -> None:
    plain = linear_attention(Q, K, V)
    assert (plain <= V.max(axis=-2, keepdims=True)).all()
    assert (plain >= V.min(axis=-2, keepdims=True)).all()
    np.testing.assert_allclose(rotated(np.zeros(4), np.zeros(6)), plain, rtol=0, atol=ROUNDING)
    ones = np.ones_like(V)
    np.testing.assert_allclose(linear_attention(Q, K, ones), 1, rtol=0, atol=ROUNDING)
    turned = linear_attention(Q, K, ones, q_positions=np.arange(4), k_positions=np.arange(6), inv_freq=W)
    assert np.abs(turned - 1).max() > 0.1  # rotated weights do not sum to 1


def test_the_sum_can_be_kept_while_keys_come() -> None:
    """Why it is linear: a causal row is a state of the keys so far, whatever their number."""
    q, k = features(Q[0]), features(K[0][:4])
    cos, sin = posref.rope_cos_sin(np.arange(4), W)
    turned_q, turned_k = posref.rope_apply(q, cos, sin), posref.rope_apply(k, cos, sin)
    state, norm, rows = np.zeros((8, 3)), np.zeros(8), []
    for t in range(4):
        state += np.outer(turned_k[t], V[0, t])
        norm += k[t]
        rows.append(turned_q[t] @ state / (q[t] @ norm))
    here = np.arange(4)
    causal = linear_attention(
        Q[0], K[0][:4], V[0][:4], q_positions=here, k_positions=here, inv_freq=W, mask=np.tri(4, dtype=bool)
    )
    np.testing.assert_allclose(causal, rows, rtol=0, atol=ROUNDING)


def test_features_may_be_given_and_rows_may_be_empty() -> None:
    given = linear_attention(features(Q), features(K), V, feature="identity")
    assert np.array_equal(given, linear_attention(Q, K, V))
    mask = np.ones((4, 6), bool)
    mask[2] = False
    masked = linear_attention(Q, K, V, mask=mask)
    assert not masked[:, 2].any()
    assert np.array_equal(masked[:, [0, 1, 3]], linear_attention(Q, K, V)[:, [0, 1, 3]])
    assert not linear_attention(Q, K[:, :0], V[:, :0]).any()


# --- packed sequences ------------------------------------------------------------------------------------------------


@given(lengths=st.lists(st.integers(0, 9), max_size=8))
def each_sequence_counts_from_zero(positions: Any, lengths: list[int]) -> None:
    ends = np.cumsum([0, *lengths])
    found = positions(ends)
    assert found.dtype == np.int64
    assert found.tolist() == [t for n in lengths for t in range(n)]


def test_packed() -> None:
    each_sequence_counts_from_zero(cu_seqlens_positions)


@pytest.mark.parametrize(
    "fault",
    [
        lambda ends: np.arange(ends[-1]),  # on and on
        lambda ends: cu_seqlens_positions(np.unique(ends)) + 1,
        lambda ends: np.arange(ends[-1]) % max(1, ends[-1] // max(1, len(ends) - 1)),  # all of one length
        lambda ends: cu_seqlens_positions(ends).astype(np.int32),
    ],
)
def test_packed_faults(fault: Any) -> None:
    with pytest.raises(AssertionError):
        each_sequence_counts_from_zero(fault)


def skips_positions(positions: Any) -> None:
    """PoSE (2309.10400), sec. 3.2: chunk i of one text gets u_i added to the positions that it has in the text."""
    ends, skips = np.array([0, 4, 6, 13]), np.array([0, 9, 70])
    found = positions(ends, starts=ends[:-1] + skips)
    assert found.tolist() == [0, 1, 2, 3, 13, 14, *range(76, 83)]
    assert positions(ends, starts=ends[:-1]).tolist() == list(range(13))


def test_pose() -> None:
    skips_positions(cu_seqlens_positions)


@pytest.mark.parametrize(
    "fault",
    [
        lambda ends, starts: cu_seqlens_positions(ends),
        lambda ends, starts: cu_seqlens_positions(ends, starts=starts - ends[:-1]),  # the skips alone
        lambda ends, starts: cu_seqlens_positions(ends, starts=np.cumsum(starts)),
    ],
)
def test_pose_faults(fault: Any) -> None:
    with pytest.raises(AssertionError):
        skips_positions(fault)


def test_packed_is_as_each_sequence_by_itself() -> None:
    x, ends = DRAW.standard_normal((11, 8)), [0, 3, 4, 11]
    packed = posref.rope(x, cu_seqlens_positions(ends))
    alone = [posref.rope(x[a:b], np.arange(b - a)) for a, b in itertools.pairwise(ends)]
    assert np.array_equal(packed, np.concatenate(alone))


@pytest.mark.peers
def test_transformers_finds_the_lengths_again() -> None:
    torch = pytest.importorskip("torch")
    utils = pytest.importorskip("transformers.modeling_flash_attention_utils", reason="needs the peers extra")
    ends = [0, 3, 4, 11]
    (found, _), _ = utils.prepare_fa_kwargs_from_position_ids(torch.tensor(cu_seqlens_positions(ends))[None])
    assert found.tolist() == ends
