"""Where readings of remapped distances and of factors on the logits differ."""

from __future__ import annotations

from posref.disagreements._record import Disagreement, Reading

SCORES: tuple[Disagreement, ...] = (
    Disagreement(
        "self-extend-shift",
        "Is Self-Extend's shift w / G rounded?",
        ("self-extend",),
        (
            Reading(
                "no",
                "datamllab/LongLM, for a prompt",
                "self_extend_distance([20], [3], group_size=3, window=8)",
            ),
            Reading(
                "down",
                "the paper; LongLM while decoding with flash attention",
                "self_extend_distance([20], [3], group_size=3, window=8, shift='floor')",
            ),
        ),
        "no",
        "The released code; where G divides w both are the same.",
        "Jin et al. (2401.01325), sec. 3; datamllab/LongLM cdbbb06, self_extend_patch/Llama.py",
        "self_extend_distance.shift",
    ),
    Disagreement(
        "temperature-step",
        "Does the attention temperature count tokens or positions?",
        ("llama4-temperature",),
        (
            Reading("tokens, floor((m + 1) / L)", "Llama 4", "llama4_scale([8190, 8191, 8192])"),
            Reading("positions, floor(m / L)", "Ministral 3, Mistral 4", "llama4_scale([8190, 8191, 8192], shift=0)"),
        ),
        "tokens, floor((m + 1) / L)",
        "The function bears Llama 4's name.",
        "meta-llama/llama-models a9c89c4, models/llama4; transformers 5.24, get_llama_4_attn_scale",
        "llama4_scale.shift",
    ),
    Disagreement(
        "log-n-below",
        "What is log-n scaling below the length of the training?",
        ("log-n",),
        (
            Reading(
                "1", "all code that applies it after training (Qwen 1, ReRoPE)", "log_n_scale([99, 9999], length=4096)"
            ),
            Reading(
                "less than 1",
                "as first proposed, with it on in training",
                "log_n_scale([99, 9999], length=4096, clip=False)",
            ),
        ),
        "1",
        "Qwen 1 runs so.",
        "kexue.fm/archives/8823 and 9708; bojone/rerope acfe788",
        "log_n_scale.clip",
    ),
    Disagreement(
        "length-temperature-side",
        "How often does the temperature by the length enter a logit?",
        ("length-temperature", "dual-chunk-attention"),
        (
            Reading("once, on the queries", "vLLM (Qwen 2.5 1M)", "length_scale(1048576, length=262144)"),
            Reading(
                "twice, on cos and sin of queries and keys",
                "HKUNLP/ChunkLlama",
                "length_scale(1048576, length=262144, mscale=0.5) ** 2",
            ),
        ),
        "once, on the queries",
        "The released models that have it are Qwen's.",
        "vLLM 0.33, dual chunk attention; HKUNLP/ChunkLlama 2add4d7",
    ),
)
