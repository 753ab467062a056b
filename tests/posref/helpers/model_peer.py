"""transformers' own models, made small, and what they hand to their attention: the witness for what a config means."""

from __future__ import annotations

import importlib
import inspect
import json
import math
from pathlib import Path

import numpy as np
import pytest

from posref import rope_apply, rope_cos_sin, rope_inv_freq
from posref.models import QueryScaleEncoding, RopeEncoding
from posref.rotary.axes import rope_axes_cos_sin
from posref.rotary.channelwise import rope_apply_channels

torch = pytest.importorskip("torch", reason="needs torch, which transformers computes with")
transformers = pytest.importorskip("transformers", reason="needs the peers extra (transformers)")

CONFIGS = Path(__file__).parents[2] / "data" / "configs"
U = 2.0**-24  # unit roundoff of float32, in which transformers computes
SHORT = np.array([0, 1, 2, 5, 11, 12])

# sizes that say nothing about positions, so that any model is built in no time
SMALL = {
    **dict.fromkeys(("intermediate_size", "moe_intermediate_size", "shared_expert_intermediate_size"), 8),
    **dict.fromkeys(
        ("shared_intermediate_size", "ffn_hidden_size", "expert_ffn_hidden_size", "intermediate_size_mlp"), 8
    ),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "v_head_dim"), 8),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 2),
    **dict.fromkeys(("num_experts_per_tok", "n_group", "topk_group", "n_shared_experts", "first_k_dense_replace"), 1),
    **dict.fromkeys(("linear_num_key_heads", "linear_num_value_heads"), 2),
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim"), 16),
    **dict.fromkeys(("index_n_heads",), 2),
    "vocab_size": 32,
    "vocab_size_per_layer_input": 32,
    "hidden_size_per_layer_input": 0,
    "num_kv_shared_layers": 0,
    "index_topk": 4,
    "index_head_dim": 48,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "num_key_value_heads": 4,
}
XDROPE = {"rope_scaling": {"type": "xdrope", "alpha": 1000.0, "factor": 1.0, "xdrope_section": [4] * 4}}
# what single families need to be small
OWN = {
    "gemma4_text": {"global_head_dim": 64},
    "gemma4_unified_text": {"global_head_dim": 64},
    "granitemoehybrid": {
        "position_embedding_type": "rope",
        "layer_types": ["mamba", "attention", "mamba", "attention", "attention"],
        "mamba_n_heads": 8,
        "mamba_d_head": 32,
        "mamba_n_groups": 1,
        "mamba_d_state": 4,
        "num_local_experts": 0,
    },
    "longcat_flash": {"num_hidden_layers": 10, "num_layers": 5, "zero_expert_num": 1, "num_experts_per_tok": 2},
    "lfm2_moe": {"layer_types": ["conv", "full_attention", "conv", "conv", "full_attention"], "num_dense_layers": 1},
    "lfm2": {"full_attn_idxs": [1, 4], "block_ff_dim": 8},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 4, "mamba_n_groups": 1},
    "jetmoe": {"kv_channels": 32, "num_key_value_heads": 4},
    "ernie4_5_vl_moe_text": {"moe_intermediate_size": [8, 8], "moe_k": 1},
    "bailing_hybrid": {"layer_group_size": 3},
    "gemma3n_text": {"laurel_rank": 4, "altup_num_inputs": 2, "activation_sparsity_pattern": [0.0] * 5}
    | {"hidden_size_per_layer_input": 8},
    "minicpm3": {"head_dim": None},
    "bamba": {
        "attn_layer_indices": [1, 3],
        "mamba_n_heads": 8,
        "mamba_d_head": 32,
        "mamba_n_groups": 1,
        "mamba_d_state": 4,
    },
    "mllama_text_model": {"cross_attention_layers": [2]},
    "deepseek_v4": {
        "compress_ratios": [0, 4, 128, 0, 4],
        "head_dim": 64,
        "qk_rope_head_dim": 32,
        "o_groups": 2,
        "o_lora_rank": 8,
        "hc_mult": 2,
        "num_hash_layers": 0,
    },
    "esm": {"position_embedding_type": "rotary", "mask_token_id": 3},
    "mistral4": {"qk_nope_head_dim": 32, "head_dim": 64},
    "hunyuan_vl_text": XDROPE,
}
MROPE = {"rope_scaling": {"type": "default", "mrope_section": [4, 6, 6]}}
OWN |= dict.fromkeys(
    ("qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text", "paddleocr_vl_text", "glm_image_text"), MROPE
)
OWN["embedding_gemma2_text"] = {"hidden_size_per_layer_input": 8}
OWN["moonshine_streaming"] = {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}}
OWN["cosmos3_edge_text"] = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e8, "mrope_section": [6, 5, 5]}}
PARTIAL = {"rope_type": "default", "mrope_section": [2, 3, 3], "partial_rotary_factor": 0.5}
OWN |= {name: {"rope_parameters": PARTIAL} for name in ("glm4v_text", "glm4v_moe_text", "glm_ocr_text")}
OWN["ernie4_5_vl_moe_text"] |= {"rope_scaling": {"type": "default", "mrope_section": [6, 6, 4]}}


