"""A backend, made of any array namespace."""

from __future__ import annotations

import functools
import inspect
from types import SimpleNamespace
from typing import Any

from posref_array import (
    additive,
    augmented,
    axes,
    bias,
    content,
    continuous,
    decays,
    decomposed,
    disentangled,
    distance,
    features,
    fope,
    judge,
    linear_judge,
    logits,
    permuted,
    pope,
    positions,
    relative,
    resampling,
    rotary,
    untied,
    weights,
    windows,
    xpos,
)
from posref_array._support import Namespace

FUNCTIONS = (
    rotary.rope_inv_freq,
    rotary.rope_pixel_freq,
    rotary.rope_attention_factor,
    rotary.rope_softmax_factor,
    rotary.rope_cos_sin,
    rotary.rope_table,
    rotary.rope_apply,
    rotary.rope,
    axes.rope_axis_map,
    axes.rope_axes_inv_freq,
    axes.rope_axes_cos_sin,
    axes.rope_axes_table,
    axes.rope_mixed_cos_sin,
    axes.rope_apply_channels,
    axes.grid_positions,
    axes.grid_coordinates,
    additive.sinusoidal,
    additive.timestep_embedding,
    additive.learned,
    additive.hierarchical_table,
    features.sinusoidal_axes,
    features.frequency_bands,
    features.fourier_features,
    resampling.resample_table,
    bias.alibi_slopes,
    bias.alibi_bias,
    bias.t5_bucket,
    bias.t5_bias,
    bias.query_positions,
    bias.long_t5_blocks,
    windows.relative_position_index,
    windows.indexed_bias,
    continuous.log_offset,
    continuous.cosine_scale,
    continuous.position_mlp,
    decays.kerple_bias,
    decays.sandwich_bias,
    decays.fire_distance,
    augmented.cape_positions,
    logits.log_n_scale,
    logits.ssmax_scale,
    logits.llama4_scale,
    logits.inkling_scale,
    logits.length_scale,
    distance.rerope_distance,
    distance.self_extend_distance,
    distance.dual_chunk_distance,
    distance.rope_scores,
    xpos.xpos_scale,
    fope.fope_cos_sin,
    pope.pope_apply,
    weights.rope_permute_weight,
    positions.cu_seqlens_positions,
    relative.relative_index,
    relative.relative_shift,
    relative.relative_bias,
    relative.relative_values,
    relative.relative_scores,
    disentangled.deberta_bucket,
    disentangled.disentangled_scores,
    untied.untied_scores,
    permuted.permuted_channels,
    content.cope_scores,
    content.forget_bias,
    content.path_scores,
    decomposed.bias_gate,
    decomposed.decomposed_bias,
    decomposed.reset_cls,
    positions.mask_positions,
    positions.mask_coordinates,
    judge.attention,
    linear_judge.linear_attention,
)


class Backend(SimpleNamespace):
    """Functions with the names and signatures of posref's contract, on one library's arrays."""


def bind(xp: Namespace, *, dtype: Any = None, device: Any = None) -> Backend:
    """Posref's functions on the arrays of ``xp``.

    Parameters
    ----------
    xp
        An Array API namespace: ``array_api_strict``, ``array_api_compat.torch``, ...
    dtype, device
        Defaults for functions that get no array to take them from; None is the library's own.

    Returns
    -------
    Backend
        What ``posref check`` takes.

    Examples
    --------
    >>> import array_api_compat.numpy
    >>> bind(array_api_compat.numpy).alibi_slopes(2)
    array([0.0625    , 0.00390625])
    """
    given = {"xp": xp, "dtype": dtype, "device": device}
    functions = {}
    for function in FUNCTIONS:
        takes = inspect.signature(function).parameters
        functions[function.__name__] = functools.partial(function, **{k: v for k, v in given.items() if k in takes})
    return Backend(arrays=xp, device=device, **functions)
