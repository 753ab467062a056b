"""More ways to stretch rotary frequencies: the parameters, checked. The formulas are in :mod:`posref.rotary.more_frequencies`."""

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


@dataclass(frozen=True)
class ProportionalScaling:
    r"""p-RoPE, ``proportional``: the fastest pairs of the *whole* head rotate, the others have frequency 0.

    ``dim`` is then the head dim D, both in the exponent and for the pairing: (i, i + D/2). Partial rotary, which is another
    function, takes the rotary dim for both.

    Parameters
    ----------
    partial_rotary_factor
        p in 0 .. 1, the share of the head that rotates: :math:`\lfloor p D / 2 \rfloor` pairs.
    factor
        s: the frequencies are divided by it.
    rounding
        Of p D / 2 where p D is odd: ``"floor"`` (transformers, mlx-vlm) or ``"ceil"`` (mlx-lm). The product is float64's, as
        everywhere.

    Source: Barbero et al., "Round and Round We Go!" (2410.06205), p-RoPE; transformers ``proportional`` (Gemma 4).
    Disagreement: transformers, gemma, mlx-lm and maxtext divide by ``factor``; vLLM's and sglang's Gemma 4 ignore it: 1.
    """

    partial_rotary_factor: float
    factor: float = 1.0
    rounding: str = "floor"

    def __post_init__(self) -> None:
        number(self.partial_rotary_factor, "partial_rotary_factor", least=0)
        if self.partial_rotary_factor > 1:
            raise ValueError(f"partial_rotary_factor must be <= 1, got {shown(self.partial_rotary_factor)}")
        number(self.factor, "factor", above=0)
        choice(self.rounding, "rounding", ("floor", "ceil"))

    def rotating(self, pairs: int) -> int:
        """How many of a head's pairs rotate."""
        if self.rounding == "floor":
            return int(self.partial_rotary_factor * 2 * pairs // 2)
        return -(-int(self.partial_rotary_factor * 2 * pairs) // 2)


MoreScalings = DynamicLinearScaling | DynamicYarnScaling | NTKByPartsScaling | ProportionalScaling
