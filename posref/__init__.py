"""The correctness oracle for position encodings: the mathematics, in NumPy, readable as a specification."""

from posref.additive.learned_rows import learned
from posref.additive.sinusoids import sinusoidal
from posref.additive.timesteps import timestep_embedding
from posref.bias.alibi import alibi_bias, alibi_slopes
from posref.bias.t5 import t5_bias, t5_bucket
from posref.judge import attention
from posref.rotary.axes import rope_axes_cos_sin, rope_axes_inv_freq, rope_axes_table
from posref.rotary.axis_maps import rope_axis_map
from posref.rotary.channelwise import rope_apply_channels
from posref.rotary.frequencies import rope_attention_factor, rope_inv_freq
from posref.rotary.grids import grid_coordinates, grid_positions
from posref.rotary.mixed import rope_mixed_cos_sin
from posref.rotary.rotation import rope, rope_apply
from posref.rotary.scaling import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKScaling,
    Scaling,
    YarnScaling,
)
from posref.rotary.tables import rope_cos_sin, rope_table

__version__ = "0.1.0"

__all__ = [
    "DynamicNTKScaling",
    "LinearScaling",
    "Llama3Scaling",
    "LongRopeScaling",
    "NTKScaling",
    "Scaling",
    "YarnScaling",
    "__version__",
    "alibi_bias",
    "alibi_slopes",
    "attention",
    "grid_coordinates",
    "grid_positions",
    "learned",
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
    "rope_table",
    "sinusoidal",
    "t5_bias",
    "t5_bucket",
    "timestep_embedding",
]
