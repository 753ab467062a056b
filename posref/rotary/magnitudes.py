"""What scalings do to magnitudes: YaRN's and LongRoPE's factor on cos and sin, DeepSeek's factor on the softmax scale."""

from __future__ import annotations

from decimal import Decimal

from posref._arguments import shown
from posref.exact import real, real_arithmetic
from posref.rotary.blended_scaling import YarnScaling
from posref.rotary.dynamic_scaling import DynamicYarnScaling
from posref.rotary.growth import dynamic_yarn_factor
from posref.rotary.scaling import LongRopeScaling, Scaling


def rope_softmax_factor(scaling: Scaling | None) -> float:
    r"""Factor on the softmax scale that DeepSeek's attention takes from a YaRN block; the *whole* logit grows by it.

    .. math:: g(\text{mscale\_all\_dim})^2, \qquad g(m) = 0.1\, m \ln s + 1 \text{ for } s > 1, \text{ else } 1

    It is 1 where ``mscale_all_dim`` is missing or 0, and for every other scaling.

    Parameters
    ----------
    scaling
        One of the scaling records, or None.

    Returns
    -------
    The factor, a float without unit: the scale is ``(qk_nope_head_dim + qk_rope_head_dim) ** -0.5`` times this.

    Raises
    ------
    TypeError
        Something that is no scaling.

    Notes
    -----
    Source: code of deepseek-ai/DeepSeek-V2 and V3; transformers, for V3 from the start, for V2 since 2026-07; vLLM. It comes on
    top of :func:`rope_attention_factor`, which is 1 where mscale and mscale_all_dim are equal, as in all official configs.

    Disagreement: DeepSeek's own inference code takes ``mscale`` for it, leaves cos and sin alone, and does both only where
    max_seq_len > original_seq_len; :class:`YarnScaling` with ``mscale_all_dim`` set to mscale is that reading. Models that are
    not DeepSeek's (Mistral with mscale = mscale_all_dim = 1) apply no such factor at all.

    Examples
    --------
    >>> rope_softmax_factor(YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=1.0))
    1.8738542070926265
    """
    if scaling is not None and not isinstance(scaling, Scaling):
        raise TypeError(f"scaling must be None or one of posref's scaling records, got {shown(scaling)}")
    if not isinstance(scaling, YarnScaling) or not scaling.mscale_all_dim:
        return 1.0
    with real_arithmetic():
        return float(magnitude(real(scaling.factor), scaling.mscale_all_dim) ** 2)


def magnitude(s: Decimal, mscale: float = 1) -> Decimal:
    """YaRN's g: ``0.1 mscale ln s + 1``, and 1 below factor 1, where nothing is stretched."""
    return real(mscale) * max(s.ln(), Decimal(0)) / 10 + 1


def yarn_magnitude(scaling: YarnScaling) -> Decimal:
    """The factor on cos and sin, by the rule for which of the keys count."""
    if scaling.attention_factor is not None:
        return real(scaling.attention_factor)
    s, over, under = real(scaling.factor), scaling.mscale, scaling.mscale_all_dim
    counts = {
        "nonzero": bool(over and under),
        "given": over is not None and under is not None,
        "always": True,
        "never": False,
    }
    if not counts[scaling.mscale_rule]:
        return real(scaling.attn_factor) * magnitude(s)
    ratio = magnitude(s, 1.0 if over is None else over) / magnitude(s, 0.0 if under is None else under)
    return real(scaling.attn_factor) * ratio


def dynamic_yarn_magnitude(scaling: DynamicYarnScaling, seq_len: int | None) -> Decimal:
    """YaRN's, with the factor that holds at a length."""
    return real(scaling.attn_factor) * magnitude(dynamic_yarn_factor(scaling, seq_len))


def longrope_magnitude(scaling: LongRopeScaling, seq_len: int | None) -> Decimal:
    """The one of its two by the length where given; else attention_factor; else the rule's."""
    own = scaling.long_mscale if scaling.longer(seq_len) else scaling.short_mscale
    given = scaling.attention_factor if own is None else own
    if given is not None:
        return real(given)
    if scaling.factor is None:
        raise ValueError("scaling must have factor or attention_factor where it is a LongRopeScaling, got neither")
    growth = max(real(scaling.factor).ln(), Decimal(0))  # below factor 1 nothing is stretched
    return (1 + growth / real(scaling.original_max_position_embeddings).ln()).sqrt()
