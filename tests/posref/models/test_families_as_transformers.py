"""Each family that rotates, against transformers' class for it: which layers rotate, how, by which frequencies, by default."""

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
    config_of,
    frequency_error,
    inv_freq_of,
    query_scale,
    rotary_class,
    rotation_error,
    small,
    torch,
    transformers,
)

from posref.models import (
    READERS,
    QueryScaleEncoding,
    RopeEncoding,
    composite,
    patches,
    pictures,
    read_config,
    shape,
    sound,
    vision,
)

pytestmark = pytest.mark.peers

ELSEWHERE = {
    "falcon": "its attention does not go through the common interface; compared in test_rope_as_transformers",
    "kimi_k2": "transformers knows it under Kimi K2.5 only, and rewrites it to deepseek_v3",
    "roformer": "its attention does not go through the common interface; compared below",
    "recurrent_gemma": "its recurrent layers start anew at position 0, so that inputs differ; compared below",
}


ELSEWHERE |= dict.fromkeys(
    (
        *("blt_global_transformer", "blt_local_decoder", "blt_local_encoder", "blt_patcher", "chameleon"),
        *("csm_depth_decoder_model", "deepseek_ocr2_text", "dia_decoder", "dia_encoder", "diffusion_gemma_text"),
        *(
            "gpt_neox_japanese",
            "kyutai_speech_to_text",
            "moonshine",
            "moonshine_streaming",
            "step3p5",
            "t5_gemma_module",
        ),
        *("dbrx", "t5gemma2_decoder", "t5gemma2_text", "voxtral_realtime_text", "zaya"),
    ),
    "takes more than token ids, or has no model of its own; compared in test_stacks_as_transformers",
)


def rotary(name):
    answer = read_config(small(name))
    return any(isinstance(e, RopeEncoding) and e.component == "text" for e in answer.encodings)


def mine(name):
    towers = {**vision.FAMILIES, **patches.FAMILIES, **pictures.FAMILIES}
    others = {**composite.FAMILIES, **towers, **sound.FAMILIES}
    return name in transformers.CONFIG_MAPPING and name not in ELSEWHERE and name not in others


ROTARY = [name for name in sorted(READERS) if mine(name) and rotary(name)]


def rotations(values, **options):
    return [e for e in read_config(values, **options).encodings if isinstance(e, RopeEncoding) and e.part != "indexer"]


@pytest.mark.parametrize("model_type", ROTARY)
def test_every_family(model_type):
    values = small(model_type)
    encodings = read_config(values).encodings
    assert_same_rotations(encodings, build(values), SHORT)


AXES = [name for name in ROTARY if any(getattr(e, "axes", None) for e in read_config(small(name)).encodings)]


def kinds_of(config, encoding):
    """The kind of layer that an encoding is of, where the class has frequencies per kind."""
    if encoding.layers and hasattr(config, "layer_types") and config.layer_types:
        return config.layer_types[encoding.layers[0]]
    return None


UNTOLD = {  # what a file must tell for the class to have frequencies at all
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_hidden_layers": 2},
    "bamba": {"attn_layer_indices": [0], "mamba_n_heads": 4},
    "granitemoehybrid": {"position_embedding_type": "rope", "layer_types": ["attention"], "num_hidden_layers": 1}
    | {"mamba_n_heads": 4},
    "bailing_hybrid": {"num_hidden_layers": 6},
    "hunyuan_vl_text": {"rope_parameters": {"rope_type": "default", "mrope_section": [10, 10, 10, 10]}},
    "longcat_flash": {"num_layers": 2},
    "lara_mini": {"num_key_value_heads": 2},
}
# for the pairs of a head that is not the usual one
SECTIONS = {name: {"mrope_section": [10, 15, 15]} for name in AXES}
SECTIONS |= {
    name: {"mrope_section": [24, 20, 20]} for name in ("qwen3_vl_text", "paddleocr_vl_text", "cosmos3_edge_text")
}
SECTIONS |= {name: {"mrope_section": [11, 11, 10]} for name in ("qwen3_5_text", "qwen3_5_moe_text")}
SECTIONS |= {"glm4v_moe_text": {"mrope_section": [6, 7, 7]}}
SORTED = {
    "esm": "its class does not keep a rope block",
    "evolla": "it has the protein encoder's rotary class, too; what attention gets is compared above",
    "deepseek_v4": "its kinds of rotation are not its kinds of layers",
    "ernie4_5_vl_moe_text": "its buffer is in the order of its sections; what attention gets is compared above",
}


