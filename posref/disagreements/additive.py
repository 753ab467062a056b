"""Where readings of what is added to the embeddings differ."""

from __future__ import annotations

from posref.disagreements._record import Disagreement, Reading

GRIDS = "h, w = 2, 3"

ADDITIVE: tuple[Disagreement, ...] = (
    Disagreement(
        "sinusoid-last-frequency",
        "Where does the ladder of a sinusoidal encoding end?",
        ("sinusoidal",),
        (
            Reading(
                "one step before 1/base",
                "the paper, ESPnet, NeMo, keras-hub; Marian, Pegasus and RoFormer in transformers",
                "sinusoidal([1, 10], 8)",
            ),
            Reading(
                "at 1/base",
                "tensor2tensor, fairseq, Marian, Whisper, M2M100, DDPM",
                "sinusoidal([1, 10], 8, endpoint=True)",
            ),
        ),
        "one step before 1/base",
        "The paper's; each model's preset says its own. No order of the channels makes one of the other.",
        "transformers 5.24; tensor2tensor bafdc1b; marian node_initializers.cpp",
        "sinusoidal.endpoint",
    ),
    Disagreement(
        "sinusoid-layout",
        "How do sines and cosines lie along the channels?",
        ("sinusoidal",),
        (
            Reading("in turn", "the paper, ESPnet, NeMo, XLM", "sinusoidal([1, 10], 8)"),
            Reading(
                "sines, then cosines",
                "tensor2tensor, fairseq, Whisper",
                "sinusoidal([1, 10], 8, layout='concatenated')",
            ),
            Reading(
                "cosines, then sines",
                "MusicGen; ADM, DiT and Stable Diffusion for timesteps",
                "sinusoidal([1, 10], 8, layout='concatenated', order='cos_sin')",
            ),
        ),
        "in turn",
        "The paper's; a permutation, which weights that were trained with the other do not know.",
        "transformers 5.24; diffusers 0.42.1",
        "sinusoidal.layout",
    ),
    Disagreement(
        "sinusoid-odd-width",
        "What is an odd width?",
        ("sinusoidal",),
        (
            Reading("an error", "ESPnet, NeMo, Whisper", "None"),
            Reading(
                "a last channel of 0",
                "tensor2tensor, fairseq, M2M100, MusicGen",
                "sinusoidal([1, 10], 5, layout='concatenated', odd='zero')",
            ),
            Reading(
                "a sine more than cosines",
                "Marian, XLM and DistilBERT in transformers, keras-hub",
                "sinusoidal([1, 10], 5, layout='concatenated', odd='split')",
            ),
        ),
        "an error",
        "The paper has even widths alone. TimesFM's code pads the sequence in the place of the channels.",
        "transformers 5.24; tensor2tensor bafdc1b",
        "sinusoidal.odd",
    ),
    Disagreement(
        "first-position",
        "Which row is that of the first token, and which that of padding?",
        ("position-ids", "learned"),
        (
            Reading("0, and 0", "GPT-2 when it generates, BLOOM's and Falcon's keys", "mask_positions(mask)"),
            Reading("0, and 1", "older GPT-2 code, Qwen2.5-Omni", "mask_positions(mask, padding=1)"),
            Reading(
                "2, and 1",
                "OPT; RoBERTa and fairseq with padding id 1",
                "mask_positions(mask, first=2, padding=1)",
            ),
            Reading("2, and padding counts", "BART, XGLM", "2 + np.arange(5)"),
            Reading("1, and padding counts", "FunASR", "1 + np.arange(5)"),
            Reading("0, and padding counts", "BERT, Whisper", "np.arange(5)"),
        ),
        "0, and 0",
        "What decoders do today. What padding gets matters only where it is not masked, and for the rows of a table.",
        "transformers 5.24; fairseq 3d262bb2",
        given="mask = [0, 0, 1, 1, 1]",
    ),
    Disagreement(
        "padding-id-in-the-text",
        "Does a token count that has the id of padding?",
        ("position-ids",),
        (
            Reading(
                "no", "RoBERTa, M2M100 and others that count by ids", "mask_positions(ids != 1, first=2, padding=1)"
            ),
            Reading("yes", "OPT, ProphetNet, BLOOM: by the attention mask", "mask_positions(mask, first=2, padding=1)"),
        ),
        "yes",
        "The mask is the caller's: one of ids gives the other reading.",
        "transformers 5.24",
        given="ids, mask = np.array([5, 1, 7, 8]), [1, 1, 1, 1]",
    ),
    Disagreement(
        "min-timescale",
        "What does min_timescale do to the angles?",
        ("sinusoidal",),
        (
            Reading(
                "divides them",
                "the words of tensor2tensor",
                "sinusoidal([1, 7], 8, base=5000.0, endpoint=True, scale=1 / 2)",
            ),
            Reading(
                "multiplies them",
                "the code of tensor2tensor, TimesFM and Gemma's audio",
                "sinusoidal([1, 7], 8, base=5000.0, endpoint=True, scale=2.0)",
            ),
        ),
        "divides them",
        "Wavelengths that run from min_timescale to max_timescale, which is 10000 here. All released models have 1.",
        "tensor2tensor bafdc1b, get_timing_signal_1d",
    ),
    Disagreement(
        "sinusoid-axis-order",
        "Which axis of a picture has the first channels of its sinusoids?",
        ("sinusoidal-axes",),
        (
            Reading("y", "DETR, RT-DETR, timm, Deformable DETR", "sinusoidal_axes(grid_positions((h, w)), 8)"),
            Reading("x", "MAE, DiT, MoCo v3, SimpleViT", "sinusoidal_axes(grid_positions((h, w))[::-1], 8)"),
        ),
        "y",
        "NumPy's order of a grid; each model's preset says its own. In MAE's code the encoding of x is named emb_h.",
        "transformers 5.24; mae efb2a80; big_vision 0127fb6",
        given=GRIDS,
    ),
    Disagreement(
        "sinusoid-axis-spacing",
        "Where does the ladder of an axis end?",
        ("sinusoidal-axes",),
        (
            Reading(
                "one step before 1/base", "MAE, DETR, RT-DETR, diffusers", "sinusoidal_axes(grid_positions((h, w)), 8)"
            ),
            Reading(
                "at 1/base",
                "MoCo v3, SimpleViT, big_vision, tensor2tensor",
                "sinusoidal_axes(grid_positions((h, w)), 8, endpoint=True)",
            ),
        ),
        "one step before 1/base",
        "As on one axis.",
        "mae efb2a80; big_vision 0127fb6; vit-pytorch 69d24fe",
        "sinusoidal_axes.endpoint",
        given=GRIDS,
    ),
    Disagreement(
        "detr-pixel-centre",
        "Is the first of n pixels at 1/n or at half of it?",
        ("sinusoidal-axes",),
        (
            Reading("1/n", "DETR, Conditional DETR, MaskFormer, SAM 2", "mask_coordinates(mask, scale=2 * np.pi)"),
            Reading(
                "half of it",
                "Deformable DETR, Grounding DINO",
                "mask_coordinates(mask, scale=2 * np.pi, shift=0.5)",
            ),
            Reading("at 1, not normalised", "DETR with normalize=False", "mask_coordinates(mask)"),
        ),
        "1/n",
        "DETR was the first; its models are used with what they were trained with.",
        "transformers 5.24; detr 29901c5",
        given="mask = np.ones((2, 3), bool)",
    ),
    Disagreement(
        "rt-detr-grid",
        "Whose grid are the positions of RT-DETR's tokens?",
        ("sinusoidal-axes",),
        (
            Reading(
                "that of (height, width)",
                "transformers since pull request 41380",
                "sinusoidal_axes(grid_positions((h, w)), 8)",
            ),
            Reading(
                "that of (width, height)",
                "the original code, transformers before",
                "sinusoidal_axes(grid_positions((w, h)), 8)",
            ),
        ),
        "that of (height, width)",
        "The tokens lie row by row; the pictures that it was trained on are square, where the two are one.",
        "transformers 5.24; huggingface/transformers 41380",
        given=GRIDS,
    ),
    Disagreement(
        "diffusers-spatial-size",
        "In which order does spatial_size give the sides of a video?",
        ("sinusoidal-axes",),
        (
            Reading(
                "width, height", "the code of diffusers", "sinusoidal_axes(grid_positions((1, 3, 2))[[0, 2, 1]], 16)"
            ),
            Reading("height, width", "its words", "sinusoidal_axes(grid_positions((1, 2, 3))[[0, 2, 1]], 16)"),
        ),
        "width, height",
        "CogVideoX passes its sides in that order. Here for spatial_size=(2, 3).",
        "diffusers 0.42.1, get_3d_sincos_pos_embed",
    ),
    Disagreement(
        "timestep-defaults",
        "Which timestep embedding is meant where nothing is said?",
        ("timestep",),
        (
            Reading(
                "sines first, the ladder ends at 1/max_period",
                "DDPM, diffusers' defaults",
                "timestep_embedding([10], 8)",
            ),
            Reading(
                "cosines first, it ends one step before",
                "ADM, DiT, Stable Diffusion, Flux",
                "timestep_embedding([10], 8, flip_sin_to_cos=True, downscale_freq_shift=0.0)",
            ),
        ),
        "sines first, the ladder ends at 1/max_period",
        "The names and the defaults are diffusers'; nearly every model passes the other.",
        "diffusers 0.42.1; guided-diffusion 22e0df8",
        "timestep_embedding.flip_sin_to_cos",
    ),
    Disagreement(
        "timestep-frequency-type",
        "In which type are the frequencies of a timestep?",
        ("timestep",),
        (
            Reading("as they are", "diffusers everywhere else", "timestep_embedding([0.999], 256, scale=1000.0)"),
            Reading(
                "rounded to bfloat16",
                "Qwen-Image in diffusers, with timesteps in bfloat16",
                "timestep_embedding([0.999], 256, scale=1000.0, freq_dtype='bfloat16')",
            ),
        ),
        "as they are",
        "A frequency that is off by 2^-9 turns an angle of 1000 by 2.",
        "diffusers 0.42.1, transformer_qwenimage.py",
        "timestep_embedding.freq_dtype",
    ),
    Disagreement(
        "nerf-pi",
        "Is there a pi in NeRF's angles?",
        ("fourier-features",),
        (
            Reading("yes", "the paper, eq. 4", "fourier_features([[0.25]], bands, unit='half_turns')"),
            Reading(
                "no, and the coordinates come first",
                "the authors' code and what follows it",
                "fourier_features([[0.25]], bands, layout='band_wave_axis', include_input=True)",
            ),
        ),
        "no, and the coordinates come first",
        "The models were trained with the code.",
        "2003.08934; nerf 14c5556",
        given="bands = frequency_bands(2, 1, 2, spacing='log')",
    ),
    Disagreement(
        "resize-kernel",
        "With which kernel is a table of positions resized?",
        ("learned-resampled",),
        (
            Reading(
                "cubic, a = -0.75", "ViT, DeiT, MAE, DINOv2 in transformers", "resample_table(table, (3, 4), (5, 3))"
            ),
            Reading(
                "cubic, a = -0.5, with antialias",
                "timm, DINOv2's models with registers",
                "resample_table(table, (3, 4), (5, 3), antialias=True)",
            ),
            Reading(
                "linear, with antialias",
                "SigLIP 2",
                "resample_table(table, (3, 4), (5, 3), kernel='linear', antialias=True)",
            ),
            Reading(
                "linear, corners on corners",
                "Qwen3-VL; big_vision, by scipy's zoom",
                "resample_table(table, (3, 4), (5, 3), kernel='linear', align_corners=True)",
            ),
            Reading("linear", "PaddleOCR-VL", "resample_table(table, (3, 4), (5, 3), kernel='linear')"),
        ),
        "cubic, a = -0.75",
        "What most vision models in transformers do.",
        "transformers 5.24; timm aa4b585; big_vision 0127fb6",
        given="table = np.arange(12.0)[:, None] ** 2",
    ),
    Disagreement(
        "resize-ratio",
        "Is the ratio of a resize that of the sizes?",
        ("learned-resampled",),
        (
            Reading("yes", "transformers, timm", "resample_table(table, (37, 37), (16, 16))"),
            Reading(
                "no: (n + 0.1) / S is passed as a factor",
                "DINO and DINOv2's own code",
                "resample_table(table, (37, 37), (16, 16), offset=0.1)",
            ),
        ),
        "yes",
        "Rows that count from 0 differ by up to 10 of 1368.",
        "dinov2 b8931f7, interpolate_offset",
        "resample_table.offset",
        given="table = np.arange(37.0 * 37)[:, None]",
    ),
    Disagreement(
        "bias-table-resize",
        "Where do the offsets of a window lie in a larger one, and what lies between them?",
        ("window-bias", "learned-resampled"),
        (
            Reading("evenly, bicubic", "Swin", "resample_table(table, (7, 7), (9, 9))"),
            Reading(
                "evenly, bilinear", "BEiT in transformers", "resample_table(table, (7, 7), (9, 9), kernel='linear')"
            ),
            Reading(
                "on a geometric progression, a cubic spline",
                "BEiT's own code",
                "resample_table(table, (7, 7), (9, 9), kernel='spline', spacing='geometric')",
            ),
            Reading(
                "on a geometric progression, straight lines",
                "timm",
                "resample_table(table, (7, 7), (9, 9), kernel='linear', spacing='geometric')",
            ),
        ),
        "evenly, bicubic",
        "As tables of positions. The progression leaves near offsets where they were.",
        "microsoft/unilm, beit; timm aa4b585, pos_embed_rel.py; transformers 5.24; microsoft/Swin-Transformer f82860b",
        "resample_table.spacing",
        given="table = np.arange(49.0)[:, None] ** 2",
    ),
    Disagreement(
        "beit-table-shape",
        "How does the resize of BEiT's bias table read its rows?",
        ("learned-resampled",),
        (
            Reading(
                "as (height, width)",
                "timm; the index that is used with it",
                "resample_table(table, (4, 3), (5, 3), kernel='linear')",
            ),
            Reading("as (width, height)", "transformers", "resample_table(table, (3, 4), (5, 3), kernel='linear')"),
        ),
        "as (height, width)",
        "The index counts rows of the width; the released windows are square, where the two are one.",
        "transformers 5.24, BeitRelativePositionBias",
        given="table = np.arange(12.0)[:, None] ** 2",
    ),
)
