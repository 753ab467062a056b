"""Catalogue records of the rotary encodings on several axes.

In the presets D is the number of channels that turn; t, h, w are cells in time, height and width, or the axes of that name.
"""

from __future__ import annotations

from posref._encoding import Encoding

_TABLES = ("rope_axes_table", "rope_axis_map", "rope_axes_inv_freq", "rope_axes_cos_sin")

_QUARTERS = "rope_axis_map((D // 4, D // 4)), ladder='per_axis'"
_QUARTERS_IN_TURN = "rope_axis_map((D // 4, D // 4), rule='round_robin'), ladder='per_axis'"
_SIXTHS = "rope_axis_map((D // 2 - 2 * (D // 6), D // 6, D // 6)), ladder='per_axis'"
_ROW_FIRST = "positions grid_positions((h, w))"
_COLUMN_FIRST = "positions grid_positions((h, w))[::-1]"
_HALF, _PAIRS = "layout='half'", "layout='interleaved'"


def _said(*parts: str) -> str:
    return "; ".join(parts)


_MROPE = (
    ("qwen2-vl, qwen2.5-vl, qwen2.5-omni, paddleocr-vl", _said("rope_axis_map((16, 24, 24))", "axes t, h, w", _HALF)),
    ("glm-4v, glm-ocr", _said("rope_axis_map((8, 12, 12))", "axes t, h, w", _PAIRS, "other channels pass")),
    ("glm-4.5v", _said("rope_axis_map((8, 12, 12))", "axes t, h, w", _HALF, "other channels pass")),
    ("qwen3-vl", _said("rope_axis_map((24, 20, 20), rule='interleaved'), base=5000000", "axes t, h, w", _HALF)),
    (
        "qwen3.5",
        _said(
            "rope_axis_map((11, 11, 10), rule='interleaved'), base=10000000",
            "axes t, h, w",
            _HALF,
            "other channels pass",
        ),
    ),
    (
        "qwen3-vl in llama.cpp",
        _said("rope_axis_map((24, 20, 20), rule='interleaved_spare')", "axes t, h, w and a fourth that is 0", _HALF),
    ),
    ("hy-v4-vl", _said("rope_axis_map((12, 10, 10), rule='interleaved')", "axes t, h, w", _PAIRS)),
    ("sglang's mrope_interleaved_glm", _said("rope_axis_map((8, 12, 12), rule='round_robin')", "axes t, h, w")),
    ("openpangu in vllm", _said("rope_axis_map((t, h, w), rule='balanced'), or two sections", _HALF)),
    ("ernie-4.5-vl", _said("rope_axis_map((22, 22, 20), rule='alternating'), base=500000", "axes h, w, t", _PAIRS)),
    (
        "bailing in vllm and sglang",
        _said("rope_axis_map((t, h, h), rule='alternating', tail=0)", "axes t, h, w; positions may be negative"),
    ),
    ("neomme", _said("rope_axis_map((D // 4, D // 4), rule='round_robin')", "axes row, column", _HALF)),
    (
        "hunyuan-vl in vllm before it took transformers' model",
        _said("rope_axis_map((16, 16, 16, 16)), scaling=NTKScaling(alpha)", "axes p, w, h, t", _HALF),
    ),
)

