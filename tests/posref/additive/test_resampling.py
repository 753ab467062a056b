"""Tables at another size: torch's interpolate as a witness, and what holds for every kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref

Floats = NDArray[np.float64]
Resample = Callable[..., Floats]
U = 2.0**-53
RNG = np.random.default_rng(19)

# sizes, new sizes: primes, not square, growing on one axis and shrinking on the other, one cell
SIZES = [
    ((7, 5), (11, 13)),
    ((11, 13), (4, 5)),
    ((3, 11), (7, 2)),
    ((1, 3), (2, 7)),
    ((3, 5), (1, 1)),
    ((37, 37), (16, 17)),
]
RULES: dict[str, dict[str, Any]] = {
    "bicubic": {},
    "bilinear": {"kernel": "linear"},
    "bicubic, corners": {"align_corners": True},
    "bilinear, corners": {"kernel": "linear", "align_corners": True},
    "bicubic, antialias": {"antialias": True},
    "bilinear, antialias": {"kernel": "linear", "antialias": True},
}


def bound(sizes: Any) -> float:
    """Of torch in float64, for entries to 4.5: centres within 4 u (S + 1), slopes that sum to 5.5, sums over S cells."""
    return float(sum(5.5 * 4 * (s + 1) + s + 12 for s in sizes) * U * 1.5**2 * 4.5)


def by_torch(table: Floats, sizes: Any, new: Any, rule: str, **given: Any) -> Floats:
    torch = pytest.importorskip("torch", reason="needs torch, which is the witness")
    options = RULES[rule]
    mode = "bilinear" if options.get("kernel") else "bicubic"
    grid = torch.tensor(table).reshape(*sizes, -1).permute(2, 0, 1)[None]
    flags = {"align_corners": options.get("align_corners", False), "antialias": options.get("antialias", False)}
    given = given or {"size": new}
    found = torch.nn.functional.interpolate(grid, mode=mode, **flags, **given)[0]
    return np.asarray(found.permute(1, 2, 0).reshape(-1, table.shape[1]))


@pytest.mark.parametrize(("sizes", "new"), SIZES, ids=str)
@pytest.mark.parametrize("rule", RULES)
def test_as_torch(rule: str, sizes: tuple[int, int], new: tuple[int, int]) -> None:
    table = RNG.normal(size=(sizes[0] * sizes[1], 3)).clip(-4.5, 4.5)
    theirs = by_torch(table, sizes, new, rule)
    assert np.abs(posref.resample_table(table, sizes, new, **RULES[rule]) - theirs).max() <= bound(sizes)
    if min(sizes) > 1 and max(new) > 1:  # the planted fault: every other rule
        for other in RULES.values():
            if other != RULES[rule]:
                wrong = posref.resample_table(table, sizes, new, **other)
                linear_up = not other.get("align_corners") and all(n >= s for s, n in zip(sizes, new, strict=True))
                same = (
                    linear_up and RULES[rule].get("kernel") == other.get("kernel") == "linear"
                )  # antialias does nothing there
                assert (np.abs(wrong - theirs).max() > 1e-3) != (same and not RULES[rule].get("align_corners"))


@pytest.mark.parametrize("new", [(16, 16), (9, 23)])
def test_dinos_factor_as_torch(new: tuple[int, int]) -> None:
    """Torch takes the ratio from the factor, unless told to recompute it from the sizes."""
    table = RNG.normal(size=(37 * 37, 2)).clip(-4.5, 4.5)
    factor = tuple((n + 0.1) / 37 for n in new)
    theirs = by_torch(table, (37, 37), new, "bicubic", scale_factor=factor)
    assert np.abs(posref.resample_table(table, (37, 37), new, offset=0.1) - theirs).max() <= 4 * bound((37, 37))
    assert np.abs(posref.resample_table(table, (37, 37), new) - theirs).max() > 0.1  # by the sizes: D13
    again = by_torch(table, (37, 37), new, "bicubic", scale_factor=factor, recompute_scale_factor=True)
    assert np.abs(posref.resample_table(table, (37, 37), new) - again).max() <= bound((37, 37))


def test_dinos_offset_is_seen() -> None:
    """37 to 16 cells of a table that counts its rows: the corner is 21.39 by the sizes, 21.10 by the factor."""
    table = np.arange(37.0 * 37)[:, None]
    by_size, by_factor = (posref.resample_table(table, (37, 37), (16, 16), offset=o)[0, 0] for o in (0.0, 0.1))
    assert (round(by_size, 2), round(by_factor, 2)) == (21.39, 21.10)


@pytest.mark.parametrize(("a", "row"), [(-0.75, [-0.04, -0.12, 0.29778]), (-0.5, [-0.02703, -0.08108, 0.26126])])
def test_an_impulse(a: float, row: list[float]) -> None:
    """9 cells to 18, the largest value made 1: measured with torch, without and with antialias."""
    table = np.eye(9)[4][:, None]
    found = posref.resample_table(table, (9,), (18,), cubic_a=a)[:, 0]
    start = int(np.flatnonzero(found)[0])
    assert np.abs((found / found.max())[start : start + 3] - row).max() < 6e-6
    other = posref.resample_table(table, (9,), (18,), cubic_a=-1.25 - a)[:, 0]
    assert np.abs((other / other.max())[start : start + 3] - row).max() > 1e-3


def test_aligned_corners_as_scipys_zoom() -> None:
    """big_vision's way: a zoom of order 1."""
    scipy = pytest.importorskip("scipy.ndimage", reason="needs scipy, which big_vision zooms with")
    table = RNG.normal(size=(5 * 7, 1))
    theirs = scipy.zoom(table.reshape(5, 7), (9 / 5, 4 / 7), order=1).ravel()
    aligned, not_so = (
        posref.resample_table(table, (5, 7), (9, 4), kernel="linear", align_corners=c)[:, 0] for c in (True, False)
    )
    assert np.abs(aligned - theirs).max() <= bound((5, 7))
    assert np.abs(not_so - theirs).max() > 0.01


