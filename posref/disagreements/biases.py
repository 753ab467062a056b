"""Where readings of biases differ."""

from __future__ import annotations

from posref.disagreements._record import Disagreement, Reading

_PAIR = "m, q, k = [0.5], [3, 4], [0, 3, 5]"
_TABLE = "table, p = np.arange(16.0).reshape(4, 4), [0, 1, 2]"

BIASES: tuple[Disagreement, ...] = (
    Disagreement(
        "alibi-slopes",
        "Which slopes have heads that are no power of two?",
        ("alibi",),
        (
            Reading(
                "those of the power below, then every other one of the power above",
                "the authors' code, fairseq, BLOOM, MPT, x-transformers, llama.cpp, vLLM, TransformerEngine",
                "alibi_slopes(12)",
            ),
            Reading(
                "one geometric sequence",
                "FlexAttention's examples, MLX before its pull request 3071",
                "alibi_slopes(12, rule='geometric')",
            ),
        ),
        "those of the power below, then every other one of the power above",
        "Released models with such numbers of heads (BLOOM, MPT) were trained with it.",
        "ofirpress/attention_with_linear_biases 4b92f28; meta-pytorch/attention-gym 7fdb85d; ml-explore/mlx, pull request 3071",
        "alibi_slopes.rule",
    ),
    Disagreement(
        "alibi-form",
        "What is ALiBi's bias for a query and a key?",
        ("alibi",),
        (
            Reading(
                "-m times the distance",
                "the paper, MPT's encoders, x-transformers, llama.cpp, flash-attention without a mask",
                "alibi_bias(m, q, k)",
            ),
            Reading(
                "-m (q - k), which favours the future", "FlexAttention's examples", "alibi_bias(m, q, k, form='signed')"
            ),
            Reading(
                "m k, from the first key",
                "fairseq, BLOOM, Megatron-DeepSpeed, Baichuan, flash-attention's causal kernels",
                "alibi_bias(m, q, k, form='key')",
            ),
            Reading("m k, from the last key", "MPT, keras-hub", "alibi_bias(m, q, k, form='key_last')"),
            Reading("m k, from the first query", "vLLM", "alibi_bias(m, q, k, form='key_first')"),
            Reading("the distance, 0 in the future", "GPT-NeoX, KERPLE's code", "alibi_bias(m, q, k, form='past')"),
            Reading("a root of the distance", "vLLM (use_alibi_sqrt)", "alibi_bias(m, q, k, form='sqrt')"),
        ),
        "-m times the distance",
        "It is the only one that is right without a causal mask. Under one, plain softmax sees no difference but for the root; "
        "attention sinks, caps on the logits and merged log-sum-exps do.",
        "fairseq 3d262bb; transformers 5.24; mosaicml/llm-foundry 8c8dd48; Dao-AILab/flash-attention 0251105; vLLM, "
        "triton unified attention; EleutherAI/gpt-neox ea7aefd",
        "alibi_bias.form",
        given=_PAIR,
    ),
    Disagreement(
        "alibi-scale",
        "Is the bias divided by sqrt(head_dim), as the logits are?",
        ("alibi",),
        (
            Reading("no, it is added after the scale", "BLOOM, MPT and all others", "alibi_slopes(64)"),
            Reading("yes", "Falcon", "alibi_slopes(64, scale=64 ** -0.5)"),
        ),
        "no, it is added after the scale",
        "All others do so. Falcon's models were trained with the other.",
        "transformers 5.24, models/falcon",
        "alibi_slopes.scale",
    ),
    Disagreement(
        "alibi-type",
        "In which type is the bias computed?",
        ("alibi",),
        (
            Reading("float32 or wider", "most", "alibi_bias(m, [0], k, form='key')"),
            Reading(
                "slopes and positions are rounded to bfloat16",
                "Falcon in transformers",
                "alibi_bias(m.astype(bfloat16), [0], k.astype(bfloat16), form='key')",
            ),
        ),
        "float32 or wider",
        "Positions 256 and 257 are one in bfloat16; the bias of whoever means ALiBi tells them apart.",
        "transformers 5.24, models/falcon",
        given="from ml_dtypes import bfloat16\nm, k = alibi_slopes(64)[:1], np.array([255, 256, 257])",
    ),
    Disagreement(
        "bias-alignment",
        "Where are fewer queries than keys?",
        ("alibi", "t5"),
        (
            Reading(
                "at the end (bottom right)",
                "flash-attention 2.1 and later, TransformerEngine, NeMo, x-transformers",
                "query_positions(2, 4)",
            ),
            Reading(
                "at the beginning (top left)",
                "TransformerEngine with bottom_right_alignment=False; older x-transformers, once a longer bias was kept",
                "query_positions(2, 4, align='top_left')",
            ),
        ),
        "at the end (bottom right)",
        "Decoding with a cache needs it.",
        "Dao-AILab/flash-attention 0251105; NVIDIA/TransformerEngine d0067d0; lucidrains/x-transformers 9252ed7",
        "query_positions.align",
    ),
    Disagreement(
        "alibi-ranks",
        "Which slopes has a tensor-parallel rank that holds 6 of 12 heads?",
        ("alibi",),
        (
            Reading(
                "its own of the 12",
                "Megatron-DeepSpeed, vLLM",
                "alibi_slopes(12, heads=(6, 12))",
            ),
            Reading(
                "those of 6 heads", "FlashInfer (issue 1606), older Megatron-DeepSpeed (issue 227)", "alibi_slopes(6)"
            ),
        ),
        "its own of the 12",
        "The other changes the model with the number of ranks.",
        "microsoft/Megatron-DeepSpeed 8387ae1; flashinfer-ai/flashinfer, issue 1606",
    ),
    Disagreement(
        "t5-logarithm",
        "How is T5's logarithm rounded down?",
        ("t5",),
        (
            Reading("by the formula", "T5, transformers, x-transformers, at all usual sizes", "[buckets(), buckets()]"),
            Reading("after 2^-23 is added inside it", "flaxformer, T5X", "[buckets(rule='epsilon'), buckets()]"),
            Reading(
                "after the exact range is added, in float32",
                "WavLM",
                "[buckets(), buckets(rule='float32_sum')]",
            ),
        ),
        "by the formula",
        "At T5's own sizes all are the same; the formula does not depend on a library's logarithm.",
        "google/flaxformer 399ea3a; microsoft/unilm, wavlm; distances 153 of 256 buckets to 185, 1697 of 320 to 8192",
        given="sizes = {'bidirectional': False}\n"
        "def buckets(**rule):\n"
        "    narrow, wide = {'num_buckets': 256, 'max_distance': 185}, {'num_buckets': 320, 'max_distance': 8192}\n"
        "    return [int(t5_bucket(-n, **sizes, **how, **rule)) for n, how in ((153, narrow), (1697, wide))]",
    ),
    Disagreement(
        "t5-table",
        "Which axis of the table has the buckets?",
        ("t5",),
        (
            Reading("the first", "T5, mT5, UMT5, MPNet, x-transformers", "t5_bias(table, p, p, max_distance=8)"),
            Reading(
                "the last",
                "flaxformer, LayoutLMv2, LayoutLMv3",
                "t5_bias(table, p, p, max_distance=8, layout='heads_first')",
            ),
        ),
        "the first",
        "Most released tables are so; only a square one does not tell.",
        "transformers 5.24; google/flaxformer 399ea3a",
        "t5_bias.layout",
        given=_TABLE,
    ),
    Disagreement(
        "t5-scale",
        "Is the table multiplied? (head_dim 64)",
        ("t5",),
        (
            Reading(
                "no", "T5, whose logits are not divided either; LayoutLMv2", "t5_bias(table, p, p, max_distance=8)"
            ),
            Reading(
                "by sqrt(head_dim)",
                "x-transformers, GPT-NeoX, whose logits are divided by it",
                "t5_bias(table, p, p, max_distance=8, scale=8.0)",
            ),
            Reading(
                "by 1 / sqrt(head_dim)",
                "LayoutLMv3, as its logits",
                "t5_bias(table, p, p, max_distance=8, scale=0.125)",
            ),
        ),
        "no",
        "T5's own.",
        "transformers 5.24, models/layoutlmv2 and layoutlmv3; lucidrains/x-transformers 9252ed7",
        "t5_bias.scale",
        given=_TABLE,
    ),
    Disagreement(
        "window-sign",
        "Is a window's offset that of the query or that of the key?",
        ("window-bias",),
        (
            Reading("query less key", "Swin, Swin v2, BEiT, Data2Vec", "relative_position_index((2, 3))"),
            Reading(
                "key less query",
                "MaxViT and CoAtNet in timm",
                "relative_position_index((2, 3), offset='key_minus_query')",
            ),
            Reading(
                "neither: the sign is dropped",
                "LeViT, EfficientFormer, TinyViT",
                "relative_position_index((2, 3), offset='absolute')",
            ),
        ),
        "query less key",
        "Swin's is the most used. A table read with the other sign is mirrored.",
        "microsoft/Swin-Transformer f82860b; timm aa4b585; transformers 5.24, models/levit",
        "relative_position_index.offset",
    ),
    Disagreement(
        "swin-v2-logarithm",
        "Which logarithm of the offset has Swin v2?",
        ("swin-v2",),
        (
            Reading(
                "sign(d) ln(1 + abs(d))",
                "the paper, timm's swin_transformer_v2_cr, x-transformers' log_distance",
                "log_offset([-3, 1, 7])",
            ),
            Reading(
                "sign(d) log8(1 + 8 abs(d) / E), E the extent of the window",
                "the released code, transformers, timm's swin_transformer_v2",
                "log_offset([-3, 1, 7], extent=7)",
            ),
        ),
        "sign(d) ln(1 + abs(d))",
        "The other one needs a window, which no default could know; the released weights mean it.",
        "Liu et al. (2111.09883), eq. 4; microsoft/Swin-Transformer f82860b; timm aa4b585",
        "log_offset.extent",
    ),
    Disagreement(
        "swin-v2-ceiling",
        "Is Swin v2's bias bounded?",
        ("swin-v2",),
        (
            Reading("no", "the paper, timm's swin_transformer_v2_cr", "position_mlp(*network)"),
            Reading(
                "yes, 16 times a logistic function",
                "the released code, transformers, timm's swin_transformer_v2",
                "position_mlp(*network, ceiling=16.0)",
            ),
        ),
        "no",
        "The network is FIRE's and x-transformers' too, which have no bound.",
        "microsoft/Swin-Transformer f82860b; timm aa4b585",
        "position_mlp.ceiling",
        given="network = [[1.0]], [[1.0], [-1.0]], [0.5, 0.0], [[1.0, 2.0]]",
    ),
    Disagreement(
        "dynamic-distance",
        "What is the network of a dynamic position bias fed with?",
        ("dynamic-position-bias",),
        (
            Reading("the offset", "CrossFormer, x-transformers", "np.arange(-3.0, 4.0)"),
            Reading("its logarithm, with the sign", "x-transformers with log_distance", "log_offset(np.arange(-3, 4))"),
        ),
        "the offset",
        "Both libraries' default.",
        "Wang et al. (2108.00154), sec. 3.2; lucidrains/x-transformers 9252ed7",
    ),
    Disagreement(
        "kerple-unlearned",
        "What multiplies the distance inside KERPLE's logarithm?",
        ("kerple",),
        (
            Reading(
                "a learned number, kept at 0.01 or more",
                "the released code",
                "kerple_bias(alibi_slopes(4), [0.01] * 4, [3], [0])",
            ),
            Reading(
                "zero, which nothing trains: there is no bias",
                "NeMo",
                "kerple_bias(alibi_slopes(4), [0.0] * 4, [3], [0])",
            ),
        ),
        "a learned number, kept at 0.01 or more",
        "The paper's.",
        "chijames/KERPLE 25be3d7; NVIDIA/NeMo, kerple_relative_position_embedding.py",
    ),
    Disagreement(
        "sandwich-start",
        "At which index does Sandwich's sum of cosines start?",
        ("sandwich",),
        (
            Reading("1", "NeMo", "sandwich_bias(8, [1], [0])"),
            Reading("0", "the sinusoidal encoding that it is the product of", "sandwich_bias(8, [1], [0], start=0)"),
        ),
        "1",
        "NeMo's is the one released implementation.",
        "Chi et al. (2212.10356), sec. 6; NVIDIA/NeMo, sandwich_relative_position_embedding.py",
        "sandwich_bias.start",
    ),
    Disagreement(
        "fire-limit",
        "What is FIRE's distance relative to, for queries beyond the length?",
        ("fire",),
        (
            Reading(
                "to the query, max(L, q)",
                "the paper, mcleish7/arithmetic",
                "fire_distance([10, 1000], [3], 0.1, 512.0)",
            ),
            Reading(
                "to the length, min(L, q)",
                "a port",
                "fire_distance([10, 1000], [3], 0.1, 512.0, limit='min')",
            ),
        ),
        "to the query, max(L, q)",
        "The paper's and its released code's; with the other the ratio passes 1.",
        "Li et al. (2310.04418), eq. 6 and 7, appendix E",
        "fire_distance.limit",
    ),
    Disagreement(
        "fire-epsilon",
        "Is anything added to FIRE's denominator?",
        ("fire",),
        (
            Reading("1e-6", "the paper's listing, mcleish7/arithmetic", "fire_distance([1], [0], 1e-4, 0.5)"),
            Reading("nothing", "the paper's formula", "fire_distance([1], [0], 1e-4, 0.5, eps=0.0)"),
        ),
        "1e-6",
        "Code that runs has it; without it a query at 0 has no answer where L is 0.",
        "Li et al. (2310.04418), eq. 7 and appendix E",
        "fire_distance.eps",
    ),
    Disagreement(
        "cape-centre",
        "Is the mean of the sequence taken off CAPE's positions?",
        ("cape",),
        (
            Reading("no", "the released code for text", "cape_positions([0, 1, 5], 0.25, 0.5)"),
            Reading(
                "yes", "the released code for sound and pictures", "cape_positions([0, 1, 5], 0.25, 0.5, centre=True)"
            ),
        ),
        "no",
        "Text is the first of its uses.",
        "gcambara/cape d456950",
        "cape_positions.centre",
    ),
)
