"""The few numbers per table, made on the host: the formulas for any kind of number, float or Decimal.

With Decimal they are right to the last digit of a float64 and beyond, which long positions need. A compiler that reads along
(torch's) cannot follow Decimal. It is told to take the functions in CONSTANTS as they are: numbers as two floats each.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from decimal import Decimal
from typing import Any

import posref
from posref import (
    DynamicLinearScaling,
    DynamicNTKScaling,
    DynamicYarnScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKByPartsScaling,
    NTKScaling,
    ProportionalScaling,
    Scaling,
    YarnScaling,
    exact,
)
from posref._arguments import even, integer, number, shown
from posref_array._blends import by_parts_frequencies, llama3_frequencies, yarn_frequencies
from posref_array._kinds import Kind
from posref_array._kinds import Number as Number
from posref_array._magnitudes import attention_factor, dynamic_factor, how_many_times_longer
from posref_array._support import Namespace, compiling


def rotary(dim: int, base: float, scaling: Scaling | None, seq_len: int | None, xp: Namespace) -> tuple[Number, ...]:
    """The rotary frequencies, one per pair, to as many digits as can be had."""
    if not isinstance(scaling, Scaling | None):  # what cannot be hashed is refused there
        return tuple(scaled(dim, base, scaling, seq_len))
    if compiling(xp):
        fields = dataclasses.fields(scaling) if scaling is not None else ()
        name = None if scaling is None else type(scaling).__name__
        return rotary_in_two(dim, base, name, tuple(getattr(scaling, field.name) for field in fields), seq_len)
    return _rotary(dim, base, scaling, seq_len)


def geometric(
    base: float, n: int, shift: float, scale: float, xp: Namespace, dtype: str | None = None
) -> tuple[Number, ...]:
    """The ladder of the sinusoids, perhaps rounded to a type, times a scale, to as many digits as can be had."""
    n = operator.index(n)  # a constant, where a compiler has a symbol
    made = geometric_in_two if compiling(xp) else _geometric
    return made(base, n, shift, scale, dtype)


def rotary_in_two(
    dim: int, base: float, name: str | None, fields: tuple[Any, ...], seq_len: int | None
) -> tuple[tuple[float, float], ...]:
    """As two floats each: all the digits that `cos_sin` takes. A compiler has constants, but no record of a scaling."""
    scaling = None if name is None else getattr(posref, name)(*fields)
    return _in_two(_rotary(dim, base, scaling, seq_len))


def geometric_in_two(
    base: float, n: int, shift: float, scale: float, dtype: str | None
) -> tuple[tuple[float, float], ...]:
    """As two floats each."""
    return _in_two(_geometric(base, n, shift, scale, dtype))


CONSTANTS = (rotary_in_two, geometric_in_two)


def _in_two(reals: tuple[Number, ...]) -> tuple[tuple[float, float], ...]:
    return tuple((first_part(w), second_part(w)) for w in reals)


def first_part(w: Number) -> float:
    """The nearest float64 of a number, which may be in two parts already."""
    return float(w[0] if isinstance(w, tuple) else w)


def second_part(w: Number) -> float:
    """What that leaves over."""
    if isinstance(w, tuple):
        return float(w[1])
    return float(w - Decimal(float(w))) if isinstance(w, Decimal) else 0.0


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
def _geometric(base: float, n: int, shift: float, scale: float, dtype: str | None) -> tuple[Number, ...]:
    with exact.real_arithmetic():
        return tuple(Decimal(scale) * _in_type(w, dtype) for w in ladder(base, n, shift, Decimal))


def _in_type(w: Decimal, dtype: str | None) -> Decimal:
    """A positive number as a multiple of the type's spacing there."""
    if dtype is None:
        return w
    bits, least = {"float32": (24, -125), "float16": (11, -13), "bfloat16": (8, -125)}[dtype]
    unit = Decimal(2) ** (max(math.frexp(float(w))[1], least) - bits)
    return round(w / unit) * unit  # half to even


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
    if isinstance(scaling, NTKScaling) and scaling.form == "aware":
        return _stretched(dim, base, kind(scaling.factor), kind)
    if isinstance(scaling, DynamicNTKScaling):
        length = scaling.original_max_position_embeddings
        over: Number = kind(max(seq_len or length, length)) / length - 1  # 0 within the original length
        return _stretched(dim, base, 1 + kind(scaling.factor) * over, kind)
    return _changed(ladder(base, pairs, 0, kind), scaling, base, seq_len, kind)