# --- properties ------------------------------------------------------------------------------------------------------

rules = st.sampled_from(sorted(RULES)).map(lambda name: RULES[name])
cells = st.lists(st.integers(1, 13), min_size=1, max_size=3)


@given(sizes=cells, how=rules, seed=st.integers(0, 99))
def the_same_size_is_the_identity(resample: Resample, sizes: list[int], how: dict[str, Any], seed: int) -> None:
    table = np.random.default_rng(seed).normal(size=(int(np.prod(sizes)) + 2, 3))
    assert np.array_equal(resample(table, sizes, sizes, prefix=2, **how), table)


@given(sizes=cells, data=st.data(), how=rules, offset=st.sampled_from([0.0, 0.1]), value=st.floats(-3, 3))
def a_constant_stays(
    resample: Resample, sizes: list[int], data: st.DataObject, how: dict[str, Any], offset: float, value: float
) -> None:
    """Weights sum to 1: within u of each of them, and a sum."""
    new = [data.draw(st.integers(1, 17)) for _ in sizes]
    options = how if how.get("align_corners") else how | {"offset": offset}
    found = resample(np.full((int(np.prod(sizes)), 2), value), sizes, new, **options)
    assert np.abs(found - value).max() <= 3 * 1.5**3 * 2 * (13 + 2) * U * abs(value)


@given(sizes=cells, data=st.data(), how=rules)
def axes_come_apart(resample: Resample, sizes: list[int], data: st.DataObject, how: dict[str, Any]) -> None:
    """Reversing an axis before or after is the same, to the last bits: no axis is taken for another, none is shifted."""
    new = [data.draw(st.integers(1, 9)) for _ in sizes]
    assume(all(n > 1 or s == 1 or not how.get("align_corners") for s, n in zip(sizes, new, strict=True)))
    grid = np.random.default_rng(3).normal(size=(*sizes, 1))
    axis = data.draw(st.integers(0, len(sizes) - 1))
    before = resample(np.flip(grid, axis).reshape(-1, 1), sizes, new, **how).reshape(*new, 1)
    after = np.flip(resample(grid.reshape(-1, 1), sizes, new, **how).reshape(*new, 1), axis)
    assert np.abs(before - after).max(initial=0.0) <= 3 * 1.5**3 * (13 + 2) * U * 5


PROPERTIES = [the_same_size_is_the_identity, a_constant_stays, axes_come_apart]


@pytest.mark.parametrize("holds", PROPERTIES)
def test_the_reference_has_the_property(holds: Callable[[Resample], None]) -> None:
    holds(posref.resample_table)


def edges_at_centres(table: Any, sizes: Any, new: Any, **how: Any) -> Floats:
    """Half a cell too far, as if o and not o + 1/2 were the centre."""
    shifted = np.roll(np.asarray(table), -1, axis=0)
    return (posref.resample_table(table, sizes, new, **how) + posref.resample_table(shifted, sizes, new, **how)) / 2


def transposed(table: Any, sizes: Any, new: Any, **how: Any) -> Floats:
    return posref.resample_table(table, sizes[::-1], new, **how)


def not_normalized(table: Any, sizes: Any, new: Any, **how: Any) -> Floats:
    return posref.resample_table(table, sizes, new, **how) * (1 + 1e-9 * (list(new) == list(sizes)) + 1e-9)


@pytest.mark.parametrize(
    ("holds", "fault"),
    [
        (the_same_size_is_the_identity, edges_at_centres),
        (the_same_size_is_the_identity, transposed),
        (the_same_size_is_the_identity, not_normalized),
        (a_constant_stays, not_normalized),
        (axes_come_apart, edges_at_centres),
    ],
)
def test_a_fault_lacks_the_property(holds: Callable[[Resample], None], fault: Resample) -> None:
    with pytest.raises((AssertionError, ValueError)):
        holds(fault)


# --- hierarchical ----------------------------------------------------------------------------------------------------


def test_the_first_rows_stay_and_the_last_is_the_square() -> None:
    table = RNG.normal(size=(7, 3))
    found = posref.hierarchical_table(table, 49)
    assert np.array_equal(found[:7], table)
    assert np.array_equal(posref.hierarchical_table(table, 20), found[:20])
    with pytest.raises(ValueError, match="rows must be at most 49"):
        posref.hierarchical_table(table, 50)


def test_su_s_example() -> None:
    expected = [1, 2, 4, 1.6667, 2.6667, 4.6667, 3, 4, 6]
    found = posref.hierarchical_table([[1.0], [2.0], [4.0]], 9)[:, 0]
    assert np.abs(found - expected).max() < 5e-5
    assert np.abs(posref.hierarchical_table([[1.0], [2.0], [4.0]], 9, alpha=0.6)[:, 0] - expected).max() > 0.1