@pytest.mark.parametrize("model_type", [name for name in ROTARY if name not in ("gptj", "codegen", *SORTED)])
def test_the_defaults_of_every_family(model_type):
    """Base, head_dim, rope block: what the class has when the file has nothing but the width."""
    values = {"model_type": model_type, "hidden_size": 160, "num_attention_heads": 2, "num_hidden_layers": 8}
    values |= UNTOLD.get(model_type, {})
    if model_type in AXES:
        values["rope_parameters"] = values.get("rope_parameters", {"rope_type": "default"} | SECTIONS[model_type])
    encodings = rotations(values)
    config = config_of(values)
    rotary = rotary_class(config)(config)
    assert encodings
    for encoding in encodings:
        kind = kinds_of(config, encoding)
        parameters = config.rope_parameters.get(kind, config.rope_parameters)
        assert parameters["rope_theta"] == encoding.base
        assert frequency_error(encoding, inv_freq_of(rotary, kind)) <= 1
        scaling = getattr(rotary, f"{kind}_attention_scaling", None) or rotary.attention_scaling
        assert math.isclose(scaling, encoding.attention_factor, rel_tol=1e-14)


TEXT = np.array(
    [[0, 1, 2, 2, 2, 2, 5], [0, 1, 2, 2, 3, 3, 5], [0, 1, 2, 3, 2, 3, 5]]
)  # two tokens, 2 x 2 patches, one token


@pytest.mark.parametrize("model_type", AXES)
def test_the_axes_of_every_family(model_type):
    """Time, height and width in the order that the class takes them; the map of our record is by name."""
    values = small(model_type)
    (encoding,) = read_config(values).encodings
    model = build(values)
    order = ("position", "width", "height", "time") if "hunyuan" in model_type else ("time", "height", "width")
    given = np.stack([np.arange(TEXT.shape[1]), *TEXT[::-1]]) if len(order) == 4 else TEXT
    ours = given[[order.index(name) for name in encoding.axes.names]]
    zero, moved = attention_inputs(model, np.zeros_like(given)), attention_inputs(model, given)
    for (_, q0, k0, _), (_, q, k, _) in zip(zero, moved, strict=True):
        assert rotation_error(encoding, q0, q, ours) <= 1
        assert rotation_error(encoding, k0, k, ours) <= 1
    swapped = ours[[0, 2, 1]] if len(ours) == 3 else ours[[0, 2, 1, 3]]
    assert rotation_error(encoding, zero[0][1], moved[0][1], swapped) > 100


TEMPERED = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4, "llama_4_scaling_beta": 0.3}


@pytest.mark.parametrize("model_type", ["ministral3", "mistral4"])
def test_queries_that_grow_with_their_position(model_type):
    values = small(model_type, rope_parameters={**TEMPERED, "rope_theta": 1e4}, max_position_embeddings=16)
    encodings = read_config(values).encodings
    scale = next(e for e in encodings if isinstance(e, QueryScaleEncoding))
    assert (scale.beta, scale.length, scale.shift, scale.layers) == (0.3, 4, 0, (0, 1, 2, 3, 4))
    assert_same_rotations(encodings, build(values), SHORT)
    with pytest.raises(AssertionError):
        assert_same_rotations([e for e in encodings if e is not scale], build(values), SHORT)


def test_queries_that_grow_where_nothing_rotates():
    """Llama 4 counts from 1, and does not look at the positions that it is given."""
    values = small("llama4_text", floor_scale=4, attn_scale=0.3)
    scale = next(e for e in read_config(values).encodings if isinstance(e, QueryScaleEncoding))
    positions = np.arange(12)
    cold = attention_inputs(build({**values, "attn_temperature_tuning": False}), positions)
    for (layer, plain, *_), (_, q, *_) in zip(cold, attention_inputs(build(values), positions), strict=True):
        wanted = plain * (query_scale([scale], positions) if layer in scale.layers else 1.0)
        assert np.abs(q - wanted).max() <= 8 * U * np.abs(wanted).max()
    assert scale.layers == (3,)
    assert read_config({**values, "attn_temperature_tuning": False}).encodings[1:] == ()