def _changed(
    plain: list[Number], scaling: Scaling | None, base: float, seq_len: int | None, kind: Kind
) -> list[Number]:
    """All scalings but those that are plain frequencies with another base."""
    if scaling is None:
        return plain
    if isinstance(scaling, LinearScaling):
        return [w / kind(scaling.factor) for w in plain]
    if isinstance(scaling, DynamicLinearScaling):
        times = how_many_times_longer(scaling, seq_len, kind)
        return [w / times for w in plain]
    if isinstance(scaling, NTKScaling):
        return _ntk_forms(plain, scaling, kind)
    if isinstance(scaling, LongRopeScaling):
        return [w / kind(e) for w, e in zip(plain, _divisors(scaling, len(plain), seq_len), strict=True)]
    if isinstance(scaling, ProportionalScaling):
        count = _rotating(scaling, len(plain))
        return [w / kind(scaling.factor) for w in plain[:count]] + [kind(0)] * (len(plain) - count)
    return _blended(plain, scaling, base, seq_len, kind)


def _blended(plain: list[Number], scaling: Scaling, base: float, seq_len: int | None, kind: Kind) -> list[Number]:
    if isinstance(scaling, YarnScaling):
        return yarn_frequencies(plain, scaling, base, kind(scaling.factor), kind)
    if isinstance(scaling, DynamicYarnScaling):
        return yarn_frequencies(plain, scaling, base, dynamic_factor(scaling, seq_len, kind), kind)
    if isinstance(scaling, Llama3Scaling):
        return llama3_frequencies(plain, scaling, kind)
    if isinstance(scaling, NTKByPartsScaling):
        aware = _stretched(2 * len(plain), base, kind(scaling.factor), kind)
        return by_parts_frequencies(plain, aware, scaling, base, kind)
    raise TypeError(f"scaling must be None or one of posref's scaling records, got {shown(scaling)}")


def pixel_frequencies(pairs: int, max_freq: float, spacing: str) -> list[float]:
    """Pi times numbers from 1 to max_freq / 2, evenly spaced or in a ratio."""
    half, last, pi = max_freq / 2, max(pairs - 1, 1), math.radians(180.0)
    if spacing == "log":
        return [pi * half ** (i / last) for i in range(pairs)]
    return [pi * (1.0 + (half - 1.0) * i / last) for i in range(pairs)]


def _stretched(dim: int, base: float, growth: Number, kind: Kind) -> list[Number]:
    if dim == 2:
        raise ValueError("dim must be > 2 for NTK scaling, whose exponent is dim / (dim - 2), got 2")
    return ladder(kind(base) * growth ** (kind(dim) / (dim - 2)), dim // 2, 0, kind)


def _ntk_forms(plain: list[Number], scaling: NTKScaling, kind: Kind) -> list[Number]:
    """All but "aware": pair i divided by a power of the factor that grows with i."""
    s, pairs = kind(scaling.factor), len(plain)
    if scaling.form == "base":
        return [w * s ** (kind(-i) / pairs) for i, w in enumerate(plain)]
    power = kind(scaling.mixed_b) if scaling.form == "mixed" else kind(1)
    return [w / s ** ((kind(i + 1) / pairs) ** power) for i, w in enumerate(plain)]


def _rotating(scaling: ProportionalScaling, pairs: int) -> int:
    channels = scaling.partial_rotary_factor * 2 * pairs  # as everybody rounds them
    return int(channels // 2) if scaling.rounding == "floor" else (int(channels) + 1) // 2


def _divisors(scaling: LongRopeScaling, pairs: int, seq_len: int | None) -> list[float]:
    name = "long_factor" if scaling.longer(seq_len) else "short_factor"
    factors = getattr(scaling, name)
    if len(factors) != pairs:
        raise ValueError(f"{name} must have one number per pair, {pairs} for dim {2 * pairs}, got {len(factors)}")
    return list(factors)
