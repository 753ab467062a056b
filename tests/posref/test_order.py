"""Self-attention without positions does not see the order of its tokens; with each of the encodings it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import posref

Floats = NDArray[np.float64]

TOKENS, DIM, HEADS = 7, 16, 2
HERE = np.arange(TOKENS)
ORDER = np.array([3, 0, 6, 1, 5, 2, 4])
DRAW = np.random.default_rng(7)
X = DRAW.standard_normal((TOKENS, DIM))
WEIGHTS = DRAW.standard_normal((3, DIM, DIM)) / 2
TABLE = DRAW.standard_normal((32, DIM))
T5_TABLE = DRAW.standard_normal((32, HEADS))
SLOPES = posref.alibi_slopes(HEADS)

# Outputs are below 10, logits below 50: some 3 * 50 roundings of 2**-53 (test_golden.py derives it), times 10.
ROUNDING = 1e-12
SEEN = 1e-3


def self_attention(x: Floats, how: dict[str, Any], positions: NDArray[Any] = HERE) -> Floats:
    """Two heads. An encoding is added to x, rotates q and k, or is a bias: a function of the positions."""
    if "add" in how:
        x = x + how["add"](positions)
    q, k, v = (np.moveaxis((x @ w).reshape(TOKENS, HEADS, -1), 0, 1) for w in WEIGHTS)  # (heads, tokens, dim / heads)
    if "rotate" in how:
        q, k = how["rotate"](q, positions), how["rotate"](k, positions)
    bias = how["bias"](positions) if "bias" in how else None
    return np.moveaxis(posref.attention(q, k, v, bias=bias, mask=how.get("mask")), 0, 1).reshape(TOKENS, DIM)


def order_seen(how: dict[str, Any]) -> float:
    """How far permuting the tokens is from permuting the result."""
    return float(np.abs(self_attention(X[ORDER], how) - self_attention(X, how)[ORDER]).max())


def start_seen(how: dict[str, Any]) -> float:
    """How much the result changes where all positions move on by 5."""
    return float(np.abs(self_attention(X, how) - self_attention(X, how, HERE + 5)).max())


def rotated(**how: Any) -> dict[str, Any]:
    return {"rotate": lambda x, p: posref.rope(x, p, **how)}


def biased(bias: Any) -> dict[str, Any]:
    return {"bias": bias}


FIRE = DRAW.standard_normal((32, 1)), DRAW.standard_normal(32), DRAW.standard_normal((HEADS, 32))
ABSOLUTE = {
    "fire": biased(
        lambda p: np.moveaxis(posref.position_mlp(posref.fire_distance(p, p, 1.0, 2.0)[..., None], *FIRE), -1, 0)
    ),
    "sinusoidal": {"add": lambda p: posref.sinusoidal(p, DIM)},
    "sinusoidal, tensor2tensor's": {"add": lambda p: posref.sinusoidal(p, DIM, endpoint=True, layout="concatenated")},
    "timestep_embedding": {"add": lambda p: posref.timestep_embedding(p, DIM)},
    "learned": {"add": lambda p: posref.learned(TABLE, p)},
}
SCALINGS = {
    "linear": posref.LinearScaling(4.0),
    "ntk": posref.NTKScaling(4.0),
    "dynamic ntk": posref.DynamicNTKScaling(2.0, 16),
    "yarn": posref.YarnScaling(4.0, 64),
    "llama3": posref.Llama3Scaling(4.0, 64, 1.0, 4.0),
    "longrope": posref.LongRopeScaling((1.0, 2.0, 3.0, 4.0), (1.0, 3.0, 9.0, 27.0), 64, factor=4.0),
}
RELATIVE = {
    "rope": rotated(),
    "rope, interleaved": rotated(layout="interleaved"),
    "rope, partial": rotated(dim=4, offset=2),
    **{f"rope, {name}": rotated(scaling=scaling, seq_len=100) for name, scaling in SCALINGS.items()},
    **{
        f"alibi, {form}": biased(lambda p, form=form: posref.alibi_bias(SLOPES, p, p, form=form))
        for form in ("distance", "signed", "key")  # the key form's constant per query is nothing to softmax
    },
    "alibi, past": biased(lambda p: posref.alibi_bias(SLOPES, p, p, form="past")),
    "alibi, sqrt": biased(lambda p: posref.alibi_bias(SLOPES, p, p, form="sqrt")),
    "alibi, two sides": biased(lambda p: posref.alibi_bias(SLOPES, p, p, future_slopes=SLOPES / 3)),
    "kerple": biased(lambda p: posref.kerple_bias([0.7, 2.0], [0.3, 1.5], p, p)),
    "kerple, power": biased(lambda p: posref.kerple_bias([0.7, 2.0], [0.3, 1.5], p, p, form="power")),
    "sandwich": biased(lambda p: posref.sandwich_bias(HEADS, p, p, dim=8)),
    "t5": biased(lambda p: posref.t5_bias(T5_TABLE, p, p)),
    "t5, decoder": biased(lambda p: posref.t5_bias(T5_TABLE, p, p, bidirectional=False)),
}
ENCODINGS = ABSOLUTE | RELATIVE

BLIND: dict[str, dict[str, Any]] = {
    "nothing": {},
    "the same row everywhere": {"add": lambda p: posref.learned(TABLE, 0 * p)},
    "a rotation by nothing": {"rotate": lambda x, p: posref.rope(x, 0 * p)},
    "the same rotation everywhere": {"rotate": lambda x, p: posref.rope(x, 0 * p + 3)},
    "slopes of zero": biased(lambda p: posref.alibi_bias(0 * SLOPES, p, p)),
    "a bias that only the query has": biased(lambda p: posref.alibi_bias(SLOPES, p, p, form="key").swapaxes(-1, -2)),
}


@pytest.mark.parametrize("name", BLIND)
def test_without_positions_order_is_not_seen(name: str) -> None:
    assert order_seen(BLIND[name]) < ROUNDING


@pytest.mark.parametrize("name", ENCODINGS)
def test_with_an_encoding_order_is_seen(name: str) -> None:
    assert order_seen(ENCODINGS[name]) > SEEN


def test_a_causal_mask_is_a_position_too() -> None:
    assert order_seen({"mask": np.tri(TOKENS, dtype=bool)}) > SEEN


@pytest.mark.parametrize("name", RELATIVE)
def test_a_relative_encoding_does_not_see_where_the_sequence_starts(name: str) -> None:
    assert start_seen(RELATIVE[name]) < ROUNDING


@pytest.mark.parametrize("name", ABSOLUTE)
def test_an_absolute_encoding_sees_where_the_sequence_starts(name: str) -> None:
    assert start_seen(ABSOLUTE[name]) > SEEN
