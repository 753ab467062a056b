"""The rope types of config files as frameworks other than transformers read them.

Read in vLLM 0.33.0 (``layers/rotary_embedding``, ``transformers_utils/config.py``), sglang 0.5.23 (``layers/rotary_embedding``),
mlx-lm 0.32.2 (``models/rope_utils.py``), exllamav3 1.6.5 (``util/rope.py``), ggml (``ggml-cpu/ops.cpp``) and llama.cpp's
converter. Each difference from transformers is noted where a file shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from posref.models import scalings
from posref.models._reading import NotKnown, Refused, Untold
from posref.models.scalings import KINDS, Fixed, Kind, Source, betas, factor_lists
from posref.rotary.scaling import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKScaling,
    ProportionalScaling,
    Scaling,
    YarnScaling,
)


def g(factor: float, mscale: float = 1.0) -> float:
    """YaRN's magnitude: 0.1 mscale ln s + 1, and 1 up to factor 1."""
    return 0.1 * mscale * math.log(factor) + 1.0 if factor > 1 else 1.0


def ignored(source: Source, key: str, who: str) -> None:
    """Say that a framework does not look at a key that transformers takes."""
    if source.block.raw(key) is not None:
        source.block.note("ignored", f"{source.block.name(key)} = {source.block.raw(key)}: {who} does not look at it")


def always_ratio(source: Source, factor: float) -> float:
    """g(mscale) / g(mscale_all_dim) with 1 and 0 for what is absent."""
    over, under = source.block.number("mscale", least=0), source.block.number("mscale_all_dim", least=0)
    return g(factor, 1.0 if over is None else over) / g(factor, 0.0 if under is None else under)


def truncated(source: Source, who: str) -> bool:
    """True, whatever ``truncate`` says, which is noted."""
    if source.block.boolean("truncate") is False:
        source.block.note("ignored", f"{source.block.name('truncate')} = false: {who} rounds the ends of the ramp")
    return True


def own_factor(source: Source) -> float:
    """Sglang's ``attn_factor``."""
    extra = source.block.number("attn_factor", least=0)
    if source.block.number("extrapolation_factor", least=0) not in (None, 1.0):
        raise NotKnown("extrapolation_factor")
    return 1.0 if extra is None else extra


def long_factors(source: Source) -> LongRopeScaling:
    """LongRoPE with the ratio of the lengths for its factor, whatever ``factor`` says."""
    original = source.original_length()
    short, long = factor_lists(source.block)
    return LongRopeScaling(short, long, original, _longest(source) / original)


def chosen_once(who: str) -> Kind:
    """LongRoPE's factors by the configured length, for all texts; by default max_position_embeddings."""

    def read(source: Source) -> Scaling | Fixed:
        for key in ("factor", "attention_factor"):
            ignored(source, key, who)
        length = source.config.reading.seq_len or source.longest or 1
        source.block.note("seq_len", f"{who} chooses the factors once, by the configured length, here {length}")
        return Fixed(long_factors(source), length)

    return read


def _longest(source: Source) -> int:
    if source.longest is None:
        raise Untold("max_position_embeddings, which makes the factor, is not given")
    return source.longest


# --- vLLM


def vllm_yarn(source: Source) -> Scaling:
    """As transformers, and ``truncate`` counts in a layer type's block, too; latent attention has a rule of its own."""
    return deepseek_yarn(source, "vllm") if source.mla else scalings.yarn(source)


def deepseek_yarn(source: Source, who: str) -> Scaling:
    """VLLM's and sglang's ``deepseek_yarn``: always rounded, always the ratio, no ``attention_factor``."""
    ignored(source, "attention_factor", who)
    factor, original = source.needed("factor", "yarn"), source.original_length()
    extra = own_factor(source) if who == "sglang" else 1.0
    return YarnScaling(
        factor,
        original,
        *betas(source.block),
        truncate=truncated(source, who),
        attention_factor=always_ratio(source, factor) * extra,
    )


def vllm_dynamic(source: Source) -> Scaling | Fixed:
    """That of the longest text, and from ``max_trained_positions`` on: without that key the factor does nothing."""
    if source.block.number("alpha") is not None:
        return scalings.by_alpha(source)
    factor, longest = source.needed("factor", "dynamic"), source.longest
    if longest is None:
        raise Untold("max_position_embeddings, for which dynamic scaling is made, is not given")
    trained = source.block.integer("max_trained_positions")
    if trained is None:
        told = f"vllm takes max_position_embeddings {longest} for the trained length, so that the factor does nothing"
        source.block.note("unusual", told)
        return Fixed(DynamicNTKScaling(factor, longest), longest)
    source.block.note("seq_len", f"vllm's frequencies are those of length {longest} for all texts")
    return Fixed(DynamicNTKScaling(factor, trained), longest)


