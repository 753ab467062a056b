"""Where readings of relative and content-dependent attention differ."""

from __future__ import annotations

from posref.disagreements._record import Disagreement, Reading

_PAIRS = "apart = np.arange(4)[None] - np.arange(3)[:, None]; draw = np.random.default_rng(1)"  # k - q
_TABLES = f"{_PAIRS}; q, k = draw.normal(size=(3, 4)), draw.normal(size=(4, 4)); rows = draw.normal(size=(6, 4))"
_TOKENS = (
    "draw = np.random.default_rng(2); q, k, w = draw.normal(size=(3, 4, 4)); w /= np.linalg.norm(w, axis=-1, keepdims=True); "
    "beta, logs = draw.random(4), -draw.random(4); seen = np.tri(4, dtype=bool); table = draw.normal(size=(5, 4))"
)

RELATIVE: tuple[Disagreement, ...] = (
    Disagreement(
        "relative-sign",
        "Is the relative position key minus query, or query minus key?",
        ("shaw", "transformer-xl", "deberta", "t5"),
        (
            Reading(
                "k - q",
                "Shaw, tensor2tensor, T5, Wav2Vec2-BERT, SeamlessM4T v2, MaxViT",
                "relative_index(apart, 2, 2)",
            ),
            Reading(
                "q - k",
                "BERT's relative_key, SpeechT5, DeBERTa, Transformer-XL, Swin",
                "relative_index(-apart, 2, 2)",
            ),
        ),
        "k - q",
        "Neither is read off the positions: the caller subtracts. The paper that has the table has k - q.",
        "Shaw et al. (1803.02155), eq. 3 and 4; transformers 5.24, speecht5, wav2vec2_bert, deberta",
        given=_PAIRS,
    ),
    Disagreement(
        "relative-ends",
        "Where does the table of clipped distances end?",
        ("shaw", "deberta"),
        (
            Reading("-K .. K", "Shaw, tensor2tensor", "relative_index([-70, -65, 3, 8, 9], 8, 8)"),
            Reading("-L .. L - 1", "SpeechT5, DeBERTa", "relative_index([-70, -65, 3, 8, 9], 8, 7)"),
            Reading("-left .. right", "Wav2Vec2-BERT: 64 and 8", "relative_index([-70, -65, 3, 8, 9], 64, 8)"),
            Reading("no row beyond, 0", "Inkling", "relative_index([-70, -65, 3, 8, 9], 8, 8, outside='none')"),
        ),
        "-K .. K",
        "Both ends are arguments; a model's table has as many rows as its ends say.",
        "Shaw et al. (1803.02155), eq. 4; transformers 5.24, speecht5, wav2vec2_bert, deberta_v2, inkling",
    ),
    Disagreement(
        "deberta-p2c-row",
        "Which row has position to content: that of the pair, or of the pair turned over?",
        ("deberta",),
        (
            Reading(
                "delta(i, j)",
                "microsoft/DeBERTa, transformers",
                "disentangled_scores(q, k, -apart, pos_q=rows)",
            ),
            Reading(
                "delta(j, i)",
                "the paper, eq. 4",
                "disentangled_scores(q, k, -apart, pos_q=rows, p2c='paper')",
            ),
        ),
        "delta(i, j)",
        "All checkpoints were trained with the code.",
        "He et al. (2006.03654), eq. 4; microsoft/DeBERTa 4d7fe0b, disentangled_attention.py; transformers 5.24, deberta",
        "disentangled_scores.p2c",
        given=_TABLES,
    ),
    Disagreement(
        "deberta-beyond",
        "What is clamped max_distance or more away: the distance, or the row?",
        ("deberta",),
        (
            Reading(
                "the distance: bucket -255, row 1",
                "microsoft/DeBERTa",
                "relative_index(deberta_bucket([-600]), 256, 255)",
            ),
            Reading(
                "the row: bucket -270, row 0",
                "transformers; the first version of microsoft/DeBERTa",
                "relative_index(deberta_bucket([-600], beyond='grow'), 256, 255)",
            ),
        ),
        "the distance: bucket -255, row 1",
        "The code that the checkpoints were trained with.",
        "microsoft/DeBERTa 4d7fe0b, da_utils.py; transformers 5.24, make_log_bucket_position",
        "deberta_bucket.beyond",
    ),
    Disagreement(
        "shift-window",
        "Which distances do the columns before the shift stand for?",
        ("transformer-xl",),
        (
            Reading("klen - 1 .. 0", "Transformer-XL; the future is masked", "relative_shift(x[:, :4], 4)"),
            Reading("L - 1 .. -(L - 1)", "Conformer, NeMo, ESPnet since 2021", "relative_shift(x, 4)"),
            Reading("klen .. -qlen + 1", "XLNet", "relative_shift(x, 4, rule='xlnet')"),
            Reading("left .. -right", "Gemma 3n", "relative_shift(x[:, :4], 4, rule='gemma-3n')"),
        ),
        "klen - 1 .. 0",
        "The paper that has the shift.",
        "kimiyoung/transformer-xl 44781ed; transformers 5.24, wav2vec2_conformer, xlnet, gemma3n; espnet PR 2816",
        "relative_shift.rule",
        given="x = np.arange(1.0, 22.0).reshape(3, 7)",
    ),
    Disagreement(
        "shift-leftovers",
        "What does the shift leave where there is no column for a distance?",
        ("transformer-xl",),
        (
            Reading(
                "another query's score",
                "all code that pads and reshapes, and ESPnet's first Conformers in their scores",
                "relative_shift(x, 4)",
            ),
            Reading("0", "a look-up that masks", "relative_shift(x, 4, outside='zero')"),
        ),
        "another query's score",
        "It is what the code gives; a causal mask hides it in Transformer-XL.",
        "kimiyoung/transformer-xl 44781ed, _rel_shift",
        "relative_shift.outside",
        given="x = np.arange(1.0, 13.0).reshape(3, 4)",
    ),
    Disagreement(
        "decomposed-rows",
        "Which row have sizes that are no multiples of each other?",
        ("decomposed",),
        (
            Reading(
                "the floor of the formula", "none: MViTv2's formula", "decomposed_bias(q, rows, one, (8, 1), (6, 1))"
            ),
            Reading(
                "what float32 leaves of it, cut off",
                "facebookresearch/mvit, Segment Anything, ViTDet, transformers",
                "decomposed_bias(q, rows, one, (8, 1), (6, 1), rule='float32')",
            ),
        ),
        "the floor of the formula",
        "It depends on no arithmetic. Sizes of released models are multiples of each other, where both are the same.",
        "Li et al. (2112.01526), eq. 4; facebookresearch/segment-anything dca509f; transformers 5.24, sam and vitdet",
        "decomposed_bias.rule",
        given="q, rows, one = np.ones((8, 1)), np.arange(15.0)[:, None], np.zeros((1, 1))",
    ),
    Disagreement(
        "cope-positions-scale",
        "Are the logits of contextual positions divided by sqrt(d)?",
        ("cope",),
        (
            Reading("with the content's", "facebookresearch/RAM", "cope_scores(q, k, table, mask=seen)"),
            Reading(
                "no",
                "the paper's appendix B, x-transformers, RAM with cope_nodiv",
                "cope_scores(q, k, table, mask=seen, scale_positions=False)",
            ),
        ),
        "with the content's",
        "The default of the authors' repository.",
        "Golovneva et al. (2405.18719), app. B; facebookresearch/RAM 5420e20, context_position.py; x-transformers 2.20",
        "cope_scores.scale_positions",
        given=_TOKENS,
    ),
    Disagreement(
        "cope-gates",
        "Do keys that the mask hides have gates?",
        ("cope",),
        (
            Reading("no", "facebookresearch/RAM, x-transformers", "cope_scores(q, k, table, mask=seen)[seen]"),
            Reading(
                "yes, and the future is counted",
                "code that hands CoPE unmasked logits",
                "cope_scores(q, k, table)[seen]",
            ),
        ),
        "no",
        "A position would depend on tokens that are not there yet.",
        "Golovneva et al. (2405.18719), eq. 4 and 5; facebookresearch/RAM 5420e20, context_position.py",
        given=_TOKENS,
    ),
    Disagreement(
        "path-gate-scale",
        "Is PaTH's forget gate scaled with the product?",
        ("path", "forgetting"),
        (
            Reading(
                "no",
                "the Forgetting Transformer, fla's forgetting attention",
                "path_scores(q, k, w, beta, log_forget=logs)",
            ),
            Reading(
                "yes",
                "fla's plain reference of PaTH",
                "path_scores(q, k, w, beta, log_forget=logs, gate='scaled')",
            ),
        ),
        "no",
        "A gate is a factor on the weight: its logarithm has no scale.",
        "fla-org/flash-linear-attention bc3b101, ops/path_attn/naive.py and ops/forgetting_attn/naive.py",
        "path_scores.gate",
        given=_TOKENS,
    ),
    Disagreement(
        "tupe-reset",
        "Is the class token's number one for the sum of both terms, or one for each?",
        ("tupe",),
        (
            Reading("for the sum", "the paper, eq. 11", "reset_cls(absolute + relative, [1.0], [2.0])"),
            Reading(
                "for each",
                "guolinke/TUPE",
                "reset_cls(absolute, [1.0], [2.0]) + reset_cls(relative, [1.0], [2.0])",
            ),
        ),
        "for the sum",
        "Both are one function of their numbers; with the same numbers they differ by a factor of two.",
        "Ke et al. (2006.15595), eq. 11; guolinke/TUPE 4c64ff7, transformer_sentence_encoder.py",
        given="absolute, relative = np.arange(9.0).reshape(1, 3, 3), np.arange(9.0, 18.0).reshape(1, 3, 3)",
    ),
    Disagreement(
        "temperature-steps",
        "How does the temperature of the attention grow with the position?",
        ("llama4-temperature", "inkling-temperature", "log-n", "ssmax"),
        (
            Reading("in steps, 1 + c ln(1 + floor((m + 1) / L))", "Llama 4", "llama4_scale(m, floor_scale=4096)"),
            Reading("without, 1 + c ln max(1, (m + 1) / L)", "Inkling", "inkling_scale(m, 4096)"),
            Reading("without, max(1, ln(m + 1) / ln L)", "Qwen 1, ReRoPE", "log_n_scale(m, 4096)"),
            Reading("without, s ln(m + 1), s learned", "SSMax", "ssmax_scale(m, [0.43])[0]"),
        ),
        "in steps, 1 + c ln(1 + floor((m + 1) / L))",
        "Each is a function of its own here; a model's config says which.",
        "transformers 5.24, llama4 and inkling; Qwen's modeling_qwen.py; Nakanishi (2501.19399)",
        given="m = [100, 4095, 6000, 8191, 20000]",
    ),
)
