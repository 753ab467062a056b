"""What a file says in words or in parts, beside the keys that posref knows: not lost, and not guessed against."""

from __future__ import annotations

import pytest

from posref.models import AlibiEncoding, LearnedEncoding, RopeEncoding, read_config

SHAPE = {"hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 2048}
LLAMA = {"model_type": "llama", "rope_theta": 1e4, **SHAPE}
BERT = {"model_type": "bert", **SHAPE}


def notes(answer, kind):
    return [note for note in answer.notes if note.startswith(f"{kind}: ")]


@pytest.mark.parametrize(
    ("model_type", "kind", "rotates"),
    [
        ("wav2vec2-conformer", "rotary", True),
        ("wav2vec2-conformer", "relative", False),
        ("wav2vec2-conformer", ..., False),
        ("wav2vec2-bert", "rotary", True),
        ("wav2vec2-bert", "relative_key", False),
        ("wav2vec2-bert", ..., False),
        ("seamless_m4t", "rotary", True),
        ("seamless_m4t", "relative", False),
        ("seamless_m4t_v2", "rotary", False),
    ],
)
def test_a_conformer_rotates_where_its_type_says_so(model_type, kind, rotates):
    keys = {**SHAPE, "rotary_embedding_base": 5000, "position_embeddings_type": kind}
    if kind is ...:
        del keys["position_embeddings_type"]
    keys |= {"speech_encoder_attention_heads": 16, "speech_encoder_layers": 3}
    answer = read_config({"model_type": model_type, **keys})
    assert [isinstance(e, RopeEncoding) for e in answer.encodings] in ([rotates], [])
    if rotates:
        (encoding,) = answer.encodings
        heads, layers = (16, 3) if model_type == "seamless_m4t" else (8, 4)
        assert (encoding.component, encoding.base, encoding.head_dim) == ("audio", 5000, 1024 // heads)
        assert encoding.layers == tuple(range(layers))
        return
    wanted = {"relative": "transformer-xl", "relative_key": "shaw", ...: "transformer-xl", "rotary": None}[kind]
    wanted = "shaw" if (model_type, kind) == ("wav2vec2-bert", ...) else wanted
    assert [e.encoding for e in answer.encodings] == [wanted] * (wanted is not None)
    assert {e.component for e in answer.encodings} <= {"audio"}


@pytest.mark.parametrize("key", ["position_embedding_type", "position_embeddings_type"])
def test_rope_keys_of_a_stranger_are_not_read_against_its_own_words(key):
    stranger = {**LLAMA, "model_type": "nobodys"}
    (encoding,) = read_config({**stranger, key: "rotary"}).encodings
    assert isinstance(encoding, RopeEncoding)
    answer = read_config({**stranger, key: "relative"})
    assert answer.encodings == ()
    assert "position_embedding_type 'relative'" in answer.notes[0]
    for keys in ({key: "alibi"}, {"alibi": True}):
        (encoding,) = read_config({**stranger, **keys}).encodings
        assert isinstance(encoding, AlibiEncoding)
        assert encoding.slopes == tuple(2.0**-k for k in range(1, 9))  # the paper's, for 8 heads


def test_a_text_part_with_words_against_it_does_not_take_the_others_along():
    text = {**SHAPE, "rope_theta": 1e4, "position_embedding_type": "relative"}
    answer = read_config({"model_type": "nobodys", "text_config": text, "vision_config": {"model_type": "vit"}})
    assert [e.component for e in answer.encodings] == ["vision"]
    assert any("position_embedding_type 'relative'" in note for note in notes(answer, "not known yet"))


def test_a_part_that_nobody_reads_has_a_note():
    audio, other = {"model_type": "mimi", **SHAPE}, {"hidden_size": 8}
    answer = read_config({**LLAMA, "model_type": "moshi", "audio_encoder_config": audio, "depth_decoder_config": other})
    assert [(e.component, e.part) for e in answer.encodings] == [("text", None), ("audio", "codec")]
    assert notes(answer, "not known yet") == ["not known yet: depth_decoder_config, a part that was not read"]
    answer = read_config({**LLAMA, "talker_config": other, "quantization_config": {"bits": 4}})
    assert notes(answer, "not known yet") == ["not known yet: talker_config, a part that was not read"]
    thinker = {"model_type": "qwen2_5_omni_thinker", "text_config": {**LLAMA}, "code_config": other}
    answer = read_config({"model_type": "qwen2_5_omni", "thinker_config": thinker, "token2wav_config": other})
    said = notes(answer, "not known yet")
    assert "not known yet: token2wav_config, a part that was not read" in said
    assert "not known yet: thinker_config.code_config, a part that was not read" in said


@pytest.mark.parametrize(
    ("kind", "encoder", "component"),
    [
        ("encoder-decoder", BERT, "text"),
        ("speech-encoder-decoder", {"model_type": "wav2vec2"}, None),
        ("vision-encoder-decoder", {"model_type": "vit"}, "vision"),
    ],
)
def test_an_encoder_and_a_decoder_of_any_kind(kind, encoder, component):
    answer = read_config({"model_type": kind, "encoder": encoder, "decoder": BERT})
    assert all(isinstance(e, LearnedEncoding) for e in answer.encodings)
    wanted = [(component, "encoder"), ("text", "decoder")][component is None :]
    assert [(e.component, e.part) for e in answer.encodings] == wanted
    answer = read_config({"model_type": kind, "encoder": {"model_type": "nobodys"}, "decoder": BERT})
    assert [e.part for e in answer.encodings] == ["decoder"]
    assert any("encoder" in note or "'nobodys'" in note for note in notes(answer, "not known yet"))


@pytest.mark.parametrize("framework", ["transformers", "mlx", "vllm", "sglang"])
def test_dual_chunk_attention_is_not_passed_over(framework):
    keys = {**LLAMA, "model_type": "qwen2"}
    assert not any("dual_chunk" in note for note in read_config(keys, framework=framework).notes)
    chunks = {"chunk_size": 1024, "local_size": 128, "original_max_position_embeddings": 1024}
    answer = read_config({**keys, "dual_chunk_attention_config": chunks}, framework=framework)
    assert any("dual_chunk_attention_config" in note for note in answer.notes)
    assert bool(answer.encodings) == (framework in ("transformers", "mlx"))


@pytest.mark.parametrize(
    ("model_type", "key", "alias"),  # attribute_map of transformers 5.24
    [
        ("exaone", "num_hidden_layers", "num_layers"),
        ("qwen2_vl_vision", "depth", "num_hidden_layers"),
        ("glm4v_vision", "depth", "num_hidden_layers"),
        ("pix2struct_text_model", "num_layers", "decoder_layers"),
        ("pix2struct_text_model", "num_heads", "encoder_attention_heads"),
    ],
)
def test_other_names_of_transformers_say_the_same(model_type, key, alias):
    values = {"model_type": model_type, "hidden_size": 1024, "num_attention_heads": 8, "num_heads": 8}
    if "heads" in alias:
        values = {"model_type": model_type, "num_layers": 4}
    by_key, by_alias, other = (
        read_config({**values, **keys}).encodings[0] for keys in ({key: 6}, {alias: 6}, {alias: 7})
    )
    assert by_key == by_alias != other


def test_text_keys_beside_the_towers_and_parts_of_another_name():
    flat = {**SHAPE, "head_dim": 128, "layer_types": ["full_attention", *["sliding_attention"] * 3]}
    full, sliding = read_config({"model_type": "step3p7", **flat}).encodings
    assert (full.layers, sliding.layers) == ((0,), (1, 2, 3))
    (llava,) = read_config({"model_type": "llava", **SHAPE, "mm_vision_tower": "openai/clip"}).encodings
    assert llava.head_dim == 128
    block = {"type": "default", "mrope_section": [8, 12, 12]}
    keys = {**SHAPE, "rope_theta": 1e4, "partial_rotary_factor": 0.5, "rope_scaling": block}
    (glm,) = read_config({"model_type": "glm4v", **keys}).encodings
    assert (glm.encoding, glm.rotary_dim, glm.axes.sections) == ("rope-mrope", 64, (8, 12, 12))
    text = {"model_type": "exaone4_5_text", **SHAPE, "sliding_window": 512, "sliding_window_pattern": "LLLG"}
    (exaone,) = read_config({"model_type": "exaone4_5", "text_config": text}).encodings
    assert exaone.layers == (0, 1, 2)


def test_an_odd_share_of_a_head_has_no_frequencies_of_ours():
    """int(0.26 * 128) is 33: transformers' ladder has 17 rungs, and its tables are 34 wide."""
    answer = read_config({"model_type": "phi", **SHAPE, "rope_theta": 1e4, "partial_rotary_factor": 0.26})
    (encoding,) = answer.encodings
    assert (encoding.rotary_dim, encoding.inv_freq) == (33, None)
    assert any("17 frequencies base^(-2i/33)" in note for note in notes(answer, "unusual"))


@pytest.mark.parametrize(("width", "heads", "error"), [(3200, 25, None), (10**6, 1, "width"), (8192, 2, "head")])
def test_towers_may_be_wide(width, heads, error):
    """InternViT-6B's hidden_size is 3200."""
    tower = {"model_type": "qwen2_5_vl_vision", "hidden_size": width, "num_heads": heads}
    if error is None:
        assert read_config(tower).encodings[0].head_dim == 128
        (table,) = read_config({"model_type": "intern_vit_6b", "hidden_size": width, "image_size": 448}).encodings
        assert table.dim == 3200
        return
    told = {"width": "hidden_size must be an integer from 1 to", "head": r"hidden_size // num_heads must be from 1 to"}
    with pytest.raises(ValueError, match=told[error]):
        read_config(tower)


def test_a_model_s_own_code_has_a_note():
    own = {"auto_map": {"AutoModel": "modeling.Model"}}
    assert any("auto_map" in note for note in notes(read_config({**LLAMA, **own}), "unusual"))
    assert not any("auto_map" in note for note in read_config({**LLAMA, "model_type": "internlm2", **own}).notes)
    assert not any("auto_map" in note for note in read_config(LLAMA).notes)


def test_falcon_s_first_names_of_keys():
    answer = read_config({"model_type": "falcon", "hidden_size": 1024, "n_head": 8, "n_layer": 2})
    assert (answer.encodings[0].head_dim, answer.encodings[0].layers) == (128, (0, 1))
    assert any("n_head and n_layer" in note for note in notes(answer, "unusual"))


def test_minimax_rotates_more_than_the_file_says():
    keys = {"model_type": "minimax", **SHAPE}
    assert any("rotary_dim 64" in note for note in notes(read_config({**keys, "rotary_dim": 64}), "contradictory"))
    assert not notes(read_config({**keys, "rotary_dim": 128}), "contradictory")


def test_florence_2_as_it_was_published():
    """Microsoft's own code calls BART's text model florence2_language; its tower is of a kind that is not read."""
    text = {"model_type": "florence2_language", "d_model": 768, "encoder_layers": 6, "max_position_embeddings": 1024}
    answer = read_config({"model_type": "florence2", "text_config": text, "vision_config": {"model_type": "davit"}})
    assert [(e.encoding, e.component, e.stack) for e in answer.encodings] == [
        ("learned", "text", "encoder"),
        ("learned", "text", "decoder"),
    ]
    assert notes(answer, "not known yet") == ["not known yet: vision: model_type 'davit'"]


def test_the_makers_own_format_is_of_interleaved_weights():
    """Meta's and Mistral's params.json go with weights that no conversion to transformers has permuted."""
    params = {"dim": 4096, "n_heads": 32, "n_kv_heads": 8, "n_layers": 2, "rope_theta": 1e6}
    (rope,) = read_config(params).encodings
    assert (rope.layout, rope.output_layout, rope.head_dim, rope.layers, rope.base) == (
        *("interleaved", "interleaved"),
        *(128, (0, 1), 1e6),
    )
    answer = read_config({**params, "vision_encoder": {"hidden_size": 1024}})
    assert len(answer.encodings) == 1
    assert notes(answer, "not known yet") == [
        "not known yet: vision: vision_encoder in a file of the makers' own format"
    ]
    (rope,) = read_config({**params, "dim": 5120, "head_dim": 128, "use_scaled_rope": False}).encodings
    assert (rope.layout, rope.head_dim) == ("interleaved", 128)
    for more in ({"use_scaled_rope": True}, {"yarn": {"factor": 16}}):
        answer = read_config({**params, **more})
        assert answer.encodings == ()
        assert notes(answer, "not known yet") == [
            f"not known yet: text: {next(iter(more))} in a file of the makers' own format"
        ]
