"""A backend of any namespace, and what importing it costs."""

from __future__ import annotations

import inspect
import subprocess
import sys

import array_api_strict
import numpy as np
import pytest
from array_kit import LIBRARIES, Library, type_of

import posref
import posref_array
from posref_array.on_numpy import backend
from posref_conformance.contract import FUNCTIONS

CONTRACT = list(FUNCTIONS)


def test_every_function_of_the_contract_is_there() -> None:
    assert len(CONTRACT) >= 14
    assert set(CONTRACT) <= set(posref_array.__all__)
    assert posref_array.__all__ == sorted(posref_array.__all__)
    for name in CONTRACT:
        assert callable(getattr(backend, name))


@pytest.mark.parametrize("name", CONTRACT)
def test_signatures_are_those_of_the_reference(name: str) -> None:
    own = inspect.signature(getattr(posref_array, name)).parameters
    extra = {"xp", "dtype", "device"}
    theirs = inspect.signature(getattr(posref, name)).parameters
    assert [p for p in own if p not in extra] == list(theirs)
    for key, parameter in theirs.items():
        assert own[key].default == parameter.default, key
        assert own[key].kind == parameter.kind, key


@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.name)
def test_the_type_of_a_backend(lib: Library) -> None:
    bound, p = posref_array.bind(lib.xp, dtype=lib.xp.float32), lib.make([0, 1], "int64")
    for result in (bound.rope_inv_freq(8), *bound.rope_table(p, 8), bound.sinusoidal(p, 8), bound.alibi_slopes(4)):
        assert type_of(result) == "float32"
    assert type_of(bound.alibi_slopes(4, dtype=lib.xp.float64)) == "float64"  # the call's own goes first
    assert bound.arrays is lib.xp


def test_the_device_of_a_backend() -> None:
    device, other = array_api_strict.Device("device1"), array_api_strict.Device("device2")
    bound = posref_array.bind(array_api_strict, device=device)
    assert bound.device == device
    assert bound.alibi_slopes(4).device == bound.rope_inv_freq(8).device == device
    assert bound.alibi_slopes(4, device=other).device == other
    p = array_api_strict.asarray([0, 1], device=other)
    assert bound.sinusoidal(p, 4).device == other  # where there is an array, it decides


def test_the_backend_of_numpy_is_not_the_reference() -> None:
    assert backend.arrays == "numpy"
    assert isinstance(backend.rope(np.ones((3, 4), dtype=np.float32), np.arange(3)), np.ndarray)
    assert backend.rope.func is posref_array.rope
    assert posref_array.rope is not posref.rope


FOREIGN = ("torch", "cupy", "jax", "array_api_strict", "array_api_compat.torch", "pytest", "matplotlib", "transformers")


def imported_by(statement: str) -> set[str]:
    """What a fresh interpreter has imported afterwards."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "more"),
    [
        ("import posref", ("array_api_compat",)),
        ("import posref_array", ("array_api_compat",)),
        ("from posref_array.on_numpy import backend", ()),
        ("from posref_array.on_numpy import backend\nbackend.alibi_slopes(4)", ()),
    ],
)
def test_importing_brings_no_array_library_but_numpy(statement: str, more: tuple[str, ...]) -> None:
    assert not imported_by(statement) & {*FOREIGN, *more}


def test_an_import_would_be_seen() -> None:
    assert "array_api_strict" in imported_by("import posref_array, array_api_strict")
