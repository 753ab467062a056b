"""Sinusoids on several axes, Fourier features, bands, coordinates and positions among padding: what makes them so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref
from posref import fourier_features, frequency_bands, grid_positions, mask_coordinates, mask_positions, sinusoidal_axes

Floats = NDArray[np.float64]
U = 2.0**-53
LAYOUTS = ["_".join(words) for words in itertools.permutations(("axis", "wave", "band"))]
layouts, orders = st.sampled_from(LAYOUTS), st.sampled_from(["sin_cos", "cos_sin"])
anywhere = st.integers(-(2**40), 2**40)

# --- several axes ----------------------------------------------------------------------------------------------------


@given(
    p=st.tuples(anywhere, anywhere), q=st.tuples(anywhere, anywhere), by=st.tuples(anywhere, anywhere), layout=layouts
)
def a_product_depends_on_the_distances(encode: Callable[..., Floats], p: Any, q: Any, by: Any, layout: str) -> None:
    """Of both axes alone: shifting both points by the same vector changes nothing."""
    here, there = (
        np.vdot(encode(np.array(a)[:, None], 16, layout=layout)[0], encode(np.array(b)[:, None], 16, layout=layout)[0])
        for a, b in ((p, q), (np.add(p, by), np.add(q, by)))
    )
    assert abs(here - there) <= 2 * 16 * 18 * U  # 16 terms below 1, 18 roundings each, here and there


def test_products_depend_on_distances() -> None:
    a_product_depends_on_the_distances(sinusoidal_axes)


def test_one_frequency_less_does_not() -> None:
    def shifted(p: Any, dim: int, layout: str) -> Floats:
        cosines_elsewhere = sinusoidal_axes(p, dim, base=10001.0, layout=layout)
        waves = np.array([w for _, w, _ in places(layout, 2, dim // 4)])
        return np.where(waves == 1, cosines_elsewhere, sinusoidal_axes(p, dim, layout=layout))

    with pytest.raises(AssertionError):
        a_product_depends_on_the_distances(shifted)


def places(layout: str, axes: int, bands: int) -> list[tuple[int, int, int]]:
    """Axis, wave and band of each channel, by loops in the layout's order."""
    sizes = {"axis": axes, "wave": 2, "band": bands}
    words = layout.split("_")
    loops = itertools.product(*(range(sizes[w]) for w in words))
    return [tuple(dict(zip(words, at, strict=True))[w] for w in ("axis", "wave", "band")) for at in loops]  # type: ignore[misc]


