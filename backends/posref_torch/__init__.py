"""posref's functions on torch tensors: those of posref_array, and what torch does better. Modules: :mod:`posref_torch.nn`.

The module is a backend (``posref check torch``). All functions are differentiable where their formula is, compile without a
graph break, and keep the type and the device of their input. Tables are made in float64 and rounded once.
"""

from posref_array import length_scale, rope_attention_factor, rope_softmax_factor
from posref_torch.additive import hierarchical_table, learned, sinusoidal, timestep_embedding
from posref_torch.augmented import cape_positions
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
from posref_torch.bias import alibi_bias, alibi_slopes, long_t5_blocks, query_positions, t5_bias, t5_bucket
from posref_torch.content import cope_scores, forget_bias, path_scores
from posref_torch.continuous import cosine_scale, log_offset, position_mlp
from posref_torch.decays import fire_distance, kerple_bias, sandwich_bias
from posref_torch.decomposed import bias_gate, decomposed_bias, reset_cls
from posref_torch.disentangled import deberta_bucket, disentangled_scores
from posref_torch.distance import dual_chunk_distance, rerope_distance, rope_scores, self_extend_distance
from posref_torch.features import fourier_features, frequency_bands, sinusoidal_axes
from posref_torch.fope import fope_cos_sin
from posref_torch.judge import attention
from posref_torch.linear_judge import linear_attention
from posref_torch.logits import inkling_scale, llama4_scale, log_n_scale, ssmax_scale
from posref_torch.permuted import permuted_channels
from posref_torch.pope import pope_apply
from posref_torch.positions import cu_seqlens_positions, mask_coordinates, mask_positions
from posref_torch.relative import (
    relative_bias,
    relative_index,
    relative_scores,
    relative_shift,
    relative_values,
)
from posref_torch.resampling import resample_table
from posref_torch.rotary import rope, rope_apply, rope_cos_sin, rope_inv_freq, rope_pixel_freq, rope_table
from posref_torch.untied import untied_scores
from posref_torch.weights import rope_permute_weight
from posref_torch.windows import indexed_bias, relative_position_index
from posref_torch.xpos import xpos_scale

arrays = "torch"

__all__ = [
    "alibi_bias",
    "alibi_slopes",
    "arrays",
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
