"""ALiBi's forms and slopes: which agree where, and the readings of public code, each beside the one it differs from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref

Floats = NDArray[np.float64]
Bias = Callable[..., Floats]
U = 2.0**-53
FORMS = ("distance", "signed", "key", "past", "key_last", "key_first")  # "sqrt" is no linear bias

# --- slopes ----------------------------------------------------------------------------------------------------------


@given(heads=st.integers(1, 200), bias_max=st.floats(0.5, 32.0))
def ends_at_the_largest_exponent(slopes: Callable[..., Floats], heads: int, bias_max: float) -> None:
    """Slopes with another exponent are those with 8 to the power of B / 8; the last of the first sequence is 2 ** -B."""
    m = slopes(heads, bias_max=bias_max)
    # the power turns a slope's ulp into B / 8 of them, and is itself within 2
    np.testing.assert_allclose(m, posref.alibi_slopes(heads) ** (bias_max / 8), rtol=(bias_max / 8 + 3) * U * 2)
    np.testing.assert_allclose(m[(1 << heads.bit_length() - 1) - 1], 2.0**-bias_max, rtol=4 * U)


def test_bias_max() -> None:
    ends_at_the_largest_exponent(posref.alibi_slopes)


@pytest.mark.parametrize(
    "fault",
    [
        lambda h, bias_max: posref.alibi_slopes(h),
        lambda h, bias_max: posref.alibi_slopes(h, bias_max=bias_max, rule="geometric"),
        lambda h, bias_max: posref.alibi_slopes(h) * (bias_max / 8),
    ],
)
def test_bias_max_faults(fault: Callable[..., Floats]) -> None:
    with pytest.raises(AssertionError):
        ends_at_the_largest_exponent(fault)


def test_one_sequence_for_all_heads_is_another_rule() -> None:
    """FlexAttention's examples. The numbers are 2 ** (-8 h / 12) to the digits that are shown."""
    geometric, released = posref.alibi_slopes(12, rule="geometric"), posref.alibi_slopes(12)
    np.testing.assert_allclose(geometric[:4], [0.6299605, 0.3968503, 0.25, 0.1574901], atol=5e-8)
    assert (np.diff(geometric) < 0).all()
    assert np.abs(geometric - released).max() > 0.1
    for power in (1, 2, 16, 64):
        assert np.array_equal(posref.alibi_slopes(power, rule="geometric"), posref.alibi_slopes(power))


@given(per_rank=st.integers(1, 12), ranks=st.integers(1, 8))
def ranks_have_their_own(slopes: Callable[..., Floats], per_rank: int, ranks: int) -> None:
    """What the ranks of tensor parallelism have is, one after the other, what one process has."""
    total = per_rank * ranks
    parts = [slopes(total, heads=(r * per_rank, (r + 1) * per_rank)) for r in range(ranks)]
    assert np.array_equal(np.concatenate(parts), posref.alibi_slopes(total))


def test_tensor_parallel_ranks() -> None:
    ranks_have_their_own(posref.alibi_slopes)


@pytest.mark.parametrize(
    "fault",
    [
        lambda n, heads: posref.alibi_slopes(heads[1] - heads[0]),  # of the rank's number of heads
        lambda n, heads: posref.alibi_slopes(n)[: heads[1] - heads[0]],  # the first rank's for all
    ],
)
def test_rank_faults(fault: Callable[..., Floats]) -> None:
    with pytest.raises(AssertionError):
        ranks_have_their_own(fault)


# --- forms that causal softmax does not tell apart ---------------------------------------------------------------------


def probabilities(bias: Floats, logits: Floats, mask: NDArray[np.bool_]) -> Floats:
    """Plain softmax, from the definition."""
    weight = np.where(mask, np.exp(logits + bias - np.max(logits + bias, where=mask, initial=-1e9)), 0.0)
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


@given(heads=st.integers(1, 5), keys=st.integers(1, 12), start=st.integers(-50, 50), seed=st.integers(0, 2**32 - 1))
def is_all_the_same_to_causal_softmax(bias: Bias, heads: int, keys: int, start: int, seed: int) -> None:
    m, logits = posref.alibi_slopes(heads), np.random.default_rng(seed).standard_normal((heads, keys, keys))
    here = np.arange(start, start + keys)
    results = [probabilities(bias(m, here, here, form=f), logits, np.tri(keys, dtype=bool)) for f in FORMS]
    for other in results[1:]:  # biases to 60, whose roundings are some 60 U each, in numerator and denominator
        np.testing.assert_allclose(other, results[0], rtol=0, atol=1e-13)


def test_causal_softmax() -> None:
    is_all_the_same_to_causal_softmax(posref.alibi_bias)


