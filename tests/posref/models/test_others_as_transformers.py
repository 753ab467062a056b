"""What is read as ALiBi, T5 buckets, learned tables and sinusoids, against transformers' own models."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

from posref import alibi_bias, sinusoidal
from posref.models import read_config

torch = pytest.importorskip("torch", reason="needs torch, which transformers computes with")
transformers = pytest.importorskip("transformers", reason="needs the peers extra (transformers)")

pytestmark = pytest.mark.peers

CONFIGS = Path(__file__).parents[2] / "data" / "configs"
U = 2.0**-24  # unit roundoff of float32, in which transformers computes


def config_of(values):
    return transformers.CONFIG_MAPPING[values["model_type"]](**json.loads(json.dumps(values)))


def build(values, **more):
    torch.manual_seed(0)
    return transformers.AutoModel.from_config(config_of(values), **more).eval().float()


@pytest.mark.parametrize("heads", [1, 2, 6, 16, 112])
def test_bloom(heads):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    (encoding,) = read_config({"model_type": "bloom", "n_head": heads, "n_layer": 2}).encodings
    theirs = build_alibi_tensor(torch.ones(1, 9), heads, torch.float32).double().numpy()  # (heads, 1, k)
    ours = alibi_bias(encoding.slopes, [8], np.arange(9), form=encoding.form)
    # slopes are powers of one float32 number: its error times the exponent, at most the number of heads
    assert np.all(np.abs(theirs - ours) <= 2 * heads * U * np.abs(ours))
    assert encoding.layers == (0, 1)


def test_which_name_of_the_heads_wins_in_bloom():
    values = {"model_type": "bloom", "n_head": 4, "num_attention_heads": 8, "n_layer": 2, "num_hidden_layers": 3}
    answer = read_config(values)
    config = config_of(values)
    assert answer.encodings[0].num_heads == config.n_head
    assert len(answer.encodings[0].layers) == config.n_layer
    assert sum(note.startswith("contradictory") for note in answer.notes) == 2


@pytest.mark.parametrize("heads", [4, 6, 32])
@pytest.mark.parametrize("bias_max", [None, 8, 16])
def test_mpt(heads, bias_max):
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    attention = {} if bias_max is None else {"attn_config": {"alibi": True, "alibi_bias_max": bias_max}}
    values = {"model_type": "mpt", "n_heads": heads, "n_layers": 2, "d_model": 12 * heads, **attention}
    (encoding,) = read_config(values).encodings
    theirs = build_mpt_alibi_tensor(heads, 9, config_of(values).attn_config.alibi_bias_max).double().numpy()
    ours = alibi_bias(encoding.slopes, [8], np.arange(9), form=encoding.form)
    ours = ours - ours[..., -1:]  # less the last key's, which softmax does not see
    assert np.all(np.abs(theirs - ours) <= 32 * U * np.abs(ours))  # exponents to 16, each with an error of u


FALCON = {"model_type": "falcon", "alibi": True, "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1}


def test_falcon_with_alibi(monkeypatch):
    """The mask that its fused attention gets is the bias, scaled as the logits are."""
    (encoding,) = read_config(FALCON).encodings
    model = build(FALCON | {"vocab_size": 16, "bos_token_id": 1, "eos_token_id": 2}, attn_implementation="sdpa")
    masks = []
    attention = torch.nn.functional.scaled_dot_product_attention

    def spy(*args, attn_mask, **kwargs):
        masks.append(attn_mask.double().numpy())
        return attention(*args, attn_mask=attn_mask, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    with torch.no_grad():
        model(torch.arange(1, 10)[None])
    theirs = masks[0][0, :, -1]  # (heads, k)
    ours = alibi_bias(encoding.slopes, [8], np.arange(9), form=encoding.form)[:, 0] * encoding.scale
    assert np.all(np.abs(theirs - ours) <= 2.0**-8 * np.abs(ours))  # transformers rounds the bias to bfloat16


@pytest.mark.xfail(
    reason="transformers 5.24: Falcon's eager attention adds the bias twice, in the logits and in the mask"
)
def test_falcon_with_alibi_and_eager_attention():
    (encoding,) = read_config(FALCON).encodings
    model = build(FALCON | {"vocab_size": 16, "bos_token_id": 1, "eos_token_id": 2}, attn_implementation="eager")
    torch.nn.init.zeros_(model.h[0].self_attention.query_key_value.weight)  # then the attention is the bias's softmax
    with torch.no_grad():
        weights = model(torch.arange(1, 10)[None], output_attentions=True).attentions[0][0, :, -1]
    logits = np.log(weights.double().numpy())
    ours = alibi_bias(encoding.slopes, [8], np.arange(9), form=encoding.form)[:, 0] * encoding.scale
    assert np.all(np.abs(logits - logits[:, :1] - ours) <= 2.0**-8 * np.abs(ours) + 16 * U)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"relative_attention_num_buckets": 20, "relative_attention_max_distance": 50},
        {"num_decoder_layers": 3},
        {"relative_attention_max_distance": 1000},
    ],
)
@pytest.mark.parametrize("model_type", ["t5", "mt5"])
def test_t5(model_type, keys):
    values = {"model_type": model_type, "num_layers": 2, "num_heads": 4, "d_model": 16, "d_kv": 4, "d_ff": 8, **keys}
    values |= {"vocab_size": 16}
    encodings = read_config(values).encodings
    model = build(values)
    assert [encoding.stack for encoding in encodings] == ["encoder", "decoder"]
    for encoding, stack in zip(encodings, (model.encoder, model.decoder), strict=True):
        attention = stack.block[0].layer[0].SelfAttention
        assert attention.relative_attention_bias.weight.shape == (encoding.num_buckets, encoding.num_heads)
        assert len(stack.block) == len(encoding.layers)
        assert not any(block.layer[0].SelfAttention.has_relative_attention_bias for block in list(stack.block)[1:])
        rows = torch.arange(encoding.num_buckets, dtype=torch.float32)[:, None].expand(-1, encoding.num_heads)
        attention.relative_attention_bias.weight = torch.nn.Parameter(rows)  # then the bias is the bucket
        length = 1200
        theirs = attention.compute_bias(length, length)[0, 0].detach().numpy().astype(int)  # (q, k)
        relative = np.arange(length) - np.arange(length)[:, None]
        found = np.full_like(relative, -1)
        for bucket in encoding.buckets:
            first = -np.inf if bucket.first is None else bucket.first
            last = np.inf if bucket.last is None else bucket.last
            found[(first <= relative) & (relative <= last)] = bucket.bucket
        assert np.array_equal(found, theirs)


@pytest.mark.parametrize("model_type", ["longt5", "pix2struct_text_model", "pop2piano", "switch_transformers", "udop"])
def test_kin_of_t5(model_type):
    """The first layer of each stack has the table, in the shape that is told; its rule is T5's own function there, too."""
    encodings = read_config(
        json.loads(transformers.CONFIG_MAPPING[model_type]().to_json_string(use_diff=False))
    ).encodings
    config = transformers.CONFIG_MAPPING[model_type]()
    module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    name = next(
        n
        for n in vars(module)
        if n.endswith("TextModel" if "text" in model_type else ("Model", "Generation")) and "PreT" not in n
    )
    with torch.device("meta"):
        model = getattr(module, name)._from_config(config)
    found = {n: tuple(p.shape) for n, p in model.named_parameters() if "elfAttention.relative_attention_bias" in n}
    found |= {n: tuple(p.shape) for n, p in model.named_parameters() if "self_attention.attention.relative" in n}
    assert all(".0." in n for n in found)
    assert [(e.num_buckets, e.num_heads) for e in encodings] == list(found.values())
    assert len(encodings) == (1 if "text" in model_type else 2)


