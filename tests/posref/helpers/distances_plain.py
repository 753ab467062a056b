"""As plain_values, for distances, and biases that are functions of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rerope_distance(q_positions: Any, k_positions: Any, window: int, factor: float) -> NDArray[Any]:
    d = q_positions[:, None] - k_positions
    return np.where(d < window, d, window + (d - window) / factor)


def self_extend_distance(q_positions: Any, k_positions: Any, group_size: int, window: int, shift: str) -> NDArray[Any]:
    d = q_positions[:, None] - k_positions
    grouped = q_positions[:, None] // group_size - k_positions // group_size + (window - window / group_size)
    return np.where(d < window, d, grouped)


def kerple_bias(r1: Any, r2: Any, q_positions: Any, k_positions: Any, form: str) -> NDArray[Any]:
    d = np.abs(q_positions[:, None] - k_positions)
    r1, r2 = r1[:, None, None], r2[:, None, None]
    return np.asarray(-r1 * np.log(1 + r2 * d) if form == "log" else -r1 * d**r2)


def fire_distance(q_positions: Any, k_positions: Any, c: float, length: float, limit: str, eps: float) -> NDArray[Any]:
    chosen = np.maximum if limit == "max" else np.minimum
    above = np.log(1 + np.abs(c * (q_positions[:, None] - k_positions)))
    return np.asarray(above / (np.log(1 + np.abs(c * chosen(length, q_positions))) + eps)[:, None])


def log_offset(relative_position: Any, extent: Any) -> NDArray[Any]:
    size = np.abs(relative_position)
    y = np.log(1 + size) if extent is None else np.log2(1 + size / extent * 8) / 3
    return np.asarray(np.sign(relative_position) * y)


def sandwich_bias(
    num_heads: int, q_positions: Any, k_positions: Any, dim: int, base: float, start: int
) -> NDArray[Any]:
    angles = (q_positions[:, None] - k_positions)[..., None] * base ** (-2.0 * np.arange(start, start + dim // 2) / dim)
    return np.asarray(
        (np.cos(angles).sum(axis=-1) - dim / 2) * num_heads / (8.0 * np.arange(1, num_heads + 1)[:, None, None])
    )
