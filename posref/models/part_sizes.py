"""The sizes of models within larger ones, where a file leaves them out.

When transformers saves a model of several parts, it leaves out of a part what equals the defaults of the part's class. A file of
one model alone has its sizes, and none is made up for it.
"""

from __future__ import annotations

from posref.models._reading import Block

KEYS = ("hidden_size", "num_attention_heads", "num_hidden_layers", "max_position_embeddings")
OTHER_NAMES = {
    "hidden_size": ("d_model", "n_embd", "dim"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads", "encoder_attention_heads"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers", "encoder_layers"),
    "max_position_embeddings": ("n_positions",),
}

KEYS_OF = {"t5": ("d_model", "num_heads", "num_layers")}

SIZES: dict[str, tuple[int, ...]] = {
    "align_text_model": (768, 12, 12, 512),
    "altclip_text_model": (1024, 16, 24, 514),
    "aria_text": (4096, 32, 32, 2048),
    "bart": (1024, 16, 12, 1024),
    "bert": (768, 12, 12, 512),
    "blip_text_model": (768, 8, 12, 512),
    "blt_global_transformer": (2048, 16, 25, 4096),
    "blt_local_decoder": (1024, 16, 9, 24576),
    "blt_local_encoder": (1024, 16, 1, 24576),
    "blt_patcher": (768, 12, 14, 8192),
    "chinese_clip_text_model": (768, 12, 12, 512),
    "clap_text_model": (768, 12, 12, 514),
    "clip_text_model": (512, 8, 12, 77),
    "clipseg_text_model": (512, 8, 12, 77),
    "clvp_decoder": (1024, 16, 30, 608),
    "cohere": (8192, 64, 40, 8192),
    "cohere2": (8192, 64, 40, 8192),
    "csm_depth_decoder_model": (1024, 8, 4, 33),
    "deepseek_ocr2_text": (4096, 32, 32, 2048),
    "deepseek_v3": (7168, 128, 61, 4096),
    "dia_decoder": (2048, 16, 18, 3072),
    "dia_encoder": (1024, 16, 12, 1024),
    "diffusion_gemma_text": (2304, 8, 30, 131072),
    "dpr": (768, 12, 12, 512),
    "embedding_gemma2_text": (512, 4, 24, 262144),
    "emu3_text_model": (4096, 32, 32, 9216),
    "ernie4_5_vl_moe_text": (2560, 20, 28, 131072),
    "exaone4": (4096, 32, 32, 2048),
    "gemma": (3072, 16, 28, 8192),
    "gemma2": (2304, 8, 26, 8192),
    "gemma3_text": (2304, 8, 26, 131072),
    "gemma3n_text": (2048, 8, 35, 32768),
    "gemma4_text": (2304, 8, 30, 131072),
    "gemma4_unified_text": (2304, 8, 30, 262144),
    "glm4v_moe_text": (4096, 96, 46, 65536),
    "glm4v_text": (4096, 32, 40, 32768),
    "glm_image_text": (4096, 32, 40, 131072),
    "glm_ocr_text": (1024, 16, 16, 131072),
    "granite": (4096, 32, 32, 2048),
    "granite4_vision_text": (4096, 32, 32, 2048),
    "granite_docling_text": (1024, 16, 28, 32768),
    "groupvit_text_model": (256, 4, 12, 77),
    "hunyuan_vl_text": (4096, 32, 32, 2048),
    "lfm2": (2560, 32, 32, 128000),
    "llama": (4096, 32, 32, 2048),
    "llama4_text": (5120, 40, 48, 131072),
    "metaclip_2_text_model": (512, 8, 12, 77),
    "mimi": (512, 8, 8, 8000),
    "minimax_m3_vl_text": (6144, 64, 60, 524288),
    "mistral": (4096, 32, 32, 131072),
    "mllama_text_model": (4096, 32, 40, 131072),
    "modernbert": (768, 12, 22, 8192),
    "molmo2_text": (4096, 32, 36, 36864),
    "musicgen_decoder": (1024, 16, 24, 2048),
    "musicgen_melody_decoder": (1024, 16, 24, 2048),
    "opt": (768, 12, 12, 2048),
    "owlv2_text_model": (512, 8, 12, 16),
    "owlvit_text_model": (512, 8, 12, 16),
    "paddleocr_vl_text": (1024, 16, 18, 131072),
    "persimmon": (4096, 64, 36, 16384),
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
    "step3p5": (4096, 64, 45, 128000),
    "t5": (512, 8, 6),
    "t5_gemma_module": (2304, 8, 26, 8192),
    "t5gemma2_decoder": (2304, 8, 26, 131072),
    "t5gemma2_text": (2304, 8, 26, 131072),
    "unlimited_ocr_text": (1280, 10, 12, 32768),
    "voxtral_realtime_text": (4096, 32, 32, 131072),
    "xclip_text_model": (512, 8, 12, 77),
}


def with_sizes(part: Block, model_type: str) -> Block:
    """The part with the sizes of its class for those that are absent, each with a note."""
    missing = {
        key: size
        for key, size in zip(KEYS_OF.get(model_type, KEYS), SIZES.get(model_type, ()), strict=False)
        if all(part.raw(name) is None for name in (key, *OTHER_NAMES.get(key, ())))
    }
    for key, size in missing.items():
        part.note_default(key, str(size))
    return part.replaced({**part.values, **missing}) if missing else part
