"""What scalings do to magnitudes, for any kind of number: the attention factor, and DeepSeek's factor on the softmax scale."""

from __future__ import annotations

from posref import DynamicLinearScaling, DynamicYarnScaling, LongRopeScaling, Scaling, YarnScaling
from posref._arguments import integer, shown
from posref_array._kinds import Kind, Number, log


def attention_factor(scaling: Scaling | None, seq_len: int | None = None, kind: Kind = float) -> Number:
    """What the scaling multiplies into cos and sin."""
    if scaling is not None and not isinstance(scaling, Scaling):
        raise TypeError(f"scaling must be None or one of posref's scaling records, got {shown(scaling)}")
    if seq_len is not None:
        seq_len = integer(seq_len, "seq_len")
    if isinstance(scaling, DynamicYarnScaling):
        return kind(scaling.attn_factor) * _g(dynamic_factor(scaling, seq_len, kind), 1.0, kind)
    if isinstance(scaling, YarnScaling):
        return _yarn_magnitude(scaling, kind)
    return _longrope_magnitude(scaling, seq_len, kind) if isinstance(scaling, LongRopeScaling) else kind(1)


def softmax_factor(scaling: Scaling | None) -> float:
    """What DeepSeek multiplies into the softmax scale."""
    if scaling is not None and not isinstance(scaling, Scaling):
        raise TypeError(f"scaling must be None or one of posref's scaling records, got {shown(scaling)}")
    if not isinstance(scaling, YarnScaling) or not scaling.mscale_all_dim:
        return 1.0
    return float(_g(scaling.factor, scaling.mscale_all_dim, float) ** 2)


def how_many_times_longer(
    scaling: DynamicLinearScaling | DynamicYarnScaling, seq_len: int | None, kind: Kind
) -> Number:
    """S / L, at least 1."""
    length = scaling.original_max_position_embeddings
    return max(kind(1), kind(seq_len or length) / length)


def dynamic_factor(scaling: DynamicYarnScaling, seq_len: int | None, kind: Kind) -> Number:
    """Dynamic YaRN's factor at a length."""
    return max(kind(scaling.least_factor), how_many_times_longer(scaling, seq_len, kind))


def _g(factor: Number, mscale: float, kind: Kind) -> Number:
    return 1 + kind(mscale) * max(kind(0), log(kind(factor))) / 10


def _yarn_magnitude(scaling: YarnScaling, kind: Kind) -> Number:
    if scaling.attention_factor is not None:
        return kind(scaling.attention_factor)
    over, under, rule = scaling.mscale, scaling.mscale_all_dim, scaling.mscale_rule
    both = over is not None and under is not None
    if rule == "always" or (rule == "given" and both) or (rule == "nonzero" and both and over != 0 and under != 0):
        over, under = 1.0 if over is None else over, 0.0 if under is None else under
    else:
        over, under = 1.0, 0.0
    return kind(scaling.attn_factor) * _g(scaling.factor, over, kind) / _g(scaling.factor, under, kind)


def _longrope_magnitude(scaling: LongRopeScaling, seq_len: int | None, kind: Kind) -> Number:
    own = scaling.long_mscale if scaling.longer(seq_len) else scaling.short_mscale
    given = scaling.attention_factor if own is None else own
    if given is not None:
        return kind(given)
    if scaling.factor is None:
        raise ValueError("scaling must have factor or attention_factor where it is a LongRopeScaling, got neither")
    growth, length = max(kind(0), log(kind(scaling.factor))), scaling.original_max_position_embeddings
    return (1 + growth / log(kind(length))) ** kind(0.5)
