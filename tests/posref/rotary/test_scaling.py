"""What each frequency scaling promises, for random hyperparameters and in published numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref
from posref import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKScaling,
    YarnScaling,
    rope_inv_freq,
)

Floats = NDArray[np.float64]
U = 2.0**-53

dims = st.integers(2, 64).map(lambda pairs: 2 * pairs)
bases = st.floats(1e3, 1e7)
factors = st.floats(1.0, 128.0)
lengths = st.sampled_from([1024, 2048, 4096, 8192, 32768, 131072, 1000000])


def same_to_an_ulp(a: Floats, b: Floats) -> bool:
    return bool((np.abs(a - b) <= np.spacing(np.maximum(np.abs(a), np.abs(b)))).all())


# --- position interpolation ------------------------------------------------------------------------------------------


@given(dim=dims, base=bases, factor=st.integers(1, 200), position=st.integers(-(2**40), 2**40))
def interpolation_is_the_plain_encoding_at_the_smaller_position(
    scaled: Callable[[int], Any], dim: int, base: float, factor: int, position: int
) -> None:
    """To the last bit: the angle is the same real number."""
    stretched = posref.rope_table([factor * position], dim, base=base, scaling=scaled(factor))
    assert np.array_equal(stretched, posref.rope_table([position], dim, base=base))


def test_interpolation() -> None:
    interpolation_is_the_plain_encoding_at_the_smaller_position(LinearScaling)


@pytest.mark.parametrize(
    "fault", [NTKScaling, lambda s: LinearScaling(1 / s), lambda s: LinearScaling(s * (1 + U * 2))]
)
def test_interpolation_faults(fault: Callable[[int], Any]) -> None:
    with pytest.raises(AssertionError):
        interpolation_is_the_plain_encoding_at_the_smaller_position(fault)


# --- NTK -------------------------------------------------------------------------------------------------------------


@given(dim=dims, base=bases, factor=factors)
def ntk_keeps_the_first_pair_and_interpolates_the_last(
    inv_freq: Callable[[int, float, float], Floats], dim: int, base: float, factor: float
) -> None:
    w, plain = inv_freq(dim, base, factor), rope_inv_freq(dim, base=base)
    assert w[0] == plain[0] == 1.0
    assert same_to_an_ulp(w[-1:], plain[-1:] / factor)  # the quotient of rounded numbers has an ulp of its own
    assert (w <= plain).all()
    assert (w >= plain / factor * (1 - 4 * U)).all()


def test_ntk() -> None:
    ntk_keeps_the_first_pair_and_interpolates_the_last(lambda d, b, s: rope_inv_freq(d, base=b, scaling=NTKScaling(s)))


@pytest.mark.parametrize(
    "fault",
    [
        lambda d, b, s: rope_inv_freq(d, base=b * s),  # without the exponent
        lambda d, b, s: rope_inv_freq(d, base=b * s ** (d / (d - 1))),
        lambda d, b, s: rope_inv_freq(d, base=b, scaling=LinearScaling(s)),
    ],
)
def test_ntk_faults(fault: Callable[[int, float, float], Floats]) -> None:
    with pytest.raises(AssertionError):
        ntk_keeps_the_first_pair_and_interpolates_the_last(fault)


@pytest.mark.parametrize(
    ("dim", "scaling", "seq_len", "new_base"),
    [
        (64, NTKScaling(4.0), None, 41829.36592890),  # 2048 -> 8192: the number of the first NTK posts
        (128, NTKScaling(8.0), None, 82684.62264056),
        (128, NTKScaling(1000.0), None, 11158839.925),  # HunYuan's alpha
        (128, DynamicNTKScaling(2.0, 2048), 4096, 30527.73674881),  # 3 ** (128 / 126)
        (128, DynamicNTKScaling(1.0, 2048), 4096, 20221.26168974),  # 2 ** (128 / 126): the first post's form
    ],
)
def test_the_new_base(dim: int, scaling: Any, seq_len: int | None, new_base: float) -> None:
    """Powers computed with mpmath: base times growth to the dim / (dim - 2)."""
    digits = 0.5 * 10.0 ** -len(str(new_base).split(".")[1])
    assert abs(base_behind(dim, scaling=scaling, seq_len=seq_len) - new_base) <= digits + dim * U * new_base


def base_behind(dim: int, **how: Any) -> float:
    """Read back from the second pair; half an ulp of it becomes dim / 4 of the base's."""
    return float(rope_inv_freq(dim, **how)[1] ** (-dim / 2))


