"""Each array library's file makes arrays from NumPy's and reads them back, to the bit, strides and all."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posref_conformance.arrays import NAMED, NotItsArray, arrays_of
from posref_conformance.arrays._converted import Library as Converted
from posref_conformance.case import numpy_type, read_only, strided, transposed


def _strict() -> Any:
    return arrays_of(importlib.import_module("array_api_strict"))


def _cupy() -> Any:
    cupy = pytest.importorskip("cupy", reason="needs the cupy extra")
    if not cupy.cuda.is_available():
        pytest.skip("needs a CUDA device: CuPy is installed, and finds none")
    return arrays_of("cupy")


def _named(name: str) -> Any:
    pytest.importorskip(name, reason=f"needs the {name} extra: pip install 'posref[{name}]'")
    return arrays_of(name)


LIBRARIES: dict[str, Callable[[], Any]] = {
    "numpy": lambda: _named("numpy"),
    "torch": lambda: _named("torch"),
    "jax": lambda: _named("jax"),
    "cupy": _cupy,
    "array_api_strict": _strict,
    "converted": lambda: Converted(lambda a: [a], lambda boxed: boxed[0]),  # arrays of a library of its own
}
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "uint8")


@pytest.fixture(params=LIBRARIES)
def arrays(request: pytest.FixtureRequest) -> Any:
    return LIBRARIES[request.param]()


def _values(dtype: str) -> Any:
    """12 values of a type, its extremes among them."""
    if dtype == "bool":
        return np.arange(12) % 3 == 0
    kind = numpy_type(dtype)
    if dtype.startswith(("int", "uint")):
        limits = np.iinfo(kind)
        return np.array([limits.min, limits.max, 0, 1, 2, 3, 5, 7, 11, 13, limits.max - 1, limits.min + 1], kind)
    largest = 2.0 ** (127 if dtype == "bfloat16" else np.finfo(kind).maxexp - 1)
    smallest = {"float64": 5e-324, "float32": 1e-45, "float16": 6e-8, "bfloat16": 1e-40}[dtype]
    odd = [0.0, -0.0, 1 / 3, -2.5, largest, -largest, smallest, -smallest, np.inf, -np.inf, np.nan, 1 + 2**-7]
    return np.array(odd).astype(kind)


FORMS: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda v: v.reshape(3, 4),
    "gaps": lambda v: strided(v.reshape(3, 4)),
    "transposed": lambda v: transposed(v.reshape(3, 4)),
    "three axes": lambda v: v.reshape(2, 3, 2).transpose(2, 0, 1),
    "broadcast": lambda v: np.broadcast_to(v.reshape(3, 1, 4), (3, 5, 4)),
    "broadcast last": lambda v: np.broadcast_to(v.reshape(12, 1), (12, 3)),
    "negative": lambda v: v.reshape(3, 4)[::-1, ::-2],
    "no rows": lambda v: v[:0].reshape(0, 4),
    "no columns": lambda v: np.broadcast_to(v[:0].reshape(1, 0), (3, 0)),
    "scalar": lambda v: np.array(v[2]),
    "read-only": lambda v: read_only(v.reshape(3, 4)),
    "read-only gaps": lambda v: read_only(strided(v)),
}


def _bits(array: Any) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def test_there_and_back(arrays: Any) -> None:
    for dtype in (*arrays.dtypes, "bool"):
        for form, build in FORMS.items():
            array = build(_values(dtype))
            if arrays.name == "jax" and dtype == "int64":  # which JAX makes int32, unless told otherwise
                with pytest.raises(NotImplementedError):
                    arrays.make(_values(dtype))
                array = array.astype(np.int32).astype(np.int64)
            before = _bits(array)
            made = arrays.make(array)
            back = arrays.read(made)
            assert _bits(array) == before, (form, dtype)
            kept = "int32" if arrays.name == "jax" and dtype == "int64" else dtype
            assert (back.shape, back.dtype.name) == (array.shape, kept), form
            assert _bits(back) == _bits(array.astype(kept) if kept != dtype else array), (form, dtype)
            assert arrays.dtype(made) == kept


def test_the_types_are_those_of_the_library() -> None:
    for name in ("numpy", "torch", "converted"):
        assert LIBRARIES[name]().dtypes == DTYPES
    assert _strict().dtypes == tuple(d for d in DTYPES if d not in ("float16", "bfloat16"))


STRIDED = [form for form in FORMS if form not in ("negative", "no rows", "no columns")]  # which torch does not have


@pytest.mark.parametrize("form", STRIDED)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_torch_keeps_strides(dtype: str, form: str) -> None:
    array = FORMS[form](_values(dtype))
    made = _named("torch").make(array)
    kept = [(n, s // array.itemsize) for n, s in zip(array.shape, array.strides, strict=True) if n > 1]
    assert [(n, s) for n, s in zip(made.shape, made.stride(), strict=True) if n > 1] == kept


@pytest.mark.parametrize(("dtype", "gap"), [("float16", np.nan), ("int64", -1), ("bool", 0)])
def test_torchs_gaps_hold_what_cannot_be_taken_for_data(dtype: str, gap: float) -> None:
    """A backend that ignores strides gets the same wrong numbers every time, and no huge ones."""
    made = _named("torch").make(np.ones(8, dtype)[::2])
    np.testing.assert_array_equal(made.as_strided((7,), (1,))[1::2].numpy(), np.full(3, gap).astype(dtype))


def test_numpy_gets_the_array_itself() -> None:
    """Read-only flags and strides are part of what is tried."""
    array = read_only(np.arange(6.0))
    assert _named("numpy").make(array) is array


def test_torch_never_shares_memory() -> None:
    """Torch writes through read-only memory without a word: the suite's own copy of the input would change with it."""
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    for array in (read_only(np.arange(6.0)), np.arange(6.0), np.arange(12.0)[::2]):
        made = _named("torch").make(array)
        made += 1
        assert array[0] == 0
        assert isinstance(made, torch.Tensor)


