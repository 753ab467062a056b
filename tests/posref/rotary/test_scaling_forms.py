"""What the further scalings promise, for random hyperparameters and in published numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref
from posref import (
    DynamicLinearScaling,
    DynamicNTKScaling,
    DynamicYarnScaling,
    LinearScaling,
    LongRopeScaling,
    NTKByPartsScaling,
    NTKScaling,
    ProportionalScaling,
    YarnScaling,
    rope_attention_factor,
    rope_inv_freq,
)

Floats = NDArray[np.float64]
Scaled = Callable[..., Any]
U = 2.0**-53

dims = st.integers(2, 64).map(lambda pairs: 2 * pairs)
bases = st.floats(1e3, 1e7)
factors = st.floats(1.0, 128.0)
lengths = st.sampled_from([2048, 4096, 8192, 32768, 131072])


def near(a: Floats, b: Floats, ulps: int = 1) -> bool:
    return bool((np.abs(a - b) <= ulps * np.spacing(np.maximum(np.abs(a), np.abs(b)))).all())


# --- NTK's forms -----------------------------------------------------------------------------------------------------


@given(dim=dims, base=bases, factor=factors)
def fixed_interpolates_the_last_pair_and_touches_the_first(
    scaled: Scaled, dim: int, base: float, factor: float
) -> None:
    """Divisors are a geometric ladder that ends in the factor and starts one step below 1."""
    plain = rope_inv_freq(dim, base=base)
    divisors = plain / rope_inv_freq(dim, base=base, scaling=scaled(factor))
    assert near(divisors[-1:], np.array([factor]), 4)
    steps = np.log(np.concatenate([[1.0], divisors]))  # the roundings of quotients of numbers of some 1
    assert np.abs(np.diff(steps) - np.log(factor) / (dim // 2)).max() <= 8 * U * (1 + np.log(factor))


def test_ntk_fixed() -> None:
    fixed_interpolates_the_last_pair_and_touches_the_first(lambda s: NTKScaling(s, "fixed"))


@pytest.mark.parametrize(
    "fault",
    [NTKScaling, lambda s: NTKScaling(s, "base"), lambda s: NTKScaling(s, "mixed"), LinearScaling],
)
def test_ntk_fixed_faults(fault: Scaled) -> None:
    with pytest.raises(AssertionError):
        fixed_interpolates_the_last_pair_and_touches_the_first(fault)


@given(dim=dims, base=bases, factor=factors, mixed_b=st.floats(0.25, 2.0))
def test_ntk_mixed_is_fixed_at_1_and_keeps_its_end(dim: int, base: float, factor: float, mixed_b: float) -> None:
    fixed = rope_inv_freq(dim, base=base, scaling=NTKScaling(factor, "fixed"))
    assert np.array_equal(rope_inv_freq(dim, base=base, scaling=NTKScaling(factor, "mixed", 1.0)), fixed)
    mixed = rope_inv_freq(dim, base=base, scaling=NTKScaling(factor, "mixed", mixed_b))
    assert near(mixed[-1:], fixed[-1:])
    more = mixed <= fixed * (1 + 4 * U) if mixed_b < 1 else mixed >= fixed * (1 - 4 * U)  # fast pairs: stretched more
    assert more.all()


@given(dim=dims, base=bases, factor=factors)
def test_ntk_base_is_another_base(dim: int, base: float, factor: float) -> None:
    w = rope_inv_freq(dim, base=base, scaling=NTKScaling(factor, "base"))
    np.testing.assert_allclose(w, rope_inv_freq(dim, base=base * factor), rtol=2 * U)  # the product is rounded there
    if factor > 1.5:
        assert not np.allclose(w, rope_inv_freq(dim, base=base, scaling=NTKScaling(factor)), rtol=1e-3 / dim)


# --- scalings that follow the length ---------------------------------------------------------------------------------


@given(dim=dims, base=bases, length=lengths, beyond=st.integers(1, 10**6))
def is_static_at_the_ratio_of_lengths(
    dynamic: Scaled, static: Scaled, dim: int, base: float, length: int, beyond: int
) -> None:
    for seq_len in (None, 1, length):
        assert np.array_equal(
            rope_inv_freq(dim, base=base, scaling=dynamic(length), seq_len=seq_len), rope_inv_freq(dim, base=base)
        )
        assert rope_attention_factor(dynamic(length), seq_len=seq_len) == 1.0
    seq_len, ratio = length + beyond, (length + beyond) / length  # which is rounded once
    longer, same = dynamic(length), static(ratio, length)
    w = rope_inv_freq(dim, base=base, scaling=longer, seq_len=seq_len)
    np.testing.assert_allclose(w, rope_inv_freq(dim, base=base, scaling=same), rtol=4 * U)
    assert rope_attention_factor(longer, seq_len=seq_len) == pytest.approx(rope_attention_factor(same), rel=2 * U)


def linear(factor: float, length: int) -> LinearScaling:
    return LinearScaling(factor)


def test_dynamic_linear() -> None:
    is_static_at_the_ratio_of_lengths(DynamicLinearScaling, linear)


def test_dynamic_yarn() -> None:
    is_static_at_the_ratio_of_lengths(DynamicYarnScaling, YarnScaling)


@pytest.mark.parametrize(
    ("dynamic", "static"),
    [
        (DynamicYarnScaling, linear),
        (DynamicLinearScaling, YarnScaling),
        (lambda length: DynamicYarnScaling(length, least_factor=2.0), YarnScaling),
        (lambda length: DynamicYarnScaling(length, attn_factor=1.01), YarnScaling),
        (lambda length: DynamicLinearScaling(length + 1), linear),
        (lambda length: DynamicNTKScaling(1.0, length), linear),
    ],
)
def test_dynamic_faults(dynamic: Scaled, static: Scaled) -> None:
    with pytest.raises(AssertionError):
        is_static_at_the_ratio_of_lengths(dynamic, static)


@given(dim=dims, base=bases, length=lengths, factor=factors)
def test_a_finetuned_dynamic_yarn_starts_at_its_factor(dim: int, base: float, length: int, factor: float) -> None:
    scaling, static = DynamicYarnScaling(length, least_factor=factor), YarnScaling(factor, length)
    for seq_len in (None, length, int(length * factor)):
        w = rope_inv_freq(dim, base=base, scaling=scaling, seq_len=seq_len)
        assert np.array_equal(w, rope_inv_freq(dim, base=base, scaling=static))
        assert rope_attention_factor(scaling, seq_len=seq_len) == rope_attention_factor(static)
    assert rope_attention_factor(scaling, seq_len=int(length * factor) + length) > rope_attention_factor(static)


def test_fixed_lengths_of_sglang_and_vllm() -> None:
    """D5: with factor 4 sglang's base grows by (f^2 - f + 1)^(d/(d-2)) at every length, transformers' at 2 L by 5.^(d/(d-2))."""
    scaling = DynamicNTKScaling(4.0, 2048)

    def growth(seq_len: int) -> float:
        return float(rope_inv_freq(128, scaling=scaling, seq_len=seq_len)[1] ** -64 / 10000)

    assert growth(4 * 2048) == pytest.approx(13.54, abs=0.005)
    assert growth(2 * 2048) == pytest.approx(5.13, abs=0.005)
    assert growth(2048) == pytest.approx(1.0, abs=1e-12)


# --- NTK-by-parts ----------------------------------------------------------------------------------------------------


@given(dim=dims, base=bases, factor=factors, length=lengths)
def goes_from_interpolated_over_ntk_to_plain(scaled: Scaled, dim: int, base: float, factor: float, length: int) -> None:
    """To the last bit: pairs that rotate more than 16 times are left alone, those below 0.75 interpolated."""
    w, plain = rope_inv_freq(dim, base=base, scaling=scaled(factor, length)), rope_inv_freq(dim, base=base)
    interpolated = rope_inv_freq(dim, base=base, scaling=LinearScaling(factor))
    assert (interpolated <= w).all()
    assert (w <= plain).all()
    rotations, i = length * plain / (2 * np.pi), np.arange(dim // 2)
    fast = i <= np.sum(rotations > 16) - 1  # the ramp's start is rounded down to here
    slow = i > np.sum(rotations >= 0.75)  # and its end up
    assert np.array_equal(w[fast], plain[fast])
    assert np.array_equal(w[slow], interpolated[slow])
    ntk = rope_inv_freq(dim, base=base, scaling=NTKScaling(factor))
    middle = (i > np.sum(rotations >= 2)) & (i < np.sum(rotations > 1.25))
    assert np.array_equal(w[middle], ntk[middle])


def test_by_parts() -> None:
    goes_from_interpolated_over_ntk_to_plain(NTKByPartsScaling)


@pytest.mark.parametrize(
    "fault",
    [
        YarnScaling,
        lambda s, length: NTKScaling(s),
        lambda s, length: NTKByPartsScaling(s, length, ntk_factor=0.99),
        lambda s, length: NTKByPartsScaling(s, length, extrapolation_factor=0.99),
        lambda s, length: NTKByPartsScaling(s, length, gamma_0=64.0),
        lambda s, length: NTKByPartsScaling(s, length, beta_1=0.1),
    ],
)
def test_by_parts_faults(fault: Scaled) -> None:
    with pytest.raises(AssertionError):
        goes_from_interpolated_over_ntk_to_plain(fault)


@given(dim=dims, base=bases, factor=factors, length=lengths)
def test_by_parts_without_either_part_is_interpolation(dim: int, base: float, factor: float, length: int) -> None:
    nothing = NTKByPartsScaling(factor, length, ntk_factor=0.0, extrapolation_factor=0.0)
    interpolated = rope_inv_freq(dim, base=base, scaling=LinearScaling(factor))
    assert np.array_equal(rope_inv_freq(dim, base=base, scaling=nothing), interpolated)
    one = NTKByPartsScaling(1.0, length)
    assert np.array_equal(rope_inv_freq(dim, base=base, scaling=one), rope_inv_freq(dim, base=base))


# --- p-RoPE ----------------------------------------------------------------------------------------------------------


@given(dim=dims, base=bases, factor=factors, share=st.floats(0.0, 1.0))
def rotates_the_fastest_of_the_whole_head(scaled: Scaled, dim: int, base: float, factor: float, share: float) -> None:
    w = rope_inv_freq(dim, base=base, scaling=scaled(share, factor))
    interpolated = rope_inv_freq(dim, base=base, scaling=LinearScaling(factor))
    rotating = int(share * dim // 2)
    assert np.array_equal(w[:rotating], interpolated[:rotating])
    assert not w[rotating:].any()


def test_proportional() -> None:
    rotates_the_fastest_of_the_whole_head(ProportionalScaling)


@pytest.mark.parametrize(
    "fault",
    [
        lambda p, s: ProportionalScaling(p),  # vLLM's and sglang's Gemma 4
        lambda p, s: ProportionalScaling(p, s, "ceil"),
        lambda p, s: LinearScaling(s),
        lambda p, s: ProportionalScaling(1 - p, s),
    ],
)
def test_proportional_faults(fault: Scaled) -> None:
    with pytest.raises(AssertionError):
        rotates_the_fastest_of_the_whole_head(fault)


def test_proportional_is_not_partial() -> None:
    assert rope_inv_freq(8, scaling=ProportionalScaling(0.5)).tolist() == [1.0, 0.1, 0.0, 0.0]
    assert rope_inv_freq(4).tolist() == [1.0, 0.01]


def test_pairs_that_do_not_rotate_pass_through() -> None:
    x = np.random.default_rng(0).standard_normal((5, 8))
    y = posref.rope(x, np.arange(5) + 1000, scaling=ProportionalScaling(0.5))
    still = [2, 3, 6, 7]
    assert np.array_equal(y[:, still], x[:, still])
    assert not np.isclose(y[:, [0, 1, 4, 5]], x[:, [0, 1, 4, 5]]).any()


# --- YaRN's readings -------------------------------------------------------------------------------------------------

MISTRAL = {"mscale": 1.0, "mscale_all_dim": 1.0}
SOME = {"mscale": 0.707, "mscale_all_dim": 0.0}


@pytest.mark.parametrize(
    ("how", "factor"),
    [
        (SOME, 1.36888794541),  # D4: g(40, 1) in transformers and vLLM's yarn
        (SOME | {"mscale_rule": "given"}, 1.26080377741),  # g(40, 0.707) elsewhere
        (SOME | {"mscale_rule": "always"}, 1.26080377741),
        ({"mscale": 0.707, "mscale_rule": "given"}, 1.36888794541),
        ({"mscale": 0.707, "mscale_rule": "always"}, 1.26080377741),
        (MISTRAL, 1.0),
        (MISTRAL | {"mscale_rule": "never"}, 1.36888794541),  # exllamav3, issue 259
        ({"attn_factor": 0.5}, 0.684443972707),
        ({"attn_factor": 0.5, "attention_factor": 1.25}, 1.25),
    ],
)
def test_which_keys_make_the_attention_factor(how: dict[str, Any], factor: float) -> None:
    assert rope_attention_factor(YarnScaling(40.0, 4096, **how)) == pytest.approx(factor, rel=1e-10)


def test_published_factors() -> None:
    telechat3 = YarnScaling(4.0, 8192, mscale=0.7, mscale_rule="always")
    assert rope_attention_factor(telechat3) == pytest.approx(1.0970406053, abs=5e-11)
    assert rope_attention_factor(YarnScaling(4.0, 8192)) == pytest.approx(1.1386294361, abs=5e-11)  # mlx-lm's reading
    for mscale, squared in ((1.0, 1.8738542071), (0.707, 1.5896261651)):
        deepseek = YarnScaling(40.0, 4096, mscale=mscale, mscale_all_dim=mscale)
        assert posref.rope_softmax_factor(deepseek) == pytest.approx(squared, abs=5e-11)
        assert rope_attention_factor(deepseek) == 1.0


def test_longrope_mscales_take_the_place_of_its_factor() -> None:
    scaling = LongRopeScaling((1.0,), (2.0,), 4096, factor=32.0, short_mscale=1.2, long_mscale=1.3)
    found = [rope_attention_factor(scaling, seq_len=n) for n in (None, 1, 4096, 4097)]
    assert found == [1.2, 1.2, 1.2, 1.3]
    without = LongRopeScaling((1.0,), (2.0,), 4096, factor=32.0, long_mscale=1.3)
    assert rope_attention_factor(without, seq_len=4096) == pytest.approx(1.1902380714, abs=5e-11)


def reversed_yarn(when: str) -> YarnScaling:
    return YarnScaling(8.0, 4096, beta_fast=1.0, beta_slow=32.0, reversed_range=when)


def test_a_reversed_range_slopes_down_or_is_a_step() -> None:
    """D20. 10 and 23 are the ends of the ramp the right way round, so that 22 and 11 are the rounded ends here."""
    plain, slow = rope_inv_freq(64), rope_inv_freq(64, scaling=LinearScaling(8.0))
    slope = rope_inv_freq(64, scaling=reversed_yarn("slope"))
    assert np.array_equal(slope[:12], slow[:12])  # fast pairs interpolated
    assert np.array_equal(slope[22:], plain[22:])
    assert ((slow[12:22] < slope[12:22]) & (slope[12:22] < plain[12:22])).all()
    step = rope_inv_freq(64, scaling=reversed_yarn("step"))
    assert np.array_equal(step[:23], plain[:23])
    assert np.array_equal(step[23:], slow[23:])


@given(dim=dims, base=bases, factor=factors, length=lengths, kept=st.floats(0.0, 1.0))
def test_the_extrapolation_factor_goes_from_interpolated_to_yarn(
    dim: int, base: float, factor: float, length: int, kept: float
) -> None:
    def w(how: Any) -> Floats:
        return rope_inv_freq(dim, base=base, scaling=how)

    nothing, all_of_it = LinearScaling(factor), YarnScaling(factor, length)
    assert np.array_equal(w(YarnScaling(factor, length, extrapolation_factor=0.0)), w(nothing))
    some = w(YarnScaling(factor, length, extrapolation_factor=kept))
    np.testing.assert_allclose(some, (1 - kept) * w(nothing) + kept * w(all_of_it), rtol=8 * U)


# --- pixels ----------------------------------------------------------------------------------------------------------


@given(pairs=st.integers(2, 64), most=st.floats(0.5, 1000.0))
def test_pixel_frequencies_run_from_half_a_turn_to_max_freq(pairs: int, most: float) -> None:
    for spacing in ("linear", "log"):
        w = posref.rope_pixel_freq(2 * pairs, most, spacing=spacing)
        assert w[0] == np.pi
        assert w[-1] == pytest.approx(np.pi * most / 2, rel=2 * U)
        steps = np.diff(w if spacing == "linear" else np.log(w))
        assert np.ptp(steps) <= 8 * U * max(np.abs(w).max(), 8)


def test_published_pixel_frequencies() -> None:
    assert posref.rope_pixel_freq(4, 10.0) == pytest.approx([3.14159265, 15.70796327], abs=5e-9)
    assert posref.rope_pixel_freq(2, 10.0).tolist() == [np.pi]
    assert not np.allclose(posref.rope_pixel_freq(6, 10.0), posref.rope_pixel_freq(6, 10.0, spacing="log"))


# --- other libraries -------------------------------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.parametrize(
    ("rope", "scaling", "dim"),
    [
        ({"rope_type": "proportional", "partial_rotary_factor": 0.25}, ProportionalScaling(0.25), 64),
        ({"rope_type": "proportional", "partial_rotary_factor": 0.3, "factor": 8.0}, ProportionalScaling(0.3, 8.0), 24),
        ({"rope_type": "proportional"}, ProportionalScaling(1.0), 64),
        (
            {"rope_type": "yarn", "factor": 8.0, "beta_fast": 1.0, "beta_slow": 32.0},
            reversed_yarn("slope"),
            64,
        ),
        ({"rope_type": "yarn", "factor": 40.0, **SOME}, YarnScaling(40.0, 4096, mscale=0.707, mscale_all_dim=0.0), 64),
        ({"rope_type": "yarn", "factor": 40.0, "mscale": 0.707}, YarnScaling(40.0, 4096, mscale=0.707), 64),
    ],
)  # fmt: skip
def test_as_transformers(rope: dict[str, Any], scaling: Any, dim: int) -> None:
    utils = pytest.importorskip("transformers.modeling_rope_utils", reason="needs the peers extra")
    from transformers import LlamaConfig

    length = {"original_max_position_embeddings": 4096} if rope["rope_type"] == "yarn" else {}
    config = LlamaConfig(
        hidden_size=2 * dim,
        num_attention_heads=2,
        head_dim=dim,
        max_position_embeddings=4096,
        rope_parameters={"rope_theta": 10000.0} | length | rope,
    )
    inv_freq, factor = utils.ROPE_INIT_FUNCTIONS[rope["rope_type"]](config)
    expected = rope_inv_freq(dim, scaling=scaling)
    # float32: a power within 3 |ln w| + 8 roundings, |ln w| < 10; a blend's weights within 16, times 1 - 1/s of w over w/s
    np.testing.assert_allclose(inv_freq.double().numpy(), expected, rtol=(40 + 16 * 40) * 2.0**-24)
    assert factor == pytest.approx(rope_attention_factor(scaling), rel=1e-12)
