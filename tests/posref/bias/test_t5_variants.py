"""The readings of T5's buckets and biases that public code has, each beside the one it differs from; LongT5's blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref

Indices = NDArray[np.int64]
TABLE = np.random.default_rng(12).standard_normal((32, 3))
HERE = np.arange(9)

# --- the logarithm ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "num_buckets", "max_distance", "distance"),
    [("epsilon", 256, 185, 153), ("float32_sum", 320, 8192, 1697), ("float32_sum", 344, 8192, 432)],
)
def test_a_variant_differs_at_one_distance(rule: str, num_buckets: int, max_distance: int, distance: int) -> None:
    """Where the released code's float32 differs from the formula (seen in torch): at this distance, by one."""
    past = -np.arange(max_distance + 3)
    how: dict[str, Any] = {"bidirectional": False, "num_buckets": num_buckets, "max_distance": max_distance}
    exact, other = posref.t5_bucket(past, **how), posref.t5_bucket(past, rule=rule, **how)
    assert np.flatnonzero(exact != other).tolist() == [distance]
    assert other[distance] - exact[distance] == 1


@given(
    num_buckets=st.integers(4, 200),
    bidirectional=st.booleans(),
    max_distance=st.integers(101, 3000),
    rule=st.sampled_from(["epsilon", "float32_sum"]),
)
def is_a_bucket_rule_within_one_of_the_formula(
    bucket: Callable[..., Indices], num_buckets: int, bidirectional: bool, max_distance: int, rule: str
) -> None:
    past = -np.arange(max_distance + 3)
    how: dict[str, Any] = {"num_buckets": num_buckets, "bidirectional": bidirectional, "max_distance": max_distance}
    variant, exact = bucket(past, rule=rule, **how), posref.t5_bucket(past, **how)
    assert (np.diff(variant) >= 0).all()
    assert ((variant == exact) | (variant == exact + 1)).all()
    assert (variant != exact).sum() <= 2
    assert variant[-1] == (num_buckets // 2 if bidirectional else num_buckets) - 1


def test_variants_are_bucket_rules() -> None:
    is_a_bucket_rule_within_one_of_the_formula(posref.t5_bucket)


@pytest.mark.parametrize(
    "fault",
    [
        lambda r, **how: posref.t5_bucket(r, **how) + 1,
        lambda r, **how: posref.t5_bucket(r - 1, **how),
        lambda r, **how: posref.t5_bucket(r, **how | {"max_distance": how["max_distance"] + 40}),
    ],
)
def test_variant_faults(fault: Callable[..., Indices]) -> None:
    with pytest.raises(AssertionError):
        is_a_bucket_rule_within_one_of_the_formula(fault)


def test_wavlm_and_layoutlm_do_not_show_the_difference() -> None:
    relative = np.arange(-1100, 1101)
    for sizes in ({"num_buckets": 320, "max_distance": 800}, {"num_buckets": 64, "max_distance": 256}, {}):
        for rule in ("epsilon", "float32_sum"):
            assert np.array_equal(posref.t5_bucket(relative, rule=rule, **sizes), posref.t5_bucket(relative, **sizes))


# --- the bias --------------------------------------------------------------------------------------------------------


def test_the_sign_is_key_minus_query() -> None:
    """Both signs are two functions: a key in the future has a bucket of the second half."""
    assert (posref.t5_bucket(HERE[1:]) >= 16).all()
    assert (posref.t5_bucket(-HERE[1:]) < 16).all()
    assert not np.array_equal(posref.t5_bias(TABLE, HERE, HERE), posref.t5_bias(TABLE, -HERE, -HERE))


def test_a_table_of_heads_first() -> None:
    """For a square table nothing but the argument tells which is which."""
    assert np.array_equal(posref.t5_bias(TABLE.T, HERE, HERE, layout="heads_first"), posref.t5_bias(TABLE, HERE, HERE))
    square = TABLE[:8].reshape(-1)[:16].reshape(4, 4)
    rows, heads = (
        posref.t5_bias(square, HERE, HERE, max_distance=9, layout=how) for how in ("rows_first", "heads_first")
    )
    assert np.abs(rows - heads).max() > 0.1


@pytest.mark.parametrize("head_dim", [64, 80])
def test_a_scaled_table_makes_up_for_the_divided_logits(head_dim: int) -> None:
    """x-transformers: logits / sqrt(d) + sqrt(d) bias are T5's logits + d bias, divided. LayoutLMv3 divides the bias too."""
    logits, root = np.random.default_rng(1).standard_normal((3, 9, 9)), head_dim**0.5
    plain = posref.t5_bias(TABLE, HERE, HERE)
    scaled = posref.t5_bias(TABLE, HERE, HERE, scale=root)
    divided = posref.t5_bias(TABLE, HERE, HERE, scale=1 / root)
    np.testing.assert_allclose(logits / root + scaled, (logits + head_dim * plain) / root, rtol=0, atol=1e-13)
    np.testing.assert_allclose(logits / root + divided, (logits + plain) / root, rtol=0, atol=1e-15 * 8)
    assert np.abs(scaled - divided).max() > 1


def test_layoutlm_adds_tokens_and_both_coordinates() -> None:
    """The sum of three biases; the box's corner (x, y) is (bbox[0], bbox[3])."""
    boxes = np.random.default_rng(4).integers(0, 1000, (9, 4))
    of_x, of_y = np.random.default_rng(6).standard_normal((2, 3, 64))
    parts = [
        posref.t5_bias(t, boxes[:, c], boxes[:, c], max_distance=256, layout="heads_first")
        for t, c in ((of_x, 0), (of_y, 3))
    ]
    total = posref.t5_bias(TABLE, HERE, HERE) + parts[0] + parts[1]
    for h, i, j in ((0, 1, 2), (2, 8, 0), (1, 4, 4)):
        by_hand = TABLE[posref.t5_bucket(j - i), h]
        for table, c in ((of_x, 0), (of_y, 3)):
            by_hand += table[h, posref.t5_bucket(boxes[j, c] - boxes[i, c], num_buckets=64, max_distance=256)]
        assert total[h, i, j] == pytest.approx(by_hand, abs=1e-14)


# --- LongT5's blocks -------------------------------------------------------------------------------------------------

Blocks = Callable[[Any, int], Indices]


@given(tokens=st.integers(0, 60), padding=st.integers(0, 60), at_end=st.booleans(), size=st.integers(1, 20))
def counts_whole_blocks(blocks: Blocks, tokens: int, padding: int, at_end: bool, size: int) -> None:
    """Blocks in order, each of `size` tokens but the last one, which has the rest; padding has none."""
    mask = np.array([True] * tokens + [False] * padding if at_end else [False] * padding + [True] * tokens, bool)
    b = blocks(mask, size)
    assert (b[~mask] == -1).all()
    real = b[mask]
    assert (np.diff(real) >= 0).all()
    if not at_end:
        return  # blocks are counted from the first token, padding or not
    whole = tokens // size
    assert (real == -1).all() if not whole else real[-1] == whole - 1
    for block in range(whole - 1):
        assert (real == block).sum() == size
    if whole:
        assert (real == whole - 1).sum() == size + tokens % size


def test_blocks() -> None:
    counts_whole_blocks(posref.long_t5_blocks)


@pytest.mark.parametrize(
    "fault",
    [
        lambda mask, size: np.where(
            mask, np.arange(len(mask)) // size, -1
        ),  # tokens of the rest have a block of their own
        lambda mask, size: posref.long_t5_blocks(np.ones_like(mask), size),
        lambda mask, size: posref.long_t5_blocks(mask, size + 1),
    ],
)
def test_block_faults(fault: Blocks) -> None:
    with pytest.raises(AssertionError):
        counts_whole_blocks(fault)
