"""How a model stretches its rotary frequencies to longer contexts: the parameters, checked, without the formulas.

Here are the scalings that divide each pair by a number of its own, whatever the length. Those that blend two frequencies are in
:mod:`posref.rotary.blended_scaling`, those that follow the current length in :mod:`posref.rotary.dynamic_scaling`. The names are
those of ``config.json``. The formulas are in :mod:`posref.rotary.frequencies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posref._arguments import choice, integer, number, shown
from posref.rotary.blended_scaling import Llama3Scaling, NTKByPartsScaling, YarnScaling
from posref.rotary.dynamic_scaling import DynamicLinearScaling, DynamicNTKScaling, DynamicYarnScaling

__all__ = [
    "DynamicLinearScaling",
    "DynamicNTKScaling",
    "DynamicYarnScaling",
    "LinearScaling",
    "Llama3Scaling",
    "LongRopeScaling",
    "NTKByPartsScaling",
    "NTKScaling",
    "ProportionalScaling",
    "Scaling",
    "YarnScaling",
]


@dataclass(frozen=True)
class LinearScaling:
    """Position interpolation: every frequency divided by ``factor``.

    Source: Chen et al., "Extending Context Window of Large Language Models via Positional Interpolation" (2306.15595), eq. 4.
    ``config.json``: ``rope_type: "linear"``.
    """

    factor: float

    def __post_init__(self) -> None:
        number(self.factor, "factor", above=0)


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

    Notes
    -----
    Source: u/bloc97, "NTK-Aware Scaled RoPE" (r/LocalLLaMA, June 2023); stated in YaRN (2309.00071), sec. 3.1. Of "fixed" and
    "mixed": Su, kexue.fm/archives/9706; vLLM's rope type ``ntk``, which is "mixed" where ``mixed_b`` is given.
    """

    factor: float
    form: str = "aware"
    mixed_b: float = 0.75

    def __post_init__(self) -> None:
        number(self.factor, "factor", above=0)
        number(self.mixed_b, "mixed_b", above=0)
        choice(self.form, "form", ("aware", "base", "fixed", "mixed"))


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

    Notes
    -----
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


Scaling = (
    LinearScaling
    | NTKScaling
    | ProportionalScaling
    | LongRopeScaling
    | YarnScaling
    | Llama3Scaling
    | NTKByPartsScaling
    | DynamicLinearScaling
    | DynamicNTKScaling
    | DynamicYarnScaling
)
