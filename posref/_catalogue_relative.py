"""Catalogue records: terms of the logits that depend on content, and on how far query and key are apart."""

from __future__ import annotations

from posref._encoding import Encoding

RELATIVE: tuple[Encoding, ...] = (
    Encoding(
        "shaw",
        "relative",
        "Relative keys and values (Shaw)",
        ("relative_index", "relative_scores", "relative_values", "relative_bias"),
        r"q_i \cdot (k_j + T_{\mathrm{clip}(j - i, -L, R) + L}) / \sqrt{d}",
        "Shaw et al., Self-Attention with Relative Position Representations (1803.02155); code of tensorflow/tensor2tensor",
        "tensor2tensor, Music Transformer, BERT's relative_key, SpeechT5, Wav2Vec2-BERT, SeamlessM4T v2",
        (
            ("shaw", "left=16, right=16"),
            ("bert, relative_key (q - k)", "left=511, right=511"),
            ("speecht5 (q - k)", "left=160, right=159"),
            ("wav2vec2-bert, seamless-m4t-v2", "left=64, right=8"),
            ("music transformer", "a window as long as the sequence, and relative_shift for the look-up"),
            ("bert, relative_key_query", "relative_scores(key_term=True)"),
        ),
        (
            "The sign: k - q in Shaw, tensor2tensor, Wav2Vec2-BERT and MaxViT; q - k in BERT's relative_key, SpeechT5, DeBERTa, "
            "Transformer-XL and Swin.",
            "The ends: [-K, K] (Shaw), [-L, L - 1] (SpeechT5, DeBERTa), left and right of their own (Wav2Vec2-BERT).",
            "The scale: the sum is divided by sqrt(d) (BERT), or each term (Wav2Vec2-BERT): one value, other roundings.",
            "The values have a table as well in Shaw; in most later models the keys alone.",
        ),
    ),
    Encoding(
        "transformer-xl",
        "relative",
        "Transformer-XL's relative attention and its shift",
        ("relative_shift", "relative_scores", "relative_index"),
        r"\bigl((q_i + u) \cdot k_j + (q_i + v) \cdot W R_{i - j}\bigr) / \sqrt{d}",
        "Dai et al., Transformer-XL (1901.02860), sec. 3.3 and app. B; code of kimiyoung/transformer-xl",
        "Transformer-XL, XLNet, Funnel, Conformer (ESPnet, NeMo, Wav2Vec2-Conformer), Gemma 3n's and 4's audio encoders",
        (
            ("transformer-xl, rows klen - 1 .. 0", "outside='next-row'"),
            ("conformer, rows L - 1 .. -(L - 1)", "num_keys=7"),
            ("xlnet, rows klen .. -qlen + 1", "rule='xlnet'"),
            ("funnel, pooled queries", "rule='xlnet', stride=2"),
            ("gemma-3n, rows left .. -right of a block", "rule='gemma-3n'"),
        ),
        (
            "The window: klen rows (Transformer-XL), 2 L - 1 (Conformer), klen + qlen (XLNet), left + right + 1 (Gemma 3n).",
            "ESPnet's first Conformers had L rows without a causal mask: what stands in the future is another query's score.",
            "R: sinusoids, concatenated (Transformer-XL, XLNet) or interleaved (Conformer); Gemma 3n has tensor2tensor's ladder.",
            "u and v: in all but Gemma 3n.",
            "Funnel has the same in two forms: shifted scores, or sines and cosines of i and of j apart (attention_type).",
        ),
    ),
    Encoding(
        "deberta",
        "relative",
        "DeBERTa's disentangled attention",
        ("deberta_bucket", "disentangled_scores"),
        r"\bigl(q_i \cdot k_j + q_i \cdot K^r_{\delta(i, j)} + k_j \cdot Q^r_{\delta(i, j)}\bigr) / \sqrt{3 d}",
        "He et al., DeBERTa (2006.03654), eq. 2 to 4; code of microsoft/DeBERTa",
        "DeBERTa, DeBERTa V2 and V3, mDeBERTa, SEW-D",
        (
            ("deberta", "disentangled_scores of q - k, tables of 2 min(length, 512) rows"),
            ("deberta-v2, v3 (microsoft)", "num_buckets=256, max_distance=512"),
            ("deberta-v2, v3 (transformers)", "num_buckets=256, max_distance=512, beyond='grow'"),
            ("sew-d", "num_buckets=256, max_distance=512, beyond='grow'"),
        ),
        (
            "The row of p2c: the paper's eq. 4 has delta(j, i), Microsoft's code and transformers delta(i, j).",
            "512 or more away: Microsoft clamps the distance (bucket -255, row 1), transformers and Microsoft's first version "
            "the row alone (row 0).",
            "Fewer queries than keys: transformers swaps the number of buckets and the distance in p2c; its shapes do not fit.",
            "Position to position is in Microsoft's code alone.",
        ),
    ),
    Encoding(
        "decomposed",
        "relative",
        "Decomposed relative positions (MViTv2, SAM)",
        ("decomposed_bias",),
        r"q \cdot H_{n(y_q, y_k)} + q \cdot W_{n(x_q, x_k)}",
        "Li et al., MViTv2 (2112.01526), eq. 4; code of facebookresearch/mvit and segment-anything",
        "MViTv2, ViTDet, Segment Anything",
        (
            ("sam, vitdet", "tables of 2 n - 1 rows for grids of n x n"),
            ("mvitv2, sam and vitdet where sizes are no multiples", "decomposed_bias(..., rule='float32')"),
        ),
        (
            "Sizes that are no multiples of each other: the codes truncate a float32, which is one row lower for some pairs.",
            "The query is the one before the scale.",
            "A table of another length is interpolated linearly: first in all released codes, at every call.",
        ),
    ),
    Encoding(
        "wavlm-gate",
        "relative",
        "WavLM's gated relative bias",
        ("bias_gate", "t5_bias"),
        r"\bigl(g_a (g_b c_h - 1) + 2\bigr)\, T_{\text{bucket}(k - q),\, h}",
        "Chen et al., WavLM (2110.13900), sec. 3.2; code of microsoft/unilm",
        "WavLM",
        (("wavlm", "bias_gate(projection, const)[..., None] * t5_bias(..., max_distance=800, rule='float32_sum')"),),
    ),
    Encoding(
        "tupe",
        "relative",
        "TUPE: untied positions, and the class token without a place",
        ("untied_scores", "reset_cls", "t5_bias"),
        r"q_i \cdot k_j / \sqrt{2 d} + \mathrm{reset}_\theta\bigl(p_i U^Q \cdot p_j U^K / \sqrt{2 d} + b_{j - i}\bigr)",
        "Ke et al., Rethinking Positional Encoding in Language Pre-training (2006.15595), eq. 7 to 11; code of guolinke/TUPE",
        "TUPE-A, TUPE-R",
        (
            (
                "tupe-a, before the reset",
                "untied_scores(q, k, pos_q=pos_q, pos_k=pos_k); or attention of [q, pos_q] and [k, pos_k] side by side",
            ),
            ("tupe-a", "untied_scores(q, k) + reset_cls(untied_scores(pos_q, pos_k), from_cls, to_cls)"),
            (
                "tupe-r, paper",
                "untied_scores(q, k) + reset_cls(untied_scores(pos_q, pos_k) + t5_bias(...), from_cls, to_cls)",
            ),
            ("tupe-r, code", "reset_cls of each of the two, each with its own numbers, and their sum"),
        ),
        (
            "The paper resets the sum of the absolute and the relative term; the code each of them, with numbers of its own.",
            "The numbers: two learned scalars per head (paper), products of two spare rows of the table (code).",
        ),
    ),
    Encoding(
        "cope",
        "relative",
        "Contextual Position Encoding (CoPE)",
        ("cope_scores",),
        r"s\, \bigl(q_i \cdot k_j + z_i(p_{ij})\bigr), \quad p_{ij} = \sum_{l = j}^{i} \sigma(s\, q_i \cdot k_l)",
        "Golovneva et al., Contextual Position Encoding (2405.18719); code of facebookresearch/RAM",
        "x-transformers; models of the paper",
        (
            ("facebookresearch/RAM", "scale_positions=True"),
            ("x-transformers, RAM with cope_nodiv", "scale_positions=False"),
        ),
        (
            "Whether the positions' logits are divided by sqrt(d) with the content's (RAM) or not (paper's appendix B, "
            "x-transformers).",
            "The rows: the block's length and one (RAM), 16 (x-transformers), 64 in the paper's language models.",
            "Gates of keys that are masked: 0. Code that forgets it counts the future.",
        ),
    ),
    Encoding(
        "forgetting",
        "relative",
        "Forgetting Transformer (FoX, data-dependent ALiBi)",
        ("forget_bias",),
        r"\sum_{l = j + 1}^{i} \ln f_l",
        "Lin et al., Forgetting Transformer (2503.02130); code of fla-org/flash-linear-attention",
        "FoX, x-transformers (attn_data_dependent_alibi)",
        (("fox", "num_queries=None"),),
        (
            "It is added after the scale; fla's plain reference of PaTH adds it before.",
            "Both directions: x-transformers has gates of their own for keys in the future.",
        ),
    ),
    Encoding(
        "path",
        "relative",
        "PaTH attention",
        ("path_scores", "forget_bias"),
        r"q_i^\top H_i \cdots H_{j+1} k_j / \sqrt{d}, \quad H_l = I - \beta_l w_l w_l^\top",
        "Yang et al., PaTH Attention (2505.16381); code of fla-org/flash-linear-attention",
        "PaTH, PaTH-FoX",
        (("path-fox, the gate unscaled", "gate='plain'"), ("fla, plain reference", "gate='scaled'")),
        (
            "fla's plain reference scales the forget gate with the product; that of the Forgetting Transformer does not.",
        ),
    ),
    Encoding(
        "inkling",
        "relative",
        "Inkling's relative bias",
        ("relative_bias", "relative_index"),
        r"r_i \cdot P_{i - j} \text{ for } 0 \le i - j < E, \text{ else } 0",
        "transformers, InklingRelativeLogits; lucidrains/x-transformers, RelativeProjPositionalBias",
        "Inkling",
        (("inkling, index relative_index(q - k, 0, extent - 1, outside='none')", "side='query'"),),
        (
            "Beyond the extent the bias is 0, and the key stays visible; a window would hide it.",
            "Inkling multiplies the bias by its attention temperature, as the query; x-transformers does not.",
            "Inkling's queries and keys are normalised, and its scale is 1/d.",
        ),
    ),
)