TABLES = {
    "gpt2": (lambda model: model.wpe, {"n_embd": 16, "n_head": 2, "n_layer": 1, "n_positions": 20}),
    "opt": (lambda model: model.decoder.embed_positions, {"ffn_dim": 8}),
    "bert": (lambda model: model.embeddings.position_embeddings, {"intermediate_size": 8}),
    "albert": (lambda model: model.embeddings.position_embeddings, {"intermediate_size": 8, "embedding_size": 6}),
    "roberta": (lambda model: model.embeddings.position_embeddings, {"intermediate_size": 8}),
    "xlm-roberta": (lambda model: model.embeddings.position_embeddings, {"intermediate_size": 8, "pad_token_id": 4}),
}


@pytest.mark.parametrize("model_type", TABLES)
def test_learned(model_type):
    where, keys = TABLES[model_type]
    values = {"model_type": model_type, "vocab_size": 30, "bos_token_id": 1, "eos_token_id": 2} | keys
    if model_type != "gpt2":
        values |= {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "max_position_embeddings": 20}
    (encoding,) = read_config(values).encodings
    model = build(values)
    assert where(model).weight.shape == (encoding.rows, encoding.dim)
    rows = []
    hook = torch.nn.functional.embedding
    # the row that the first token, of position 0, looks up
    table = where(model)

    def spy(ids, weight, *args, **kwargs):
        if weight is table.weight:
            rows.append(ids.flatten().tolist())
        return hook(ids, weight, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(torch.nn.functional, "embedding", spy)
        model(torch.arange(10, 15)[None])
    assert rows == [list(range(encoding.offset, encoding.offset + 5))]


def test_whisper():
    values = {"model_type": "whisper", "d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
    values |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    values |= {"vocab_size": 30, "max_source_positions": 40, "max_target_positions": 20}
    values |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    sines, learned = read_config(values).encodings
    model = build(values)
    assert_sinusoids(sines, model.encoder.embed_positions.weight)
    assert model.decoder.embed_positions.weight.shape == (learned.rows, learned.dim)
    assert (sines.stack, learned.stack, learned.offset) == ("encoder", "decoder", 0)


def test_m2m_100():
    values = {"model_type": "m2m_100", "d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
    values |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    values |= {"vocab_size": 30, "max_position_embeddings": 40, "pad_token_id": 1}
    encodings = read_config(values).encodings
    model = build(values)
    for encoding, stack in zip(encodings, (model.encoder, model.decoder), strict=True):
        assert stack.embed_positions.weights.shape == (encoding.rows, encoding.dim)
        assert_sinusoids(encoding, stack.embed_positions(torch.arange(10, 20)[None])[0])


def assert_sinusoids(encoding, rows):
    """Exp in float32 errs by u (1 + ln b) in the frequency, the angle by that times the position."""
    positions = np.arange(len(rows)) + encoding.offset
    ours = sinusoidal(
        positions,
        encoding.dim,
        base=encoding.base,
        endpoint=encoding.endpoint,
        layout=encoding.layout,
        order=encoding.order,
    )
    bound = 4 * U * (4 + math.log(encoding.base)) * (1 + positions[:, None])
    error = np.abs(rows.detach().double().numpy() - ours)
    assert np.all(error <= bound)
    moved = sinusoidal(positions + 1, encoding.dim, endpoint=True, layout="concatenated")
    assert np.abs(moved - ours).max() > 100 * bound.max()


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("bert-base", {"rows": "max_position_embeddings", "dim": "hidden_size"}),
        ("gpt2", {"rows": "n_positions", "dim": "n_embd"}),
        ("bloom-fixture", {"num_heads": "n_head"}),
        ("mpt-7b", {"num_heads": "n_heads"}),
        ("t5-base", {"num_heads": "num_heads", "num_buckets": "relative_attention_num_buckets"}),
        ("t5-base", {"max_distance": "relative_attention_max_distance"}),
        ("whisper-large-v2", {"rows": "max_source_positions", "dim": "d_model"}),
        ("nllb-200-distilled-600M", {"dim": "d_model"}),
    ],
)
def test_real_files(name, attributes):
    path = CONFIGS / f"{name}.json"
    encoding = read_config(path).encodings[0]
    config = config_of(json.loads(path.read_text()))
    for ours, theirs in attributes.items():
        assert getattr(encoding, ours) == getattr(config, theirs)
