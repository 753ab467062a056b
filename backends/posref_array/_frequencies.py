"""The frequencies of a table as Python floats: few numbers, made once on the host, with no library's ``pow``."""

from __future__ import annotations

import math

from posref import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKScaling,
    Scaling,
    YarnScaling,
)
from posref._arguments import even, integer, number, shown


def ladder(base: float, n: int, shift: float = 0) -> list[float]:
    """Base ** (-k / (n - shift)), k = 0 .. n-1."""
    return [base ** (-k / (n - shift)) for k in range(n)]


def scaled(dim: int, base: float, scaling: Scaling | None, seq_len: int | None) -> list[float]:
    """The rotary frequencies, one per pair."""
    pairs, base = even(dim) // 2, number(base, "base", above=1)
    if seq_len is not None:
        seq_len = integer(seq_len, "seq_len")
    if scaling is None:
        return ladder(base, pairs)
    if isinstance(scaling, LinearScaling):
        return [w / scaling.factor for w in ladder(base, pairs)]
    if isinstance(scaling, NTKScaling):
        return ladder(_stretched_base(dim, base, scaling.factor), pairs)
    if isinstance(scaling, DynamicNTKScaling):
        length = scaling.original_max_position_embeddings
        over = max(seq_len or length, length) / length - 1.0  # 0 within the original length
        return ladder(_stretched_base(dim, base, 1.0 + scaling.factor * over), pairs)
    if isinstance(scaling, LongRopeScaling):
        return [w / e for w, e in zip(ladder(base, pairs), _divisors(scaling, pairs, seq_len), strict=True)]
    if isinstance(scaling, (YarnScaling, Llama3Scaling)):
        return _blended(ladder(base, pairs), scaling, dim, base)
    raise TypeError(f"scaling must be None or one of posref's scaling records, got {shown(scaling)}")


def attention_factor(scaling: Scaling | None) -> float:
    """What the scaling multiplies into cos and sin."""
    if not isinstance(scaling, (YarnScaling, LongRopeScaling)):
        return 1.0
    if scaling.attention_factor is not None:
        return float(scaling.attention_factor)
    if isinstance(scaling, LongRopeScaling):
        if scaling.factor is None:
            raise ValueError("LongRopeScaling needs factor or attention_factor: it has no attention factor of its own")
        length = scaling.original_max_position_embeddings
        return math.sqrt(1.0 + max(0.0, math.log(scaling.factor)) / math.log(length))
    growth = 0.1 * max(0.0, math.log(scaling.factor))
    if scaling.mscale and scaling.mscale_all_dim:
        return (1.0 + scaling.mscale * growth) / (1.0 + scaling.mscale_all_dim * growth)
    return 1.0 + growth


def _stretched_base(dim: int, base: float, growth: float) -> float:
    if dim == 2:
        raise ValueError("dim must be > 2 for NTK scaling, whose exponent is dim / (dim - 2), got 2")
    return float(base * growth ** (dim / (dim - 2)))


def _divisors(scaling: LongRopeScaling, pairs: int, seq_len: int | None) -> list[float]:
    longer = seq_len is not None and seq_len > scaling.original_max_position_embeddings
    factors = scaling.long_factor if longer else scaling.short_factor
    if len(factors) != pairs:
        name = "long_factor" if longer else "short_factor"
        raise ValueError(f"{name} must have one number per pair, {pairs} for dim {2 * pairs}, got {len(factors)}")
    return list(factors)


def _blended(plain: list[float], scaling: YarnScaling | Llama3Scaling, dim: int, base: float) -> list[float]:
    """Each pair between its plain frequency (kept = 1) and the interpolated one (kept = 0)."""
    length, turn = scaling.original_max_position_embeddings, math.radians(360.0)  # a global, math.tau, may be traced
    if isinstance(scaling, Llama3Scaling):
        kept = [_rise(length * w / turn, scaling.low_freq_factor, scaling.high_freq_factor) for w in plain]
    elif scaling.ramp == "rotations":
        kept = [_rise(length * w / turn, scaling.beta_slow, scaling.beta_fast) for w in plain]
    else:
        first, last = (dim * math.log(length / (turn * b), base) / 2 for b in (scaling.beta_fast, scaling.beta_slow))
        if scaling.truncate:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, dim - 1)
        if first > last:
            raise ValueError(
                f"YaRN's range of pairs is reversed: from {first:g} to {last:g} once clamped to 0 .. {dim - 1}; "
                "check original_max_position_embeddings, beta_fast, beta_slow and base"
            )
        kept = [1.0 - _rise(i, first, last if last > first else first + 0.001) for i in range(len(plain))]
    return [w * (m + (1.0 - m) / scaling.factor) for w, m in zip(plain, kept, strict=True)]


def _rise(x: float, low: float, high: float) -> float:
    """0 up to low, 1 from high on, a straight line between; a step where they are equal."""
    if x >= high:
        return 1.0
    return 0.0 if x <= low else (x - low) / (high - low)
