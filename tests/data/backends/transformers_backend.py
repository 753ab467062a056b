"""transformers' Llama rotary embedding, BLOOM's ALiBi and T5's buckets, as a backend: ``posref check transformers_backend.py``.

An example of a backend around code that nobody here wrote. Whatever transformers does not have (interleaved pairs, partial rotary
in Llama, a length that is not read off the positions) raises NotImplementedError or is no keyword.
"""

from dataclasses import fields

import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.t5.modeling_t5 import T5Attention

arrays = "torch"
dtypes = ["float32", "float16", "bfloat16"]  # not float64: frequencies and angles are float32, whatever a model's type
precision = "native"  # tables are cast to the model's type, and so is every product

TYPES = {
    "LinearScaling": "linear",
    "DynamicNTKScaling": "dynamic",
    "YarnScaling": "yarn",
    "Llama3Scaling": "llama3",
    "LongRopeScaling": "longrope",
    "ProportionalScaling": "proportional",
}
ONLY = {  # of fields that transformers does not have, the reading that is its own
    "ramp": ("index",),
    "mscale_rule": ("nonzero",),
    "attn_factor": (1.0,),
    "extrapolation_factor": (1.0,),
    "reversed_range": ("error", "slope"),
    "short_mscale": (None,),
    "long_mscale": (None,),
    "rounding": ("floor",),
}


def _config(dim, base, scaling):
    """A Llama with one head of ``dim`` channels."""
    parameters = {"rope_type": "default", "rope_theta": base}
    length = getattr(scaling, "original_max_position_embeddings", 2048)
    if scaling is not None:
        given = {f.name: getattr(scaling, f.name) for f in fields(scaling)}
        if type(scaling).__name__ not in TYPES or any(given.pop(k, v[0]) not in v for k, v in ONLY.items()):
            raise NotImplementedError(f"transformers has no {scaling}")
        given = {k: list(v) if isinstance(v, tuple) else v for k, v in given.items() if v is not None}
        parameters |= {"rope_type": TYPES[type(scaling).__name__], **given}
    return LlamaConfig(
        hidden_size=dim,
        num_attention_heads=1,
        head_dim=dim,
        max_position_embeddings=length,
        rope_parameters=parameters,
    )


def _embedding(dim, base, scaling, seq_len, positions):
    """The module, if the length that it will read off the positions is the one that is meant."""
    if type(scaling).__name__ in ("DynamicNTKScaling", "LongRopeScaling"):
        length = scaling.original_max_position_embeddings
        read_off = int(positions.max()) + 1 if positions.numel() else 0
        if max(read_off, length) != max(seq_len or length, length):
            raise NotImplementedError("transformers reads the length off the positions")
    return LlamaRotaryEmbedding(_config(dim, base, scaling))


def rope_inv_freq(dim, *, base=10000.0, scaling=None, seq_len=None):
    config = _config(dim, base, scaling)
    if scaling is None:
        return LlamaRotaryEmbedding(config).inv_freq
    return ROPE_INIT_FUNCTIONS[config.rope_parameters["rope_type"]](config, "cpu", seq_len=seq_len)[0]


def rope_attention_factor(scaling):
    pairs = len(getattr(scaling, "short_factor", range(32)))
    return float(LlamaRotaryEmbedding(_config(2 * pairs, 10000.0, scaling)).attention_scaling)


def rope_cos_sin(positions, inv_freq, *, attention_factor=1.0):
    embedding = LlamaRotaryEmbedding(_config(2 * inv_freq.shape[0], 10000.0, None))
    embedding.inv_freq, embedding.attention_scaling = inv_freq, attention_factor
    cos, sin = embedding(inv_freq, positions)
    return cos[..., : inv_freq.shape[0]], sin[..., : inv_freq.shape[0]]


def rope_table(positions, dim, *, base=10000.0, scaling=None, seq_len=None):
    cos, sin = _embedding(dim, base, scaling, seq_len, positions)(torch.empty(0), positions)
    return cos[..., : dim // 2], sin[..., : dim // 2]


def rope_apply(x, cos, sin):
    if 2 * cos.shape[-1] != x.shape[-1]:
        raise NotImplementedError("Llama rotates whole heads")
    cos, sin = (torch.cat((t, t), dim=-1).to(x.dtype) for t in (cos, sin))  # as LlamaRotaryEmbedding returns them
    return apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=0)[0].reshape(x.shape)


def rope(x, positions, *, base=10000.0, scaling=None, seq_len=None):
    cos, sin = _embedding(x.shape[-1], base, scaling, seq_len, positions)(x, positions)
    return apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=0)[0].reshape(x.shape)


def alibi_slopes(num_heads):
    return build_alibi_tensor(torch.ones(1, 2), num_heads, torch.float32)[:, 0, 1]  # the bias of key 1


def t5_bucket(relative_position, *, bidirectional=True, num_buckets=32, max_distance=128):
    return T5Attention._relative_position_bucket(relative_position, bidirectional, num_buckets, max_distance)
