"""Families that take more than token ids, or that keep their rotation in a part: the class's frequencies, and its apply function.

Which layers rotate is compared where the class has kinds of layers.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from model_peer import SHORT, config_of, frequency_error, inv_freq_of, modeling, rotation_error, torch

from posref.models import RopeEncoding, read_config
from posref.models.part_sizes import KEYS, KEYS_OF, SIZES

pytestmark = pytest.mark.peers

PLAIN = {"hidden_size": 128, "num_attention_heads": 4, "num_hidden_layers": 5}
STRAIGHT = {  # model_type -> what it needs, and the rotary class where there are several
    "blt_global_transformer": {},
    "blt_local_decoder": {},
    "blt_local_encoder": {},
    "blt_patcher": {},
    "chameleon": {},
    "csm_depth_decoder_model": {},
    "deepseek_ocr2_text": {"num_key_value_heads": 4},
    "dia_decoder": {},
    "dia_encoder": {},
    "diffusion_gemma_text": {},
    "glmasr_encoder": {},
    "gpt_neox_japanese": {"rotary_pct": 0.5, "rotary_emb_base": 5000},
    "idefics": {},
    "kyutai_speech_to_text": {},
    "lasr_encoder": {},
    "mimi": {},
    "moonshine": {"decoder_num_hidden_layers": 5, "decoder_num_attention_heads": 4},
    "moonshine_streaming": {"hidden_size": 160},
    "pe_audio_encoder": {"head_dim": 32},
    "pe_audio_video_encoder": {"head_dim": 32},
    "pe_video_encoder": {"head_dim": 32},
    "step3p5": {},
    "t5_gemma_module": {},
    "t5gemma2_decoder": {},
    "t5gemma2_text": {},
    "timesfm2_5": {"head_dim": 32},
    "voxtral_realtime_encoder": {},
    "voxtral_realtime_text": {},
    "xcodec2": {},
    "zaya": {
        "num_key_value_heads": 2,
        "layer_types": ["hybrid", "hybrid_sliding"] * 2 + ["hybrid"],
        "sliding_window": 4,
    },
}
CLASSES = {"deepseek_ocr2_text": "DeepseekOcr2TextRotaryEmbedding", "step3p5": "Step3p7RotaryEmbedding"}
ROTATES_ONE = ("diffusion_gemma_text",)  # apply takes the queries or the keys


def peer(model_type):
    values = {"model_type": model_type, **PLAIN, **STRAIGHT[model_type]}
    config = config_of(values)
    module = modeling_of(config)
    names = [n for n in vars(module) if n.endswith("RotaryEmbedding") and "Vision" not in n]
    (name,) = [CLASSES[model_type]] if model_type in CLASSES else names
    return values, config, module, getattr(module, name)(config)


def modeling_of(config):
    try:
        return modeling(config)
    except ValueError:  # a class that is named after another, which AutoModel does not find
        import importlib

        return importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))


def rotated(model_type, module, rotary, kind, q):
    """Queries, rotated by the class's own function with the class's own tables."""
    kinds = {} if kind is None else {"layer_type": kind}
    cos, sin = rotary(q, torch.as_tensor(SHORT)[None], **kinds)
    if model_type == "gpt_neox_japanese":  # whose attention splits the channels itself
        width = cos.shape[-1]
        return torch.cat([module.apply_rotary_pos_emb(q[..., :width], q[..., :width], cos, sin)[0], q[..., width:]], -1)
    if model_type in ROTATES_ONE:
        return module.apply_rotary_pos_emb(q, cos, sin)
    return module.apply_rotary_pos_emb(q, q, cos, sin)[0]


def kind_of(config, rotary, encoding):
    kinds = getattr(config, "layer_types", None)
    kind = kinds[encoding.layers[0]] if kinds else None
    return kind if kind is not None and hasattr(rotary, f"{kind}_inv_freq") else None


@pytest.mark.parametrize("model_type", STRAIGHT)
def test_frequencies_and_rotation(model_type):
    values, config, module, rotary = peer(model_type)
    encodings = read_config(values).encodings
    assert encodings
    for encoding in encodings:
        kind = kind_of(config, rotary, encoding)
        inv_freq = inv_freq_of(rotary, kind)
        assert frequency_error(encoding, inv_freq) <= 1
        scaling = getattr(rotary, f"{kind}_attention_scaling", None) or rotary.attention_scaling
        assert math.isclose(scaling, encoding.attention_factor, rel_tol=1e-14)
        q = torch.randn(1, 1, len(SHORT), encoding.head_dim, generator=torch.Generator().manual_seed(0))
        there = rotated(model_type, module, rotary, kind, q).double().numpy()
        assert rotation_error(encoding, q.double().numpy(), there, SHORT) <= 1
        other = "half" if encoding.layout == "interleaved" else "interleaved"
        wrong = replace(encoding, layout=other, output_layout=other)
        assert rotation_error(wrong, q.double().numpy(), there, SHORT) > 100


@pytest.mark.parametrize(
    "model_type", [name for name in STRAIGHT if name in ("zaya", "t5gemma2_text", "t5gemma2_decoder")]
)
def test_layers_of_each_kind(model_type):
    values, config, _, _ = peer(model_type)
    for encoding in read_config(values).encodings:
        kinds = {config.layer_types[layer] for layer in encoding.layers}
        assert len(kinds) == 1
        assert encoding.layers == tuple(i for i, kind in enumerate(config.layer_types) if kind in kinds)


def test_step_3_5_by_lists():
    """The released file's spelling: a base per layer, a share per layer, a scaling that is the global layers'."""
    kinds = ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"] * 2
    values = {
        **PLAIN,
        "model_type": "step3p5",
        "num_hidden_layers": 6,
        "num_nextn_predict_layers": 2,
        "layer_types": kinds,
        "sliding_window": 4,
        "head_dim": 32,
        "rope_theta": [5e6, 1e4, 1e4, 1e4] * 2,
        "partial_rotary_factors": [0.5, 1.0, 1.0, 1.0] * 2,
        "rope_scaling": {"rope_type": "llama3", "factor": 2.0, "original_max_position_embeddings": 256}
        | {"low_freq_factor": 1.0, "high_freq_factor": 32.0},
    }
    full, sliding = read_config(values).encodings
    config = config_of(values)
    rotary = modeling_of(config).Step3p7RotaryEmbedding(config)
    for encoding, kind in ((full, "full_attention"), (sliding, "sliding_attention")):
        assert frequency_error(encoding, inv_freq_of(rotary, kind)) <= 1
        assert encoding.layers == tuple(i for i, k in enumerate(kinds[:6]) if k == kind)
    assert (full.encoding, full.rotary_dim, sliding.encoding, sliding.rotary_dim) == ("rope-llama3", 16, "rope", 32)
    with pytest.raises(ValueError, match="rope_theta must have one number per layer, got 1"):
        read_config({**values, "rope_theta": [5e6]})


BLT = ("patcher_config", "encoder_config", "decoder_config", "global_config")


@pytest.mark.parametrize(
    ("model_type", "stacks", "parts"),
    [
        ("blt", BLT, {"patcher": 1e4} | dict.fromkeys(("encoder", "decoder", "global"), 5e5)),
        ("dia", ("encoder_config", "decoder_config"), {"encoder": 1e4, "decoder": 1e4}),
        ("t5gemma", ("encoder", "decoder"), {"encoder": 1e4, "decoder": 1e4}),
        ("csm", ("depth_decoder_config", "codec_config"), {None: 5e5, "depth decoder": 5e5, "codec": 1e4}),
        ("kyutai_speech_to_text", ("codec_config",), {None: 1e4, "codec": 1e4}),
    ],
)  # fmt: skip
def test_stacks(model_type, stacks, parts):
    """Each stack by its own keys; one that is not in the file has a note."""
    whole = config_of({"model_type": model_type, **PLAIN}).to_dict()
    given = {key: {k: v for k, v in whole[key].items() if not isinstance(v, dict)} for key in stacks}
    answer = read_config({"model_type": model_type, **PLAIN, **given})
    assert {e.part: e.base for e in answer.encodings if isinstance(e, RopeEncoding)} == parts
    assert all(
        e.layers == tuple(range(given[key]["num_hidden_layers"]))
        for key, e in zip(reversed(stacks), reversed(answer.encodings), strict=False)
    )
    absent = read_config({"model_type": model_type, **PLAIN})
    assert sum(note.startswith("unknown: ") and stacks[-1] in note for note in absent.notes) == 1
    assert np.all([e.part not in parts or e.part is None for e in absent.encodings])


DBRX = {"model_type": "dbrx", "d_model": 128, "n_heads": 4, "n_layers": 3, "max_seq_len": 64}
DBRX_ATTENTION = {"attn_config": {"clip_qkv": 8, "kv_n_heads": 2, "rope_theta": 500000}}


def dbrx_error(values):
    (encoding,) = read_config(values).encodings
    config = config_of(values)
    return frequency_error(encoding, inv_freq_of(modeling(config).DbrxRotaryEmbedding(config)))


def test_dbrx():
    assert dbrx_error(DBRX) <= 1
    assert dbrx_error({**DBRX, "rope_theta": 20000.0}) <= 1
    (encoding,) = read_config({**DBRX, **DBRX_ATTENTION}).encodings
    assert (encoding.base, encoding.layers, encoding.head_dim, encoding.max_position_embeddings) == (
        5e5,
        (0, 1, 2),
        32,
        64,
    )


@pytest.mark.xfail(
    reason="transformers 5.24: its class does not look at attn_config.rope_theta, DBRX's own place for the base"
)
def test_dbrx_s_own_place_for_the_base():
    assert dbrx_error({**DBRX, **DBRX_ATTENTION}) <= 1


@pytest.mark.parametrize("model_type", SIZES)
def test_sizes_that_a_part_leaves_out(model_type):
    config = config_of({"model_type": model_type})
    assert SIZES[model_type] == tuple(getattr(config, key) for key in KEYS_OF.get(model_type, KEYS))


def test_a_llava_as_it_was_saved():
    """Its text part has what differs from Llama's class, and nothing else."""
    text = {"model_type": "llama", "max_position_embeddings": 4096, "rms_norm_eps": 1e-05, "vocab_size": 32064}
    answer = read_config(
        {"model_type": "llava", "text_config": text, "vision_config": {"model_type": "clip_vision_model"}}
    )
    rope = answer.encodings[0]
    assert (rope.head_dim, rope.layers, rope.max_position_embeddings) == (128, tuple(range(32)), 4096)
    assert "defaulted: text_config.hidden_size is absent, transformers' default is 4096" in answer.notes
    alone = read_config(text)
    assert alone.encodings[0].inv_freq is None
