"""Factors on the logits: what they promise, published numbers, and other libraries' own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bad_calls import (
    INF,
    NAN,
    ONES,
    Args,
    Bad,
    a_flag,
    a_number,
    an_integer,
    numbers,
    positions,
    several,
    table_tests,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import posref
from posref import inkling_scale, length_scale, llama4_scale, log_n_scale, ssmax_scale

Floats = NDArray[np.float64]
Scaled = Callable[..., Any]

# --- log n -----------------------------------------------------------------------------------------------------------


@given(length=st.integers(2, 10**6), times=st.integers(2, 1000))
def is_1_in_training_and_grows_by_the_logarithm_beyond(scaled: Scaled, length: int, times: int) -> None:
    """The number of keys is the position + 1: the last query of the training still has 1."""
    within, last, first = (float(v) for v in scaled([length // 2, length - 1, length], length))
    assert within == last == 1.0
    assert first > 1.0
    n = length * times
    assert float(scaled([n - 1], length)[0]) == pytest.approx(1 + np.log(times) / np.log(length), rel=1e-14)


def test_log_n() -> None:
    is_1_in_training_and_grows_by_the_logarithm_beyond(log_n_scale)


@pytest.mark.parametrize(
    "fault",
    [
        lambda m, length: log_n_scale(m, length, clip=False),
        lambda m, length: np.maximum(1, np.log(np.maximum(m, 1)) / np.log(length)),  # n = m
        lambda m, length: log_n_scale(m, length + 1),
        lambda m, length: np.maximum(1, np.log2(np.array(m) + 1)),
        lambda m, length: np.maximum(1, 1 + 0.1 * np.log((np.array(m) + 1) / length)),  # YaRN's growth
    ],
)
def test_log_n_faults(fault: Scaled) -> None:
    with pytest.raises(AssertionError):
        is_1_in_training_and_grows_by_the_logarithm_beyond(fault)


def test_log_n_without_the_clip_scales_down_in_training() -> None:
    free = log_n_scale([0, 1, 62, 63, 64, 4095], 64, clip=False)
    assert free[0] == 0
    assert free[3] == 1
    assert free[5] == 2
    assert ((free[:3] < 1) & (free[:3] >= 0)).all()
    assert np.array_equal(log_n_scale([0, 1, 62, 63, 64, 4095], 64), np.maximum(free, 1))


def entropy(logits: Floats) -> float:
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    return float(-(weights * np.log(weights)).sum())


def test_log_n_keeps_the_entropy() -> None:
    """What it is for: of normal logits of some variance, more keys raise the entropy; scaled by log n they do not."""
    source = np.random.default_rng(0)
    plain, scaled = [], []
    for n in (1024, 65536):
        logits = 2 * source.standard_normal(n)
        plain.append(entropy(logits))
        scaled.append(entropy(logits * log_n_scale([n - 1], 1024)))
    rise = plain[1] - plain[0]
    assert rise > 2
    assert abs(scaled[1] - scaled[0]) < rise / 2


# --- SSMax -----------------------------------------------------------------------------------------------------------


@given(s=st.lists(st.floats(-2, 2), min_size=1, max_size=4), shape=st.tuples(st.integers(1, 2), st.integers(1, 5)))
def test_ssmax_is_a_row_per_head(s: list[float], shape: tuple[int, int]) -> None:
    m = np.random.default_rng(1).integers(0, 10**6, shape)
    scale = ssmax_scale(m, s)
    assert scale.shape == (shape[0], len(s), shape[1])
    expected = np.array(s)[:, None] * np.log(m + 1.0)[:, None, :]
    np.testing.assert_allclose(scale, expected, rtol=4e-16, atol=0)
    b = np.arange(len(s)) + 1.0
    np.testing.assert_allclose(ssmax_scale(m, s, bias=b), expected + b[:, None], rtol=0, atol=1e-13)


def ssmax_of(scaled: Scaled) -> Floats:
    """The largest weight of n keys, one of which is ahead of the others by 1: the paper's figure 1."""
    sizes = (10, 1000, 100000)
    return np.array([1 / (1 + (n - 1) * np.exp(-scaled(n))) for n in sizes])