def test_the_base_can_be_told() -> None:
    assert abs(base_behind(64, base=41829.36592890) - 41829.36592890) < 1e-8
    assert abs(base_behind(64, base=41829.36592891) - 41829.36592890) > 9e-9


@given(dim=dims, base=bases, factor=factors, length=lengths, beyond=st.integers(1, 10**6))
def test_dynamic_ntk_starts_at_the_original_length(
    dim: int, base: float, factor: float, length: int, beyond: int
) -> None:
    scaling, plain = DynamicNTKScaling(factor, length), rope_inv_freq(dim, base=base)
    for seq_len in (None, 1, length - 1, length):
        assert np.array_equal(rope_inv_freq(dim, base=base, scaling=scaling, seq_len=seq_len), plain)
    longer = rope_inv_freq(dim, base=base, scaling=scaling, seq_len=length + beyond)
    assert (longer[1:] < plain[1:]).all()
    growth = factor * (length + beyond) / length - (factor - 1)  # a few roundings, which the exponent hardly stretches
    np.testing.assert_allclose(
        longer, rope_inv_freq(dim, base=base, scaling=NTKScaling(growth)), rtol=factor * beyond * 8 * U
    )


# --- YaRN and Llama 3 ------------------------------------------------------------------------------------------------


def yarn(factor: float, length: int, **others: Any) -> YarnScaling:
    return YarnScaling(factor, length, **others)


def yarn_by_rotations(factor: float, length: int) -> YarnScaling:
    return YarnScaling(factor, length, ramp="rotations")


def yarn_untruncated(factor: float, length: int) -> YarnScaling:
    return YarnScaling(factor, length, truncate=False)


def llama3(factor: float, length: int) -> Llama3Scaling:
    return Llama3Scaling(factor, length, 1.0, 4.0)


BLENDS = [yarn, yarn_by_rotations, yarn_untruncated, llama3]


