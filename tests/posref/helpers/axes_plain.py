"""As plain_values, for tables of several axes."""

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


def rope_axes_table(positions: Any, axis_map: Any, attention_factor: Any, **ladder: Any) -> Any:
    w = rope_axes_inv_freq(axis_map, **ladder)
    return rope_axes_cos_sin(positions, w, axis_map, 1.0 if attention_factor is None else attention_factor)


def rope_axes_cos_sin(positions: Any, inv_freq: Any, axis_map: Any, attention_factor: float) -> Any:
    angles = positions[axis_map].T * inv_freq
    return np.cos(angles) * attention_factor, np.sin(angles) * attention_factor


def rope_mixed_cos_sin(positions: NDArray[Any], frequencies: NDArray[Any]) -> Any:
    angles = sum(p[:, None] * f[:, None, :] for p, f in zip(positions, frequencies, strict=True))
    return np.cos(angles), np.sin(angles)


def rope_pixel_freq(dim: int, max_freq: float, spacing: str) -> NDArray[Any]:
    if spacing == "linear":
        return np.linspace(1.0, max_freq / 2, dim // 2) * math.pi
    return np.logspace(0.0, math.log2(max_freq / 2), dim // 2, base=2) * math.pi


def grid_coordinates(sizes: tuple[int, int], normalize: str) -> NDArray[Any]:
    n = {"separate": sizes, "max": [max(sizes)] * 2, "min": [min(sizes)] * 2}[normalize]
    cells = np.indices(sizes).reshape(2, -1)
    return np.stack([(row + 0.5) / size * 2 - 1 for row, size in zip(cells, n, strict=True)])
