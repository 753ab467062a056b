"""Scalings of the frequencies: factors, lengths, bands."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import frequencies, keywords, numbers, without
from posref_conformance.faults._fault import Fault, Functions, Wrong

WITH_SCALING = ("rope_inv_freq", "rope_table", "rope", "rope_axes_inv_freq", "rope_axes_table")
OF_LENGTH = ("rope_inv_freq", "rope_table", "rope")
Change = Callable[[Any], Any]


def _kind(scaling: Any) -> str:
    return type(scaling).__name__.removesuffix("Scaling")


def _scaling(change: Change, *kinds: str, names: tuple[str, ...] = OF_LENGTH) -> Any:
    """Functions that see another scaling of those kinds."""

    def changed(kwargs: dict[str, Any]) -> dict[str, Any]:
        scaling = kwargs.get("scaling")
        if scaling is None or (kinds and _kind(scaling) not in kinds):
            return kwargs
        return {**kwargs, "scaling": change(scaling)}

    return keywords(names, changed)


def _with(**fields: Any) -> Change:
    """The scaling with some fields replaced; a function gives a field's new value from the scaling."""
    return lambda s: dataclasses.replace(s, **{k: v(s) if callable(v) else v for k, v in fields.items()})


def _length(change: Callable[[Any, int], int | None], *kinds: str) -> Any:
    """Functions that see another length."""

    def changed(kwargs: dict[str, Any]) -> dict[str, Any]:
        scaling, n = kwargs.get("scaling"), kwargs.get("seq_len")
        if scaling is None or _kind(scaling) not in kinds:
            return kwargs
        return {**kwargs, "seq_len": change(scaling, n or scaling.original_max_position_embeddings)}

    return keywords(OF_LENGTH, changed)


def _too_early(k: dict[str, Any]) -> dict[str, Any]:
    """One token more, where a length is given."""
    return {**k, "seq_len": k["seq_len"] + 1} if _kind(k.get("scaling")) == "LongRope" and k.get("seq_len") else k


def _formula(kind: str, formula: Callable[..., Any]) -> Wrong:
    """``formula(xp, w, scaling, dim, base, seq_len)`` for one kind of scaling, w being the plain frequencies."""

    def changed(
        right: Any, xp: Any, dim: int, *, base: float = 10000.0, scaling: Any = None, seq_len: int | None = None
    ) -> Any:
        if _kind(scaling) != kind:
            return right.rope_inv_freq(dim, base=base, scaling=scaling, seq_len=seq_len)
        return formula(xp, right.rope_inv_freq(dim, base=base), scaling, dim, base, seq_len)

    return frequencies(changed)