@pytest.mark.parametrize("order", ["sin_cos", "cos_sin"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_channels_are_where_the_layout_says(layout: str, order: str) -> None:
    p = np.array([[1, 7, 3], [2, -5, 900]])
    found = sinusoidal_axes(p, 12, layout=layout, order=order)
    alone = [posref.sinusoidal(row, 6, layout="concatenated", order=order) for row in p]
    wanted = [alone[a][:, 3 * w + k] for a, w, k in places(layout, 2, 3)]
    assert np.array_equal(found, np.stack(wanted, axis=-1))
    others = [other for other in LAYOUTS if np.array_equal(sinusoidal_axes(p, 12, layout=other, order=order), found)]
    assert others == [layout]


@given(
    widths=st.lists(st.integers(1, 4).map(lambda n: 2 * n), min_size=1, max_size=4),
    layout=layouts,
    more=st.integers(0, 3),
)
def test_unequal_widths_lose_no_channel(widths: list[int], layout: str, more: int) -> None:
    p = np.arange(1, len(widths) + 1)[:, None] * 1000
    found = sinusoidal_axes(p, sum(widths) + more, widths=widths, layout=layout)[0]
    alone = np.concatenate([posref.sinusoidal(int(x[0]), n) for x, n in zip(p, widths, strict=True)])
    assert np.array_equal(np.sort(found), np.sort(np.concatenate([alone, np.zeros(more)])))
    assert not found[sum(widths) :].any()


WORKED = [  # at x = 2, y = 1, width 8, worked in NumPy with the released code of each
    ("MAE", [[2], [1]], {}, [0.909297, 0.019999, -0.416147, 0.9998, 0.841471, 0.01, 0.540302, 0.99995]),
    ("MoCo v3", [[2], [1]], {"endpoint": True}, [0.909297, 0.0002, -0.416147, 1, 0.841471, 0.0001, 0.540302, 1]),
    ("RT-DETR", [[1], [2]], {}, [0.841471, 0.01, 0.540302, 0.99995, 0.909297, 0.019999, -0.416147, 0.9998]),
    (
        "timm",
        [[1], [2]],
        {"layout": "wave_axis_band"},
        [0.841471, 0.01, 0.909297, 0.019999, 0.540302, 0.99995, -0.416147, 0.9998],
    ),
]


@pytest.mark.parametrize(("name", "positions", "how", "values"), WORKED, ids=[w[0] for w in WORKED])
def test_worked_values(name: str, positions: Any, how: dict[str, Any], values: list[float]) -> None:
    assert np.abs(sinusoidal_axes(positions, 8, **how)[0] - values).max() < 6e-7
    others = [w for w in WORKED if w[0] != name]
    assert all(np.abs(sinusoidal_axes(p, 8, **h)[0] - values).max() > 1e-3 for _, p, h, _ in others)


def test_worked_values_of_cogvideox() -> None:
    """At t = 1, x = 1, y = 0, width 16."""
    p = grid_positions((2, 2, 2))[[0, 2, 1]]  # time, x, y
    found = sinusoidal_axes(p, 16, widths=(4, 6, 6))[5]
    first = [0.841471, 0.01, 0.540302, 0.99995, 0.841471, 0.046399, 0.002154, 0.540302, 0.998923, 0.999998]
    assert np.abs(found - [*first, 0, 0, 0, 1, 1, 1]).max() < 6e-7
    assert np.abs(sinusoidal_axes(p[[0, 2, 1]], 16, widths=(4, 6, 6))[5] - found).max() > 0.1


# --- Fourier features and bands --------------------------------------------------------------------------------------


@given(
    x=st.lists(st.floats(-4, 4), min_size=1, max_size=3),
    f=st.lists(st.floats(-100, 100), min_size=1, max_size=4),
    layout=layouts,
    unit=st.sampled_from(["radians", "half_turns", "turns"]),
    gain=st.floats(0.1, 3),
)
def test_each_pair_lies_on_a_circle(x: list[float], f: list[float], layout: str, unit: str, gain: float) -> None:
    found = fourier_features(np.array(x)[:, None], f, layout=layout, unit=unit, gain=gain)[0]
    where = places(layout, len(x), len(f))
    for a, k in itertools.product(range(len(x)), range(len(f))):
        sin, cos = (found[where.index((a, wave, k))] for wave in (0, 1))
        assert abs(math.hypot(sin, cos) - gain) <= 4 * U * gain
        angle = x[a] * f[k] * {"radians": 1.0, "half_turns": math.pi, "turns": 2 * math.pi}[unit]
        assert abs(sin - gain * math.sin(angle)) <= gain * (4 * U * abs(angle) + 4 * U)


def test_a_matrix_with_one_axis_is_a_vector_and_sums_over_more() -> None:
    f = np.array([0.3, 2.0, 7.0])
    assert np.array_equal(fourier_features([[0.1, 2.5]], f[None]), fourier_features([[0.1, 2.5]], f))
    both = fourier_features([[0.25], [0.5]], [[1.0, 2.0], [3.0, -1.0]])[0]
    expected = [f(a) for f in (math.sin, math.cos) for a in (1.75, 0.0)]
    assert np.abs(both - expected).max() <= 2 * U
    apart = fourier_features([[0.25], [0.5]], [1.0, 2.0])[0]
    assert both.shape != apart.shape


def test_whole_quarters_are_exact() -> None:
    found = fourier_features([[0.0, 0.25, 0.5, 0.75, 1e6]], [1.0], unit="turns")
    assert found.tolist() == [[0, 1], [1, 0], [0, -1], [-1, 0], [0, 1]]
    assert np.abs(np.sin(2 * np.pi * 1e6)) > 1e-11  # what pi in float64 makes of the last one


def test_bands() -> None:
    assert frequency_bands(6, 1, 32, spacing="log").tolist() == [1, 2, 4, 8, 16, 32]
    assert frequency_bands(5, 1, 3).tolist() == [1, 1.5, 2, 2.5, 3]
    assert frequency_bands(4, 0, 2, endpoint=False).tolist() == [0, 0.5, 1, 1.5]
    gligen = frequency_bands(8, 1, 100, spacing="log", endpoint=False)
    np.testing.assert_allclose(gligen, 100.0 ** (np.arange(8) / 8), rtol=4 * U)
    assert np.abs(frequency_bands(8, 1, 100, spacing="log") - gligen).max() > 1


# --- padding ---------------------------------------------------------------------------------------------------------

PADDED = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0]])
IDS = np.array([[1, 1, 5, 6, 7], [5, 6, 7, 1, 1]])  # padding id 1
TABLE = [
    ("RoBERTa", {"first": 2, "padding": 1}, [[1, 1, 2, 3, 4], [2, 3, 4, 1, 1]]),
    ("GPT-2, fill 1", {"padding": 1}, [[1, 1, 0, 1, 2], [0, 1, 2, 1, 1]]),
    ("GPT-2, fill 0; BLOOM", {}, [[0, 0, 0, 1, 2], [0, 1, 2, 0, 0]]),
    ("the count", {"padding": None}, [[-1, -1, 0, 1, 2], [0, 1, 2, 2, 2]]),
    ("ProphetNet", {"first": 2, "padding": 1, "largest": 3}, [[1, 1, 2, 3, 3], [2, 3, 3, 1, 1]]),
]