def test_ssmax_does_not_fade() -> None:
    faded = ssmax_of(lambda n: 1.0)
    kept = ssmax_of(lambda n: float(ssmax_scale([n - 1], [1.2])[0, 0]))
    assert (np.diff(faded) < 0).all()
    assert faded[-1] < 1e-4
    assert (np.diff(kept) > 0).all()
    assert kept[-1] > 0.9


# --- Llama 4 and Ministral 3 -----------------------------------------------------------------------------------------


@given(length=st.integers(1, 10**5), steps=st.integers(0, 1000), c=st.floats(0.01, 1.0))
def llama4_steps_at_the_last_token_of_a_length(scaled: Scaled, length: int, steps: int, c: float) -> None:
    edge = length * (steps + 1)
    at: dict[str, Any] = {"attn_scale": c, "floor_scale": length}
    before, here = scaled([edge - 2, edge - 1], **at) if edge > 1 else (1.0, scaled([0], **at)[0])
    assert here == pytest.approx(1 + c * np.log(2 + steps), rel=1e-14)
    if length > 1:
        assert before == pytest.approx(1 + c * np.log(1 + steps), rel=1e-14)
    later = float(llama4_scale([edge], shift=0, **at)[0])
    assert later == here
    if length > 1:
        assert float(llama4_scale([edge - 1], shift=0, **at)[0]) == pytest.approx(1 + c * np.log(1 + steps), rel=1e-14)


def test_llama4() -> None:
    llama4_steps_at_the_last_token_of_a_length(llama4_scale)


