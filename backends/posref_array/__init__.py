"""posref's functions over the Python Array API: written once, for NumPy, torch, CuPy and whoever follows the standard.

Functions take ``xp=``, the namespace; those that get an array can do without it. :func:`bind` makes a backend of a namespace.
"""

from posref_array._bind import Backend, bind
from posref_array.additive import hierarchical_table, learned, sinusoidal, timestep_embedding
from posref_array.augmented import cape_positions
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
from posref_array.bias import alibi_bias, alibi_slopes, long_t5_blocks, query_positions, t5_bias, t5_bucket
from posref_array.content import cope_scores, forget_bias, path_scores
from posref_array.continuous import cosine_scale, log_offset, position_mlp
from posref_array.decays import fire_distance, kerple_bias, sandwich_bias
from posref_array.decomposed import bias_gate, decomposed_bias, reset_cls
from posref_array.disentangled import deberta_bucket, disentangled_scores
from posref_array.distance import dual_chunk_distance, rerope_distance, rope_scores, self_extend_distance
from posref_array.features import fourier_features, frequency_bands, sinusoidal_axes
from posref_array.fope import fope_cos_sin
from posref_array.judge import attention
from posref_array.linear_judge import linear_attention
from posref_array.logits import inkling_scale, length_scale, llama4_scale, log_n_scale, ssmax_scale
from posref_array.permuted import permuted_channels
from posref_array.pope import pope_apply
from posref_array.positions import cu_seqlens_positions, mask_coordinates, mask_positions
from posref_array.relative import (
    relative_bias,
    relative_index,
    relative_scores,
    relative_shift,
    relative_values,
)
from posref_array.resampling import resample_table
from posref_array.rotary import (
    rope,
    rope_apply,
    rope_attention_factor,
    rope_cos_sin,
    rope_inv_freq,
    rope_pixel_freq,
    rope_softmax_factor,
    rope_table,
)
from posref_array.untied import untied_scores
from posref_array.weights import rope_permute_weight
from posref_array.windows import indexed_bias, relative_position_index
from posref_array.xpos import xpos_scale

__all__ = [
    "Backend",
    "alibi_bias",
    "alibi_slopes",
    "attention",
    "bias_gate",
    "bind",
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