def test_what_is_no_array_of_the_library(arrays: Any) -> None:
    if arrays.name == "its own":
        with pytest.raises(NotItsArray, match="what to_numpy turned into a list, not a NumPy array"):
            arrays.read([[1.0]])
        return
    foreign = [None, 1.0, [1.0], "text"] + ([np.ones(2)] if arrays.name != "numpy" else [])
    for value in foreign:
        with pytest.raises(NotItsArray, match=f"^a {type(value).__name__}, not a"):
            arrays.read(value)


def test_devices_are_words(arrays: Any) -> None:
    one, other = (arrays.make(np.arange(3.0, dtype="float32")) for _ in range(2))
    assert arrays.device(one) == arrays.device(other)
    assert isinstance(arrays.device(one), str)


def test_another_device_has_another_word() -> None:
    strict = importlib.import_module("array_api_strict")
    here = arrays_of(strict)
    there = arrays_of(strict, strict.Device("device1"))
    array = np.arange(3.0)
    assert here.device(here.make(array)) != there.device(there.make(array))
    assert _bits(there.read(there.make(array))) == _bits(array)  # where NumPy cannot look


def test_the_vector_jacobian_product(arrays: Any) -> None:
    x, weights, cotangent = (arrays.make(np.array(v, "float32")) for v in ([1, 2, 3], [4, 5, 6], [1, 10, 100]))
    if not arrays.differentiates:
        with pytest.raises(NotImplementedError):
            arrays.gradient(lambda v: v * weights, x, (cotangent,))
        return
    assert arrays.read(arrays.gradient(lambda v: v * v * weights, x, (cotangent,))).tolist() == [8, 200, 3600]


def test_a_result_without_a_gradient_is_not_implemented() -> None:
    torch = _named("torch")
    x = torch.make(np.ones(2))
    with pytest.raises(NotImplementedError, match="carries no gradient"):
        torch.gradient(lambda v: v.detach() * 2, x, x)
    assert not x.requires_grad


def test_a_namespace_of_a_known_library_gets_its_own_file() -> None:
    compat = importlib.import_module("array_api_compat.torch")
    assert "bfloat16" in arrays_of(compat).dtypes
    assert type(arrays_of(compat)) is type(arrays_of(importlib.import_module("torch")))
    assert arrays_of(np).name == "numpy"

    class JaxNumpy:  # whose last name is numpy
        __name__ = "jax.numpy"

    if "jax" not in NAMED or importlib.util.find_spec("jax") is None:
        with pytest.raises(ImportError):
            arrays_of(JaxNumpy())
    else:
        assert arrays_of(JaxNumpy()).name == "jax"
