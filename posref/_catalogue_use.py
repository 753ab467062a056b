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
        r"p_t = t - c_j, \quad c_j \le t < c_{j+1}",
        "flash-attention, cu_seqlens; TransformerEngine, format thd",
        "all models that are trained on packed sequences",
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
