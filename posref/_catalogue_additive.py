"""Catalogue records: what is added to the embeddings."""

from __future__ import annotations

from posref._encoding import Encoding

ADDITIVE: tuple[Encoding, ...] = (
    Encoding(
        "sinusoidal",
        "additive",
        "Sinusoidal",
        ("sinusoidal",),
        r"g \sin(s\, p\, b^{-2k/d}),\; g \cos(s\, p\, b^{-2k/d})",
        "Vaswani et al., Attention Is All You Need (1706.03762), sec. 3.5; tensor2tensor, get_timing_signal_1d",
        "the original Transformer, Whisper, M2M100, Marian, MusicGen",
        (
            ("vaswani", "layout='interleaved'"),
            ("tensor2tensor, fairseq, whisper, m2m100", "endpoint=True, layout='concatenated', odd='zero'"),
            ("fairseq, padding id 1", "endpoint=True, layout='concatenated', odd='zero', padding_idx=1"),
            ("marian in transformers, pegasus, roformer", "layout='concatenated', odd='split'"),
            ("marian", "endpoint=True, layout='concatenated'"),
            ("xlm, distilbert, keras-hub", "odd='split'"),
            ("musicgen", "endpoint=True, layout='concatenated', order='cos_sin', odd='zero'"),
            ("mlx, dim 8", "dim=8, endpoint=True, layout='concatenated', gain=0.5"),
            (
                "mlx, full turns, dim 8",
                "dim=8, endpoint=True, layout='concatenated', gain=0.5, scale=6.283185307179586",
            ),
            (
                "tensor2tensor, min_timescale 2, as it is said",
                "base=5000.0, endpoint=True, layout='concatenated', scale=0.5",
            ),
            (
                "tensor2tensor, min_timescale 2, as it is coded",
                "base=5000.0, endpoint=True, layout='concatenated', scale=2.0",
            ),
        ),
        (
            "The last frequency: the paper's exponent is -2k/d, tensor2tensor's ends at exactly 1/base. Different functions.",
            "Marian in transformers has the paper's frequencies, Marian itself tensor2tensor's.",
            "Sines and cosines in turn (the paper), or all of the one and then all of the other; MusicGen, ADM and DiT have "
            "cosines first.",
            "An odd width: an error (ESPnet, NeMo), a last channel of 0 (tensor2tensor, fairseq), one sine more than cosines "
            "(Marian in transformers, XLM, keras-hub); TimesFM pads the sequence in the place of the channels.",
            "min_timescale: tensor2tensor and what follows it multiply the angle by it, where the words mean a division.",
        ),
    ),
    Encoding(
        "sinusoidal-axes",
        "additive",
        "Sinusoidal on several axes",
        ("sinusoidal_axes", "grid_positions", "mask_coordinates"),
        r"\sin(p_a\, b_a^{-2k/d_a}),\; \cos(p_a\, b_a^{-2k/d_a}) \text{ for each axis } a",
        "He et al., MAE (2111.06377); Chen et al., MoCo v3 (2104.02057); Carion et al., DETR (2005.12872); released code",
        "MAE, DiT, SimpleViT, DETR and its kin, RT-DETR, CogVideoX",
        (
            ("mae, dit", "positions=grid_positions((3, 5))[::-1]"),
            ("moco-v3, simple-vit", "positions=grid_positions((3, 5))[::-1], endpoint=True"),
            ("simple-vit-3d, dim 20", "positions=grid_positions((2, 3, 5)), dim=20, endpoint=True"),
            ("rt-detr", "positions=grid_positions((3, 5))"),
            ("rt-detr, before it was put right", "positions=grid_positions((5, 3))"),
            ("timm", "positions=grid_positions((3, 5)), layout='wave_axis_band'"),
            ("detr", "positions=mask_coordinates([[1, 1], [1, 0]], scale=6.283185307179586), layout='axis_band_wave'"),
            (
                "deformable-detr",
                "positions=mask_coordinates([[1, 1]], scale=6.283185307179586, shift=0.5), layout='axis_band_wave'",
            ),
            (
                "dab-detr",
                "positions=mask_coordinates([[1, 1]], scale=6.283185307179586), base=(20.0, 20.0), layout='axis_band_wave'",
            ),
            ("tensor2tensor, add_timing_signal_nd", "positions=grid_positions((2, 3, 5)), endpoint=True"),
            ("cogvideox, dim 64", "positions=grid_positions((2, 3, 5))[[0, 2, 1]], widths=(16, 24, 24)"),
        ),
        (
            "Which axis is first in the channels: x in MAE, MoCo v3 and SimpleViT; y in DETR, RT-DETR, timm. It is the order of "
            "the rows of positions here.",
            "The last frequency of an axis: -2k/d in MAE and DETR, exactly 1/base in MoCo v3, SimpleViT and tensor2tensor.",
            "DETR counts pixels from 1 and divides by their number; Deformable DETR takes half a pixel off first.",
            "RT-DETR's first code in transformers made its grid of (width, height) for tokens of (height, width): the "
            "transpose, unless the picture is square.",
            "diffusers' 3-D encoding takes its spatial size as (width, height); its words ask for a dim of 16 n, the code 4 n.",
        ),
    ),
    Encoding(
        "learned",
        "additive",
        "Learned table",
        ("learned", "mask_positions"),
        r"T_{p + o}",
        "Gehring et al., Convolutional Sequence to Sequence Learning (1705.03122), sec. 3.1",
        "BERT, GPT-2, OPT, ViT",
        (
            ("bert, gpt-2", "offset=0"),
            ("opt, bart", "offset=2"),
            ("roberta, padding id 1", "positions=mask_positions([0, 1, 1], first=2, padding=1)"),
            ("reformer, axial", "the rows of grid_positions, each looked up in a table of its own, side by side"),
        ),
        ("Which row position p is: p, p + 2 or p + padding_idx + 1.",),
    ),
    Encoding(
        "learned-resampled",
        "additive",
        "Learned table at another size",
        ("resample_table", "learned"),
        r"T'_o = \sum_j \kappa(c_o - j)\, T_j, \quad c_o = (o + 1/2)\, S / (n + \delta) - 1/2",
        "Keys, Cubic convolution interpolation (1981), eq. 8; torch, interpolate; Dosovitskiy et al., ViT (2010.11929), sec. 3.2",
        "ViT, DeiT, DINO, SigLIP 2, Qwen3-VL at other resolutions",
        (
            ("vit, deit, mae, dinov2 in transformers; glm-4v, kimi-k2.5", "sizes=(4, 8), new_sizes=(5, 7)"),
            ("vit with a class token", "sizes=(1, 31), new_sizes=(5, 7), prefix=1"),
            ("dino, dinov2", "sizes=(4, 8), new_sizes=(5, 7), offset=0.1"),
            ("timm", "sizes=(4, 8), new_sizes=(5, 7), antialias=True"),
            ("siglip-2", "sizes=(4, 8), new_sizes=(5, 7), kernel='linear', antialias=True"),
            ("qwen3-vl, big_vision", "sizes=(4, 8), new_sizes=(5, 7), kernel='linear', align_corners=True"),
            ("paddleocr-vl", "sizes=(4, 8), new_sizes=(5, 7), kernel='linear'"),
        ),
        (
            "The kernel: torch's cubic has a = -0.75, and -0.5 with antialias, which so changes even a table that grows; "
            "SigLIP 2 and Qwen3-VL are linear; big_vision zooms with scipy, which is linear with corners on corners.",
            "The ratio: of the sizes, or DINO's factor (n + 0.1) / S.",
            "BEiT in transformers reads a table of (height, width) as (width, height), which shows unless the picture is square.",
            "timm leaves the table alone if the number of cells is the same and the new picture is square.",
        ),
    ),
    Encoding(
        "learned-hierarchical",
        "additive",
        "Hierarchical decomposition of a learned table",
        ("hierarchical_table", "learned"),
        r"q_i = \alpha\, u_{\lfloor i/n \rfloor} + (1 - \alpha)\, u_{i \bmod n}, \quad u_i = (p_i - \alpha\, p_0) / (1 - \alpha)",
        "Su, kexue.fm/archives/7947; bert4keras, hierarchical",
        "BERT and RoFormer on long texts, with bert4keras",
        (("bert4keras", "rows=1000, alpha=0.4"),),
    ),
    Encoding(
        "position-ids",
        "additive",
        "Position ids with padding",
        ("mask_positions", "learned"),
        r"p_t = f + \sum_{u \le t} m_u - 1 \text{ where } m_t = 1",
        "fairseq, make_positions; transformers, the models that are named",
        "RoBERTa, M2M100, OPT, GPT-2, BLOOM",
        (
            ("bloom, falcon; gpt-2 when it generates", "first=0, padding=0"),
            ("roberta, m2m100, fairseq, padding id 1", "first=2, padding=1"),
            ("prophetnet, padding id 0, 512 rows", "first=1, padding=0, largest=511"),
            ("opt", "first=2, padding=1"),
            ("gpt-2, older code; qwen2.5-omni", "first=0, padding=1"),
            ("funasr, without padding", "first=1"),
            ("abacus, a mask of digits", "first=1, restart=True"),
        ),
        (
            "The first token is 0, 1 (FunASR), 2 (BART, OPT, XGLM), or padding_idx + 1 (fairseq, RoBERTa).",
            "Padding is row 0, 1, padding_idx, or repeats the count. BERT, BART and Whisper count it like any token.",
            "A padding id inside the text stops a count by ids (RoBERTa), and not one by the attention mask (OPT).",
        ),
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
            (
                "qwen-image in bfloat16",
                "flip_sin_to_cos=True, downscale_freq_shift=0, scale=1000, freq_dtype='bfloat16'",
            ),
        ),
        (
            "diffusers' default arguments are DDPM's; nearly every later model passes flip_sin_to_cos=True and shift 0.",
            "Qwen-Image's code rounds the frequencies to the type of the timesteps.",
        ),
    ),
    Encoding(
        "fourier-features",
        "additive",
        "Fourier features",
        ("fourier_features", "frequency_bands"),
        r"\sin(u\, x_a f_k),\; \cos(u\, x_a f_k) \quad\text{or}\quad \sin(u \textstyle\sum_a x_a f_{ak}),\; \cos(\ldots)",
        "Tancik et al., Fourier Features (2006.10739), eq. 5; Mildenhall et al., NeRF (2003.08934), eq. 4; Jaegle et al., "
        "Perceiver (2103.03206), app. D",
        "NeRF, Perceiver, SAM (prompts), score-based diffusion, GLIGEN",
        (
            ("nerf, paper", "frequencies=frequency_bands(10, 1, 512, spacing='log'), unit='half_turns'"),
            (
                "nerf, code",
                "frequencies=frequency_bands(10, 1, 512, spacing='log'), layout='band_wave_axis', include_input=True",
            ),
            (
                "perceiver, resolution 224",
                "frequencies=frequency_bands(64, 1, 112), unit='half_turns', layout='wave_axis_band', include_input=True",
            ),
            (
                "gligen",
                "frequencies=frequency_bands(8, 1, 100, spacing='log', endpoint=False), layout='band_wave_axis'",
            ),
            ("sam, a random matrix", "unit='turns'"),
            ("song et al., a random vector, the logarithm of the noise level", "unit='turns'"),
            ("li et al., a learned matrix, dim 64", "order='cos_sin', gain=0.125"),
            (
                "cape, pictures (x, y within -1 .. 1)",
                "columns (cos k, sin k) times frequency_bands(n, 1, 10, spacing='log'), unit='half_turns', order='cos_sin'",
            ),
        ),
        (
            "NeRF: pi in the paper's angles, none in its code, which also puts the coordinates before them.",
            "Which of axis, sine or cosine, and band runs fastest along the channels.",
        ),
    ),
)
