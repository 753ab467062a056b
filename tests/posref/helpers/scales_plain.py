"""As plain_values, for factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


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


def inkling_scale(positions: NDArray[Any], length: int, alpha: float) -> NDArray[Any]:
    return np.asarray(1 + alpha * np.log(np.maximum(1.0, (positions + 1) / length)))


def length_scale(seq_len: int, length: int, mscale: float) -> float:
    return max(1.0, 0.1 * mscale * math.log(seq_len / length) + 1)


def cosine_scale(log_scale: Any, largest: float) -> NDArray[Any]:
    return np.asarray(np.exp(np.minimum(log_scale, np.log(largest))))
