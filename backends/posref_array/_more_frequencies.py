"""More frequencies for any kind of number: the dynamic scalings, NTK's other forms, NTK-by-parts, p-RoPE, pixels; magnitudes."""

from __future__ import annotations

import math

from posref import (
    DynamicLinearScaling,
    DynamicYarnScaling,
    LongRopeScaling,
    NTKByPartsScaling,
    NTKScaling,
    ProportionalScaling,
    Scaling,
    YarnScaling,
)
from posref._arguments import integer, shown
from posref_array._kinds import Kind, Number, full_turn, log


def more_scaled(
    plain: list[Number], aware: list[Number] | None, scaling: Scaling, base: float, seq_len: int | None, kind: Kind
) -> list[Number]:
    """Those of posref.rotary.more_scalings, from the plain frequencies and NTK's."""
    if isinstance(scaling, DynamicLinearScaling):
        times = how_many_times_longer(scaling, seq_len, kind)
        return [w / times for w in plain]
    if isinstance(scaling, DynamicYarnScaling):
        kept = kept_by_index_or_rotations(scaling, plain, base, kind)
        factor = dynamic_factor(scaling, seq_len, kind)
        return blended(plain, [w / factor for w in plain], kept, scaling.extrapolation_factor, kind)
    if isinstance(scaling, NTKByPartsScaling):
        assert aware is not None
        return _by_parts(plain, aware, scaling, base, kind)
    if isinstance(scaling, ProportionalScaling):
        count = _rotating(scaling, len(plain))
        return [w / kind(scaling.factor) for w in plain[:count]] + [kind(0)] * (len(plain) - count)
    raise TypeError(f"scaling must be None or one of posref's scaling records, got {shown(scaling)}")


def how_many_times_longer(
    scaling: DynamicLinearScaling | DynamicYarnScaling, seq_len: int | None, kind: Kind
) -> Number:
    """S / L, at least 1."""
    length = scaling.original_max_position_embeddings
    return max(kind(1), kind(seq_len or length) / length)


def dynamic_factor(scaling: DynamicYarnScaling, seq_len: int | None, kind: Kind) -> Number:
    """Dynamic YaRN's factor at a length."""
    return max(kind(scaling.least_factor), how_many_times_longer(scaling, seq_len, kind))


def ntk_forms(plain: list[Number], scaling: NTKScaling, kind: Kind) -> list[Number]:
    """All but "aware": pair i divided by a power of the factor that grows with i."""
    s, pairs = kind(scaling.factor), len(plain)
    if scaling.form == "base":
        return [w * s ** (kind(-i) / pairs) for i, w in enumerate(plain)]
    power = kind(scaling.mixed_b) if scaling.form == "mixed" else kind(1)
    return [w / s ** ((kind(i + 1) / pairs) ** power) for i, w in enumerate(plain)]


def blended(plain: list[Number], slow: list[Number], kept: list[Number], most: float, kind: Kind) -> list[Number]:
    """Each pair between its plain frequency (kept = 1, and all of it) and the slow one (kept = 0)."""
    masks = [kind(most) * m for m in kept]
    return [m * w + (1 - m) * v for m, w, v in zip(masks, plain, slow, strict=True)]


def _by_parts(
    plain: list[Number], aware: list[Number], scaling: NTKByPartsScaling, base: float, kind: Kind
) -> list[Number]:
    """From interpolated to NTK's and from there to plain, going from slow pairs to fast ones."""
    length = scaling.original_max_position_embeddings
    to_ntk, to_plain = (
        kept_by_index(2 * len(plain), base, length, ends, kind, name="NTK-by-parts")
        for ends in ((scaling.beta_0, scaling.beta_1), (scaling.gamma_0, scaling.gamma_1))
    )
    interpolated = [w / kind(scaling.factor) for w in plain]
    middle = blended(aware, interpolated, to_ntk, scaling.ntk_factor, kind)
    return blended(plain, middle, to_plain, scaling.extrapolation_factor, kind)


def _rotating(scaling: ProportionalScaling, pairs: int) -> int:
    channels = scaling.partial_rotary_factor * 2 * pairs  # as everybody rounds them
    return int(channels // 2) if scaling.rounding == "floor" else (int(channels) + 1) // 2


def kept_by_index_or_rotations(
    scaling: YarnScaling | DynamicYarnScaling, plain: list[Number], base: float, kind: Kind
) -> list[Number]:
    """Per pair, how much of its plain frequency YaRN keeps."""
    length, betas = scaling.original_max_position_embeddings, (scaling.beta_fast, scaling.beta_slow)
    if scaling.ramp == "rotations":
        low, high = kind(scaling.beta_slow), kind(scaling.beta_fast)
        turns = [length * w / full_turn(kind) for w in plain]
        return [1 if t >= high else 0 if t <= low else (t - low) / (high - low) for t in turns]
    when = scaling.reversed_range if isinstance(scaling, YarnScaling) else "error"
    return kept_by_index(2 * len(plain), base, length, betas, kind, truncate=scaling.truncate, when_reversed=when)


def kept_by_index(
    dim: int,
    base: float,
    length: int,
    rotations: tuple[float, float],
    kind: Kind,
    *,
    truncate: bool = True,
    when_reversed: str = "error",
    name: str = "YaRN",
) -> list[Number]:
    """1 for the pairs that rotate often, 0 for those that hardly do, a line in the index between them."""
    per_pair = 2 * log(kind(base)) / dim
    first, last = (log(length / (full_turn(kind) * kind(r))) / per_pair for r in rotations)
    if truncate:
        first, last = kind(math.floor(first)), kind(math.ceil(last))
    first, last = max(first, kind(0)), min(last, kind(dim - 1))
    if first > last and when_reversed == "error":
        raise ValueError(
            f"scaling must leave {name} a range of pairs, got {float(first):g} to {float(last):g} once clamped to "
            f"0 .. {dim - 1}; check original_max_position_embeddings, beta_fast, beta_slow and base"
        )
    width = last - first
    if width == 0 or (width < 0 and when_reversed == "step"):
        width = kind(1) / 1000
    return [1 - min(kind(1), max(kind(0), (i - first) / width)) for i in range(dim // 2)]


# --- magnitudes -------------------------------------------------------------------------------------------------------


def more_attention_factor(scaling: Scaling | None, seq_len: int | None, kind: Kind) -> Number:
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


# --- pixels -----------------------------------------------------------------------------------------------------------


def pixel_frequencies(pairs: int, max_freq: float, spacing: str) -> list[float]:
    """Pi times numbers from 1 to max_freq / 2, evenly spaced or in a ratio."""
    half, last, pi = max_freq / 2, max(pairs - 1, 1), math.radians(180.0)
    if spacing == "log":
        return [pi * half ** (i / last) for i in range(pairs)]
    return [pi * (1.0 + (half - 1.0) * i / last) for i in range(pairs)]
