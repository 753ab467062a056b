"""What is read as rotary, against transformers' own models: their frequencies, their factors, and what their attention gets."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

from posref import rope_apply, rope_cos_sin, rope_inv_freq
from posref.models import READERS, RopeEncoding, read_config

torch = pytest.importorskip("torch", reason="needs torch, which transformers computes with")
transformers = pytest.importorskip("transformers", reason="needs the peers extra (transformers)")

pytestmark = pytest.mark.peers

CONFIGS = Path(__file__).parents[2] / "data" / "configs"
U = 2.0**-24  # unit roundoff of float32, in which transformers computes

# sizes that say nothing about positions, so that any model is built in no time
SMALL = {
    **dict.fromkeys(("intermediate_size", "moe_intermediate_size", "shared_expert_intermediate_size"), 8),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "v_head_dim"), 8),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 2),
    **dict.fromkeys(("num_experts_per_tok", "n_group", "topk_group", "n_shared_experts", "first_k_dense_replace"), 1),
    "vocab_size": 32,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "num_key_value_heads": 4,
}
ELSEWHERE = {
    "falcon": "its attention does not go through the common interface; compared below",
    "kimi_k2": "transformers knows it under Kimi K2.5 only, and rewrites it to deepseek_v3",
}
ROTARY = [
    name
    for name in sorted(READERS)
    if name not in ELSEWHERE and isinstance(read_config({"model_type": name}).encodings[0], RopeEncoding)
]


class Captured(list):
    """What a model hands to its attention, layer by layer: query, key, scale."""

    def __call__(self, module, query, key, value, attention_mask, scaling=None, **kwargs):
        self.append((query.double().numpy(), key.double().numpy(), scaling))
        # no attention: then all layers see the same input at all positions
        return torch.zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[-1]), None


captured = Captured()
transformers.AttentionInterface.register("captured", captured)


def config_of(values):
    return transformers.CONFIG_MAPPING[values["model_type"]](**json.loads(json.dumps(values)))


def build(values):
    torch.manual_seed(0)
    return transformers.AutoModel.from_config(config_of(values), attn_implementation="captured").eval().float()


def attention_inputs(model, positions):
    captured.clear()
    with torch.no_grad():
        tokens = torch.arange(3, 3 + len(positions))[None]
        model(input_ids=tokens, position_ids=torch.as_tensor(positions)[None], use_cache=False)
    return list(captured)


def frequency_bound(encoding):
    """Per pair. A float32 power errs by u (1 + ln b) relatively (its exponent by u/2), the roundings around it by some u; a blend
    adds a few u times the plain frequency: 4 u (8 + ln b) max(scaled, plain) is ample, and 10^3 times below a base off by 1%.
    """
    plain = rope_inv_freq(encoding.rotary_dim, base=encoding.base)
    return 4 * U * (8 + math.log(encoding.base)) * np.maximum(plain, encoding.inv_freq)


def frequency_error(encoding, inv_freq):
    """The worst error of transformers' frequencies as a multiple of the bound."""
    return np.max(np.abs(np.asarray(inv_freq, dtype=np.float64) - encoding.inv_freq) / frequency_bound(encoding))


def rotation_error(encoding, unrotated, rotated, positions):
    """The worst error of a rotation as a multiple of the bound: the phase's, from frequency and product, and some roundings."""
    cos, sin = rope_cos_sin(positions, encoding.inv_freq)
    offset = encoding.offset if unrotated.shape[-1] == encoding.head_dim else unrotated.shape[-1] - encoding.rotary_dim
    wanted = rope_apply(unrotated, cos, sin, layout=encoding.output_layout, offset=offset)
    angle = np.abs(positions)[:, None] * np.asarray(encoding.inv_freq)
    phase = np.abs(positions)[:, None] * frequency_bound(encoding) + 2 * U * angle
    bound = 2 * np.abs(unrotated).max() * (phase.max(axis=-1, keepdims=True) + 8 * U)
    return np.max(np.abs(rotated - wanted) / bound)


def assert_same_rotations(encoding, model, positions):
    zero, moved = attention_inputs(model, np.zeros_like(positions)), attention_inputs(model, positions)
    layers = len(encoding.layers)
    assert len(zero) % layers == 0  # DiffLlama calls its attention twice per layer
    assert len(zero) // layers in (1, 2)
    for (q0, k0, _), (q, k, _) in zip(zero, moved, strict=True):
        assert rotation_error(encoding, q0, q, positions) <= 1
        assert rotation_error(encoding, k0, k, positions) <= 1


