"""posref_torch is a backend: names, signatures, errors, imports."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

import posref
import posref_array
import posref_torch

FUNCTIONS = sorted({*posref_torch.__all__} - {"arrays"})


def test_it_is_a_backend() -> None:
    assert posref_torch.arrays == "torch"
    assert posref_torch.__all__ == sorted(posref_torch.__all__)
    assert set(FUNCTIONS) == {n for n in posref_array.__all__ if hasattr(posref, n)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_those_of_posref_array_without_xp(name: str) -> None:
    theirs = dict(inspect.signature(getattr(posref_array, name)).parameters)
    theirs.pop("xp", None)
    own = dict(inspect.signature(getattr(posref_torch, name)).parameters)
    assert [(p.name, p.kind, p.default) for p in own.values()] == [(p.name, p.kind, p.default) for p in theirs.values()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_documented(name: str) -> None:
    assert f":func:`posref.{name}`" in (getattr(posref_torch, name).__doc__ or "")


X, TABLE = torch.ones(3, 4), np.ones((3, 2))
WRONG = {
    "rope_apply": ("cos", lambda: posref_torch.rope_apply(X, TABLE, TABLE)),  # type: ignore[arg-type]
    "rope": ("positions", lambda: posref_torch.rope(X, np.arange(3))),  # type: ignore[arg-type]
    "rope_table": ("positions", lambda: posref_torch.rope_table(np.arange(3), 4)),
    "rope_cos_sin": ("inv_freq", lambda: posref_torch.rope_cos_sin(torch.arange(3), inv_freq=np.ones(2))),
    "learned": ("table", lambda: posref_torch.learned(TABLE, torch.arange(3))),  # type: ignore[arg-type]
    "attention": ("mask", lambda: posref_torch.attention(X, X, X, mask=np.ones((3, 3), dtype=bool))),  # type: ignore[arg-type]
    "alibi_bias": ("k_positions", lambda: posref_torch.alibi_bias(torch.ones(2), torch.arange(3), np.arange(3))),
}


@pytest.mark.parametrize("function", WRONG)
def test_arrays_of_numpy_are_refused(function: str) -> None:
    name, call = WRONG[function]
    with pytest.raises(TypeError, match=f"^{name} must be a torch.Tensor, got type numpy.ndarray$"):
        call()


@pytest.mark.parametrize("gradient", [False, True], ids=["straight", "formula"])
@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"x": torch.ones(())}, ValueError, "x must have a channel axis, got a scalar"),
        ({"x": torch.ones(3, 4, dtype=torch.int64)}, TypeError, "x must be a floating array, got type torch.int64"),
        ({"cos": torch.ones(3, 2, dtype=torch.complex64)}, TypeError, "cos must be a floating array, got type torch.complex64"),
        ({"cos": torch.ones(2, 2)}, ValueError, "cos and sin must have the same shape"),
        ({"cos": torch.ones(2, 2), "sin": torch.ones(2, 2)}, ValueError, r"must broadcast against x.shape\[:-1\] = \(3,\)"),
        ({"offset": 1}, ValueError, "cos and sin must have 1 to 1 pairs for x with 4 channels and offset 1, got 2"),
        ({"layout": "neox"}, ValueError, "layout must be one of 'half', 'interleaved', got 'neox'"),
        ({"inverse": 0}, TypeError, "inverse must be True or False, got 0"),
        ({"out": torch.ones(3, 4, dtype=torch.float16)}, ValueError, "out must have x's shape and type"),
        ({"out": torch.ones(4)}, ValueError, "out must have x's shape and type"),
    ],
)  # fmt: skip
def test_bad_rotations(changed: dict[str, object], error: type[Exception], says: str, gradient: bool) -> None:
    given = {"x": X.clone(), "cos": torch.ones(3, 2, requires_grad=gradient), "sin": torch.ones(3, 2), **changed}
    with pytest.raises(error, match=says) as caught:
        posref_torch.rope_apply(**given)  # type: ignore[arg-type]
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("position", [5, -1, 2**40])
def test_rows_that_are_not_there(position: int) -> None:
    with pytest.raises(IndexError, match=r"^positions must be in 0 \.\. 4 for a table of 5 rows$"):
        posref_torch.learned(torch.ones(5, 2), torch.tensor([0, position]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_travel_to_other_processes(name: str) -> None:
    assert pickle.loads(pickle.dumps(getattr(posref_torch, name))) is getattr(posref_torch, name)


FOREIGN = {"transformers", "cupy", "jax", "torchvision", "array_api_strict", "pytest", "matplotlib"}


def test_importing_brings_only_torch() -> None:
    code = "import posref_torch, posref_torch.nn, sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    loaded = {*done.stdout.split()}
    assert "torch" in loaded
    assert not loaded & FOREIGN
    assert not done.stderr
