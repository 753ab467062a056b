"""Angles up to 2^-26: the error of each value before its rounding, subnormal results, and faults that show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from posref import _small_angles, _waves, exact
from posref._small_angles import DOUBT, LARGEST, SmallAngles

FREQUENCIES = [(1, 1), (1, 3), (-7, 10**9), (2**60 + 1, 2**59), (5 * 10**4, 7), (10**40, 3), (1, 10**40)]
GAINS = [(1, 1), (-7, 9), (2**60 + 1, 2**61)]


def sizes(low: float, high: float, n: int) -> NDArray[np.float64]:
    source = np.random.default_rng(1)
    return np.asarray(source.choice([-1.0, 1.0], n) * 10.0 ** source.uniform(low, high, n))


def true(position: float, frequency: tuple[int, int], gain: tuple[int, int], *, radians: bool) -> list[Any]:
    angle = arb(position) * arb(fmpq(*frequency)) * (1 if radians else 2 * arb.pi())
    sin, cos = angle.sin_cos()
    return [arb(fmpq(*gain)) * cos, arb(fmpq(*gain)) * sin]


@pytest.fixture(autouse=True)
def precision() -> None:
    ctx.prec = 2500


@pytest.mark.parametrize("radians", [True, False])
@pytest.mark.parametrize("gain", GAINS)
def test_the_error_before_rounding(gain: tuple[int, int], radians: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[Any] = []
    monkeypatch.setattr(SmallAngles, "_decided", lambda self, *args: parts.append(args))
    monkeypatch.setattr(_small_angles, "_subnormal", lambda *args: None)
    worst, seen = 0.0, 0
    for frequency in FREQUENCIES:
        small = SmallAngles([frequency], gain, 1.0, radians, np.dtype(np.float64))
        positions = sizes(-250, np.log10(small.reach), 400)
        parts.clear()
        small.cos_sin(positions[:, None], slice(None))
        (sin_main, sin_rest, power), (cos_main, cos_rest, _) = parts
        for i, p in enumerate(positions.tolist()):
            cos, sin = true(p, frequency, gain, radians=radians)
            scale = arb(float(power[i, 0]))
            off = sin / scale - arb(sin_main[i, 0]) - arb(sin_rest[i, 0])
            worst = max(worst, float(off.abs_upper()) / abs(sin_main[i, 0]))
            worst = max(worst, float((cos - arb(cos_main[i, 0]) - arb(cos_rest[i, 0])).abs_upper()))
            seen += 2
    print(f"gain {gain}: 2^{np.log2(worst):.2f} of {seen} values")
    assert 2.0**-109 < worst < DOUBT / 2


def ulps(values: NDArray[np.float64], positions: NDArray[np.float64], frequencies: list[tuple[int, int]]) -> float:
    """The worst error of sines, in ulp."""
    worst = 0.0
    for i, p in enumerate(positions.tolist()):
        for k, frequency in enumerate(frequencies):
            got = float(values[i, k])
            off = (true(p, frequency, (1, 1), radians=True)[1] - arb(got)).abs_upper()
            worst = max(worst, float(off / arb(np.spacing(abs(got)))))
    return worst


def sines(positions: NDArray[np.float64], frequencies: list[tuple[int, int]] = FREQUENCIES) -> NDArray[np.float64]:
    with exact.real_arithmetic(positions):
        return exact.cos_sin(positions, [exact.real(n) / d for n, d in frequencies])[1]


SPANS = {
    "ordinary": (-60, -9),
    "subnormal": (-323.3, -308),
    "just subnormal": (-308.6, -307.2),
    "next to subnormal": (-309, -303),
    "of all sizes": (-323, 2),
    "not so small": (-4, -2.2),
}


@pytest.mark.parametrize("span", SPANS)
def test_sines_are_correctly_rounded(span: str) -> None:
    positions = sizes(*SPANS[span], 800)
    error = ulps(sines(positions), positions, FREQUENCIES)
    print(f"{span}: {error:.9f} ulp")
    assert error <= 0.5 * (1 + 1e-9)


def test_frequencies_of_any_size() -> None:
    """Also those whose power of two is no float64: they go another way."""
    frequencies = [(1, 1), (1, 10**200), (1, 10**290), (3, 10**310), (7, 10**323), (10**300, 1)]
    positions = np.array([1.0, 0.3, 1e-30, 7e-310, 1e200])
    with exact.real_arithmetic(positions):
        table = exact.cos_sin(positions, [exact.real(n) / d for n, d in frequencies])[1]
    assert ulps(table, positions, frequencies) <= 0.5 * (1 + 1e-9)


def without_low_part(x: Any, y: Any) -> Any:
    return x * y, np.zeros(np.broadcast_shapes(x.shape, y.shape))


FAULTS: dict[str, tuple[str, str, Any]] = {
    "a product in one float64": ("ordinary", "two_product", without_low_part),
    "angles that are not small": ("not so small", "LARGEST", 2.0**-7),
    "subnormal results rounded twice": ("just subnormal", "_subnormal", lambda *args: None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_shows(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    span, name, replacement = FAULTS[fault]
    monkeypatch.setattr(_small_angles, name, replacement)
    positions = sizes(*SPANS[span], 800)
    assert ulps(sines(positions, FREQUENCIES[:3]), positions, FREQUENCIES[:3]) > 0.5001


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_of_all_kinds_side_by_side(dtype: Any, shuffled: bool) -> None:
    """Each row comes out as it does alone, whichever way its neighbours go."""
    parts = [np.zeros(100), sizes(-30, -9, 200), sizes(-7, -4, 200), sizes(0, 12, 200), np.arange(1.0, 300.0)]
    positions = np.concatenate(parts)
    if shuffled:
        positions = np.random.default_rng(2).permutation(positions)
    with exact.real_arithmetic(positions):
        reals = [exact.real(n) / d for n, d in FREQUENCIES]
        together = exact.cos_sin(positions, reals, exact.real(1.19), dtype=dtype)
        for i in range(0, len(positions), 7):
            alone = exact.cos_sin(positions[i : i + 1], reals, exact.real(1.19), dtype=dtype)
            assert all(np.array_equal(t[i], a[0]) for t, a in zip(together, alone, strict=True))


def test_hardly_any_small_angle_needs_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    right: Callable[..., Any] = _waves.hard_cos_sin
    monkeypatch.setattr(_waves, "hard_cos_sin", lambda *args: asked.append(args) or right(*args))
    positions = np.concatenate([sizes(-300, 0, 20000), sizes(-323, -308, 2000)])
    with exact.real_arithmetic(positions):
        exact.cos_sin(positions, [exact.real(n) / d for n, d in FREQUENCIES[:5]])
    assert len(asked) < 10
    assert LARGEST == 2.0**-26
