"""The few numbers per table, made on the host: the formulas for any kind of number, float or Decimal.

With Decimal they are right to the last digit of a float64 and beyond, which long positions need. A compiler that reads along
(torch's) cannot follow Decimal: there they are Python floats, whose power is right to an ulp.
"""

from __future__ import annotations

import functools
import math
from decimal import Decimal
from typing import Any, TypeAlias

from posref import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKScaling,
    Scaling,
    YarnScaling,
    exact,
)
from posref._arguments import even, integer, number, shown
from posref_array._support import Namespace, compiling

Kind: TypeAlias = type[float] | type[Decimal]
Number: TypeAlias = Any  # float or Decimal; a type checker cannot see that all numbers of one formula are of one kind


def rotary(dim: int, base: float, scaling: Scaling | None, seq_len: int | None, xp: Namespace) -> tuple[Number, ...]:
    """The rotary frequencies, one per pair, to as many digits as can be had."""
    if compiling(xp) or not isinstance(scaling, Scaling | None):  # what cannot be hashed is refused below
        return tuple(scaled(dim, base, scaling, seq_len))
    return _rotary(dim, base, scaling, seq_len)


def geometric(base: float, n: int, shift: float, scale: float, xp: Namespace) -> tuple[Number, ...]:
    """The ladder of the sinusoids, times a scale, to as many digits as can be had."""
    return tuple(scale * w for w in ladder(base, n, shift)) if compiling(xp) else _geometric(base, n, shift, scale)


def given(value: float, xp: Namespace) -> Number:
    """A number as it is, in the kind that the others have."""
    return float(value) if compiling(xp) else Decimal(value)


def factor_of(scaling: Scaling | None, xp: Namespace) -> Number:
    """The scaling's own attention factor, to as many digits as can be had."""
    if compiling(xp):
        return attention_factor(scaling)
    with exact.real_arithmetic():
        return attention_factor(scaling, Decimal)


@functools.lru_cache(maxsize=64, typed=True)  # of the parameters alone: a decode step must not pay for the digits again
def _rotary(dim: int, base: float, scaling: Scaling | None, seq_len: int | None) -> tuple[Number, ...]:
    with exact.real_arithmetic():
        return tuple(scaled(dim, base, scaling, seq_len, Decimal))


@functools.lru_cache(maxsize=64, typed=True)
def _geometric(base: float, n: int, shift: float, scale: float) -> tuple[Number, ...]:
    with exact.real_arithmetic():
        return tuple(Decimal(scale) * w for w in ladder(base, n, shift, Decimal))


def ladder(base: float, n: int, shift: float = 0, kind: Kind = float) -> list[Number]:
    """Base ** (-k / (n - shift)), k = 0 .. n-1."""
    b: Number = kind(base)
    length: Number = n - kind(shift)
    return [b ** (kind(-k) / length) for k in range(n)]


def scaled(dim: int, base: float, scaling: Scaling | None, seq_len: int | None, kind: Kind = float) -> list[Number]:
    """The rotary frequencies, one per pair."""
    pairs, base = even(dim) // 2, number(base, "base", above=1)
    if seq_len is not None:
        seq_len = integer(seq_len, "seq_len")
    if scaling is None:
        return ladder(base, pairs, 0, kind)
    if isinstance(scaling, LinearScaling):
        return [w / kind(scaling.factor) for w in ladder(base, pairs, 0, kind)]
    if isinstance(scaling, NTKScaling):
        return _stretched(dim, base, kind(scaling.factor), kind)
    if isinstance(scaling, DynamicNTKScaling):
        length = scaling.original_max_position_embeddings
        over: Number = kind(max(seq_len or length, length)) / length - 1  # 0 within the original length
        return _stretched(dim, base, 1 + kind(scaling.factor) * over, kind)
    if isinstance(scaling, LongRopeScaling):
        plain = ladder(base, pairs, 0, kind)
        return [w / kind(e) for w, e in zip(plain, _divisors(scaling, pairs, seq_len), strict=True)]
    if isinstance(scaling, (YarnScaling, Llama3Scaling)):
        return _blended(scaling, dim, base, kind)
    raise TypeError(f"scaling must be None or one of posref's scaling records, got {shown(scaling)}")


