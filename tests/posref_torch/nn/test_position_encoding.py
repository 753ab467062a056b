"""PositionEncoding: one module, three strategies."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from array_kit import read

import posref
from posref_torch.nn import PositionEncoding

X = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(4))
STRATEGIES = ("sinusoidal", "learnable", "rope")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_shape_and_type_are_those_of_x(strategy: str, dtype: torch.dtype) -> None:
    for shape in ((2, 5, 8), (1, 1, 8), (3, 0, 8), (5, 8)):
        x = torch.randn(shape).to(dtype)
        y = PositionEncoding(8, strategy=strategy)(x)
        assert (y.shape, y.dtype) == (x.shape, dtype)
        assert y is not x


def test_sinusoidal_is_the_default() -> None:
    y = PositionEncoding(8)(X)
    # the table and the sum are rounded to float32, the sum being below 8: 2^-24 (1 + 4)
    np.testing.assert_allclose(read(y), read(X) + posref.sinusoidal(np.arange(5), 8), atol=2.0**-21)


def test_rope_rotates_all_channels_as_one_head() -> None:
    # float32 tables and a rotation of values below 4: (1 + 1) 2^-24 (|a| + |b|)
    module = PositionEncoding(8, strategy="rope")
    np.testing.assert_allclose(read(module(X)), posref.rope(read(X), np.arange(5)), atol=2.0**-20)
    np.testing.assert_allclose(read(module(X, 7)), posref.rope(read(X), np.arange(7, 12)), atol=2.0**-20)
    torch.testing.assert_close(module(X).norm(dim=-1), X.norm(dim=-1))  # which it turns and does not stretch


def test_learnable_adds_its_rows() -> None:
    module = PositionEncoding(8, max_len=6, strategy="learnable")
    (weight,) = module.parameters()
    assert weight.shape == (6, 8)
    assert torch.equal(module(X), X + weight[:5])
    assert torch.equal(module(X[:, :1], 5), X[:, :1] + weight[5:])


def test_the_longest_sequence() -> None:
    x = torch.ones(1, 7, 8)
    with pytest.raises(IndexError, match=r"x must end before max_len 6, got positions 0 \.\. 6"):
        PositionEncoding(8, max_len=6, strategy="learnable")(x)
    for strategy in ("sinusoidal", "rope"):  # these two have none
        assert PositionEncoding(8, max_len=6, strategy=strategy)(x).shape == x.shape
    assert PositionEncoding(8, strategy="learnable")(torch.ones(1, 5000, 8)).shape == (1, 5000, 8)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_swapped_tokens_are_told_apart(strategy: str) -> None:
    """The planted fault would be a module that does nothing: equal tokens must differ by where they are."""
    y = PositionEncoding(8, strategy=strategy)(X[:, :1].expand(2, 5, 8))
    assert len({tuple(row.tolist()) for row in y[0]}) == 5


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_of_positions(strategy: str) -> None:
    module, positions = PositionEncoding(8, strategy=strategy), torch.tensor([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
    y = module(X, positions)
    # with an fma or without: a product below 4 is rounded once more or less, 4 * 2^-24
    torch.testing.assert_close(y[0], module(X[:1])[0], rtol=2.0**-22, atol=2.0**-22)
    torch.testing.assert_close(y[1].flip(0), module(X[1:].flip(1))[0], rtol=2.0**-22, atol=2.0**-22)


def test_an_unknown_strategy() -> None:
    with pytest.raises(ValueError, match="strategy must be one of 'sinusoidal', 'learnable', 'rope', got 'alibi'"):
        PositionEncoding(8, strategy="alibi")


@pytest.mark.parametrize("strategy", ["sinusoidal", "rope"])
def test_an_odd_width(strategy: str) -> None:
    with pytest.raises(ValueError, match="dim must be a positive even integer, got 7"):
        PositionEncoding(7, strategy=strategy)
    assert PositionEncoding(7, strategy="learnable")(torch.ones(1, 2, 7)).shape == (1, 2, 7)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_x_of_another_width(strategy: str) -> None:
    with pytest.raises(ValueError, match=r"x must be \(..., seq, 8\), got shape \(2, 5, 10\)"):
        PositionEncoding(8, strategy=strategy)(torch.ones(2, 5, 10))


@pytest.mark.parametrize(("given", "name"), [((0,), "embed_dim"), ((8, 0), "max_len"), ((8, 5.0), "max_len")])
def test_bad_sizes(given: tuple[int, ...], name: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"{name} must be an integer >= 1"):
        PositionEncoding(*given)