def vllm_longrope(source: Source) -> Scaling | Fixed:
    """By the configured length, for all texts; by default the original length where it stands beside the rope block."""
    for key in ("factor", "attention_factor"):
        ignored(source, key, "vllm")
    scaling = long_factors(source)
    asked = source.config.reading.seq_len
    length = asked or source.config.integer("original_max_position_embeddings") or source.longest or 1
    which = "long" if length > scaling.original_max_position_embeddings else "short"
    source.block.note(
        "seq_len", f"vllm takes the {which} factors for all texts where it is configured for length {length}"
    )
    return Fixed(scaling, length)


def proportional_without_factor(source: Source) -> Scaling:
    """Gemma 4's classes do not look at ``factor``."""
    if source.block.number("factor") not in (None, 1.0):
        ignored(source, "factor", source.block.reading.framework)
    return ProportionalScaling(1.0 if source.partial is None else source.partial)


# --- sglang


def sglang_yarn(source: Source) -> Scaling:
    """``attn_factor`` in place of ``attention_factor``; the ratio where both mscales are given, be they 0."""
    if source.mla:
        return deepseek_yarn(source, "sglang")
    ignored(source, "attention_factor", "sglang")
    factor, original, block = source.needed("factor", "yarn"), source.original_length(), source.block
    over, under = block.number("mscale", least=0), block.number("mscale_all_dim", least=0)
    magnitude = g(factor) if over is None or under is None else g(factor, over) / g(factor, under)
    return YarnScaling(
        factor,
        original,
        *betas(block),
        truncate=block.boolean("truncate") is not False,
        attention_factor=magnitude * own_factor(source),
    )


def sglang_dynamic(source: Source) -> Scaling:
    """The base of length factor * max_position_embeddings, at every length: NTK with factor^2 - factor + 1."""
    if source.block.number("alpha") is not None:
        return scalings.by_alpha(source)
    factor = _or(source, "factor", 1.0)
    source.block.note("seq_len", "sglang's frequencies are those of factor x max_position_embeddings for all texts")
    return NTKScaling(factor * factor - factor + 1)


def sglang_longrope(source: Source) -> Scaling | Fixed:
    """The long factors where a position is *greater* than the original length: one token later than transformers."""
    for key in ("factor", "attention_factor"):
        ignored(source, key, "sglang")
    scaling, asked = long_factors(source), source.config.reading.seq_len
    if asked is None:
        return scaling
    original = scaling.original_max_position_embeddings
    if asked == original + 1:
        told = (
            f"sglang has the short factors up to position {original}, and turns the token there as if it were the first"
        )
        source.block.note("unusual", told)
    return Fixed(scaling, max(asked - 1, 1))


def sglang_llama3(source: Source) -> Scaling:
    """With defaults for what is absent."""
    factor, low, high = _llama3_factors(source, 1.0)
    return _step_noted(source, Llama3Scaling(factor, source.original_length(), low, high))


def sglang_linear(source: Source) -> Scaling:
    """With factor 1 where it is absent."""
    return LinearScaling(_or(source, "factor", 1.0))


def _or(source: Source, key: str, default: float) -> float:
    value = source.block.number(key)
    if value is None:
        who = source.config.reading.framework
        source.block.note("defaulted", f"{source.block.name(key)} is absent, {who}'s default is {default:g}")
        return default
    return value


def _llama3_factors(source: Source, default: float | None) -> tuple[float, float, float]:
    factor = source.needed("factor", "llama3") if default is None else _or(source, "factor", default)
    return factor, _or(source, "low_freq_factor", 1.0), _or(source, "high_freq_factor", 4.0)


def _step_noted(source: Source, scaling: Llama3Scaling) -> Llama3Scaling:
    if scaling.low_freq_factor == scaling.high_freq_factor:
        told = f"low_freq_factor and high_freq_factor are both {scaling.low_freq_factor:g}: the blend is a step"
        source.block.note("unusual", told)
    return scaling


# --- mlx-lm


def mlx_yarn(source: Source) -> Scaling:
    """Always rounded, always the ratio, no ``attention_factor``; the original length from the block alone, or 4096."""
    ignored(source, "attention_factor", "mlx")
    factor = source.needed("factor", "yarn")
    return YarnScaling(
        factor,
        _inner_length(source, 4096),
        *betas(source.block),
        truncate=truncated(source, "mlx"),
        attention_factor=always_ratio(source, factor),
    )


def mlx_llama3(source: Source) -> Scaling:
    """With defaults for what is absent; the original length from the block alone, or 8192."""
    factor, low, high = _llama3_factors(source, None)
    return _step_noted(source, Llama3Scaling(factor, _inner_length(source, 8192), low, high))


def mlx_longrope(source: Source) -> Scaling | Fixed:
    """Always the long factors. Phi-3 has the original length beside the rope block, all others within it."""
    for key in ("factor", "attention_factor"):
        ignored(source, key, "mlx")
    if source.config.family == "phi3":
        if source.block.raw("type") is None:
            raise Refused(f"{source.block.name('type')} is not given")
        if source.block.raw("original_max_position_embeddings") is not None:
            raise NotKnown(f"{source.block.name('original_max_position_embeddings')} in mlx")
        scaling = long_factors(source)
    else:
        original = _inner_length(source, None)
        short, long = factor_lists(source.block)
        scaling = LongRopeScaling(short, long, original, _longest(source) / original)
    source.block.note("seq_len", "mlx takes the long factors for all texts")
    return Fixed(scaling, scaling.original_max_position_embeddings + 1)


