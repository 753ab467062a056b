"""What frameworks make of single models and files, and what ``posref show --compare`` says; see test_frameworks."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from framework_readings import CONFIGS, LLAMA, OTHERS, YARN, one, scaled, told

from posref import Llama3Scaling, NTKScaling
from posref.models import QueryScaleEncoding, read_config
from posref.models.compare import compare, compare_readings
from posref.models.frameworks import FRAMEWORKS


@pytest.mark.parametrize(
    ("framework", "model_type"),
    [("mlx", "qwen3_moe"), ("mlx", "mixtral"), ("mlx", "cohere"), ("sglang", "mixtral"), ("sglang", "starcoder2")],
)
def test_models_that_drop_the_scaling(framework, model_type):
    """Some of mlx-lm's and sglang's models hand the base to a plain rotation, and nothing else."""
    values = scaled(YARN, model_type=model_type, head_dim=128)
    found = one(values, framework)
    assert (found.scaling, found.attention_factor) == (None, 1.0)
    assert found.inv_freq == one({**values, "rope_scaling": None}).inv_freq
    assert one(values).scaling is not None
    told_so = f"ignored: rope_scaling, of type 'yarn': {framework}'s model takes the base alone"
    assert told_so in read_config(values, framework=framework).notes
    angles, lines = told(values)
    assert angles[framework] > 1
    assert "no scaling" in lines[framework]


@pytest.mark.parametrize("model_type", ["mixtral", "starcoder2", "cohere2"])
def test_bases_that_are_not_there(model_type):
    """Of mlx-lm: 1e6, 1e5, 5e4."""
    values = {key: value for key, value in LLAMA.items() if key != "rope_theta"} | {"model_type": model_type}
    wanted = {"mixtral": 1e6, "starcoder2": 1e5, "cohere2": 5e4}[model_type]
    assert one({**values, "sliding_window": 8}, "mlx").base == wanted


def test_pairs_beyond_their_section():
    """Qwen3-VL's [24, 20, 20]: ggml's operation gives pairs 61 and 62 to a fourth axis, which is 0 for text."""
    path = CONFIGS / "Qwen3-VL-2B-Instruct.json"
    ggml = next(e for e in read_config(path, framework="ggml").encodings if e.component == "text")
    assert [i for i, axis in enumerate(ggml.axes.map) if axis == ggml.axes.names.index("none")] == [61, 62]
    comparison = compare_readings(path, seq_len=262144)
    (found,) = (d for d in comparison.differences if d.framework == "ggml")
    # 262143 * 5e6^(-122/128): 0.108 rad of pair 61, which does not turn at all in llama.cpp
    assert found.angle == pytest.approx(262143 * 5e6 ** (-122 / 128), rel=1e-12)
    assert (found.pair, round(found.angle, 3)) == (61, 0.108)
    assert {d.angle for d in comparison.differences if d.framework != "ggml"} == {0.0}
    assert read_config(path, framework="mlx").encodings[0].axes is None  # positions of text only


def test_queries_that_grow():
    """Llama 4 counts a query's position from 1, Ministral 3 from 0: not the framework decides, but the model."""
    llama4 = {**LLAMA, "model_type": "llama4_text", "num_hidden_layers": 4, "head_dim": 128, "floor_scale": 1024}
    block = {**YARN, "rope_theta": 1e6, "llama_4_scaling_beta": 0.1}
    ministral = {**LLAMA, "model_type": "ministral3", "rope_parameters": block, "head_dim": 128, "rope_theta": None}
    shifts = {}
    for name, values in (("llama4", llama4), ("ministral3", ministral)):
        for framework in ("transformers", "vllm", "sglang"):
            scales = [
                e for e in read_config(values, framework=framework).encodings if isinstance(e, QueryScaleEncoding)
            ]
            shifts.setdefault(name, set()).update(e.shift for e in scales)
    assert shifts == {"llama4": {1}, "ministral3": {0}}
    _, lines = told(ministral)
    assert "attention_factor 1.138629436;" in lines["transformers"]
    assert "attention_factor 1;" in lines["exllamav3"]  # the growth supersedes YaRN's factor there


def test_deepseek():
    """Latent attention in vLLM and sglang: always rounded, always the ratio, no ``attention_factor``; sglang has its own key."""
    values = json.loads((CONFIGS / "DeepSeek-V3.json").read_text())
    block = {**values["rope_scaling"], "mscale": 1.0, "mscale_all_dim": 0.5, "attention_factor": 3.0, "truncate": False}
    g = [0.1 * m * math.log(40) + 1 for m in (1.0, 0.5)]
    changed = {**values, "rope_scaling": block}
    assert one(changed).attention_factor == 3.0
    for name in ("vllm", "sglang"):
        assert one(changed, name).attention_factor == pytest.approx(g[0] / g[1], rel=1e-15)
        assert one(changed, name).inv_freq == one(values, name).inv_freq
    assert one(changed).inv_freq != one(values).inv_freq


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.json")), ids=lambda path: path.stem)
def test_every_file(path, capsys):
    """Each has a comparison, in which the frameworks agree or say in what they do not; what is not known is said."""
    assert compare(path, as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer["readings"]) == list(FRAMEWORKS)
    rotating = [
        e for e in answer["readings"]["transformers"]["encodings"] if "inv_freq" in e and e["component"] == "text"
    ]
    compared = {d["encoding"] for d in answer["differences"]}
    assert len(compared) == len(rotating)
    for name in OTHERS:
        there = {d["encoding"] for d in answer["differences"] if d["framework"] == name}
        notes = answer["readings"][name]["notes"]
        assert there == compared or any(note.startswith(("not known yet", "refused")) for note in notes)
    assert all(d["angle"] in (0, None) for d in answer["differences"] if d["framework"] == "transformers")


