"""Catalogue records: rotary in one dimension, and the ways to stretch its frequencies."""

from __future__ import annotations

from posref._encoding import Encoding

_ROPE = ("rope", "rope_inv_freq", "rope_attention_factor", "rope_cos_sin", "rope_table", "rope_apply")

ROTARY: tuple[Encoding, ...] = (
    Encoding(
        "rope",
        "rotary",
        "Rotary (RoPE)",
        _ROPE,
        r"(a, b) \to (a \cos p w_i - b \sin p w_i,\; a \sin p w_i + b \cos p w_i), \quad w_i = b^{-2i/d}",
        "Su et al., RoFormer (2104.09864), sec. 3.2.2",
        "Llama, Mistral, Qwen, GPT-NeoX, GPT-J, and most models since",
        (
            ("llama in transformers", "layout='half'"),
            ("llama by meta, gpt-j, roformer", "layout='interleaved'"),
            ("deepseek-v3 in transformers", "layout='interleaved', output_layout='half'"),
            ("gemma-3 local layers", "base=10000"),
            ("modernbert global layers", "base=160000"),
            ("modernbert local layers", "base=10000"),
        ),
        (
            "Which channels are a pair: (i, i + d/2) or (2i, 2i + 1). The same mathematics only after permuting the weights.",
            "DeepSeek-V3's own code returns interleaved pairs, transformers returns halves: key caches differ.",
        ),
    ),
    Encoding(
        "rope-partial",
        "rotary",
        "Partial rotary",
        _ROPE,
        r"w_i = b^{-2i/d} \text{ for the } d \text{ channels of a block; the other } D - d \text{ pass}",
        "Wang and Komatsuzaki, GPT-J (mesh-transformer-jax); GPT-NeoX, rotary_pct; transformers, partial_rotary_factor",
        "GPT-J, GPT-NeoX, Phi, StableLM, GLM, Nemotron, MiniMax, DeepSeek's attention with latents",
        (
            ("gpt-j", "dim=64, layout='interleaved'"),
            ("gpt-neox-20b", "dim=24"),
            ("phi-2", "dim=32"),
            ("glm-4", "dim=64, layout='interleaved'"),
            ("any", "int(head_dim * partial_rotary_factor) for dim: the exponent and the pairs are the block's"),
            ("deepseek-v4, heads of 512", "the tail: dim=64, offset=448, layout='interleaved'"),
        ),
        (
            "The block: the first channels of the head nearly everywhere, the last ones in DeepSeek-V4.",
            "The exponent: the block's d here; the whole head's D in Gemma 4, which is another encoding (rope-proportional).",
            "An odd int(D p): transformers makes (d + 1) / 2 frequencies; posref refuses an odd dim.",
        ),
    ),
    Encoding(
        "rope-linear",
        "rotary",
        "Position interpolation",
        _ROPE,
        r"w_i / s",
        "Chen et al., Positional Interpolation (2306.15595), eq. 4",
        "LongLoRA, Vicuna 16k, Gemma 3 (global layers)",
        (("gemma-3 global layers", "base=1000000, scaling=LinearScaling(8.0)"),),
        ("Dividing the frequency or the position: the same number, other roundings.",),
    ),
    Encoding(
        "rope-ntk",
        "rotary",
        "NTK-aware scaling",
        _ROPE,
        r"b' = b\, s^{d/(d-2)}, \quad w_i = b'^{-2i/d}",
        "u/bloc97, r/LocalLLaMA, June 2023; YaRN (2309.00071), sec. 3.1",
        "Code Llama finetunes, HunYuan (its alpha)",
        (
            ("hunyuan", "scaling=NTKScaling(alpha)"),
            ("diffusers, ntk_factor", "scaling=NTKScaling(2.0, 'base')"),
            ("vllm, rope type ntk; kexue 9706, fixed", "scaling=NTKScaling(12.0, 'fixed')"),
            ("vllm, rope type ntk with mixed_b; kexue 9706, mixed", "scaling=NTKScaling(12.0, 'mixed', mixed_b=0.75)"),
        ),
        (
            "diffusers' ntk_factor multiplies the base without the exponent d/(d-2).",
            "Kexue's fixed and mixed forms stretch the first pair too; fixed ends at exactly w/s like the aware one.",
        ),
    ),
    Encoding(
        "rope-dynamic-ntk",
        "rotary",
        "Dynamic NTK",
        _ROPE,
        r"b' = b\, (s S / L - (s - 1))^{d/(d-2)}, \quad S = \max(\text{seq\_len}, L)",
        "u/emozilla, r/LocalLLaMA, July 2023; transformers, rope type 'dynamic'",
        "Qwen 1, MiniCPM 128k",
        (),
        (
            "What is kept between calls: transformers keeps the larger base until a call shorter than L, jquesnelle/yarn for "
            "good (posref.RopeHistory does both); mlx-lm keeps nothing; sglang fixes S at s L, vLLM at max_position_embeddings.",
            "L: max_position_embeddings in transformers; max_trained_positions in vLLM, without which the factor does nothing.",
        ),
    ),
    Encoding(
        "rope-yarn",
        "rotary",
        "YaRN",
        (*_ROPE, "rope_softmax_factor"),
        r"\rho_i\, w_i / s + (1 - \rho_i)\, w_i, \quad \rho_i = \mathrm{clip}((i - l) / (h - l), 0, 1)",
        "Peng et al., YaRN (2309.00071), sec. 3.2-3.4; code of jquesnelle/yarn",
        "gpt-oss, DeepSeek-V2/V3, Kimi-K2, Qwen 2.5 and 3 (long contexts)",
        (
            ("gpt-oss", "base=150000, scaling=YarnScaling(32.0, 4096, truncate=False)"),
            ("deepseek-v3", "scaling=YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=1.0)"),
            (
                "kimi-k2",
                "base=50000, scaling=YarnScaling(64.0, 4096, beta_fast=1.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0)",
            ),
            ("telechat3", "scaling=YarnScaling(4.0, 8192, mscale=0.7, mscale_rule='always')"),
        ),
        (
            "The ramp: linear in the rotations in the paper, linear in the pair index in all released code (the default here).",
            "truncate: floor and ceil everywhere but in gpt-oss.",
            "mscale and mscale_all_dim: a ratio only where both are given and not 0 (transformers, vLLM's yarn), where both are "
            "given (sglang), always with defaults 1 and 0 (mlx-lm, Megatron, vLLM's deepseek_yarn), never beyond DeepSeek's "
            "models (exllamav3).",
            "attention_factor: honoured by transformers, vLLM and exllamav3, ignored by sglang and mlx-lm; attn_factor "
            "multiplies in sglang, llama.cpp and jquesnelle/yarn, and is ignored by transformers and vLLM.",
            "A range whose end lies before its start: downwards in transformers and what follows it, a step in ggml.",
            "The softmax scale of DeepSeek's models grows by g(mscale_all_dim)^2; its own inference code takes mscale, and "
            "scales neither cos nor sin.",
            "TeleChat3: 0.07 ln s + 1 in vLLM, plain YaRN in mlx-lm.",
        ),
    ),
    Encoding(
        "rope-llama3",
        "rotary",
        "Llama 3.1 scaling",
        _ROPE,
        r"\rho_i\, w_i / s + (1 - \rho_i)\, w_i, \quad 1 - \rho_i = \mathrm{clip}((L w_i / 2\pi - l) / (h - l), 0, 1)",
        "meta-llama/llama-models, apply_scaling; transformers, rope type 'llama3'",
        "Llama 3.1, 3.2, 3.3, Llama-4 Scout",
        (
            ("llama-3.1", "base=500000, scaling=Llama3Scaling(8.0, 8192, 1.0, 4.0)"),
            ("llama-3.2", "base=500000, scaling=Llama3Scaling(32.0, 8192, 1.0, 4.0)"),
            ("llama-4-scout", "base=500000, scaling=Llama3Scaling(16.0, 8192, 1.0, 1.0)"),
        ),
        ("Equal low and high factors: a step; some code divides by zero there.",),
    ),
    Encoding(
        "rope-longrope",
        "rotary",
        "LongRoPE",
        _ROPE,
        r"w_i / e_i, \quad a = \sqrt{1 + \ln s / \ln L}",
        "Ding et al., LongRoPE (2402.13753); microsoft/LongRoPE",
        "Phi-3, Phi-4, MiniCPM",
        (),
        (
            "When the long factors hold: per call beyond the original length (transformers), by the configured length (vLLM, "
            "llama.cpp, exllamav3), always (mlx-lm); sglang asks whether a position is greater than the original length, one "
            "call later than transformers.",
            "PhiMoE's short_mscale and long_mscale are attention factors by length; transformers has the short divisors there "
            "at every length.",
        ),
    ),
    Encoding(
        "rope-dynamic-linear",
        "rotary",
        "Dynamic position interpolation",
        _ROPE,
        r"w_i / \max(1, S / L)",
        "code of jquesnelle/yarn, LlamaDynamicScaledRotaryEmbedding",
        "finetunes of Llama with jquesnelle/yarn; TransformerEngine (beyond factor * L)",
        (("yarn repository, dynamic-linear", "scaling=DynamicLinearScaling(2048)"),),
        (
            "TransformerEngine interpolates dynamically beyond factor * L alone, Megatron never.",
            "jquesnelle/yarn keeps the longest length so far: posref.RopeHistory.",
        ),
    ),
    Encoding(
        "rope-dynamic-yarn",
        "rotary",
        "Dynamic YaRN",
        _ROPE,
        r"\rho_i\, w_i L / S + (1 - \rho_i)\, w_i, \quad a = 0.1 \ln(S / L) + 1",
        "code of jquesnelle/yarn, LlamaDynamicYaRNScaledRotaryEmbedding; YaRN (2309.00071), sec. 3.3",
        "Yarn-Llama-2, Yarn-Mistral where rope type is dynamic-yarn",
        (
            ("dynamic-yarn", "scaling=DynamicYarnScaling(4096)"),
            ("yarn-llama-2-64k, finetuned", "scaling=DynamicYarnScaling(4096, least_factor=16.0)"),
        ),
        ("The factor follows the longest call so far: posref.RopeHistory; keys in a cache keep their older rotation.",),
    ),
    Encoding(
        "rope-ntk-by-parts",
        "rotary",
        "NTK-by-parts",
        _ROPE,
        r"(1 - g_i)\left((1 - m_i)\, w_i / s + m_i\, w_i^{\text{NTK}}\right) + g_i\, w_i",
        "code of jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding",
        "Llama and Falcon finetunes of mid-2023",
        (("yarn repository, part-ntk", "scaling=NTKByPartsScaling(8.0, 2048)"),),
        (
            "Two functions bear the name: this code, with NTK in the middle, and YaRN's sec. 3.2, which is YaRN without its "
            "attention factor: YarnScaling(s, L, ramp='rotations', attention_factor=1).",
        ),
    ),
    Encoding(
        "rope-proportional",
        "rotary",
        "Proportional rotary (p-RoPE)",
        _ROPE,
        r"w_i = b^{-2i/D} / s \text{ for } i < \lfloor p D / 2 \rfloor, \text{ else } 0",
        "Barbero et al., Round and Round We Go! (2410.06205); transformers, rope type 'proportional'",
        "Gemma 4 (global layers)",
        (("gemma-4 global layers", "base=1000000, scaling=ProportionalScaling(0.25)"),),
        (
            "Partial rotary is another function: there the exponent and the pairs are those of the rotary dim.",
            "The factor: transformers, gemma, mlx-lm, exllamav3 and maxtext divide by it, vLLM's and sglang's Gemma 4 ignore it.",
            "An odd number of channels p D: floor(p D / 2) pairs in transformers, one more in mlx-lm.",
        ),
    ),
    Encoding(
        "rope-pixel",
        "rotary",
        "Pixel frequencies",
        ("rope_pixel_freq", "rope_cos_sin"),
        r"\pi \left(1 + \frac{i}{n - 1} (F/2 - 1)\right) \text{ or } \pi\, (F/2)^{i/(n-1)}",
        "lucidrains/rotary-embedding-torch, freqs_for='pixel'; timm, pixel_freq_bands",
        "EVA-02 and timm's rotary embeddings where they count in pixels; lucidrains' image models",
        (
            ("lucidrains, freqs_for='pixel'", "rope_pixel_freq(d, 10.0), positions linspace(-1, 1)"),
            ("timm, in_pixels=True", "rope_pixel_freq(d, 224.0, spacing='log'), positions linspace(-1, 1)"),
        ),
        (
            "The spacing: linear in lucidrains' and EVA's code; timm's rotary embeddings have the logarithmic one by default.",
        ),
    ),
    Encoding(
        "rope-custom",
        "rotary",
        "Learned and custom frequencies",
        ("rope_cos_sin", "rope_apply"),
        r"\theta_i = p\, w_i, \quad w_i \text{ given}",
        "code of lucidrains/rotary-embedding-torch, learned_freq and custom_freqs",
        "whoever keeps frequencies in a checkpoint (ESM, wav2vec2-conformer), or trains them",
        (
            ("lucidrains, custom_freqs", "rope_cos_sin(positions, custom_freqs), rope_apply with layout='interleaved'"),
            ("lucidrains, freqs_for='constant'", "rope_cos_sin(positions, np.ones(num_freqs))"),
            ("a base of its own for each layer", "one rope_inv_freq(dim, base=...) per layer"),
        ),
        ("inv_freq in a checkpoint: loaded with it (ESM, wav2vec2-conformer), or made anew (most models).",),
    ),
)
