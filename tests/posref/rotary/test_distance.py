"""Remapped distances and scores at given ones: what they promise, and that it is what two or three rotations make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posref import (
    dual_chunk_distance,
    rerope_distance,
    rope_apply,
    rope_cos_sin,
    rope_inv_freq,
    rope_scores,
    self_extend_distance,
)

Floats = NDArray[np.float64]
Map = Callable[..., Floats]

tokens = st.lists(st.integers(0, 5000), min_size=1, max_size=6)
DRAW = np.random.default_rng(5)


def differences(q: Any, k: Any) -> NDArray[np.int64]:
    result: NDArray[np.int64] = np.asarray(q)[:, None] - np.asarray(k)
    return result


# --- ReRoPE ----------------------------------------------------------------------------------------------------------


@given(q=tokens, k=tokens, window=st.integers(1, 600), factor=st.one_of(st.none(), st.integers(1, 64)))
def goes_on_slowly_from_the_window(distance: Map, q: list[int], k: list[int], window: int, factor: int | None) -> None:
    d, found = differences(q, k), distance(q, k, window=window, factor=factor)
    near = d < window
    assert np.array_equal(found[near], d[near])
    far = (d - window)[~near] / factor if factor else np.zeros(np.count_nonzero(~near))
    np.testing.assert_allclose(found[~near], window + far, rtol=4e-16)


def test_rerope() -> None:
    goes_on_slowly_from_the_window(rerope_distance)


@pytest.mark.parametrize(
    "fault",
    [
        lambda q, k, window, factor: differences(q, k).astype(float),
        lambda q, k, window, factor: rerope_distance(q, k, window=window),  # not leaky
        lambda q, k, window, factor: rerope_distance(q, k, window=window + 1, factor=factor),
        lambda q, k, window, factor: np.minimum(differences(q, k), window - 1.0),
        lambda q, k, window, factor: np.where(
            differences(q, k) < window, differences(q, k), differences(q, k) / (factor or 1e9)
        ),  # without the offset that makes it meet the window
    ],
)
def test_rerope_faults(fault: Map) -> None:
    with pytest.raises(AssertionError):
        goes_on_slowly_from_the_window(fault)


# --- Self-Extend -----------------------------------------------------------------------------------------------------


@given(q=tokens, k=tokens, group=st.integers(1, 40), windows=st.integers(1, 50))
def groups_meet_the_window(distance: Map, q: list[int], k: list[int], group: int, windows: int) -> None:
    """A window of whole groups: distances are whole, at most G - 1 groups' rounding beyond window + d / G, never below it."""
    window = group * windows
    d, found = differences(q, k), distance(q, k, group_size=group, window=window)
    near = d < window
    assert np.array_equal(found[near], d[near])
    ideal = window + (d - window)[~near] / group  # Self-Extend's is that of leaky ReRoPE, by whole groups
    assert (np.abs(found[~near] - ideal) < 1).all()
    assert np.array_equal(found, np.rint(found))
    assert np.array_equal(distance(q, k, group_size=1, window=window), d)  # groups of one are no groups


def test_self_extend() -> None:
    groups_meet_the_window(self_extend_distance)


