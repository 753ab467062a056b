"""The rope keys of config files, against transformers' own models: frequencies, factors, and what their attention gets."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
from model_peer import (
    SHORT,
    U,
    assert_same_rotations,
    attention_inputs,
    build,
    config_of,
    frequency_error,
    inv_freq_of,
    rotary_class,
    rotation_error,
    small,
    torch,
)

from posref import rope_inv_freq
from posref.models import read_config

pytestmark = pytest.mark.peers

ELSEWHERE = {
    "falcon": "its attention does not go through the common interface; compared below",
    "kimi_k2": "transformers knows it under Kimi K2.5 only, and rewrites it to deepseek_v3",
}


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"base": 10001.0}, "frequency"),
        ({"base": 10100.0}, "rotation"),
        ({"output_layout": "interleaved"}, "rotation"),
        ({"rotary_dim": 30}, "rotation"),
        ({"scaling": "linear"}, "frequency"),
    ],
)
def test_the_comparison_can_fail(fault, says):
    values = small("llama")
    wrong = dict(values, rope_theta=fault.get("base"))
    if fault.get("scaling"):
        wrong["rope_scaling"] = {"type": "linear", "factor": 1.0001}
    (encoding,) = read_config(wrong).encodings
    if "output_layout" in fault:
        object.__setattr__(encoding, "output_layout", "interleaved")
    if "rotary_dim" in fault:
        object.__setattr__(encoding, "rotary_dim", 30)
        object.__setattr__(encoding, "inv_freq", tuple(rope_inv_freq(30)))
    model = build(values)
    if says == "frequency":
        assert frequency_error(encoding, inv_freq_of(model.rotary_emb)) > 5
        return
    (_, q0, *_), *_ = attention_inputs(model, np.zeros_like(SHORT))
    (_, q, *_), *_ = attention_inputs(model, SHORT)
    assert rotation_error(encoding, q0, q, SHORT) > 5


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LISTS = {"short_factor": [1 + 0.1 * i for i in range(16)], "long_factor": [2 + i for i in range(16)]}
BLOCKS = {
    "default": {"rope_type": "default"},
    "theta inside": {"rope_type": "default", "rope_theta": 5e5},
    "linear, older spelling": {"type": "linear", "factor": 8.0},
    "both spellings": {"rope_type": "linear", "type": "yarn", "factor": 8.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0},
    "yarn": YARN,
    "yarn, untruncated": {**YARN, "truncate": False},
    "yarn, betas": {**YARN, "beta_fast": 16, "beta_slow": 2},
    "yarn, betas of 0": {**YARN, "beta_fast": 0, "beta_slow": 0},
    "yarn, a step": {**YARN, "beta_fast": 1.0, "beta_slow": 1.0},
    "yarn, attention factor": {**YARN, "attention_factor": 1.25},
    "yarn, both mscales": {**YARN, "mscale": 0.707, "mscale_all_dim": 1.0},
    "yarn, one mscale": {**YARN, "mscale": 0.707, "mscale_all_dim": 0.0},
    "yarn, factor null": {**YARN, "factor": None},
    "yarn, length from outside": {"rope_type": "yarn", "factor": 4.0},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    | {"original_max_position_embeddings": 64},
    "longrope": {"rope_type": "longrope", **LISTS, "original_max_position_embeddings": 64},
    "longrope, factor": {"rope_type": "longrope", **LISTS, "factor": 32.0, "original_max_position_embeddings": 64},
    "longrope, attention factor": {"rope_type": "longrope", **LISTS, "attention_factor": 1.5}
    | {"original_max_position_embeddings": 64},
}


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_every_rope_type(block, key):
    values = small("llama", max_position_embeddings=256, rope_theta=1e4, **{key: block})
    if "rope_theta" in block:
        del values["rope_theta"]
    model = build(values)
    for positions in (SHORT, np.array([0, 1, 63, 64, 300, 700])):  # the latter beyond both lengths
        seq_len = int(positions.max()) + 1
        (encoding,) = read_config(values, seq_len=seq_len).encodings
        assert_same_rotations([encoding], model, positions)
        assert frequency_error(encoding, inv_freq_of(model.rotary_emb)) <= 1
        assert math.isclose(model.rotary_emb.attention_scaling, encoding.attention_factor, rel_tol=1e-14)


PRECEDENCE = {
    "theta in both": {"rope_theta": 2e4, "rope_parameters": {"rope_type": "default", "rope_theta": 3e4}},
    "both blocks": {"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": {"rope_type": "default"}},
    "an empty block": {"rope_scaling": {}, "rope_parameters": {"rope_type": "linear", "factor": 2.0}},
    "length in both": {"original_max_position_embeddings": 128, "rope_scaling": YARN},
    "length outside": {"original_max_position_embeddings": 128, "rope_scaling": {"type": "yarn", "factor": 4.0}},
}


@pytest.mark.parametrize("keys", PRECEDENCE.values(), ids=PRECEDENCE)
def test_which_key_wins(keys):
    values = small("llama", max_position_embeddings=256, **keys)
    answer = read_config(values)
    config = config_of(values)
    assert frequency_error(answer.encodings[0], inv_freq_of(rotary_class(config)(config))) <= 1
    assert config.rope_parameters["rope_theta"] == answer.encodings[0].base


PARTIAL = {
    "gpt_neox": {"rotary_pct": 0.5, "rotary_emb_base": 20000},
    "phi": {"partial_rotary_factor": 0.25},
    "phi3": {"partial_rotary_factor": 0.75},
    "persimmon": {"partial_rotary_factor": 0.27},  # of 32 channels: 8.64, which is rounded down
    "stablelm": {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}},
    "glm4": {"partial_rotary_factor": 0.75, "rope_parameters": {"rope_type": "linear", "factor": 2.0}},
    "nemotron": {
        "partial_rotary_factor": 0.25,
        "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5},
    },
}


@pytest.mark.parametrize("model_type", PARTIAL)
def test_partial_rotary(model_type):
    values = small(model_type, **PARTIAL[model_type])
    (encoding,) = read_config(values).encodings
    model = build(values)
    assert encoding.rotary_dim == 2 * model.rotary_emb.inv_freq.numel()
    assert frequency_error(encoding, inv_freq_of(model.rotary_emb)) <= 1
    assert_same_rotations([encoding], model, SHORT)


@pytest.mark.parametrize("kind", ["su", "yarn", "longrope"])
def test_older_names_of_longrope_in_phi3(kind):
    block = {"type": kind, **LISTS}
    if kind == "su":  # transformers 5.24 renames it too late to move the length in by itself, and refuses the file
        block["original_max_position_embeddings"] = 64
    values = small("phi3", max_position_embeddings=8192, original_max_position_embeddings=64, rope_scaling=block)
    model = build(values)
    for positions in (SHORT, np.array([0, 1, 63, 64, 300, 700])):
        (encoding,) = read_config(values, seq_len=int(positions.max()) + 1).encodings
        assert_same_rotations([encoding], model, positions)
        assert math.isclose(model.rotary_emb.attention_scaling, encoding.attention_factor, rel_tol=1e-14)


def test_the_original_length_that_phi3_assumes():
    values = small("phi3", max_position_embeddings=8192, rope_scaling={"type": "longrope", **LISTS})
    (encoding,) = read_config(values).encodings
    assert encoding.scaling.original_max_position_embeddings == config_of(values).original_max_position_embeddings


def test_falcon():
    module = importlib.import_module("transformers.models.falcon.modeling_falcon")
    values = {"model_type": "falcon", "hidden_size": 128, "num_attention_heads": 4, "num_hidden_layers": 1}
    (encoding,) = read_config(values).encodings
    config = config_of(values)
    rotary = rotary_class(config)(config)
    q = torch.randn(1, 1, len(SHORT), 32, generator=torch.Generator().manual_seed(0))
    rotated, _ = module.apply_rotary_pos_emb(q, q, *rotary(q, torch.as_tensor(SHORT)[None]))
    assert frequency_error(encoding, inv_freq_of(rotary)) <= 1
    assert rotation_error(encoding, q.double().numpy(), rotated.double().numpy(), SHORT) <= 1


MSCALES = {"short_mscale": 1.25, "long_mscale": 1.5}


@pytest.mark.parametrize("last", [12, 700])
def test_phimoe_has_two_attention_factors_and_one_list_of_divisors(last):
    block = {"type": "longrope", **LISTS, **MSCALES, "original_max_position_embeddings": 64}
    values = small("phimoe", max_position_embeddings=256, rope_scaling=block)
    (encoding,) = read_config(values, seq_len=last + 1).encodings
    positions = np.array([0, 1, 2, last])
    cos, sin = rotary_class(config_of(values))(config_of(values))(torch.zeros(1, 1), torch.as_tensor(positions)[None])
    cos, sin = cos[0, :, :16].double().numpy(), sin[0, :, :16].double().numpy()
    angles = positions[:, None] * np.array(encoding.inv_freq)
    bound = 4 * U * (1 + angles) * encoding.attention_factor
    assert np.all(abs(cos - encoding.attention_factor * np.cos(angles)) <= bound)
    assert np.all(abs(sin - encoding.attention_factor * np.sin(angles)) <= bound)
    wrong = np.array(encoding.inv_freq) * np.array(LISTS["short_factor"]) / np.array(LISTS["long_factor"])
    assert np.any(abs(sin - encoding.attention_factor * np.sin(positions[:, None] * wrong)) > bound)


@pytest.mark.parametrize("key", MSCALES)
def test_phimoe_needs_both_attention_factors(key):
    block = {"type": "longrope", **LISTS, **MSCALES, "original_max_position_embeddings": 64}
    del block[key]
    values = small("phimoe", rope_scaling=block)
    with pytest.raises(ValueError, match=f"rope_scaling.{key} must be given for rope type 'longrope', got nothing"):
        read_config(values)
    with pytest.raises(Exception, match=key):  # transformers wraps its TypeError
        config_of(values)