def mlx_proportional(source: Source) -> Scaling:
    """An odd number of channels is rounded up to pairs."""
    return replace(scalings.proportional(source), rounding="ceil")


def _inner_length(source: Source, default: int | None) -> int:
    key, block = "original_max_position_embeddings", source.block
    told, outer = block.integer(key), source.config.integer(key)
    if outer not in (None, told):
        source.config.note("ignored", f"{source.config.name(key)} = {outer}: mlx looks in the rope block alone")
    if told is not None:
        return told
    if default is None:
        raise Refused(f"{block.name(key)} is not given")
    block.note_default(key, f"{default}", "mlx")
    return default


# --- exllamav3


def exllama_yarn(source: Source) -> Scaling:
    """The ratio of the lengths for the factor where the block has the original one; mscales count for DeepSeek alone."""
    block, longest = source.block, source.longest
    if longest is None:
        raise Refused("max_position_embeddings is not given")
    original, told = block.integer("original_max_position_embeddings"), block.number("factor")
    if original is None:
        factor, original = source.needed("factor", "yarn"), longest
    else:
        factor = longest / original
        if told not in (None, factor):
            both = f"{block.name('factor')} {told:g}, ratio of the lengths {factor:g}"
            block.note("contradictory", f"{both}; the latter counts")
    own = block.number("attention_factor", least=0)
    over, under = block.number("mscale", least=0), block.number("mscale_all_dim", least=0)
    if own is None and source.mla and over and under:
        own = g(factor, over) / g(factor, under)
    elif own is None:
        own = 1.0 if block.number("llama_4_scaling_beta", least=0) else g(factor)
    truncate = block.boolean("truncate") is not False
    return YarnScaling(factor, original, *betas(block), truncate=truncate, attention_factor=own)


def exllama_llama3(source: Source) -> Scaling:
    """With defaults for what is absent, the original length's among them."""
    factor, low, high = _llama3_factors(source, 8.0)
    original = source.block.integer("original_max_position_embeddings")
    return _step_noted(source, Llama3Scaling(factor, 8192 if original is None else original, low, high))


# --- ggml


def ggml_yarn(source: Source) -> Scaling:
    """The operation always rounds, and its magnitude is g(s); what a converter makes of other keys was not looked at."""
    if source.mla:
        raise NotKnown("latent attention in ggml")
    for key in ("attention_factor", "attn_factor", "mscale", "mscale_all_dim", "extrapolation_factor"):
        if source.block.raw(key) is not None:
            raise NotKnown(f"{key} in ggml, which depends on the converter")
    return replace(scalings.yarn(source), truncate=truncated(source, "ggml"))


def ggml_llama3(source: Source) -> Scaling:
    """A converter makes a divisor per pair; it takes the original length from beside the rope block alone, or 8192."""
    factor, low, high = _llama3_factors(source, 8.0)
    key, block = "original_max_position_embeddings", source.block
    outer, inner = source.config.integer(key), block.integer(key)
    length = 8192 if outer is None else outer
    if inner not in (None, length):
        block.note("ignored", f"{block.name(key)} = {inner}: llama.cpp's converter has {length}, from beside the block")
    return _step_noted(source, Llama3Scaling(factor, length, low, high))


COMMON: Mapping[str, Kind] = {kind: read for kind, read in KINDS.items() if kind != "gptj"}
VLLM: Mapping[str, Kind] = {
    **COMMON,
    "yarn": vllm_yarn,
    "dynamic": vllm_dynamic,
    "ntk": scalings.ntk,
    "longrope": vllm_longrope,
    "proportional": proportional_without_factor,
}
SGLANG: Mapping[str, Kind] = {
    **COMMON,
    "linear": sglang_linear,
    "yarn": sglang_yarn,
    "dynamic": sglang_dynamic,
    "llama3": sglang_llama3,
    "longrope": sglang_longrope,
    "proportional": proportional_without_factor,
}
MLX: Mapping[str, Kind] = {
    **COMMON,
    "yarn": mlx_yarn,
    "llama3": mlx_llama3,
    "longrope": mlx_longrope,
    "proportional": mlx_proportional,
}
EXLLAMA: Mapping[str, Kind] = {
    **{kind: read for kind, read in COMMON.items() if kind != "dynamic"},
    "yarn": exllama_yarn,
    "llama3": exllama_llama3,
    "longrope": chosen_once("exllamav3"),
}
GGML: Mapping[str, Kind] = {
    "default": scalings.plain,
    "linear": scalings.linear,
    "llama3": ggml_llama3,
    "longrope": chosen_once("ggml"),
    "yarn": ggml_yarn,
}
