"""Models whose own code has a rule that no other has: what it does, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from posref import NTKScaling
from posref.models import AlibiEncoding, LearnedEncoding, read_config
from posref.models.arrays import arrays_of

SHAPE = {"hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 6, "max_position_embeddings": 2048}


def ladder(base, dim):
    return [base ** (-2 * i / dim) for i in range(dim // 2)]


def test_the_first_chatglm_rotates_halves_of_a_head_by_two_positions():
    keys = {"model_type": "chatglm", "hidden_size": 1024, "num_attention_heads": 8, "num_layers": 2}
    first, second = read_config({**keys, "position_encoding_2d": True, "max_sequence_length": 512}).encodings
    assert [(e.offset, e.rotary_dim, e.head_dim, e.axes.names) for e in (first, second)] == [
        (0, 64, 128, ("prompt",)),
        (64, 64, 128, ("answer",)),
    ]
    np.testing.assert_allclose(first.inv_freq, ladder(1e4, 64), rtol=4e-15)  # a power errs by u (1 + ln b)
    assert second.inv_freq == first.inv_freq
    (later,) = read_config({**keys, "seq_length": 512}).encodings
    assert later.encoding == "rope"


@pytest.mark.parametrize(
    ("seq_len", "base", "factor", "magnitude"),
    [
        (None, 8192, 1, 1.0),  # 2^ceil(log2(8192 / 8192) + 1) - 1
        (8193, 8192, 3, 0.1 * math.log(8193 / 8192) + 1),
        (32768, 8192, 7, 0.1 * math.log(4) + 1),
        (100, None, 3, 1.0),  # no shorter than training_seqlen; its first code counts from 4096
    ],
)
def test_telechat_stretches_in_steps(seq_len, base, factor, magnitude):
    keys = {"hidden_size": 1024, "n_head": 8, "n_layer": 2, "training_seqlen": 8192}
    keys |= {} if base is None else {"base_seqlen": base}
    (encoding,) = read_config({"model_type": "telechat", **keys}, seq_len=seq_len).encodings
    assert encoding.scaling == (None if factor == 1 else NTKScaling(float(factor)))
    assert encoding.attention_factor == pytest.approx(magnitude, rel=1e-15)
    np.testing.assert_allclose(encoding.inv_freq, ladder(1e4 * factor ** (128 / 126), 128), rtol=8e-15)


def test_layers_of_plamo():
    two = {"model_type": "plamo2", **SHAPE, "hidden_size_per_head": 64, "rope_theta": 5e5}
    (encoding,) = read_config(two).encodings
    assert (encoding.layers, encoding.head_dim, encoding.base) == ((1, 3, 5), 64, 1e4)
    (encoding,) = read_config({**two, "mamba_step": 4}).encodings
    assert encoding.layers == (2,)
    (encoding,) = read_config({**two, "mamba_enabled": False}).encodings
    assert encoding.layers == (0, 1, 2, 3, 4, 5)
    (encoding,) = read_config({**two, "mamba_step": 100}).encodings  # more than there are: the last one
    assert encoding.layers == (5,)
    three = {"model_type": "plamo3", **SHAPE, "sliding_window_pattern": 3, "rope_theta": 2e5, "rope_local_theta": 3e4}
    sliding, full = read_config(three).encodings
    assert [(e.layers, e.base) for e in (sliding, full)] == [((0, 1, 3, 4), 3e4), ((2, 5), 2e5)]


def test_olmo_s_first_code_says_what_it_has():
    own = {"model_type": "hf_olmo", "d_model": 1024, "n_heads": 8, "n_layers": 2, "max_sequence_length": 512}
    (table,) = read_config(own).encodings
    assert isinstance(table, LearnedEncoding)
    assert (table.rows, table.dim) == (512, 1024)
    (rope,) = read_config({**own, "rope": True, "rope_theta": 5e5, "alibi": False}).encodings
    assert (rope.base, rope.head_dim, rope.layout, rope.layers) == (5e5, 128, "half", (0, 1))
    assert read_config({**own, "alibi": True}).encodings == ()


def test_step_1_has_the_root_of_the_distance():
    (encoding,) = read_config({"model_type": "step1", **SHAPE}).encodings
    assert isinstance(encoding, AlibiEncoding)
    assert encoding.form == "sqrt"
    bias = arrays_of(encoding, np.array([0, 4, 9]))["bias"]
    np.testing.assert_array_equal(bias[0], [0.0, -1.0, -1.5])  # the first of 8 slopes is 1/2


def test_grok_s_own_scaling_is_not_guessed():
    (encoding,) = read_config({"model_type": "grok-1", **SHAPE, "rope_theta": 1e4}).encodings
    assert (encoding.head_dim, encoding.scaling) == (128, None)
    answer = read_config({"model_type": "grok-1", **SHAPE, "rope_theta": 1e4, "rope_type": "yarn_log"})
    assert answer.encodings == ()


def test_neobert_has_interleaved_pairs():
    (encoding,) = read_config({"model_type": "neobert", **SHAPE, "max_length": 512}).encodings
    assert (encoding.layout, encoding.base, encoding.max_position_embeddings) == ("interleaved", 1e4, 512)
    (table,) = read_config({"model_type": "neobert", **SHAPE, "max_length": 512, "rope": False}).encodings
    assert (table.rows, table.offset) == (513, 1)


def test_ernie_vl_s_own_keys_say_the_same_as_transformers():
    """20 of 64 pairs are for time; of the others every second one is for the height."""
    shape = {"hidden_size": 2560, "num_attention_heads": 20, "num_hidden_layers": 3, "rope_theta": 5e5}
    (own,) = read_config({"model_type": "ernie4_5_moe_vl", **shape, "rope_3d": True, "freq_allocation": 20}).encodings
    block = {"rope_type": "default", "mrope_section": [22, 22, 20]}
    text = {"model_type": "ernie4_5_vl_moe_text", **shape, "rope_scaling": block}
    assert own == read_config(text).encodings[0]
    assert own.axes.map[:4] + own.axes.map[44:] == (0, 1, 0, 1, *(2,) * 20)
    with pytest.raises(ValueError, match="freq_allocation must leave an even number of the 64 pairs, got 21"):
        read_config({"model_type": "ernie4_5_moe_vl", **shape, "freq_allocation": 21})
    assert read_config({"model_type": "ernie4_5_moe_vl", **shape, "rope_3d": False}).encodings == ()


def test_moonvit_s_pairs_take_turns():
    text = {"model_type": "deepseek_v3", **SHAPE, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64}
    tower = {"model_type": "moonvit", "hidden_size": 1152, "num_attention_heads": 16, "num_hidden_layers": 2}
    _, rope, table = read_config({"model_type": "kimi_vl", "text_config": text, "vision_config": tower}).encodings
    assert (rope.layout, rope.axes.names, rope.axes.map[:4]) == ("interleaved", ("width", "height"), (0, 1, 0, 1))
    np.testing.assert_allclose(rope.inv_freq, np.repeat(ladder(1e4, 36), 2), rtol=4e-15)  # 72 channels, 36 per axis
    assert (table.rows, table.grid, table.resampling) == (4096, (64, 64), "bicubic")


def test_dots_ocr_has_a_text_of_its_own_keys():
    tower = {"embed_dim": 1536, "num_attention_heads": 12, "num_hidden_layers": 42}
    text, vision = read_config({"model_type": "dots_ocr", **SHAPE, "rope_theta": 1e6, "vision_config": tower}).encodings
    assert (text.base, vision.axes.names, len(vision.inv_freq), len(vision.layers)) == (
        1e6,
        ("height", "width"),
        64,
        42,
    )


def test_ring_rotates_in_layers_of_linear_attention_too():
    keys = {**SHAPE, "head_dim": 128, "partial_rotary_factor": 0.5, "layer_group_size": 3}
    (encoding,) = read_config({"model_type": "bailing_moe_linear", **keys}).encodings
    assert (encoding.layers, encoding.rotary_dim, encoding.base) == ((0, 1, 2, 3, 4, 5), 64, 6e5)


def test_zamba_does_not_rotate():
    answer = read_config({"model_type": "zamba", **SHAPE, "num_hidden_layers": 10, "rope_theta": 1e4})
    assert answer.encodings == ()
    assert "nope: layers 2, 7 have no position encoding (hybrid)" in answer.notes  # 2, then 3 + 4


# the keys of models that have no other sign, as transformers' classes write them
BARE = {
    "bloom": {"offset_alibi": 100, "n_layer": 2, "n_head": 8, "hidden_size": 64},
    "falcon": {"alibi": False, "new_decoder_architecture": True, **SHAPE},
    "gemma2": {"query_pre_attn_scalar": 224, "attn_logit_softcapping": 50.0, "sliding_window": 4096, **SHAPE},
    "gemma3_text": {"query_pre_attn_scalar": 256, "sliding_window": 512, "head_dim": 256, **SHAPE},
    "gpt2": {"n_positions": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12},
    "gptj": {"n_positions": 2048, "n_embd": 4096, "n_head": 16, "n_layer": 28, "rotary_dim": 64},
    "mpt": {"attn_config": {"alibi": True, "alibi_bias_max": 8}, "n_heads": 32, "n_layers": 2},
    "opt": {"word_embed_proj_dim": 512, "do_layer_norm_before": False, **SHAPE},
    "t5": {"relative_attention_num_buckets": 32, "d_kv": 64, "num_layers": 12, "num_heads": 12},
    "mpnet": {"relative_attention_num_buckets": 32, **SHAPE},
    "whisper": {"num_mel_bins": 80, "max_source_positions": 1500, "max_target_positions": 448, "d_model": 384},
}


@pytest.mark.parametrize("family", BARE)
def test_keys_that_only_one_kind_has(family):
    answer = read_config(BARE[family])
    assert answer.encodings == read_config({"model_type": family, **BARE[family]}).encodings != ()
    assert answer.notes[0].endswith(f"make it {family}")


def test_an_architecture_counts_before_parts():
    tower = {"hidden_size": 1792, "image_size": 490, "patch_size": 14}
    answer = read_config({"architectures": ["CogVLMForCausalLM"], **SHAPE, "vision_config": tower})
    assert answer.notes[0] == "unknown: no model_type; architectures make it cogvlm"
    text, vision = answer.encodings
    assert (text.base, vision.rows) == (1e4, 1226)


def test_gemma_3_s_tower_without_a_type():
    text, tower = BARE["gemma3_text"], {"hidden_size": 1152, "image_size": 896, "patch_size": 14}
    *_, vision = read_config({"text_config": text, "vision_config": tower}).encodings
    assert (vision.component, vision.rows, vision.offset) == ("vision", 4096, 0)
    other = read_config({"text_config": {**SHAPE, "rope_theta": 1e4}, "vision_config": tower})
    assert [e.component for e in other.encodings] == ["text"]
