"""SinusoidalEncoding and LearnedEncoding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from array_kit import U, cast, once, outside, read

import posref
from posref_torch.nn import LearnedEncoding, SinusoidalEncoding

X = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    ("layout", "order", "endpoint"),
    [*itertools.product(["interleaved", "concatenated"], ["sin_cos", "cos_sin"], [False, True])],
)
def test_sinusoids_are_added(layout: str, order: str, endpoint: bool, dtype: torch.dtype) -> None:
    given = {"base": 500.0, "layout": layout, "order": order, "endpoint": endpoint}
    module, x = SinusoidalEncoding(6, **given), X.to(dtype)
    mixed = [7, 0, 2, 2, 1]
    places = {None: range(5), 131000: range(131000, 131005), torch.tensor(mixed): mixed}
    for positions, meant in places.items():
        rows, name = posref.sinusoidal(meant, 6, **given), str(dtype)[6:]
        y, expected = module(x, positions), read(x) + rows
        assert y.dtype == dtype
        working = once("float64" if name == "float64" else "float32", np.abs(rows) + np.abs(expected))  # a row, a sum
        bound = 14 * U * np.array(meant)[:, None] + 4 * U + working + cast(name, expected)
        assert outside(y, expected, bound) <= 1.0
        wrong = posref.sinusoidal(np.array(meant) + 1, 6, **given)  # the planted fault: positions from 1 on
        assert outside(y, read(x) + wrong, bound) > 2.0


def test_sinusoids_of_rows() -> None:
    positions = torch.arange(10).reshape(2, 5)
    y = SinusoidalEncoding(6)(X, positions)
    # the table, the sum and the difference are rounded to float32, x + table being below 8: 2^-24 (1 + 2 * 4)
    np.testing.assert_allclose(read(y - X), posref.sinusoidal(positions.numpy(), 6), atol=2.0**-21)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dim": 5}, "dim must be a positive even integer, got 5"),
        ({"dim": 2, "endpoint": True}, "dim must be > 2 with endpoint=True"),
        ({"dim": 4, "base": 0.5}, "base must be a finite number > 1, got 0.5"),
        ({"dim": 4, "layout": "half"}, "layout must be one of 'interleaved', 'concatenated', got 'half'"),
        ({"dim": 4, "order": "cs"}, "order must be one of 'sin_cos', 'cos_sin', got 'cs'"),
    ],
)
def test_bad_sinusoids(given: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SinusoidalEncoding(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("module", [SinusoidalEncoding(6), LearnedEncoding(9, 6)], ids=["sinusoidal", "learned"])
def test_bad_x(module: torch.nn.Module) -> None:
    for x, error, says in (
        (torch.ones(2, 5, 7), ValueError, r"x must be \(..., seq, 6\), got shape \(2, 5, 7\)"),
        (torch.ones(6), ValueError, r"x must be \(..., seq, 6\), got shape \(6,\)"),
        (torch.ones(2, 5, 6, dtype=torch.int64), TypeError, "x must be floating, got type torch.int64"),
    ):
        with pytest.raises(error, match=says):
            module(x)


def test_a_learned_table_starts_normal_with_0_02() -> None:
    torch.manual_seed(0)
    weight = LearnedEncoding(2000, 500).weight
    # of n = 10^6 samples the mean strays by 0.02 / 1000, the deviation by 0.02 / sqrt(2 n): five of each
    assert abs(weight.mean().item()) < 5 * 0.02e-3
    assert abs(weight.std().item() - 0.02) < 5 * 0.02e-3 / 2**0.5
    assert abs((weight.abs() < 0.02).float().mean().item() - 0.6827) < 5 * 0.466e-3  # normal, not uniform
    assert isinstance(weight, torch.nn.Parameter)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_learned_rows_are_added(dtype: torch.dtype) -> None:
    module, x = LearnedEncoding(9, 6), X.to(dtype)
    mixed = [[8, 0, 2, 2, 1], [0, 8, 1, 1, 4]]
    for positions, meant in {None: range(5), 4: range(4, 9), torch.tensor(mixed): mixed}.items():
        y, weight, name = module(x, positions), read(module.weight.detach()), str(dtype)[6:]
        assert y.dtype == dtype
        expected = read(x) + weight[np.array(meant)]
        bound = once("float64" if name == "float64" else "float32", expected) + cast(name, expected)  # a sum, a cast
        assert outside(y.detach(), expected, bound) <= 1.0
        wrong = read(x) + weight[np.array(meant) - 1]  # the planted fault: the row before
        assert outside(y.detach(), wrong, bound) > 2.0


def test_gradients_reach_the_rows_that_were_used() -> None:
    module = LearnedEncoding(9, 6)
    module(X, torch.tensor([[8, 0, 2, 2, 1]] * 2)).sum().backward()
    assert module.weight.grad is not None
    assert module.weight.grad[:, 0].tolist() == [2, 2, 4, 0, 0, 0, 0, 0, 2]
    module.weight.grad = None
    module(X, 3).sum().backward()
    assert module.weight.grad[:, 0].tolist() == [0, 0, 0, 2, 2, 2, 2, 2, 0]


@pytest.mark.parametrize(("positions", "got"), [(5, r"5 \.\. 9"), (100, r"100 \.\. 104")])
def test_past_the_last_row(positions: int, got: str) -> None:
    with pytest.raises(IndexError, match=rf"x must end before max_len 9, got positions {got}"):
        LearnedEncoding(9, 6)(X, positions)
    LearnedEncoding(9, 6)(X, 4)


@pytest.mark.parametrize("position", [9, -1])
def test_positions_without_a_row(position: int) -> None:
    with pytest.raises(IndexError, match=r"positions must be in 0 \.\. 8 for a table of 9 rows"):
        LearnedEncoding(9, 6)(X, torch.tensor([0, 1, 2, 3, position]))


@pytest.mark.parametrize("given", [(0, 6), (9, 0), (9.0, 6), (True, 6)])
def test_bad_tables(given: tuple[int, int]) -> None:
    with pytest.raises((ValueError, TypeError), match="must be an integer >= 1"):
        LearnedEncoding(*given)