@pytest.mark.parametrize(
    "fault",
    [
        lambda m, q, k, form: posref.alibi_bias(m, q, k, form="sqrt" if form == "past" else form),
        lambda m, q, k, form: posref.alibi_bias(m, q, k, form=form) * (2 if form == "key" else 1),
        lambda m, q, k, form: posref.alibi_bias(m, q, k if form != "key_last" else k % 3, form=form),
    ],
)
def test_causal_softmax_faults(fault: Bias) -> None:
    with pytest.raises(AssertionError):
        is_all_the_same_to_causal_softmax(fault)


HERE = np.arange(6)
SLOPES = posref.alibi_slopes(4)
LOGITS = np.random.default_rng(5).standard_normal((4, 6, 6))
CAUSAL = np.tri(6, dtype=bool)


def with_a_sink(form: str) -> Floats:
    """Softmax plus one: a sink with logit 0."""
    weight = np.where(CAUSAL, np.exp(LOGITS + posref.alibi_bias(SLOPES, HERE, HERE, form=form)), 0.0)
    return np.asarray(weight / (1 + weight.sum(axis=-1, keepdims=True)))


def with_a_cap(form: str) -> Floats:
    """A cap on the logits after the bias."""
    capped = 2 * np.tanh((LOGITS + posref.alibi_bias(SLOPES, HERE, HERE, form=form)) / 2)
    return probabilities(np.zeros_like(capped), capped, CAUSAL)


def log_sum_exp(form: str) -> Floats:
    """What is merged with another part of the keys."""
    weight = np.where(CAUSAL, np.exp(LOGITS + posref.alibi_bias(SLOPES, HERE, HERE, form=form)), 0.0)
    return np.log(weight.sum(axis=-1))


def without_a_mask(form: str) -> Floats:
    everything = np.ones((6, 6), bool)
    return probabilities(posref.alibi_bias(SLOPES, HERE, HERE, form=form), LOGITS, everything)


@pytest.mark.parametrize("seen", [with_a_sink, with_a_cap, log_sum_exp, without_a_mask])
def test_where_the_key_forms_are_other_functions(seen: Callable[[str], Floats]) -> None:
    """Each of the forms with a zero of its own gives another result: where public code takes one for the other it errs."""
    results = {form: seen(form) for form in ("distance", "key", "key_last")}
    assert np.abs(results["key"] - results["distance"]).max() > 0.01
    if seen is not without_a_mask:
        assert np.abs(results["key_last"] - results["key"]).max() > 0.01
        assert np.array_equal(seen("past"), results["distance"])  # these differ for keys in the future alone


def test_16_bits_lose_near_keys_in_the_key_form() -> None:
    """4096 keys, slope 1/2: of the last 16 biases 2 are left in bfloat16, 9 in float16; from the query all 16 are there."""

    def left(form: str, dtype: Any) -> int:
        bias = posref.alibi_bias([0.5], [4095], np.arange(4080, 4096), form=form)
        return len(np.unique(bias.astype(dtype).astype(np.float64)))

    assert [left("key", ml_dtypes.bfloat16), left("key", np.float16)] == [2, 9]
    assert [left("distance", ml_dtypes.bfloat16), left("distance", np.float16)] == [16, 16]


# --- two sides -------------------------------------------------------------------------------------------------------


