"""What makes a sinusoidal encoding one: a fixed linear map per step, products that know the distance alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref

Floats = NDArray[np.float64]
Encoding = Callable[..., Floats]

U = 2.0**-53

dims = st.integers(2, 24).map(lambda pairs: 2 * pairs)
bases = st.floats(1.5, 1e7)
anywhere = st.integers(-(2**50), 2**50)
spacings = st.booleans()
layouts = st.sampled_from(["interleaved", "concatenated"])
orders = st.sampled_from(["sin_cos", "cos_sin"])


# --- faults ----------------------------------------------------------------------------------------------------------


def own_frequency_per_channel(positions: Any, dim: int, *, base: float, **how: Any) -> Floats:
    """The tutorials' slip: base ** (-channel / dim), so that a sine and its cosine do not turn together."""
    angle = np.asarray(positions, dtype=float)[..., None] * base ** (-np.arange(dim) / dim)
    return np.where(np.arange(dim) % 2, np.cos(angle), np.sin(angle))


def sine_alone(positions: Any, dim: int, **how: Any) -> Floats:
    both = posref.sinusoidal(positions, 2 * dim, **how | {"layout": "concatenated", "order": "sin_cos"})
    return both[..., :dim]


def angle_in_float64(positions: Any, dim: int, *, base: float, **how: Any) -> Floats:
    angle = np.asarray(positions, dtype=float)[..., None] * base ** (-2 * np.arange(dim // 2) / dim)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(*angle.shape[:-1], dim)


# --- properties ------------------------------------------------------------------------------------------------------


def pairs_of(row: Floats, layout: str, order: str) -> tuple[Floats, Floats]:
    """Sines and cosines of an encoding."""
    first, second = (row[..., 0::2], row[..., 1::2]) if layout == "interleaved" else np.split(row, 2, axis=-1)
    return (first, second) if order == "sin_cos" else (second, first)


@given(dim=dims, base=bases, endpoint=spacings, layout=layouts, order=orders, p=anywhere, k=anywhere)
def a_step_is_a_fixed_linear_map(
    encode: Encoding, dim: int, base: float, endpoint: bool, layout: str, order: str, p: int, k: int
) -> None:
    """PE(p + k) = M PE(p), where M turns each pair and is made of the entries of PE(k): it knows nothing of p."""
    how = {"base": base, "endpoint": endpoint, "layout": layout, "order": order}
    sin_k, cos_k = pairs_of(encode([k], dim, **how)[0], layout, order)
    sin_p, cos_p = pairs_of(encode([p], dim, **how)[0], layout, order)
    sin, cos = pairs_of(encode([p + k], dim, **how)[0], layout, order)
    # four values within u / 2, two products and a sum: 5 u; and u / 2 of the value itself
    assert np.abs(sin - (cos_k * sin_p + sin_k * cos_p)).max() <= 6 * U
    assert np.abs(cos - (cos_k * cos_p - sin_k * sin_p)).max() <= 6 * U


@given(dim=dims, base=bases, endpoint=spacings, layout=layouts, p=anywhere, q=anywhere, k=st.integers(-1000, 1000))
def a_product_depends_on_the_distance(
    encode: Encoding, dim: int, base: float, endpoint: bool, layout: str, p: int, q: int, k: int
) -> None:
    how = {"base": base, "endpoint": endpoint, "layout": layout}
    here, there = (np.vdot(encode([at], dim, **how), encode([at + k], dim, **how)) for at in (p, q))
    assert abs(here - there) <= 2 * dim * (dim + 2) * U  # dim terms below 1, dim + 2 roundings each, here and there


@pytest.mark.parametrize("holds", [a_step_is_a_fixed_linear_map, a_product_depends_on_the_distance])
def test_the_reference_has_the_property(holds: Callable[[Encoding], None]) -> None:
    holds(posref.sinusoidal)


@pytest.mark.parametrize("fault", [own_frequency_per_channel, sine_alone, angle_in_float64])
@pytest.mark.parametrize("holds", [a_step_is_a_fixed_linear_map, a_product_depends_on_the_distance])
def test_a_fault_lacks_the_property(holds: Callable[[Encoding], None], fault: Encoding) -> None:
    with pytest.raises(AssertionError):
        holds(fault)


def test_the_product_is_a_sum_of_cosines_that_does_not_only_fall() -> None:
    """Contrary to the folklore: it oscillates."""
    distance = np.arange(200)
    product = posref.sinusoidal(distance, 64) @ posref.sinusoidal(0, 64)
    cosines = np.cos(distance[:, None] * 10000.0 ** (-np.arange(32) / 32)).sum(axis=-1)
    np.testing.assert_allclose(product, cosines, rtol=0, atol=32 * 200 * 4 * U)  # angles to 200 in float64
    assert product[0] == 32.0
    assert (np.diff(product) > 0).any()


# --- variants --------------------------------------------------------------------------------------------------------

P = np.array([0, 1, 10, -3, 5000])


@pytest.mark.parametrize("endpoint", [False, True])
def test_layout_and_order_are_permutations(endpoint: bool) -> None:
    plain = posref.sinusoidal(P, 8, endpoint=endpoint)
    expected = {
        ("interleaved", "sin_cos"): [0, 1, 2, 3, 4, 5, 6, 7],
        ("interleaved", "cos_sin"): [1, 0, 3, 2, 5, 4, 7, 6],
        ("concatenated", "sin_cos"): [0, 2, 4, 6, 1, 3, 5, 7],
        ("concatenated", "cos_sin"): [1, 3, 5, 7, 0, 2, 4, 6],
    }
    for how, channels in expected.items():
        variant = posref.sinusoidal(P, 8, endpoint=endpoint, layout=how[0], order=how[1])
        matches = [name for name, other in expected.items() if np.array_equal(variant, plain[:, other])]
        assert np.array_equal(variant, plain[:, channels])
        assert matches == [how]


def test_endpoint_is_another_function_not_a_permutation() -> None:
    plain, endpoint = (np.sort(posref.sinusoidal([7], 8, endpoint=e)) for e in (False, True))
    assert np.abs(plain - endpoint).max() > 0.1


@pytest.mark.parametrize(("dim", "base"), [(4, 10000.0), (64, 10000.0), (10, 77.7)])
def test_endpoint_ends_at_one_over_base(dim: int, base: float) -> None:
    """At position base the last angle is exactly 1; without endpoint it is base ** (2 / dim)."""
    last = posref.sinusoidal(base, dim, base=base, endpoint=True)[-2:]
    assert last.tolist() == [np.sin(1.0), np.cos(1.0)]
    plain = posref.sinusoidal(base, dim, base=base)[-2:]
    np.testing.assert_allclose(plain, [np.sin(base ** (2 / dim)), np.cos(base ** (2 / dim))], atol=1e-13)


# Worked in NumPy at dim 8 with the released code of each, to six or seven digits: (arguments, position, values).
PAPER: dict[str, Any] = {}  # the paper; fairseq's conformer, ESPnet, NeMo
TENSOR2TENSOR: dict[str, Any] = {"endpoint": True, "layout": "concatenated"}  # fairseq, Whisper, DDPM
WORKED = [
    (PAPER, 1, [0.841471, 0.540302, 0.0998334, 0.9950042, 0.0099998, 0.99995, 0.001, 0.9999995]),
    (PAPER, 10, [-0.5440211, -0.8390715, 0.841471, 0.5403023, 0.0998334, 0.9950042, 0.0099998, 0.99995]),
    (TENSOR2TENSOR, 1, [0.841471, 0.0463992, 0.0021544, 0.0001, 0.5403023, 0.998923, 0.9999977, 1]),
    (TENSOR2TENSOR, 10, [-0.5440211, 0.4476708, 0.0215427, 0.001, -0.8390715, 0.8941984, 0.9997679, 0.9999995]),
]


@pytest.mark.parametrize(("how", "position", "values"), WORKED)
def test_worked_values(how: dict[str, Any], position: int, values: list[float]) -> None:
    assert np.abs(posref.sinusoidal(position, 8, **how) - values).max() < 6e-7
    neighbours = [
        how | {"base": 10010.0},
        how | {"order": "cos_sin"},
        how | {"endpoint": not how.get("endpoint", False)},
    ]
    for other in neighbours:
        assert np.abs(posref.sinusoidal(position, 8, **other) - values).max() > 6e-7


@pytest.mark.parametrize(("position", "difference"), [(10, 0.014), (50, 0.072), (100, 0.143)])
def test_marians_two_lineages_differ(position: int, difference: float) -> None:
    """Marian itself has the endpoint's frequencies, transformers' Marian the paper's; measured at width 512."""
    paper, endpoint = (posref.sinusoidal(position, 512, endpoint=e, layout="concatenated") for e in (False, True))
    assert abs(np.abs(paper - endpoint).max() - difference) < 6e-4


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0)])
def test_a_row_per_position(shape: tuple[int, ...]) -> None:
    positions = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    row = posref.sinusoidal(positions, 6)
    assert row.shape == (*shape, 6)
    assert row.dtype == np.float64
