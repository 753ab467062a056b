"""What real files mean, against numbers worked out elsewhere, and what is noted about files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from posref import Llama3Scaling, LongRopeScaling, YarnScaling, rope_inv_freq
from posref.models import READERS, read_config

CONFIGS = Path(__file__).parents[2] / "data" / "configs"
LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 2,
    "rope_theta": 1e4,
}


def read(name, **more):
    return read_config(CONFIGS / f"{name}.json", **more)


def only(name, **more):
    (encoding,) = read(name, **more).encodings
    return encoding


def close(value, wanted, digits):
    """Equal to the digits that a table prints."""
    return math.isclose(value, wanted, rel_tol=0.51 * 10.0**-digits)


def test_llama_2():
    answer = read("Llama-2-7b-hf")
    (encoding,) = answer.encodings
    assert (encoding.encoding, encoding.layout, encoding.head_dim, encoding.rotary_dim) == ("rope", "half", 128, 128)
    assert encoding.layers == tuple(range(32))
    # a power in float64 errs by u (1 + ln b), u = 2^-53
    np.testing.assert_allclose(encoding.inv_freq, [10000.0 ** (-i / 64) for i in range(64)], rtol=1.2e-15)
    assert answer.notes == ("defaulted: rope_theta is absent, transformers' default is 10000",)


def test_llama_3_1():
    encoding = only("Meta-Llama-3.1-8B")
    assert encoding.scaling == Llama3Scaling(8.0, 8192, 1.0, 4.0)
    for i, wanted in {28: 0.00321144599, 29: 0.00216657076, 34: 0.00017850781, 35: 9.55621235e-05}.items():
        assert close(encoding.inv_freq[i], wanted, 7)
    assert (encoding.encoding, encoding.base, encoding.attention_factor) == ("rope-llama3", 500000.0, 1.0)


def test_gpt_oss():
    encoding = only("gpt-oss-20b")
    assert close(encoding.attention_factor, 1.3465735903, 10)
    assert close(encoding.inv_freq[12], 0.00679495949, 8)  # with whole ramp ends it would be another
    assert (encoding.encoding, encoding.layers, encoding.softmax_factor) == ("rope-yarn", tuple(range(24)), 1.0)


def test_deepseek_v3():
    encoding = only("DeepSeek-V3")
    assert (encoding.part, encoding.head_dim, encoding.rotary_dim, encoding.offset) == ("mla", 192, 64, 128)
    assert (encoding.layout, encoding.output_layout) == ("interleaved", "half")
    assert close(encoding.inv_freq[16], 0.0055, 10)
    assert encoding.attention_factor == 1.0
    assert close(encoding.softmax_factor, 1.8738542071, 10)


def test_deepseek_v2_lite():
    encoding = only("DeepSeek-V2-Lite")
    assert (encoding.layout, encoding.output_layout) == ("interleaved", "interleaved")
    assert close(encoding.softmax_factor, 1.5896261652, 10)


def test_qwen_with_yarn():
    answer = read("Qwen2.5-7B-Instruct-yarn")
    (encoding,) = answer.encodings
    assert close(encoding.attention_factor, 1.1386294361, 10)
    assert encoding.scaling == YarnScaling(4.0, 32768)
    assert [note.split()[1] for note in answer.notes] == [
        f"rope_scaling.{key}" for key in ("beta_fast", "beta_slow", "truncate")
    ]


def test_phi_3_5_short_and_long():
    file = json.loads((CONFIGS / "Phi-3.5-mini-instruct.json").read_text())
    plain = [10000.0 ** (-i / 48) for i in range(48)]
    for seq_len, name in ((None, "short_factor"), (4096, "short_factor"), (4097, "long_factor")):
        encoding = only("Phi-3.5-mini-instruct", seq_len=seq_len)
        divided = np.divide(plain, file["rope_scaling"][name])
        np.testing.assert_allclose(encoding.inv_freq, divided, rtol=1e-14)
        assert close(encoding.attention_factor, 1.1902380714, 10)
    assert isinstance(encoding.scaling, LongRopeScaling)
    assert any(note.startswith("seq_len: ") for note in read("Phi-3.5-mini-instruct").notes)
    assert not any(note.startswith("seq_len: ") for note in read("Phi-3.5-mini-instruct", seq_len=9).notes)


def test_dynamic_ntk_follows_the_length():
    values = {**LLAMA, "max_position_embeddings": 2048, "rope_scaling": {"type": "dynamic", "factor": 2.0}}
    short, long = (read_config(values, seq_len=n).encodings[0] for n in (2048, 4096))
    np.testing.assert_array_equal(short.inv_freq, rope_inv_freq(128))
    # the new base by hand: 10000 (2 * 4096 / 2048 - 1) ** (128 / 126) = 30527.73674881
    np.testing.assert_allclose(long.inv_freq, [30527.73674881 ** (-i / 64) for i in range(64)], rtol=1e-12)
    assert long.encoding == "rope-dynamic-ntk"


def test_bloom():
    answer = read("bloom-fixture")
    (encoding,) = answer.encodings
    assert encoding.slopes == pytest.approx([2 ** (-h / 2) for h in range(1, 17)], rel=1e-15)
    assert (encoding.encoding, encoding.num_heads, encoding.form, encoding.layers) == ("alibi", 16, "key", (0,))
    assert answer.notes == ("ignored: offset_alibi = 100",)


def test_mpt():
    answer = read("mpt-7b")
    assert answer.encodings[0].slopes == pytest.approx([2 ** (-h / 4) for h in range(1, 33)], rel=1e-15)
    assert answer.notes == ("ignored: learned_pos_emb = true",)


@pytest.mark.parametrize(
    ("name", "model_type", "head_dim", "rotary_dim", "layout"),
    [
        ("gpt-neox-20b", "gpt_neox", 96, 24, "half"),
        ("gpt-j-6b", "gptj", 256, 64, "interleaved"),
        ("phi-2", "phi", 80, 32, "half"),
        ("stablelm-2-zephyr-1_6b", "stablelm", 64, 16, "half"),
        ("aya-23-8B", "cohere", 128, 128, "interleaved"),
        ("gemma-2b", "gemma", 256, 256, "half"),
        ("gemma-2-27b", "gemma2", 128, 128, "half"),
        ("Qwen3-0.6B", "qwen3", 128, 128, "half"),
    ],
)
def test_heads_of_which_a_part_rotates(name, model_type, head_dim, rotary_dim, layout):
    answer = read(name)
    (encoding,) = answer.encodings
    found = (answer.model_type, encoding.head_dim, encoding.rotary_dim, encoding.layout)
    assert found == (model_type, head_dim, rotary_dim, layout)
    assert len(encoding.inv_freq) == rotary_dim // 2


def test_t5():
    answer = read("t5-base")
    encoder, decoder = answer.encodings
    assert (encoder.stack, encoder.bidirectional, encoder.num_heads, encoder.num_buckets) == ("encoder", True, 12, 32)
    assert (decoder.stack, decoder.bidirectional, decoder.layers) == ("decoder", False, tuple(range(12)))
    # the paper: exact to 7 and to 15, the last bucket without end; 16 holds "0 in the future" and is never used
    by_number = {bucket.bucket: (bucket.first, bucket.last) for bucket in encoder.buckets}
    assert by_number[0] == (0, 0)
    assert by_number[7] == (-7, -7)
    assert by_number[8] == (-11, -8)
    assert by_number[31] == (91, None)
    assert 16 not in by_number
    by_number = {bucket.bucket: (bucket.first, bucket.last) for bucket in decoder.buckets}
    assert by_number[0] == (0, None)
    assert by_number[15] == (-15, -15)
    assert by_number[31] == (None, -113)
    assert answer.notes == (
        "defaulted: relative_attention_max_distance is absent, transformers' default is 128",
        "ignored: n_positions = 512",
    )


def test_kimi_k2_is_a_deepseek_v3():
    values = json.loads((CONFIGS / "DeepSeek-V3.json").read_text())
    assert read_config({**values, "model_type": "kimi_k2"}).encodings == read_config(values).encodings


@pytest.mark.parametrize("model_type", ["dory", "an_unheard_of_model"])
def test_what_is_not_known_is_not_guessed(model_type):
    rope = {"rope_theta": 10000.0, "hidden_size": 64, "num_attention_heads": 2} if model_type == "dory" else {}
    answer = read_config({"model_type": model_type, **rope})
    assert answer.encodings == ()
    assert answer.notes == (f"not known yet: model_type {model_type!r}",)


def test_a_known_model_with_a_word_that_is_not_known():
    answer = read_config({"model_type": "bert", "position_embedding_type": "relative_key"})
    assert answer.encodings == ()
    assert answer.notes == ("not known yet: model_type 'bert' with position_embedding_type 'relative_key'",)


def notes_of(kind, **keys):
    notes = read_config({**LLAMA, "max_position_embeddings": 4096, **keys}).notes
    return [note for note in notes if note.startswith(kind)]


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024, "beta_fast": 32, "beta_slow": 1}
YARN["truncate"] = True


@pytest.mark.parametrize(
    ("kind", "says", "keys"),
    [
        ("ignored", ["rope_interleaved = false"], {"rope_interleaved": False}),
        ("ignored", ["rope_scaling.beta_max"], {"rope_scaling": {**YARN, "beta_max": 1}}),
        ("ignored", ["mrope_section"], {"rope_scaling": {"type": "default", "mrope_section": [16, 24, 24]}}),
        ("ignored", ["partial_rotary_factor"], {"partial_rotary_factor": 0.5}),
        ("ignored", ["original_max_position_embeddings"], {"original_max_position_embeddings": 1024}),
        ("defaulted", ["beta_fast"], {"rope_scaling": {k: v for k, v in YARN.items() if k != "beta_fast"}}),
        ("defaulted", ["max_position_embeddings 4096 stands in"], {"rope_scaling": YARN | dict.fromkeys(list(YARN)[2:3])}),
        ("contradictory", ["rope_type is used", "former"], {"rope_scaling": {**YARN, "type": "linear"}}),
        ("contradictory", ["factor 2"], {"rope_scaling": {**YARN, "factor": 2.0}}),
        ("contradictory", ["rope_theta"], {"rope_scaling": {**YARN, "rope_theta": 2e4}}),
        ("contradictory", ["2048", "1024"], {"rope_scaling": YARN, "original_max_position_embeddings": 2048}),
        ("contradictory", ["differ"], {"rope_scaling": YARN, "rope_parameters": {"rope_type": "default"}}),
        ("unusual", ["a step"], {"rope_scaling": {**YARN, "beta_fast": 1}}),
        ("unusual", ["below 1"], {"rope_scaling": {"type": "linear", "factor": 0.5}}),
        ("unusual", ["older name"], {"rope_scaling": {"type": "su", "short_factor": [1] * 64, "long_factor": [1] * 64}}),
        ("unusual", ["remainder"], {"num_attention_heads": 30, "hidden_size": 4096}),
    ],
)  # fmt: skip
def test_notes(kind, says, keys):
    (note, *_) = notes_of(kind, **keys)
    assert any(word in note for word in says)
    assert notes_of(kind) == []  # nor does every file have it


@pytest.mark.parametrize(
    ("keys", "unknown"),
    [
        ({"hidden_size": None}, {"head_dim", "inv_freq", "rotary_dim"}),
        ({"num_hidden_layers": None}, {"layers"}),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, {"inv_freq", "attention_factor"}),
        ({"rope_scaling": {"type": "yarn", "factor": 2.0}}, {"inv_freq", "attention_factor"}),
        (
            {"rope_scaling": {"type": "longrope", "short_factor": [1] * 64, "long_factor": [2] * 64}}
            | {"original_max_position_embeddings": 4096},
            {"attention_factor"},
        ),
    ],
)
def test_what_the_file_does_not_tell_is_none(keys, unknown):
    answer = read_config({**LLAMA, **keys})
    fields = answer.encodings[0].as_json()
    always = {"part", "seq_len", "max_position_embeddings", "scaling", "axes"}
    assert {key for key, value in fields.items() if value is None} - always == unknown
    assert any(note.startswith("unknown: ") for note in answer.notes)


def test_numbers_may_be_whole_floats():
    whole = read_config(LLAMA)
    floats = read_config({key: float(value) if type(value) is int else value for key, value in LLAMA.items()})
    assert whole == floats


def test_null_counts_as_absent():
    nothing = dict.fromkeys(("rope_scaling", "rope_parameters", "head_dim", "original_max_position_embeddings"))
    assert read_config({**LLAMA, **nothing}) == read_config(LLAMA)


def test_a_mapping_is_not_modified_and_equals_the_file():
    path = CONFIGS / "Phi-3.5-mini-instruct.json"
    values = json.loads(path.read_text())
    assert read_config(values) == read_config(path) == read_config(str(path))
    assert values == json.loads(path.read_text())


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.json")), ids=lambda path: path.stem)
def test_every_file_has_an_answer_of_plain_json(path):
    answer = read_config(path)
    assert json.loads(json.dumps(answer.as_json(), allow_nan=False)) == answer.as_json()
    silent = dict.fromkeys(("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "Nemotron-H-56B-Base-8K"), "nope: layers")
    assert bool(answer.encodings) != (path.stem in silent)
    assert path.stem not in silent or any(note.startswith(silent[path.stem]) for note in answer.notes)
    assert hash(answer) == hash(read_config(path))


@pytest.mark.parametrize("model_type", READERS)
def test_every_family_answers_a_file_with_nothing_in_it(model_type):
    answer = read_config({"model_type": model_type})
    assert answer.encodings or any(note.startswith(("unknown: ", "nope: ", "not known yet: ")) for note in answer.notes)
    assert answer.notes


def test_the_json_of_a_rotation():
    file = read("DeepSeek-V3").as_json()
    assert file.keys() == {"model_type", "encodings", "notes"}
    (encoding,) = file["encodings"]
    wanted = {
        "encoding",
        "component",
        "part",
        "layers",
        "layout",
        "head_dim",
        "rotary_dim",
        "base",
        "scaling",
        "inv_freq",
    }
    assert wanted | {"attention_factor", "softmax_factor"} <= encoding.keys()
    assert (encoding["encoding"], encoding["component"], encoding["part"]) == ("rope-yarn", "text", "mla")
    assert encoding["scaling"]["kind"] == "YarnScaling"
    assert encoding["scaling"]["factor"] == 40
    assert len(encoding["inv_freq"]) == 32
