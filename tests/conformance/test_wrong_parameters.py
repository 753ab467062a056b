"""Small errors of parameters, and arithmetic in a type that is too narrow, are caught. ``pytest -rP`` prints by how much."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import posref
from posref_array.on_numpy import backend as right
from posref_conformance.backend import describe
from posref_conformance.cases import checks
from posref_conformance.verdict import FAILED, run

Functions = dict[str, Callable[..., Any]]
WITH_BASE = ("rope_inv_freq", "rope_table", "rope", "sinusoidal")
WITH_SCALING = ("rope_inv_freq", "rope_table", "rope")
WITH_FACTOR = ("rope_table", "rope")
WITH_POSITIONS = {"rope_cos_sin": 0, "rope_table": 0, "rope": 1, "sinusoidal": 0, "timestep_embedding": 0}


def _caught(functions: Functions, **about: Any) -> dict[str, dict[str, float]]:
    """Function -> the checks that fail, with the error as a multiple of the bound."""
    backend = describe("wrong", SimpleNamespace(**functions, **about))
    results = [run(backend, c, d) for c, d in checks(backend) if c.function in functions]
    return {
        name: {r.id: r.worst or np.inf for r in results if r.status == FAILED and r.id.startswith(f"{name}/")}
        for name in functions
    }


def _print(what: str, caught: dict[str, dict[str, float]]) -> None:
    for name, failed in caught.items():
        worst = max(failed, key=lambda c: failed[c])
        print(f"{what:32} {name:18} {len(failed):3} checks, most {failed[worst]:8.3g} x bound in {worst}")


def _kwargs(names: tuple[str, ...], change: Callable[[dict[str, Any]], dict[str, Any]]) -> Functions:
    """The right functions with their keywords changed."""

    def wrong(name: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: getattr(right, name)(*args, **change(kwargs))

    return {name: wrong(name) for name in names}


def _positions(change: Callable[[Any], Any]) -> Functions:
    def wrong(name: str, index: int) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            return getattr(right, name)(*(change(a) if n == index else a for n, a in enumerate(args)), **kwargs)

        return function

    return {name: wrong(name, index) for name, index in WITH_POSITIONS.items()}


def _scaled(error: float) -> Functions:
    """A scaling's factor off by some part of it."""

    def change(kwargs: dict[str, Any]) -> dict[str, Any]:
        scaling = kwargs.get("scaling")
        if getattr(scaling, "factor", None) is None:
            return kwargs
        return {**kwargs, "scaling": dataclasses.replace(scaling, factor=scaling.factor * (1 + error))}

    return _kwargs(WITH_SCALING, change)


def _attention_factor(power: int) -> Functions:
    """The scaling's own factor left out (0) or applied twice (2)."""

    def rope_table(positions: Any, dim: int, *, scaling: Any = None, attention_factor: Any = None, **rest: Any) -> Any:
        own = posref.rope_attention_factor(scaling) if attention_factor is None else attention_factor
        return right.rope_table(positions, dim, scaling=scaling, attention_factor=own**power, **rest)

    def rope(x: Any, positions: Any, *, scaling: Any = None, base: float = 10000.0, seq_len: Any = None) -> Any:
        cos, sin = rope_table(positions, x.shape[-1], scaling=scaling, base=base, seq_len=seq_len)
        return right.rope_apply(x, cos, sin)

    return {"rope_table": rope_table, "rope": rope}


