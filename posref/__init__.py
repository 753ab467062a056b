"""The correctness oracle for position encodings: the mathematics, in NumPy, readable as a specification."""

import typing

from posref.additive.augmented import cape_positions
from posref.additive.axes import sinusoidal_axes
from posref.additive.features import fourier_features, frequency_bands
from posref.additive.hierarchical import hierarchical_table
from posref.additive.learned_rows import learned
from posref.additive.masks import mask_coordinates
from posref.additive.resampling import resample_table
from posref.additive.sinusoids import sinusoidal
from posref.additive.timesteps import timestep_embedding
from posref.bias.alibi import alibi_bias, alibi_slopes
from posref.bias.alignment import query_positions
from posref.bias.cosines import cosine_scale
from posref.bias.fire import fire_distance
from posref.bias.global_blocks import long_t5_blocks
from posref.bias.kerple import kerple_bias
from posref.bias.lookup import indexed_bias
from posref.bias.network import position_mlp
from posref.bias.offsets import log_offset
from posref.bias.sandwich import sandwich_bias
from posref.bias.t5 import t5_bias, t5_bucket
from posref.bias.windows import relative_position_index
from posref.judge import attention
from posref.linear_judge import linear_attention
from posref.logits import inkling_scale, length_scale, llama4_scale, log_n_scale, ssmax_scale
from posref.positions import cu_seqlens_positions, mask_positions
from posref.relative.contextual import cope_scores
from posref.relative.decomposed import decomposed_bias
from posref.relative.disentangled import deberta_bucket, disentangled_scores
from posref.relative.forgetting import forget_bias
from posref.relative.gates import bias_gate, reset_cls
from posref.relative.gathered import relative_bias, relative_scores, relative_values
from posref.relative.householder import path_scores
from posref.relative.permuted import permuted_channels
from posref.relative.rows import relative_index, relative_shift
from posref.relative.untied import untied_scores
from posref.rotary.axes import rope_axes_cos_sin, rope_axes_inv_freq, rope_axes_table
from posref.rotary.axis_maps import rope_axis_map
from posref.rotary.channelwise import rope_apply_channels
from posref.rotary.distance import dual_chunk_distance, rerope_distance, rope_scores, self_extend_distance
from posref.rotary.fope import fope_cos_sin
from posref.rotary.frequencies import rope_attention_factor, rope_inv_freq
from posref.rotary.grids import grid_coordinates, grid_positions
from posref.rotary.history import RopeHistory
from posref.rotary.magnitudes import rope_softmax_factor
from posref.rotary.mixed import rope_mixed_cos_sin
from posref.rotary.pixels import rope_pixel_freq
from posref.rotary.pope import pope_apply
from posref.rotary.rotation import rope, rope_apply
from posref.rotary.scaling import (
    DynamicLinearScaling,
    DynamicNTKScaling,
    DynamicYarnScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKByPartsScaling,
    NTKScaling,
    ProportionalScaling,
    Scaling,
    YarnScaling,
)
from posref.rotary.tables import rope_cos_sin, rope_table
from posref.rotary.weights import rope_permute_weight
from posref.rotary.xpos import xpos_scale

if typing.TYPE_CHECKING:
    from posref.models import read_config

__version__ = "0.1.0"

__all__ = [
    "DynamicLinearScaling",
    "DynamicNTKScaling",
    "DynamicYarnScaling",
    "LinearScaling",
    "Llama3Scaling",
    "LongRopeScaling",
    "NTKByPartsScaling",
    "NTKScaling",
    "ProportionalScaling",
    "RopeHistory",
    "Scaling",
    "YarnScaling",
    "__version__",
    "alibi_bias",
    "alibi_slopes",
    "attention",
    "bias_gate",
    "cape_positions",
    "cope_scores",
    "cosine_scale",
    "cu_seqlens_positions",
    "deberta_bucket",
    "decomposed_bias",
    "disentangled_scores",
    "dual_chunk_distance",
    "fire_distance",
    "fope_cos_sin",
    "forget_bias",
    "fourier_features",
    "frequency_bands",
    "grid_coordinates",
    "grid_positions",
    "hierarchical_table",
    "indexed_bias",
    "inkling_scale",
    "kerple_bias",
    "learned",
    "length_scale",
    "linear_attention",
    "llama4_scale",
    "log_n_scale",
    "log_offset",
    "long_t5_blocks",
    "mask_coordinates",
    "mask_positions",
    "path_scores",
    "permuted_channels",
    "pope_apply",
    "position_mlp",
    "query_positions",
    "read_config",
    "relative_bias",
    "relative_index",
    "relative_position_index",
    "relative_scores",
    "relative_shift",
    "relative_values",
    "rerope_distance",
    "resample_table",
    "reset_cls",
    "rope",
    "rope_apply",
    "rope_apply_channels",
    "rope_attention_factor",
    "rope_axes_cos_sin",
    "rope_axes_inv_freq",
    "rope_axes_table",
    "rope_axis_map",
    "rope_cos_sin",
    "rope_inv_freq",
    "rope_mixed_cos_sin",
    "rope_permute_weight",
    "rope_pixel_freq",
    "rope_scores",
    "rope_softmax_factor",
    "rope_table",
    "sandwich_bias",
    "self_extend_distance",
    "sinusoidal",
    "sinusoidal_axes",
    "ssmax_scale",
    "t5_bias",
    "t5_bucket",
    "timestep_embedding",
    "untied_scores",
    "xpos_scale",
]


def __getattr__(name: str) -> object:
    """The reader of configs, which is imported when it is asked for: it has a file per family of models."""
    if name != "read_config":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from posref.models import read_config

    return read_config


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
