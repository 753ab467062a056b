"""posref's closed forms in plain float64, as code usually has them: what the comparison has to tell from exact values.

Arguments and results are those of posref's functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def rope_inv_freq(dim: int, base: float, scaling: Any, seq_len: int | None) -> NDArray[Any]:
    exponents = np.arange(0, dim, 2) / dim
    kind, w = type(scaling).__name__, 1.0 / base**exponents
    if scaling is None:
        return w
    length = getattr(scaling, "original_max_position_embeddings", 0)
    if kind == "LongRopeScaling":
        return w / (scaling.long_factor if (seq_len or 0) > length else scaling.short_factor)
    longer = max(1.0, (seq_len or 0) / length) if length else 1.0
    if kind == "DynamicLinearScaling":
        return w / longer
    s = max(longer, scaling.least_factor) if kind == "DynamicYarnScaling" else scaling.factor
    if kind == "LinearScaling":
        return w / s
    if kind == "ProportionalScaling":
        return w / s * (np.arange(dim // 2) < scaling.rotating(dim // 2))
    if kind == "NTKScaling" and scaling.form != "aware":
        share = np.arange(2, dim + 2, 2) / dim
        exponent = {"base": exponents, "fixed": share, "mixed": share**scaling.mixed_b}[scaling.form]
        return w / np.float64(s) ** exponent
    if kind in ("NTKScaling", "DynamicNTKScaling"):
        if kind == "DynamicNTKScaling":
            s = s * max(seq_len or 0, length) / length - (s - 1)
        return 1.0 / (base * np.float64(s) ** (dim / (dim - 2))) ** exponents
    if kind == "NTKByPartsScaling":
        ntk = 1.0 / (base * np.float64(s) ** (dim / (dim - 2))) ** exponents
        slow = 1 - index_ramp(dim, base, length, (scaling.beta_0, scaling.beta_1), True)
        middle = 1 - index_ramp(dim, base, length, (scaling.gamma_0, scaling.gamma_1), True)
        m, n = slow * scaling.ntk_factor, middle * scaling.extrapolation_factor
        return (w / s * (1 - m) + ntk * m) * (1 - n) + w * n
    if kind == "Llama3Scaling":
        interpolated = 1 - ramp(length * w / (2 * math.pi), scaling.low_freq_factor, scaling.high_freq_factor)
    elif scaling.ramp == "rotations":
        interpolated = 1 - ramp(length * w / (2 * math.pi), scaling.beta_slow, scaling.beta_fast)
    else:
        betas = scaling.beta_fast, scaling.beta_slow
        interpolated = index_ramp(dim, base, length, betas, scaling.truncate)
    kept = (1 - interpolated) * getattr(scaling, "extrapolation_factor", 1.0)
    return w / s * (1 - kept) + w * kept


def index_ramp(dim: int, base: float, length: int, rotations: tuple[float, float], truncate: bool) -> NDArray[Any]:
    low, high = (dim * math.log(length / (b * 2 * math.pi)) / (2 * math.log(base)) for b in rotations)
    if truncate:
        low, high = float(math.floor(low)), float(math.ceil(high))
    low, high = max(low, 0), min(high, dim - 1)
    return ramp(np.arange(dim // 2), low, high if high != low else high + 0.001)


def ramp(values: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    return np.clip((values - low) / (high - low), 0, 1) if high != low else (values >= high) * 1.0


def rope_attention_factor(scaling: Any) -> float:
    if scaling.attention_factor is not None:
        return float(scaling.attention_factor)
    growth = math.log(max(scaling.factor, 1.0))
    if type(scaling).__name__ == "LongRopeScaling":
        return math.sqrt(1 + growth / math.log(scaling.original_max_position_embeddings))
    if not (scaling.mscale and scaling.mscale_all_dim):
        return 0.1 * growth + 1
    return (0.1 * scaling.mscale * growth + 1) / (0.1 * scaling.mscale_all_dim * growth + 1)


def rope_cos_sin(positions: NDArray[Any], inv_freq: NDArray[Any], attention_factor: float) -> Any:
    angles = positions[..., None] * inv_freq
    return np.cos(angles) * attention_factor, np.sin(angles) * attention_factor


def rope_table(positions: NDArray[Any], scaling: Any, attention_factor: float | None, **ladder: Any) -> Any:
    if attention_factor is None:
        has_factor = type(scaling).__name__ in ("YarnScaling", "LongRopeScaling")
        attention_factor = rope_attention_factor(scaling) if has_factor else 1.0
    return rope_cos_sin(positions, rope_inv_freq(scaling=scaling, **ladder), attention_factor)


def sinusoidal(
    positions: NDArray[Any],
    dim: int,
    base: float,
    endpoint: bool,
    layout: str,
    order: str,
    scale: float,
    gain: float,
    odd: str,
) -> NDArray[Any]:
    width = dim - dim % 2 if odd == "zero" else dim
    half = (width + 1) // 2
    w = base ** (-np.arange(half) / (half - 1 if endpoint else width / 2))
    cos, sin = rope_cos_sin(scale * positions, w, gain)
    parts = (sin, cos) if order == "sin_cos" else (cos, sin)
    stacked = np.stack(parts, axis=-1 if layout == "interleaved" else -2).reshape(*positions.shape, 2 * half)
    return np.concatenate([stacked[..., :width], np.zeros((*positions.shape, dim - width))], axis=-1)


def sinusoidal_axes(positions: NDArray[Any], dim: int, base: list[float], endpoint: bool, order: str) -> NDArray[Any]:
    n = dim // (2 * len(positions)) * 2
    parts = [
        sinusoidal(p, n, b, endpoint, "concatenated", order, 1.0, 1.0, "error")
        for p, b in zip(positions, base, strict=True)
    ]
    rest = np.zeros((*positions.shape[1:], dim - n * len(positions)))
    return np.concatenate([*parts, rest], axis=-1)


def mask_coordinates(mask: NDArray[Any], scale: float, shift: float, eps: float) -> NDArray[Any]:
    rows = []
    for axis in (-2, -1):
        counts = np.cumsum(mask, axis=axis, dtype=np.float64)
        rows.append((counts - shift) / (mask.sum(axis=axis, keepdims=True) + eps) * scale)
    return np.stack(rows)


def frequency_bands(n: int, first: float, last: float, spacing: str, endpoint: bool) -> NDArray[Any]:
    if spacing == "linear":
        return np.linspace(first, last, n, endpoint=endpoint)
    return np.exp(np.linspace(np.log(first), np.log(last), n, endpoint=endpoint))


def fourier_features(
    coordinates: NDArray[Any], frequencies: NDArray[Any], unit: str, order: str, gain: float
) -> NDArray[Any]:
    factor = {"radians": 1.0, "half_turns": np.pi, "turns": 2 * np.pi}[unit]
    if frequencies.ndim == 1:
        angles = [factor * x[..., None] * frequencies for x in coordinates]
    else:
        angles = [factor * np.moveaxis(coordinates, 0, -1) @ frequencies]
    waves = [(gain * np.sin(a), gain * np.cos(a))[:: 1 if order == "sin_cos" else -1] for a in angles]
    return np.concatenate([part for pair in waves for part in pair], axis=-1)


def timestep_embedding(
    timesteps: NDArray[Any],
    dim: int,
    flip_sin_to_cos: bool,
    downscale_freq_shift: float,
    scale: float,
    max_period: float,
) -> NDArray[Any]:
    half = dim // 2
    w = np.exp(-math.log(max_period) * np.arange(half) / (half - downscale_freq_shift))
    cos, sin = rope_cos_sin(scale * timesteps, w, 1.0)
    parts = [cos, sin] if flip_sin_to_cos else [sin, cos]
    return np.concatenate([*parts, np.zeros((*timesteps.shape, dim % 2))], axis=-1)


def alibi_slopes(
    num_heads: int, bias_max: float = 8.0, rule: str = "released", scale: float = 1.0, heads: Any = (0, None)
) -> NDArray[Any]:
    """The released code: powers of the first slope."""
    closest = num_heads if rule == "geometric" else 2 ** math.floor(math.log2(num_heads))

    def powers(n: int) -> NDArray[Any]:
        start = 2 ** (-bias_max / n)
        return np.array([start * start**h for h in range(n)])

    return scale * np.append(powers(closest), powers(2 * closest)[0::2][: num_heads - closest])[slice(*heads)]


def alibi_bias(slopes: NDArray[Any], q_positions: NDArray[Any], k_positions: NDArray[Any], form: str) -> NDArray[Any]:
    """Each factor and each difference rounded. One product cannot go wrong: for "key", the relative bias with m q added."""
    m, q, k = slopes[:, None, None], q_positions[..., None, :, None] * 1.0, k_positions[..., None, None, :] * 1.0
    if form in ("key_last", "key_first"):
        return m * (k - (k[..., -1:] if form == "key_last" else q[..., :1, :])) + 0 * q
    if form == "past":
        return -m * np.maximum(q - k, 0.0)
    if form == "key":
        return m * q - m * (q - k)
    return -m * (np.abs(q - k) if form == "distance" else q - k)
