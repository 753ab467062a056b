"""Latent attention as transformers has it: the order of the channels that come in, the factor on all logits, the indexer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from model_peer import (
    SHORT,
    U,
    assert_same_rotations,
    attention_inputs,
    build,
    modeling,
    small,
)

from posref import rope_apply, rope_cos_sin
from posref.models import mla, read_config

pytestmark = pytest.mark.peers

DEEPSEEK = {"type": "yarn", "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707}
BLOCKS = [None, DEEPSEEK, {**DEEPSEEK, "mscale_all_dim": 1.0}, {**DEEPSEEK, "mscale_all_dim": 0}]
FAMILIES = [
    name for name in mla.FAMILIES if name not in ("kimi_k2", "mistral4")
]  # the former is a deepseek_v3 to transformers


def head_of(values):
    return next(e for e in read_config(values).encodings if getattr(e, "part", None) == "mla")


def with_block(model_type, block, **more):
    scaling = block and {**block, "original_max_position_embeddings": 4096}
    return small(model_type, rope_scaling=scaling, max_position_embeddings=163840, **more)


def compare(values):
    """The layer's own projection is compared with what attention gets: the channels that rotate, in the order they come in."""
    encoding = head_of(values)
    model = build(values)
    layer = model.layers[encoding.layers[0]]
    attention = layer.self_attn[0] if isinstance(getattr(layer, "self_attn", None), (list,)) else attention_of(layer)
    projected = []
    projection = attention.q_proj if values.get("q_lora_rank") is None else attention.q_b_proj
    hook = projection.register_forward_hook(lambda module, args, out: projected.append(out.double().numpy()))
    (_, query, _, scale), *_ = attention_inputs(model, SHORT)
    hook.remove()
    raw = projected[0].reshape(1, len(SHORT), 4, encoding.head_dim).swapaxes(1, 2)[..., encoding.offset :]
    cos, sin = rope_cos_sin(SHORT, encoding.inv_freq, attention_factor=encoding.attention_factor)
    wanted = rope_apply(raw, cos, sin, layout=encoding.layout, output_layout=encoding.output_layout)
    other = {"half": "interleaved", "interleaved": "half"}[encoding.layout]
    wrong = rope_apply(raw, cos, sin, layout=other, output_layout=encoding.output_layout)
    rotated = query[..., -encoding.rotary_dim :]
    if values["model_type"] == "longcat_flash":  # it scales queries and keys by constants of their ranks
        rotated = rotated * np.linalg.norm(wanted) / np.linalg.norm(rotated)
    tolerance = 64 * U * np.abs(raw).max()  # angles to 12, so some 40 u, and a few roundings
    assert np.abs(rotated - wanted).max() <= tolerance
    assert np.abs(rotated - wrong).max() > 1000 * tolerance
    return encoding, scale


def attention_of(layer):
    attention = getattr(layer, "self_attn", None) or layer.attention
    return attention[0] if hasattr(attention, "__getitem__") else attention


@pytest.mark.parametrize("model_type", FAMILIES)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_factor_on_all_logits_and_the_layout_that_comes_in(model_type, block):
    encoding, scale = compare(with_block(model_type, block))
    assert math.isclose(scale * math.sqrt(encoding.head_dim), encoding.softmax_factor, rel_tol=1e-14)


@pytest.mark.parametrize("model_type", ["deepseek_v2", "deepseek_v3", "glm4_moe_lite"])
def test_without_a_low_rank_for_queries(model_type):
    compare(with_block(model_type, DEEPSEEK, q_lora_rank=None))


def test_weights_in_the_half_order():
    values = small("deepseek_v3", rope_interleave=False)
    encoding = head_of(values)
    assert (encoding.layout, encoding.output_layout) == ("half", "half")
    assert_same_rotations([encoding], build(values), SHORT)
    compare(values)


INDEXED = ["deepseek_v32", "glm_moe_dsa"]


@pytest.mark.parametrize("model_type", INDEXED)
def test_the_indexer(model_type, monkeypatch):
    """Of the rotations that a layer does, the indexer's has as many heads as the indexer."""
    values = small(model_type, index_n_heads=3)
    indexer = next(e for e in read_config(values).encodings if e.part == "indexer")
    model = build(values)
    module, seen = modeling(model.config), []
    for name in ("apply_rotary_pos_emb", "apply_rotary_pos_emb_interleave"):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, spy(getattr(module, name), seen))
    attention_inputs(model, SHORT)
    calls = [(before, after) for before, after in seen if before.shape[2] == 3]  # (batch, tokens, heads, channels)
    assert len(calls) == len(indexer.layers) == 5
    cos, sin = rope_cos_sin(SHORT, indexer.inv_freq)
    for before, after in calls:
        raw, rotated = before.swapaxes(1, 2), after.swapaxes(1, 2)
        wanted = rope_apply(raw, cos, sin, layout=indexer.layout, output_layout=indexer.output_layout)
        wrong = rope_apply(
            raw, cos, sin, layout="interleaved" if indexer.layout == "half" else "half", output_layout="half"
        )
        tolerance = 64 * U * np.abs(raw).max()
        assert raw.shape[-1] == indexer.rotary_dim
        assert np.abs(rotated - wanted).max() <= tolerance
        assert np.abs(rotated - wrong).max() > 1000 * tolerance
    assert model.layers[0].self_attn.indexer.head_dim == indexer.head_dim


def spy(function, seen):
    def call(q, k, *args, **kwargs):
        before = q.double().numpy()
        rotated = function(q, k, *args, **kwargs)
        seen.append((before, rotated[0].double().numpy()))
        return rotated

    return call


def test_layers_that_use_the_indexer_of_a_layer_before():
    values = small("glm_moe_dsa", index_topk_freq=2, index_skip_topk_offset=1)
    indexer = next(e for e in read_config(values).encodings if e.part == "indexer")
    model = build(values)
    assert indexer.layers == tuple(i for i, kind in enumerate(model.config.indexer_types) if kind == "full")
    assert 0 < len(indexer.layers) < 5
