"""Right encodings on several axes, features and resizes, as other people write them in float32, stay within their bounds."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from posref_conformance.case import Call, one
from posref_conformance.cases import CASES

MOST = 0.8
REALS = pytest.mark.parametrize("real", [np.float32, np.float64])


def _worst(measured: dict[str, float]) -> str:
    check = max(measured, key=lambda c: measured[c])
    return f"{measured[check]:.2f} {check}"


@REALS
def test_axes_within_0_8(ratios: Any, real: Any) -> None:
    def sinusoidal_axes(positions: Any, dim: int, *, base: Any = 1e4, endpoint: bool = False) -> Any:
        """MAE's way: an outer product per axis, sines and cosines side by side."""
        n = dim // (2 * len(positions))
        bases = np.broadcast_to(base, len(positions)).tolist()
        parts = []
        for p, b in zip(positions, bases, strict=True):
            omega = np.exp(np.arange(n, dtype=real) * real(-math.log(b) / (n - endpoint)))
            angle = p.astype(real)[..., None] * omega
            parts += [np.sin(angle), np.cos(angle)]
        rest = np.zeros((*positions.shape[1:], dim - 2 * n * len(positions)), real)
        return np.concatenate([*parts, rest], axis=-1)

    many = one("sinusoidal_axes", "many", lambda i: Call((i.rng.integers(0, 10**5, (2, 400)), 128)), dtypes=("int64",))
    measured = ratios({"sinusoidal_axes": sinusoidal_axes}, "float32", [*CASES, many])
    print(f"sinusoidal_axes {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@REALS
def test_features_within_0_8(ratios: Any, real: Any) -> None:
    def fourier_features(coordinates: Any, frequencies: Any, *, unit: str = "radians") -> Any:
        """SAM's way for a matrix, everybody's for bands: the factor last."""
        kind = np.float64 if frequencies.dtype == np.float64 else real
        x, f = coordinates.astype(kind), frequencies.astype(kind)
        factor = kind({"radians": 1.0, "half_turns": math.pi, "turns": 2 * math.pi}[unit])
        angles = [factor * (np.moveaxis(x, 0, -1) @ f)] if f.ndim == 2 else [factor * (row[..., None] * f) for row in x]
        waves = np.concatenate([wave(a) for a in angles for wave in (np.sin, np.cos)], axis=-1)
        return waves.astype(frequencies.dtype)

    many = one(
        "fourier_features",
        "many",
        lambda i: Call((i.rng.uniform(-1, 1, (2, 400)), i.data(2, 32) * i.typed(8.0)), {"unit": "turns"}),
    )
    measured = ratios({"fourier_features": fourier_features}, "float32", [*CASES, many])
    print(f"fourier_features {real.__name__} {_worst(measured)}")
    sixteen = {c: r for c, r in measured.items() if c.endswith(("float16", "bfloat16"))}
    assert max(sixteen.values()) <= 1.0, _worst(sixteen)  # a cast of half an ulp is 0.67 of its own bound
    assert max(r for c, r in measured.items() if c not in sixteen) <= MOST, _worst(measured)


@REALS
def test_bands_within_0_8(ratios: Any, real: Any) -> None:
    def frequency_bands(n: int, first: float, last: float, *, spacing: str = "linear", endpoint: bool = True) -> Any:
        """NumPy's, and the exponential of one in logarithms."""
        if spacing == "linear":
            return np.linspace(real(first), real(last), n, endpoint=endpoint, dtype=real)
        ends = np.log(real(first)), np.log(real(last))
        return np.exp(np.linspace(*ends, n, endpoint=endpoint, dtype=real))

    measured = ratios({"frequency_bands": frequency_bands}, "float32")
    print(f"frequency_bands {real.__name__} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


def test_torchs_interpolate_within_its_bound(ratios: Any) -> None:
    """The library that most models call, in each type; a factor of its own for DINO."""
    torch = pytest.importorskip("torch", reason="needs torch, whose interpolate is the right one here")

    def resample_table(
        table: Any,
        sizes: Any,
        new_sizes: Any,
        *,
        kernel: str = "cubic",
        align_corners: bool = False,
        offset: float = 0.0,
        prefix: int = 0,
    ) -> Any:
        if len(sizes) != 2 or not all(new_sizes):
            raise NotImplementedError("pictures that are not empty")
        grid = table[prefix:].reshape(*sizes, -1).permute(2, 0, 1)[None]
        mode = "bilinear" if kernel == "linear" else "bicubic"
        size: dict[str, Any] = {"size": tuple(new_sizes)}
        if offset:
            size = {"scale_factor": tuple((n + offset) / s for s, n in zip(sizes, new_sizes, strict=True))}
        found = torch.nn.functional.interpolate(grid, mode=mode, align_corners=align_corners, **size)[0]
        return torch.cat([table[:prefix], found.permute(1, 2, 0).reshape(-1, table.shape[1])])

    measured = ratios({"resample_table": resample_table}, "native", arrays="torch")
    print(f"resample_table {_worst(measured)}")
    assert len(measured) >= 30
    assert max(measured.values()) <= 1.0, _worst(measured)


def rounds_alike(frequencies: Any, dtype: str) -> bool:
    """Whether code that is 32 roundings of float32 off has the same numbers once they are rounded to a narrower type."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    low, high = (np.asarray(frequencies * (1 + 32 * sign * 2.0**-24)).astype(kind) for sign in (-1, 1))
    return bool((low == high).all())


def test_no_frequency_of_a_case_is_next_to_a_tie() -> None:
    """Else right float32 code would round the other way than the truth, further than any bound that tells faults allows."""
    found = 0
    for case in (c for c in CASES if c.function == "timestep_embedding"):
        for call in case.calls(case.dtypes[0]):
            if "freq_dtype" in call.kwargs:
                n, shift = call.args[1] // 2, call.kwargs.get("downscale_freq_shift", 1.0)
                w = call.kwargs.get("max_period", 1e4) ** (-np.arange(1, n) / (n - shift))  # the first one is 1
                assert rounds_alike(w, call.kwargs["freq_dtype"])
                found += 1
    assert found >= 2
    assert not rounds_alike(np.array([0.5 + 2.0**-9]), "bfloat16")  # half way between two of its numbers