@pytest.mark.parametrize(("name", "how", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_worked_positions(name: str, how: dict[str, Any], expected: Any) -> None:
    assert mask_positions(PADDED, **how).tolist() == expected
    assert mask_positions(IDS != 1, **how).tolist() == expected
    assert sum(mask_positions(PADDED, **h).tolist() == expected for _, h, _ in TABLE) == 1


@given(st.lists(st.booleans(), max_size=20), st.integers(-5, 5), st.integers(-5, 5))
def test_tokens_are_counted_without_padding(mask: list[bool], first: int, padding: int) -> None:
    found, there = mask_positions(mask, first=first, padding=padding), np.array(mask, dtype=bool)
    assert found[there].tolist() == list(range(first, first + there.sum()))
    assert (found[~there] == padding).all()


def test_a_padding_id_inside_the_text_stops_a_count_by_ids() -> None:
    """And not one by the attention mask: D4."""
    ids = np.array([5, 1, 7, 8])  # 1 is a token of the text here
    assert mask_positions(ids != 1, first=2, padding=1).tolist() == [2, 1, 3, 4]
    assert mask_positions(np.ones(4, int), first=2, padding=1).tolist() == [2, 3, 4, 5]


@given(st.lists(st.booleans(), max_size=30))
def test_a_restart_counts_every_run(mask: list[bool]) -> None:
    found = iter(mask_positions(mask, first=1, restart=True))
    for there, run in itertools.groupby(mask):
        n = len(list(run))
        assert [next(found) for _ in range(n)] == (list(range(1, n + 1)) if there else [0] * n)


@given(h=st.integers(1, 7), w=st.integers(1, 7), data=st.data())
def test_a_full_picture_counts_from_one_and_padding_repeats(h: int, w: int, data: st.DataObject) -> None:
    full = mask_coordinates(np.ones((h, w), bool))
    assert np.array_equal(full, grid_positions((h, w)).reshape(2, h, w) + 1)
    y, x = data.draw(st.integers(0, h)), data.draw(st.integers(0, w))
    part = np.zeros((h, w), int)
    part[:y, :x] = 1
    found = mask_coordinates(part)
    assert np.array_equal(found[:, :y, :x], full[:, :y, :x])
    assert (found[0, y:, :x] == y).all()
    assert (found[1, :y, x:] == x).all()


def test_worked_coordinates() -> None:
    """Two rows: DETR 3.141591 and 6.283182, Deformable DETR 1.570796 and 4.712387."""
    detr, deformable = (
        mask_coordinates(np.ones((2, 1), int), scale=2 * math.pi, shift=shift)[0, :, 0] for shift in (0.0, 0.5)
    )
    assert np.abs(detr - [3.141591, 6.283182]).max() < 1e-6
    assert np.abs(deformable - [1.570796, 4.712387]).max() < 1e-6
    assert (
        np.abs(mask_coordinates(np.ones((2, 1)).astype(int), scale=2 * math.pi, eps=1e-3)[0, :, 0] - detr).max() > 1e-4
    )
