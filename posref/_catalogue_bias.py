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
        (
            "The form: the distance (x-transformers, llama.cpp), with its sign (FlexAttention's examples), or the key's position "
            "alone (BLOOM; from the last key in MPT, from the first query in vLLM). Equal under plain softmax with a causal "
            "mask, and only there.",
            "Heads that are no power of two: the authors' code interleaves two sequences; FlexAttention's examples have one, as "
            "MLX had until 2025.",
            "Falcon adds the bias before the division by sqrt(head_dim), and rounds slopes, positions and bias to bfloat16.",
            "More keys than queries: the last query is at the last key (flash-attention), or the first at the first "
            "(TransformerEngine on request); older x-transformers cut the upper left corner out of a square.",
            "Tensor parallelism: slopes of all heads, of which a rank has its own; FlashInfer makes those of the rank's number.",
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
            "The logarithm: the exact rule and float32 code agree for all usual sizes; flaxformer's 2^-23 inside it, and WavLM's "
            "sum before the rounding, move single distances at some sizes.",
            "The table: (buckets, heads), or (heads, buckets) in flaxformer and the LayoutLMs.",
            "The scale: T5 has no 1/sqrt(head_dim) on the logits; x-transformers and GPT-NeoX have it, and multiply the table by "
            "sqrt(head_dim); LayoutLMv3 divides it by sqrt(head_dim).",
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
        ("relative_position_index", "indexed_bias"),
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
        ),
        (
            "The sign: Swin and BEiT index by the query less the key, MaxViT by the key less the query; LeViT has none.",
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
        (
            "The logarithm: the paper has sign(d) ln(1 + |d|), as timm's swin_transformer_v2_cr; the released code divides by "
            "the extent of the window, times 8, and takes base 8.",
            "The sigmoid times 16 is in the released code, not in the paper and not in timm's swin_transformer_v2_cr.",
            "A window of one cell: 0 / 0 in the released code; transformers asks for the height alone.",
        ),
    ),
    Encoding(
        "dynamic-position-bias",
        "bias",
        "Dynamic position bias",
        ("position_mlp", "log_offset", "relative_position_index", "indexed_bias"),
        r"W_2\, \phi(W_1 (q - k) + b_1) + b_2",
        "Wang et al., CrossFormer (2108.00154), sec. 3.2; code of lucidrains/x-transformers",
        "CrossFormer, x-transformers (dynamic_pos_bias), audiolm-pytorch",
        (("x-transformers, depth 1", "activation='silu'"),),
        (
            "The offset itself, or its logarithm (log_distance in x-transformers).",
            "The network: ReLU after a LayerNorm in CrossFormer, SiLU in x-transformers, whose depth counts further layers.",
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
        (
            "NeMo's r1 are ALiBi's slopes, and its r2 are zeros that nothing trains: the bias is 0.",
            "Keys in the future: distance 0 in the released code, which the causal mask hides.",
        ),
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
        ("The first index of the sum: 1 in NeMo, 0 in the sinusoidal encoding that it is made of.",),
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
        (
            "The limit: the paper and the released code have max(L, q); one port has min(L, q), whose ratio passes 1 beyond L.",
            "The epsilon in the denominator is in the code, not in the formula.",
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
