"""Types and devices of results are those of the input; inputs stay as they were."""

from __future__ import annotations

from typing import Any

import array_api_compat.numpy as numpy_xp
import array_api_strict
import numpy as np
import pytest
from array_kit import LIBRARIES, Library, U, once, outside, read, type_of

import posref
import posref_array
from posref_array._support import host_copy, type_name
from posref_conformance.cases import CASES

ON = [pytest.param(lib, dtype, id=f"{lib.name}-{dtype}") for lib in LIBRARIES for dtype in lib.floats]
DEVICES = [array_api_strict.Device(name) for name in ("CPU_DEVICE", "device1", "no_float64")]
rng = np.random.default_rng(3)


def calls(lib: Library, dtype: str, device: Any = None) -> dict[str, tuple[Any, ...]]:
    """Arguments for each function that takes arrays; floating ones of one type."""

    def data(*shape: int) -> Any:
        return lib.make(rng.normal(size=shape), dtype, device)

    p = lib.make([2, 0, 1], "int64", device)
    return {
        "rope_cos_sin": (p, data(4)),
        "rope_apply": (data(2, 3, 8), data(3, 2), data(3, 2)),
        "rope": (data(2, 3, 8), p),
        "learned": (data(5, 4), p),
        "alibi_bias": (data(2), p, p),
        "t5_bias": (data(32, 2), p, p),
        "attention": (data(3, 4), data(3, 4), data(3, 4)),
        "sinusoidal": (p, 8),
        "rope_table": (p, 8),
        "timestep_embedding": (p, 8),
        "t5_bucket": (p,),
    }


FUNCTIONS = tuple(calls(LIBRARIES[0], "float64"))
KEEP = FUNCTIONS[:7]


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("function", KEEP)
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_the_type_is_that_of_the_floating_argument(lib: Library, dtype: str, function: str) -> None:
    for result in parts(getattr(posref_array, function)(*calls(lib, dtype)[function], xp=lib.xp)):
        assert type_of(result) == dtype


@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_x_decides_whatever_the_tables_type(lib: Library, dtype: str) -> None:
    x, p = lib.make(rng.normal(size=(3, 4)), dtype), lib.make([0, 1, 2], "int64")
    for table_type in lib.floats:
        cos, sin = posref_array.rope_table(p, 4, dtype=lib.dtype(table_type), xp=lib.xp)
        assert type_of(cos) == table_type
        assert type_of(posref_array.rope_apply(x, cos, sin, xp=lib.xp)) == dtype


@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_without_a_floating_argument_the_type_is_the_librarys_own(lib: Library) -> None:
    default = "float32" if lib.name == "torch" else "float64"
    backend, p = posref_array.bind(lib.xp), lib.make([0, 1], "int64")
    for result in (
        backend.rope_inv_freq(8),
        *backend.rope_table(p, 8),
        backend.sinusoidal(p, 8),
        backend.timestep_embedding(p, 8),
        backend.alibi_slopes(4),
    ):
        assert type_of(result) == default


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_results_stay_on_the_device(device: Any, function: str) -> None:
    strict = LIBRARIES[1]
    backend = posref_array.bind(strict.xp, dtype=strict.xp.float32, device=device)
    for result in parts(getattr(backend, function)(*calls(strict, "float32", device)[function])):
        assert result.device == device
    assert backend.rope_inv_freq(8).device == backend.alibi_slopes(4).device == device


SMALL = {"float16", "bfloat16"}


def there(value: Any, device: Any) -> Any:
    """A case's argument on a device whose values NumPy cannot look at."""
    if isinstance(value, np.ndarray):
        return array_api_strict.asarray(np.ascontiguousarray(value), device=device)
    return value


@pytest.mark.parametrize("function", sorted({case.function for case in CASES}))
def test_every_case_runs_where_numpy_cannot_look(function: str) -> None:
    device, backend = array_api_strict.Device("device1"), posref_array.bind(array_api_strict)
    ran = 0
    for case in CASES:
        for dtype in set(case.dtypes) - SMALL - {"float32"} if case.function == function else ():
            for call in case.calls(dtype):
                if "out" in call.kwargs or any(a.dtype.name in SMALL for a in call.arrays()):
                    continue  # the standard has no 16-bit types
                args = [there(a, device) for a in call.args]
                getattr(backend, function)(*args, **{name: there(a, device) for name, a in call.kwargs.items()})
                ran += 1
    assert ran


