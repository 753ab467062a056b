"""Biases against the modules of x-transformers, an outside witness, on random inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import posref

torch = pytest.importorskip("torch", reason="needs the torch extra")
x_transformers = pytest.importorskip("x_transformers.x_transformers", reason="needs the peers extra")

EPS = 2.0**-24  # unit roundoff of float32
LENGTHS = [(1, 9), (4, 9), (9, 9)]


def of(tensor: Any) -> NDArray[np.float64]:
    return np.asarray(tensor.detach().double())


@pytest.mark.parametrize("heads", [1, 6, 8])
@pytest.mark.parametrize(("queries", "keys"), LENGTHS)
def test_alibi(heads: int, queries: int, keys: int) -> None:
    """Distances, the last query at the last key; two more heads have none."""
    theirs = of(x_transformers.AlibiPositionalBias(heads, total_heads=heads + 2)(queries, keys))
    slopes = np.append(posref.alibi_slopes(heads), [0.0, 0.0])
    ours = posref.alibi_bias(slopes, posref.query_positions(queries, keys), np.arange(keys))
    np.testing.assert_allclose(theirs, ours, rtol=2 * EPS)  # slopes in float32, a product


def test_alibi_that_is_cut_out_of_a_longer_one() -> None:
    module = x_transformers.AlibiPositionalBias(4)
    module(12, 12)
    ours = posref.alibi_bias(posref.alibi_slopes(4), posref.query_positions(3, 7), np.arange(7))
    np.testing.assert_allclose(of(module(3, 7)), ours, rtol=2 * EPS)


def test_alibi_of_given_positions() -> None:
    q, k = torch.tensor([[0, 5, 7], [2, 9, 4]]), torch.tensor([[1, 5], [8, 0]])
    theirs = of(x_transformers.AlibiPositionalBias(6).forward_custom_pos(q, k))
    np.testing.assert_allclose(theirs, posref.alibi_bias(posref.alibi_slopes(6), q.numpy(), k.numpy()), rtol=2 * EPS)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [*LENGTHS, (3, 300)])
def test_t5(causal: bool, queries: int, keys: int) -> None:
    """The table is multiplied by sqrt(head_dim)."""
    module = x_transformers.RelativePositionBias(64**0.5, causal=causal, heads=3)
    table = of(module.relative_attention_bias.weight)
    q, k = posref.query_positions(queries, keys), np.arange(keys)
    ours = posref.t5_bias(table, q, k, bidirectional=not causal, scale=8.0)
    assert np.array_equal(of(module(queries, keys)), ours)  # a power of two


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("log_distance", [False, True])
@pytest.mark.parametrize(("queries", "keys"), LENGTHS)
def test_dynamic_position_bias(norm: bool, log_distance: bool, queries: int, keys: int) -> None:
    """A network over the offsets of the query less the key, one row for each."""
    module = x_transformers.DynamicPositionBias(5, heads=3, depth=1, log_distance=log_distance, norm=norm)
    first, last = module.mlp[0][0], module.mlp[-1]
    how = {"norm_weight": np.ones(5)} if norm else {}
    w1, b1, w2, b2 = (of(t) for t in (first.weight, first.bias, last.weight, last.bias))
    offsets = np.arange(1 - keys, keys)
    features = posref.log_offset(offsets) if log_distance else offsets.astype(float)
    rows = posref.position_mlp(features[:, None], w1, b1, w2, b2=b2, activation="silu", **how)
    index = posref.query_positions(queries, keys)[:, None] - np.arange(keys) + keys - 1
    # hidden values to 9, weights below 1, in float32: some 10 roundings of each of 5 terms
    np.testing.assert_allclose(
        of(module(queries, keys)), posref.indexed_bias(rows, index), rtol=0, atol=10 * 5 * 9 * EPS
    )
