"""Where readings of interpolation, NTK, Llama 3, p-RoPE, and of scalings that follow the length differ."""

from __future__ import annotations

from posref.disagreements._record import Disagreement, Reading

STRETCHING: tuple[Disagreement, ...] = (
    Disagreement(
        "rope-type-or-type",
        "Which key names the scaling where a file has both, and they differ?",
        ("rope",),
        (
            Reading("rope_type", "transformers, sglang, exllamav3", "read_config(config).encodings[0].inv_freq"),
            Reading("type", "mlx-lm", "read_config(config, framework='mlx').encodings[0].inv_freq"),
            Reading(
                "refused",
                "vLLM, but for su with longrope and mrope with default",
                "read_config(config, framework='vllm').encodings or None",
            ),
        ),
        "rope_type",
        "type is the older spelling, which transformers only reads where the other one is missing.",
        "transformers 5.24; mlx-lm 0.32.2; vLLM 0.33",
        given="config = {'model_type': 'llama', 'hidden_size': 256, 'num_attention_heads': 2, 'num_hidden_layers': 1, "
        "'rope_theta': 10000.0, 'max_position_embeddings': 131072, 'rope_scaling': {'rope_type': 'linear', 'type': 'yarn', "
        "'factor': 4.0, 'original_max_position_embeddings': 32768}}",
    ),
    Disagreement(
        "linear-beyond-factor",
        "What is interpolated beyond factor times the original length?",
        ("rope-linear", "rope-dynamic-linear"),
        (
            Reading(
                "by the factor all the same",
                "transformers, Megatron, most others",
                "rope_inv_freq(64, scaling=LinearScaling(4.0))",
            ),
            Reading(
                "by the length over the original one",
                "TransformerEngine",
                "rope_inv_freq(64, scaling=DynamicLinearScaling(2048), seq_len=16384)",
            ),
        ),
        "by the factor all the same",
        "Models were finetuned at one factor.",
        "NVIDIA/TransformerEngine d0067d0d; NVIDIA/Megatron-LM d98e8a64",
    ),
    Disagreement(
        "ntk-exponent",
        "By how much does NTK scaling raise the base?",
        ("rope-ntk", "rope-axial"),
        (
            Reading(
                "factor ** (d / (d - 2))",
                "jquesnelle/yarn, lucidrains, Cosmos in diffusers, HunYuan's alpha",
                "rope_inv_freq(64, scaling=NTKScaling(4.0))",
            ),
            Reading("factor", "ntk_factor in diffusers (Lumina)", "rope_inv_freq(64, scaling=NTKScaling(4.0, 'base'))"),
            Reading(
                "each pair by itself, the first too",
                "vLLM's rope type ntk; kexue 9706, fixed",
                "rope_inv_freq(64, scaling=NTKScaling(4.0, 'fixed'))",
            ),
            Reading(
                "each pair by itself, fast ones more",
                "vLLM's rope type ntk with mixed_b; kexue 9706, mixed",
                "rope_inv_freq(64, scaling=NTKScaling(4.0, 'mixed'))",
            ),
        ),
        "factor ** (d / (d - 2))",
        "It is what NTK-aware names: the last pair gets position interpolation's frequency, the first one keeps its own.",
        "diffusers 0.42.1, get_1d_rotary_pos_embed; vLLM 0.33; bojone/rerope acfe788, ntk_patch",
        "NTKScaling.form",
    ),
    Disagreement(
        "dynamic-ntk-length",
        "Which length has dynamic NTK, while calls grow and shrink?",
        ("rope-dynamic-ntk",),
        (
            Reading("the call's own", "mlx-lm", "[w(n) for n in calls]"),
            Reading(
                "the longest, until a call is shorter than L",
                "transformers",
                "[history.inv_freq(n)[1] for history in [RopeHistory(scaling, 128)] for n in calls]",
            ),
            Reading(
                "the longest, for good",
                "jquesnelle/yarn",
                "[history.inv_freq(n)[1] for history in [RopeHistory(scaling, 128, rule='grow')] for n in calls]",
            ),
            Reading("factor times L", "sglang", "[w(4 * 2048) for n in calls]"),
            Reading(
                "max_position_embeddings, L being max_trained_positions",
                "vLLM where the file has that key",
                "[w(6000) for n in calls]",
            ),
            Reading(
                "the factor has no effect",
                "vLLM where the file lacks that key",
                "[rope_inv_freq(128)[1] for n in calls]",
            ),
        ),
        "the call's own",
        "It is applied after training, so that no checkpoint decides; only this one is a function of its arguments.",
        "transformers 5.24; jquesnelle/yarn 995db5b; mlx-lm 0.32.2; sglang 0.5.23; vLLM 0.33",
        given="scaling, calls = DynamicNTKScaling(4.0, 2048), (1000, 4096, 3000, 1000)\n"
        "w = lambda seq_len: rope_inv_freq(128, scaling=scaling, seq_len=seq_len)[1]",
    ),
    Disagreement(
        "longrope-switch",
        "When do LongRoPE's long factors hold?",
        ("rope-longrope",),
        (
            Reading(
                "in calls longer than L",
                "transformers, for all tokens of such a call",
                "[w(call) for configured, call in calls]",
            ),
            Reading(
                "in calls that have a position greater than L",
                "sglang: one length later",
                "[w(call - 1) for configured, call in calls]",
            ),
            Reading(
                "where the configured length is longer than L",
                "vLLM, llama.cpp, exllamav3",
                "[w(configured) for configured, call in calls]",
            ),
            Reading("always", "mlx-lm", "[w(4097) for configured, call in calls]"),
        ),
        "in calls longer than L",
        "It is transformers' rule, whose code was released with Phi-3's weights.",
        "transformers 5.24; vLLM 0.33; sglang 0.5.23; mlx-lm 0.32.2; exllamav3 4f8ad01",
        given="scaling = LongRopeScaling([1.0, 1.1], [2.0, 4.0], 4096, factor=32.0)\n"
        "calls = ((4096, 100), (131072, 100), (131072, 4097), (131072, 5000))\n"
        "w = lambda seq_len: rope_inv_freq(4, scaling=scaling, seq_len=seq_len)[1]",
    ),
    Disagreement(
        "longrope-attention-factor",
        "Does a given attention_factor take the place of LongRoPE's own?",
        ("rope-longrope",),
        (
            Reading(
                "it does",
                "transformers",
                "rope_attention_factor(LongRopeScaling([1.0], [2.0], 4096, factor=32.0, attention_factor=1.5))",
            ),
            Reading(
                "it is ignored",
                "vLLM, sglang, mlx-lm",
                "rope_attention_factor(LongRopeScaling([1.0], [2.0], 4096, factor=32.0))",
            ),
        ),
        "it does",
        "The key is transformers'.",
        "transformers 5.24; vLLM 0.33; sglang 0.5.23; mlx-lm 0.32.2",
    ),
    Disagreement(
        "llama3-original",
        "Is Llama 3's original length the file's?",
        ("rope-llama3",),
        (
            Reading(
                "the file's",
                "transformers, vLLM, and most others",
                "rope_inv_freq(128, base=500000, scaling=Llama3Scaling(8.0, 4096, 1.0, 4.0))",
            ),
            Reading(
                "8192, whatever the file has",
                "meta-llama's own code, Megatron, maxtext",
                "rope_inv_freq(128, base=500000, scaling=Llama3Scaling(8.0, 8192, 1.0, 4.0))",
            ),
        ),
        "the file's",
        "All of Meta's models have 8192, where both are the same.",
        "meta-llama/llama-models a9c89c4; NVIDIA/Megatron-LM d98e8a64; AI-Hypercomputer/maxtext e591f30c",
    ),
    Disagreement(
        "proportional-factor",
        "Does p-RoPE's factor divide the frequencies?",
        ("rope-proportional",),
        (
            Reading(
                "it does",
                "transformers, gemma, mlx-lm, exllamav3, maxtext",
                "rope_inv_freq(512, base=1000000, scaling=ProportionalScaling(0.25, 8.0))",
            ),
            Reading(
                "it is ignored",
                "vLLM's and sglang's Gemma 4",
                "rope_inv_freq(512, base=1000000, scaling=ProportionalScaling(0.25))",
            ),
        ),
        "it does",
        "Gemma's own code divides. Gemma 4's files have no factor, where both are the same.",
        "google-deepmind/gemma 7691fd4; transformers 5.24; vLLM 0.33; sglang 0.5.23",
    ),
    Disagreement(
        "proportional-odd",
        "How many pairs rotate where p times the head is an odd number of channels?",
        ("rope-proportional",),
        (
            Reading("rounded down", "transformers", "rope_inv_freq(24, scaling=ProportionalScaling(0.3))"),
            Reading("rounded up", "mlx-lm", "rope_inv_freq(24, scaling=ProportionalScaling(0.3, rounding='ceil'))"),
        ),
        "rounded down",
        "transformers' rule; no released model has an odd number.",
        "transformers 5.24; mlx-lm 0.32.2",
        "ProportionalScaling.rounding",
    ),
    Disagreement(
        "pixel-spacing",
        "How are pixel frequencies spaced?",
        ("rope-pixel",),
        (
            Reading("evenly", "lucidrains, EVA-02", "rope_pixel_freq(16, 224.0)"),
            Reading("in a ratio", "timm's rotary embeddings by default", "rope_pixel_freq(16, 224.0, spacing='log')"),
        ),
        "evenly",
        "The first released code, and EVA-02's.",
        "lucidrains/rotary-embedding-torch 8bb4643; timm aa4b5850, pixel_freq_bands",
        "rope_pixel_freq.spacing",
    ),
)