@given(dim=dims, base=bases, factor=factors, length=lengths)
def blends_between_plain_and_interpolated(
    scaled: Callable[[float, int], Any], dim: int, base: float, factor: float, length: int
) -> None:
    """Pairs that rotate often are left alone, those that hardly do are interpolated: to the last bit."""
    w = rope_inv_freq(dim, base=base, scaling=scaled(factor, length))
    plain = rope_inv_freq(dim, base=base)
    interpolated = rope_inv_freq(dim, base=base, scaling=LinearScaling(factor))
    assert (interpolated <= w).all()
    assert (w <= plain).all()
    assert (np.diff(w) < 0).all()
    rotations = length * plain / (2 * math.pi)
    assert np.array_equal(w[rotations > 64], plain[rotations > 64])  # beyond 32 of YaRN, 4 of Llama 3
    slow = np.arange(dim // 2) > np.sum(rotations >= 1)  # one pair further: YaRN rounds the ramp's end up
    assert np.array_equal(w[slow], interpolated[slow])


@pytest.mark.parametrize("scaled", BLENDS)
def test_blend(scaled: Callable[[float, int], Any]) -> None:
    blends_between_plain_and_interpolated(scaled)


@pytest.mark.parametrize(
    "fault",
    [
        lambda s, length: NTKScaling(s),  # "YaRN applies NTK to the fast pairs"
        lambda s, length: LinearScaling(s),
        lambda s, length: YarnScaling(s, length, beta_fast=1e9),  # no pair is left alone
        lambda s, length: YarnScaling(s, length, beta_slow=0.01),  # pairs that hardly rotate are not interpolated
        lambda s, length: YarnScaling(1 / s, length),
    ],
)
def test_blend_faults(fault: Callable[[float, int], Any]) -> None:
    with pytest.raises(AssertionError):
        blends_between_plain_and_interpolated(fault)


@given(dim=dims, base=bases, length=lengths)
def is_plain_at_factor_1(scaled: Callable[[float, int], Any], dim: int, base: float, length: int) -> None:
    assert np.array_equal(rope_inv_freq(dim, base=base, scaling=scaled(1.0, length)), rope_inv_freq(dim, base=base))
    assert posref.rope_attention_factor(scaled(1.0, length)) == 1.0


PLAIN_AT_1 = [*BLENDS, lambda s, length: LinearScaling(s), lambda s, length: NTKScaling(s), DynamicNTKScaling]


@pytest.mark.parametrize("scaled", PLAIN_AT_1)
def test_factor_1_changes_nothing(scaled: Callable[[float, int], Any]) -> None:
    is_plain_at_factor_1(scaled)


@pytest.mark.parametrize(
    "fault",
    [
        lambda s, length: YarnScaling(s + 2 * U, length),
        lambda s, length: YarnScaling(s, length, attention_factor=1.1),
    ],
)
def test_factor_1_faults(fault: Callable[[float, int], Any]) -> None:
    with pytest.raises(AssertionError):
        is_plain_at_factor_1(fault)


@given(dim=dims, base=bases, factor=factors, length=lengths, low=st.floats(0.5, 4.0), width=st.floats(0.0, 40.0))
def test_llama3_is_the_papers_yarn_without_its_factor(
    dim: int, base: float, factor: float, length: int, low: float, width: float
) -> None:
    llama = Llama3Scaling(factor, length, low, low + width)
    paper = YarnScaling(factor, length, beta_fast=low + width, beta_slow=low, ramp="rotations")
    released = YarnScaling(factor, length, beta_fast=low + width, beta_slow=low)
    w = rope_inv_freq(dim, base=base, scaling=llama)
    assert np.array_equal(w, rope_inv_freq(dim, base=base, scaling=paper))
    assert posref.rope_attention_factor(llama) == 1.0
    if dim > 64 and width > 10 and factor > 2:  # the ramp by index is another one
        assert not np.array_equal(w, rope_inv_freq(dim, base=base, scaling=released))


# Computed in NumPy and mpmath from the released code and from the paper's eq. 13; (dim, base, scaling, pair, frequency).
PUBLISHED = [
    (128, 1e4, YarnScaling(16.0, 4096), 33, 0.00460043547),  # Llama-2, 64k
    (128, 1e4, YarnScaling(16.0, 4096, ramp="rotations"), 33, 0.00175773553),
    (64, 1e4, YarnScaling(40.0, 4096), 16, 0.0055),  # DeepSeek-V3
    (64, 1e4, YarnScaling(40.0, 4096, ramp="rotations"), 16, 0.00198581026),
    (64, 150000.0, YarnScaling(32.0, 4096, truncate=False), 12, 0.00679495949),  # gpt-oss
    (128, 5e5, Llama3Scaling(8.0, 8192, 1.0, 4.0), 28, 0.00321144599),  # Llama-3.1: the last pair left alone
    (128, 5e5, Llama3Scaling(8.0, 8192, 1.0, 4.0), 29, 0.00216657076),
    (128, 5e5, Llama3Scaling(8.0, 8192, 1.0, 4.0), 34, 0.00017850781),
    (128, 5e5, Llama3Scaling(8.0, 8192, 1.0, 4.0), 35, 9.55621235e-05),  # the first one interpolated
]


@pytest.mark.parametrize(("dim", "base", "scaling", "pair", "frequency"), PUBLISHED)
def test_published_frequency(dim: int, base: float, scaling: Any, pair: int, frequency: float) -> None:
    def off(i: int, other: Any) -> float:
        return float(abs(rope_inv_freq(dim, base=base, scaling=other)[i] / frequency - 1))

    rounding = 5e-8  # eight digits or more
    assert off(pair, scaling) < rounding
    assert min(off(pair + 1, scaling), off(pair - 1, scaling), off(pair, NTKScaling(scaling.factor))) > rounding


@pytest.mark.parametrize(
    ("dim", "base", "scaling", "first", "last"),
    [
        (128, 1e4, YarnScaling(16.0, 4096), 20, 46),
        (64, 1e4, YarnScaling(40.0, 4096), 10, 23),
        (128, 1e6, YarnScaling(4.0, 32768), 23, 40),  # Qwen2.5
        (64, 5e4, YarnScaling(32.0, 4096, beta_fast=1.0, beta_slow=1.0), 19, 20),  # Kimi-K2
    ],
)
def test_published_ends_of_the_ramp(dim: int, base: float, scaling: YarnScaling, first: int, last: int) -> None:
    """The last pair that is left alone, and the first one that is interpolated."""
    w, plain = rope_inv_freq(dim, base=base, scaling=scaling), rope_inv_freq(dim, base=base)
    interpolated = rope_inv_freq(dim, base=base, scaling=LinearScaling(scaling.factor))
    assert np.flatnonzero(w == plain).max() == first
    assert np.flatnonzero(w == interpolated).min() == last


# --- LongRoPE --------------------------------------------------------------------------------------------------------


@given(dim=dims, base=bases, factor=factors, seq_len=st.sampled_from([None, 4096, 4097]))
def test_longrope_divides_each_pair(dim: int, base: float, factor: float, seq_len: int | None) -> None:
    ones, same = (1.0,) * (dim // 2), (factor,) * (dim // 2)
    long = seq_len == 4097
    plain = rope_inv_freq(dim, base=base)
    linear = rope_inv_freq(dim, base=base, scaling=LinearScaling(factor))
    for used, w in ((ones, plain), (same, linear)):
        other = (0.5,) * (dim // 2)
        scaling = LongRopeScaling(other if long else used, used if long else other, 4096)
        assert np.array_equal(rope_inv_freq(dim, base=base, scaling=scaling, seq_len=seq_len), w)
        swapped = LongRopeScaling(scaling.long_factor, scaling.short_factor, 4096)
        assert not np.array_equal(rope_inv_freq(dim, base=base, scaling=swapped, seq_len=seq_len), w)


# --- attention factors -----------------------------------------------------------------------------------------------

ONES = (1.0, 1.0)


@pytest.mark.parametrize(
    ("scaling", "factor"),
    [
        (YarnScaling(16.0, 4096), 1.2772588722),
        (YarnScaling(32.0, 4096, truncate=False), 1.3465735903),
        (YarnScaling(4.0, 32768), 1.1386294361),
        (YarnScaling(40.0, 4096), 1.8738542071**0.5),  # DeepSeek-V3's factor on the softmax scale is its square
        (YarnScaling(40.0, 4096, mscale=0.707, mscale_all_dim=1.0), 1.2608037774 / 1.8738542071**0.5),
        (LongRopeScaling(ONES, ONES, 4096, factor=32.0), 1.1902380714),  # Phi-3, 128k
        (LongRopeScaling(ONES, ONES, 8192, factor=16.0), 1.1435437498),
    ],
)
def test_published_attention_factor(scaling: Any, factor: float) -> None:
    found = posref.rope_attention_factor(scaling)
    assert abs(found - factor) < 1e-10  # ten decimals
    assert abs(found * (1 + 2e-10) - factor) > 1e-10


def test_the_attention_factor_multiplies_cos_and_sin() -> None:
    scaling = YarnScaling(16.0, 4096)
    with_it = np.array(posref.rope_table([3, 70000], 64, scaling=scaling))
    without = np.array(posref.rope_table([3, 70000], 64, scaling=scaling, attention_factor=1.0))
    assert same_to_an_ulp(with_it, posref.rope_attention_factor(scaling) * without)
    assert not same_to_an_ulp(with_it, without)


def test_an_attention_factor_of_zero_is_one_that_was_given() -> None:
    for table in (
        posref.rope_table([3], 8, scaling=YarnScaling(16.0, 4096), attention_factor=0.0),
        posref.rope_table([3], 8, scaling=YarnScaling(16.0, 4096, attention_factor=0.0)),
        posref.rope_table([3], 8, scaling=LongRopeScaling([1.0] * 4, [1.0] * 4, 64, attention_factor=0.0)),
    ):
        assert not np.any(table)