def inv_freq_of(rotary):
    if hasattr(rotary, "inv_freq"):
        return rotary.inv_freq.double().numpy()
    sin_cos = (
        rotary.embed_positions.double().numpy()
    )  # GPT-J's table: the sines of position 1 are those of the frequencies
    return np.arcsin(sin_cos[1, : sin_cos.shape[1] // 2])


SHORT = np.array([0, 1, 2, 5, 11, 12])


def small(model_type, **more):
    """A config of five layers, so that a pattern of every second, third or fourth layer would show."""
    shape = {"hidden_size": 128, "num_attention_heads": 4, "num_hidden_layers": 5, "head_dim": 32}
    if model_type.startswith("deepseek"):
        shape |= {"qk_nope_head_dim": 16, "qk_rope_head_dim": 32}
    if model_type in ("gptj", "codegen"):
        shape |= {"rotary_dim": 16}
    return {"model_type": model_type, **shape, **SMALL, **more}


@pytest.mark.parametrize("model_type", ROTARY)
def test_every_family(model_type):
    values = small(model_type)
    (encoding,) = read_config(values).encodings
    model = build(values)
    assert frequency_error(encoding, inv_freq_of(model.rotary_emb)) <= 1
    assert math.isclose(getattr(model.rotary_emb, "attention_scaling", 1.0), encoding.attention_factor, rel_tol=1e-14)
    assert_same_rotations(encoding, model, SHORT)


@pytest.mark.parametrize("model_type", [name for name in ROTARY if name not in ("gptj", "codegen")])
def test_the_defaults_of_every_family(model_type):
    """Base, head_dim, rope block: what the class has when the file has nothing but the width."""
    values = {"model_type": model_type, "hidden_size": 160, "num_attention_heads": 2}
    (encoding,) = read_config(values).encodings
    config = config_of(values)
    assert config.rope_parameters["rope_theta"] == encoding.base
    rotary = rotary_class(config)(config)
    assert frequency_error(encoding, inv_freq_of(rotary)) <= 1
    assert math.isclose(rotary.attention_scaling, encoding.attention_factor, rel_tol=1e-14)


def rotary_class(config):
    """The one class of the model's module that makes cos and sin from a config."""
    module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    (name,) = (name for name in vars(module) if name.endswith("RotaryEmbedding"))
    return getattr(module, name)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"base": 10001.0}, "frequency"),
        ({"base": 10100.0}, "rotation"),
        ({"output_layout": "interleaved"}, "rotation"),
        ({"rotary_dim": 30}, "rotation"),
        ({"scaling": "linear"}, "frequency"),
    ],
)
def test_the_comparison_can_fail(fault, says):
    values = small("llama")
    wrong = dict(values, rope_theta=fault.get("base"))
    if fault.get("scaling"):
        wrong["rope_scaling"] = {"type": "linear", "factor": 1.0001}
    (encoding,) = read_config(wrong).encodings
    if "output_layout" in fault:
        object.__setattr__(encoding, "output_layout", "interleaved")
    if "rotary_dim" in fault:
        object.__setattr__(encoding, "rotary_dim", 30)
        object.__setattr__(encoding, "inv_freq", tuple(rope_inv_freq(30)))
    model = build(values)
    if says == "frequency":
        assert frequency_error(encoding, inv_freq_of(model.rotary_emb)) > 5
        return
    (q0, *_), *_ = attention_inputs(model, np.zeros_like(SHORT))
    (q, *_), *_ = attention_inputs(model, SHORT)
    assert rotation_error(encoding, q0, q, SHORT) > 5


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LISTS = {"short_factor": [1 + 0.1 * i for i in range(16)], "long_factor": [2 + i for i in range(16)]}
BLOCKS = {
    "default": {"rope_type": "default"},
    "theta inside": {"rope_type": "default", "rope_theta": 5e5},
    "linear, older spelling": {"type": "linear", "factor": 8.0},
    "both spellings": {"rope_type": "linear", "type": "yarn", "factor": 8.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0},
    "yarn": YARN,
    "yarn, untruncated": {**YARN, "truncate": False},
    "yarn, betas": {**YARN, "beta_fast": 16, "beta_slow": 2},
    "yarn, betas of 0": {**YARN, "beta_fast": 0, "beta_slow": 0},
    "yarn, a step": {**YARN, "beta_fast": 1.0, "beta_slow": 1.0},
    "yarn, attention factor": {**YARN, "attention_factor": 1.25},
    "yarn, both mscales": {**YARN, "mscale": 0.707, "mscale_all_dim": 1.0},
    "yarn, one mscale": {**YARN, "mscale": 0.707, "mscale_all_dim": 0.0},
    "yarn, factor null": {**YARN, "factor": None},
    "yarn, length from outside": {"rope_type": "yarn", "factor": 4.0},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    | {"original_max_position_embeddings": 64},
    "longrope": {"rope_type": "longrope", **LISTS, "original_max_position_embeddings": 64},
    "longrope, factor": {"rope_type": "longrope", **LISTS, "factor": 32.0, "original_max_position_embeddings": 64},
    "longrope, attention factor": {"rope_type": "longrope", **LISTS, "attention_factor": 1.5}
    | {"original_max_position_embeddings": 64},
}


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_every_rope_type(block, key):
    values = small("llama", max_position_embeddings=256, rope_theta=1e4, **{key: block})
    if "rope_theta" in block:
        del values["rope_theta"]
    model = build(values)
    for positions in (SHORT, np.array([0, 1, 63, 64, 300, 700])):  # the latter beyond both lengths
        seq_len = int(positions.max()) + 1
        (encoding,) = read_config(values, seq_len=seq_len).encodings
        assert_same_rotations(encoding, model, positions)
        assert frequency_error(encoding, inv_freq_of(model.rotary_emb)) <= 1
        assert math.isclose(model.rotary_emb.attention_scaling, encoding.attention_factor, rel_tol=1e-14)


