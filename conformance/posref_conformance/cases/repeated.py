"""Functions once more: the same shapes with other values, another parameter, memory with gaps that is not to be written to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from posref_conformance.case import Array, Call, Case, Inputs, read_only, strided

AGAIN: dict[str, tuple[str, dict[str, Any]]] = {  # function: which case it is asked, and a parameter that differs
    "alibi_slopes": ("heads-12", {"rule": "geometric"}),
    "attention": ("bias", {"scale": 0.5}),
    "cosine_scale": ("heads", {"largest": 3.0}),
    "deberta_bucket": ("few", {"max_distance": 40}),
    "dual_chunk_distance": ("batch", {}),
    "fire_distance": ("batch", {"eps": 0.5}),
    "fope_cos_sin": ("heads", {}),
    "fourier_features": ("batch", {"gain": 0.5}),
    "frequency_bands": ("linear", {"spacing": "log"}),
    "grid_positions": ("image", {"start": 3}),
    "hierarchical_table": ("some", {"alpha": 0.25}),
    "length_scale": ("qwen-1m", {"mscale": 0.5}),
    "llama4_scale": ("batch", {"attn_scale": 0.3}),
    "log_offset": ("paper", {"extent": 7}),
    "long_t5_blocks": ("padded", {}),
    "mask_coordinates": ("deformable-detr", {"shift": 0.25}),
    "mask_positions": ("bloom", {"first": 3}),
    "pope_apply": ("per-row", {"base": 100.0}),
    "position_mlp": ("relu", {"activation": "silu"}),
    "query_positions": ("decode", {"align": "top_left"}),
    "relative_index": ("shaw", {}),
    "relative_position_index": ("not-square", {"class_token": True}),
    "rerope_distance": ("batch", {"factor": 3.0}),
    "resample_table": ("not-square", {"kernel": "linear"}),
    "rope_apply_channels": ("half", {"layout": "interleaved"}),
    "rope_axes_inv_freq": ("per-axis", {"base": 100.0}),
    "rope_axes_table": ("per-axis", {"base": 100.0}),
    "rope_axis_map": ("chunked", {"rule": "interleaved"}),
    "rope_mixed_cos_sin": ("heads", {}),
    "rope_permute_weight": ("to-half", {"to": "interleaved"}),
    "rope_pixel_freq": ("linear", {"spacing": "log"}),
    "rope_scores": ("heads", {"layout": "interleaved"}),
    "sandwich_bias": ("batch", {"base": 100.0}),
    "self_extend_distance": ("batch", {"shift": "floor"}),
    "ssmax_scale": ("batch", {}),
    "t5_bucket": ("few", {"bidirectional": False}),
    "timestep_embedding": ("ddpm", {"scale": 3.0}),
    "xpos_scale": ("floor", {"scale_base": 64.0}),
}
GAPS = {  # function: which case it is asked
    "cope_scores": "causal",
    "cu_seqlens_positions": "packed",
    "deberta_bucket": "few",
    "decomposed_bias": "fewer-keys",
    "disentangled_scores": "deberta",
    "dual_chunk_distance": "batch",
    "fire_distance": "batch",
    "fope_cos_sin": "heads",
    "inkling_scale": "batch",
    "linear_attention": "causal",
    "llama4_scale": "batch",
    "long_t5_blocks": "padded",
    "mask_coordinates": "deformable-detr",
    "mask_positions": "bloom",
    "path_scores": "forgetting",
    "pope_apply": "per-row",
    "position_mlp": "fire",
    "relative_index": "shaw",
    "relative_scores": "transformer-xl",
    "relative_values": "per-batch",
    "rerope_distance": "batch",
    "reset_cls": "batch",
    "rope_axes_inv_freq": "per-axis",
    "rope_axes_table": "per-axis",
    "rope_mixed_cos_sin": "heads",
    "rope_scores": "heads",
    "rope_table": "plain",
    "sandwich_bias": "batch",
    "self_extend_distance": "batch",
    "sinusoidal": "paper",
    "sinusoidal_axes": "batch",
    "ssmax_scale": "batch",
    "t5_bucket": "not-a-power",
    "timestep_embedding": "ddpm",
    "untied_scores": "tupe",
    "xpos_scale": "floor",
}


def cases(others: Sequence[Case]) -> tuple[Case, ...]:
    """Made of other cases, whose calls they repeat."""
    known = {(case.function, case.name): case for case in others}
    again = (_again(known[function, name], other) for function, (name, other) in AGAIN.items())
    return (*again, *(_gaps(known[function, name]) for function, name in GAPS.items()))


def _again(case: Case, other: dict[str, Any]) -> Case:
    """First, other values, first, another parameter, first: what is kept of one must not come back for another."""

    def build(i: Inputs) -> list[Call]:
        (call,) = case.build(i)
        moved, changed = _mapped(lambda a: np.roll(a, 1, axis=-1), call), Call(call.args, {**call.kwargs, **other})
        calls = [call, moved, call] + ([changed, call] if other else [])
        return [_mapped(np.copy, c) for c in calls]

    return Case(case.function, "again", build, case.dtypes)


def _gaps(case: Case) -> Case:
    return Case(case.function, "gaps", lambda i: [_mapped(_with_gaps, c) for c in case.build(i)], case.dtypes)


def _with_gaps(array: Array) -> Array:
    return read_only(strided(array)) if array.ndim else array


def _mapped(change: Callable[[Array], Array], call: Call) -> Call:
    """Every array of a call changed."""

    def of(value: Any) -> Any:
        return change(value) if isinstance(value, np.ndarray) and value.ndim else value

    return Call(tuple(map(of, call.args)), {name: of(value) for name, value in call.kwargs.items()})
