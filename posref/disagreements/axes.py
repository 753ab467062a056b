"""Where readings of several axes differ."""

from __future__ import annotations

from posref.disagreements._record import Disagreement, Reading

AXES: tuple[Disagreement, ...] = (
    Disagreement(
        "mrope-spare-pairs",
        "Which axis has an interleaved pair whose section is used up?",
        ("rope-mrope",),
        (
            Reading(
                "the first, time",
                "transformers, vLLM, sglang, timm, maxtext (Qwen3-VL)",
                "rope_axis_map((2, 3, 3), rule='interleaved')",
            ),
            Reading(
                "a fourth, which llama.cpp sets to 0",
                "ggml (IMROPE)",
                "rope_axis_map((2, 3, 3), rule='interleaved_spare')",
            ),
            Reading(
                "the next one that is not",
                "sglang (mrope_interleaved_glm)",
                "rope_axis_map((2, 3, 3), rule='round_robin')",
            ),
            Reading(
                "all are filled evenly, the last pair is time's",
                "vLLM (openPangu)",
                "rope_axis_map((2, 3, 3), rule='balanced')",
            ),
        ),
        "the first, time",
        "Qwen3-VL was trained with it. In llama.cpp its pairs 61 and 62 do not turn: 0.1 rad at position 262143.",
        "transformers 5.24; ggml d99724f2; sglang 0.5.23; vLLM 0.33",
    ),
    Disagreement(
        "section-order",
        "In which order does mrope_section list the axes?",
        ("rope-mrope",),
        (
            Reading("t, h, w", "Qwen, GLM, Bailing", "cos('thw', (2, 3, 3))"),
            Reading("h, w, t", "ERNIE 4.5 VL", "cos('hwt', (3, 3, 2))"),
            Reading("p, w, h, t", "HunYuan", "cos('pwht', (2, 2, 2, 2))"),
        ),
        "t, h, w",
        "posref numbers the axes as the sections and the rows of positions stand: each model's preset says its order.",
        "transformers 5.24; vLLM 0.33",
        given="at = {'t': [5], 'h': [2], 'w': [3], 'p': [9]}\n"
        "cos = lambda axes, sections: rope_axes_table([at[a] for a in axes], rope_axis_map(sections))[0]",
    ),
    Disagreement(
        "section-sum",
        "What do sections mean that do not add up to the head's pairs? (8, 12, 12 for 64 pairs)",
        ("rope-mrope",),
        (
            Reading("refused", "vLLM", "None"),
            Reading("rescaled", "sglang", "rope_axis_map((16, 24, 24))"),
            Reading(
                "the first section is what is left over",
                "transformers and timm, where pairs are interleaved",
                "rope_axis_map((64 - 24, 12, 12), rule='interleaved')",
            ),
        ),
        "refused",
        "The number of pairs is the sum: whoever builds a map says all of it.",
        "vLLM 0.33; sglang 0.5.23, MRotaryEmbedding; transformers 5.24",
    ),
    Disagreement(
        "section-unit",
        "What do chunked sections count where the channels of a pair are neighbours?",
        ("rope-mrope",),
        (
            Reading("pairs", "transformers (GLM-4V)", "rope_axis_map((16, 24, 24))"),
            Reading(
                "channels, twice over",
                "Megatron with rotary_interleaved: read, not run, for its reshape fits three tokens only",
                "np.tile(rope_axis_map((8, 12, 12)), 2)",
            ),
        ),
        "pairs",
        "The layout says where a pair's channels are, and not which axis it has.",
        "transformers 5.24, glm4v; NVIDIA/Megatron-LM, MultimodalRotaryEmbedding",
    ),
    Disagreement(
        "axis-order",
        "Which axis of an image comes first?",
        ("rope-axial", "rope-mixed"),
        (
            Reading("the row", "Qwen-VL, Pixtral, DINOv3, EVA-02, Flux", "grid_positions((2, 3))"),
            Reading(
                "the column",
                "RoPE-ViT, SAM 2, Llama 4, Kimi, Gemma 4, Hunyuan-DiT",
                "grid_positions((2, 3))[::-1]",
            ),
        ),
        "the row",
        "NumPy's order of a grid; each model's preset says its own.",
        "transformers 5.24; naver-ai/rope-vit ce85c2e; diffusers 0.42.1",
    ),
)
