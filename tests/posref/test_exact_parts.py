"""The bounds that the arithmetic states, each held to balls. Were one too small, Ziv's test would say yes too often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from posref import _rotation
from posref._rotation import (
    ERROR,
    POINTS,
    RELATIVE_ERROR,
    SMALLEST_ERROR,
    Angles,
    Split,
    circle,
    on_grid,
    product,
    small_rotation,
    split,
    upper_half,
)
from posref._waves import NARROW_ERROR

GAINS = [(1, 1), (-7, 9), (2**60 + 1, 2**61)]
FREQUENCIES = [(1, 1), (10**6 + 1, 10**9), (3, 10**7), (123456789, 10**3), (-7, 3)]
POSITIONS = {
    "small": np.arange(1.0, 2000.0),
    "large": np.random.default_rng(1).integers(2**52, 2**53, 2000).astype(float),
    "floats": np.random.default_rng(2).uniform(-1e3, 1e3, 2000),
    "huge": 10.0 ** np.random.default_rng(3).uniform(0, 300, 500),
}


def taken(table: Split, at: NDArray[np.intp]) -> Split:
    return table[0][at], table[1][at]


def rotation(positions: NDArray[np.float64], gain: tuple[int, int], first: Callable[[Any], Any] = on_grid) -> Any:
    j, high, low = Angles(positions, FREQUENCIES).rows(slice(None))
    return product(taken(circle(gain), j), small_rotation(high, low, first)), j


def true(position: float, frequency: tuple[int, int], gain: tuple[int, int]) -> tuple[Any, Any]:
    sin, cos = (arb(position) * arb(fmpq(*frequency))).sin_cos()
    return arb(fmpq(*gain)) * cos, arb(fmpq(*gain)) * sin


def largest(errors: list[Any]) -> float:
    return max(float(e.abs_upper()) for e in errors)


def errors(main: NDArray[Any], rest: NDArray[Any], positions: NDArray[np.float64], gain: tuple[int, int]) -> list[Any]:
    found = []
    for i, p in enumerate(positions.tolist()):
        for k, frequency in enumerate(FREQUENCIES):
            cos, sin = true(p, frequency, gain)
            found += [
                cos - arb(main[i, k].real) - arb(rest[i, k].real),
                sin - arb(main[i, k].imag) - arb(rest[i, k].imag),
            ]
    return found


@pytest.fixture(autouse=True)
def precision() -> None:
    ctx.prec = 1300


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("name", POSITIONS)
def test_one_product(name: str, gain: tuple[int, int]) -> None:
    (main, rest), _ = rotation(POSITIONS[name], gain)
    off = largest(errors(main, rest, POSITIONS[name], gain))
    print(f"{name}, gain {gain}: 2^{np.log2(off):.2f}")
    assert off <= 2.0**-76.1


def test_a_small_rotation() -> None:
    high = np.concatenate([np.random.default_rng(7).uniform(-1, 1, 3000), [-1.0, 0.0, 1.0]]) * 2.0**-12
    low = np.random.default_rng(8).uniform(-1, 1, high.size) * 2.0**-66
    first, second = small_rotation(high, low, on_grid)
    most = 0.0
    for h, t, z, w in zip(high.tolist(), low.tolist(), first.tolist(), second.tolist(), strict=True):
        sin, cos = (2 * (arb(h) + arb(t))).sin_cos_pi()
        off = (cos - arb(z.real) - arb(w.real)) ** 2 + (sin - arb(z.imag) - arb(w.imag)) ** 2
        most = max(most, float(off.sqrt().abs_upper()))
    print(f"2^{np.log2(most):.2f}")
    assert most <= 2.0**-78.1


@pytest.mark.parametrize("gain", GAINS)
def test_product_of_products(gain: tuple[int, int]) -> None:
    coarse, fine = np.arange(-40.0, 40.0) * 2**40, np.arange(50.0) * 3
    a, b = split(*rotation(coarse, (1, 1))[0]), split(*rotation(fine, gain)[0])
    rows, columns = (i.ravel() for i in np.indices((coarse.size, fine.size)))
    main, rest = product(taken(a, rows), taken(b, columns))
    positions = coarse[rows] + fine[columns]
    off = largest(errors(main, rest, positions, gain))
    print(f"gain {gain}: 2^{np.log2(off):.2f}")
    assert off <= ERROR - 2.0**-79


def test_a_plain_product_for_narrow_types() -> None:
    coarse, fine = np.arange(-40.0, 40.0) * 2**40, np.arange(50.0) * 3
    a, b = (np.add(*split(*rotation(p, (1, 1))[0])) for p in (coarse, fine))
    main = (a[:, None] * b).reshape(-1, 5)
    off = largest(errors(main, np.zeros_like(main), (coarse[:, None] + fine).ravel(), (1, 1)))
    print(f"2^{np.log2(off):.2f}")
    assert off <= NARROW_ERROR - 2.0**-53  # Ziv's test rounds once more


@pytest.mark.parametrize("gain", GAINS)
def test_near_quarter_turns_the_error_is_relative(gain: tuple[int, int]) -> None:
    ctx.prec = 400
    k = np.random.default_rng(4).integers(0, 2**20, 3000)
    near = k * (np.pi / 2) * (1 + 10.0 ** np.random.default_rng(5).uniform(-17, -9, 3000))
    positions = np.concatenate([near, 10.0 ** np.random.default_rng(6).uniform(-12, -4, 1000)])
    j, high, low = Angles(positions, [(1, 1)]).rows(slice(None))
    main, rest = product(taken(circle(gain), j), small_rotation(high, low, upper_half))
    most, seen = 0.0, 0
    for i in np.flatnonzero(j[:, 0] % (POINTS // 4) == 0):
        for value, m, r in zip(
            true(positions[i], (1, 1), gain),
            (main[i, 0].real, main[i, 0].imag),
            (rest[i, 0].real, rest[i, 0].imag),
            strict=True,
        ):
            most = max(most, float((value - arb(m) - arb(r)).abs_upper()) / (abs(m) * RELATIVE_ERROR + SMALLEST_ERROR))
            seen += 1
    print(f"gain {gain}: {most:.3f} of the bound, {seen} values")
    assert seen > 5000
    assert 0 < most <= 1


def test_the_angle() -> None:
    for positions in POSITIONS.values():
        j, high, low = Angles(positions, FREQUENCIES).rows(slice(None))
        assert (np.abs(high) <= 2.0**-12 + 2.0**-26).all()
        for i in range(0, len(positions), 7):
            for k, frequency in enumerate(FREQUENCIES):
                turns = arb(positions[i]) * arb(fmpq(*frequency)) / (2 * arb.pi())
                off = turns - arb(int(j[i, k])) / POINTS - arb(high[i, k]) - arb(low[i, k])
                off -= (off + arb(0.5)).floor()
                assert float(off.abs_upper()) < 2.0**-104


def test_the_points() -> None:
    for gain in GAINS:
        first, second = circle(gain)
        for j in range(0, POINTS, 5):
            sin, cos = (arb(2 * j) / POINTS).sin_cos_pi()
            g = arb(fmpq(*gain))
            off = [
                g * cos - arb(first[j].real) - arb(second[j].real),
                g * sin - arb(first[j].imag) - arb(second[j].imag),
            ]
            assert largest(off) <= 2.0**-81
        assert not first[:: POINTS // 2].imag.any()
        assert not second[POINTS // 4 :: POINTS // 2].real.any()
        on = first.view(np.float64) * 2**26
        assert np.array_equal(on, np.rint(on))


@pytest.mark.parametrize("name", POSITIONS)
def test_digits_make_the_position(name: str) -> None:
    positions = np.concatenate([POSITIONS[name], -POSITIONS[name], [0.0, 5e-324, -(2.0**53), 1.7976931348623157e308]])
    digits, shifts = _rotation._digits(positions)
    assert np.array_equal(digits, np.rint(digits))
    assert (np.abs(digits) <= 2**26).all()
    for p, (m, n), (s, t) in zip(positions.tolist(), digits.T.tolist(), shifts.T.tolist(), strict=True):
        assert fmpq(*p.as_integer_ratio()) == int(m) * fmpq(2) ** s + int(n) * fmpq(2) ** t


def test_first_parts_multiply_exactly() -> None:
    j, high, low = Angles(POSITIONS["floats"], FREQUENCIES).rows(slice(None))
    near = j % (POINTS // 4) == 0
    for first, chosen in ((on_grid, np.ones_like(near)), (upper_half, near)):
        z, w = taken(circle(GAINS[1]), j[chosen])[0], small_rotation(high[chosen], low[chosen], first)[0]
        assert z.size
        for a, b, c in zip(z.tolist(), w.tolist(), (z * w).tolist(), strict=True):
            parts = [fmpq(*x.as_integer_ratio()) for x in (a.real, a.imag, b.real, b.imag, c.real, c.imag)]
            assert parts[0] * parts[2] - parts[1] * parts[3] == parts[4]
            assert parts[0] * parts[3] + parts[1] * parts[2] == parts[5]
