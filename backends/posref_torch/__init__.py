"""posref's functions on torch tensors: those of posref_array, and what torch does better. Modules: :mod:`posref_torch.nn`.

The module is a backend (``posref check torch``). All functions are differentiable where their formula is, compile without a
graph break, and keep the type and the device of their input. Tables are made in float64 and rounded once.
"""

from posref_array import rope_attention_factor
from posref_torch.additive import learned, sinusoidal, timestep_embedding
from posref_torch.axes import (
    grid_coordinates,
    grid_positions,
    rope_apply_channels,
    rope_axes_cos_sin,
    rope_axes_inv_freq,
    rope_axes_table,
    rope_axis_map,
    rope_mixed_cos_sin,
)
from posref_torch.bias import alibi_bias, alibi_slopes, t5_bias, t5_bucket
from posref_torch.judge import attention
from posref_torch.rotary import rope, rope_apply, rope_cos_sin, rope_inv_freq, rope_table

arrays = "torch"

__all__ = [
    "alibi_bias",
    "alibi_slopes",
    "arrays",
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
