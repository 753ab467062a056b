"""The sizes of text models within larger ones, where a file leaves them out.

When transformers saves a model of several parts, it leaves out of a part what equals the defaults of the part's class. A file of
one model alone has its sizes, and none is made up for it.
"""

from __future__ import annotations

from posref.models._reading import Block

KEYS = ("hidden_size", "num_attention_heads", "num_hidden_layers", "max_position_embeddings")

SIZES: dict[str, tuple[int, int, int, int]] = {
    "clip_text_model": (512, 8, 12, 77),
    "cohere": (8192, 64, 40, 8192),
    "cohere2": (8192, 64, 40, 8192),
    "deepseek_v3": (7168, 128, 61, 4096),
    "ernie4_5_vl_moe_text": (2560, 20, 28, 131072),
    "exaone4": (4096, 32, 32, 2048),
    "gemma": (3072, 16, 28, 8192),
    "gemma2": (2304, 8, 26, 8192),
    "gemma3_text": (2304, 8, 26, 131072),
    "gemma3n_text": (2048, 8, 35, 32768),
    "gemma4_text": (2304, 8, 30, 131072),
    "glm4v_moe_text": (4096, 96, 46, 65536),
    "glm4v_text": (4096, 32, 40, 32768),
    "granite": (4096, 32, 32, 2048),
    "hunyuan_vl_text": (4096, 32, 32, 2048),
    "lfm2": (2560, 32, 32, 128000),
    "llama": (4096, 32, 32, 2048),
    "llama4_text": (5120, 40, 48, 131072),
    "mistral": (4096, 32, 32, 131072),
    "mllama_text_model": (4096, 32, 40, 131072),
    "modernbert": (768, 12, 22, 8192),
    "opt": (768, 12, 12, 2048),
    "phi3": (3072, 32, 32, 4096),
    "qwen2": (4096, 32, 32, 32768),
    "qwen2_5_omni_text": (3584, 28, 28, 32768),
    "qwen2_5_vl_text": (8192, 64, 80, 32768),
    "qwen2_vl_text": (8192, 64, 80, 32768),
    "qwen3": (4096, 32, 32, 32768),
    "qwen3_5_moe_text": (2048, 16, 40, 32768),
    "qwen3_5_text": (4096, 16, 32, 32768),
    "qwen3_omni_moe_text": (2048, 28, 28, 32768),
    "qwen3_vl_moe_text": (2048, 16, 24, 128000),
    "qwen3_vl_text": (4096, 32, 32, 128000),
    "siglip2_text_model": (768, 12, 12, 64),
    "siglip_text_model": (768, 12, 12, 64),
}


def with_sizes(part: Block, model_type: str) -> Block:
    """The part with the sizes of its class for those that are absent, each with a note."""
    missing = {k: size for k, size in zip(KEYS, SIZES.get(model_type, ()), strict=False) if part.raw(k) is None}
    for key, size in missing.items():
        part.note_default(key, str(size))
    return part.replaced({**part.values, **missing}) if missing else part
