"""T5's buckets against the paper's logarithm, and what makes them buckets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.typing import NDArray

import posref

Indices = NDArray[np.int64]
Buckets = Callable[..., Indices]

# --- the logarithm ---------------------------------------------------------------------------------------------------


def by_logarithm(distance: int, buckets: int, max_distance: int) -> int:
    """Exact + floor(ln(n / exact) / ln(D / exact) * steps), with digits enough to decide the floor.

    An integer value j means n ** steps * exact ** j = D ** j * exact ** steps. Where the two sides differ, they do so by 1 or
    more and are below (D * exact) ** steps: with that many digits an integer and its neighbours are told apart.
    """
    exact = buckets // 2
    if distance < exact:
        return distance
    if distance >= max_distance:
        return buckets - 1
    steps = buckets - exact
    digits = int(steps * mp.log10(max_distance * exact)) + 10
    with mp.workdps(digits + 20):
        value = steps * mp.log(mpf(distance) / exact) / mp.log(mpf(max_distance) / exact)
        nearest = mp.nint(value)
        floor = nearest if abs(value - nearest) < mpf(10) ** -digits else mp.floor(value)
    return min(exact + int(floor), buckets - 1)


@settings(max_examples=200)
@given(buckets=st.integers(2, 160), max_distance=st.integers(2, 5000), seed=st.integers(0, 2**32 - 1))
def is_the_papers_formula(bucket: Buckets, buckets: int, max_distance: int, seed: int) -> None:
    """At random distances, at the edges of the buckets and beside them."""
    exact = buckets // 2
    assume(max_distance > exact)
    edges = exact * (max_distance / exact) ** (np.arange(buckets - exact) / (buckets - exact))
    random = np.random.default_rng(seed).integers(0, max_distance + 3, 10)
    ends = [0, 1, exact - 1, exact, max_distance - 1, max_distance, 2**53]
    distances = sorted({*random.tolist(), *ends, *(int(e) + d for e in edges[::8] for d in (0, 1))})
    expected = np.array([by_logarithm(n, buckets, max_distance) for n in distances])
    past = -np.array(distances)
    sizes: dict[str, Any] = {"max_distance": max_distance}
    assert np.array_equal(bucket(past, bidirectional=False, num_buckets=buckets, **sizes), expected)
    assert np.array_equal(bucket(past, bidirectional=True, num_buckets=2 * buckets, **sizes), expected)
    assert np.array_equal(bucket(past, bidirectional=True, num_buckets=2 * buckets + 1, **sizes), expected)
    future = bucket(-past[1:], bidirectional=True, num_buckets=2 * buckets, **sizes)
    assert np.array_equal(future, buckets + expected[1:])
    assert not bucket(-past, bidirectional=False, num_buckets=buckets, **sizes).any()


def in_floats(relative: Any, *, bidirectional: bool, num_buckets: int, max_distance: int, **fault: Any) -> Indices:
    """The released formula in a floating type of the fault's choice."""
    relative = np.asarray(relative)
    dtype: Any = fault.get("dtype", np.float64)
    base = np.zeros(relative.shape, int)
    if bidirectional:
        num_buckets //= 2
        base = np.where(relative < 0 if fault.get("sign") else relative > 0, num_buckets, 0)
        n = np.abs(relative)
    else:
        n = np.maximum(0, -relative)
    exact = num_buckets // 2
    share = np.log(np.maximum(n, 1).astype(dtype) / dtype(exact)) / dtype(np.log(max_distance / exact))
    large = exact + np.trunc((share * dtype(num_buckets - exact)).astype(np.float64)).astype(int)
    if not fault.get("unlimited"):
        large = np.minimum(large, num_buckets - 1)
    return np.asarray(base + np.where(n < exact, n, large))


def test_against_the_logarithm() -> None:
    is_the_papers_formula(posref.t5_bucket)


@pytest.mark.parametrize("fault", [{"dtype": np.float16}, {"sign": True}, {"unlimited": True}], ids=str)
def test_logarithm_faults(fault: dict[str, Any]) -> None:
    def faulty(relative: Any, **how: Any) -> Indices:
        with np.errstate(over="ignore", invalid="ignore"):  # 2 ** 53 is no float16
            return in_floats(relative, **how, **fault)

    with pytest.raises(AssertionError):
        is_the_papers_formula(faulty)


def test_the_float_formula_is_right_at_t5s_own_sizes() -> None:
    """An independent witness in float64: 16, 32 and 64 are where it could go wrong."""
    relative = np.arange(-300, 301)
    for both in (True, False):
        how: dict[str, Any] = {"bidirectional": both, "num_buckets": 32, "max_distance": 128}
        assert np.array_equal(posref.t5_bucket(relative, **how), in_floats(relative, **how))


# The smallest distance of each bucket at 32 buckets and distance 128, from the released code.
LOWER_BOUNDS = {
    True: {8: 8, 9: 12, 10: 16, 11: 23, 12: 32, 13: 46, 14: 64, 15: 91},
    False: {16: 16, 17: 19, 18: 21, 19: 24, 20: 27, 21: 31, 22: 35, 23: 40}
    | {24: 46, 25: 52, 26: 59, 27: 67, 28: 77, 29: 87, 30: 99, 31: 113},
}