class OfCuPy:
    """An array as CuPy's are: ``get`` copies it to the host, and NumPy is refused."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def get(self) -> Any:
        return np.array([3, 5])


def test_values_are_read_from_cupys_arrays() -> None:
    assert host_copy(OfCuPy(), numpy_xp).tolist() == [3, 5]
    with pytest.raises(TypeError):  # the planted fault: NumPy alone
        np.asarray(OfCuPy())


def test_a_device_without_float64_gets_tables_that_were_made_in_it() -> None:
    strict, device = LIBRARIES[1], array_api_strict.Device("no_float64")
    positions = np.array([0, 5, 131071, 2**20])
    w, expected = posref.rope_inv_freq(64), posref.rope_table(positions, 64)
    bound = 14 * U * positions[:, None] * w + 4 * U
    p = strict.make(positions, "int64", device)
    with pytest.raises(ValueError, match="float64"):
        strict.make([1.0], "float64", device)  # the device is one
    tables = posref_array.rope_table(p, 64, dtype=strict.xp.float32, xp=strict.xp)
    for got, y in zip(tables, expected, strict=True):
        assert outside(got, y, bound + once("float32", y)) <= 1.0
    given = strict.make(w, "float32", device)
    again = posref_array.rope_cos_sin(p, given, xp=strict.xp)
    for got, y in zip(again, posref.rope_cos_sin(positions, read(given)), strict=True):
        assert outside(got, y, bound + once("float32", y)) <= 1.0
    in_float32 = np.cos(positions[:, None].astype(np.float32) * w.astype(np.float32))  # the planted fault
    assert outside(in_float32, expected[0], bound + once("float32", expected[0])) > 1000


def test_alibi_on_a_device_without_float64() -> None:
    strict, device = LIBRARIES[1], array_api_strict.Device("no_float64")
    q, k = np.array([5.5, 0.25]), np.array([0, 1, 2])
    for form in ("distance", "signed", "key"):
        bias = posref_array.alibi_bias(
            strict.make([0.3], "float32", device), strict.make(q, "float32", device), strict.make(k, "int64", device),
            form=form, xp=strict.xp,
        )  # fmt: skip
        y = posref.alibi_bias([float(np.float32(0.3))], q, k, form=form)
        assert outside(bias, y, once("float32", y)) <= 1.0


def snapshot(array: Any) -> Any:
    return read(array).copy() if hasattr(array, "dtype") else array


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_inputs_are_not_modified(lib: Library, dtype: str, function: str) -> None:
    given = calls(lib, dtype)[function]
    before = [snapshot(a) for a in given]
    if lib.name == "numpy":
        for a in given:
            if hasattr(a, "flags"):
                a.flags.writeable = False  # an attempt is an error
    versions = [a._version for a in given if hasattr(a, "_version")]  # torch counts writes
    getattr(posref_array, function)(*given, xp=lib.xp)
    assert all(np.array_equal(snapshot(a), b) for a, b in zip(given, before, strict=True))
    assert versions == [a._version for a in given if hasattr(a, "_version")]


@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_a_write_would_be_seen(lib: Library) -> None:
    """The planted fault of the test above: a rotation in place."""
    x, cos, sin = calls(lib, "float32")["rope_apply"]
    before = snapshot(x)
    posref_array.rope_apply(x, cos, sin, out=x, xp=lib.xp)
    assert not np.array_equal(snapshot(x), before)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize(("lib", "dtype"), ON)
def test_out_takes_the_result_and_may_be_x(lib: Library, dtype: str, offset: int, layout: str) -> None:
    x, cos, sin = calls(lib, dtype)["rope_apply"]
    given = {"layout": layout, "offset": offset, "xp": lib.xp}
    expected = read(posref_array.rope_apply(x, cos, sin, **given))
    out = lib.make(np.full((2, 3, 8), 7.0), dtype)
    assert posref_array.rope_apply(x, cos, sin, out=out, **given) is out
    assert (read(out) == expected).all()
    assert posref_array.rope_apply(x, cos, sin, out=x, **given) is x
    assert (read(x) == expected).all()


def test_the_name_of_a_type_and_of_its_class_are_one() -> None:
    assert type_name(np.float64) == type_name(np.dtype(np.float64)) == "float64"
