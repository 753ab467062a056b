"""One record per encoding: the list that the documentation, the command line and the conformance suite share."""

from __future__ import annotations

from posref._catalogue_axes import AXES
from posref._catalogue_more import DISTANCES, FREQUENCIES, LOGITS
from posref._encoding import Encoding

__all__ = ["CATALOGUE", "Encoding"]


_ROPE = ("rope", "rope_inv_freq", "rope_attention_factor", "rope_cos_sin", "rope_table", "rope_apply")

CATALOGUE: tuple[Encoding, ...] = (
    Encoding(
        "sinusoidal",
        "additive",
        "Sinusoidal",
        ("sinusoidal",),
        r"\sin(p\, b^{-2k/d}),\; \cos(p\, b^{-2k/d})",
        "Vaswani et al., Attention Is All You Need (1706.03762), sec. 3.5",
        "the original Transformer, Whisper, M2M100, Marian, MusicGen",
        (
            ("vaswani", "layout='interleaved'"),
            ("tensor2tensor, fairseq, whisper, m2m100", "endpoint=True, layout='concatenated'"),
            ("marian in transformers", "layout='concatenated'"),
            ("musicgen", "endpoint=True, layout='concatenated', order='cos_sin'"),
        ),
        (
            "The last frequency: the paper's exponent is -2k/d, tensor2tensor's ends at exactly 1/base. Different functions.",
            "Marian in transformers has the paper's frequencies, Marian itself tensor2tensor's.",
        ),
    ),
    Encoding(
        "learned",
        "additive",
        "Learned table",
        ("learned",),
        r"T_p",
        "Gehring et al., Convolutional Sequence to Sequence Learning (1705.03122), sec. 3.1",
        "BERT, GPT-2, OPT, ViT",
        (("bert, gpt-2", "row p"), ("opt, bart", "row p + 2"), ("roberta", "row p + padding_idx + 1")),
        ("Which row position p is: p, p + 2 or p + padding_idx + 1.",),
    ),
    Encoding(
        "timestep",
        "additive",
        "Diffusion timestep",
        ("timestep_embedding",),
        r"\sin(s\, t\, P^{-k/(h - \text{shift})}) \ldots \cos(s\, t\, P^{-k/(h - \text{shift})}) \ldots",
        "Ho et al., DDPM (2006.11239), released code; diffusers, get_timestep_embedding",
        "DDPM, ADM, DiT, Stable Diffusion, Flux",
        (
            ("ddpm", "flip_sin_to_cos=False, downscale_freq_shift=1"),
            ("adm, dit, stable diffusion", "flip_sin_to_cos=True, downscale_freq_shift=0"),
            ("qwen-image, auraflow", "flip_sin_to_cos=True, downscale_freq_shift=0, scale=1000"),
        ),
        ("diffusers' default arguments are DDPM's; nearly every later model passes flip_sin_to_cos=True and shift 0.",),
    ),
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
        ),
        (
            "Which channels are a pair: (i, i + d/2) or (2i, 2i + 1). The same mathematics only after permuting the weights.",
            "DeepSeek-V3's own code returns interleaved pairs, transformers returns halves: key caches differ.",
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
        (("gemma-3 global layers", "scaling=LinearScaling(8.0)"),),
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
    *AXES,
    Encoding(
        "alibi",
        "bias",
        "ALiBi",
        ("alibi_bias", "alibi_slopes"),
        r"-m_h\, |q - k|, \quad m_h = 2^{-8h/n}",
        "Press et al., Train Short, Test Long (2108.12409), sec. 3",
        "BLOOM, MPT, Falcon (1B), Baichuan-13B",
        (("paper", "form='distance' under a causal mask"), ("bloom", "form='key'")),
        (
            "The form: the distance, or the key's position alone. Equal under plain softmax with a causal mask, and only there.",
            "Heads that are no power of two: the authors' code interleaves two sequences; FlexAttention's example uses one.",
            "Falcon adds the bias before the division by sqrt(head_dim).",
        ),
    ),
    Encoding(
        "t5",
        "bias",
        "T5 relative buckets",
        ("t5_bias", "t5_bucket"),
        r"T_{\text{bucket}(k - q),\, h}",
        "Raffel et al., T5 (1910.10683), sec. 2.1; mesh-tensorflow",
        "T5, mT5, UMT5, LongT5, MPNet",
        (("encoder", "bidirectional=True"), ("decoder", "bidirectional=False")),
        (
            "The sign: T5 takes k - q; others take q - k. The float logarithm and the exact rule agree for all usual sizes.",
        ),
    ),
    *FREQUENCIES,
    *DISTANCES,
    *LOGITS,
)
