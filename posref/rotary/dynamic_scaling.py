"""Scalings that follow the current length: the parameters, checked."""

from __future__ import annotations

from dataclasses import dataclass

from posref._arguments import boolean, choice, integer, number, shown


@dataclass(frozen=True)
class DynamicLinearScaling:
    """Position interpolation that follows the current length S: every frequency divided by ``max(1, S / L)``.

    L is ``original_max_position_embeddings`` and S is ``seq_len``; below L nothing changes. This is the pure function of S; for
    code that keeps the largest S so far see :class:`posref.RopeHistory`.

    Source: code of jquesnelle/yarn, LlamaDynamicScaledRotaryEmbedding (``ntk=False``).
    Disagreement: TransformerEngine interpolates so beyond factor * L alone; Megatron never does.
    """

    original_max_position_embeddings: int

    def __post_init__(self) -> None:
        integer(self.original_max_position_embeddings, "original_max_position_embeddings")


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
        number(self.factor, "factor", above=0)
        integer(self.original_max_position_embeddings, "original_max_position_embeddings")


@dataclass(frozen=True)
class DynamicYarnScaling:
    """YaRN whose factor follows the current length S: ``max(least_factor, S / L)``, and its attention factor with it.

    Parameters
    ----------
    original_max_position_embeddings
        L: up to here, and without a ``seq_len``, the factor is ``least_factor``.
    beta_fast, beta_slow, truncate, ramp, extrapolation_factor, attn_factor
        As in :class:`posref.YarnScaling`.
    least_factor
        1 for a model that was not finetuned; for one that was (``finetuned: true``), max_position_embeddings / L.

    Notes
    -----
    Source: code of jquesnelle/yarn, LlamaDynamicYaRNScaledRotaryEmbedding (``dynamic-yarn``); YaRN (2309.00071), sec. 3.3.
    """

    original_max_position_embeddings: int
    beta_fast: float = 32
    beta_slow: float = 1
    truncate: bool = True
    ramp: str = "index"
    extrapolation_factor: float = 1.0
    attn_factor: float = 1.0
    least_factor: float = 1.0

    def __post_init__(self) -> None:
        integer(self.original_max_position_embeddings, "original_max_position_embeddings")
        number(self.beta_fast, "beta_fast", above=0)
        number(self.beta_slow, "beta_slow", above=0)
        boolean(self.truncate, "truncate")
        choice(self.ramp, "ramp", ("index", "rotations"))
        for name in ("extrapolation_factor", "attn_factor"):
            number(getattr(self, name), name, least=0)
        number(self.least_factor, "least_factor", least=1)
        if self.beta_fast < self.beta_slow:
            raise ValueError(f"beta_fast must be >= beta_slow, got {shown(self.beta_fast)} and {shown(self.beta_slow)}")
