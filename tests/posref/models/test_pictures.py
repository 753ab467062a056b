"""Tables of videos, spectrograms and tiles, and models that have them as parts: their classes' shapes, and sums by hand."""

from __future__ import annotations

import numpy as np
import pytest

from posref import rope_apply
from posref.models import LearnedEncoding, SinusoidalEncoding, read_config
from posref.models.arrays import Untold, arrays_of
from posref.rotary.axes import rope_axes_cos_sin
from posref.rotary.channelwise import rope_apply_channels

SHAPE = {"hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 2048}
TABLES = ("audio-spectrogram-transformer", "mllama_vision_model", "vilt", "vit_mae", "vivit", "yolos")


def by_default(model_type):
    peer = pytest.importorskip("model_peer", reason="needs the peers extra (transformers)")
    config = peer.config_of({"model_type": model_type})
    with peer.torch.device("meta"):
        if type(config) in peer.transformers.AutoModel._model_mapping:
            return peer.transformers.AutoModel.from_config(config)
        return peer.modeling(config).MllamaVisionModel._from_config(config)


@pytest.mark.peers
@pytest.mark.parametrize("model_type", TABLES)
def test_the_defaults_are_the_class_s(model_type):
    answer = read_config(
        {"model_type": model_type, **({"max_position_embeddings": 40} if model_type == "vilt" else {})}
    )
    shapes = {tuple(p.shape) for n, p in by_default(model_type).named_parameters() if "position" in n}
    tables = [e for e in answer.encodings if getattr(e, "stack", None) != "decoder" and e.component != "text"]
    assert tables
    for table in tables:
        assert shapes & {(table.rows, table.dim), (1, table.rows, table.dim)}


@pytest.mark.peers
def test_videomae_s_sinusoids_are_the_class_s():
    peer = pytest.importorskip("model_peer", reason="needs the peers extra (transformers)")
    (table,) = read_config({"model_type": "videomae"}).encodings
    config = peer.config_of({"model_type": "videomae"})
    theirs = peer.modeling(config).get_sinusoid_encoding_table(table.rows, table.dim)[0].double().numpy()
    at = np.array([0, 1, 700, 1567])
    np.testing.assert_allclose(arrays_of(table, at)["table"], theirs[at], atol=2.0**-24, rtol=0)  # rounded to float32


@pytest.mark.peers
def test_v_jepa_2_turns_as_its_class_does():
    peer = pytest.importorskip("model_peer", reason="needs the peers extra (transformers)")
    torch = peer.torch
    encodings = read_config({"model_type": "vjepa2"}).encodings
    module = peer.modeling(peer.config_of({"model_type": "vjepa2"}))
    x = torch.randn(1, 1, 5, encodings[0].rotary_dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    positions = np.array([0, 1, 2, 7, 15])
    theirs = module.rotate_queries_or_keys(x, torch.as_tensor(positions, dtype=torch.float64)[None, None]).numpy()
    tables = arrays_of(encodings[1], positions)
    ours = rope_apply_channels(x.numpy(), tables["cos"], tables["sin"], layout="interleaved")
    np.testing.assert_allclose(ours, theirs, atol=1e-13, rtol=0)  # float64 on both sides, angles up to 15
    encoder, predictor = encodings[:3], encodings[3:]
    assert [e.offset for e in encoder] == [0, 20, 40]  # 64 // 3 // 2 = 10 pairs per axis, 4 channels are left
    assert {e.part for e in predictor} == {"predictor"}
    assert [e.axes.names for e in encoder] == [("time",), ("height",), ("width",)]


def test_mae_has_no_table_by_one_position():
    encoder, decoder = read_config({"model_type": "vit_mae"}).encodings
    assert (encoder.encoding, encoder.rows, decoder.dim) == ("sinusoidal-axes", 197, 512)
    with pytest.raises(Untold, match="several axes"):
        arrays_of(encoder, np.arange(3))


def test_counts_of_cells():
    (video,) = read_config({"model_type": "videomae", "num_frames": 8, "image_size": 32}).encodings
    assert video.rows == 4 * 2 * 2
    (vivit,) = read_config(
        {"model_type": "vivit", "num_frames": 8, "tubelet_size": [4, 16, 8], "image_size": 32}
    ).encodings
    assert vivit.rows == 2 * 2 * 4 + 1
    (sound,) = read_config({"model_type": "audio-spectrogram-transformer", "max_length": 36}).encodings
    assert (sound.component, sound.grid, sound.rows, sound.offset) == ("audio", (12, 3), 38, 2)
    with pytest.raises(ValueError, match="patch_size must be at most"):
        read_config({"model_type": "audio-spectrogram-transformer", "patch_size": 2000})
    with pytest.raises(ValueError, match="tubelet_size must be three numbers, got 2"):
        read_config({"model_type": "vivit", "tubelet_size": [2, 2]})


def test_texts_with_tables():
    (axial,) = read_config({"model_type": "reformer", "axial_pos_shape": [128, 512], "hidden_size": 256}).encodings
    assert (axial.rows, axial.dim) == (65536, 256)
    (plain,) = read_config({"model_type": "reformer", "axial_pos_embds": False, **SHAPE}).encodings
    assert plain.rows == 2048
    (canine,) = read_config({"model_type": "canine", "num_hash_buckets": 16384, "hidden_size": 768}).encodings
    assert canine.rows == 16384
    assert any("anew" in note for note in read_config({"model_type": "tapas", **SHAPE}).notes)
    encoder, decoder = read_config({"model_type": "prophetnet", **SHAPE, "pad_token_id": 0}).encodings
    assert (encoder.stack, encoder.offset, decoder.stack) == ("encoder", 1, "decoder")


def test_sound_after_text():
    t5 = {"model_type": "t5", "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}
    parts = {"text_encoder": t5, "audio_encoder": {"model_type": "encodec"}, "decoder": {"hidden_size": 64}}
    text, sound = read_config({"model_type": "musicgen", **parts}).encodings
    assert (text.part, text.stack, text.layers) == ("text encoder", "encoder", (0, 1))
    assert isinstance(sound, SinusoidalEncoding)
    assert (sound.component, sound.part, sound.order) == ("audio", "decoder", "cos_sin")
    turning = {**SHAPE, "rope_embeddings": True, "rope_theta": 1e4}
    _, rope = read_config({"model_type": "parler_tts", **parts, "decoder": turning}).encodings
    assert (rope.encoding, rope.component) == ("rope", "audio")
    bark = {"semantic_config": {"block_size": 1024, "hidden_size": 768}}
    (table,) = read_config({"model_type": "bark", **bark}).encodings
    assert (table.rows, table.component, table.part) == (1024, "audio", "semantic")


def test_rag_and_sam_are_made_of_others():
    asks, answers = {"model_type": "dpr", **SHAPE}, {"model_type": "bart", "d_model": 64, "max_position_embeddings": 32}
    encodings = read_config({"model_type": "rag", "question_encoder": asks, "generator": answers}).encodings
    assert [e.part for e in encodings] == ["question encoder", "generator", "generator"]
    table, *tables = read_config({"model_type": "sam", "vision_config": {"num_hidden_layers": 3}}).encodings
    assert isinstance(table, LearnedEncoding)
    assert [e.layers for e in tables] == [(2,), (0, 1)]


def test_a_deepseek_v2_without_latent_attention():
    keys = {**SHAPE, "use_mla": False, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0}
    (encoding,) = read_config({"model_type": "deepseek_v2", **keys}).encodings
    assert (encoding.part, encoding.head_dim, encoding.layout) == (None, 128, "half")
    (unnamed,) = read_config(keys).encodings
    assert unnamed == encoding


@pytest.mark.peers
def test_sam_3_turns_as_its_class_does():
    """float32 angles of positions up to 23: of u each, and of the tables' and products' roundings."""
    peer = pytest.importorskip("model_peer", reason="needs the peers extra (transformers)")
    local, everywhere, table = read_config({"model_type": "sam3_vit_model"}).encodings
    assert (everywhere.layers, len(local.layers), table.rows) == ((7, 15, 23, 31), 28, 576)
    assert everywhere.axes.positions == "the patch's times 24/72"
    config = peer.config_of({"model_type": "sam3_vit_model"})
    module = peer.modeling(config)
    at = np.array([[0, 1, 5, 23], [3, 0, 7, 11]])  # columns, rows
    q = peer.torch.randn(1, 1, 4, 64, generator=peer.torch.Generator().manual_seed(0))
    cos, sin = module.Sam3ViTRotaryEmbedding(config)(q, peer.torch.as_tensor(at.T.copy()))
    theirs = module.apply_rotary_pos_emb_2d(q, q, cos, sin)[0].double().numpy()
    tables = rope_axes_cos_sin(at, np.asarray(local.inv_freq), np.asarray(local.axes.map))
    ours = rope_apply(q.double().numpy(), *tables, layout=local.layout)
    bound = 2 * np.abs(q.numpy()).max() * 2.0**-24 * (23 * (8 + np.log(1e4)) + 8)
    assert np.abs(ours - theirs).max() <= bound
    swapped = rope_axes_cos_sin(at[::-1], np.asarray(local.inv_freq), np.asarray(local.axes.map))
    assert np.abs(rope_apply(q.double().numpy(), *swapped, layout=local.layout) - theirs).max() > 100 * bound


def test_towers_within_towers():
    vit = {"num_hidden_layers": 2, "global_attn_indexes": [1], "image_size": 112, "window_size": 4}
    tower = {"model_type": "sam3_vision_model", "backbone_config": vit}
    local, everywhere, table = read_config({"model_type": "sam3", "vision_config": tower}).encodings
    assert (local.layers, everywhere.layers, table.component) == ((0,), (1,), "vision")
    assert everywhere.axes.positions == "the patch's times 4/8"
    tower = {"backbone_config": {"hidden_size": 112, "window_size_per_stage": [8, 4, 16, 8]}}
    whole, window = read_config({"model_type": "sam2", "vision_config": tower}).encodings
    assert [(e.rows, e.dim) for e in (whole, window)] == [(49, 112), (64, 112)]
    empty = {"model_type": "sam2_hiera_det_model", "window_positional_embedding_background_size": []}
    assert read_config(empty).encodings[0].rows == 49
