"""posref's functions over the Python Array API: written once, for NumPy, torch, CuPy and whoever follows the standard.

Functions take ``xp=``, the namespace; those that get an array can do without it. :func:`bind` makes a backend of a namespace.
"""

from posref_array._bind import Backend, bind
from posref_array.additive import learned, sinusoidal, timestep_embedding
from posref_array.axes import (
    grid_coordinates,
    grid_positions,
    rope_apply_channels,
    rope_axes_cos_sin,
    rope_axes_inv_freq,
    rope_axes_table,
    rope_axis_map,
    rope_mixed_cos_sin,
)
from posref_array.bias import alibi_bias, alibi_slopes, t5_bias, t5_bucket
from posref_array.judge import attention
from posref_array.rotary import rope, rope_apply, rope_attention_factor, rope_cos_sin, rope_inv_freq, rope_table

__all__ = [
    "Backend",
    "alibi_bias",
    "alibi_slopes",
    "attention",
    "bind",
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
