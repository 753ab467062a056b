"""`out=` and aliasing: where the result goes, and that half of it is never read back as input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import posref

X = np.random.default_rng(3).standard_normal((2, 3, 8))
P = np.array([1, 5, 300])
COS, SIN = posref.rope_table(P, 8)


def apply(x: NDArray[Any], **how: Any) -> NDArray[Any]:
    return posref.rope_apply(x, COS, SIN, **how)


def fused(x: NDArray[Any], **how: Any) -> NDArray[Any]:
    return posref.rope(x, P, **how)


def careless(x: NDArray[Any], *, out: NDArray[Any], layout: str = "half", **how: Any) -> NDArray[Any]:
    """Writes the first members of the pairs before it reads them for the second ones."""
    a, b = (slice(0, 4), slice(4, 8)) if layout == "half" else (slice(0, 8, 2), slice(1, 8, 2))
    out[..., a] = x[..., a] * COS - x[..., b] * SIN
    out[..., b] = x[..., a] * SIN + x[..., b] * COS
    return out


def forgetful(x: NDArray[Any], *, out: NDArray[Any], **how: Any) -> NDArray[Any]:
    """Returns a result and leaves `out` alone."""
    return apply(x, **how)


def check_out(rotate: Callable[..., NDArray[Any]], layout: str, place: Callable[[], tuple[Any, Any]]) -> None:
    x, out = place()
    expected = apply(x.copy(), layout=layout)
    y = rotate(x, layout=layout, out=out)
    assert y is out
    assert np.array_equal(out, expected)


def elsewhere() -> tuple[NDArray[Any], NDArray[Any]]:
    return X.copy(), np.full_like(X, np.nan)


def in_place() -> tuple[NDArray[Any], NDArray[Any]]:
    x = X.copy()
    return x, x


def overlapping() -> tuple[NDArray[Any], NDArray[Any]]:
    buffer = np.concatenate([X.ravel(), [0.0, 0.0, 0.0]])
    x, out = buffer[:-3].reshape(X.shape), buffer[3:].reshape(X.shape)
    assert np.shares_memory(x, out)
    return x, out


def reversed_rows() -> tuple[NDArray[Any], NDArray[Any]]:
    x = X.copy()
    return x, x[::-1]


def strided() -> tuple[NDArray[Any], NDArray[Any]]:
    return X.copy(), np.zeros((3, 2, 16)).swapaxes(0, 1)[..., ::2]


PLACES = [elsewhere, in_place, overlapping, reversed_rows, strided]


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("rotate", [apply, fused])
def test_out_takes_the_result(rotate: Any, layout: str, place: Any) -> None:
    check_out(rotate, layout, place)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("fault", [careless, forgetful])
def test_a_fault_is_noticed(fault: Any, layout: str) -> None:
    if fault is careless:
        check_out(careless, layout, elsewhere)  # which is why in_place is among the places
    with pytest.raises(AssertionError):
        check_out(fault, layout, in_place)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_out_of_a_narrower_type_is_rounded_once(dtype: Any) -> None:
    out = np.zeros(X.shape, dtype)
    assert posref.rope(X, P, out=out) is out
    assert np.array_equal(out, posref.rope(X, P).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int32])
def test_narrower_inputs_count_as_the_numbers_that_they_are(dtype: Any) -> None:
    x = (8 * X).astype(dtype)
    assert np.array_equal(posref.rope(x, P), posref.rope(x.astype(np.float64), P))


@pytest.mark.parametrize("offset", [0, 2])
def test_the_result_is_an_array_of_its_own(offset: int) -> None:
    x = X.copy()
    y = posref.rope(x, P, dim=4, offset=offset)
    assert not np.shares_memory(x, y)
    y[...] = 0
    assert np.array_equal(x, X)
