"""Right frequencies, tables and fused rotations stay within 0.8 of their bounds. ``pytest -rP`` prints the worst of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import posref
from posref_conformance.case import Call, Case, one
from posref_conformance.cases import CASES
from posref_conformance.cases.rotary import FREQUENCIES

MOST = 0.8
Ladder = Callable[[int, float], Any]


# --- base ** (-2k / dim), in the ways and types in which it is written ------------------------------------------------


def float32_power(dim: int, base: float) -> Any:
    """As in transformers."""
    return (np.float32(1) / np.float32(base) ** (np.arange(0, dim, 2, dtype="f") / np.float32(dim))).astype("f")


def float32_exp(dim: int, base: float) -> Any:
    """tensor2tensor and its descendants."""
    return np.exp(-(np.arange(0, dim, 2, dtype="f") / np.float32(dim)) * np.float32(math.log(base)))


def float32_exp2(dim: int, base: float) -> Any:
    """Kernels: the only exponential that a GPU has."""
    return np.exp2(-(np.arange(0, dim, 2, dtype="f") / np.float32(dim)) * np.float32(math.log2(base)))


def float64_power(dim: int, base: float) -> Any:
    return base ** (-np.arange(0, dim, 2) / dim)


def float64_exp(dim: int, base: float) -> Any:
    return np.exp(-np.arange(0, dim, 2) / dim * math.log(base))


def float64_rounded(dim: int, base: float) -> Any:
    return float64_power(dim, base).astype("f")


LADDERS: list[Ladder] = [float32_power, float32_exp, float32_exp2, float64_power, float64_exp, float64_rounded]


# --- the scalings, as released code has them, in the type of the ladder -------------------------------------------------


def frequencies(ladder: Ladder) -> Callable[..., Any]:
    def rope_inv_freq(dim: int, *, base: float = 10000.0, scaling: Any = None, seq_len: int | None = None) -> Any:
        match scaling:
            case None:
                return ladder(dim, base)
            case posref.LinearScaling():
                return ladder(dim, base) / scaling.factor
            case posref.NTKScaling():
                return _ntk(ladder, dim, base, scaling)
            case posref.DynamicNTKScaling():
                length = scaling.original_max_position_embeddings
                grown = scaling.factor * max(seq_len or length, length) / length - (scaling.factor - 1)
                return ladder(dim, base * grown ** (dim / (dim - 2)))
            case posref.YarnScaling():
                return _yarn(ladder(dim, base), scaling, dim, base)
            case posref.Llama3Scaling():
                return _llama3(ladder(dim, base), scaling)
            case posref.DynamicLinearScaling():
                w, length = ladder(dim, base), scaling.original_max_position_embeddings
                return w / w.dtype.type(max(1.0, (seq_len or length) / length))
            case posref.DynamicYarnScaling():
                length = scaling.original_max_position_embeddings
                names = ("beta_fast", "beta_slow", "truncate", "ramp", "extrapolation_factor")
                settings = {name: getattr(scaling, name) for name in names}
                factor = max(scaling.least_factor, (seq_len or length) / length)
                return _yarn(ladder(dim, base), posref.YarnScaling(factor, length, **settings), dim, base)
            case posref.NTKByPartsScaling():
                return _by_parts(ladder, scaling, dim, base)
            case posref.ProportionalScaling():
                return _proportional(ladder(dim, base), scaling)
        longer = (seq_len or 0) > scaling.original_max_position_embeddings
        w = ladder(dim, base)
        return w / np.array(scaling.long_factor if longer else scaling.short_factor, w.dtype)

    return rope_inv_freq


def _yarn(w: Any, scaling: Any, dim: int, base: float) -> Any:
    """transformers; with ramp="rotations", the paper."""
    length, real = scaling.original_max_position_embeddings, w.dtype.type
    if scaling.ramp == "rotations":
        rotations = real(length) * w / real(math.tau)
        kept = (rotations - real(scaling.beta_slow)) / real(scaling.beta_fast - scaling.beta_slow)
    else:
        ends = [
            dim * math.log(length / (b * math.tau)) / (2 * math.log(base))
            for b in (scaling.beta_fast, scaling.beta_slow)
        ]
        low, high = (math.floor(ends[0]), math.ceil(ends[1])) if scaling.truncate else ends
        low, high = max(low, 0), min(high, dim - 1)
        width = max(high - low, 0.001) if scaling.reversed_range == "step" else high - low or 0.001  # step: ggml
        kept = 1 - (np.arange(dim // 2, dtype=w.dtype) - real(low)) / real(width)
    kept = np.clip(kept, 0, 1) * real(scaling.extrapolation_factor)
    return w / real(scaling.factor) * (1 - kept) + w * kept


def _llama3(w: Any, scaling: Any) -> Any:
    """As in transformers and in Meta's code."""
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    length, real = scaling.original_max_position_embeddings, w.dtype.type
    wavelength = real(math.tau) / w
    slowed = np.where(wavelength > length / low, w / real(scaling.factor), w)
    if low == high:
        return slowed
    smooth = (real(length) / wavelength - real(low)) / real(high - low)
    between = (wavelength >= length / high) & (wavelength <= length / low)
    return np.where(between, (1 - smooth) * slowed / real(scaling.factor) + smooth * slowed, slowed)


