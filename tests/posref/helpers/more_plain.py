"""As plain_values, for tables of several axes, xPos, distances and factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def rope_axes_inv_freq(axis_map: NDArray[Any], base: Any, ladder: str, scaling: Any) -> NDArray[Any]:
    n, seen, found = int(axis_map.max()) + 1, [0] * (int(axis_map.max()) + 1), []
    for i, a in enumerate(axis_map.tolist()):
        k = seen[a]
        seen[a] += 1
        if ladder == "per_axis":
            w = base[a] ** (-k / np.count_nonzero(axis_map == a))
            found.append(w / scaling[a].factor if scaling else w)
        else:
            found.append(base ** (-(i if ladder == "shared" else k * n + a) / len(axis_map)))
    return np.array(found)


def rope_axes_cos_sin(positions: Any, inv_freq: Any, axis_map: Any, attention_factor: float) -> Any:
    angles = positions[axis_map].T * inv_freq
    return np.cos(angles) * attention_factor, np.sin(angles) * attention_factor


def rope_axes_table(positions: Any, axis_map: Any, attention_factor: Any, **ladder: Any) -> Any:
    w = rope_axes_inv_freq(axis_map, **ladder)
    return rope_axes_cos_sin(positions, w, axis_map, 1.0 if attention_factor is None else attention_factor)


def rope_mixed_cos_sin(positions: NDArray[Any], frequencies: NDArray[Any]) -> Any:
    angles = sum(p[:, None] * f[:, None, :] for p, f in zip(positions, frequencies, strict=True))
    return np.cos(angles), np.sin(angles)


def rope_pixel_freq(dim: int, max_freq: float, spacing: str) -> NDArray[Any]:
    if spacing == "linear":
        return np.linspace(1.0, max_freq / 2, dim // 2) * math.pi
    return np.logspace(0.0, math.log2(max_freq / 2), dim // 2, base=2) * math.pi


def rope_softmax_factor(scaling: Any) -> float:
    growth = math.log(max(scaling.factor, 1.0))
    magnitude = 0.1 * (scaling.mscale_all_dim or 0.0) * growth + 1
    return float(magnitude * magnitude)


def xpos_scale(positions: NDArray[Any], dim: int, centre: Any, length: int | None, scale_base: float) -> NDArray[Any]:
    middle = centre if length is None else length // 2 if centre == "floor" else (length + 1) // 2
    zeta = (np.arange(0, dim, 2) + 0.4 * dim) / (1.4 * dim)
    return np.asarray(zeta ** ((positions - middle) / scale_base)[..., None])


def log_n_scale(positions: NDArray[Any], length: int, clip: bool) -> NDArray[Any]:
    scale = np.log(positions + 1) / math.log(length)
    return np.maximum(scale, 1.0) if clip else scale


def ssmax_scale(positions: NDArray[Any], s: NDArray[Any], bias: NDArray[Any] | None) -> NDArray[Any]:
    scale = s[:, None] * np.log(positions + 1.0)[..., None, :]
    return scale if bias is None else scale + bias[:, None]


def llama4_scale(positions: NDArray[Any], attn_scale: float, floor_scale: int, shift: int) -> NDArray[Any]:
    return np.asarray(1 + attn_scale * np.log(1 + np.floor((positions + shift) / floor_scale)))


def length_scale(seq_len: int, length: int, mscale: float) -> float:
    return max(1.0, 0.1 * mscale * math.log(seq_len / length) + 1)


def rerope_distance(q_positions: Any, k_positions: Any, window: int, factor: float) -> NDArray[Any]:
    d = q_positions[:, None] - k_positions
    return np.where(d < window, d, window + (d - window) / factor)


def self_extend_distance(q_positions: Any, k_positions: Any, group_size: int, window: int, shift: str) -> NDArray[Any]:
    d = q_positions[:, None] - k_positions
    grouped = q_positions[:, None] // group_size - k_positions // group_size + (window - window / group_size)
    return np.where(d < window, d, grouped)


def grid_coordinates(sizes: tuple[int, int], normalize: str) -> NDArray[Any]:
    n = {"separate": sizes, "max": [max(sizes)] * 2, "min": [min(sizes)] * 2}[normalize]
    cells = np.indices(sizes).reshape(2, -1)
    return np.stack([(row + 0.5) / size * 2 - 1 for row, size in zip(cells, n, strict=True)])


def fire_distance(q_positions: Any, k_positions: Any, c: float, length: float, limit: str, eps: float) -> NDArray[Any]:
    chosen = np.maximum if limit == "max" else np.minimum
    above = np.log(1 + np.abs(c * (q_positions[:, None] - k_positions)))
    return np.asarray(above / (np.log(1 + np.abs(c * chosen(length, q_positions))) + eps)[:, None])


def log_offset(relative_position: Any, extent: Any) -> NDArray[Any]:
    size = np.abs(relative_position)
    y = np.log(1 + size) if extent is None else np.log2(1 + size / extent * 8) / 3
    return np.asarray(np.sign(relative_position) * y)


def cosine_scale(log_scale: Any, largest: float) -> NDArray[Any]:
    return np.asarray(np.exp(np.minimum(log_scale, np.log(largest))))


def kerple_bias(r1: Any, r2: Any, q_positions: Any, k_positions: Any, form: str) -> NDArray[Any]:
    d = np.abs(q_positions[:, None] - k_positions)
    r1, r2 = r1[:, None, None], r2[:, None, None]
    return np.asarray(-r1 * np.log(1 + r2 * d) if form == "log" else -r1 * d**r2)
