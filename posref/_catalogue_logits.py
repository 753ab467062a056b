"""Catalogue records: factors on the logits that follow from positions and lengths."""

from __future__ import annotations

from posref._encoding import Encoding

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
        (
            ("paper, causal", "the positions of the queries"),
            ("without a mask, n keys", "positions n - 1 for every row"),
        ),
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
        "inkling-temperature",
        "logits",
        "Inkling's attention temperature",
        ("inkling_scale",),
        r"1 + \alpha \ln \max(1, (m + 1) / L)",
        "transformers, Inkling and Inkling 2",
        "Inkling (layers without a sliding window)",
        (("inkling, where log_scaling_n_floor is set", "length=4096, alpha=0.1"),),
        (
            "The temperatures by the position: a step at every multiple of L (Llama 4, Ministral 3), from L on without steps "
            "(Inkling), a quotient of logarithms (log-n), a learned multiple of one (SSMax).",
            "It multiplies the relative bias as well as the queries.",
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
