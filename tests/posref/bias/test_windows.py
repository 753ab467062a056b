"""Index tables of windows, look-ups, logarithmic offsets: what makes them so, and the readings of public code."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref

Indices = NDArray[np.int64]
Index = Callable[..., Indices]
U = 2.0**-53

windows = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)
signs = st.sampled_from(["query_minus_key", "key_minus_query", "absolute"])


def cells_of(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(product(*map(range, sizes)))


# --- the index -------------------------------------------------------------------------------------------------------


@given(sizes=windows, offset=signs)
def is_a_bijection_of_the_offsets(index: Index, sizes: tuple[int, ...], offset: str) -> None:
    """Pairs share a row exactly where they share an offset, and every row of the table is some pair's."""
    rows, cells = index(sizes, offset=offset), cells_of(sizes)
    offsets: dict[tuple[int, ...], set[int]] = {}
    for i, j in product(range(len(cells)), repeat=2):
        d = tuple(a - b for a, b in zip(cells[i], cells[j], strict=True))
        offsets.setdefault(tuple(map(abs, d)) if offset == "absolute" else d, set()).add(int(rows[i, j]))
    assert all(len(found) == 1 for found in offsets.values())
    wanted = math.prod(n if offset == "absolute" else 2 * n - 1 for n in sizes)
    assert {row for found in offsets.values() for row in found} == set(range(wanted))


def test_a_bijection() -> None:
    is_a_bijection_of_the_offsets(posref.relative_position_index)


def height_for_width(sizes: Any, **how: Any) -> Indices:
    """The width of a row of the table is taken to be the height's."""
    return posref.relative_position_index(sizes[::-1], **how)


@pytest.mark.parametrize(
    "fault",
    [
        height_for_width,
        lambda sizes, offset: posref.relative_position_index(sizes, offset=offset, reach=list(sizes)),
        lambda sizes, offset: posref.relative_position_index(sizes, offset="absolute"),
        lambda sizes, offset: np.maximum(posref.relative_position_index(sizes, offset=offset) - 1, 0),
    ],
)
def test_bijection_faults(fault: Index) -> None:
    with pytest.raises(AssertionError):
        is_a_bijection_of_the_offsets(fault)


@given(sizes=windows)
def rows_are_in_the_order_of_the_offsets(index: Index, sizes: tuple[int, ...]) -> None:
    """Row r of the table is the offset that `grid_positions` lists there: what Swin v2's network is fed with."""
    listed = posref.grid_positions([2 * n - 1 for n in sizes], start=[1 - n for n in sizes])  # (axes, rows)
    cells = np.array(cells_of(sizes)).T
    assert np.array_equal(listed[:, index(sizes)], cells[:, :, None] - cells[:, None, :])


def test_the_order_of_the_rows() -> None:
    rows_are_in_the_order_of_the_offsets(posref.relative_position_index)


@pytest.mark.parametrize(
    "fault", [height_for_width, lambda sizes: posref.relative_position_index(sizes, offset="key_minus_query")]
)
def test_order_faults(fault: Index) -> None:
    with pytest.raises(AssertionError):
        rows_are_in_the_order_of_the_offsets(fault)


def test_both_signs_are_mirror_images() -> None:
    """MaxViT's index is Swin's, turned around: a table of the one, read by the other, is mirrored."""
    swin, maxvit = (
        posref.relative_position_index((3, 4), offset=f"{a}_minus_{b}") for a, b in (("query", "key"), ("key", "query"))
    )
    assert np.array_equal(maxvit, swin.T)
    assert np.array_equal(maxvit, 5 * 7 - 1 - swin)
    assert not np.array_equal(maxvit, swin)


def test_published_indices() -> None:
    """Swin's for windows of 2 x 2 and, the first row, of 2 x 3; LeViT's for 2 x 2."""
    assert posref.relative_position_index((2, 2)).tolist() == [[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]
    assert posref.relative_position_index((2, 3))[0].tolist() == [7, 6, 5, 2, 1, 0]
    levit = posref.relative_position_index((2, 2), offset="absolute")
    assert levit.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]


@given(sizes=st.tuples(st.integers(1, 6), st.integers(1, 6)), stride=st.integers(1, 3))
def is_levits_count_of_offsets(index: Index, sizes: tuple[int, int], stride: int) -> None:
    """The released code numbers offsets as it meets them, going through queries, then keys."""
    met: dict[tuple[int, int], int] = {}
    queries = product(*(range(0, n, stride) for n in sizes))
    expected = [
        [met.setdefault((abs(q[0] - k[0]), abs(q[1] - k[1])), len(met)) for k in cells_of(sizes)] for q in queries
    ]
    assert index(sizes, offset="absolute", stride=stride).tolist() == expected


def test_levit_numbers_offsets_as_it_meets_them() -> None:
    is_levits_count_of_offsets(posref.relative_position_index)