@pytest.mark.parametrize("bidirectional", [True, False])
def test_published_bounds(bidirectional: bool) -> None:
    buckets = posref.t5_bucket(-np.arange(200), bidirectional=bidirectional)
    found = {int(b): int(np.argmax(buckets == b)) for b in np.unique(buckets)}
    exact = {b: b for b in range(8 if bidirectional else 16)}
    assert found == exact | LOWER_BOUNDS[bidirectional]


def test_published_buckets() -> None:
    relative = [-128, -64, -8, 0, 1, 8, 128]
    assert posref.t5_bucket(relative).tolist() == [15, 14, 8, 0, 17, 24, 31]
    assert posref.t5_bucket(np.negative(relative)).tolist() != [15, 14, 8, 0, 17, 24, 31]  # k - q, not q - k


# --- what makes them buckets -----------------------------------------------------------------------------------------


@given(
    num_buckets=st.integers(4, 100),
    bidirectional=st.booleans(),
    max_distance=st.integers(60, 500),
    distance=st.integers(0, 600),
)
def test_buckets_grow_with_the_distance(
    num_buckets: int, bidirectional: bool, max_distance: int, distance: int
) -> None:
    how: dict[str, Any] = {"num_buckets": num_buckets, "bidirectional": bidirectional, "max_distance": max_distance}
    past = posref.t5_bucket(-np.arange(distance, distance + 20), **how)
    assert past.dtype == np.int64
    assert (np.diff(past) >= 0).all()
    assert (past >= 0).all()
    assert (past < num_buckets).all()
    half = num_buckets // 2 if bidirectional else num_buckets
    assert (past == half - 1)[np.arange(distance, distance + 20) >= max_distance].all()


# --- the bias --------------------------------------------------------------------------------------------------------

TABLE = np.random.default_rng(11).standard_normal((32, 3))
Bias = Callable[..., NDArray[np.float64]]


@given(
    q=st.lists(st.integers(-200, 200), min_size=1, max_size=6),
    k=st.lists(st.integers(-200, 200), min_size=1, max_size=6),
    shift=st.integers(-(2**50), 2**50),
    bidirectional=st.booleans(),
)
def depends_on_the_difference(bias: Bias, q: list[int], k: list[int], shift: int, bidirectional: bool) -> None:
    moved = bias(TABLE, [p + shift for p in q], [p + shift for p in k], bidirectional=bidirectional)
    assert np.array_equal(bias(TABLE, q, k, bidirectional=bidirectional), moved)


def of_the_key(table: Any, q: Any, k: Any, **how: Any) -> Any:
    return posref.t5_bias(table, np.zeros_like(q), k, **how)


def of_positions_in_float32(table: Any, q: Any, k: Any, **how: Any) -> Any:
    return posref.t5_bias(table, np.float32(q).astype(int), np.float32(k).astype(int), **how)


def test_depends_on_the_difference() -> None:
    depends_on_the_difference(posref.t5_bias)


@pytest.mark.parametrize("fault", [of_the_key, of_positions_in_float32])
def test_difference_faults(fault: Bias) -> None:
    with pytest.raises(AssertionError):
        depends_on_the_difference(fault)


@given(seed=st.integers(0, 2**32 - 1), bidirectional=st.booleans(), max_distance=st.integers(17, 200))
def looks_up_the_bucket_of_key_minus_query(bias: Bias, seed: int, bidirectional: bool, max_distance: int) -> None:
    draw = np.random.default_rng(seed)
    q, k = draw.integers(-150, 150, 4), draw.integers(-150, 150, 5)
    how: dict[str, Any] = {"bidirectional": bidirectional, "max_distance": max_distance}
    b = bias(TABLE, q, k, **how)
    assert b.shape == (3, 4, 5)
    for h, i, j in np.ndindex(b.shape):
        assert b[h, i, j] == TABLE[posref.t5_bucket(k[j] - q[i], num_buckets=32, **how), h]


def test_looks_up_the_bucket() -> None:
    looks_up_the_bucket_of_key_minus_query(posref.t5_bias)


@pytest.mark.parametrize(
    "fault",
    [
        lambda table, q, k, **how: posref.t5_bias(table, -q, -k, **how),  # query minus key
        lambda table, q, k, **how: posref.t5_bias(table, q, k, bidirectional=how["bidirectional"]),
        lambda table, q, k, **how: posref.t5_bias(table[:, ::-1], q, k, **how),
    ],
)
def test_lookup_faults(fault: Bias) -> None:
    with pytest.raises(AssertionError):
        looks_up_the_bucket_of_key_minus_query(fault)


def test_batches_of_positions() -> None:
    q, k = np.array([[[0, 1]], [[5, 90]], [[2, 2]]]), np.array([[0, 3, 4], [7, 7, 80]])  # (3, 1, 2) and (2, 3)
    b = posref.t5_bias(TABLE, q, k)
    assert b.shape == (3, 2, 3, 2, 3)
    for i, j in np.ndindex(3, 2):
        assert np.array_equal(b[i, j], posref.t5_bias(TABLE, q[i, 0], k[j]))


@pytest.mark.parametrize(("q", "k"), [(0, 3), (3, 0), (0, 0)])
def test_empty_positions(q: int, k: int) -> None:
    assert posref.t5_bias(TABLE, [0] * q, [0] * k).shape == (3, q, k)
    assert posref.t5_bucket(np.zeros((q, k), int)).shape == (q, k)
    assert posref.t5_bucket([]).dtype == np.int64
