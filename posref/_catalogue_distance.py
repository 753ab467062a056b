"""Catalogue records: distances that are remapped before they turn anything."""

from __future__ import annotations

from posref._encoding import Encoding

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
)