PRECEDENCE = {
    "theta in both": {"rope_theta": 2e4, "rope_parameters": {"rope_type": "default", "rope_theta": 3e4}},
    "both blocks": {"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": {"rope_type": "default"}},
    "an empty block": {"rope_scaling": {}, "rope_parameters": {"rope_type": "linear", "factor": 2.0}},
    "length in both": {"original_max_position_embeddings": 128, "rope_scaling": YARN},
    "length outside": {"original_max_position_embeddings": 128, "rope_scaling": {"type": "yarn", "factor": 4.0}},
}


@pytest.mark.parametrize("keys", PRECEDENCE.values(), ids=PRECEDENCE)
def test_which_key_wins(keys):
    values = small("llama", max_position_embeddings=256, **keys)
    answer = read_config(values)
    config = config_of(values)
    assert frequency_error(answer.encodings[0], inv_freq_of(rotary_class(config)(config))) <= 1
    assert config.rope_parameters["rope_theta"] == answer.encodings[0].base


PARTIAL = {
    "gpt_neox": {"rotary_pct": 0.5, "rotary_emb_base": 20000},
    "phi": {"partial_rotary_factor": 0.25},
    "phi3": {"partial_rotary_factor": 0.75},
    "persimmon": {"partial_rotary_factor": 0.27},  # of 32 channels: 8.64, which is rounded down
    "stablelm": {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}},
    "glm4": {"partial_rotary_factor": 0.75, "rope_parameters": {"rope_type": "linear", "factor": 2.0}},
    "nemotron": {
        "partial_rotary_factor": 0.25,
        "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5},
    },
}


@pytest.mark.parametrize("model_type", PARTIAL)
def test_partial_rotary(model_type):
    values = small(model_type, **PARTIAL[model_type])
    (encoding,) = read_config(values).encodings
    model = build(values)
    assert encoding.rotary_dim == 2 * model.rotary_emb.inv_freq.numel()
    assert frequency_error(encoding, inv_freq_of(model.rotary_emb)) <= 1
    assert_same_rotations(encoding, model, SHORT)


@pytest.mark.parametrize("kind", ["su", "yarn", "longrope"])
def test_older_names_of_longrope_in_phi3(kind):
    block = {"type": kind, **LISTS}
    if kind == "su":  # transformers 5.24 renames it too late to move the length in by itself, and refuses the file
        block["original_max_position_embeddings"] = 64
    values = small("phi3", max_position_embeddings=8192, original_max_position_embeddings=64, rope_scaling=block)
    model = build(values)
    for positions in (SHORT, np.array([0, 1, 63, 64, 300, 700])):
        (encoding,) = read_config(values, seq_len=int(positions.max()) + 1).encodings
        assert_same_rotations(encoding, model, positions)
        assert math.isclose(model.rotary_emb.attention_scaling, encoding.attention_factor, rel_tol=1e-14)


def test_the_original_length_that_phi3_assumes():
    values = small("phi3", max_position_embeddings=8192, rope_scaling={"type": "longrope", **LISTS})
    (encoding,) = read_config(values).encodings
    assert encoding.scaling.original_max_position_embeddings == config_of(values).original_max_position_embeddings