def _inside_the_power(xp: Any, w: Any, s: Any, dim: int, base: float, seq_len: Any) -> Any:
    return numbers(xp, [(base * s.factor) ** (-2 * k / dim) for k in range(dim // 2)]) + 0 * w


def _ntk_without_exponent(xp: Any, w: Any, s: Any, dim: int, base: float, seq_len: Any) -> Any:
    return _inside_the_power(xp, w, s, dim, base, seq_len)


def _dynamic(alpha: Callable[[float, float], float]) -> Any:
    """Dynamic NTK whose base grows by alpha(factor, length / original)."""

    def formula(xp: Any, w: Any, s: Any, dim: int, base: float, seq_len: Any) -> Any:
        ratio = max(1.0, (seq_len or 0) / s.original_max_position_embeddings)
        grown = base * alpha(s.factor, ratio) ** (dim / (dim - 2)) if ratio > 1 else base
        return numbers(xp, [grown ** (-2 * k / dim) for k in range(dim // 2)]) + 0 * w

    return _formula("DynamicNTK", formula)


def _llama3(blend: Callable[[float, Any], float]) -> Any:
    """Llama 3's scaling with another frequency between its bands: blend(w, scaling)."""

    def formula(xp: Any, w: Any, s: Any, dim: int, base: float, seq_len: Any) -> Any:
        def scaled(k: int) -> float:
            v: float = base ** (-2 * k / dim)
            turns = s.original_max_position_embeddings * v / (2 * math.pi)
            if turns > s.high_freq_factor:
                return v
            return v / float(s.factor) if turns < s.low_freq_factor else blend(v, s)

        return numbers(xp, [scaled(k) for k in range(dim // 2)]) + 0 * w

    return _formula("Llama3", formula)


def _linear_in_wavelength(w: float, s: Any) -> float:
    length = s.original_max_position_embeddings
    shortest, longest = length / s.high_freq_factor, length / s.low_freq_factor
    period = 2 * math.pi / w
    share = (period - shortest) / (longest - shortest) if longest > shortest else 1.0
    return w / float(1 - share + s.factor * share)


def _yarn(low_high: Callable[[Any, int, float, float], tuple[float, float]]) -> Any:
    """YaRN with other ends of its ramp: low_high(scaling, dim, low, high) of the pairs, before rounding."""

    def formula(xp: Any, w: Any, s: Any, dim: int, base: float, seq_len: Any) -> Any:
        def pair(rotations: float) -> float:
            turns = s.original_max_position_embeddings / (2 * math.pi * rotations)
            return dim * math.log(turns) / (2 * math.log(base))

        low, high = low_high(s, dim, pair(s.beta_fast), pair(s.beta_slow))
        ramp = [min(1.0, max(0.0, (k - low) / max(high - low, 0.001))) for k in range(dim // 2)]
        slow = numbers(xp, ramp) + 0 * w
        return w * (1 - slow) + w / s.factor * slow

    return _formula("Yarn", formula)


def _rounded(s: Any, low: float, high: float) -> tuple[float, float]:
    return (math.floor(low), math.ceil(high)) if s.truncate else (low, high)


def _half_clamp(s: Any, dim: int, low: float, high: float) -> tuple[float, float]:
    low, high = _rounded(s, low, high)
    return max(low, 0), min(high, dim // 2 - 1)


def _no_clamp(s: Any, dim: int, low: float, high: float) -> tuple[float, float]:
    return _rounded(s, low, high)


def _reversed_yarn(right: Any, xp: Any) -> Functions:
    def formula(xp: Any, w: Any, s: Any, dim: int, base: float, seq_len: Any) -> Any:
        return w + w / s.factor - right.rope_inv_freq(dim, base=base, scaling=s)  # the shares of both exchanged

    return _formula("Yarn", formula)(right, xp)


def _exchanged_factors(s: Any) -> Any:
    return dataclasses.replace(s, short_factor=s.long_factor, long_factor=s.short_factor)


def _factors(xp: Any, s: Any, seq_len: int | None) -> Any:
    return numbers(xp, s.long_factor if s.longer(seq_len) else s.short_factor)


FACTOR = ("Linear", "NTK", "DynamicNTK", "Yarn", "Llama3")
FAULTS = (
    Fault(
        "scaling-ignored",
        "You use the plain frequencies: the scaling has no effect.",
        "Apply rope_scaling, under both of its keys, and return the scaled frequencies.",
        "huggingface/transformers PR #32330; lablup/mlxcel issue #1355; unslothai/unsloth PR #6197; "
        "sbryngelson/ANEForge PR #58; lablup/mlxcel PR #1389; lablup/mlxcel issue #1340; antonellof/ferrox issue #39",
        without(WITH_SCALING, "scaling"),
    ),
    Fault(
        "scaling-factor-squared",
        "You apply the scaling's factor twice.",
        "Scale either the positions or the frequencies, once.",
        "ggml-org/ggml issue #835; ggml-org/ggml PR #839; ggml-org/llama.cpp PR #4093",
        _scaling(_with(factor=lambda s: s.factor**2), *FACTOR),
    ),
    Fault(
        "scaling-factor-inverted",
        "You multiply by the scaling's factor instead of dividing.",
        "Interpolation divides the frequencies by factor.",
        "tutorials",
        _formula("Linear", lambda xp, w, s, dim, base, n: w * s.factor),
    ),
    Fault(
        "scaling-factor-8",
        "You use factor 8 whatever factor is given.",
        "Pass the factor of the config on.",
        "NVIDIA/Megatron-LM issue #6305",
        _scaling(_with(factor=8.0), "Llama3"),
    ),
    Fault(
        "factor-inside-the-power",
        "You multiply the base by factor: the fast pairs are not scaled, the slow ones too much.",
        "Divide the frequency: base ** (-2k/dim) / factor.",
        "apache/tvm PR #18576",
        _formula("Linear", _inside_the_power),
    ),
    Fault(
        "ntk-without-its-exponent",
        "You multiply the base by factor, without the exponent dim / (dim - 2).",
        "NTK's base is base * factor ** (dim / (dim - 2)).",
        "tutorials",
        _formula("NTK", _ntk_without_exponent),
    ),
    Fault(
        "original-length-times-factor",
        "You compute the bands from the scaled length, not from the original one.",
        "Use original_max_position_embeddings, the length before scaling.",
        "NVIDIA/Megatron-LM issue #1418",
        _scaling(
            _with(original_max_position_embeddings=lambda s: int(s.original_max_position_embeddings * s.factor)),
            "Yarn",
            "Llama3",
        ),
    ),
    Fault(
        "length-ignored",
        "You do not look at the length: what depends on it never changes.",
        "Read the length from the sequence axis and pass it on as seq_len.",
        "ml-explore/mlx-lm PR #1553; ml-explore/mlx-lm issue #1545",
        without(WITH_SCALING, "seq_len"),
    ),
    Fault(
        "dynamic-ntk-always",
        "You scale within the original length, too.",
        "Dynamic NTK is plain up to original_max_position_embeddings.",
        "huggingface/transformers PR #27227",
        _length(lambda s, n: max(n, int(s.factor * s.original_max_position_embeddings)), "DynamicNTK"),
    ),
    Fault(
        "dynamic-ntk-in-steps",
        "You round the growth to a power of two; here it follows the length.",
        "Grow by factor * length / original - (factor - 1); Qwen-1 alone has steps.",
        "QwenLM/Qwen issue #401; InternLM/lmdeploy issue #536",
        _dynamic(lambda factor, ratio: 2 ** math.ceil(math.log2(ratio) + 1) - 1),
    ),
    Fault(
        "dynamic-ntk-without-correction",
        "You let the base grow by factor * length / original, without subtracting factor - 1.",
        "Grow by factor * length / original - (factor - 1), which is 1 at the original length.",
        "huggingface/transformers PR #27227",
        _dynamic(lambda factor, ratio: factor * ratio),
    ),
    Fault(
        "llama3-blend-by-wavelength",
        "You blend Llama 3's middle band linearly in the wavelength.",
        "Blend the frequencies, by (length / wavelength - low) / (high - low).",
        "ml-explore/mlx-examples PR #907",
        _llama3(_linear_in_wavelength),
    ),
    Fault(
        "llama3-without-blend",
        "You leave Llama 3's middle band unscaled.",
        "Blend between w / factor and w there.",
        "ml-explore/mlx-examples PR #907",
        _llama3(lambda w, s: w),
    ),
    Fault(
        "longrope-long-too-early",
        "You take the long factors at the original length already.",
        "They hold beyond it: length > original_max_position_embeddings.",
        "unslothai/unsloth PR #10681",
        keywords(OF_LENGTH, _too_early),
    ),
    Fault(
        "longrope-long-always",
        "You take the long factors for every length.",
        "Up to original_max_position_embeddings the short ones hold.",
        "lablup/mlxcel issue #1358",
        _length(lambda s, n: max(n, s.original_max_position_embeddings + 1), "LongRope"),
    ),
    Fault(
        "longrope-factors-exchanged",
        "You exchange LongRoPE's short and long factors.",
        "Short up to the original length, long beyond.",
        "lablup/mlxcel issue #1358",
        _scaling(_exchanged_factors, "LongRope"),
    ),
    Fault(
        "longrope-multiplied",
        "You multiply the frequencies by LongRoPE's factors.",
        "Divide by them.",
        "tutorials",
        _formula("LongRope", lambda xp, w, s, dim, base, n: w * _factors(xp, s, n)),
    ),
    Fault(
        "yarn-always-truncated",
        "You round the ends of YaRN's ramp, though truncate is False.",
        "Leave them as they are: gpt-oss has truncate = False.",
        "vllm-project/vllm issue #27722; vllm-project/vllm PR #28244",
        _scaling(_with(truncate=True), "Yarn"),
    ),
    Fault(
        "yarn-never-truncated",
        "You do not round the ends of YaRN's ramp.",
        "Take floor of the lower and ceil of the upper end, unless truncate is False.",
        "keras-team/keras-hub PR #2981",
        _scaling(_with(truncate=False), "Yarn"),
    ),
    Fault(
        "yarn-clamped-at-half",
        "You clamp YaRN's ramp at dim / 2 - 1.",
        "Clamp it at dim - 1, as the authors' code does.",
        "keras-team/keras-hub PR #2981",
        _yarn(_half_clamp),
    ),
    Fault(
        "yarn-not-clamped",
        "You do not clamp the ends of YaRN's ramp.",
        "Clamp them to 0 and dim - 1.",
        "keras-team/keras-hub PR #2981",
        _yarn(_no_clamp),
    ),
    Fault(
        "yarn-betas-fixed",
        "You use beta_fast 32 and beta_slow 1 whatever is given.",
        "Pass both on.",
        "GaijinEntertainment/daScript PR #3479",
        _scaling(_with(beta_fast=32.0, beta_slow=1.0), "Yarn"),
    ),
    Fault(
        "yarn-ramp-reversed",
        "You interpolate YaRN's fast pairs and keep its slow ones.",
        "Keep the pairs that turn often, divide the others by factor.",
        "YaRN (2309.00071), sec. 3.2",
        _reversed_yarn,
    ),
    Fault(
        "yarn-interpolates-all",
        "You divide all frequencies by YaRN's factor.",
        "Keep the pairs that turn often: only the slow ones are divided.",
        "ggml-org/ggml issue #835",
        _formula("Yarn", lambda xp, w, s, dim, base, n: w / s.factor),
    ),
)