class Captured(list):
    """What a model hands to its attention: layer, query, key, scale."""

    def __call__(self, module, query, key, value, attention_mask, scaling=None, **kwargs):
        layer = getattr(module, "layer_idx", None)
        key = key[..., : query.shape[-2], :]  # what follows are compressed keys, with positions of their own
        self.append((layer, query.double().numpy(), key.double().numpy(), scaling))
        # no attention: then all layers see the same input at all positions
        return torch.zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[-1]), None


captured = Captured()
transformers.AttentionInterface.register("captured", captured)
transformers.AttentionMaskInterface.register("captured", transformers.masking_utils.sdpa_mask)


def config_of(values):
    """The config of a file's values; the class may change what it is given."""
    return transformers.CONFIG_MAPPING[values["model_type"]](**json.loads(json.dumps(values)))


def build(values):
    """A model for token ids, of this config."""
    config = config_of(values)
    torch.manual_seed(0)
    try:
        model = transformers.AutoModel.from_config(config, attn_implementation="captured")
    except ValueError:  # a part of a larger model, which AutoModel does not know by itself
        model = text_class(config)._from_config(config, attn_implementation="captured")
    return model.eval().float()


def text_class(config):
    """The class of the model's module that takes token ids and has this kind of config."""
    classes = [value for value in vars(modeling(config)).values() if inspect.isclass(value)]
    classes = [c for c in classes if issubclass(c, transformers.PreTrainedModel) and c.__name__.endswith("Model")]
    (found,) = (c for c in classes if isinstance(config, getattr(c, "config_class", None) or ()) and takes_ids(c))
    return found


def takes_ids(model_class):
    return "forward" in vars(model_class) and "input_ids" in inspect.signature(model_class.forward).parameters


def modeling(config):
    """The module that has the classes for a config: its own, or that of the model that it is to be read as."""
    if type(config) in transformers.AutoModel._model_mapping:
        return importlib.import_module(transformers.AutoModel._model_mapping[type(config)].__module__)
    return importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))


def rotary_class(config):
    """The one class of the model's module that makes cos and sin of text from a config."""
    module = modeling(config)
    names = [n for n in vars(module) if n.endswith("RotaryEmbedding") and "DiT" not in n]
    names = [n for n in names if "Vision" not in n or "VisionText" in n]
    (name,) = (n for n in names if len(names) == 1 or "Text" in n)
    return getattr(module, name)


def small(model_type, **more):
    """A config of five layers, so that a pattern of every second, third or fourth layer would show."""
    shape = {"hidden_size": 128, "num_attention_heads": 4, "num_hidden_layers": 5, "head_dim": 32}
    shape |= {"qk_nope_head_dim": 16, "qk_rope_head_dim": 32}
    if model_type in ("gptj", "codegen"):
        shape |= {"rotary_dim": 16}
    return {"model_type": model_type, **shape, **SMALL, **OWN.get(model_type, {}), **more}


def attention_inputs(model, positions):
    """What the model's attention gets for tokens at these positions: of shape (tokens,), or (axes, tokens)."""
    captured.clear()
    count = positions.shape[-1]
    ids = torch.as_tensor(positions)
    with torch.no_grad():
        given = {"position_ids": ids[None] if ids.ndim == 1 else ids[:, None]}
        model(input_ids=torch.arange(3, 3 + count)[None], **given, use_cache=False)
    return list(captured)


def frequency_bound(encoding):
    """Per pair. A float32 power errs by u (1 + ln b) relatively (its exponent by u/2), the roundings around it by some u; a blend
    adds a few u times the plain frequency: 4 u (8 + ln b) max(scaled, plain) is ample, and 10^3 times below a base off by 1%.
    """
    plain = rope_inv_freq(encoding.rotary_dim, base=encoding.base)
    plain = np.maximum(plain, encoding.inv_freq)
    plain[np.asarray(encoding.inv_freq) == 0] = 0  # such a pair is set, not computed
    return 4 * U * (8 + math.log(encoding.base)) * plain