@pytest.mark.parametrize(("number", "tuned"), [(4, True), (1, True), (0, False)])
def test_llama_4_as_it_was_published(number, tuned):
    """Scout's and Maverick's files have attn_temperature_tuning 4, and the model's code asks whether it is true."""
    values = small("llama4_text", floor_scale=4, attn_scale=0.3)
    answer = read_config({**values, "attn_temperature_tuning": number})
    assert answer.encodings == read_config({**values, "attn_temperature_tuning": tuned}).encodings
    assert [e.encoding for e in answer.encodings[1:]] == ["llama4-temperature"] * tuned
    assert f"unusual: attn_temperature_tuning is {number}, a number; any but 0 is read as true" in answer.notes
    with pytest.raises(TypeError, match="attn_temperature_tuning must be true or false, got '4'"):
        read_config({**values, "attn_temperature_tuning": "4"})


@pytest.mark.parametrize("theta", [{}, {"rope_theta": 25000.0}])
def test_fuyu_s_text_beside_the_rest(theta):
    """Adept's file has no text_config; transformers' class makes it of the keys beside."""
    values = {"model_type": "fuyu", "hidden_size": 128, "num_attention_heads": 4, "num_hidden_layers": 3, **theta}
    text = config_of(values).text_config
    (encoding,) = read_config(values).encodings
    assert frequency_error(encoding, inv_freq_of(rotary_class(text)(text))) <= 1
    assert (encoding.layers, encoding.head_dim, encoding.rotary_dim) == ((0, 1, 2), 32, 16)
    assert encoding.base == text.rope_parameters["rope_theta"]


def test_roformer():
    from transformers.models.roformer.modeling_roformer import (
        RoFormerSelfAttention,
        RoFormerSinusoidalPositionalEmbedding,
    )

    (encoding,) = read_config({"model_type": "roformer", "hidden_size": 64, "num_attention_heads": 2}).encodings
    table = RoFormerSinusoidalPositionalEmbedding(20, 32)
    sines = torch.as_tensor(table.create_weight())[SHORT][None, None]
    q = torch.randn(1, 2, len(SHORT), 32, generator=torch.Generator().manual_seed(0))
    rotated, _ = RoFormerSelfAttention.apply_rotary_position_embeddings(sines, q, q)
    assert rotation_error(encoding, q.double().numpy(), rotated.double().numpy(), SHORT) <= 1


def test_recurrent_gemma():
    from transformers.models.recurrent_gemma import modeling_recurrent_gemma as module

    values = small("recurrent_gemma")
    (encoding,) = read_config(values).encodings
    config = config_of(values)
    kinds = config.layer_types
    assert encoding.layers == tuple(i for i, kind in enumerate(kinds) if kind == "sliding_attention")
    rotary = rotary_class(config)(config)
    q = torch.randn(1, 1, len(SHORT), encoding.head_dim, generator=torch.Generator().manual_seed(0))
    rotated, _ = module.apply_rotary_pos_emb(q, q, *rotary(q, torch.as_tensor(SHORT)[None]))
    assert frequency_error(encoding, inv_freq_of(rotary)) <= 1
    assert rotation_error(encoding, q.double().numpy(), rotated.double().numpy(), SHORT) <= 1
    assert config.head_dim == encoding.head_dim


WITHOUT = {
    "jamba": {"attn_layer_period": 3, "attn_layer_offset": 0, "use_mamba_kernels": False, "mamba_d_state": 4},
    "nemotron_h": {"hybrid_override_pattern": "*M-*M", "mamba_num_heads": 8, "mamba_head_dim": 16, "n_groups": 1},
    "kimi_linear": {
        "linear_attn_config": {"full_attn_layers": [1, 3], "kda_layers": [2, 4, 5], "head_dim": 16, "num_heads": 2}
    },
}


@pytest.mark.parametrize("model_type", WITHOUT)
def test_models_without_positions(model_type):
    values = small(model_type, **WITHOUT[model_type])
    answer = read_config(values)
    assert answer.encodings == ()
    assert any(note.startswith("nope: ") for note in answer.notes)
    model = build(values)
    zero, moved = attention_inputs(model, np.zeros_like(SHORT)), attention_inputs(model, SHORT)
    attending = {layer for layer, *_ in zero}
    assert attending
    assert shape.runs(sorted(attending)) in " ".join(answer.notes)
    (layer, q0, k0, _), (_, q, k, _) = zero[0], moved[0]
    assert layer == 0  # later ones come after recurrent layers, which start anew at position 0
    assert np.array_equal(q0, q)
    assert np.array_equal(k0, k)
