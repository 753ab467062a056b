"""Scalings that leave fast pairs alone, interpolate slow ones, and blend between them: the parameters, checked."""

from __future__ import annotations

from dataclasses import dataclass

from posref._arguments import boolean, choice, integer, number, shown


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

    Notes
    -----
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
        for name in ("factor", "beta_fast", "beta_slow"):
            number(getattr(self, name), name, above=0)
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
        for name in ("factor", "low_freq_factor", "high_freq_factor"):
            number(getattr(self, name), name, above=0)
        integer(self.original_max_position_embeddings, "original_max_position_embeddings")
        if self.high_freq_factor < self.low_freq_factor:
            raise ValueError(
                "high_freq_factor must be >= low_freq_factor, "
                f"got {shown(self.high_freq_factor)} and {shown(self.low_freq_factor)}"
            )


@dataclass(frozen=True)
class NTKByPartsScaling:
    """NTK-by-parts, YaRN's predecessor: slow pairs are interpolated, middle ones scaled as by NTK, fast ones left alone.

    Parameters
    ----------
    factor, original_max_position_embeddings
        s and L: the context grows from L to s L. The code's dynamic form has s = max(1, S / L) at length S.
    ntk_factor, extrapolation_factor
        How much of NTK, and of the plain frequency, gets in where it may; 1 is all of it.
    beta_0, beta_1
        Rotations within L above which a pair is NTK's, and below which it is interpolated.
    gamma_0, gamma_1
        Rotations within L above which a pair is left alone, and below which none of it is.

    Notes
    -----
    Source: code of jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding. No attention factor.
    Disagreement: the "NTK-by-parts" of YaRN's sec. 3.2 is another function: :class:`posref.YarnScaling` with ``ramp="rotations"``
    and ``attention_factor=1``.
    """

    factor: float
    original_max_position_embeddings: int
    ntk_factor: float = 1.0
    extrapolation_factor: float = 1.0
    beta_0: float = 1.25
    beta_1: float = 0.75
    gamma_0: float = 16
    gamma_1: float = 2

    def __post_init__(self) -> None:
        integer(self.original_max_position_embeddings, "original_max_position_embeddings")
        for name in ("factor", "beta_0", "beta_1", "gamma_0", "gamma_1"):
            number(getattr(self, name), name, above=0)
        for name in ("ntk_factor", "extrapolation_factor"):
            number(getattr(self, name), name, least=0)
        for fast, slow in (("beta_0", "beta_1"), ("gamma_0", "gamma_1")):
            if getattr(self, fast) < getattr(self, slow):
                raise ValueError(
                    f"{fast} must be >= {slow}, got {shown(getattr(self, fast))} and {shown(getattr(self, slow))}"
                )
