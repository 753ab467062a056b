"""Where readings of the rotation itself differ, and of what is no rotation."""

from __future__ import annotations

from posref.disagreements._record import Disagreement, Reading

_X = "x = np.arange(1.0, 9.0)[None]"

ROTATION: tuple[Disagreement, ...] = (
    Disagreement(
        "pair-layout",
        "Which two channels are a pair?",
        ("rope", "rope-weights"),
        (
            Reading("i and i + d/2", "GPT-NeoX, transformers' Llama", "rope(x, [1])"),
            Reading("2i and 2i + 1", "RoFormer, GPT-J, Meta's Llama", "rope(x, [1], layout='interleaved')"),
        ),
        "i and i + d/2",
        "Most files that are published have their weights permuted for it: rope_permute_weight goes to and fro.",
        "transformers 5.24, 172 modules with rotate_half; meta-llama/llama-models a9c89c4",
        "rope.layout",
        _X,
    ),
    Disagreement(
        "output-order",
        "In which order does DeepSeek's rotation return the channels?",
        ("rope",),
        (
            Reading(
                "as they came, pairs",
                "DeepSeek's own code, vLLM, transformers' DeepSeek-V2",
                "rope(x, [1], layout='interleaved')",
            ),
            Reading(
                "first members, then second ones",
                "transformers' DeepSeek-V3 and what descends from it, maxtext",
                "rope(x, [1], layout='interleaved', output_layout='half')",
            ),
        ),
        "as they came, pairs",
        "Scores are the same either way; what is in a key cache is not.",
        "transformers 5.24, apply_rotary_pos_emb_interleave; deepseek-ai/DeepSeek-V3 9b4e978",
        "rope.output_layout",
        _X,
    ),
    Disagreement(
        "rotation-sign",
        "By which sign of the angle are queries and keys turned?",
        ("rope",),
        (
            Reading("plus", "everybody else", "rope(x, [1])"),
            Reading("minus", "nanochat, in transformers and exllamav3 too", "rope(x, [1], inverse=True)"),
        ),
        "plus",
        "RoFormer's. Scores are the same either way; the vectors are not.",
        "transformers 5.24, nanochat; exllamav3 4f8ad01, RopeStyle.NANOCHAT",
        "rope.inverse",
        _X,
    ),
    Disagreement(
        "inverse-magnitude",
        "Does the inverse rotation undo an attention factor?",
        ("rope", "rope-yarn"),
        (
            Reading(
                "no, it is the transpose",
                "ggml, flash-attention, Megatron, vLLM",
                "rope_apply(x, cos, sin, inverse=True)",
            ),
            Reading("yes", "mlx-lm's YarnRoPE", "rope_apply(x, cos / 1.25**2, sin / 1.25**2, inverse=True)"),
        ),
        "no, it is the transpose",
        "Gradients need the transpose; the one model that rotates outputs back, DeepSeek-V4, has factor 1.",
        "ggml d99724f2, ggml_rope_back; mlx-lm 0.32.2, rope_utils",
        given=f"{_X}\ncos, sin = rope_table([1], 8, attention_factor=1.25)",
    ),
    Disagreement(
        "iterated-frequencies",
        "Is the next pair's angle a product with the last one's? (float32; the same function, another rounding)",
        ("rope",),
        (
            Reading(
                "no, each from its own power",
                "nearly everybody, ggml's CUDA",
                "np.cos(np.float32(131071) * (1 / np.float32(10000) ** (np.arange(0, 128, 2, dtype=np.float32) / 128)))",
            ),
            Reading(
                "yes",
                "ggml on a CPU",
                "np.cos(np.cumprod(np.array([131071] + 63 * [10000 ** (-2 / 128)], np.float32)))",
            ),
        ),
        "no, each from its own power",
        "The product loses up to 63 roundings more: an error of 0.012 instead of 0.003 at position 131071.",
        "ggml d99724f2, ggml-cpu/ops.cpp and ggml-cuda/rope.cu",
    ),
    Disagreement(
        "vjepa2-tiles",
        "How are V-JEPA 2's tables spread over its interleaved pairs?",
        ("rope-vjepa2",),
        (
            Reading(
                "tiled, not a rotation",
                "V-JEPA 2's own code, transformers",
                "rope_apply_channels(x, *rope_axes_cos_sin(p, np.tile(w, 6), rope_axis_map((4, 4, 4))), layout='interleaved')",
            ),
            Reading(
                "each twice, a rotation",
                "facebookresearch/vjepa2 pull request 15, open in 2026",
                "rope_apply(x, *rope_axes_cos_sin(p, np.tile(w, 3), rope_axis_map((2, 2, 2))), layout='interleaved')",
            ),
        ),
        "tiled, not a rotation",
        "The released weights were trained with it.",
        "transformers 5.24, vjepa2; facebookresearch/vjepa2",
        given="x, p, w = np.arange(1.0, 13.0)[None], [[1], [2], [3]], rope_inv_freq(4)",
    ),
    Disagreement(
        "xdrope-split",
        "What does XD-RoPE split into its axes?",
        ("rope-xdrope-transformers", "rope-mrope"),
        (
            Reading(
                "the doubled channels, not a rotation",
                "transformers",
                "rope_apply_channels(x, *rope_axes_cos_sin(p, np.tile(w, 2), rope_axis_map((2, 2, 2, 2))))",
            ),
            Reading(
                "the pairs, a rotation",
                "vLLM's own class, before it took transformers'",
                "rope_apply(x, *rope_axes_cos_sin(p, w, rope_axis_map((1, 1, 1, 1))))",
            ),
        ),
        "the doubled channels, not a rotation",
        "The released weights run with transformers' class.",
        "transformers 5.24, hunyuan_vl; vLLM before 0.33",
        given=f"{_X}\np, w = [[5], [2], [3], [7]], rope_inv_freq(8)",
    ),
    Disagreement(
        "fope-padding",
        "What are the sines of FoPE's padded pairs?",
        ("fope",),
        (
            Reading("1, scores double", "the paper's code, lmdeploy, sglang, vLLM at first", "fope(1.0)"),
            Reading("0, they pass through", "vLLM since it took the other for a mistake", "fope(0.0)"),
        ),
        "1, scores double",
        "Intern-S1-Pro was trained with the paper's code.",
        "TsinghuaC3I/Fourier-Position-Embedding bd94b20; vLLM 0.33; sglang 0.5.23",
        "fope_cos_sin.pad_sin",
        "fope = lambda sin: fope_cos_sin([1], [1.0], [[1.0]], [[1.0]], 2, pad_sin=sin)[1]",
    ),
    Disagreement(
        "xpos-centre",
        "Where is the middle of an odd length, where xPos' scale is 1?",
        ("xpos",),
        (
            Reading("rounded down", "flash-attention, lucidrains", "xpos_scale([5], 4, length=7)"),
            Reading("rounded up", "torchscale", "xpos_scale([5], 4, centre='ceil', length=7)"),
        ),
        "rounded down",
        "It drops out of the scores where queries and keys have the same.",
        "microsoft/torchscale 4d1e0e8; flash-attention 0251105a; lucidrains/rotary-embedding-torch 8bb4643",
        "xpos_scale.centre",
    ),
    Disagreement(
        "xpos-cached-centre",
        "Which centre has xPos with a cache of keys? (what a score is scaled by)",
        ("xpos",),
        (
            Reading("one for all", "the paper", "xpos_scale([9], 4, centre=5) / xpos_scale([2], 4, centre=5)"),
            Reading(
                "that of the length when each was made",
                "flash-attention: keys keep the centre that they were cached with",
                "xpos_scale([9], 4, centre=5) / xpos_scale([2], 4, centre=1)",
            ),
            Reading(
                "the middle of the queries, and of the keys",
                "lucidrains, rotate_queries_with_cached_keys",
                "xpos_scale([9], 4, centre=0) / xpos_scale([2], 4, centre=5)",
            ),
        ),
        "one for all",
        "Only then do scores decay with the distance alone.",
        "flash-attention 0251105a, layers/rotary.py; lucidrains/rotary-embedding-torch 8bb4643",
    ),
)
