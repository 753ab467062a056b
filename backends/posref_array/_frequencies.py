"""The few numbers per table, made on the host: the formulas for any kind of number, float or Decimal.

With Decimal they are right to the last digit of a float64 and beyond, which long positions need. A compiler that reads along
(torch's) cannot follow Decimal: there they are Python floats, whose power is right to an ulp.
"""

from __future__ import annotations

import functools
from decimal import Decimal

from posref import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKByPartsScaling,
    NTKScaling,
    Scaling,
    YarnScaling,
    exact,
)
from posref._arguments import even, integer, number
from posref_array._kinds import Kind, full_turn, rise
from posref_array._kinds import Number as Number
from posref_array._more_frequencies import (
    blended,
    kept_by_index_or_rotations,
    more_attention_factor,
    more_scaled,
    ntk_forms,
)
from posref_array._support import Namespace, compiling


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


def factor_of(scaling: Scaling | None, xp: Namespace, seq_len: int | None = None) -> Number:
    """The scaling's own attention factor, to as many digits as can be had."""
    if compiling(xp):
        return attention_factor(scaling, seq_len)
    with exact.real_arithmetic():
        return attention_factor(scaling, seq_len, Decimal)


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
    if isinstance(scaling, NTKScaling) and scaling.form != "aware":
        return ntk_forms(ladder(base, pairs, 0, kind), scaling, kind)
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
    aware = _stretched(dim, base, kind(scaling.factor), kind) if isinstance(scaling, NTKByPartsScaling) else None
    return more_scaled(ladder(base, pairs, 0, kind), aware, scaling, base, seq_len, kind)


def attention_factor(scaling: Scaling | None, seq_len: int | None = None, kind: Kind = float) -> Number:
    """What the scaling multiplies into cos and sin."""
    return more_attention_factor(scaling, seq_len, kind)


def _stretched(dim: int, base: float, growth: Number, kind: Kind) -> list[Number]:
    if dim == 2:
        raise ValueError("dim must be > 2 for NTK scaling, whose exponent is dim / (dim - 2), got 2")
    return ladder(kind(base) * growth ** (kind(dim) / (dim - 2)), dim // 2, 0, kind)


def _divisors(scaling: LongRopeScaling, pairs: int, seq_len: int | None) -> list[float]:
    name = "long_factor" if scaling.longer(seq_len) else "short_factor"
    factors = getattr(scaling, name)
    if len(factors) != pairs:
        raise ValueError(f"{name} must have one number per pair, {pairs} for dim {2 * pairs}, got {len(factors)}")
    return list(factors)


def _blended(scaling: YarnScaling | Llama3Scaling, dim: int, base: float, kind: Kind) -> list[Number]:
    """Each pair between its plain frequency (kept = 1) and the interpolated one (kept = 0)."""
    plain = ladder(base, dim // 2, 0, kind)
    slow = [w / kind(scaling.factor) for w in plain]
    if isinstance(scaling, YarnScaling):
        kept = kept_by_index_or_rotations(scaling, plain, base, kind)
        return blended(plain, slow, kept, scaling.extrapolation_factor, kind)
    turns = [scaling.original_max_position_embeddings * w / full_turn(kind) for w in plain]
    kept = [rise(t, kind(scaling.low_freq_factor), kind(scaling.high_freq_factor)) for t in turns]
    return blended(plain, slow, kept, 1.0, kind)