@pytest.mark.parametrize(
    "fault",
    [
        lambda sizes, offset, stride: height_for_width(sizes, offset=offset, stride=stride),
        lambda sizes, offset, stride: posref.relative_position_index(sizes, offset=offset)[:: stride or 1],
    ],
)
def test_levit_faults(fault: Index) -> None:
    with pytest.raises(AssertionError):
        is_levits_count_of_offsets(fault)


def test_a_class_token_has_three_rows_of_its_own() -> None:
    """BEiT: from the class, to the class, and itself; the cells' rows stay."""
    plain, whole = posref.relative_position_index((2, 3)), posref.relative_position_index((2, 3), class_token=True)
    assert np.array_equal(whole[1:, 1:], plain)
    assert plain.max() == 14
    assert whole[0].tolist() == [17] + [15] * 6
    assert whole[:, 0].tolist() == [17] + [16] * 6


def test_beyond_the_reach_there_is_no_row() -> None:
    table = np.arange(1.0, 1 + 3 * 5)[:, None]
    short = posref.indexed_bias(table, posref.relative_position_index((4, 3), reach=(1, 2)))[0]
    cells = np.array(cells_of((4, 3)))
    assert np.array_equal(short == 0, np.abs(cells[:, None, 0] - cells[None, :, 0]) > 1)


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (0,)])
def test_windows_without_cells(sizes: tuple[int, ...]) -> None:
    assert posref.relative_position_index(sizes).shape == (0, 0)
    assert posref.relative_position_index(sizes, class_token=True).shape == (1, 1)


# --- look-ups --------------------------------------------------------------------------------------------------------


def test_look_ups() -> None:
    draw = np.random.default_rng(9)
    table, index = draw.standard_normal((6, 3)), draw.integers(-1, 6, (2, 4, 5))
    bias = posref.indexed_bias(table, index)
    assert bias.shape == (2, 3, 4, 5)
    for b, h, q, k in np.ndindex(bias.shape):
        row = index[b, q, k]
        assert bias[b, h, q, k] == (0 if row < 0 else table[row, h])
    assert np.array_equal(posref.indexed_bias(table.T, index, layout="heads_first"), bias)
    assert (index < 0).any()


def test_one_row_is_t5s_bias() -> None:
    """Buckets are an index too."""
    table, here = np.random.default_rng(8).standard_normal((32, 2)), np.arange(40)
    bucket = posref.t5_bucket(here - here[:, None])
    assert np.array_equal(posref.indexed_bias(table, bucket), posref.t5_bias(table, here, here))


def test_residues_are_looked_up_by_their_clipped_offset() -> None:
    """AlphaFold: a linear layer of the one-hot vector of clip(i - j, -32, 32) + 32."""
    residues, table = np.array([1, 2, 40, 41, 300]), np.random.default_rng(13).standard_normal((65, 2))
    d = residues[:, None] - residues
    one_hot = np.eye(65)[np.minimum(np.maximum(d, -32), 32) + 32]
    bias = posref.indexed_bias(table, posref.relative_index(d, 32, 32))
    assert np.array_equal(bias, np.moveaxis(one_hot @ table, -1, 0))
    assert not np.array_equal(bias, posref.indexed_bias(table, posref.relative_index(-d, 32, 32)))


def test_nodes_are_looked_up_by_their_distance() -> None:
    """Graphormer, on a path of five nodes and one apart: shortest paths, those beyond 3 share a row, none has its own."""
    edges = np.eye(6, k=1, dtype=int)[:, :]
    edges[4] = 0
    steps = np.eye(6, dtype=int) + edges + edges.T
    reached = [np.linalg.matrix_power(steps, n) > 0 for n in range(6)]
    distance = np.argmax(reached, axis=0)
    table = np.array([[0.0], [1.0], [2.0], [3.0], [-9.0]])
    index = np.where(reached[-1], posref.relative_index(distance, 0, 3), 4)
    assert posref.indexed_bias(table, index)[0, 0].tolist() == [0, 1, 2, 3, 3, -9]


# --- logarithmic offsets ---------------------------------------------------------------------------------------------


@given(offset=st.integers(-(2**40), 2**40), extent=st.one_of(st.none(), st.integers(1, 63), st.floats(0.5, 99.0)))
def is_odd_and_grows(scaled: Callable[..., Any], offset: int, extent: float | None) -> None:
    y = scaled([offset, -offset, offset + 1], extent=extent)
    assert y[0] == -y[1]
    assert y[2] >= y[0] if abs(offset) > 2**20 else y[2] > y[0]
    expected = math.log1p(abs(offset)) if extent is None else math.log2(1 + 8 * abs(offset) / extent) / 3
    # the sum is rounded before the logarithm: u absolute, then a few roundings
    assert abs(y[0]) == pytest.approx(expected, rel=6 * U, abs=2 * U)


def test_log_offsets() -> None:
    is_odd_and_grows(posref.log_offset)