def frequency_error(encoding, inv_freq):
    """The worst error of transformers' frequencies as a multiple of the bound."""
    error = np.abs(np.asarray(inv_freq, dtype=np.float64) - encoding.inv_freq)
    return np.max(np.where(error == 0, 0, error / np.maximum(frequency_bound(encoding), 1e-300)))


def tables(encoding, positions):
    """Cos and sin, the angles, and how far off they may be."""
    w = np.asarray(encoding.inv_freq)
    if encoding.axes is None:
        cos, sin = rope_cos_sin(positions, w, attention_factor=encoding.attention_factor)
        own = np.abs(positions)[:, None]
    else:
        axes = np.asarray(encoding.axes.map)
        w = np.tile(w, len(axes) // len(w))  # one per channel where the axes are those of channels
        rows = positions if positions.ndim == 2 else np.tile(positions, (len(encoding.axes.names), 1))
        cos, sin = rope_axes_cos_sin(rows, w, axes, attention_factor=encoding.attention_factor)
        own = np.abs(rows[axes].T)
    bound = np.tile(frequency_bound(encoding), len(w) // len(encoding.inv_freq))
    return cos, sin, own * bound + 2 * U * own * w


def rotation_error(encoding, unrotated, rotated, positions):
    """The worst error of a rotation as a multiple of the bound: the phase's, from frequency and product, and some roundings."""
    cos, sin, phase = tables(encoding, positions)
    if encoding.inverse:
        sin = -sin
    offset = encoding.offset if unrotated.shape[-1] == encoding.head_dim else unrotated.shape[-1] - encoding.rotary_dim
    cos, sin = cos / encoding.attention_factor, sin / encoding.attention_factor  # position 0 has the factor already
    if encoding.encoding == "rope-xdrope-transformers":
        wanted = rope_apply_channels(unrotated, cos, sin, layout=encoding.output_layout)
        # HunYuan normalizes after it, and this is no rotation: lengths have changed
        wanted = (
            wanted * np.linalg.norm(unrotated, axis=-1, keepdims=True) / np.linalg.norm(wanted, axis=-1, keepdims=True)
        )
    else:
        wanted = rope_apply(unrotated, cos, sin, layout=encoding.output_layout, offset=offset)
    bound = 2 * np.abs(unrotated).max() * (phase.max(axis=-1, keepdims=True) + 8 * U)
    return np.max(np.abs(rotated - wanted) / bound)


def assert_same_rotations(encodings, model, positions):
    """Each layer's queries and keys are rotated as an encoding says, or not at all where none has the layer."""
    zero, moved = (attention_inputs(model, p) for p in (np.zeros_like(positions), positions))
    assert zero
    heads = [e for e in encodings if isinstance(e, RopeEncoding) and e.part != "indexer"]
    scales = [e for e in encodings if isinstance(e, QueryScaleEncoding)]
    seen = set()
    for (layer, q0, k0, _), (again, q, k, _) in zip(zero, moved, strict=True):
        assert layer == again
        if model.config.model_type == "longcat_flash":  # a layer has two attentions
            layer //= 2
        rotation = [e for e in heads if layer is None or layer in e.layers]
        q = q / query_scale([e for e in scales if layer in e.layers], positions)
        seen.add(layer)
        if not rotation:
            assert np.abs(q - q0).max() <= 4 * U * np.abs(q0).max()
            assert np.array_equal(k, k0)
            continue
        assert rotation_error(rotation[0], q0, q, positions) <= 1
        assert rotation_error(rotation[0], k0, k, positions) <= 1
    if None not in seen:
        assert {layer for e in heads for layer in e.layers} <= seen


def query_scale(scales, positions):
    """The factor on queries, by the rule in words of its record."""
    if not scales:
        return 1.0
    (scale,) = scales
    assert scale.rule == "llama4"
    return (1 + scale.beta * np.log1p(np.floor((positions + scale.shift) / scale.length)))[:, None]


def inv_freq_of(rotary, kind=None):
    """The frequencies of a rotary class, or of one of its kinds of layers."""
    if kind is not None and hasattr(rotary, f"{kind}_inv_freq"):
        return getattr(rotary, f"{kind}_inv_freq").double().numpy()
    if hasattr(rotary, "inv_freq"):
        return rotary.inv_freq.double().numpy()
    # GPT-J's table: the sines of position 1 are those of the frequencies
    sin_cos = rotary.embed_positions.double().numpy()
    return np.arcsin(sin_cos[1, : sin_cos.shape[1] // 2])