PARAMETERS: dict[str, Functions] = {
    "base 10001 for 10000": _kwargs(WITH_BASE, lambda k: {**k, "base": k.get("base", 10000.0) * 1.0001}),
    "max_period 10001 for 10000": _kwargs(
        ("timestep_embedding",), lambda k: {**k, "max_period": k.get("max_period", 10000.0) * 1.0001}
    ),
    "factor 1 % too large": _scaled(0.01),
    "positions one too large": _positions(lambda p: p + np.ones((), p.dtype)),
    "positions in bfloat16": _positions(lambda p: p.astype(ml_dtypes.bfloat16).astype(np.float64)),
    "positions in float16": _positions(lambda p: np.clip(p, -60000, 60000).astype(np.float16).astype(np.float64)),
    "attention factor left out": _attention_factor(0),
    "attention factor squared": _attention_factor(2),
    "slopes 0.1 % too large": {"alibi_slopes": lambda n: right.alibi_slopes(n) * 1.001},
    "slopes in bfloat16": {"alibi_slopes": lambda n: right.alibi_slopes(n).astype(ml_dtypes.bfloat16).astype("f")},
    "max_distance 127 for 128": _kwargs(
        ("t5_bucket", "t5_bias"), lambda k: {**k, "max_distance": k.get("max_distance", 128) - 1}
    ),
    "scale 0.1 % too large": {
        "attention": lambda q, k, v, *, scale=None, **rest: right.attention(
            q, k, v, scale=1.001 * (q.shape[-1] ** -0.5 if scale is None else scale), **rest
        )
    },
}


@pytest.mark.parametrize("what", PARAMETERS)
def test_a_wrong_parameter_is_caught_in_every_function_that_has_it(what: str) -> None:
    caught = _caught(PARAMETERS[what])
    assert all(caught.values()), {name for name, failed in caught.items() if not failed}
    _print(what, caught)


ALL_TYPES = (
    "base 10001 for 10000",
    "factor 1 % too large",
    "positions one too large",
    "positions in bfloat16",
    "attention factor left out",
    "attention factor squared",
)


