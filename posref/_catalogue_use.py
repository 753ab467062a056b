"""Catalogue records: what goes with rotary where it is used."""

from __future__ import annotations

from posref._encoding import Encoding

USE: tuple[Encoding, ...] = (
    Encoding(
        "rope-linear-attention",
        "rotary",
        "Rotary in linear attention",
        ("linear_attention", "rope_apply"),
        r"\frac{\sum_n (R_m \phi(q_m))^\top (R_n \phi(k_n))\, v_n}{\sum_n \phi(q_m)^\top \phi(k_n)}",
        "Su et al., RoFormer (2104.09864), eq. 19; Katharopoulos et al. (2006.16236)",
        "RoFormer with Performer",
    ),
    Encoding(
        "rope-packed",
        "rotary",
        "Packed sequences",
        ("cu_seqlens_positions",),
        r"p_t = s_j + t - c_j, \quad c_j \le t < c_{j+1}",
        "flash-attention, cu_seqlens; TransformerEngine, format thd; Zhu et al., PoSE (2309.10400), sec. 3.2",
        "all models that are trained on packed sequences; PoSE",
        (
            ("packed", "cu_seqlens=[0, 3, 5]"),
            ("after caches of 7 and 90 tokens", "cu_seqlens=[0, 3, 5], starts=[7, 90]"),
            ("pose, two chunks, the second skips 87", "cu_seqlens=[0, 3, 5], starts=[0, 90]"),
            (
                "randomised positions (2305.16843), in place of them",
                "np.sort of as many different integers below the longest",
            ),
        ),
    ),
    Encoding(
        "rope-weights",
        "rotary",
        "Weights for the other pair layout",
        ("rope_permute_weight",),
        r"W'_i = W_{2i}, \quad W'_{i + d/2} = W_{2i + 1}",
        "transformers, convert_llama_weights_to_hf; llama.cpp, permute",
        "Llama in transformers (from Meta's), GGUF (from transformers')",
        (("meta to transformers", "to='half'"), ("transformers to gguf", "to='interleaved'")),
        ("The number of heads for the keys: theirs; llama.cpp and transformers each had another one once.",),
    ),
)