@given(heads=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def other_slopes_hold_all_forms(bias: Bias, heads: int, seed: int) -> None:
    """The same slopes: the distance. Their negatives: signed. Zeros: past."""
    draw, m = np.random.default_rng(seed), posref.alibi_slopes(heads)
    q, k = draw.integers(-99, 99, 5), draw.integers(-99, 99, 7)
    for later, form in ((m, "distance"), (-m, "signed"), (0 * m, "past")):
        assert np.array_equal(bias(m, q, k, future_slopes=later), posref.alibi_bias(m, q, k, form=form))


def test_future_slopes() -> None:
    other_slopes_hold_all_forms(posref.alibi_bias)


@pytest.mark.parametrize(
    "fault",
    [
        lambda m, q, k, future_slopes: posref.alibi_bias(m, q, k),
        lambda m, q, k, future_slopes: posref.alibi_bias(m, q, k, future_slopes=-future_slopes),
        lambda m, q, k, future_slopes: posref.alibi_bias(future_slopes, q, k, future_slopes=m),
    ],
)
def test_future_faults(fault: Bias) -> None:
    with pytest.raises(AssertionError):
        other_slopes_hold_all_forms(fault)


# --- alignment -------------------------------------------------------------------------------------------------------


@given(queries=st.integers(0, 9), keys=st.integers(0, 9))
def is_the_end_of_a_square(positions: Callable[..., Any], queries: int, keys: int) -> None:
    """Bottom right is what NeMo and x-transformers cut out of a square: the last rows and columns."""
    n = max(queries, keys, 1)
    square = posref.alibi_bias([0.5], np.arange(n), np.arange(n))
    cut = posref.alibi_bias([0.5], positions(queries, keys), np.arange(keys))
    assert np.array_equal(cut, square[:, n - queries :, n - keys :])


def test_bottom_right() -> None:
    is_the_end_of_a_square(posref.query_positions)


@pytest.mark.parametrize(
    "fault",
    [
        lambda q, k: posref.query_positions(q, k, align="top_left"),
        lambda q, k: np.arange(q) + q - k,
        lambda q, k: np.arange(q) + max(0, k - q),
    ],
)
def test_alignment_faults(fault: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        is_the_end_of_a_square(fault)


def test_the_two_alignments() -> None:
    """Two queries, four keys: flash-attention's rows, and those with the first query at the first key."""
    for align, rows in (
        ("bottom_right", [[-2, -1, 0, -1], [-3, -2, -1, 0]]),
        ("top_left", [[0, -1, -2, -3], [-1, 0, -1, -2]]),
    ):
        q = posref.query_positions(2, 4, align=align)
        assert posref.alibi_bias([1.0], q, np.arange(4))[0].tolist() == rows
    assert np.array_equal(posref.query_positions(3, 3), posref.query_positions(3, 3, align="top_left"))


# --- Falcon ----------------------------------------------------------------------------------------------------------


def test_falcon_scales_the_bias_with_the_logits() -> None:
    """(q k + bias) / sqrt(d) is q k / sqrt(d) and a bias with slopes that are divided: 0.1146 for 0.917 is the first of 64."""
    d = 64
    scaled = posref.alibi_slopes(64, scale=d**-0.5)
    np.testing.assert_allclose([scaled[0], posref.alibi_slopes(64)[0]], [0.1146255, 0.9170040], atol=5e-8)
    logits = np.random.default_rng(3).standard_normal((64, 5, 5)) * 8
    after = logits / np.sqrt(d) + posref.alibi_bias(scaled, np.arange(5), np.arange(5), form="key")
    before = (logits + posref.alibi_bias(posref.alibi_slopes(64), np.arange(5), np.arange(5), form="key")) / np.sqrt(d)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-14)  # 3 roundings of numbers below 8


def test_falcon_rounds_to_bfloat16() -> None:
    """Slope and positions: the slope is another one, and keys 256 and 257 have the same bias."""
    slope = posref.alibi_slopes(64)[:1].astype(ml_dtypes.bfloat16)
    assert float(slope[0]) == 0.91796875
    keys = np.array([256, 257]).astype(ml_dtypes.bfloat16)
    rounded = posref.alibi_bias(slope, [0], keys, form="key")
    assert rounded[0, 0, 0] == rounded[0, 0, 1]
    exact = posref.alibi_bias(posref.alibi_slopes(64)[:1], [0], [256, 257], form="key")
    assert exact[0, 0, 1] - exact[0, 0, 0] > 0.9


# --- a root ----------------------------------------------------------------------------------------------------------


def is_vllms_root(bias: Bias) -> None:
    """VLLM's attention kernel with use_alibi_sqrt: minus the root of what a key is behind, times the slope, after the scale."""
    q, k, m = np.array([0.0, 3.0, 5.5, 4095.0]), np.array([0.0, 1.0, 3.0, 700.25, 4096.0]), np.array([0.5, 0.3])
    relative = k - q[:, None]
    expected = m[:, None, None] * np.where(relative <= 0, -np.sqrt(np.maximum(-relative, 0)), 0)
    # the root and the product are rounded there, the whole here
    np.testing.assert_allclose(bias(m, q, k, "sqrt"), expected, rtol=2.0**-52, atol=0)


def test_vllms_root() -> None:
    is_vllms_root(lambda m, q, k, form: posref.alibi_bias(m, q, k, form=form))


@pytest.mark.parametrize(
    "fault",
    [
        lambda m, q, k, form: posref.alibi_bias(m, q, k, form="past"),
        lambda m, q, k, form: -np.sqrt(-posref.alibi_bias(m, q, k, form="past")),  # of the slope, too
        lambda m, q, k, form: posref.alibi_bias(m, q, k, form=form) * (1 + 2.0**-51),  # twice what is allowed
    ],
)
def test_root_faults(fault: Bias) -> None:
    with pytest.raises(AssertionError):
        is_vllms_root(fault)