@pytest.mark.parametrize("what", ALL_TYPES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_it_is_caught_in_every_type_of_a_fused_rotation(what: str, dtype: str) -> None:
    assert _caught({"rope": PARAMETERS[what]["rope"]}, dtypes=[dtype])["rope"]


# --- types that are too narrow --------------------------------------------------------------------------------------


def _narrow_table(what: str, narrow: Any) -> Callable[..., Any]:
    def rope_table(positions: Any, dim: int, *, base: float = 10000.0) -> Any:
        w = right.rope_inv_freq(dim, base=base)
        if what == "frequencies":
            w = w.astype(narrow).astype(np.float64)
        angle = positions.astype(np.float64)[..., None] * w
        if what == "angles":
            angle = angle.astype(narrow).astype(np.float64)
        return np.cos(angle).astype("f"), np.sin(angle).astype("f")

    return rope_table


@pytest.mark.parametrize("narrow", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("what", ["frequencies", "angles"])
def test_frequencies_and_angles_in_16_bits(what: str, narrow: Any) -> None:
    rope_table = _narrow_table(what, narrow)

    def rope(x: Any, positions: Any, *, base: float = 10000.0) -> Any:
        return right.rope_apply(x, *rope_table(positions, x.shape[-1], base=base))

    with np.errstate(over="ignore", invalid="ignore"):
        caught = _caught({"rope_table": rope_table, "rope": rope})
        for dtype in (
            "float32",
            "float16",
            "bfloat16",
        ):  # with 16-bit data too: the loss is in the positions that count
            assert _caught({"rope": rope}, dtypes=[dtype])["rope"], dtype
    assert all(caught.values())
    _print(f"{what} in {np.dtype(narrow).name}", caught)


def test_angles_in_float32_where_frequencies_are_float64() -> None:
    def rope_cos_sin(positions: Any, inv_freq: Any, *, attention_factor: float = 1.0) -> Any:
        angle = positions.astype("f")[..., None] * inv_freq.astype("f")
        return tuple(attention_factor * t(angle.astype(inv_freq.dtype)) for t in (np.cos, np.sin))

    caught = _caught({"rope_cos_sin": rope_cos_sin})
    assert all(c.endswith("/float64") for c in caught["rope_cos_sin"])  # for float32 frequencies it is what one has
    assert len(caught["rope_cos_sin"]) > 5
    _print("angles in float32", caught)


# --- how small an error is seen -------------------------------------------------------------------------------------


def test_the_smallest_errors_that_are_seen() -> None:
    """In tables of float32, which is what most people compare."""

    def table(base: float = 0.0, factor: float = 0.0, shift: float = 0.0) -> Functions:
        def rope_table(positions: Any, dim: int, **kwargs: Any) -> Any:
            kwargs["base"] = kwargs.get("base", 10000.0) * (1 + base)
            if getattr(kwargs.get("scaling"), "factor", None) is not None:
                kwargs["scaling"] = dataclasses.replace(
                    kwargs["scaling"], factor=kwargs["scaling"].factor * (1 + factor)
                )
            return tuple(t.astype("f") for t in right.rope_table(positions + shift, dim, **kwargs))

        return {"rope_table": rope_table}

    def smallest(name: str) -> float:
        error = 1e-4
        while _caught(table(**{name: error / 10}))["rope_table"]:
            error /= 10
        return error

    seen = {name: smallest(name) for name in ("base", "factor", "shift")}
    print({name: f"{error:.0e}" for name, error in seen.items()})
    assert not _caught(table())["rope_table"]
    assert seen["base"] <= 1e-5
    assert seen["factor"] <= 1e-5
    assert seen["shift"] <= 1e-5


def _floats(values: Any) -> Any:
    """As float32, which is what most people compare."""
    return values.astype("f") if values.dtype == np.float64 else values


def _sized(name: str, error: float) -> Functions:
    """A function whose result is too large by a part of it."""
    return {name: lambda *args, **kwargs: _floats(np.asarray(getattr(right, name)(*args, **kwargs)) * (1 + error))}


def _with(name: str, key: str, change: Callable[[Any], Any], default: Any) -> Functions:
    return {
        name: lambda *args, **kwargs: _floats(
            getattr(right, name)(*args, **{**kwargs, key: change(kwargs.get(key, default))})
        )
    }


SMALLEST: dict[tuple[str, str], Callable[[float], Functions]] = {
    ("alibi_slopes", "slopes, relative"): lambda e: _sized("alibi_slopes", e),
    ("alibi_bias", "bias, relative"): lambda e: _sized("alibi_bias", e),
    ("sinusoidal", "base, relative"): lambda e: _with("sinusoidal", "base", lambda b: b * (1 + e), 10000.0),
    ("timestep_embedding", "scale, relative"): lambda e: _with(
        "timestep_embedding", "scale", lambda s: s * (1 + e), 1.0
    ),
    ("timestep_embedding", "downscale_freq_shift"): lambda e: _with(
        "timestep_embedding", "downscale_freq_shift", lambda s: s - e, 1.0
    ),
    ("log_n_scale", "scale, relative"): lambda e: _sized("log_n_scale", e),
    ("cosine_scale", "scale, relative"): lambda e: _sized("cosine_scale", e),
    ("kerple_bias", "bias, relative"): lambda e: _sized("kerple_bias", e),
    ("attention", "result, relative"): lambda e: _sized("attention", e),
}
"""The smallest error of each parameter, as functions that have it: rows of the table in docs/tolerances.md."""
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| (1e-\d+) \|$", re.M)
PAGE = Path(__file__).parents[2] / "docs" / "tolerances.md"


def _rows() -> dict[tuple[str, str], float]:
    return {(name, what): float(error) for name, what, error in ROW.findall(PAGE.read_text(encoding="utf-8"))}


def test_the_page_has_each_row() -> None:
    assert list(_rows()) == list(SMALLEST)


@pytest.mark.parametrize(("name", "what"), SMALLEST)
def test_the_smallest_error_is_the_one_on_the_page(name: str, what: str) -> None:
    """It is seen, and a hundredth of it is not: so the page neither promises too much nor too little."""
    error = _rows()[name, what]
    assert _caught(SMALLEST[name, what](error), dtypes=["float32"])[name]
    assert not _caught(SMALLEST[name, what](error / 100), dtypes=["float32"])[name]


@pytest.mark.parametrize("key", ["max_distance", "num_buckets"])
def test_integers_that_are_off_by_one_are_seen(key: str) -> None:
    default = {"max_distance": 128, "num_buckets": 32}[key]
    step = {"max_distance": 1, "num_buckets": 2}[key]  # both directions have as many
    for change in (step, -step):
        assert _caught(_with("t5_bucket", key, lambda n, by=change: n + by, default))["t5_bucket"]
