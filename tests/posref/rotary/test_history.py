"""Frequencies that follow from all calls so far: against transformers' own module, and what the two rules promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posref
from posref import DynamicLinearScaling, DynamicNTKScaling, DynamicYarnScaling, RopeHistory, rope_inv_freq

DIM, LENGTH, FACTOR = 16, 64, 2.0
CALLS = [10, 64, 65, 100, 80, 64, 63, 70, 64, 200, 150, 1]  # growth, shrinking above, to and below the original length
EXPECTED = {
    "transformers": [64, 64, 65, 100, 100, 100, 64, 70, 70, 200, 200, 64],
    "grow": [64, 64, 65, 100, 100, 100, 100, 100, 100, 200, 200, 200],
}


def lengths(rule: str, calls: Sequence[int] = CALLS, **how: Any) -> list[float]:
    history = RopeHistory(DynamicNTKScaling(FACTOR, LENGTH), DIM, rule=rule, **how)
    found: list[float] = []
    for seq_len in calls:
        w = history.inv_freq(seq_len)
        same = rope_inv_freq(DIM, scaling=DynamicNTKScaling(FACTOR, LENGTH), seq_len=history.seq_len)
        assert np.array_equal(w, same)
        found.append(history.seq_len)
    return found


@pytest.mark.parametrize("rule", EXPECTED)
def test_the_length_that_holds(rule: str) -> None:
    assert lengths(rule) == EXPECTED[rule]


def test_the_default_is_transformers() -> None:
    history = RopeHistory(DynamicNTKScaling(FACTOR, LENGTH), DIM)
    assert history.rule == "transformers"


@given(st.lists(st.integers(1, 300), min_size=1, max_size=12))
def depends_on_the_past_and_only_as_the_rule_says(
    run: Callable[[str, list[int]], list[float]], calls: list[int]
) -> None:
    """Grow: the longest so far. transformers: the longest since the last call below the original length."""
    assert run("grow", calls) == [max(LENGTH, *calls[: i + 1]) for i in range(len(calls))]
    short = [max([j for j in range(i + 1) if calls[j] < LENGTH], default=0) for i in range(len(calls))]
    assert run("transformers", calls) == [max(LENGTH, *calls[start : i + 1]) for i, start in enumerate(short)]


def test_history() -> None:
    depends_on_the_past_and_only_as_the_rule_says(lengths)


@pytest.mark.parametrize(
    "fault",
    [
        lambda rule, calls: [max(LENGTH, c) for c in calls],  # no memory, as mlx-lm
        lambda rule, calls: [2 * LENGTH for _ in calls],  # a fixed length, as sglang
        lambda rule, calls: lengths("grow", calls),
        lambda rule, calls: lengths("transformers", calls),
        lambda rule, calls: lengths(rule, [max(1, c - 1) for c in calls]),  # off by one
    ],
)
def test_history_faults(fault: Callable[[str, list[int]], list[float]]) -> None:
    with pytest.raises(AssertionError):
        depends_on_the_past_and_only_as_the_rule_says(fault)


@pytest.mark.parametrize(
    ("scaling", "factor"),
    [
        (DynamicNTKScaling(FACTOR, LENGTH), 1.0),
        (DynamicLinearScaling(LENGTH), 1.0),
        (DynamicYarnScaling(LENGTH), 0.1 * np.log(300 / 64) + 1),
    ],
)
def test_the_attention_factor_goes_with_the_frequencies(scaling: Any, factor: float) -> None:
    history = RopeHistory(scaling, DIM, rule="grow")
    assert history.attention_factor == 1.0
    history.inv_freq(300)
    history.inv_freq(5)
    assert history.attention_factor == pytest.approx(factor, rel=1e-15)
    assert history.attention_factor == posref.rope_attention_factor(scaling, seq_len=300)


@pytest.mark.peers
def test_transformers_module_does_the_same() -> None:
    torch = pytest.importorskip("torch")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama", reason="needs the peers extra")
    from transformers import LlamaConfig

    rope = {"rope_type": "dynamic", "factor": FACTOR, "rope_theta": 10000.0}
    config = LlamaConfig(
        hidden_size=2 * DIM, num_attention_heads=2, max_position_embeddings=LENGTH, rope_parameters=rope
    )
    module = llama.LlamaRotaryEmbedding(config)
    history = RopeHistory(DynamicNTKScaling(FACTOR, LENGTH), DIM)
    other = RopeHistory(DynamicNTKScaling(FACTOR, LENGTH), DIM, rule="grow")
    differs = False
    for seq_len in CALLS:
        module(torch.zeros(1), torch.arange(seq_len)[None])
        theirs = module.inv_freq.double().numpy()
        # float32 powers: base ** x within 3 |ln w| + 8 roundings, |ln w| < 10
        np.testing.assert_allclose(theirs, history.inv_freq(seq_len), rtol=40 * 2.0**-24)
        differs |= not np.allclose(theirs, other.inv_freq(seq_len), rtol=1e-4)
    assert differs
