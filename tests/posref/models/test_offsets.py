"""Logits by the offset of patches, frames or tokens: the shapes of the classes' tables, and what goes into them."""

from __future__ import annotations

import numpy as np
import pytest

from posref.models import LearnedEncoding, RelativeEncoding, T5Encoding, read_config
from posref.models.arrays import arrays_of

STAGES = {"embed_dim": 12, "num_heads": [1, 2], "depths": [2, 1], "image_size": 32, "window_size": 4}
SHAPE = {"hidden_size": 48, "num_attention_heads": 4, "num_hidden_layers": 3}
SQUARE = {**SHAPE, "image_size": 64, "patch_size": 16}
CASES = {  # what needs to be small, and the names of the parameters
    "beit": ({**SQUARE, "use_relative_position_bias": True}, ".relative_position_bias_table"),
    "data2vec-vision": ({**SQUARE, "use_shared_relative_position_bias": True}, ".relative_position_bias_table"),
    "donut-swin": (STAGES, ".relative_position_bias_table"),
    "maskformer-swin": (STAGES, ".relative_position_bias_table"),
    "sam_hq_vision_model": ({**SQUARE, "window_size": 2, "global_attn_indexes": [1]}, "rel_pos_h"),
    "sam_vision_model": ({**SQUARE, "window_size": 2, "global_attn_indexes": [1]}, "rel_pos_h"),
    "swin": (STAGES, ".relative_position_bias_table"),
    "vitdet": (
        {**SQUARE, "use_relative_position_embeddings": True, "window_size": 2, "window_block_indices": [0, 2]},
        "rel_pos_h",
    ),
    "wav2vec2-bert": ({**SHAPE, "position_embeddings_type": "relative_key"}, "distance_embedding.weight"),
}


def parts(encodings, kind):
    return [e for e in encodings if isinstance(e, kind)]


def model_of(model_type, values):
    peer = pytest.importorskip("model_peer", reason="needs the peers extra (transformers)")
    config = peer.config_of({"model_type": model_type, **values})
    with peer.torch.device("meta"):
        if type(config) in peer.transformers.AutoModel._model_mapping:
            return peer.transformers.AutoModel.from_config(config)
        classes = vars(peer.modeling(config)).values()
        own = [c for c in classes if isinstance(c, type) and getattr(c, "config_class", None) is type(config)]
        (found,) = [c for c in own if c.__name__.endswith(("Model", "Encoder"))][:1]
        return found._from_config(config)


@pytest.mark.peers
@pytest.mark.parametrize("model_type", CASES)
def test_tables_have_the_shapes_of_the_class_s(model_type):
    values, name = CASES[model_type]
    encodings = parts(read_config({"model_type": model_type, **values}).encodings, RelativeEncoding)
    shapes = [tuple(p.shape) for n, p in model_of(model_type, values).named_parameters() if f".{n}".endswith(name)]
    copies = [(e.rows, e.dim) for e in encodings for _ in ([0] if e.shared else e.layers)]
    assert sorted(shapes) == sorted(copies) != []


@pytest.mark.peers
def test_swin_s_rows_are_the_class_s():
    peer = pytest.importorskip("model_peer", reason="needs the peers extra (transformers)")
    (first, _) = read_config({"model_type": "swin", **STAGES}).encodings
    config = peer.config_of({"model_type": "swin", **STAGES})
    table = peer.modeling(config).SwinRelativePositionBias(1, (4, 4))
    theirs = next(v for v in vars(table).get("_buffers", {}).values() if v.dtype == peer.torch.int64).numpy()
    np.testing.assert_array_equal(arrays_of(first, np.arange(1))["row"].ravel(), theirs.ravel())


@pytest.mark.peers
@pytest.mark.parametrize("trained", [0, 6])
def test_swin_v2_s_offsets_are_the_class_s(trained):
    """What goes into the network: float32 there, whose logarithms and quotients err by some u each."""
    peer = pytest.importorskip("model_peer", reason="needs the peers extra (transformers)")
    values = {**STAGES, "pretrained_window_sizes": [trained, trained]}
    first, second = read_config({"model_type": "swinv2", **values}).encodings
    assert (first.window, second.window) == ((4, 4), (4, 4))
    config = peer.config_of({"model_type": "swinv2", **values})
    layer = peer.modeling(config).Swinv2SelfAttention(config, 12, 1, 4, [trained, trained])
    ours = arrays_of(first, np.arange(1))["offset"]
    theirs = layer.relative_coords_table.double().numpy().reshape(-1, 2)
    np.testing.assert_allclose(ours, theirs, atol=8 * 2.0**-24, rtol=0)
    assert np.abs(ours - theirs[:, ::-1]).max() > 0.1


def test_swin_v2_s_windows_are_no_larger_than_the_image():
    *_, last = read_config({"model_type": "swinv2", "image_size": 256, "window_size": 16}).encodings
    assert (last.window, last.rows) == ((8, 8), None)  # 256 / 4 / 2^3


