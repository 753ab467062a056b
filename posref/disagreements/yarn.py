"""Where readings of YaRN differ."""

from __future__ import annotations

from posref.disagreements._record import Disagreement, Reading

YARN: tuple[Disagreement, ...] = (
    Disagreement(
        "yarn-ramp",
        "Along what is YaRN's ramp linear?",
        ("rope-yarn",),
        (
            Reading(
                "pair index", "all released code and checkpoints", "rope_inv_freq(128, scaling=YarnScaling(16.0, 4096))"
            ),
            Reading(
                "rotations",
                "the paper; Llama 3's scaling, under its own name",
                "rope_inv_freq(128, scaling=YarnScaling(16.0, 4096, ramp='rotations'))",
            ),
        ),
        "pair index",
        "Checkpoints were trained with the code, whose frequencies differ from the paper's by up to a factor of 3.",
        "YaRN (2309.00071), eq. 13; jquesnelle/yarn 995db5b, issues 60 and 65; transformers 5.24",
        "YarnScaling.ramp",
    ),
    Disagreement(
        "yarn-truncate",
        "Are the ends of YaRN's ramp rounded to whole pairs?",
        ("rope-yarn",),
        (
            Reading(
                "rounded outwards",
                "all models but gpt-oss; ggml, mlx-lm, DeepSeek's code and jquesnelle/yarn cannot do otherwise",
                "rope_inv_freq(64, base=150000, scaling=YarnScaling(32.0, 4096))",
            ),
            Reading(
                "as they are",
                "gpt-oss; wherever a config has truncate: false in transformers, vLLM, sglang, exllamav3, Megatron, maxtext",
                "rope_inv_freq(64, base=150000, scaling=YarnScaling(32.0, 4096, truncate=False))",
            ),
        ),
        "rounded outwards",
        "It is the default of every library that can do both, and what all models but gpt-oss were trained with.",
        "openai/gpt-oss 7b58334; transformers 5.24; vLLM 0.33; ggml d99724f2; mlx-lm 0.32.2",
        "YarnScaling.truncate",
    ),
    Disagreement(
        "yarn-truncate-by-layer",
        "Does truncate: false count inside the rope block of a layer type?",
        ("rope-yarn",),
        (
            Reading(
                "no",
                "transformers, which looks for the key beside those blocks",
                "rope_inv_freq(64, scaling=read_config(config).encodings[0].scaling)",
            ),
            Reading(
                "yes",
                "the config, taken at its word",
                "rope_inv_freq(64, scaling=YarnScaling(32.0, 4096, truncate=False))",
            ),
        ),
        "no",
        "The layer types' blocks exist in transformers' files, and its reading is the one that these models run with.",
        "transformers 5.24, modeling_rope_utils",
        given="config = {'model_type': 'olmo3', 'hidden_size': 128, 'num_attention_heads': 2, 'num_hidden_layers': 4, "
        "'rope_parameters': {'full_attention': {'rope_type': 'yarn', 'rope_theta': 10000.0, 'factor': 32.0, "
        "'original_max_position_embeddings': 4096, 'truncate': False}, "
        "'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0}}}",
    ),
    Disagreement(
        "yarn-attention-factor",
        "Does a given attention_factor take the place of YaRN's own?",
        ("rope-yarn",),
        (
            Reading(
                "it does",
                "transformers, exllamav3, vLLM 0.33",
                "rope_attention_factor(YarnScaling(8.0, 8192, attention_factor=1.25))",
            ),
            Reading(
                "it is ignored",
                "sglang 0.5.23, mlx-lm 0.32.2, vLLM before",
                "rope_attention_factor(YarnScaling(8.0, 8192))",
            ),
        ),
        "it does",
        "Files with the key are transformers'. Where they give the formula's value, as Olmo 3.1's do, both readings agree.",
        "transformers 5.24; vLLM pull requests 46280 and 48623; mlx-lm pull request 1507",
    ),
    Disagreement(
        "yarn-attn-factor",
        "Does attn_factor multiply YaRN's attention factor?",
        ("rope-yarn",),
        (
            Reading(
                "it is ignored",
                "transformers, vLLM, mlx-lm, exllamav3",
                "rope_attention_factor(YarnScaling(8.0, 8192))",
            ),
            Reading(
                "it does",
                "jquesnelle/yarn, sglang, llama.cpp",
                "rope_attention_factor(YarnScaling(8.0, 8192, attn_factor=0.75))",
            ),
        ),
        "it is ignored",
        "The key is not transformers', whose files these are.",
        "transformers 5.24; vLLM 0.33; sglang 0.5.23; jquesnelle/yarn 995db5b",
        "YarnScaling.attn_factor",
    ),
    Disagreement(
        "yarn-mscale",
        "When do mscale and mscale_all_dim make YaRN's attention factor?",
        ("rope-yarn",),
        (
            Reading("where both are there and not 0", "transformers, vLLM's yarn", "factors('nonzero')"),
            Reading("where both are there", "sglang", "factors('given')"),
            Reading(
                "always, with 1 and 0 for what is missing",
                "mlx-lm, Megatron, vLLM's deepseek_yarn",
                "factors('always')",
            ),
            Reading("never", "exllamav3 for models that are not DeepSeek's", "factors('never')"),
        ),
        "where both are there and not 0",
        "For the values of DeepSeek's files, two equal numbers, the first three give 1; the rest are transformers' files.",
        "transformers 5.24; sglang 0.5.23; mlx-lm 0.32.2; exllamav3 4f8ad01, issue 259",
        "YarnScaling.mscale_rule",
        "keys = ({'mscale': 0.707, 'mscale_all_dim': 0.0}, {'mscale': 0.707}, {'mscale': 1.0, 'mscale_all_dim': 1.0})\n"
        "factors = lambda rule: [rope_attention_factor(YarnScaling(40.0, 4096, mscale_rule=rule, **k)) for k in keys]",
    ),
    Disagreement(
        "yarn-softmax-factor",
        "Where does DeepSeek's YaRN put its magnitude? (on cos and sin, on the softmax scale)",
        ("rope-yarn",),
        (
            Reading(
                "ratio, and g(mscale_all_dim)^2",
                "transformers, vLLM, mlx-lm",
                "[f(YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=0.5)) for f in both]",
            ),
            Reading(
                "1, and g(mscale)^2",
                "DeepSeek's own inference code",
                "[f(YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=1.0)) for f in both]",
            ),
            Reading(
                "ratio, and 1",
                "transformers for DeepSeek-V2 before 2026-07",
                "[both[0](YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=0.5)), 1.0]",
            ),
        ),
        "ratio, and g(mscale_all_dim)^2",
        "In all official files mscale and mscale_all_dim are equal, where the first two are the same.",
        "deepseek-ai/DeepSeek-V3 9b4e978, inference/model.py; transformers pull request 47435",
        given="both = (rope_attention_factor, rope_softmax_factor)",
    ),
    Disagreement(
        "deepseek-yarn-activation",
        "Is YaRN on while the text is no longer than the original length?",
        ("rope-yarn",),
        (
            Reading("always", "transformers, vLLM", "rope_inv_freq(64, scaling=yarn)"),
            Reading(
                "only beyond it",
                "DeepSeek's own inference code, by its max_seq_len",
                "rope_inv_freq(64, scaling=yarn if max_seq_len > 4096 else None)",
            ),
        ),
        "always",
        "The released models were trained with it on at the end, and their code asks for 16384 tokens.",
        "deepseek-ai/DeepSeek-V3 9b4e978, inference/model.py",
        given="max_seq_len = 4096\nyarn = YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=1.0)",
    ),
    Disagreement(
        "yarn-factor-or-ratio",
        "What is YaRN's factor where the file has another ratio of lengths?",
        ("rope-yarn",),
        (
            Reading("factor", "transformers, vLLM, sglang, mlx-lm", "read_config(config).encodings[0].inv_freq"),
            Reading(
                "max_position_embeddings / original_max_position_embeddings",
                "exllamav3",
                "read_config(config, framework='exllamav3').encodings[0].inv_freq",
            ),
        ),
        "factor",
        "transformers warns of the difference and takes the factor, which is what the file says.",
        "transformers 5.24; exllamav3 4f8ad01, util/rope.py",
        given="config = {'model_type': 'qwen2', 'hidden_size': 256, 'num_attention_heads': 2, 'num_hidden_layers': 1, "
        "'rope_theta': 1000000.0, 'max_position_embeddings': 131072, "
        "'rope_scaling': {'type': 'yarn', 'factor': 2.0, 'original_max_position_embeddings': 32768}}",
    ),
    Disagreement(
        "yarn-original-missing",
        "What is L where original_max_position_embeddings is missing?",
        ("rope-yarn", "rope-llama3"),
        (
            Reading(
                "max_position_embeddings",
                "transformers, sglang, exllamav3",
                "rope_inv_freq(128, scaling=YarnScaling(4.0, 32768))",
            ),
            Reading("4096 (yarn), 8192 (llama3)", "mlx-lm", "rope_inv_freq(128, scaling=YarnScaling(4.0, 4096))"),
        ),
        "max_position_embeddings",
        "transformers fills the key so before anything reads it.",
        "transformers 5.24, standardize_rope_params; mlx-lm 0.32.2, rope_utils",
    ),
    Disagreement(
        "yarn-reversed",
        "What is a ramp whose end lies before its start? (beta_fast below beta_slow)",
        ("rope-yarn",),
        (
            Reading("refused", "posref", "None"),
            Reading(
                "a slope downwards",
                "transformers, and all that follow it",
                "rope_inv_freq(64, scaling=YarnScaling(8.0, 4096, 1.0, 32.0, reversed_range='slope'))",
            ),
            Reading(
                "a step",
                "ggml",
                "rope_inv_freq(64, scaling=YarnScaling(8.0, 4096, 1.0, 32.0, reversed_range='step'))",
            ),
        ),
        "refused",
        "No model means it: it is a mistake in a file, as torchtitan's was.",
        "transformers 5.24; ggml d99724f2",
        "YarnScaling.reversed_range",
    ),
    Disagreement(
        "yarn-betas-swapped",
        "Which beta is which?",
        ("rope-yarn",),
        (
            Reading(
                "beta_fast 32, beta_slow 1",
                "everybody, torchtitan since 2026-06",
                "rope_inv_freq(64, scaling=YarnScaling(40.0, 4096))",
            ),
            Reading(
                "swapped",
                "torchtitan's CosSinRoPE before",
                "rope_inv_freq(64, scaling=YarnScaling(40.0, 4096, 1.0, 32.0, reversed_range='slope'))",
            ),
        ),
        "beta_fast 32, beta_slow 1",
        "The other one was a mistake, and was mended.",
        "pytorch/torchtitan pull request 3787",
    ),
    Disagreement(
        "telechat3-magnitude",
        "Which magnitude has TeleChat3's YaRN?",
        ("rope-yarn",),
        (
            Reading("0.1 ln s + 1", "mlx-lm", "rope_attention_factor(YarnScaling(4.0, 8192))"),
            Reading(
                "0.07 ln s + 1",
                "vLLM",
                "rope_attention_factor(YarnScaling(4.0, 8192, mscale=0.7, mscale_rule='always'))",
            ),
        ),
        "0.1 ln s + 1",
        "Plain YaRN where nothing is said; the model's own rope type, telechat3-yarn, means the other one.",
        "vLLM 0.33; mlx-lm 0.32.2",
    ),
    Disagreement(
        "yarn-partial",
        "Whose ladder has YaRN where only a part of the head rotates?",
        ("rope-yarn",),
        (
            Reading(
                "that of the part", "transformers, vLLM, sglang", "rope_inv_freq(32, scaling=YarnScaling(8.0, 4096))"
            ),
            Reading(
                "the whole head's, all of it rotates",
                "Megatron, whose YaRN has no rotary_percent",
                "rope_inv_freq(64, scaling=YarnScaling(8.0, 4096))",
            ),
        ),
        "that of the part",
        "It is what partial rotary means with every other scaling.",
        "NVIDIA/Megatron-LM d98e8a64, yarn_rotary_pos_embedding.py",
    ),
)
