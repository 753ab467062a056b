"""Models by the keys of their own code: what that code does with them, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from posref import DynamicNTKScaling, NTKScaling
from posref.models import AlibiEncoding, LearnedEncoding, read_config

SHAPE = {"hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 2048}
GPT = {"n_embd": 1024, "n_head": 8, "n_layer": 4}


def only(model_type, **keys):
    (encoding,) = read_config({"model_type": model_type, **keys}).encodings
    return encoding


def ladder(base, dim):
    return [base ** (-2 * i / dim) for i in range(dim // 2)]


@pytest.mark.parametrize(
    ("model_type", "keys", "base", "rotary"),
    [
        ("RefinedWebModel", {"hidden_size": 1024, "n_head": 8, "n_layer": 4, "alibi": False}, 1e4, 128),
        ("Yi", {**SHAPE, "rope_theta": 5e6}, 5e6, 128),
        ("aquila", SHAPE, 1e4, 128),
        ("arctic", {**SHAPE, "rope_theta": 2e4}, 2e4, 128),
        ("bailing_moe_v2", {**SHAPE, "head_dim": 64, "partial_rotary_factor": 0.5}, 6e5, 32),
        ("codeshell", {**GPT, "n_positions": 8192, "position_embedding_type": "rope"}, 1e4, 128),
        ("internlm", SHAPE, 1e4, 128),
        ("internlm", {**SHAPE, "rotary": {"base": 20000, "type": "origin"}}, 2e4, 128),
        ("jais", {}, None, None),
        (
            "llada",
            {"d_model": 1024, "n_heads": 8, "n_layers": 4, "rope": True, "rope_theta": 5e5, "alibi": False},
            5e5,
            128,
        ),
        ("mixformer-sequential", {**GPT, "rotary_dim": 32}, 1e4, 32),
        ("nomic_bert", {**GPT, "rotary_emb_base": 5000, "rotary_emb_fraction": 0.5, "n_positions": 8192}, 5e3, 64),
        ("nomic_bert", {**GPT}, 1e3, 128),
        (
            "openelm",
            {"model_dim": 1280, "head_dim": 64, "num_transformer_layers": 4, "rope_freq_constant": 20000},
            2e4,
            64,
        ),
        ("phi3small", {**SHAPE, "rope_embedding_base": 10000, "rope_position_scale": 1.0}, 1e4, 128),
        ("phi3small", SHAPE, 1e6, 128),
        ("stablelm_epoch", {**SHAPE, "rope_pct": 0.5}, 1e4, 64),
        ("stablelm_epoch", SHAPE, 1e4, 32),
    ],
)
def test_rotations(model_type, keys, base, rotary):
    encoding = only(model_type, **(keys or {**GPT, "n_positions": 64}))
    if base is None:
        assert isinstance(encoding, LearnedEncoding)
        return
    assert (encoding.base, encoding.rotary_dim, encoding.layout, encoding.layers) == (
        base,
        rotary,
        "half",
        (0, 1, 2, 3),
    )
    np.testing.assert_allclose(encoding.inv_freq, ladder(base, rotary), rtol=4e-15)  # a power errs by u (1 + ln b)


def test_no_key_is_ignored_that_counts():
    for model_type, keys in (
        ("nomic_bert", {**GPT, "rotary_emb_base": 5000, "rotary_emb_fraction": 0.5, "rotary_emb_interleaved": False}),
        ("stablelm_epoch", {**SHAPE, "rope_pct": 0.5}),
        (
            "openelm",
            {
                "model_dim": 1280,
                "head_dim": 64,
                "num_transformer_layers": 4,
                "rope_freq_constant": 2e4,
                "rope_max_length": 9,
            },
        ),
        ("RefinedWeb", {"hidden_size": 1024, "n_head": 8, "n_layer": 4, "alibi": True}),
    ):
        assert not [
            note for note in read_config({"model_type": model_type, **keys}).notes if note.startswith("ignored")
        ]
    (note,) = read_config({"model_type": "Yi", **SHAPE, "rope_theta": 1e4, "rotary_dim": 3}).notes
    assert note == "ignored: rotary_dim = 3"


def test_gte_s_own_ntk():
    """Pair i of d/2 is divided by s^(2 (i + 1) / d): the last one by s; with mixed_b by s^((2 (i + 1) / d)^b)."""
    block = {"type": "ntk", "factor": 8.0}
    fixed = only("new", **SHAPE, rope_theta=2e4, rope_scaling=block)
    assert fixed.scaling == NTKScaling(8.0, "fixed")
    wanted = [w / 8 ** ((i + 1) / 64) for i, w in enumerate(ladder(2e4, 128))]
    np.testing.assert_allclose(fixed.inv_freq, wanted, rtol=8e-15)
    mixed = only("new", **SHAPE, rope_theta=2e4, rope_scaling={**block, "mixed_b": 0.5})
    wanted = [w / 8 ** (((i + 1) / 64) ** 0.5) for i, w in enumerate(ladder(2e4, 128))]
    np.testing.assert_allclose(mixed.inv_freq, wanted, rtol=8e-15)
    assert isinstance(only("new", **SHAPE, position_embedding_type="absolute"), LearnedEncoding)
    assert read_config({"model_type": "new", **SHAPE, "position_embedding_type": "other"}).encodings == ()


def test_internlm_s_dynamic_base():
    """Factor 1: beyond 2048 tokens the base grows by (S / 2048)^(d / (d - 2))."""
    rotary = {"rotary": {"base": 10000, "type": "dynamic"}}
    short, long = (
        read_config({"model_type": "internlm", **SHAPE, **rotary}, seq_len=n).encodings[0] for n in (2048, 4096)
    )
    assert short.scaling == DynamicNTKScaling(1.0, 2048)
    np.testing.assert_allclose(short.inv_freq, ladder(1e4, 128), rtol=4e-15)
    np.testing.assert_allclose(long.inv_freq, ladder(1e4 * 2 ** (128 / 126), 128), rtol=8e-15)
    assert (
        read_config({"model_type": "internlm", **SHAPE, "rotary": {"type": "xpos"}})
        .notes[0]
        .startswith("not known yet")
    )


@pytest.mark.parametrize(
    ("model_type", "keys", "form", "scale"),
    [
        ("bert", {**SHAPE, "position_embedding_type": "alibi"}, "distance", 1.0),  # Jina's
        ("bert", {**SHAPE, "alibi_starting_size": 512}, "distance", 1.0),  # MosaicBERT, DNABERT-2
        ("jais", {**GPT, "position_embedding_type": "alibi"}, "key", 1.0),
        ("RefinedWeb", {"hidden_size": 1024, "n_head": 8, "n_layer": 4, "alibi": True}, "key", 128**-0.5),
    ],
)
def test_alibi(model_type, keys, form, scale):
    encoding = only(model_type, **keys)
    assert isinstance(encoding, AlibiEncoding)
    assert (encoding.form, encoding.scale, encoding.layers) == (form, pytest.approx(scale), (0, 1, 2, 3))
    assert encoding.slopes == tuple(2.0**-h for h in range(1, 9))


def test_a_bert_is_a_bert():
    assert only("bert", **SHAPE).offset == 0
    assert only("xlm-roberta", **SHAPE, pad_token_id=1).offset == 2


def test_jina_s_encoder_that_is_saved_as_xlm_roberta():
    encoding = only("xlm-roberta", **SHAPE, position_embedding_type="rotary", rotary_emb_base=20000.0)
    np.testing.assert_allclose(encoding.inv_freq, ladder(2e4, 128), rtol=4e-15)


def test_layers_that_do_not_rotate():
    thin = only("smallthinker", **SHAPE, head_dim=128, rope_layout=[0, 1, 1, 0])
    assert thin.layers == (1, 2)
    assert only("smallthinker", **SHAPE).layers == (0, 1, 2, 3)
    for model_type in ("minimax_text_01", "minimax_m1"):
        encoding = only(model_type, **SHAPE, attn_type_list=[0, 0, 0, 1], rotary_dim=64)
        assert (encoding.layers, encoding.base, encoding.rotary_dim) == ((3,), 1e7, 64)
    assert read_config({"model_type": "minimax_m1", **SHAPE}).encodings == ()


QWEN2 = {"model_type": "qwen2", **SHAPE, "rope_theta": 1e6}


@pytest.mark.parametrize("key", ["llm_config", "language_config"])
def test_parts_under_other_names(key):
    answer = read_config(
        {"model_type": "an_unheard_of_model", key: QWEN2, "vision_config": {"model_type": "unheard_of"}}
    )
    (encoding,) = answer.encodings
    assert (encoding.base, encoding.component) == (1e6, "text")
    assert answer.notes[0] == "unknown: model_type 'an_unheard_of_model'; read part by part"


def test_a_tower_beside_the_text_s_keys():
    tower = {"model_type": "siglip_vision_model", "hidden_size": 64, "image_size": 64, "patch_size": 16}
    answer = read_config({**QWEN2, "model_type": "minicpmv", "vision_config": tower})
    assert [(e.component, e.encoding) for e in answer.encodings] == [("text", "rope"), ("vision", "learned")]


def test_towers_by_patches_are_not_taken_for_text():
    block = {"rope_type": "axial", "rope_theta": 1e4}
    answer = read_config(
        {"model_type": "an_unheard_of_tower", "hidden_size": 64, "num_heads": 4, "rope_parameters": block}
    )
    assert answer.notes == ("not known yet: model_type 'an_unheard_of_tower'",)


def test_mimo_s_own_keys():
    """The released file's spelling; 0.334 of 192 channels are 64."""
    own = {"hidden_size": 4096, "num_attention_heads": 64, "num_hidden_layers": 6, "head_dim": 192, "swa_head_dim": 192}
    keys = {"partial_rotary_factor": 0.334, "rope_theta": 5000000, "hybrid_layer_pattern": [0, 1, 1, 1, 1, 0]}
    values = {"model_type": "mimo_v2_flash", **own, **keys}
    full, sliding = read_config({**values, "swa_rope_theta": 20000}).encodings
    assert [(e.base, e.rotary_dim, e.layers) for e in (full, sliding)] == [(5e6, 64, (0, 5)), (2e4, 64, (1, 2, 3, 4))]
    by_default = read_config({"model_type": "mimo_v2_flash", **own}).encodings
    assert by_default == read_config({**values, "swa_rope_theta": 10000}).encodings
    with pytest.raises(ValueError, match="hybrid_layer_pattern must have one number per layer, 6, got 2"):
        read_config({**values, "hybrid_layer_pattern": [0, 1]})


@pytest.mark.parametrize(("seq_len", "factor", "divisor"), [(None, 1.0, 2.0), (2048, 1.0, 2.0), (2049, 1.19, 8.0)])
def test_phi_3_small_has_divisors_and_attention_factors_by_the_length(seq_len, factor, divisor):
    block = {
        "type": "su",
        "short_factor": [2.0] * 64,
        "long_factor": [8.0] * 64,
        "short_mscale": 1.0,
        "long_mscale": 1.19,
    }
    keys = {**SHAPE, "rope_scaling": {**block, "original_max_position_embeddings": 2048}, "rope_embedding_base": 10000}
    (encoding,) = read_config({"model_type": "phi3small", **keys}, seq_len=seq_len).encodings
    assert encoding.attention_factor == factor
    np.testing.assert_allclose(encoding.inv_freq, np.array(ladder(1e4, 128)) / divisor, rtol=4e-15)
