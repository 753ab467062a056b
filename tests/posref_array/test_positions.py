"""Positions of every type mean the same numbers, and differences of unsigned ones are signed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_kit import INTEGERS, LIBRARIES, Library, read

import posref
import posref_array

REALS = {"numpy": ("float16", "bfloat16"), "torch": ("float16", "bfloat16"), "strict": ()}
EVERY = [
    pytest.param(lib, dtype, id=f"{lib.name}-{dtype}")
    for lib in LIBRARIES
    for dtype in (*INTEGERS, *REALS[lib.name], "float32", "float64")
]
WHOLE = [pytest.param(lib, dtype, id=f"{lib.name}-{dtype}") for lib in LIBRARIES for dtype in INTEGERS]
POSITIONS = np.array([0, 3, 1, 127, 64])  # exact in all types


def same(got: Any, expected: Any) -> bool:
    pairs = zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]
    return all(bool((read(a) == read(b)).all()) for a, b in pairs)


@pytest.mark.parametrize(("lib", "dtype"), EVERY)
def test_tables_are_bit_for_bit_those_of_int64(lib: Library, dtype: str) -> None:
    p, whole = lib.make(POSITIONS, dtype), lib.make(POSITIONS, "int64")
    w, wide = lib.make([1.0, 0.01], "float64"), {"dtype": lib.dtype("float64"), "xp": lib.xp}
    x = lib.make(np.arange(20.0).reshape(5, 4), "float32")
    assert same(posref_array.rope_cos_sin(p, w, xp=lib.xp), posref_array.rope_cos_sin(whole, w, xp=lib.xp))
    assert same(posref_array.rope_table(p, 8, **wide), posref_array.rope_table(whole, 8, **wide))
    assert same(posref_array.sinusoidal(p, 8, **wide), posref_array.sinusoidal(whole, 8, **wide))
    assert same(posref_array.timestep_embedding(p, 8, **wide), posref_array.timestep_embedding(whole, 8, **wide))
    assert same(posref_array.rope(x, p, xp=lib.xp), posref_array.rope(x, whole, xp=lib.xp))
    # the planted fault: positions in the type of the data, as bfloat16 tables are often made
    if dtype == "bfloat16":
        late, true = lib.make([301], dtype), lib.make([301], "int64")
        assert not same(posref_array.rope_table(late, 8, **wide), posref_array.rope_table(true, 8, **wide))


@pytest.mark.parametrize("form", ["distance", "signed", "key"])
@pytest.mark.parametrize(("lib", "dtype"), EVERY)
def test_alibi_of_every_type(lib: Library, dtype: str, form: str) -> None:
    p, m = lib.make(POSITIONS, dtype), [0.5, 0.25]
    bias = posref_array.alibi_bias(lib.make(m, "float64"), p, p, form=form, xp=lib.xp)
    assert (read(bias) == posref.alibi_bias(m, POSITIONS, POSITIONS, form=form)).all()


@pytest.mark.parametrize(("lib", "dtype"), WHOLE)
def test_t5_of_every_type(lib: Library, dtype: str) -> None:
    p, table = lib.make(POSITIONS, dtype), np.arange(64.0).reshape(32, 2)
    bias = posref_array.t5_bias(lib.make(table, "float64"), p, p, xp=lib.xp)
    assert (read(bias) == posref.t5_bias(table, POSITIONS, POSITIONS)).all()
    relative = POSITIONS if dtype.startswith("u") else POSITIONS - 120
    bucket = posref_array.t5_bucket(lib.make(relative, dtype), xp=lib.xp)
    assert (read(bucket) == posref.t5_bucket(relative)).all()


@pytest.mark.parametrize(("lib", "dtype"), WHOLE)
def test_rows_of_every_type(lib: Library, dtype: str) -> None:
    table = np.arange(256.0).reshape(128, 2)
    rows = posref_array.learned(lib.make(table, "float32"), lib.make(POSITIONS, dtype), xp=lib.xp)
    assert (read(rows) == table[POSITIONS]).all()


def test_a_difference_in_an_unsigned_type_would_wrap() -> None:
    """The planted fault of the tests above: what they compare with is not what the type itself computes."""
    p = POSITIONS.astype(np.uint8)
    wrapped = -0.5 * np.abs(p[:, None] - p[None, :]).astype(np.float64)
    assert not (wrapped == posref.alibi_bias([0.5], POSITIONS, POSITIONS)[0]).all()
    assert np.float16(2049) == np.float16(2048)  # and a 16-bit type has lost positions before any arithmetic


@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_integers_are_exact_to_2_to_the_53(lib: Library) -> None:
    p = np.array([2**53, 2**53 - 1, -(2**53)])
    for own, cos in zip(
        posref_array.rope_cos_sin(lib.make(p, "int64"), lib.make([1.0], "float64"), xp=lib.xp),
        (np.cos(p.astype(np.float64)), np.sin(p.astype(np.float64))),  # one frequency of 1: the angle is the position
        strict=True,
    ):
        assert np.abs(read(own)[:, 0] - cos).max() <= 2.0**-52
    assert abs(np.cos(float(2**53)) - np.cos(float(2**53 - 1))) > 0.01
