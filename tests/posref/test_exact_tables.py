"""What does not depend on the values: shapes, routes, bits, memory, imports."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tracemalloc
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posref import _waves, exact


def table(
    positions: Any, n: int = 8, gain: str = "1", base: int = 10000, **others: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    positions = np.asarray(positions)
    with exact.real_arithmetic(positions):
        log = Decimal(base).ln()
        return exact.cos_sin(positions, [(-log * k / n).exp() for k in range(n)], Decimal(gain), **others)


def same(a: tuple[NDArray[Any], NDArray[Any]], b: tuple[NDArray[Any], NDArray[Any]]) -> bool:
    return all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (2, 3, 5), (1, 1, 1)])
@pytest.mark.parametrize("n", [1, 8, 65])
def test_shapes(shape: tuple[int, ...], n: int) -> None:
    for positions in (np.zeros(shape, np.int64), np.full(shape, 0.5)):
        cos, sin = table(positions, n)
        assert cos.shape == sin.shape == (*shape, n)
        assert cos.dtype == sin.dtype == np.float64


def test_no_frequencies() -> None:
    cos, sin = exact.cos_sin(np.arange(3), [])
    assert cos.shape == sin.shape == (3, 0)


def test_zero_angles_are_exact() -> None:
    positions = np.concatenate([np.zeros(5000, np.int64), np.arange(20)])
    with exact.real_arithmetic(positions):
        cos, sin = exact.cos_sin(positions, [Decimal(1), Decimal(0), Decimal("0.1")], Decimal("1.19"))
    assert (cos[:5000] == 1.19).all()
    assert (sin[:5000] == 0).all()
    assert (cos[:, 1] == 1.19).all()
    assert (sin[:, 1] == 0).all()
    assert (sin[5001:, 0] != 0).all()


def test_no_gain() -> None:
    cos, sin = table([0, 1, 2], gain="0")
    assert not cos.any()
    assert not sin.any()


@pytest.mark.parametrize("exponent", [-1060, -950, -3, 0, 5, 1000])
def test_a_power_of_two_as_gain_only_scales(exponent: int) -> None:
    plain, scaled = table(np.arange(300)), table(np.arange(300), gain=str(Decimal(2) ** exponent))
    with np.errstate(under="ignore"):
        for a, b in zip(plain, scaled, strict=True):
            normal = np.abs(np.ldexp(a, exponent)) >= 2.0**-1022
            np.testing.assert_array_equal(b[normal], np.ldexp(a, exponent)[normal])
            # subnormal: the product was rounded once there and once here
            assert (np.abs(b - np.ldexp(a, exponent)) <= 2.0**-1074).all()


# The correctly rounded value is unique, so that whatever changes the route must not change a bit.
PERMUTED = np.random.default_rng(0).permutation(20000)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_routes_agree_to_the_bit(dtype: Any) -> None:
    whole = table(np.arange(20000), 70, "1.19", dtype=dtype)
    for positions in (PERMUTED, PERMUTED.astype(float), PERMUTED.reshape(8, 50, 50), PERMUTED[::-3]):
        assert same(
            table(positions, 70, "1.19", dtype=dtype),
            (whole[0][positions.astype(int)], whole[1][positions.astype(int)]),
        )
    some = np.arange(0, 20000, 1999)
    for p in some:
        assert same(table(p, 70, "1.19", dtype=dtype), (whole[0][p], whole[1][p]))
    minus = table(-some, 70, "1.19", dtype=dtype)
    assert same(minus, (whole[0][some], -whole[1][some]))


@pytest.mark.parametrize(("rows", "block"), [(1000, 64), (1 << 16, 1 << 20), (777, 1 << 13)])
def test_the_size_of_blocks_does_not_matter(monkeypatch: pytest.MonkeyPatch, rows: int, block: int) -> None:
    positions = np.concatenate([np.arange(3000), PERMUTED[:500] * 2**30, np.zeros(700, np.int64)])
    whole = table(positions, base=10**12)
    monkeypatch.setattr(exact, "ROWS", rows)
    monkeypatch.setattr(_waves, "BLOCK", block)
    assert same(table(positions, base=10**12), whole)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_ways_for_a_few_entries_would_do_for_all(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    positions = np.concatenate([np.arange(2000), np.arange(300) * 2**40])
    whole = table(positions, gain="1.19", dtype=dtype)
    for name in ("ERROR", "NARROW_ERROR"):
        monkeypatch.setattr(_waves, name, np.inf)
    if dtype == np.float64:
        assert same(table(positions, gain="1.19"), whole)  # relative to a quarter turn, or in integers
    monkeypatch.setattr(_waves, "RELATIVE_ERROR", np.inf)
    assert same(table(positions, gain="1.19", dtype=dtype), whole)  # all in integers


@pytest.mark.parametrize("gain", [1.0, 0.5, 1.19, -3.0, 2.0**60 - 1, 1e-200, 5e-324, 1e308])
def test_the_mantissa_of_a_gain(gain: float) -> None:
    waves = _waves.Waves([(1, 1)], gain.as_integer_ratio(), True, False, np.dtype(np.float64))
    assert 0.5 < np.abs(waves.circle[0] + waves.circle[1]).max() <= 1 + 2.0**-52
    if not waves.extreme:
        assert waves.circle[0][0].real * waves.scale == pytest.approx(gain, rel=1e-7)


def test_many_frequencies_are_those_of_few() -> None:
    cos, sin = table(np.arange(600), 512)
    with exact.real_arithmetic():
        log = Decimal(10000).ln()
        for i in (0, 63, 64, 511):
            assert same(exact.cos_sin(np.arange(600), [(-log * i / 512).exp()]), (cos[:, i : i + 1], sin[:, i : i + 1]))


def test_arguments_are_left_alone_and_nothing_is_kept() -> None:
    positions = np.arange(5000.0)
    positions.flags.writeable = False
    first = table(positions)
    kept = first[0].copy()
    first[0][:] = 7.0
    assert np.array_equal(table(positions)[0], kept)


@pytest.mark.parametrize(
    ("positions", "n"),
    [
        (np.arange(131072), 64),
        (np.arange(16384), 512),
        (np.random.default_rng(5).integers(0, 2**53, 60000), 64),
        (np.random.default_rng(5).uniform(-1e3, 1e3, 60000), 64),
        (np.arange(1 << 20), 2),
    ],
    ids=["consecutive", "wide", "random", "floats", "long"],
)
def test_memory(positions: NDArray[Any], n: int) -> None:
    table(positions[:10], n)  # the table of points is made once
    tracemalloc.start()
    try:
        cos, sin = table(positions, n)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    beside = (peak - cos.nbytes - sin.nbytes) / 2**20
    print(f"{beside:.1f} MiB beside the result")
    assert beside <= 16


BITS = """
import hashlib, sys
sys.path[:0] = [sys.argv[1]]
import numpy as np
from decimal import Decimal
from posref import exact
digest = hashlib.sha256()
for p in (np.arange(30000), np.random.default_rng(1).integers(0, 2**53, 3000), np.arange(3000) / 7):
    with exact.real_arithmetic(p):
        w = [(-Decimal(10000).ln() * k / 64).exp() for k in range(64)]
        for dtype in (np.float64, np.float32):
            for part in exact.cos_sin(p, w, Decimal("1.19"), dtype=dtype):
                digest.update(part.tobytes())
print(digest.hexdigest())
"""


def test_bits_do_not_depend_on_the_processor() -> None:
    found = np._core._multiarray_umath  # type: ignore[attr-defined]
    features = [name for name in found.__cpu_dispatch__ if found.__cpu_features__.get(name)]
    digests = set()
    for disabled in ("", " ".join(features)):
        environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": disabled}
        command = [sys.executable, "-c", BITS, os.path.dirname(os.path.dirname(exact.__file__))]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1
    assert digests != {hashlib.sha256().hexdigest() + "\n"}


def test_importing_it_imports_little() -> None:
    look = "import sys, numpy; had = set(sys.modules); import posref.exact; print(*sorted(set(sys.modules) - had))"
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(exact.__file__))}
    seen = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, env=environment, check=True)
    assert not {"mpmath", "flint", "sympy", "torch"} & set(seen.stdout.split())
