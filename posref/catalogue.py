"""One record per encoding: the list that the documentation, the command line and the conformance suite share."""

from __future__ import annotations

from posref._catalogue_axes import AXES
from posref._catalogue_bias import AUGMENTED, BIASES
from posref._catalogue_distance import DISTANCES
from posref._catalogue_logits import LOGITS
from posref._catalogue_magnitudes import MAGNITUDES
from posref._catalogue_relative import RELATIVE
from posref._catalogue_rotary import ROTARY
from posref._catalogue_use import USE
from posref._encoding import Encoding

__all__ = ["CATALOGUE", "Encoding"]


CATALOGUE: tuple[Encoding, ...] = (
    Encoding(
        "sinusoidal",
        "additive",
        "Sinusoidal",
        ("sinusoidal",),
        r"\sin(p\, b^{-2k/d}),\; \cos(p\, b^{-2k/d})",
        "Vaswani et al., Attention Is All You Need (1706.03762), sec. 3.5",
        "the original Transformer, Whisper, M2M100, Marian, MusicGen",
        (
            ("vaswani", "layout='interleaved'"),
            ("tensor2tensor, fairseq, whisper, m2m100", "endpoint=True, layout='concatenated'"),
            ("marian in transformers", "layout='concatenated'"),
            ("musicgen", "endpoint=True, layout='concatenated', order='cos_sin'"),
        ),
        (
            "The last frequency: the paper's exponent is -2k/d, tensor2tensor's ends at exactly 1/base. Different functions.",
            "Marian in transformers has the paper's frequencies, Marian itself tensor2tensor's.",
        ),
    ),
    Encoding(
        "learned",
        "additive",
        "Learned table",
        ("learned",),
        r"T_p",
        "Gehring et al., Convolutional Sequence to Sequence Learning (1705.03122), sec. 3.1",
        "BERT, GPT-2, OPT, ViT",
        (("bert, gpt-2", "row p"), ("opt, bart", "row p + 2"), ("roberta", "row p + padding_idx + 1")),
        ("Which row position p is: p, p + 2 or p + padding_idx + 1.",),
    ),
    Encoding(
        "timestep",
        "additive",
        "Diffusion timestep",
        ("timestep_embedding",),
        r"\sin(s\, t\, P^{-k/(h - \text{shift})}) \ldots \cos(s\, t\, P^{-k/(h - \text{shift})}) \ldots",
        "Ho et al., DDPM (2006.11239), released code; diffusers, get_timestep_embedding",
        "DDPM, ADM, DiT, Stable Diffusion, Flux",
        (
            ("ddpm", "flip_sin_to_cos=False, downscale_freq_shift=1"),
            ("adm, dit, stable diffusion", "flip_sin_to_cos=True, downscale_freq_shift=0"),
            ("qwen-image, auraflow", "flip_sin_to_cos=True, downscale_freq_shift=0, scale=1000"),
        ),
        ("diffusers' default arguments are DDPM's; nearly every later model passes flip_sin_to_cos=True and shift 0.",),
    ),
    *ROTARY,
    *MAGNITUDES,
    *DISTANCES,
    *USE,
    *AXES,
    *AUGMENTED,
    *BIASES,
    *RELATIVE,
    *LOGITS,
)