@pytest.mark.parametrize(
    "fault",
    [
        lambda d, extent: np.abs(posref.log_offset(d, extent=extent)),
        lambda d, extent: posref.log_offset(d),
        lambda d, extent: posref.log_offset(d, extent=extent and extent + 1),  # the window's size for its extent
    ],
)
def test_log_offset_faults(fault: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        is_odd_and_grows(fault)


def test_the_papers_and_the_codes_logarithm_are_two_functions() -> None:
    """Swin v2. The numbers are those of the released code for a window of 8, and for 16 after pretraining with 8."""
    offsets = np.arange(-7, 8)
    paper, code = posref.log_offset(offsets), posref.log_offset(offsets, extent=7)
    np.testing.assert_allclose(code[[0, 8, 14]], [-1.056642, 0.366512, 1.056642], atol=5e-7)
    np.testing.assert_allclose(posref.log_offset([-15, 15], extent=7), [-1.393777, 1.393777], atol=5e-7)
    np.testing.assert_allclose(paper[[0, 8, 14]], [-math.log(8), math.log(2), math.log(8)], rtol=4 * U)
    assert np.ptp(paper[8:] / code[8:]) > 0.01  # not a multiple of each other


# --- the network -----------------------------------------------------------------------------------------------------


def test_a_perceptron_by_hand() -> None:
    y = posref.position_mlp([[1.0, -2.0]], [[1.0, 1.0], [-1.0, 0.5], [0.5, -1.0]], [0.0, 3.0, 0.25], [[1.0, 2.0, -1.0]])
    assert y.tolist() == [[2 * 1.0 - 2.75]]  # hidden -1, 1, 2.75
    assert posref.position_mlp([[0.0]], [[1.0]], [0.0], [[1.0]], ceiling=16.0).tolist() == [[8.0]]


def test_a_deeper_network_is_one_after_the_other() -> None:
    """x-transformers, depth 2: the first layer alone is a network whose second one is the identity."""
    draw = np.random.default_rng(10)
    x, w1, b1, w2, b2, w3, b3 = (draw.standard_normal(s) for s in ((5, 1), (4, 1), (4,), (4, 4), (4,), (2, 4), (2,)))

    def silu(h: Any) -> Any:
        return h / (1 + np.exp(-h))

    expected = silu(silu(x @ w1.T + b1) @ w2.T + b2) @ w3.T + b3
    hidden = posref.position_mlp(x, w1, b1, np.eye(4), activation="silu")
    got = posref.position_mlp(hidden, w2, b2, w3, b2=b3, activation="silu")
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14)  # some 30 roundings of numbers to 10


def is_crossformers(network: Callable[..., Any]) -> None:
    """CrossFormer: a linear layer, then twice LayerNorm, ReLU and a linear layer, by torch."""
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    nn, draw = torch.nn, torch.Generator().manual_seed(3)
    layers = nn.Linear(2, 4), nn.LayerNorm(4), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 3)
    for parameter in nn.ModuleList(layers).double().parameters():
        parameter.data = torch.randn(parameter.shape, generator=draw, dtype=torch.float64)
    first, norm, second, other, last = layers
    x = torch.randn(6, 2, generator=draw, dtype=torch.float64)
    expected = last(torch.relu(other(second(torch.relu(norm(first(x))))))).detach().numpy()
    x, *weights = (t.detach().numpy() for t in (x, *(p for layer in layers for p in layer.parameters())))
    w1, b1, g1, s1, w2, b2, g2, s2, w3, b3 = weights
    hidden = network(x, w1, b1, np.eye(4), norm_weight=g1, norm_bias=s1)
    got = network(hidden, w2, b2, w3, b2=b3, norm_weight=g2, norm_bias=s2)
    np.testing.assert_allclose(
        got, expected, rtol=0, atol=1e-12
    )  # some 60 roundings of numbers to 20, spreads above 0.3


def test_crossformers_network() -> None:
    is_crossformers(posref.position_mlp)


@pytest.mark.parametrize("wrong", [{"norm_eps": 1e-3}, {"norm_bias": None}, {"norm_weight": None, "norm_bias": None}])
def test_faults_of_a_norm_are_noticed(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        is_crossformers(lambda *args, **how: posref.position_mlp(*args, **how | wrong))


def test_the_ceiling_is_never_passed() -> None:
    x = np.array([[-1e6], [-3.0], [0.0], [3.0], [1e6]])
    y = posref.position_mlp(x, [[1.0]], [0.0], [[1.0]], activation="identity", ceiling=16.0)[:, 0]
    assert y[0] == 0
    assert y[-1] == 16
    assert (np.diff(y) > 0).all()
    np.testing.assert_allclose(y + y[::-1], 16, rtol=4 * U)


def test_swin_v2s_scale_ends_at_100() -> None:
    scale = posref.cosine_scale([math.log(10), 4.6051, 4.6052, 1e300, -1e300])
    np.testing.assert_allclose(scale[:2], [10.0, math.exp(4.6051)], rtol=4 * U)
    assert scale[2:].tolist() == [100, 100, 0]
