"""Catalogue records: relatives of rotary that change magnitudes as well as angles."""

from __future__ import annotations

from posref._encoding import Encoding

MAGNITUDES: tuple[Encoding, ...] = (
    Encoding(
        "xpos",
        "rotary",
        "xPos",
        ("xpos_scale", "rope_cos_sin", "rope_apply"),
        r"\zeta_i^{(p - c) / B}, \quad \zeta_i = (2i/d + 0.4) / 1.4",
        "Sun et al., A Length-Extrapolatable Transformer (2212.10554), algorithm 1; code of microsoft/torchscale",
        "torchscale, flash-attention's rotary layer (scale_base), x-transformers",
        (
            ("torchscale", "centre='ceil', length=2048"),
            ("flash-attention, lucidrains", "centre='floor', length=2048"),
        ),
        (
            "The centre of an odd length: rounded up in torchscale, down elsewhere. It drops out of the scores if queries and "
            "keys have the same.",
            "The centre with a cache: flash-attention's follows the length that is cached, so that older keys have another one; "
            "lucidrains takes the middle of the queries for queries and of the keys for keys.",
        ),
    ),
    Encoding(
        "fope",
        "rotary",
        "Fourier Position Embedding (FoPE; not a rotation)",
        ("fope_cos_sin", "rope_apply"),
        r"\cos'_{pj} = \sum_i \cos(p\, w_i)\, C_{ij}, \quad \sin'_{pj} = \sum_i \sin(p\, w_i)\, S_{ij}",
        "Hua et al., Fourier Position Embedding (2412.17739); code of TsinghuaC3I/Fourier-Position-Embedding",
        "Intern-S1-Pro",
        (),
        (
            "The padded pairs: cos = sin = 1 in the paper's code, lmdeploy, sglang and older vLLM, which doubles their scores; "
            "sin = 0 in vLLM since.",
            "The frequencies that are kept: above 2 pi / L, or the first num_inv_freq.",
        ),
        not_a_rotation=True,
    ),
    Encoding(
        "pope",
        "rotary",
        "Polar Coordinate Position Embedding (PoPE; not a rotation)",
        ("pope_apply",),
        r"\ln(1 + e^{x_i}) \bigl(\cos(p\, w_i + \delta_i), \sin(p\, w_i + \delta_i)\bigr), \quad w_i = b^{-i/d}",
        "Gopalakrishnan et al. (2509.10534); lucidrains/x-transformers",
        "x-transformers (polar_pos_emb)",
        not_a_rotation=True,
    ),
)
