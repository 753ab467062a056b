"""cos_sin against rigorous enclosures: python-flint's ball arithmetic says where the true value lies, to 2^-200 or better."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray

from posref import _waves, exact

ENTRIES = 100_000
# Correct rounding is 0.5 ulp. The enclosure adds 2^-100, float() of its upper end 2^-52.
LIMIT = 0.5 * (1 + 1e-9)

Table = tuple[NDArray[Any], NDArray[Any]]
Frequencies = tuple[list[Decimal], list[Any]]  # for posref, and the same real numbers as balls, by other means


def ulp(values: NDArray[np.float64], dtype: Any) -> NDArray[np.float64]:
    """The distance of neighbouring numbers of a type."""
    digits, least = {"float64": (53, -1074), "float32": (24, -149), "float16": (11, -24), "bfloat16": (8, -133)}[
        np.dtype(dtype).name
    ]
    _, exponent = np.frexp(values)
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - digits, least)))


def enclosure(position: Any, frequency: Any, gain: Any, radians: bool) -> tuple[Any, Any]:
    p = arb(int(position)) if isinstance(position, np.integer) else arb(float(position))
    sin, cos = (p * frequency).sin_cos() if radians else (2 * p * frequency).sin_cos_pi()
    return gain * cos, gain * sin


def worst(
    table: Table,
    positions: NDArray[Any],
    frequencies: list[Any],
    gain: Any,
    *,
    radians: bool = True,
    entries: int = ENTRIES,
    seed: int = 1,
) -> float:
    """The largest error of random entries, in ulp."""
    flat = positions.reshape(-1)
    cos, sin = (part.reshape(flat.size, len(frequencies)) for part in table)
    source = np.random.default_rng(seed)
    rows, columns = source.integers(0, flat.size, entries), source.integers(0, len(frequencies), entries)
    got = np.stack([cos[rows, columns], sin[rows, columns]], axis=1).astype(np.float64)
    units = ulp(got, cos.dtype)
    most, values = 0.0, got.tolist()
    reach = max(float(np.abs(flat).max()), 1.0)
    ctx.prec = 300 + int(np.log2(reach))
    for row, column, (c, s), (c_unit, s_unit) in zip(rows, columns, values, units.tolist(), strict=True):
        true_cos, true_sin = enclosure(flat[row], frequencies[column], gain, radians)
        most = max(most, float((true_cos - c).abs_upper() / c_unit), float((true_sin - s).abs_upper() / s_unit))
    return most


def ladder(base: float, n: int = 64) -> Frequencies:
    ctx.prec = 2000
    log = Decimal(base).ln()
    return [(-log * k / n).exp() for k in range(n)], [arb(base) ** (-arb(k) / n) for k in range(n)]


def given(*values: float) -> Frequencies:
    return [exact.real(v) for v in values], [arb(v) for v in values]


def learned(n: int) -> Frequencies:
    source = np.random.default_rng(2)
    return given(*(source.choice([-1.0, 1.0], n) * 10.0 ** source.uniform(-14, 12, n)).tolist())


def random(size: int, low: int, high: int) -> NDArray[np.int64]:
    return np.random.default_rng(3).integers(low, high, size)


def batches() -> NDArray[np.int64]:
    return random(32, 0, 2**40)[:, None] + np.arange(4096)


def of_any_size() -> NDArray[np.float64]:
    source = np.random.default_rng(4)
    sizes = np.concatenate([source.uniform(-324, -12, 300), source.uniform(-12, 308, 1200), [-323.0, -323.3, 308.2]])
    return np.array(source.choice([-1.0, 1.0], sizes.size) * 10.0**sizes)


def of_sizes(low: float, high: float) -> NDArray[np.float64]:
    source = np.random.default_rng(6)
    return np.array(source.choice([-1.0, 1.0], 8000) * 10.0 ** source.uniform(low, high, 8000))


def small_floats() -> NDArray[np.float64]:
    return np.array(10.0 ** np.random.default_rng(5).uniform(-15, 0, 5000))


# positions, frequencies, gain
PATHS: dict[str, tuple[Callable[[], NDArray[Any]], Callable[[], Frequencies], float]] = {
    "consecutive": (lambda: np.arange(131072), lambda: ladder(10000.0), 1.0),
    "consecutive and far": (lambda: np.arange(2**53 - 70000, 2**53 + 1), lambda: ladder(500000.0), 1.19),
    "across zero, backwards, in steps": (lambda: np.arange(300000, -300000, -7), lambda: ladder(1e6), 1.0),
    "a batch of sequences": (batches, lambda: ladder(10000.0), 1.25),
    "unsorted below 2^20": (lambda: random(70000, 0, 2**20), lambda: ladder(10000.0), 1.0),
    "unsorted below 2^53": (lambda: random(20000, -(2**53), 2**53), lambda: ladder(10000.0), 0.7),
    "quarters": (lambda: np.arange(100000) / 4 - 5000, lambda: ladder(10000.0, 12), 1.0),
    "thirds": (lambda: np.arange(20000) / 3, lambda: ladder(10000.0), 1.0),
    "learned frequencies": (lambda: random(20000, -(2**31), 2**31), lambda: learned(100), 1.0),
    "learned frequencies, consecutive": (lambda: np.arange(10**6, 10**6 + 20000), lambda: learned(100), -3.0),
    "results that are subnormal": (small_floats, lambda: ladder(10000.0, 4), 2.0**-1000),
    "small angles": (lambda: of_sizes(-30, 0), lambda: ladder(10000.0), 1.19),
    "small angles of learned frequencies": (lambda: of_sizes(-30, -4), lambda: learned(100), 1.0),
    "subnormal positions": (lambda: of_sizes(-323, -306), lambda: ladder(10000.0), 1.0),
    "slow": (lambda: np.arange(50000), lambda: ladder(1e12), 1.0),
    "pi as float64: always near zero": (lambda: np.arange(20000), lambda: given(np.pi / 2, np.pi, 2 * np.pi), 1.0),
}


@pytest.mark.parametrize("path", PATHS)
def test_every_path_is_correctly_rounded(path: str) -> None:
    make_positions, make_frequencies, gain = PATHS[path]
    positions = make_positions()
    with exact.real_arithmetic(positions):
        reals, balls = make_frequencies()
        table = exact.cos_sin(positions, reals, exact.real(gain))
    assert table[0].shape == table[1].shape == (*positions.shape, len(reals))
    error = worst(table, positions, balls, arb(gain))
    print(f"{path}: worst of {2 * ENTRIES} values {error:.9f} ulp")
    assert error <= LIMIT


def test_floats_of_any_size() -> None:
    positions = of_any_size()
    with exact.real_arithmetic(positions):
        reals, balls = ladder(10000.0, 16)
        table = exact.cos_sin(positions, reals)
    error = worst(table, positions, balls, arb(1), entries=10000)
    print(f"floats of any size: worst of 20000 values {error:.9f} ulp")
    assert error <= LIMIT


def test_a_plain_table_is_not() -> None:
    positions = np.arange(131072)
    with exact.real_arithmetic(positions):
        reals, balls = ladder(10000.0)
    angles = positions[:, None] * exact.rounded(reals)
    assert worst((np.cos(angles), np.sin(angles)), positions, balls, arb(1), entries=1000) > 100


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    "positions", [np.arange(2**31 - 60000, 2**31), random(8000, 0, 2**31)], ids=["tables", "angles"]
)
def test_narrow_types_are_rounded_once(positions: NDArray[Any], dtype: Any) -> None:
    with exact.real_arithmetic(positions):
        reals, balls = ladder(10000.0)
        table = exact.cos_sin(positions, reals, dtype=dtype)
    assert table[0].dtype == table[1].dtype == dtype
    assert worst(table, positions, balls, arb(1), entries=ENTRIES // 2) <= LIMIT


def test_float64_rounded_to_float32_again_would_differ_only_at_ties() -> None:
    positions = np.arange(2**31 - 60000, 2**31)
    with exact.real_arithmetic(positions):
        reals, _ = ladder(10000.0)
        wide, narrow = exact.cos_sin(positions, reals), exact.cos_sin(positions, reals, dtype=np.float32)
    for a, b in zip(wide, narrow, strict=True):
        np.testing.assert_array_equal(a.astype(np.float32), b)
    angles = positions[:, None] * exact.rounded(reals)
    assert (np.cos(angles).astype(np.float32) != narrow[0]).mean() > 0.05  # what plain float64 makes of them


def test_turns() -> None:
    positions = np.concatenate([np.arange(-40, 40) / 8, random(3000, -(2**53), 2**53) / 2**20])
    reals, balls = given(1.0, 0.5, 0.125, 3.0, 0.3, 2.0**-40)
    with exact.real_arithmetic(positions):
        cos, sin = exact.cos_sin(positions, reals, radians=False)
    assert worst((cos, sin), positions, balls, arb(1), radians=False, entries=20000) <= LIMIT
    np.testing.assert_array_equal(cos[:80, 0], np.where(np.arange(-40, 40) % 4 == 2, 0.0, cos[:80, 0]))
    np.testing.assert_array_equal(sin[:80:4, 0], 0.0)  # half turns, exactly
    assert set(cos[:80:2, 0].tolist()) == {-1.0, 0.0, 1.0}


# --- hard cases ------------------------------------------------------------------------------------------------------


def hard_cases() -> Any:
    path = Path(__file__).parents[1] / "scripts" / "hard_cases.py"
    spec = importlib.util.spec_from_file_location("hard_cases", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HARD = hard_cases().GIVEN_FREQUENCIES


def of_hard_case(position: float, frequency: float, n: int = 1, dtype: Any = np.float64) -> float:
    """The error, among n positions that surround it or alone."""
    positions = np.array([position]) if n == 1 else np.arange(int(position) - n, int(position) + n)
    with exact.real_arithmetic(positions):
        table = exact.cos_sin(positions, [exact.real(frequency)], dtype=dtype)
    here = slice(n if n > 1 else 0, n + 1 if n > 1 else 1)
    return worst((table[0][here], table[1][here]), positions[here], [arb(frequency)], arb(1), entries=1)


@pytest.mark.parametrize(("distance", "position", "frequency"), HARD)
def test_hard_cases_are_hard_and_right(distance: float, position: float, frequency: float) -> None:
    ctx.prec = 1200
    angle = arb(position) * arb(frequency) / (arb.pi() / 2)
    to_quarter = min((angle - k).abs_upper() for k in (angle.floor(), angle.ceil())) * arb.pi() / 2
    assert float(to_quarter) == pytest.approx(2.0**distance, rel=0.01)
    for dtype in (np.float64, np.float32):
        assert of_hard_case(position, frequency, dtype=dtype) <= LIMIT
        if isinstance(position, int):
            assert of_hard_case(position, frequency, 3000, dtype) <= LIMIT  # by way of tables


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hard_cases_need_the_doubt(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    for name in ("ERROR", "NARROW_ERROR", "RELATIVE_ERROR", "SMALLEST_ERROR"):
        monkeypatch.setattr(_waves, name, 0.0)
    whole = [of_hard_case(p, w, n, dtype) for _, p, w in HARD for n in (1, 3000) if n == 1 or isinstance(p, int)]
    assert max(whole) > 1


def test_hard_cases_are_what_the_search_finds() -> None:
    script = Path(__file__).parents[1] / "scripts" / "hard_cases.py"
    assert subprocess.run([sys.executable, str(script), "--check"], timeout=60).returncode == 0


@pytest.mark.parametrize(("steps", "expected"), [(5, 0), (15, 1), (25, 2), (35, 3), (-15, -1), (16, 2), (14, 1)])
def test_a_tie_that_the_sine_falls_short_of(steps: int, expected: int) -> None:
    """A tenth of 15 smallest numbers is a tie, which to even would be 2; the sine is a little less, and rounds to 1."""
    least = 2.0**-1074
    with exact.real_arithmetic():
        cos, sin = exact.cos_sin(np.array([steps * least, 1e-310]), [Decimal("0.1")])
        _, turned = exact.cos_sin(np.array([steps * least]), [Decimal("0.1")], Decimal(-1))
    assert cos.tolist() == [[1.0], [1.0]]
    assert sin[0, 0] == expected * least
    assert turned[0, 0] == -expected * least
