"""Catalogue records: what is added to the logits and depends on positions alone."""

from __future__ import annotations

from posref._encoding import Encoding

BIASES: tuple[Encoding, ...] = (
    Encoding(
        "alibi",
        "bias",
        "ALiBi",
        ("alibi_bias", "alibi_slopes", "query_positions"),
        r"-m_h\, |q - k|, \quad m_h = 2^{-8h/n}",
        "Press et al., Train Short, Test Long (2108.12409), sec. 3",
        "BLOOM, MPT, Falcon (1B), Baichuan-13B",
        (
            ("paper", "form='distance' under a causal mask"),
            ("bloom, fairseq, flash-attention's causal kernels", "form='key'"),
            ("mpt", "form='key_last'"),
            ("vllm", "form='key_first'"),
            ("vllm, use_alibi_sqrt", "form='sqrt'"),
            ("gpt-neox, kerple's code", "form='past'"),
            ("flexattention's examples", "alibi_slopes(n, rule='geometric'), form='signed'"),
            ("falcon", "alibi_slopes(n, scale=head_dim ** -0.5), form='key'"),
            ("one tensor-parallel rank", "alibi_slopes(n, heads=(first, end))"),
            ("two-sided, other slopes for the future", "future_slopes=(0.25,)"),
        ),
    ),
    Encoding(
        "t5",
        "bias",
        "T5 relative buckets",
        ("t5_bias", "t5_bucket", "query_positions"),
        r"T_{\text{bucket}(k - q),\, h}",
        "Raffel et al., T5 (1910.10683), sec. 2.1; mesh-tensorflow",
        "T5, mT5, UMT5, LongT5, MPNet, WavLM, LayoutLMv2 and v3",
        (
            ("encoder", "bidirectional=True"),
            ("decoder", "bidirectional=False"),
            ("layoutlmv2, boxes", "tables (heads, 64), layout='heads_first', max_distance=256"),
            (
                "layoutlmv3, boxes (head_dim 64)",
                "tables (heads, 64), layout='heads_first', max_distance=256, scale=0.125",
            ),
            ("wavlm", "max_distance=800, rule='float32_sum'"),
            ("flaxformer, t5x", "a table (heads, 32), layout='heads_first', rule='epsilon'"),
            ("x-transformers, gpt-neox (head_dim 64)", "scale=8.0"),
        ),
        (
            "The sign: T5 takes k - q; others take q - k.",
            "Layers: T5's share the first one's table, UMT5's have their own; cross attention has none.",
        ),
    ),
    Encoding(
        "long-t5",
        "bias",
        "LongT5's side buckets",
        ("long_t5_blocks", "t5_bias"),
        r"T_{\text{bucket}(g - b_i),\, h}, \quad b_i = \min(\lfloor i / G \rfloor, F - 1)",
        "Guo et al., LongT5 (2112.07916), sec. 3.2; transformers",
        "LongT5 (transient global attention)",
        (("long-t5", "block_size=16"),),
    ),
    Encoding(
        "window-bias",
        "bias",
        "Windows: Swin, BEiT, MaxViT, LeViT",
        ("relative_position_index", "indexed_bias", "resample_table"),
        r"T_{(r_q - r_k + H - 1)(2W - 1) + (c_q - c_k + W - 1),\, h}",
        "Liu et al., Swin (2103.14030), sec. 3.2; BEiT (2106.08254); MaxViT (2204.01697); LeViT (2104.01136); released code",
        "Swin, Video Swin, BEiT, Data2Vec, MaxViT, CoAtNet, LeViT, EfficientFormer, TinyViT",
        (
            ("swin", "sizes=(7, 7)"),
            ("video swin", "sizes=(8, 7, 7)"),
            ("beit, data2vec", "sizes=(14, 14), class_token=True"),
            ("maxvit, coatnet (a table of heads first)", "sizes=(7, 7), offset='key_minus_query'"),
            ("levit, efficientformer, tinyvit", "sizes=(14, 14), offset='absolute'"),
            ("levit, subsampling", "sizes=(14, 14), offset='absolute', stride=2"),
            (
                "beit's own code, windows of 14 for 24",
                "resample_table(..., (27, 27), (47, 47), kernel='spline', spacing='geometric')",
            ),
            ("timm, the same", "resample_table(..., (27, 27), (47, 47), kernel='linear', spacing='geometric')"),
        ),
        (
            "Another window: the table is a picture of (2 h - 1, 2 w - 1) offsets and is resampled as such, by torch's bicubic "
            "rule (Swin), its bilinear one (BEiT in transformers, which takes height for width), or along a geometric "
            "progression, with a spline (BEiT's own code) or straight lines (timm).",
            "Pairs that the table does not reach: MaxViT's look-up gives 0, Swin's table reaches all pairs of its window.",
            "The order of LeViT's rows: its own code numbers offsets as it meets them, timm by a formula; the same.",
        ),
    ),
    Encoding(
        "clipped-offset",
        "bias",
        "Offsets with ends: residues and graphs",
        ("relative_index", "indexed_bias"),
        r"T_{\mathrm{clip}(q - k, -R, R) + R,\, h}",
        "Jumper et al., AlphaFold (doi 10.1038/s41586-021-03819-2), supplement, algorithm 4; Graphormer (2106.05234), sec. 3.1.2",
        "AlphaFold 2, ESMFold (residues), Graphormer (distances in a graph)",
        (("alphafold 2", "left=32, right=32"), ("graphormer, distances to 20", "left=0, right=20")),
        (
            "Pairs of two chains: none of their own in AlphaFold 2, whose gap in the index lies beyond the ends; one more row in "
            "AlphaFold-Multimer and ESMFold.",
            "Nodes that are not connected: a row of their own in Graphormer.",
        ),
    ),
    Encoding(
        "swin-v2",
        "bias",
        "Swin v2's continuous bias",
        ("log_offset", "position_mlp", "relative_position_index", "indexed_bias", "cosine_scale"),
        r"16\, \sigma\bigl(W_2\, \max(0, W_1 (c_y, c_x) + b)\bigr), \quad c = \mathrm{sign}(d) \log_8(1 + 8 |d| / E)",
        "Liu et al., Swin v2 (2111.09883), sec. 3.3; released code",
        "Swin v2, Swin2SR",
        (
            ("paper, timm's swin_transformer_v2_cr", "relative_position=(-2, 1)"),
            ("released code, window 8", "relative_position=(-2, 1), extent=7"),
            ("released code, pretrained in windows of 12", "relative_position=(-2, 1), extent=11"),
        ),
        ("A window of one cell: 0 / 0 in the released code; transformers asks for the height alone.",),
    ),
    Encoding(
        "dynamic-position-bias",
        "bias",
        "Dynamic position bias",
        ("position_mlp", "log_offset", "relative_position_index", "indexed_bias"),
        r"W_2\, \phi(W_1 (q - k) + b_1) + b_2",
        "Wang et al., CrossFormer (2108.00154), sec. 3.2; code of lucidrains/x-transformers",
        "CrossFormer, x-transformers (dynamic_pos_bias), audiolm-pytorch",
        (
            ("x-transformers, depth 1", "activation='silu'"),
            ("crossformer, each of three layers", "norm_weight=[1.0, 1.0, 1.0, 1.0], norm_bias=[0.0, 0.0, 0.0, 0.0]"),
        ),
        (
            "The network: ReLU after a LayerNorm in CrossFormer, SiLU in x-transformers, whose depth counts further layers and "
            "whose norm, if it has one, has no bias.",
        ),
    ),
    Encoding(
        "kerple",
        "bias",
        "KERPLE",
        ("kerple_bias",),
        r"-r_1 \ln(1 + r_2\, |q - k|) \quad \text{or} \quad -r_1\, |q - k|^{r_2}",
        "Chi et al., KERPLE (2205.09921), sec. 4.2; code of chijames/KERPLE",
        "KERPLE, NeMo (position_embedding_type kerple), knowledge-tracing models",
        (
            ("log", "form='log'"),
            ("power", "form='power'"),
            ("nemo", "alibi_slopes(n) for r1, zeros for r2, form='log'"),
        ),
        ("Keys in the future: distance 0 in the released code, which the causal mask hides.",),
    ),
    Encoding(
        "sandwich",
        "bias",
        "Sandwich",
        ("sandwich_bias",),
        r"\frac{H}{8 h} \Big( \sum_i \cos\big((q - k)\, b^{-2i/d}\big) - \frac{d}{2} \Big)",
        "Chi et al., Dissecting Transformer Length Extrapolation (2212.10356), sec. 6; NeMo",
        "NeMo (position_embedding_type sandwich)",
        (("nemo", "dim=64"), ("frequencies of the sinusoidal encoding", "start=0")),
    ),
    Encoding(
        "fire",
        "bias",
        "FIRE",
        ("fire_distance", "position_mlp"),
        r"f\left(\frac{\psi(q - k)}{\psi(\max(L, q))}\right), \quad \psi(x) = \ln(1 + |c\, x|)",
        "Li et al., FIRE (2310.04418), eq. 6 and 7",
        "FIRE, models of arithmetic (mcleish7/arithmetic)",
        (
            ("released code, at first", "c=0.1, length=512.0"),
            ("paper", "c=0.1, length=512.0, eps=0.0"),
            ("a port", "c=0.1, length=512.0, limit='min'"),
        ),
    ),
)

AUGMENTED: tuple[Encoding, ...] = (
    Encoding(
        "cape",
        "additive",
        "Augmented positions (CAPE)",
        ("cape_positions", "sinusoidal"),
        r"(p - \bar p + \Delta)\, e^\lambda",
        "Likhomanenko et al., CAPE (2106.03143), sec. 3; code of gcambara/cape",
        "CAPE, speech recognition in flashlight",
        (("text", "centre=False"), ("sound and pictures", "centre=True")),
        ("The released code keeps positions that are NaN, of padding, and gives them an encoding of zeros.",),
    ),
)