DEEPSEEK = {"type": "yarn", "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707}


@pytest.mark.parametrize("model_type", ["deepseek_v2", "deepseek_v3"])
@pytest.mark.parametrize(
    "block", [None, DEEPSEEK, {**DEEPSEEK, "mscale_all_dim": 1.0}, {**DEEPSEEK, "mscale_all_dim": 0}]
)
@pytest.mark.parametrize("q_lora_rank", [8, None])
def test_deepseek(model_type, block, q_lora_rank):
    """The factor on all logits, and the layout that comes in: the layer's own projection is compared with what attention gets."""
    values = small(model_type, rope_scaling=block and {**block, "original_max_position_embeddings": 4096})
    values |= {"max_position_embeddings": 163840, "q_lora_rank": q_lora_rank}
    (encoding,) = read_config(values).encodings
    model = build(values)
    attention = model.layers[0].self_attn
    projected = []
    hook = (attention.q_proj if q_lora_rank is None else attention.q_b_proj).register_forward_hook(
        lambda module, args, out: projected.append(out.double().numpy())
    )
    (query, _, scale), *_ = attention_inputs(model, SHORT)
    hook.remove()
    assert math.isclose(scale * math.sqrt(encoding.head_dim), encoding.softmax_factor, rel_tol=1e-14)
    raw = projected[0].reshape(1, len(SHORT), 4, encoding.head_dim).swapaxes(1, 2)[..., encoding.offset :]
    cos, sin = rope_cos_sin(SHORT, encoding.inv_freq, attention_factor=encoding.attention_factor)
    wanted = rope_apply(raw, cos, sin, layout=encoding.layout, output_layout=encoding.output_layout)
    wrong = rope_apply(raw, cos, sin, layout="half")
    rotated = query[..., -encoding.rotary_dim :]
    tolerance = 64 * U * np.abs(raw).max()  # angles to 12, so some 40 u, and a few roundings
    assert np.abs(rotated - wanted).max() <= tolerance
    assert np.abs(rotated - wrong).max() > 1000 * tolerance


def test_deepseek_weights_in_the_half_order():
    values = small("deepseek_v3", rope_interleave=False)
    (encoding,) = read_config(values).encodings
    assert (encoding.layout, encoding.output_layout) == ("half", "half")
    assert_same_rotations(encoding, build(values), SHORT)


FILES = sorted(path.stem for path in CONFIGS.glob("*.json"))


def known_rotary(name):
    encodings = read_config(CONFIGS / f"{name}.json").encodings
    return bool(encodings) and isinstance(encodings[0], RopeEncoding)


@pytest.mark.parametrize("name", [name for name in FILES if known_rotary(name)])
def test_real_files(name):
    """The class's frequencies for the file as it is; then the rotations of a model with small sizes but the file's heads."""
    path = CONFIGS / f"{name}.json"
    values = json.loads(path.read_text())
    if values["model_type"] == "gptj":
        del values["rope_scaling"]  # an addition of mlc-llm's, over which transformers only warns
    config = config_of(values)
    for seq_len in (None, 5000):
        (encoding,) = read_config(path, seq_len=seq_len).encodings
        rotary = rotary_class(config)(config)
        if seq_len is not None and encoding.seq_len is not None:
            rotary(torch.zeros(1), torch.arange(seq_len)[None])
        assert frequency_error(encoding, inv_freq_of(rotary)) <= 1
        assert math.isclose(getattr(rotary, "attention_scaling", 1.0), encoding.attention_factor, rel_tol=1e-14)
    assert len(encoding.layers) == config.num_hidden_layers
    if values["model_type"] in ELSEWHERE:
        return
    for key in ("num_hidden_layers", "n_layer", "layer_types"):
        if key in values:
            values[key] = values[key][:2] if key == "layer_types" else 2
    for key in ("num_attention_heads", "n_head"):
        if key in values:
            values[key] = 4
    for key in ("hidden_size", "n_embd"):
        if key in values:
            values[key] = 4 * encoding.head_dim
    values |= SMALL
    (encoding,) = read_config(values).encodings
    assert_same_rotations(encoding, build(values), SHORT)


def test_falcon():
    module = importlib.import_module("transformers.models.falcon.modeling_falcon")
    values = {"model_type": "falcon", "hidden_size": 128, "num_attention_heads": 4, "num_hidden_layers": 1}
    (encoding,) = read_config(values).encodings
    config = config_of(values)
    rotary = rotary_class(config)(config)
    q = torch.randn(1, 1, len(SHORT), 32, generator=torch.Generator().manual_seed(0))
    rotated, _ = module.apply_rotary_pos_emb(q, q, *rotary(q, torch.as_tensor(SHORT)[None]))
    assert frequency_error(encoding, inv_freq_of(rotary)) <= 1
    assert rotation_error(encoding, q.double().numpy(), rotated.double().numpy(), SHORT) <= 1
