"""Tables of the adapters are the true values, rounded once: float32 for positions to 2^31, the 16-bit types as well.

The witness is mpmath: 60 digits, rounded to the type by the definition of nearest. posref.exact only takes part where a near tie
was looked for on purpose, and there too mpmath decides.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import array_api_compat.numpy as numpy_xp
import array_api_compat.torch as torch_xp
import array_api_strict
import ml_dtypes
import mpmath
import numpy as np
import pytest
import torch

import posref_torch
from posref_array import _frequencies, _tables, additive, rotary

DIM, BASE = 64, 500000.0
POSITIONS = [0, 1, 7, 4097, 131071, 10**6 + 3, -(2**24) - 1, 2**31 - 5, 2**31]
TYPES: dict[str, Any] = {
    "float32": (np.float32, torch.float32),
    "float16": (np.float16, torch.float16),
    "bfloat16": (ml_dtypes.bfloat16, torch.bfloat16),
}


def truth(position: int, column: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    with mpmath.workdps(60):
        angle = position * mpmath.mpf(BASE) ** (-mpmath.mpf(2 * column) / DIM)
        return mpmath.cos(angle), mpmath.sin(angle)


def neighbours(value: mpmath.mpf, dtype: Any) -> Any:
    """Some numbers of the type around a value; the nearest one is among them."""
    near = np.asarray(float(value)).astype(dtype)
    step = np.float64(2.0) ** (np.floor(np.log2(max(abs(float(value)), 2.0**-24))) - ml_dtypes.finfo(dtype).nmant)
    return {float(np.asarray(float(near) + k * step).astype(dtype)) for k in (-2, -1, 0, 1, 2)}


def nearest(value: mpmath.mpf, dtype: Any) -> float:
    exact = Fraction(*map(int, mpmath.libmp.to_rational(value._mpf_)))
    return min(neighbours(value, dtype), key=lambda y: abs(Fraction(y) - exact))


def numpy_table(dtype: str) -> Any:
    return rotary.rope_table(np.array(POSITIONS), DIM, base=BASE, dtype=np.dtype(TYPES[dtype][0]), xp=numpy_xp)


def torch_table(dtype: str) -> Any:
    tables = rotary.rope_table(torch.tensor(POSITIONS), DIM, base=BASE, dtype=TYPES[dtype][1], xp=torch_xp)
    return tuple(t.double().numpy() for t in tables)


def compiled_table(dtype: str) -> Any:
    """Seen by torch's compiler, which cannot look at values: near-ties may be the other neighbour, but here are none."""
    kind = TYPES[dtype][1]
    table = torch.compile(
        lambda p: posref_torch.rope_table(p, DIM, base=BASE, dtype=kind), fullgraph=True, backend="eager"
    )
    return tuple(t.double().numpy() for t in table(torch.tensor(POSITIONS)))