def test_layers_of_stages():
    encodings = read_config({"model_type": "swin"}).encodings
    assert [(e.layers[0], e.layers[-1], e.num_heads) for e in encodings] == [
        (0, 1, 3),
        (2, 3, 6),
        (4, 9, 12),
        (10, 11, 24),
    ]
    assert {e.rows for e in encodings} == {169}  # 13 x 13 offsets in windows of 7
    with pytest.raises(ValueError, match="num_heads must have one number per stage, 2, got 4"):
        read_config({"model_type": "swin", "depths": [2, 2]})


@pytest.mark.parametrize(
    ("window", "image", "kind"),
    [(7, 224, "window-bias"), (12, 384, "window-bias"), (8, 256, "swin-v2"), (24, 384, "swin-v2"), (5, 80, None)],
)
def test_swin_without_a_type(window, image, kind):
    keys = {"window_size": window, "image_size": image, "depths": [2], "num_heads": [3], "embed_dim": 96}
    answer = read_config(keys)
    assert [e.encoding for e in answer.encodings] == ([kind] if kind else [])
    (named,) = read_config({**keys, "pretrained_window_sizes": [6]}).encodings
    assert (named.encoding, named.pretrained_window) == ("swin-v2", (6, 6))


def test_beit_may_have_a_table_of_patches_or_nothing():
    (table,) = read_config({"model_type": "beit", "use_absolute_position_embeddings": True}).encodings
    assert isinstance(table, LearnedEncoding)
    assert table.rows == 197
    answer = read_config({"model_type": "beit"})
    assert answer.encodings == ()
    assert any(note.startswith("nope: ") for note in answer.notes)
    (shared,) = read_config({"model_type": "beit", "use_shared_relative_position_bias": True}).encodings
    assert (shared.shared, shared.rows, shared.class_token) == (True, 27 * 27 + 3, True)
    assert arrays_of(shared, np.arange(1))["row"].max() == 731


def test_rows_of_clipped_distances():
    keys = {
        "model_type": "wav2vec2-bert",
        **SHAPE,
        "left_max_position_embeddings": 2,
        "right_max_position_embeddings": 1,
    }
    (encoding,) = read_config(keys).encodings
    relative = np.array([-5, -2, -1, 0, 1, 5])  # k - q
    np.testing.assert_array_equal(arrays_of(encoding, relative)["row"], [0, 0, 1, 2, 3, 3])
    speech, *_ = read_config({"model_type": "speecht5", "encoder_max_relative_position": 2}).encodings
    np.testing.assert_array_equal(arrays_of(speech, relative)["row"], [3, 3, 3, 2, 1, 0])  # by q - k, from -2 to 1


@pytest.mark.parametrize(
    ("model_type", "keys", "layout"),
    [
        ("xlnet", {"d_model": 8, "n_head": 2, "n_layer": 2}, "concatenated"),
        ("parakeet_encoder", {"hidden_size": 8}, "interleaved"),
        ("wav2vec2-conformer", {**SHAPE, "hidden_size": 8}, "interleaved"),
    ],
)
def test_sinusoids_of_the_distance(model_type, keys, layout):
    (encoding,) = read_config({"model_type": model_type, **keys}).encodings
    table = arrays_of(encoding, np.array([-1, 3]))["table"]
    angles = np.array([-1, 3])[:, None] * 1e4 ** (-np.arange(4) / 4)
    parts = [np.sin(angles), np.cos(angles)]
    wanted = np.concatenate(parts, -1) if layout == "concatenated" else np.stack(parts, -1).reshape(2, 8)
    np.testing.assert_allclose(table, wanted, atol=4e-16, rtol=0)  # of one rounding of the frequency, and the sine's


def test_wavlm_and_layoutlm_have_t5_s_buckets():
    (gated,) = read_config({"model_type": "wavlm", **SHAPE}).encodings
    assert (gated.encoding, gated.component, gated.num_buckets, gated.max_distance) == ("wavlm-gate", "audio", 320, 800)
    encodings = read_config({"model_type": "layoutlmv3", **SHAPE, "max_position_embeddings": 514}).encodings
    text, page = parts(encodings, T5Encoding)
    assert [(e.part, e.num_buckets, e.max_distance) for e in (text, page)] == [(None, 32, 128), ("page", 64, 256)]
    plain = {"model_type": "layoutlmv2", **SHAPE, "has_relative_attention_bias": False}
    assert not parts(read_config(plain).encodings, T5Encoding)


def test_windows_of_sam_may_be_none():
    keys = {**SQUARE, "window_size": 0}
    table, tables = read_config({"model_type": "sam_vision_model", **keys}).encodings
    assert (table.rows, tables.layers, tables.rows, tables.dim) == (16, (0, 1, 2), 7, 12)
    wide = read_config({"model_type": "sam_vision_model", **keys, "image_size": [64, 32]})
    assert any("7 rows for rows, 3 for columns" in note for note in wide.notes)


@pytest.mark.parametrize(
    ("model_type", "key"),
    [
        ("swin", "depths"),
        ("swinv2", "num_heads"),
        ("swinv2", "pretrained_window_sizes"),
        ("vitdet", "window_block_indices"),
        ("sam_vision_model", "global_attn_indexes"),
    ],
)
def test_no_list_is_too_long(model_type, key):
    switches = {"use_relative_position_embeddings": True, "window_size": 7}
    with pytest.raises(ValueError, match=f"{key} must be a list of at most"):
        read_config({"model_type": model_type, **switches, key: [1] * 100000})
