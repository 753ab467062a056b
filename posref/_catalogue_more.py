"""Catalogue records: more ways to stretch the frequencies, distances that are remapped, factors on the logits."""

from __future__ import annotations

from posref._encoding import Encoding

_ROPE = ("rope", "rope_inv_freq", "rope_attention_factor", "rope_cos_sin", "rope_table", "rope_apply")

FREQUENCIES: tuple[Encoding, ...] = (
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
)

DISTANCES: tuple[Encoding, ...] = (
    Encoding(
        "rerope",
        "rotary",
        "ReRoPE and leaky ReRoPE",
        ("rerope_distance", "rope_scores"),
        r"q - k \text{ below } w, \quad w + (q - k - w) / s \text{ from there on}, \quad \text{ReRoPE: } s = \infty",
        "Su, kexue.fm/archives/9708; code of bojone/rerope",
        "Llama 2 at longer contexts, without training",
        (("rerope", "window=512"), ("leaky rerope", "window=512, factor=16")),
        (
            "Keys that are w or more after the query: w in the prompt's code, q - k while decoding; the causal mask hides them.",
        ),
    ),
    Encoding(
        "self-extend",
        "rotary",
        "Self-Extend",
        ("self_extend_distance", "rope_scores"),
        r"q - k \text{ below } w, \quad \lfloor q / G \rfloor - \lfloor k / G \rfloor + w - w / G \text{ from there on}",
        "Jin et al., Self-Extend (2401.01325), sec. 3; code of datamllab/LongLM",
        "Llama 2, Mistral, Gemma at longer contexts, without training",
        (("longlm", "group_size=8, window=1024"), ("paper", "group_size=8, window=1024, shift='floor'")),
        (
            "w / G where G does not divide w: a fraction in the code for a prompt, rounded down in the paper and in the code for "
            "decoding with flash attention.",
        ),
    ),
    Encoding(
        "dual-chunk-attention",
        "rotary",
        "Dual chunk attention",
        ("dual_chunk_distance", "rope_scores"),
        r"q - k; \quad \min(q \bmod l + l, c) - k \bmod l; \quad \min(2 l - 1, c) - k \bmod l, \quad l = c - w",
        "An et al., Training-Free Long-Context Scaling (2402.17463), sec. 3; code of HKUNLP/ChunkLlama",
        "Qwen 2.5 1M, ChunkLlama",
        (
            ("qwen-2.5-1m", "chunk_size=262144, local_size=8192"),
            ("chunkllama of llama 2", "chunk_size=3072, local_size=256"),
        ),
        (
            "vLLM and sglang have a second set of queries, without the clamps, for the pattern of sparse attention alone.",
            "A factor on the logits by the length: vLLM on the queries, ChunkLlama on cos and sin, its first version none.",
        ),
    ),
    Encoding(
        "xpos",
        "rotary",
        "xPos",
        ("xpos_scale", "rope_cos_sin", "rope_apply"),
        r"\zeta_i^{(p - c) / B}, \quad \zeta_i = (2i/d + 0.4) / 1.4",
        "Sun et al., A Length-Extrapolatable Transformer (2212.10554), algorithm 1; code of microsoft/torchscale",
        "torchscale, flash-attention's rotary layer (scale_base), x-transformers",
        (
            ("torchscale", "centre='ceil', length=2048"),
            ("flash-attention, lucidrains", "centre='floor', length=2048"),
        ),
        (
            "The centre of an odd length: rounded up in torchscale, down elsewhere. It drops out of the scores if queries and "
            "keys have the same.",
            "The centre with a cache: flash-attention's follows the length that is cached, so that older keys have another one; "
            "lucidrains takes the middle of the queries for queries and of the keys for keys.",
        ),
    ),
    Encoding(
        "fope",
        "rotary",
        "Fourier Position Embedding (FoPE; not a rotation)",
        ("fope_cos_sin", "rope_apply"),
        r"\cos'_{pj} = \sum_i \cos(p\, w_i)\, C_{ij}, \quad \sin'_{pj} = \sum_i \sin(p\, w_i)\, S_{ij}",
        "Hua et al., Fourier Position Embedding (2412.17739); code of TsinghuaC3I/Fourier-Position-Embedding",
        "Intern-S1-Pro",
        (),
        (
            "The padded pairs: cos = sin = 1 in the paper's code, lmdeploy, sglang and older vLLM, which doubles their scores; "
            "sin = 0 in vLLM since.",
            "The frequencies that are kept: above 2 pi / L, or the first num_inv_freq.",
        ),
    ),
    Encoding(
        "pope",
        "rotary",
        "Polar Coordinate Position Embedding (PoPE; not a rotation)",
        ("pope_apply",),
        r"\ln(1 + e^{x_i}) \bigl(\cos(p\, w_i + \delta_i), \sin(p\, w_i + \delta_i)\bigr), \quad w_i = b^{-i/d}",
        "Gopalakrishnan et al. (2509.10534); lucidrains/x-transformers",
        "x-transformers (polar_pos_emb)",
    ),
    Encoding(
        "rope-linear-attention",
        "rotary",
        "Rotary in linear attention",
        ("linear_attention", "rope_apply"),
        r"\frac{\sum_n (R_m \phi(q_m))^\top (R_n \phi(k_n))\, v_n}{\sum_n \phi(q_m)^\top \phi(k_n)}",
        "Su et al., RoFormer (2104.09864), eq. 19; Katharopoulos et al. (2006.16236)",
        "RoFormer with Performer",
    ),
    Encoding(
        "rope-packed",
        "rotary",
        "Packed sequences",
        ("cu_seqlens_positions",),
        r"p_t = t - c_j, \quad c_j \le t < c_{j+1}",
        "flash-attention, cu_seqlens; TransformerEngine, format thd",
        "all models that are trained on packed sequences",
    ),
    Encoding(
        "rope-weights",
        "rotary",
        "Weights for the other pair layout",
        ("rope_permute_weight",),
        r"W'_i = W_{2i}, \quad W'_{i + d/2} = W_{2i + 1}",
        "transformers, convert_llama_weights_to_hf; llama.cpp, permute",
        "Llama in transformers (from Meta's), GGUF (from transformers')",
        (("meta to transformers", "to='half'"), ("transformers to gguf", "to='interleaved'")),
        ("The number of heads for the keys: theirs; llama.cpp and transformers each had another one once.",),
    ),
)
LOGITS: tuple[Encoding, ...] = (
    Encoding(
        "log-n",
        "logits",
        "Log-n scaling",
        ("log_n_scale",),
        r"\max(1, \ln(m + 1) / \ln L)",
        "Su, kexue.fm/archives/8823 and 9708; code of bojone/rerope",
        "Qwen 1 (use_logn_attn), ReRoPE, Self-Extend (scale_base)",
        (("qwen-1", "length=8192"), ("kexue 8823, in training", "length=512, clip=False")),
        (
            "Below the length of the training: factor 1 (all that is applied after training), or less (as first proposed).",
        ),
    ),
    Encoding(
        "ssmax",
        "logits",
        "Scalable-Softmax (SSMax)",
        ("ssmax_scale",),
        r"s_h \ln n + b_h",
        "Nakanishi, Scalable-Softmax Is Superior for Attention (2501.19399)",
        "TabICL, hybrid language models of 2025",
        (),
        ("The number n: the keys that the row sees (the paper), or the length of the sequence for all rows.",),
    ),
    Encoding(
        "llama4-temperature",
        "logits",
        "Llama 4's attention temperature",
        ("llama4_scale",),
        r"1 + c \ln(1 + \lfloor (m + \text{shift}) / L \rfloor)",
        "meta-llama/llama-models, models/llama4; transformers, Ministral 3 and Mistral 4",
        "Llama 4 (layers without rotary), Ministral 3, Mistral 4 (layers with it)",
        (
            ("llama-4", "attn_scale=0.1, floor_scale=8192"),
            ("ministral-3, mistral-4", "attn_scale=0.1, floor_scale=16384, shift=0"),
        ),
        (
            "The position of a step: Llama 4 counts tokens, floor((m + 1) / L), Ministral 3 positions, floor(m / L).",
            "transformers counts Llama 4's positions from the start of the cache, not from position_ids.",
        ),
    ),
    Encoding(
        "length-temperature",
        "logits",
        "Temperature by the length",
        ("length_scale",),
        r"\max(1,\; 0.1\, m \ln(S / L) + 1)",
        "vLLM, dual chunk attention; code of HKUNLP/ChunkLlama",
        "Qwen 2.5 1M, ChunkLlama",
        (("qwen-2.5-1m", "length=262144"), ("chunkllama, on cos and sin", "length=4096, mscale=0.5")),
        ("On the queries once (vLLM), or on cos and sin of queries and keys, so that the logits grow by the square.",),
    ),
)