def wrong_entries(tables: Any, dtype: str) -> int:
    wrong = 0
    for row, position in enumerate(POSITIONS):
        for column in range(DIM // 2):
            for table, value in zip(tables, truth(position, column), strict=True):
                wrong += float(table[row, column]) != nearest(value, TYPES[dtype][0])
    return wrong


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("table", [numpy_table, torch_table, compiled_table])
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
def test_every_entry_is_the_nearest(table: Any, dtype: str) -> None:
    assert wrong_entries(table(dtype), dtype) == 0


def test_an_angle_in_one_float64_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: without the low part, entries at 2^31 come out as another float32."""
    right = _tables._angle
    monkeypatch.setattr(_tables, "_angle", lambda *args: (right(*args)[0], 0.0 * right(*args)[1]))
    monkeypatch.setattr(_tables, "_settle", lambda *args: None)
    assert wrong_entries(numpy_table("float32"), "float32") > 3


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
def test_frequencies_in_one_float64_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a compiler that is given only the first part of each frequency."""
    monkeypatch.setattr(_frequencies, "second_part", lambda w: 0.0)
    torch._dynamo.reset()
    assert wrong_entries(compiled_table("float32"), "float32") > 3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_by_way_of_float32_is_seen(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a float64 just above a tie of the 16-bit type, and so near that float32 takes it for the tie."""
    bits = _tables.BITS[dtype]
    tie = 1.0 + 2.0**-bits  # halfway between 1 and the next number, which is even: to nearest even means down to 1
    value = np.array([tie + 2.0**-40, tie - 2.0**-40, -tie - 2.0**-40])
    kind = np.dtype(TYPES[dtype][0])
    once = _tables._rounded(value, kind, numpy_xp).astype(float)
    assert once.tolist() == [1 + 2.0 ** (1 - bits), 1.0, -1 - 2.0 ** (1 - bits)]
    assert value.astype(np.float32).astype(kind).astype(float).tolist() == [1.0, 1.0, -1.0]


def test_float16_subnormals_are_rounded_once() -> None:
    value = np.array([2.0**-15 + 2.0**-26, 3.5 * 2.0**-24, 2.0**-24 * (0.5 + 2.0**-20), 2.0**-24 * (0.5 - 2.0**-20)])
    expected = [2.0**-15, 4 * 2.0**-24, 2.0**-24, 0.0]
    assert _tables._rounded(value, np.dtype(np.float16), numpy_xp).astype(float).tolist() == expected


def rope_table_in(library: str, positions: Any, dim: int) -> tuple[Any, Any]:
    """Float32 tables, made by a library; "device" is one whose values NumPy cannot look at."""
    if library == "device":
        p = array_api_strict.asarray(positions, device=array_api_strict.Device("device1"))
        tables = rotary.rope_table(p, dim, dtype=array_api_strict.float32, xp=array_api_strict)
        return tuple(np.asarray(t.to_device(array_api_strict.Device("CPU_DEVICE"))) for t in tables)
    xp, dtype = {"numpy": (numpy_xp, np.dtype(np.float32)), "torch": (torch_xp, torch.float32)}[library]
    return tuple(np.asarray(t) for t in rotary.rope_table(xp.asarray(positions), dim, dtype=dtype, xp=xp))


@pytest.mark.parametrize("library", ["numpy", "torch", "device"])
def test_a_near_tie_is_settled(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that the fast way leaves open come out right. So that there are some, the planted library errs by 2^-39."""
    right = _tables._values

    def rough(high: Any, low: Any, factor: float, xp: Any) -> Any:
        return tuple(t * (1 + 2.0**-39) for t in right(high, low, factor, xp))

    monkeypatch.setattr(_tables, "_values", rough)
    monkeypatch.setattr(_tables, "DOUBT", 2.0**-38)
    positions = np.arange(1, 2**11)
    settled = rope_table_in(library, positions, 256)
    monkeypatch.setattr(_tables, "_settle", lambda *args: None)
    left = rope_table_in(library, positions, 256)
    entries = [(t, *map(int, e)) for t in (0, 1) for e in np.argwhere(settled[t] != left[t])]
    assert entries, "no near tie among these entries: take more positions"
    for t, row, column in entries:
        with mpmath.workdps(60):
            angle = int(positions[row]) * mpmath.mpf(10000) ** (-mpmath.mpf(2 * column) / 256)
            value = (mpmath.cos(angle), mpmath.sin(angle))[t]
        assert float(settled[t][row, column]) == nearest(value, np.float32)
        assert float(left[t][row, column]) != nearest(value, np.float32)


@pytest.mark.parametrize("positions", [np.array([1e300, -1e308, 5e-324, 2.0**996])], ids=["extreme"])
def test_extreme_positions_are_finite(positions: Any) -> None:
    for table in rotary.rope_table(positions, 8, dtype=np.dtype(np.float32), xp=numpy_xp):
        assert np.isfinite(table).all()


def test_sinusoids_and_timesteps_too() -> None:
    p = np.array([2**31 - 7])
    with mpmath.workdps(60):
        angle = int(p[0]) * mpmath.mpf(10000) ** (-mpmath.mpf(1) / 4)
        t_angle = 1000 * mpmath.mpf("0.5") * mpmath.mpf(10000) ** (-mpmath.mpf(1) / 3)
    row = additive.sinusoidal(p, 8, dtype=np.dtype(np.float32), xp=numpy_xp)[0]
    assert float(row[2]) == nearest(mpmath.sin(angle), np.float32)
    step = additive.timestep_embedding(np.array([0.5]), 8, scale=1000.0, dtype=np.dtype(np.float32), xp=numpy_xp)[0]
    assert float(step[1]) == nearest(mpmath.sin(t_angle), np.float32)
