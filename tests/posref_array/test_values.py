"""Every function against the reference, on every library and type, within bounds that helpers/array_kit.py derives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from array_kit import LIBRARIES, Library, U, cast, once, outside, read, type_of, working

import posref
import posref_array

ON = [pytest.param(lib, dtype, id=f"{lib.name}-{dtype}") for lib in LIBRARIES for dtype in lib.floats]
rng = np.random.default_rng(7)
POSITIONS = np.array([0, 1, 2, 5, 63, 127, 4095, 131071])
SCALINGS = {
    "plain": None,
    "linear": posref.LinearScaling(4.0),
    "ntk": posref.NTKScaling(4.0),
    "dynamic": posref.DynamicNTKScaling(2.0, 64),
    "yarn": posref.YarnScaling(4.0, 64),
    "yarn-paper": posref.YarnScaling(4.0, 64, ramp="rotations"),
    "yarn-untruncated": posref.YarnScaling(32.0, 4096, truncate=False),
    "yarn-mscale": posref.YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=0.707),
    "llama3": posref.Llama3Scaling(8.0, 64, 1.0, 4.0),
    "llama3-step": posref.Llama3Scaling(16.0, 64, 1.0, 1.0),
    "longrope": posref.LongRopeScaling([1.0, 1.1, 1.5, 2.0], [1.0, 2.0, 4.0, 8.0], 64, factor=4.0),
}


def off(function: Callable[..., Any]) -> Callable[..., Any]:
    """A planted fault: results that are off by 2^-16 of themselves, or by one if they are integers."""

    def faulty(*args: Any, xp: Any, **kwargs: Any) -> Any:
        result = function(*args, xp=xp, **kwargs)
        if isinstance(result, tuple):
            return tuple(t * (1 + 2.0**-16) for t in result)
        return result * (1 + 2.0**-16) if "float" in type_of(result) else result + 1

    return faulty


def both(check: Callable[..., float], function: Callable[..., Any], dtype: str) -> None:
    """The function is within its bound, and the check sees a fault of it where the type can show it."""
    assert check(function) <= 1.0
    if dtype in ("float64", "float32"):
        assert check(off(function)) > 1.0


@pytest.mark.parametrize("scaling", SCALINGS.values(), ids=SCALINGS)
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_frequencies_and_tables(lib: Library, dtype: str, scaling: Any) -> None:
    given = {"base": 500000.0, "scaling": scaling, "seq_len": 128}
    w, g = posref.rope_inv_freq(8, **given), posref.rope_attention_factor(scaling)
    own = {**given, "dtype": lib.dtype(dtype)}

    def frequencies(function: Callable[..., Any]) -> float:
        return outside(function(8, **own, xp=lib.xp), w, 12 * U * w + once(dtype, w))

    def tables(function: Callable[..., Any]) -> float:
        results = function(lib.make(POSITIONS, "int64"), 8, **own, xp=lib.xp)
        phase = g * (14 * U * POSITIONS[:, None] * w + 4 * U)
        expected = posref.rope_table(POSITIONS, 8, **given)
        return max(outside(t, y, phase + once(dtype, y)) for t, y in zip(results, expected, strict=True))

    both(frequencies, posref_array.rope_inv_freq, dtype)
    both(tables, posref_array.rope_table, dtype)
    assert abs(posref_array.rope_attention_factor(scaling) - g) <= 8 * U * g


@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_tables_of_given_frequencies(lib: Library, dtype: str) -> None:
    w = lib.make([1.0, 0.37, 1e-4], dtype)
    positions = np.array([[-3.25, 0.0, 7.5], [131071.0, 2.0**24 + 1, 1e-3]])

    def check(function: Callable[..., Any]) -> float:
        results = function(lib.make(positions, "float64"), w, attention_factor=1.5, xp=lib.xp)
        assert {type_of(t) for t in results} == {dtype}
        expected = posref.rope_cos_sin(positions, read(w), attention_factor=1.5)
        phase = 1.5 * (2 * U * np.abs(positions[..., None] * read(w)) + 4 * U)
        return max(outside(t, y, phase + once(dtype, y)) for t, y in zip(results, expected, strict=True))

    both(check, posref_array.rope_cos_sin, dtype)


LAYOUTS = ("half", "interleaved")


@pytest.mark.parametrize(
    ("layout", "output_layout", "offset", "inverse"),
    [*itertools.product(LAYOUTS, (None, *LAYOUTS), (0, 3), (False, True))],
)
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_rotation(lib: Library, dtype: str, layout: str, output_layout: str | None, offset: int, inverse: bool) -> None:
    x, table_type = lib.make(rng.normal(size=(2, 3, 5, 11)), dtype), "float32" if dtype != "float64" else "float64"
    cos, sin = (lib.make(rng.normal(size=(2, 1, 5, 4)), table_type) for _ in range(2))  # not on the circle
    given = {"layout": layout, "output_layout": output_layout, "offset": offset, "inverse": inverse}
    y = posref.rope_apply(read(x), read(cos), read(sin), **given)
    # S by the reference itself: with |a|, |b| and g for both cos and sin, and the sign of sin that adds
    g = np.maximum(np.abs(read(cos)), np.abs(read(sin)))
    size = np.abs(posref.rope_apply(np.abs(read(x)), g, np.zeros_like(g), **given))
    size += np.abs(posref.rope_apply(np.abs(read(x)), np.zeros_like(g), g, **given))
    size[..., :offset] = size[..., offset + 8 :] = 0.0  # what passes through is equal
    bound = 2 * working(dtype) * size + cast(dtype, y) * (size > 0)

    def check(function: Callable[..., Any]) -> float:
        return outside(function(x, cos, sin, **given, xp=lib.xp), y, bound)

    both(check, posref_array.rope_apply, dtype)


@pytest.mark.parametrize("scaling", [None, SCALINGS["yarn-mscale"]], ids=["plain", "yarn"])
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_rope(lib: Library, dtype: str, scaling: Any) -> None:
    x = lib.make(rng.normal(size=(2, len(POSITIONS), 10)), dtype)
    w, g = posref.rope_inv_freq(8, scaling=scaling), posref.rope_attention_factor(scaling)
    y = posref.rope(read(x), POSITIONS, dim=8, scaling=scaling)
    a, b = np.abs(read(x)[..., :4]), np.abs(read(x)[..., 4:8])
    size = np.zeros_like(y)
    size[..., :4] = size[..., 4:8] = g * (a + b)
    phase = np.zeros((len(POSITIONS), 10))
    phase[:, :4] = phase[:, 4:8] = 14 * U * POSITIONS[:, None] * w
    bound = (phase + 4 * working(dtype)) * size + cast(dtype, y) * (size > 0)

    def check(function: Callable[..., Any]) -> float:
        return outside(function(x, lib.make(POSITIONS, "int64"), dim=8, scaling=scaling, xp=lib.xp), y, bound)

    both(check, posref_array.rope, dtype)


@pytest.mark.parametrize("endpoint", [False, True])
@pytest.mark.parametrize("order", ["sin_cos", "cos_sin"])
@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_sinusoids(lib: Library, dtype: str, layout: str, order: str, endpoint: bool) -> None:
    given = {"base": 500.0, "endpoint": endpoint, "layout": layout, "order": order}
    y = posref.sinusoidal(POSITIONS, 6, **given)
    phase = 14 * U * POSITIONS[:, None] + 4 * U  # all frequencies are at most 1

    def check(function: Callable[..., Any]) -> float:
        result = function(lib.make(POSITIONS, "int64"), 6, **given, dtype=lib.dtype(dtype), xp=lib.xp)
        return outside(result, y, phase + once(dtype, y))

    both(check, posref_array.sinusoidal, dtype)


@pytest.mark.parametrize("dim", [6, 7])
@pytest.mark.parametrize(("flip", "shift", "scale"), [(False, 1.0, 1.0), (True, 0.0, 1000.0), (False, 0.5, 0.1)])
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_timesteps(lib: Library, dtype: str, flip: bool, shift: float, scale: float, dim: int) -> None:
    times = np.array([0.0, 0.5, 999.0, -3.25])
    given = {"flip_sin_to_cos": flip, "downscale_freq_shift": shift, "scale": scale}
    y = posref.timestep_embedding(times, dim, **given)
    phase = 14 * U * np.abs(times[:, None]) * scale + 4 * U

    def check(function: Callable[..., Any]) -> float:
        result = function(lib.make(times, "float64"), dim, **given, dtype=lib.dtype(dtype), xp=lib.xp)
        return outside(result, y, phase + once(dtype, y))

    both(check, posref_array.timestep_embedding, dtype)


@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_learned_rows_are_equal(lib: Library, dtype: str) -> None:
    table, positions = lib.make(rng.normal(size=(7, 3)), dtype), np.array([[6, 0], [3, 3]])

    def check(function: Callable[..., Any]) -> float:
        return outside(
            function(table, lib.make(positions, "int64"), xp=lib.xp), posref.learned(read(table), positions), 0.0
        )

    both(check, posref_array.learned, dtype)


@pytest.mark.parametrize("heads", [1, 2, 6, 12, 64])
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_alibi_slopes(lib: Library, dtype: str, heads: int) -> None:
    m = posref.alibi_slopes(heads)

    def check(function: Callable[..., Any]) -> float:
        return outside(function(heads, dtype=lib.dtype(dtype), xp=lib.xp), m, 2 * U * m + once(dtype, m))

    both(check, posref_array.alibi_slopes, dtype)


@pytest.mark.parametrize("form", ["distance", "signed", "key"])
@pytest.mark.parametrize(("q_type", "k_type"), [("int64", "int64"), ("float64", "float64"), ("float64", "int64")])
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_alibi_bias(lib: Library, dtype: str, form: str, q_type: str, k_type: str) -> None:
    m, far = lib.make([0.7, 0.031, 2.0**-8], dtype), 2**11 if dtype == "float16" else 2**24  # within the type's range
    q, k = np.array([[0, 5, 700], [-1, far + 1, 3]]), np.array([[0, 3, 7, far + 2]])
    y = posref.alibi_bias(read(m), q, k, form=form)

    def check(function: Callable[..., Any]) -> float:
        bias = function(m, lib.make(q, q_type), lib.make(k, k_type), form=form, xp=lib.xp)
        assert type_of(bias) == dtype
        return outside(bias, y, 2 * U * np.abs(y) + once(dtype, y))  # an exact difference, one product, one cast

    both(check, posref_array.alibi_bias, dtype)


@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (32, 1000), (8, 20), (4, 7)])
@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_t5_buckets_and_biases_are_equal(lib: Library, both_ways: bool, buckets: int, distance: int) -> None:
    relative = np.arange(-1100, 1100).reshape(4, 550)
    given = {"bidirectional": both_ways, "max_distance": distance}
    table, q, k = lib.make(rng.normal(size=(buckets, 3)), "float32"), np.array([[5, 900]]), np.arange(0, 1000, 7)

    def buckets_of(function: Callable[..., Any]) -> float:
        got = function(lib.make(relative, "int64"), num_buckets=buckets, **given, xp=lib.xp)
        return outside(got, posref.t5_bucket(relative, num_buckets=buckets, **given), 0.0)

    def biases_of(function: Callable[..., Any]) -> float:
        got = function(table, lib.make(q, "int64"), lib.make(k, "int64"), **given, xp=lib.xp)
        return outside(got, posref.t5_bias(read(table), q, k, **given), 0.0)

    both(buckets_of, posref_array.t5_bucket, "float32")
    both(biases_of, posref_array.t5_bias, "float32")


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_attention(lib: Library, dtype: str, scale: float | None) -> None:
    d, keys = 4, 6
    q, k, v, bias = (
        lib.make(rng.normal(size=s), dtype) for s in ((2, 3, 5, d), (2, 1, keys, d), (2, 1, keys, 7), (3, 5, keys))
    )
    mask = np.tril(np.ones((5, keys), dtype=bool), -1)  # the first query sees nothing: zeros
    y = posref.attention(read(q), read(k), read(v), bias=read(bias), mask=mask, scale=scale)
    # a logit is a sum of d products, times the scale, plus the bias: its error, relative to the sum of magnitudes, is at most
    # (d + 3) u; a weight's relative error is that of two logits (the maximum's cancels but is rounded); exp, sum and division
    # add 2 + keys + 1, the sum over v another keys + 1; all of it times the largest |v|
    u, factor = working(dtype), scale or d**-0.5
    magnitude = factor * np.abs(read(q)) @ np.abs(read(k)).swapaxes(-1, -2) + np.abs(read(bias))
    relative = 2 * (d + 3) * u * magnitude.max(axis=-1, keepdims=True) + (2 * keys + 4) * u
    bound = relative * np.abs(read(v)).max(axis=-2, keepdims=True) + cast(dtype, y)

    def check(function: Callable[..., Any]) -> float:
        return outside(
            function(q, k, v, bias=bias, mask=lib.xp.asarray(mask), scale=scale, xp=lib.xp), y, np.where(y, bound, 0.0)
        )

    both(check, posref_array.attention, dtype)


@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_attention_over_no_keys_is_zero(lib: Library) -> None:
    q, k, v = (lib.make(np.ones(s), "float32") for s in ((2, 3, 4), (2, 0, 4), (2, 0, 5)))
    got = posref_array.attention(q, k, v, xp=lib.xp)
    assert tuple(got.shape) == (2, 3, 5)
    assert not read(got).any()


@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_long_positions_in_float32(lib: Library) -> None:
    """An angle made in float32 is wrong by 2^-24 of itself; a table made in float64 is not."""
    positions = np.array([131071, 2**20, 2**31 + 1])
    w = posref.rope_inv_freq(128)
    expected = posref.rope_table(positions, 128)[0]
    bound = 14 * U * positions[:, None] * w + 4 * U + once("float32", expected)
    cos, _ = posref_array.rope_table(lib.make(positions, "int64"), 128, dtype=lib.dtype("float32"), xp=lib.xp)
    assert outside(cos, expected, bound) <= 1.0
    in_float32 = np.cos(positions[:, None].astype(np.float32) * w.astype(np.float32))
    assert outside(in_float32, expected, bound) > 1000


@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_without_xp_the_namespace_is_that_of_the_array(lib: Library) -> None:
    x, positions = lib.make(rng.normal(size=(3, 4)), "float32"), lib.make([0, 1, 2], "int64")
    assert type(posref_array.rope(x, positions)) is type(x)
    assert (read(posref_array.rope(x, positions)) == read(posref_array.rope(x, positions, xp=lib.xp))).all()
