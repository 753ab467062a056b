"""Models with code of their own, and files that do not say what they are: against numbers worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from posref import LinearScaling, NTKScaling, alibi_slopes
from posref.models import QueryScaleEncoding, read_config

CONFIGS = Path(__file__).parents[2] / "data" / "configs"


def read(name, **more):
    return read_config(CONFIGS / f"{name}.json", **more)


def only(name, **more):
    (encoding,) = read(name, **more).encodings
    return encoding


def ladder(base, dim):
    """A power in float64 errs by u (1 + ln b), u = 2^-53."""
    return pytest.approx([base ** (-2 * i / dim) for i in range(dim // 2)], rel=4e-15)


# name -> layout, channels of a head, of which rotate, base, layers
PLAIN = {
    "Baichuan2-7B": ("half", 128, 128, 10000.0, 32),
    "chatglm3-6b": ("interleaved", 128, 64, 10000.0, 28),
    "glm-4-9b-chat": ("interleaved", 128, 64, 5000000.0, 40),  # rope_ratio 500
    "deepseek-moe-16b": ("half", 128, 128, 10000.0, 28),
    "internlm2": ("half", 128, 128, 1000000.0, 32),
    "Ling-lite-chat": ("half", 128, 128, 600000.0, 28),
    "Ling-plus-chat": ("half", 96, 96, 600000.0, 88),
    "phi-1_5-msft": ("half", 64, 32, 10000.0, 24),
    "phi-2-msft": ("half", 80, 32, 10000.0, 32),
    "Yuan2-fixture": ("half", 64, 64, 10000.0, 1),
    "Qwen2.5-14B": ("half", 128, 128, 1000000.0, 48),
    "pythia-70m": ("half", 64, 16, 10000.0, 6),
    "roformer-chinese-base": ("interleaved", 64, 64, 10000.0, 12),
    "roformer-chinese-small": ("interleaved", 64, 64, 10000.0, 6),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_rotations(name):
    encoding = only(name)
    layout, channels, rotary, base, layers = PLAIN[name]
    assert (encoding.layout, encoding.head_dim, encoding.rotary_dim, encoding.base) == (layout, channels, rotary, base)
    assert encoding.inv_freq == ladder(base, rotary)
    assert encoding.layers == tuple(range(layers))


def test_hunyuan_s_alpha():
    encoding = only("Hunyuan-A13B-Instruct")
    assert encoding.scaling == NTKScaling(1000.0)
    assert encoding.inv_freq == pytest.approx(
        [11158839.925 ** (-i / 64) for i in range(64)], rel=1e-10
    )  # 1000^(128/126) 10^4
    assert "ignored: rope_scaling.factor = 1.0" in read("Hunyuan-A13B-Instruct").notes


@pytest.mark.parametrize(("seq_len", "factor"), [(1, 1), (8192, 1), (8193, 3), (16384, 3), (16385, 7), (32769, 15)])
def test_qwen_s_ntk_goes_up_in_steps(seq_len, factor):
    rotation, scale = read("Qwen-1_8B", seq_len=seq_len).encodings
    assert rotation.inv_freq == pytest.approx(
        [(1e4 * factor ** (128 / 126)) ** (-i / 64) for i in range(64)], rel=1e-14
    )
    assert rotation.seq_len == seq_len
    assert isinstance(scale, QueryScaleEncoding)
    assert (scale.rule, scale.length, scale.shift) == ("log-n", 8192, 1)
    assert any(note.startswith("seq_len: ") for note in read("Qwen-1_8B").notes)


def test_minicpm_is_dynamic():
    values = json.loads((CONFIGS / "MiniCPM-2B-128k.json").read_text())
    short, long = (read_config(values, seq_len=n).encodings[0] for n in (65536, 131072))
    assert short.inv_freq == ladder(1e6, 64)
    assert long.inv_freq == pytest.approx(
        [(1e6 * 5 ** (64 / 62)) ** (-i / 32) for i in range(32)], rel=1e-14
    )  # 4 * 2 - 3


def test_minicpm3_by_its_keys():
    answer = read("MiniCPM3-4B")
    (encoding,) = answer.encodings
    factors = json.loads((CONFIGS / "MiniCPM3-4B.json").read_text())["rope_scaling"]["short_factor"]
    assert (encoding.part, encoding.head_dim, encoding.rotary_dim, encoding.offset) == ("mla", 96, 32, 64)
    np.testing.assert_allclose(encoding.inv_freq, [10000 ** (-i / 16) / f for i, f in enumerate(factors)], rtol=1e-14)
    assert encoding.attention_factor == 1.0
    assert any("layout assumed half" in note for note in answer.notes)


BAICHUAN = {"model_type": "baichuan", "num_attention_heads": 40, "num_hidden_layers": 40}


def test_baichuan_by_its_width():
    (large,) = read_config({**BAICHUAN, "hidden_size": 5120}).encodings
    assert large.slopes == pytest.approx(alibi_slopes(40), rel=1e-15)
    assert large.slopes[:2] == pytest.approx([2**-0.25, 2**-0.5], rel=1e-15)
    assert large.form == "key"
    answer = read_config({**BAICHUAN, "hidden_size": 6144})
    assert answer.encodings == ()
    assert "hidden_size 6144, which is neither 4096 (it rotates) nor 5120 (ALiBi)" in answer.notes[0]


@pytest.mark.parametrize(
    ("name", "base", "scaling"), [("THUDM/chatglm2-6b-32k", 1e4, LinearScaling(50.0)), (None, 5e5, None)]
)
def test_what_rope_ratio_means_depends_on_the_model(name, base, scaling):
    values = {"model_type": "chatglm", "kv_channels": 128, "num_layers": 28, "rope_ratio": 50, "_name_or_path": name}
    answer = read_config(values)
    assert (answer.encodings[0].base, answer.encodings[0].scaling) == (base, scaling)
    assert any("rope_ratio 50" in note for note in answer.notes)
    (halves,) = read_config({**values, "original_rope": False}).encodings
    assert halves.layout == "half"


def test_layers_that_have_lost_their_attention():
    kept, lost = {"attention": {"n_heads_in_group": 8}}, {"attention": {"no_op": True}}
    linear = {"attention": {"replace_with_linear": True, "no_op": False}}
    values = {"model_type": "nemotron-nas", "hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 4}
    answer = read_config({**values, "block_configs": [kept, lost, linear, kept]})
    assert answer.encodings[0].layers == (0, 3)
    assert any(note.startswith("nope: layers 1-2 have") for note in answer.notes)


@pytest.mark.parametrize(("name", "seq_len"), [("Phi-3.5-vision-instruct", 4097), ("Phi-4-multimodal-instruct", 4097)])
def test_longrope_of_models_with_towers(name, seq_len):
    file = json.loads((CONFIGS / f"{name}.json").read_text())
    for length, key in ((None, "short_factor"), (seq_len, "long_factor")):
        encoding = only(name, seq_len=length)
        factors = file["rope_scaling"][key]
        assert encoding.rotary_dim == 2 * len(factors) == 96
        np.testing.assert_allclose(
            encoding.inv_freq, np.divide([1e4 ** (-i / 48) for i in range(48)], factors), rtol=1e-14
        )
        assert math.isclose(encoding.attention_factor, 1.1902380714, rel_tol=1e-10)
    assert "unknown: vision: the file does not describe it" in read(name).notes


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ModernBERT-base", "global_rope_theta and local_rope_theta make it modernbert"),
        ("dinov3-vits16", "pos_embed_rope_base makes it dinov3_vit"),
        ("roformer-chinese-base", "rotary_value makes it roformer"),
        ("deberta-v3-base-microsoft-format", "make it deberta-v2"),
        ("DNABERT-2-117M-fixture", "alibi_starting_size makes it bert"),
        ("Llama-2-7b-longlora-32k-snippet", "read by its rope keys, layout assumed half"),
        ("gemma-3-12b", "rope_local_base_freq makes it gemma3_text"),
    ],
)
def test_files_without_model_type_say_what_was_assumed(name, says):
    assert any(note.startswith("unknown: no model_type; ") and says in note for note in read(name).notes)


def test_modernbert_has_two_bases():
    full, sliding = read("ModernBERT-base").encodings
    assert (full.base, sliding.base) == (160000.0, 10000.0)
    assert full.layers == (0, 3, 6, 9, 12, 15, 18, 21)
    assert set(full.layers) | set(sliding.layers) == set(range(22))


def test_dnabert_has_alibi_in_both_directions():
    encoding = only("DNABERT-2-117M-fixture")
    assert (encoding.form, encoding.num_heads, encoding.layers) == ("distance", 12, tuple(range(12)))


def test_microsoft_s_deberta():
    encoding = only("deberta-v3-base-microsoft-format")
    assert (encoding.terms, encoding.rows, encoding.position_buckets) == (("c2p", "p2c"), 512, 256)
    assert (encoding.max_relative_positions, encoding.share_att_key) == (512, True)


UNKNOWN = {"model_type": "brand_new", "hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 4}


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ({"rope_theta": 5e5}, {"base": 5e5, "rotary_dim": 32, "layers": (0, 1, 2, 3)}),
        ({"rotary_pct": 0.25, "rotary_emb_base": 2e4}, {"base": 2e4, "rotary_dim": 8}),
        ({"rotary_dim": 16}, {"rotary_dim": 16}),
        ({"rope_theta": 1e4, "partial_rotary_factor": 0.5}, {"rotary_dim": 16}),
        (
            {"rope_scaling": {"type": "linear", "factor": 2.0}},
            {"scaling": LinearScaling(2.0), "encoding": "rope-linear"},
        ),
        ({"rope_theta": 1e4, "no_rope_layers": [1, 1, 0, 1]}, {"layers": (0, 1, 3)}),
        ({"rope_theta": 1e4, "layer_types": ["conv", "full_attention", "mamba", "full_attention"]}, {"layers": (1, 3)}),
        ({"rope_scaling": {"rope_type": "gptj"}}, {"layout": "interleaved"}),
        ({"rope_scaling": {"type": "mrope", "mrope_section": [4, 6, 6]}}, {"encoding": "rope-mrope"}),
    ],
)
def test_an_unknown_model_is_read_by_its_rope_keys(keys, wanted):
    answer = read_config({**UNKNOWN, **keys})
    (encoding,) = answer.encodings
    assert {key: getattr(encoding, key) for key in wanted} == wanted
    assert "unknown: model_type 'brand_new'; read by its rope keys, layout assumed half" in answer.notes


def test_an_unknown_model_with_a_block_per_kind_of_layer():
    blocks = {"full_attention": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}}
    blocks |= {"sliding_attention": {"rope_theta": 77.0}}
    kinds = ["sliding_attention", "full_attention", "conv", "sliding_attention"]
    answer = read_config({**UNKNOWN, "rope_parameters": blocks, "layer_types": kinds})
    full, sliding = answer.encodings
    assert (full.encoding, full.layers, sliding.base, sliding.layers) == ("rope-yarn", (1,), 77.0, (0, 3))
    assert "nope: conv layers have no position encoding" in answer.notes


def test_an_unknown_model_of_several_parts():
    text = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 1}
    answer = read_config(
        {"model_type": "brand_new_vl", "text_config": text, "vision_config": {"model_type": "pixtral"}}
    )
    assert [(e.encoding, e.component) for e in answer.encodings] == [("rope", "text"), ("rope-axial", "vision")]
    assert "unknown: model_type 'brand_new_vl'; read part by part" in answer.notes


@pytest.mark.parametrize(
    ("architecture", "encoding", "layout"),
    [
        ("GPTNeoXForCausalLM", "rope", "half"),
        ("CohereForCausalLM", "rope", "interleaved"),
        ("BertModel", "learned", None),
    ],
)
def test_the_name_of_the_class_stands_in_for_the_model_type(architecture, encoding, layout):
    keys = {"architectures": [architecture], "hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 1}
    answer = read_config({**keys, "max_position_embeddings": 512})
    assert (answer.encodings[0].encoding, getattr(answer.encodings[0], "layout", None)) == (encoding, layout)
    assert any("architectures make it" in note for note in answer.notes)


@pytest.mark.parametrize(("rows", "types", "offset"), [(512, 2, 0), (514, 1, 2), (1026, 1, 2), (512, 1, 0)])
def test_bert_and_roberta_without_a_model_type(rows, types, offset):
    answer = read_config({"hidden_size": 64, "max_position_embeddings": rows, "type_vocab_size": types})
    assert (answer.encodings[0].rows, answer.encodings[0].offset) == (rows, offset)
    assert any(note.startswith("unknown: no model_type") for note in answer.notes)


@pytest.mark.parametrize("model_type", ["smollm3", "llama4_text"])
def test_layers_without_rotation_are_listed(model_type):
    answer = read_config(
        {"model_type": model_type, "hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 8}
    )
    assert "nope: layers 3, 7 have no position encoding (without rotation)" in answer.notes
    assert answer.encodings[0].layers == (0, 1, 2, 4, 5, 6)


@pytest.mark.parametrize(("base", "noted"), [(500000, False), (10000, True)])
def test_the_local_layers_of_olmo3_do_not_look_at_rope_theta(base, noted):
    shape = {"hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 4}
    answer = read_config({"model_type": "olmo3", "rope_theta": base, **shape})
    assert {e.layers: e.base for e in answer.encodings} == {(3,): base, (0, 1, 2): 500000}
    said = f"contradictory: rope_theta {base:g}, but sliding_attention layers have base 500000"
    assert (said in answer.notes) == noted
