"""Encoders of sound and video, and the models that they are parts of."""

from __future__ import annotations

import numpy as np
import pytest

from posref.models import read_config
from posref.models.sound import FAMILIES, SIZES, Tower

TEXT = {"hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 2048}


@pytest.mark.peers
@pytest.mark.parametrize("model_type", [name for name, reader in FAMILIES.items() if isinstance(reader, Tower)])
def test_the_defaults_are_the_class_s(model_type):
    transformers = pytest.importorskip("transformers", reason="needs the peers extra (transformers)")
    config = transformers.CONFIG_MAPPING[model_type]()
    sizes = FAMILIES[model_type].sizes
    assert [getattr(config, key) for key in SIZES[: len(sizes)]] == list(sizes)


def test_whisper_s_names():
    (encoding,) = read_config({"model_type": "voxtral_realtime_encoder", "encoder_layers": 3}).encodings
    assert (encoding.component, encoding.layers, encoding.head_dim) == ("audio", (0, 1, 2), 64)


@pytest.mark.parametrize(
    ("model_type", "parts"),
    [
        ("glmasr", {"text_config": {**TEXT, "model_type": "llama"}, "audio_config": {"num_hidden_layers": 2}}),
        ("musicflamingo", {"text_config": {**TEXT, "model_type": "qwen2"}, "audio_config": {"d_model": 64}}),
        ("pe_audio", {"text_config": TEXT, "audio_config": {"num_hidden_layers": 2}}),
        ("voxtral_realtime", {"text_config": TEXT, "audio_config": {"encoder_layers": 2}}),
    ],
)
def test_models_of_text_and_sound(model_type, parts):
    answer = read_config({"model_type": model_type, **parts})
    assert {e.component for e in answer.encodings} == {"text", "audio"}


def test_stacks_of_clvp():
    keys = {"text_config": {"use_rotary_embedding": False}, "speech_config": {"projection_dim": 1536}}
    answer = read_config({"model_type": "clvp", **keys, "decoder_config": {"max_position_embeddings": 608}})
    speech, decoder = answer.encodings
    assert (speech.part, speech.head_dim, speech.rotary_dim) == ("speech encoder", 64, 64)  # 1536 / 12 / 2
    np.testing.assert_allclose(speech.inv_freq, [1e4 ** (-i / 32) for i in range(32)], rtol=4e-15)
    assert (decoder.part, decoder.rows) == ("decoder", 608)
    assert any(note.startswith("nope: text_config.use_rotary_embedding") for note in answer.notes)
    (small,) = read_config({"model_type": "clvp_encoder", "projection_dim": 240}).encodings
    assert small.rotary_dim == 32  # 10 per head would be too few


def test_idefics_has_two_parts():
    tower = {"embed_dim": 1280, "image_size": 224, "patch_size": 14}
    text, vision = read_config({"model_type": "idefics", **TEXT, "vision_config": tower}).encodings
    assert (text.head_dim, vision.rows, vision.dim, vision.resampling) == (128, 257, 1280, "bicubic")


def test_xcodec_2_turns_by_the_head():
    answer = read_config({"model_type": "xcodec2", "semantic_model_config": {"position_embeddings_type": "relative"}})
    assert any("the position is the index of the head" in note for note in answer.notes)
    assert answer.encodings[0].component == "audio"


def test_parakeet_s_encoder_is_a_part():
    (encoding,) = read_config({"model_type": "parakeet_ctc", "encoder_config": {"num_hidden_layers": 2}}).encodings
    assert (encoding.encoding, encoding.part, encoding.layers, encoding.dim) == (
        "transformer-xl",
        "encoder",
        (0, 1),
        1024,
    )