@pytest.mark.parametrize(
    "fault",
    [
        lambda q, k, group_size, window: differences(q, k) // group_size,
        lambda q, k, group_size, window: np.where(  # the shift forgotten
            differences(q, k) < window,
            differences(q, k),
            differences(np.array(q) // group_size, np.array(k) // group_size),
        ),
        lambda q, k, group_size, window: self_extend_distance(q, k, group_size=group_size, window=window + 1),
        lambda q, k, group_size, window: rerope_distance(q, k, window=window, factor=group_size),
    ],
)
def test_self_extend_faults(fault: Map) -> None:
    with pytest.raises(AssertionError):
        groups_meet_the_window(fault)


def test_the_two_readings_of_a_window_that_is_no_whole_number_of_groups() -> None:
    """D26: W / G as in the code for a prompt, or rounded down as in the paper and in the code for decoding."""
    at: dict[str, Any] = {"group_size": 3, "window": 8}
    assert self_extend_distance([20], [3], **at)[0, 0] == pytest.approx(31 / 3, rel=1e-15)  # 6 + 8 - 8/3 - 1
    assert self_extend_distance([20], [3], **at, shift="floor")[0, 0] == 11  # 6 + 8 - 2 - 1


# --- dual chunk attention --------------------------------------------------------------------------------------------


@given(q=tokens, k=tokens, chunk=st.integers(2, 900), data=st.data())
def no_distance_is_longer_than_a_chunk(distance: Map, q: list[int], k: list[int], chunk: int, data: Any) -> None:
    local = data.draw(st.integers(0, chunk - 1))
    d, found = differences(q, k), distance(q, k, chunk_size=chunk, local_size=local)
    seen = d >= 0
    assert (found[seen] <= chunk).all()
    assert (found[seen] >= np.minimum(d[seen], min(chunk - local, local + 1))).all()  # what is far does not look near
    near = seen & (d <= min(local, chunk - local))
    assert np.array_equal(found[near], d[near])
    same_chunk = seen & (np.array(q)[:, None] // (chunk - local) == np.array(k) // (chunk - local))
    assert np.array_equal(found[same_chunk], d[same_chunk])
    shift = (chunk - local) * 3  # by whole chunks
    assert np.array_equal(distance(np.array(q) + shift, np.array(k) + shift, chunk_size=chunk, local_size=local), found)


def test_dual_chunk() -> None:
    no_distance_is_longer_than_a_chunk(dual_chunk_distance)


@pytest.mark.parametrize(
    "fault",
    [
        lambda q, k, chunk_size, local_size: differences(q, k).astype(float),
        lambda q, k, **sizes: dual_chunk_distance(q, k, **sizes, critical=True),
        lambda q, k, chunk_size, local_size: differences(q, k) % (chunk_size - local_size),  # queries like keys
        lambda q, k, chunk_size, local_size: dual_chunk_distance(q, k, chunk_size=chunk_size, local_size=0),
    ],
)
def test_dual_chunk_faults(fault: Map) -> None:
    with pytest.raises(AssertionError):
        no_distance_is_longer_than_a_chunk(fault)


def test_published_distances() -> None:
    assert rerope_distance([20], [0], window=8, factor=4)[0, 0] == 11
    assert self_extend_distance([20], [3], group_size=4, window=8)[0, 0] == 11
    pairs = {(13, 5): 3, (7, 5): 2, (20, 1): 7}
    found = {(m, n): dual_chunk_distance([m], [n], chunk_size=8, local_size=2)[0, 0] for m, n in pairs}
    assert found == pairs


@pytest.mark.parametrize(
    "distance",
    [
        lambda q, k: rerope_distance(q, k, window=4, factor=2),
        lambda q, k: self_extend_distance(q, k, group_size=3, window=4),
        lambda q, k: dual_chunk_distance(q, k, chunk_size=8, local_size=3),
    ],
)
def test_leading_axes_are_batch_axes(distance: Map) -> None:
    q, k = DRAW.integers(0, 99, (2, 3)), DRAW.integers(0, 99, (2, 5))
    found = distance(q, k)
    assert found.shape == (2, 3, 5)
    assert np.array_equal(found, np.stack([distance(*rows) for rows in zip(q, k, strict=True)]))
    assert np.array_equal(distance(q, k[0]), np.stack([distance(row, k[0]) for row in q]))


# --- scores ----------------------------------------------------------------------------------------------------------

W = rope_inv_freq(8)
Q, K = DRAW.standard_normal((2, 4, 11)), DRAW.standard_normal((2, 6, 11))
# a score is a sum of 11 products, cos and sin of angles; rotated vectors have roundings of their own
ROUNDING = 40 * 2.0**-53 * 2 * float((np.abs(Q) @ np.abs(K).swapaxes(-1, -2)).max())


def rotated(q_positions: Any, k_positions: Any, layout: str = "half") -> Floats:
    """Plain rotary attention: each side rotated by its own position."""
    q, k = (rope_apply(x, *rope_cos_sin(p, W), layout=layout) for x, p in ((Q, q_positions), (K, k_positions)))
    return np.asarray(q @ k.swapaxes(-1, -2))


@given(
    q=st.lists(st.integers(-900, 900), min_size=4, max_size=4),
    k=st.lists(st.integers(-900, 900), min_size=6, max_size=6),
)
def is_rotary_attention_at_plain_distances(scores: Callable[..., Floats], q: list[int], k: list[int]) -> None:
    for layout in ("half", "interleaved"):
        found = scores(Q, K, differences(q, k), W, layout=layout)
        np.testing.assert_allclose(found, rotated(q, k, layout), rtol=0, atol=ROUNDING)


def test_scores() -> None:
    is_rotary_attention_at_plain_distances(rope_scores)


@pytest.mark.parametrize(
    "fault",
    [
        lambda q, k, d, w, layout: rope_scores(q, k, -d, w, layout=layout),
        lambda q, k, d, w, layout: rope_scores(q, k, d, w),
        lambda q, k, d, w, layout: rope_scores(q, k, d, w[:-1], layout=layout),
        lambda q, k, d, w, layout: rope_scores(q[..., :8], k[..., :8], d, w, layout=layout),  # the rest forgotten
        lambda q, k, d, w, layout: rope_scores(q, k, d + 1e-9, w, layout=layout),
    ],
)
def test_scores_faults(fault: Callable[..., Floats]) -> None:
    with pytest.raises(AssertionError):
        is_rotary_attention_at_plain_distances(fault)


def test_rerope_is_a_second_rotation_of_the_queries() -> None:
    """As its code has it: near keys by their own position, the others with queries at the window and keys at 0."""
    q, k, window = np.array([9, 3, 40, 17]), np.array([0, 5, 8, 9, 16, 33]), 8
    near = np.abs(differences(q, k)) < window
    two = np.where(near, rotated(q, k), rotated(0 * q + window, 0 * k))
    causal = differences(q, k) >= 0
    found = rope_scores(Q, K, rerope_distance(q, k, window=window), W)
    np.testing.assert_allclose(found[:, causal], two[:, causal], rtol=0, atol=ROUNDING)


def test_dual_chunk_attention_is_three_rotations_of_the_queries() -> None:
    """As vLLM has it: keys by k mod l, queries by three tables, each for its part of the keys."""
    q, k, chunk, local = np.array([9, 3, 40, 17]), np.array([0, 5, 8, 9, 16, 33]), 8, 2
    size = chunk - local
    keys = k % size
    intra, succ = rotated(q % size, keys), rotated(np.minimum(q % size + size, chunk), keys)
    inter = rotated(0 * q + min(2 * size - 1, chunk), keys)
    back = q[:, None] // size - k // size
    three = np.where(back == 0, intra, np.where(back == 1, succ, inter))
    causal = differences(q, k) >= 0
    found = rope_scores(Q, K, dual_chunk_distance(q, k, chunk_size=chunk, local_size=local), W)
    np.testing.assert_allclose(found[:, causal], three[:, causal], rtol=0, atol=ROUNDING)


def test_distances_broadcast_over_heads() -> None:
    d = differences(np.arange(4), np.arange(6))
    assert np.array_equal(rope_scores(Q, K, d, W), rope_scores(Q, K, np.stack([d, d]), W))
    one = rope_scores(Q, K, 3, W)
    assert np.array_equal(one, rope_scores(Q, K, np.full((4, 6), 3), W))