_VISION = (
    ("eva-02", _said(_QUARTERS, "positions grid_positions((n, n)) * trained / n", _PAIRS)),
    ("rope-vit axial", _said(f"{_QUARTERS}, base=100", _COLUMN_FIRST, "the class token does not turn", _PAIRS)),
    (
        "qwen2-vl, qwen2.5-vl, qwen3-vl, glm-4v, ernie-4.5-vl (vision)",
        _said(_QUARTERS, "positions grid_positions((t, h, w), block=(1, 2, 2))[1:]", _HALF),
    ),
    ("pixtral", _said("rope_axis_map((D // 4, D // 4)), ladder='dealt'", _ROW_FIRST, _HALF)),
    ("kimi-k2.5 (vision)", _said(_QUARTERS_IN_TURN, _COLUMN_FIRST, _HALF)),
    (
        "gemma-4 (vision)",
        _said(
            f"{_QUARTERS}, base=100",
            _COLUMN_FIRST,
            "rope_apply once per axis, layout='half': the first D // 4 columns at offset=0, the others at offset=D // 2",
        ),
    ),
    (
        "llama-4 (vision)",
        _said(_QUARTERS, "positions grid_positions((h, w), start=1)[::-1]", "then 0, 0 for the class token", _PAIRS),
    ),
    ("sam 2, sam 3, edgetam", _said(_QUARTERS, _COLUMN_FIRST, _PAIRS)),
    (
        "dinov3",
        _said(
            f"{_QUARTERS}, base=100",
            "positions 2 * np.pi * grid_coordinates((h, w))",
            "class and register tokens do not turn",
            _HALF,
        ),
    ),
    ("inkling2 (vision)", _said(_QUARTERS, _COLUMN_FIRST, _PAIRS)),
    ("step-3.7 (vision)", _said(_QUARTERS, _COLUMN_FIRST, _HALF)),
    ("vision mode of ggml", _said(_QUARTERS, _ROW_FIRST, _HALF)),
    (
        "minimax-m3-vl (vision)",
        _said(
            "rope_axis_map((D // 6, D // 6, D // 6)), ladder='per_axis'", "axes t, h, w", _HALF, "other channels pass"
        ),
    ),
    (
        "efficientloftr",
        _said(_QUARTERS_IN_TURN, "positions grid_positions((h, w), start=1)", "D is the hidden size", _PAIRS),
    ),
    (
        "esmfold2",
        _said(
            "rope_axis_map((2, 2, 2, 10)), ladder='per_axis', base=(20, 20, 20, 10000)",
            "axes x, y, z and the residue's number; pairs left over have frequency 0",
            _HALF,
        ),
    ),
    (
        "musicflamingo",
        _said(
            f"{_QUARTERS}, base=1200",
            "positions at s seconds, of window n and step j in it: -2 * np.pi * s * (n, 2 * np.pi * j) / 1200",
            _PAIRS,
            "other channels pass",
        ),
    ),
)

_DIFFUSION = (
    ("flux", _said("rope_axis_map((8, 28, 28)), ladder='per_axis'", _PAIRS)),
    ("wan", _said(_SIXTHS, "positions grid_positions((t, h, w))", _PAIRS)),
    (
        "cogvideox",
        _said(
            "rope_axis_map((D // 8, 3 * D // 16, 3 * D // 16)), ladder='per_axis'",
            "axes t, h, w; over a crop, n rows or columns are np.linspace(start, stop * (n - 1) / n, n)",
            _PAIRS,
        ),
    ),
    ("hunyuan-dit", _said(_QUARTERS, _COLUMN_FIRST, _PAIRS)),
    (
        "lumina",
        _said(
            f"{_QUARTERS_IN_TURN}, base=10000 * ntk_factor, scaling=LinearScaling(linear_factor)", _ROW_FIRST, _PAIRS
        ),
    ),
    (
        "cosmos",
        _said(
            f"{_SIXTHS}, scaling=(NTKScaling(r_t), NTKScaling(r_h), NTKScaling(r_w))",
            "positions grid_positions((t, h, w)), time then * 24 / fps",
            _HALF,
        ),
    ),
    (
        "ltx, ltx-2",
        _said(
            "rope_axes_cos_sin with n = D // 6 frequencies np.pi / 2 * 10000 ** np.linspace(0, 1, n), each on axes 0, 1, 2",
            "before them D // 2 - 3 * n pairs of frequency 0",
            "positions 2 * p - 1, p the fraction of a base size",
            "D is the hidden size",
            "layout='interleaved', in ltx-2 also 'half' inside each head",
        ),
    ),
    (
        "qwen-image",
        _said(
            "rope_axis_map((8, 28, 28)), ladder='per_axis'",
            "positions grid_positions((t, h, w), start=(0, h // 2 - h, w // 2 - w))",
            "text from max(h // 2, w // 2) on, the same on all axes",
            _PAIRS,
        ),
    ),
)