@pytest.mark.parametrize(
    "fault",
    [
        lambda m, **at: llama4_scale(m, shift=0, **at),  # D21: Ministral's reading
        lambda m, attn_scale, floor_scale: 1 + attn_scale * np.log(1 + (np.array(m) + 1) / floor_scale),  # no floor
        lambda m, attn_scale, floor_scale: attn_scale * np.log(1 + (np.array(m) + 1) // floor_scale),
        lambda m, **at: llama4_scale(np.array(m) + 1, **at),
    ],
)
def test_llama4_faults(fault: Scaled) -> None:
    with pytest.raises(AssertionError):
        llama4_steps_at_the_last_token_of_a_length(fault)


def test_published_numbers() -> None:
    assert log_n_scale([8191], 4096)[0] == pytest.approx(1.0833333333, abs=5e-11)
    assert llama4_scale([8191])[0] == pytest.approx(1.0693147181, abs=5e-11)
    assert llama4_scale([8191], shift=0)[0] == 1.0
    assert length_scale(4 * 4096, 4096, mscale=0.5) == pytest.approx(0.05 * np.log(4) + 1, rel=1e-15)


# --- one factor for all rows -----------------------------------------------------------------------------------------


@given(length=st.integers(1, 10**6), seq_len=st.integers(1, 10**8), mscale=st.floats(0, 2))
def test_a_length_scale_is_yarns_attention_factor(length: int, seq_len: int, mscale: float) -> None:
    found = length_scale(seq_len, length, mscale=mscale)
    assert found == 1.0 if seq_len <= length else found >= 1.0
    assert found == pytest.approx(1 + 0.1 * mscale * max(0.0, np.log(seq_len / length)), rel=1e-14)
    yarn = posref.DynamicYarnScaling(length)
    assert length_scale(seq_len, length) == pytest.approx(
        posref.rope_attention_factor(yarn, seq_len=seq_len), rel=1e-15
    )


# --- Inkling ---------------------------------------------------------------------------------------------------------


def grows_without_steps(scaled: Scaled) -> None:
    """1 while there are fewer than L keys; from there on alpha ln of the multiple, at every position."""

    @given(length=st.integers(1, 10**5), times=st.integers(2, 500))
    def check(length: int, times: int) -> None:
        within, first, later = (float(v) for v in scaled([length - 1, length, times * length - 1], length, alpha=0.25))
        assert within == 1.0
        assert first == pytest.approx(1 + 0.25 * np.log1p(1 / length), rel=1e-14)
        assert later == pytest.approx(1 + 0.25 * np.log(times), rel=1e-14)

    check()


def test_inkling() -> None:
    grows_without_steps(inkling_scale)


@pytest.mark.parametrize(
    "fault",
    [
        lambda m, length, alpha: inkling_scale(np.maximum(np.array(m) - 1, 0), length, alpha=alpha),  # n = m
        lambda m, length, alpha: llama4_scale(m, attn_scale=alpha, floor_scale=length),  # steps, and 1 + more
        lambda m, length, alpha: inkling_scale(m, length, alpha=2 * alpha),
    ],
)
def test_faults_of_inkling_are_noticed(fault: Scaled) -> None:
    with pytest.raises(AssertionError):
        grows_without_steps(fault)


def test_temperatures_differ() -> None:
    """D30: five functions of the position that are called temperature, at one length."""
    m = [4094, 4095, 4096, 8191]
    read = [
        llama4_scale(m, floor_scale=4096),
        llama4_scale(m, floor_scale=4096, shift=0),
        inkling_scale(m, 4096),
        log_n_scale(m, 4096),
        ssmax_scale(m, [0.43])[0],
    ]
    ln = np.log
    expected = [
        [1, 1 + 0.1 * ln(2), 1 + 0.1 * ln(2), 1 + 0.1 * ln(3)],
        [1, 1, 1 + 0.1 * ln(2), 1 + 0.1 * ln(2)],
        [1, 1, 1 + 0.1 * ln(4097 / 4096), 1 + 0.1 * ln(2)],
        [1, 1, ln(4097) / ln(4096), ln(8192) / ln(4096)],
        [0.43 * ln(4095), 0.43 * ln(4096), 0.43 * ln(4097), 0.43 * ln(8192)],
    ]
    np.testing.assert_allclose(read, expected, rtol=1e-14)


# --- other libraries -------------------------------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.parametrize("model", ["ministral3", "mistral4"])
def test_as_transformers_ministral(model: str) -> None:
    torch = pytest.importorskip("torch")
    module = pytest.importorskip(f"transformers.models.{model}.modeling_{model}", reason="needs the peers extra")
    m = np.array([0, 16383, 16384, 32767, 32768, 262143])
    theirs = module.get_llama_4_attn_scale(torch.tensor(m)[None], 0.1, 16384)[0, 0, :, 0].double().numpy()
    ours = llama4_scale(m, floor_scale=16384, shift=0)
    np.testing.assert_allclose(theirs, ours, rtol=8 * 2.0**-24)  # float32: a logarithm, a product, a sum
    assert not np.allclose(theirs, llama4_scale(m, floor_scale=16384), rtol=1e-3)


@pytest.mark.peers
def test_as_transformers_inkling(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queries that its attention gets, and the bias: those without the scaling, times the scale of the row."""
    torch = pytest.importorskip("torch")
    inkling = pytest.importorskip("transformers.models.inkling.modeling_inkling", reason="needs the peers extra")
    found: dict[Any, Any] = {}
    for floor in (None, 4):
        config = inkling.InklingTextConfig(
            hidden_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=8, num_hidden_layers=2, d_rel=8
        )
        config.layer_types = ["full_attention"] * 2
        config.log_scaling_n_floor, config._attn_implementation = floor, "eager"
        torch.manual_seed(0)
        attention = inkling.InklingAttention(config, layer_idx=1)
        torch.nn.init.normal_(attention.rel_logits_proj.proj)

        def look(module: Any, query: Any, *args: Any, floor: Any = floor, position_bias: Any, **kwargs: Any) -> Any:
            found[floor] = query.detach(), position_bias.detach()
            return query.transpose(1, 2), None

        monkeypatch.setattr(inkling, "eager_attention_forward", look)
        with torch.no_grad():
            attention(torch.ones(1, 10, 32), None)
    for plain, scaled in zip(found[None], found[4], strict=True):
        ratio = (scaled / plain).double().numpy()
        seen = np.isfinite(ratio)  # the bias is 0 for keys in the future
        expected = np.broadcast_to(inkling_scale(np.arange(10), 4)[:, None], ratio.shape)
        np.testing.assert_allclose(ratio[seen], expected[seen], rtol=8 * 2.0**-24)
        assert seen.any(axis=-1).all()
    assert inkling_scale([9], 4)[0] > 1.05


@pytest.mark.peers
def test_as_transformers_llama_4(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queries that its attention gets, on a layer without rotary: those of position 0 times the scale."""
    torch = pytest.importorskip("torch")
    llama4 = pytest.importorskip("transformers.models.llama4.modeling_llama4", reason="needs the peers extra")
    from transformers import Llama4TextConfig

    config = Llama4TextConfig(
        hidden_size=16, num_attention_heads=2, num_key_value_heads=1, head_dim=8, num_hidden_layers=4, floor_scale=4
    )
    config._attn_implementation = "eager"
    attention = llama4.Llama4TextAttention(config, layer_idx=3)
    assert not attention.use_rope
    seen = []

    def look(module: Any, query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(query.detach())
        return query.transpose(1, 2), None

    monkeypatch.setattr(llama4, "eager_attention_forward", look)
    x, here = torch.ones(1, 10, 16), torch.arange(10)
    with torch.no_grad():
        attention(x, None, None, None, position_ids=here[None])
    scale = (seen[0] / seen[0][:, :, :1]).double().numpy()  # position 0 has scale 1
    np.testing.assert_allclose(
        scale, np.broadcast_to(llama4_scale(here, floor_scale=4)[:, None], scale.shape), rtol=1e-6
    )
    assert not np.allclose(scale[0, 0, :, 0], llama4_scale(here, floor_scale=4, shift=0), rtol=1e-3)


# --- bad input -------------------------------------------------------------------------------------------------------

VALID: dict[str, Args] = {
    "log_n_scale": {"positions": np.arange(3), "length": 64},
    "ssmax_scale": {"positions": np.arange(3), "s": ONES(2)},
    "llama4_scale": {"positions": np.arange(3)},
    "inkling_scale": {"positions": np.arange(3), "length": 64},
    "length_scale": {"seq_len": 128, "length": 64},
}
OF_POSITIONS = "log_n_scale ssmax_scale llama4_scale inkling_scale"

CASES: list[Bad] = [
    *positions(OF_POSITIONS, "positions"),
    *several(OF_POSITIONS, "positions", ([0, -1], ValueError, "must be >= 0, got -1")),
    *several(OF_POSITIONS, "positions", ([-0.5], ValueError, "must be >= 0, got -0.5")),
    ("ssmax_scale", {"positions": 3}, ValueError, "positions must have a sequence axis, got 3"),
    *an_integer("log_n_scale", "length", 2, 1, 0, -4),
    *an_integer("length_scale", "length", 1, 0, -4),
    *an_integer("length_scale", "seq_len", 1, 0, -4),
    *a_flag("log_n_scale", "clip"),
    *numbers("ssmax_scale", "s"),
    *several(
        "ssmax_scale",
        "s",
        ([], ValueError, "must have at least one head, got none"),
        (1.0, ValueError, "must have 1 axis, got shape ()"),
        ([NAN], ValueError, "must be finite, got NaN or infinity"),
        ([INF], ValueError, "must be finite, got NaN or infinity"),
    ),
    *several(
        "ssmax_scale",
        "bias",
        (["1"], TypeError, "must be an array of real numbers, got type <U1"),
        (1.0, ValueError, "must have 1 axis, got shape ()"),
        ([1.0], ValueError, "must be of the shape of s, (2,), got (1,)"),
        ([1.0, NAN], ValueError, "must be finite, got NaN or infinity"),
    ),
    *an_integer("inkling_scale", "length", 1, 0, -1),
    *a_number("inkling_scale", "alpha", "a finite number"),
    *a_number("llama4_scale", "attn_scale", "a finite number"),
    *an_integer("llama4_scale", "floor_scale", 1, 0, -1),
    *an_integer("llama4_scale", "shift", 0, -1),
    ("llama4_scale", {"shift": 2}, ValueError, "shift must be 0 or 1, got 2"),
    *a_number("length_scale", "mscale", "a finite number >= 0", -1),
]  # fmt: skip


test_bad_input, test_no_argument_escapes, test_the_unchanged_call_works = table_tests(VALID, CASES, "logits")
