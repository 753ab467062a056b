"""Weights permuted between the layouts: rotated in the new layout, queries and keys are the old ones, in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref
from posref import rope_permute_weight

Floats = NDArray[np.float64]
DRAW = np.random.default_rng(8)

sizes = st.tuples(
    st.integers(1, 5), st.integers(1, 4), st.integers(0, 3), st.integers(0, 3)
)  # heads, pairs, before, after


def projected(weight: Floats, x: Floats, heads: int) -> Floats:
    """(heads, sequence, head_dim)."""
    return np.asarray(np.moveaxis((x @ weight.T).reshape(len(x), heads, -1), 0, 1))


@given(size=sizes)
def permuted_weights_rotate_in_the_other_layout(permute: Any, size: tuple[int, int, int, int]) -> None:
    heads, pairs, before, after = size
    rows = heads * (before + 2 * pairs + after)
    weight, x, positions = DRAW.standard_normal((rows, 6)), DRAW.standard_normal((4, 6)), np.array([0, 1, 7, 4095])
    where: dict[str, Any] = {"rotary_dim": 2 * pairs, "offset": before}
    block: dict[str, Any] = {"dim": 2 * pairs, "offset": before}
    old = posref.rope(projected(weight, x, heads), positions, layout="interleaved", **block)
    halves = permute(weight, heads, to="half", **where)
    new = posref.rope(projected(halves, x, heads), positions, layout="half", **block)
    order = rope_permute_weight(np.arange(before + 2 * pairs + after), 1, **where).astype(int)
    np.testing.assert_allclose(new, old[..., order], rtol=0, atol=1e-13)
    np.testing.assert_allclose(new @ new.swapaxes(-1, -2), old @ old.swapaxes(-1, -2), rtol=0, atol=1e-12)
    assert np.array_equal(permute(halves, heads, to="interleaved", **where), weight)


def test_permutation() -> None:
    permuted_weights_rotate_in_the_other_layout(rope_permute_weight)


@pytest.mark.parametrize(
    "fault",
    [
        lambda w, heads, **how: w,
        lambda w, heads, **how: rope_permute_weight(w, 1, to=how["to"]) if w.shape[0] % 2 == 0 else w,  # across heads
        lambda w, heads, to, **how: rope_permute_weight(w, heads, to="half", **how),  # not undone but done again
        lambda w, heads, to, **how: rope_permute_weight(w, heads, to="interleaved" if to == "half" else "half", **how),
        lambda w, heads, to, rotary_dim, offset: rope_permute_weight(w, heads, to=to, rotary_dim=rotary_dim),
    ],
)
def test_permutation_faults(fault: Any) -> None:
    with pytest.raises((AssertionError, ValueError)):
        permuted_weights_rotate_in_the_other_layout(fault)


def test_grouped_keys_have_their_own_number_of_heads() -> None:
    """Fault B12: llama.cpp once divided the query heads by the key heads; right by luck where the quotient is their number."""
    rows, head_dim = np.arange(8), 4
    assert rope_permute_weight(rows, 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    for num_heads, num_kv_heads, luck in ((8, 2, False), (4, 2, True), (64, 8, True)):
        keys = np.arange(num_kv_heads * head_dim)
        faulty = rope_permute_weight(keys, num_heads // num_kv_heads)
        assert np.array_equal(faulty, rope_permute_weight(keys, num_kv_heads)) is luck


def test_undoing_needs_the_keys_heads_too() -> None:
    """Fault B13: transformers once undid GGUF's permutation of the keys with the number of query heads."""
    keys = DRAW.standard_normal((2 * 8, 3))
    stored = rope_permute_weight(keys, 2, to="interleaved")
    assert np.array_equal(rope_permute_weight(stored, 2), keys)
    assert not np.array_equal(rope_permute_weight(stored, 4), keys)


def test_a_bias_is_permuted_like_its_rows() -> None:
    weight, bias = DRAW.standard_normal((12, 5)), np.arange(12.0)
    order = rope_permute_weight(bias, 2).astype(int)
    assert np.array_equal(rope_permute_weight(weight, 2), weight[order])


@pytest.mark.peers
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (8, 2), (6, 3)])
def test_as_transformers_reads_gguf(heads: int, kv_heads: int) -> None:
    gguf = pytest.importorskip("transformers.modeling_gguf_pytorch_utils", reason="needs the peers extra")
    reader = gguf.LlamaTensorProcessor({"num_attention_heads": heads, "num_key_value_heads": kv_heads})
    for name, rows in (("blk.0.attn_q.weight", heads), ("blk.0.attn_k.weight", kv_heads)):
        stored = DRAW.standard_normal((rows * 10, 3))
        assert np.array_equal(reader.process(stored, name).weights, rope_permute_weight(stored, rows))
    assert np.array_equal(reader.process(stored, "blk.0.attn_v.weight").weights, stored)