def _ntk(ladder: Ladder, dim: int, base: float, scaling: Any) -> Any:
    """Form "base" is diffusers's; vLLM's forms "fixed" and "mixed" are kexue's."""
    s, b = scaling.factor, scaling.mixed_b
    if scaling.form == "aware":
        return ladder(dim, base * s ** (dim / (dim - 2)))
    if scaling.form == "base":
        return ladder(dim, base * s)
    if scaling.form == "fixed":
        w = ladder(dim, base * s)
        return w / w.dtype.type(s ** (2 / dim))
    w = ladder(dim, base)
    return w / np.exp(
        w.dtype.type(math.log(s) / (dim / 2) ** b) * np.arange(1, dim // 2 + 1, dtype=w.dtype) ** w.dtype.type(b)
    )


def _by_parts(ladder: Ladder, scaling: Any, dim: int, base: float) -> Any:
    """jquesnelle/yarn."""
    s, length = scaling.factor, scaling.original_max_position_embeddings
    plain, ntk = ladder(dim, base), ladder(dim, base * s ** (dim / (dim - 2)))
    real = plain.dtype.type

    def mask(fast: float, slow: float, kept: float) -> Any:
        ends = [dim * math.log(length / (b * math.tau)) / (2 * math.log(base)) for b in (fast, slow)]
        low, high = max(math.floor(ends[0]), 0), min(math.ceil(ends[1]), dim - 1)
        ramp = (np.arange(dim // 2, dtype=plain.dtype) - real(low)) / real(high - low or 0.001)
        return (1 - np.clip(ramp, 0, 1)) * real(kept)

    near = mask(scaling.beta_0, scaling.beta_1, scaling.ntk_factor)
    stretched = plain / real(s) * (1 - near) + ntk * near
    far = mask(scaling.gamma_0, scaling.gamma_1, scaling.extrapolation_factor)
    return stretched * (1 - far) + plain * far


def _proportional(w: Any, scaling: Any) -> Any:
    """transformers; mlx-lm rounds up."""
    channels = scaling.partial_rotary_factor * 2 * len(w)
    rotating = int(channels // 2) if scaling.rounding == "floor" else (int(channels) + 1) // 2
    return np.concatenate([w[:rotating], np.zeros(len(w) - rotating, w.dtype)]) / w.dtype.type(scaling.factor)


def tables(ladder: Ladder) -> Callable[..., Any]:
    """Angles in the ladder's type: p times w."""

    def rope_table(
        positions: Any,
        dim: int,
        *,
        base: float = 10000.0,
        scaling: Any = None,
        seq_len: int | None = None,
        attention_factor: float | None = None,
    ) -> Any:
        w = frequencies(ladder)(dim, base=base, scaling=scaling, seq_len=seq_len)
        factor = (
            posref.rope_attention_factor(scaling, seq_len=seq_len) if attention_factor is None else attention_factor
        )
        return given(positions, w, attention_factor=factor)

    return rope_table


def given(positions: Any, inv_freq: Any, *, attention_factor: float = 1.0) -> Any:
    """Cos and sin in the frequencies' type."""
    real = inv_freq.dtype.type
    angle = positions.astype(inv_freq.dtype)[..., None] * inv_freq
    return np.cos(angle) * real(attention_factor), np.sin(angle) * real(attention_factor)


def positions_divided(ladder: Ladder) -> Callable[..., Any]:
    """Position interpolation as its paper has it: (p / s) w and not p (w / s)."""

    def rope_table(positions: Any, dim: int, *, base: float = 10000.0, scaling: Any = None) -> Any:
        if not isinstance(scaling, posref.LinearScaling):
            raise NotImplementedError
        w = ladder(dim, base)
        return given(positions.astype(w.dtype) / w.dtype.type(scaling.factor), w)

    return rope_table


# --- the tests --------------------------------------------------------------------------------------------------------

BASES = [(64, 1e4), (128, 5e5), (256, 1e7), (512, 1e4)]
EXTRA: list[Case] = [
    one("rope_inv_freq", f"extra-{d}-{b:g}", lambda i, d=d, b=b: Call((d,), {"base": b}), dtypes=("default",))
    for d, b in BASES
]


def _many(function: str, name: str) -> Case:
    """A table of many random positions, half of them beyond 100 000, for one of the scalings."""
    dim, options = FREQUENCIES[name]

    def build(i: Any) -> Call:
        positions = np.concatenate([i.rng.integers(0, 10**4, 200), i.rng.integers(10**5, 10**6, 200)])
        return Call((positions, dim), dict(options))

    return one(function, f"many-{name}", build, dtypes=("int64",))


def _worst(measured: dict[str, float]) -> str:
    check = max(measured, key=lambda c: measured[c])
    return f"{measured[check]:.2f} {check}"


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda f: f.__name__)
def test_frequencies_within_0_8(ratios: Any, ladder: Ladder) -> None:
    cases = [c for c in CASES if c.function == "rope_inv_freq"] + EXTRA
    measured = ratios({"rope_inv_freq": frequencies(ladder)}, "float32", cases)
    assert len(measured) == len(cases)
    print(f"rope_inv_freq {ladder.__name__:16} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda f: f.__name__)
def test_tables_within_0_8(ratios: Any, ladder: Ladder) -> None:
    cases = [c for c in CASES if c.function == "rope_table"] + [_many("rope_table", name) for name in FREQUENCIES]
    measured = ratios({"rope_table": tables(ladder)}, "float32", cases)
    print(f"rope_table    {ladder.__name__:16} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)
    divided = ratios({"rope_table": positions_divided(ladder)}, "float32", cases)
    print(f"  positions divided by the factor: {_worst(divided)}")
    assert max(divided.values()) <= MOST, _worst(divided)


def _given(inputs: Any, base: float) -> Call:
    positions = inputs.rng.integers(0, 10**6, 500)
    return Call((positions, inputs.typed(posref.rope_inv_freq(128, base=base))))


def test_cos_and_sin_of_given_frequencies_within_0_8(ratios: Any) -> None:
    many = [
        one("rope_cos_sin", f"many-{b:g}", lambda i, b=b: _given(i, b), dtypes=("float64", "float32"))
        for b in (1e4, 5e5)
    ]
    cases = [c for c in CASES if c.function == "rope_cos_sin"] + many
    measured = ratios({"rope_cos_sin": given}, "float32", cases)
    print(f"rope_cos_sin  in the frequencies' type {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


def _in_half(x: Any, cos: Any, sin: Any) -> Any:
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@pytest.mark.parametrize("ladder", [float32_power, float32_exp, float64_rounded], ids=lambda f: f.__name__)
@pytest.mark.parametrize("profile", ["float32", "table", "native"])
def test_fused_rotations_within_0_8(ratios: Any, ladder: Ladder, profile: str) -> None:
    def rope(x: Any, positions: Any, *, base: float = 10000.0, scaling: Any = None, seq_len: int | None = None) -> Any:
        wide = x.dtype if x.dtype == np.float64 else np.dtype("f")
        made = float64_power if x.dtype == np.float64 else ladder
        cos, sin = tables(made)(positions, x.shape[-1], base=base, scaling=scaling, seq_len=seq_len)
        if profile != "float32":
            cos, sin = cos.astype(x.dtype), sin.astype(x.dtype)
        work = x.dtype if profile == "native" else wide
        return _in_half(x.astype(work), cos.astype(work), sin.astype(work)).astype(x.dtype)

    measured = ratios({"rope": rope}, profile)
    print(f"rope          {ladder.__name__:16} {profile:8} {_worst(measured)}")
    assert max(measured.values()) <= MOST, _worst(measured)


def test_an_iterated_product_may_fail(ratios: Any) -> None:
    """Each frequency as the one before times base**(-2/dim) in float32, as in ggml: the ratio's own rounding counts once for
    every pair before. The bound grows with the logarithm of the frequency and not with the index, so wide heads leave it.
    """

    def iterated(size: int, base: float) -> Any:
        step = np.float32(base ** (-2 / size))
        return np.multiply.accumulate(np.array([1, *[step] * (size // 2 - 1)], np.float32))

    def case(dim: int) -> Case:
        return one("rope_inv_freq", f"iterated-{dim}", lambda i: Call((dim,), {"base": 10000.0}), dtypes=("default",))

    measured = ratios({"rope_inv_freq": frequencies(iterated)}, "float32", [case(dim) for dim in (64, 128, 256)])
    print("rope_inv_freq iterated ", measured)
    assert measured["rope_inv_freq/iterated-64/default"] <= MOST
    assert max(measured.values()) > 1
