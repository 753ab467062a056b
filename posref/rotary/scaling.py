"""How a model stretches its rotary frequencies to longer contexts: the parameters, checked, without the formulas.

The names are those of ``config.json``. The formulas are in :mod:`posref.rotary.frequencies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posref._arguments import boolean, choice, integer, number, shown
from posref.rotary.more_scalings import MoreScalings


def _check(scaling: object, **least: float) -> None:
    for name, above in least.items():
        number(getattr(scaling, name), name, above=above)


@dataclass(frozen=True)
class LinearScaling:
    """Position interpolation: every frequency divided by ``factor``.

    Source: Chen et al., "Extending Context Window of Large Language Models via Positional Interpolation" (2306.15595), eq. 4.
    ``config.json``: ``rope_type: "linear"``.
    """

    factor: float

    def __post_init__(self) -> None:
        _check(self, factor=0)


@dataclass(frozen=True)
class NTKScaling:
    """NTK-aware scaling: the base grows by ``factor ** (dim / (dim - 2))``.

    The first pair keeps its frequency and the last one gets that of position interpolation.

    Parameters
    ----------
    factor
        s; HunYuan's ``alpha``.
    form
        ``"aware"`` is the formula above. ``"base"``: the base grows by ``factor`` itself (diffusers' ``ntk_factor``).
        ``"fixed"``: pair i is divided by ``factor ** (2 (i + 1) / dim)``, the last one by exactly ``factor``, and the first one
        too is stretched. ``"mixed"``: as "fixed" with ``(2 (i + 1) / dim) ** mixed_b`` for the exponent.
    mixed_b
        The b of "mixed"; 1 is "fixed".

    Source: u/bloc97, "NTK-Aware Scaled RoPE" (r/LocalLLaMA, June 2023); stated in YaRN (2309.00071), sec. 3.1. Of "fixed" and
    "mixed": Su, kexue.fm/archives/9706; vLLM's rope type ``ntk``, which is "mixed" where ``mixed_b`` is given.
    """

    factor: float
    form: str = "aware"
    mixed_b: float = 0.75

    def __post_init__(self) -> None:
        _check(self, factor=0, mixed_b=0)
        choice(self.form, "form", ("aware", "base", "fixed", "mixed"))


@dataclass(frozen=True)
class DynamicNTKScaling:
    """NTK scaling that follows the current length S: the base grows by ``(factor * S / L - (factor - 1)) ** (dim / (dim - 2))``.

    L is ``original_max_position_embeddings`` and S is ``seq_len``; below L nothing changes. This is the pure function of S, as
    mlx-lm computes it on each call.

    Source: transformers ``dynamic``; u/emozilla, "Dynamically Scaled RoPE" (r/LocalLLaMA, July 2023), which has factor 1.
    Disagreement: transformers keeps the larger base until a call shorter than L, jquesnelle/yarn for good: see
    :class:`posref.RopeHistory`. sglang and vLLM fix S in advance, which is ``seq_len`` with a constant: sglang's is factor * L;
    vLLM's is max_position_embeddings with L = ``max_trained_positions``, without which the factor has no effect there.
    """

    factor: float
    original_max_position_embeddings: int

    def __post_init__(self) -> None:
        _check(self, factor=0)
        integer(self.original_max_position_embeddings, "original_max_position_embeddings")


@dataclass(frozen=True)
class YarnScaling:
    """YaRN: fast pairs keep their frequency, slow pairs are interpolated, a ramp blends between them.

    Parameters
    ----------
    factor, original_max_position_embeddings
        s and L: the context grows from L to s L.
    beta_fast, beta_slow
        Rotations within L above which a pair is left alone, and below which it is interpolated.
    truncate
        Round the ends of the ramp outwards to whole pair indices (gpt-oss does not; ggml, mlx-lm and DeepSeek's code always do).
    attention_factor, mscale, mscale_all_dim
        See :func:`posref.rope_attention_factor`.
    ramp
        ``"index"`` is linear in the pair index, as all released code and checkpoints have it; ``"rotations"`` is linear in
        the rotations, as the paper's eq. 13 has it.
    mscale_rule
        When g(mscale) / g(mscale_all_dim) is the attention factor. ``"nonzero"``: where both are given and not 0 (transformers,
        vLLM's ``yarn``). ``"given"``: where both are given (sglang). ``"always"``: with 1 and 0 for what is missing (mlx-lm,
        Megatron, vLLM's ``deepseek_yarn``). ``"never"`` (exllamav3 beyond DeepSeek's models). Otherwise it is g(1).
    attn_factor
        Multiplies it (jquesnelle/yarn, sglang, llama.cpp; transformers and vLLM ignore the key: 1).
    extrapolation_factor
        How much of the plain frequency is kept where it may be; 1 is all of it (jquesnelle/yarn, sglang, ggml's ``ext_factor``).
    reversed_range
        What a ramp does whose end lies before its start: ``"error"``; ``"slope"``, downwards, so that fast pairs are interpolated
        (transformers and all that follow it); ``"step"``, up within 0.001 (ggml).

    Source: Peng et al., "YaRN" (2309.00071), sec. 3.2-3.4; code of jquesnelle/yarn and transformers for ``ramp="index"``.
    TeleChat3's 0.07 ln s + 1 is ``mscale=0.7, mscale_rule="always"`` (vLLM; mlx-lm reads it as plain YaRN).
    """

    factor: float
    original_max_position_embeddings: int
    beta_fast: float = 32
    beta_slow: float = 1
    truncate: bool = True
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    ramp: str = "index"
    mscale_rule: str = "nonzero"
    attn_factor: float = 1.0
    extrapolation_factor: float = 1.0
    reversed_range: str = "error"

    def __post_init__(self) -> None:
        _check(self, factor=0, beta_fast=0, beta_slow=0)
        integer(self.original_max_position_embeddings, "original_max_position_embeddings")
        boolean(self.truncate, "truncate")
        choice(self.ramp, "ramp", ("index", "rotations"))
        choice(self.mscale_rule, "mscale_rule", ("nonzero", "given", "always", "never"))
        choice(self.reversed_range, "reversed_range", ("error", "slope", "step"))
        for name in ("attention_factor", "mscale", "mscale_all_dim"):
            if getattr(self, name) is not None:
                number(getattr(self, name), name, least=0)
        for name in ("attn_factor", "extrapolation_factor"):
            number(getattr(self, name), name, least=0)
        if self.beta_fast < self.beta_slow and (self.reversed_range == "error" or self.ramp == "rotations"):
            raise ValueError(f"beta_fast must be >= beta_slow, got {shown(self.beta_fast)} and {shown(self.beta_slow)}")


@dataclass(frozen=True)
class Llama3Scaling:
    """Llama 3.1: as YaRN, with a blend that is linear in the rotations and without an attention factor.

    ``low_freq_factor`` and ``high_freq_factor`` count rotations within ``original_max_position_embeddings``. Where they are
    equal (Llama-4 Scout) the blend is a step.

    Source: meta-llama/llama-models, ``apply_scaling``; transformers ``llama3``.
    """

    factor: float
    original_max_position_embeddings: int
    low_freq_factor: float
    high_freq_factor: float

    def __post_init__(self) -> None:
        _check(self, factor=0, low_freq_factor=0, high_freq_factor=0)
        integer(self.original_max_position_embeddings, "original_max_position_embeddings")
        if self.high_freq_factor < self.low_freq_factor:
            raise ValueError(
                "high_freq_factor must be >= low_freq_factor, "
                f"got {shown(self.high_freq_factor)} and {shown(self.low_freq_factor)}"
            )


@dataclass(frozen=True)
class LongRopeScaling:
    """LongRoPE: each pair has its own divisor.

    The divisors are ``short_factor`` up to ``original_max_position_embeddings`` and ``long_factor`` beyond it. ``factor`` (or
    max_position_embeddings / original in configs) only enters the attention factor, which ``attention_factor`` replaces.
    ``short_mscale`` and ``long_mscale`` (PhiMoE) are attention factors of their own up to the original length and beyond it.

    Source: Ding et al., "LongRoPE" (2402.13753); microsoft/LongRoPE; transformers ``longrope`` (older name: ``su``).
    Disagreement: which length decides. transformers takes that of the call, the largest position + 1; vLLM and llama.cpp the
    configured one, for all calls; mlx-lm always has the long factors. Each is ``seq_len`` with that length. sglang asks whether
    any position is *greater* than the original length: ``seq_len`` less 1.
    """

    short_factor: Sequence[float]
    long_factor: Sequence[float]
    original_max_position_embeddings: int
    factor: float | None = None
    attention_factor: float | None = None
    short_mscale: float | None = None
    long_mscale: float | None = None

    def __post_init__(self) -> None:
        for name in ("short_factor", "long_factor"):
            values = getattr(self, name)
            arrays = isinstance(values, np.ndarray) and values.ndim > 0
            if isinstance(values, (str, bytes)) or not (arrays or isinstance(values, Sequence)):
                raise TypeError(f"{name} must be a list of numbers > 0, one per pair, got {shown(values)}")
            if not len(values):
                raise ValueError(f"{name} must have one number per pair, got none")
            # a tuple, so that the record can be compared, hashed and not changed behind its back
            object.__setattr__(self, name, tuple(number(v, f"{name}[{i}]", above=0) for i, v in enumerate(values)))
        integer(self.original_max_position_embeddings, "original_max_position_embeddings", least=2)
        if self.factor is not None:
            number(self.factor, "factor", above=0)
        for name in ("attention_factor", "short_mscale", "long_mscale"):
            if getattr(self, name) is not None:
                number(getattr(self, name), name, least=0)

    def longer(self, seq_len: int | None) -> bool:
        """Whether a length is beyond the original one."""
        return seq_len is not None and seq_len > self.original_max_position_embeddings


Scaling = LinearScaling | NTKScaling | DynamicNTKScaling | YarnScaling | Llama3Scaling | LongRopeScaling | MoreScalings