def test_compare_refuses_what_show_refuses(tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(scaled({"type": "magic"})))
    assert compare(path) == 2
    assert "rope_scaling.type must be one of 'default', 'linear'" in capsys.readouterr().err
    assert compare(tmp_path / "none.json") == 2
    assert capsys.readouterr().err.endswith("No such file or directory\n")


def test_a_model_without_rotation(capsys):
    assert compare(CONFIGS / "gpt2.json") == 0
    assert "no rotation of text to compare" in capsys.readouterr().out


def test_vllm_has_gte_s_ntk():
    keys = {**LLAMA, "rope_scaling": {"type": "ntk", "factor": 8.0, "mixed_b": 0.5}}
    (encoding,) = read_config(keys, framework="vllm").encodings
    assert encoding.scaling == NTKScaling(8.0, "mixed", 0.5)
    with pytest.raises(ValueError, match="or of single models 'ntk', 'xdrope'"):
        read_config(keys)


def test_what_several_frameworks_say_alike_is_said_once(tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA, "model_type": "helium", "head_dim": 128}))
    assert compare(path) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("not known yet") == 1
    assert "its model in vllm, sglang, mlx, exllamav3, ggml" in out


def test_llama_cpp_s_converter_looks_for_the_length_beside_the_block():
    """Pair i of 64 has wavelength 2 pi 10^(i/16); from 8192 on it is divided, below 2048 it is not."""
    block = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    inner = one(scaled({**block, "original_max_position_embeddings": 1024}), "ggml")
    assert inner.scaling == Llama3Scaling(8.0, 8192, 1.0, 4.0)
    plain = 10000.0 ** (-np.arange(64) / 64)
    ratio = plain / np.asarray(inner.inv_freq)
    np.testing.assert_allclose(ratio[[0, 40, 50, 63]], [1, 1, 8, 8], rtol=1e-14)
    assert 1 < ratio[46] < 8  # 4709 tokens
    outer = one(scaled(block, original_max_position_embeddings=1024), "ggml")
    assert outer.scaling.original_max_position_embeddings == 1024
    linear = one(scaled({"type": "linear", "factor": 4.0}), "ggml").inv_freq
    np.testing.assert_allclose(linear, plain / 4, rtol=8e-15)


@pytest.mark.parametrize(("seq_len", "divisor"), [(None, 8.0), (1024, 2.0), (1025, 8.0)])
def test_llama_cpp_chooses_longrope_s_factors_once(seq_len, divisor):
    block = {"type": "longrope", "short_factor": [2.0] * 64, "long_factor": [8.0] * 64, "factor": 99.0}
    file = scaled(block, model_type="phi3", original_max_position_embeddings=1024)
    encoding = one(file, "ggml", seq_len=seq_len)
    assert encoding.inv_freq[0] == 1 / divisor
    assert encoding.attention_factor == pytest.approx(math.sqrt(1 + math.log(4) / math.log(1024)), rel=1e-15)


def test_families_that_drop_the_scaling_or_need_their_keys():
    neox = {**LLAMA, "model_type": "gpt_neox", "rotary_emb_base": 20000, "rotary_pct": 0.25, "rope_theta": None}
    encoding = one({**neox, "rope_scaling": {"type": "linear", "factor": 4.0}}, "mlx")
    assert (encoding.base, encoding.rotary_dim, encoding.scaling) == (20000, 32, None)
    glm = {**LLAMA, "model_type": "glm4_moe", "partial_rotary_factor": 0.5}
    assert one(glm, "mlx").rotary_dim == one(glm, "exllamav3").rotary_dim == 64
    bare = read_config({**LLAMA, "model_type": "glm4_moe"}, framework="exllamav3")
    assert bare.encodings == ()
    assert "no partial_rotary_factor in exllamav3" in bare.notes[0]
    blocks = {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}, "sliding_attention": {}}
    gemma = {
        **LLAMA,
        "model_type": "gemma3_text",
        "num_hidden_layers": 6,
        "rope_parameters": blocks,
        "rope_theta": None,
    }
    theirs = read_config(gemma, framework="sglang").encodings
    assert [e.scaling for e in theirs] == [None, None]
    assert {e.encoding for e in read_config(gemma).encodings} == {"rope", "rope-linear"}
