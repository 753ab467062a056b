"""Addresses and row numbers that do not fit into 32 bits, in memory that is only reserved: two pages of it are touched."""

import mmap

import numpy as np
import pytest

import posref
import posref_cupy
from posref_cupy import _plan, kernels


@pytest.fixture
def vast():
    """17 GiB of zeros that take no memory until they are written to."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    try:
        memory = mmap.mmap(-1, 17 * 2**30, flags=flags)
    except (OSError, MemoryError) as problem:
        pytest.skip(f"17 GiB of address space cannot be reserved: {problem}")
    return np.frombuffer(memory, dtype=np.float16)


def far_apart(cpu, vast):
    """The error of a rotation in place whose last rows are 2^32 + 64 elements after the first ones: 64 after them in 32 bits."""
    assert vast.size > 2**32 + 64 + 16
    x = np.lib.stride_tricks.as_strided(vast, (2, 2, 3, 4), (2 * (2**32 + 64), 48, 8, 2)).view(cpu.cupy.ndarray)
    rng = np.random.default_rng(0)
    before = rng.normal(size=x.shape).astype(np.float16)
    x[...] = before
    cos, sin = rng.normal(size=(2, 1, 3, 2)).astype(np.float32), rng.normal(size=(2, 1, 3, 2)).astype(np.float32)
    posref_cupy.rope_apply(x, cpu.put(cos), cpu.put(sin), out=x)
    return np.abs(np.asarray(x) - posref.rope_apply(before, cos, sin)).max()


def test_rows_that_are_far_apart(cpu, vast):
    assert far_apart(cpu, vast) < 2.0**-8  # values below 8 in float16: a half step is 2^-9


@pytest.mark.parametrize("axis", ["x", "out"])
def test_32_bit_addresses_are_found(cpu, vast, monkeypatch, axis):
    right = f"i * p.{axis}[0]"
    assert kernels.ROPE_APPLY.count(right) == 1
    monkeypatch.setitem(kernels.TEXTS, "rope_apply", kernels.ROPE_APPLY.replace(right, f"(int)({right})"))
    assert not far_apart(cpu, vast) < 2.0**-8


def rows(cpu, vast, grid, first):
    """Rows that block ``first`` of a launch writes, for 2^33 rows of which each lies one element after the last.

    All of x is the one pair (0, 1), not turned, and both of its channels go to the same place: where a row is written is a 1.
    """
    plan = np.zeros(1, dtype=_plan.PLAN)
    plan["size"], plan["out"], plan["pairs"] = [1, 1, 2**33], [0, 0, 1], 1
    plan["x_step"] = plan["x_apart"] = plan["out_step"] = 1
    x, cos, sin = (cpu.put(np.array(v, dtype=t)) for v, t in (([0, 1], "float16"), ([1], "float32"), ([0], "float32")))
    kernel = cpu.raw_kernel(kernels.source("rope_apply", dtype="float16"), "rope_apply")
    vast = vast.view(cpu.cupy.ndarray)
    kernel(grid, (1, 4), (x, cos, sin, vast, plan), first=first, count=(1, 1, 1))
    near, far = (np.flatnonzero(np.asarray(part)) for part in (vast[: 2**12], vast[2**33 - 2**12 : 2**33]))
    return [*near.tolist(), *(far + 2**33 - 2**12).tolist()]


FAR = [2**33 - 4, 2**33 - 3, 2**33 - 2, 2**33 - 1]
LAST_BLOCK = ((2**31, 1, 1), (2**31 - 1, 0, 0), FAR)  # of 4 rows each
ONE_STEP = ((2**31 - 1, 1, 1), (0, 0, 0), [0, 1, 2, 3, *FAR])  # of the first block, over all the others


@pytest.mark.parametrize(("grid", "first", "expected"), [LAST_BLOCK, ONE_STEP])
def test_row_numbers_beyond_32_bits(cpu, vast, grid, first, expected):
    assert rows(cpu, vast, grid, first) == expected


@pytest.mark.parametrize(
    ("right", "wrong", "launch"),
    [
        ("(long long)blockIdx.x * blockDim.y", "blockIdx.x * blockDim.y", LAST_BLOCK),
        ("const long long first_row", "const unsigned first_row", LAST_BLOCK),
        ("(long long)gridDim.x * blockDim.y", "gridDim.x * blockDim.y", ONE_STEP),
    ],
)
def test_32_bit_row_numbers_are_found(cpu, vast, monkeypatch, right, wrong, launch):
    assert kernels.ROPE_APPLY.count(right) == 1
    text = kernels.ROPE_APPLY.replace(right, wrong)
    if launch is LAST_BLOCK:  # no steps, or it would walk from a wrong row to all the others
        text = text.replace("k += next_row", "k += p.size[2]")
    monkeypatch.setitem(kernels.TEXTS, "rope_apply", text)
    grid, first, expected = launch
    assert rows(cpu, vast, grid, first) != expected