def attention_factor(scaling: Scaling | None, kind: Kind = float) -> Number:
    """What the scaling multiplies into cos and sin."""
    if scaling is not None and not isinstance(scaling, Scaling):
        raise TypeError(f"scaling must be None or one of posref's scaling records, got {shown(scaling)}")
    if not isinstance(scaling, (YarnScaling, LongRopeScaling)):
        return kind(1)
    if scaling.attention_factor is not None:
        return kind(scaling.attention_factor)
    if scaling.factor is None:
        raise ValueError("scaling must have factor or attention_factor where it is a LongRopeScaling, got neither")
    growth = max(kind(0), _log(kind(scaling.factor)))
    if isinstance(scaling, LongRopeScaling):
        return (1 + growth / _log(kind(scaling.original_max_position_embeddings))) ** kind(0.5)
    if scaling.mscale and scaling.mscale_all_dim:
        return (10 + kind(scaling.mscale) * growth) / (10 + kind(scaling.mscale_all_dim) * growth)
    return 1 + growth / 10


def _stretched(dim: int, base: float, growth: Number, kind: Kind) -> list[Number]:
    if dim == 2:
        raise ValueError("dim must be > 2 for NTK scaling, whose exponent is dim / (dim - 2), got 2")
    return ladder(kind(base) * growth ** (kind(dim) / (dim - 2)), dim // 2, 0, kind)


def _divisors(scaling: LongRopeScaling, pairs: int, seq_len: int | None) -> list[float]:
    longer = seq_len is not None and seq_len > scaling.original_max_position_embeddings
    name = "long_factor" if longer else "short_factor"
    factors = scaling.long_factor if longer else scaling.short_factor
    if len(factors) != pairs:
        raise ValueError(f"{name} must have one number per pair, {pairs} for dim {2 * pairs}, got {len(factors)}")
    return list(factors)


def _blended(scaling: YarnScaling | Llama3Scaling, dim: int, base: float, kind: Kind) -> list[Number]:
    """Each pair between its plain frequency (kept = 1) and the interpolated one (kept = 0)."""
    plain, turn = ladder(base, dim // 2, 0, kind), _full_turn(kind)
    turns = [scaling.original_max_position_embeddings * w / turn for w in plain]
    if isinstance(scaling, Llama3Scaling):
        kept = [_rise(t, kind(scaling.low_freq_factor), kind(scaling.high_freq_factor)) for t in turns]
    elif scaling.ramp == "rotations":
        kept = [_rise(t, kind(scaling.beta_slow), kind(scaling.beta_fast)) for t in turns]
    else:
        first, last = _ramp(scaling, dim, base, kind)
        kept = [1 - _rise(kind(i), first, last) for i in range(len(plain))]
    return [w * (m + (1 - m) / kind(scaling.factor)) for w, m in zip(plain, kept, strict=True)]


def _ramp(scaling: YarnScaling, dim: int, base: float, kind: Kind) -> tuple[Number, Number]:
    """First and last pair of YaRN's ramp."""
    length, turn = scaling.original_max_position_embeddings, _full_turn(kind)
    per_pair = 2 * _log(kind(base)) / dim
    first, last = (_log(length / (turn * kind(b))) / per_pair for b in (scaling.beta_fast, scaling.beta_slow))
    if scaling.truncate:
        first, last = kind(math.floor(first)), kind(math.ceil(last))
    first, last = max(first, kind(0)), min(last, kind(dim - 1))
    if first > last:
        raise ValueError(
            f"scaling must leave YaRN a range of pairs, got {float(first):g} to {float(last):g} once clamped to 0 .. {dim - 1}; "
            "check original_max_position_embeddings, beta_fast, beta_slow and base"
        )
    return first, last if last > first else first + kind(1) / 1000


def _rise(x: Number, low: Number, high: Number) -> Number:
    """0 up to low, 1 from high on, a straight line between; a step where they are equal."""
    if x >= high:
        return 1
    return 0 if x <= low else (x - low) / (high - low)


def _full_turn(kind: Kind) -> Number:
    return 2 * exact.pi() if kind is Decimal else math.radians(360.0)  # math.tau is a global, which may be traced


def _log(x: Number) -> Number:
    return x.ln() if isinstance(x, Decimal) else math.log(x)