AXES: tuple[Encoding, ...] = (
    Encoding(
        "rope-mrope",
        "rotary",
        "Multimodal rotary (M-RoPE)",
        _TABLES,
        r"\theta_i = p_{A(i)}\, w_i, \quad w_i = b^{-2i/d}",
        "Wang et al., Qwen2-VL (2409.12191), sec. 2.1",
        "Qwen-VL, GLM-4V, ERNIE 4.5 VL, PaddleOCR-VL",
        _MROPE,
        (
            "Interleaved sections that are used up: transformers, vLLM, sglang and timm give the pair to axis 0, ggml to a "
            "fourth one. Qwen3-VL's pairs 61 and 62 turn with time, or in llama.cpp not at all.",
            "The order of mrope_section: t, h, w (Qwen, GLM, Bailing), h, w, t (ERNIE, whose code takes positions as t, h, w all "
            "the same), p, w, h, t (HunYuan).",
            "Sections of a wrong sum: vLLM refuses them, sglang rescales them, transformers and timm do not look at axis 0's "
            "where the rule is interleaved: give axis 0 what is left over.",
        ),
    ),
    Encoding(
        "rope-axial",
        "rotary",
        "Axial rotary (2-D and 3-D)",
        (*_TABLES, "grid_positions", "grid_coordinates"),
        r"\theta_i = p_a\, b^{-2k/d_a}, \quad \text{pair } i \text{ the } k\text{-th of axis } a",
        "Fang et al., EVA-02 (2303.11331), released code; Heo et al., RoPE-ViT (2403.13298), sec. 3.1",
        "vision transformers, image and video diffusion transformers",
        (*_VISION, *_DIFFUSION),
        (
            "Which axis comes first: the row (Qwen-VL, Pixtral, DINOv3, EVA-02) or the column (RoPE-ViT, SAM 2, Llama 4, Kimi, "
            "Gemma 4, Hunyuan-DiT). transformers calls the column freq_h in SAM 2 and Gemma 4.",
            "NTK in diffusers: Cosmos' base grows by r ** (d_a / (d_a - 2)), Lumina's by the factor itself.",
            "DINOv3's own checkpoints keep the periods in bfloat16; transformers and timm make them anew in float32.",
        ),
    ),
    Encoding(
        "rope-mixed",
        "rotary",
        "RoPE-Mixed (learned frequencies of all axes)",
        ("rope_mixed_cos_sin", "grid_positions"),
        r"\theta_{hi} = \sum_a p_a\, f_{ahi}",
        "Heo et al., RoPE-ViT (2403.13298), sec. 3.2",
        "RoPE-ViT, Mochi",
        (
            ("rope-vit mixed", _said(_COLUMN_FIRST, "the class token does not turn", _PAIRS)),
            (
                "mochi",
                _said(
                    "axes t, h, w",
                    "cell j of n rows or columns at (j + 0.5 - n / 2) * (192 * 192 / (h * w)) ** 0.5",
                    _PAIRS,
                ),
            ),
        ),
    ),
    Encoding(
        "rope-xdrope-transformers",
        "rotary",
        "XD-RoPE as in transformers (not a rotation)",
        ("rope_apply_channels", "rope_axes_cos_sin", "rope_axis_map"),
        r"(a, b) \to (a \cos\alpha_i - b \sin\alpha_i,\; a \sin\beta_i + b \cos\beta_i), \quad \alpha_i = p_{A(i)} w_i,\; "
        r"\beta_i = p_{A(i + d/2)} w_i",
        "transformers, HunYuan-VL",
        "HunYuan-VL and HunyuanOCR in transformers",
        (
            (
                "hunyuan-vl in transformers",
                _said(
                    "w = rope_inv_freq(128, scaling=NTKScaling(alpha))",
                    "cos, sin = rope_axes_cos_sin(positions, np.tile(w, 2), rope_axis_map((32, 32, 32, 32)))",
                    "axes p, w, h, t",
                    _HALF,
                ),
            ),
        ),
        (
            "transformers splits the doubled channels into the axes, so that the two channels of a pair turn by different "
            "angles; vLLM's own class split the pairs, which is a rotation.",
        ),
        not_a_rotation=True,
    ),
    Encoding(
        "rope-vjepa2",
        "rotary",
        "V-JEPA 2's rotary (not a rotation)",
        ("rope_apply_channels", "rope_axes_cos_sin", "rope_axis_map"),
        r"(a, b)_i \to (a \cos p w_j - b \sin p w_j,\; a \sin p w_k + b \cos p w_k), \quad j = 2i \bmod m/2,\; "
        r"k = (2i + 1) \bmod m/2",
        "Assran et al., V-JEPA 2 (2506.09985), released code; transformers",
        "V-JEPA 2",
        (
            (
                "v-jepa 2",
                _said(
                    "m = 2 * (head_dim // 3 // 2)",
                    "cos, sin = rope_axes_cos_sin(positions, np.tile(rope_inv_freq(m), 6), rope_axis_map((m, m, m)))",
                    "positions grid_positions((t, h, w))",
                    _PAIRS,
                    "other channels pass",
                ),
            ),
        ),
        (
            "The pairs are interleaved, the tables are tiled as for halves, in the authors' code and in transformers: they "
            "keep it because the released weights were trained with it.",
        ),
        not_a_rotation=True,
    ),
)
