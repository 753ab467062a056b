"""posref's functions on CuPy arrays: those of posref_array on CuPy's namespace, and a fused CUDA kernel for the rotation.

The module is a backend (``posref check cupy``). It imports without CuPy and without a GPU: then every call raises a
RuntimeError of one line, the one that :func:`unavailable` gives.

What is CuPy's and not ours:

- CuPy has no bfloat16 of its own. From CuPy 14 on it takes ml_dtypes' type, in most functions and as an experiment; before,
  no such array can be made. The kernel's text covers ``__nv_bfloat16``, so :func:`rope_apply` takes what CuPy can hold.
- CuPy compiles everything with ``-ftz=true``: float32 results below 2**-126 in magnitude come out as zero.
- Kernels for float16 and bfloat16 include CUDA's headers, as CuPy's own do: ``pip install "cupy-cuda12x[ctk]"`` brings them.
"""

from posref_array import length_scale, rope_attention_factor, rope_softmax_factor
from posref_cupy._device import unavailable
from posref_cupy.additive import hierarchical_table, learned, sinusoidal, timestep_embedding
from posref_cupy.augmented import cape_positions
from posref_cupy.axes import (
    grid_coordinates,
    grid_positions,
    rope_apply_channels,
    rope_axes_cos_sin,
    rope_axes_inv_freq,
    rope_axes_table,
    rope_axis_map,
    rope_mixed_cos_sin,
)
from posref_cupy.bias import alibi_bias, alibi_slopes, long_t5_blocks, query_positions, t5_bias, t5_bucket
from posref_cupy.content import cope_scores, forget_bias, path_scores
from posref_cupy.continuous import cosine_scale, log_offset, position_mlp
from posref_cupy.decays import fire_distance, kerple_bias, sandwich_bias
from posref_cupy.decomposed import bias_gate, decomposed_bias, reset_cls
from posref_cupy.disentangled import deberta_bucket, disentangled_scores
from posref_cupy.distance import dual_chunk_distance, rerope_distance, rope_scores, self_extend_distance
from posref_cupy.features import fourier_features, frequency_bands, sinusoidal_axes
from posref_cupy.fope import fope_cos_sin
from posref_cupy.judge import attention
from posref_cupy.linear_judge import linear_attention
from posref_cupy.logits import inkling_scale, llama4_scale, log_n_scale, ssmax_scale
from posref_cupy.permuted import permuted_channels
from posref_cupy.pope import pope_apply
from posref_cupy.positions import cu_seqlens_positions, mask_coordinates, mask_positions
from posref_cupy.relative import (
    relative_bias,
    relative_index,
    relative_scores,
    relative_shift,
    relative_values,
)
from posref_cupy.resampling import resample_table
from posref_cupy.rotary import rope, rope_apply, rope_cos_sin, rope_inv_freq, rope_pixel_freq, rope_table
from posref_cupy.untied import untied_scores
from posref_cupy.weights import rope_permute_weight
from posref_cupy.windows import indexed_bias, relative_position_index
from posref_cupy.xpos import xpos_scale

arrays = "cupy"

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
    "unavailable",
    "untied_scores",
    "xpos_scale",
]
