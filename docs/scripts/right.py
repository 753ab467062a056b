"""Beside each textbook mistake, how to do it right: NumPy that can be read, and that passes the suite.

``RIGHT`` maps a fault's id to the functions that stand in the place of its own. A test holds each of them against the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posref import YarnScaling


def rope_apply(x, cos, sin, *, layout="half"):
    n = cos.shape[-1]
    if layout == "half":
        first, second = slice(0, n), slice(n, 2 * n)
    else:
        first, second = slice(0, 2 * n, 2), slice(1, 2 * n, 2)
    a, b = x[..., first], x[..., second]
    y = x.copy()
    # each member of a pair goes back where it came from
    y[..., first] = a * cos - b * sin
    y[..., second] = a * sin + b * cos
    return y


def rope(x, positions, *, base=10000.0, layout="half"):
    dim = x.shape[-1]
    inv_freq = base ** (-np.arange(0, dim, 2) / dim)
    angle = positions[..., None] * inv_freq
    cos, sin = np.cos(angle), np.sin(angle)
    return rope_apply(x, cos, sin, layout=layout)


def rope_apply_with_wide_tables(x, cos, sin):
    # one column per pair: repeated, for both halves
    wide_cos = np.concatenate([cos, cos], axis=-1)
    wide_sin = np.concatenate([sin, sin], axis=-1)
    n = cos.shape[-1]
    block, rest = x[..., : 2 * n], x[..., 2 * n :]
    a, b = block[..., :n], block[..., n:]
    turned = np.concatenate([-b, a], axis=-1)
    y = block * wide_cos + turned * wide_sin
    return np.concatenate([y.astype(x.dtype), rest], axis=-1)


def alibi_slopes(num_heads):
    # n heads, the power of two below, then 1st, 3rd, .. of 2n
    n = 2 ** (num_heads.bit_length() - 1)
    exponents = [-8 * h / n for h in range(1, n + 1)]
    for h in range(1, 2 * (num_heads - n), 2):
        exponents.append(-8 * h / (2 * n))
    return 2.0 ** np.array(exponents)


def alibi_bias(slopes, q_positions, k_positions):
    q = q_positions[..., None, :, None]
    k = k_positions[..., None, None, :]
    # (..., heads, q, k)
    return -slopes[:, None, None] * np.abs(q - k)


def rope_inv_freq(dim, *, base=10000.0, scaling=None):
    i = np.arange(dim // 2)
    plain = base ** (-2.0 * i / dim)
    if scaling is None:
        return plain
    if not isinstance(scaling, YarnScaling):
        raise NotImplementedError("a scaling other than YaRN")
    usual = scaling.extrapolation_factor == 1 and scaling.reversed_range == "error"
    if not (usual and scaling.truncate and scaling.ramp == "index"):
        raise NotImplementedError("YaRN's variants")

    def pair(rotations):
        # the one that turns so often in the original length
        length = scaling.original_max_position_embeddings
        turns = length / (2 * np.pi * rotations)
        return dim * np.log(turns) / (2 * np.log(base))

    low = max(np.floor(pair(scaling.beta_fast)), 0)
    high = min(np.ceil(pair(scaling.beta_slow)), dim - 1)
    width = max(high - low, 0.001)
    # 0 for the fast pairs: they are left alone
    slow = np.clip((i - low) / width, 0, 1)
    return slow * plain / scaling.factor + (1 - slow) * plain


def sinusoidal(positions, dim, *, base=10000.0, layout="interleaved"):
    # exponents 2k / dim: the last frequency is not 1 / base
    w = base ** (-np.arange(0, dim, 2) / dim)
    angle = positions[..., None].astype(np.float64) * w
    parts = [np.sin(angle), np.cos(angle)]
    if layout == "concatenated":
        return np.concatenate(parts, axis=-1)
    shape = (*positions.shape, dim)
    return np.stack(parts, axis=-1).reshape(shape)


Functions = dict[str, Callable[..., Any]]
RIGHT: dict[str, Functions] = {
    "interleaved-in-halves-out": {"rope_apply": rope_apply, "rope": rope},
    "alibi-slopes-start-at-one": {"alibi_slopes": alibi_slopes},
    "alibi-slopes-one-sequence": {"alibi_slopes": alibi_slopes},
    "alibi-no-slopes": {"alibi_bias": alibi_bias},
    "alibi-favours-distant-keys": {"alibi_bias": alibi_bias},
    "alibi-no-slopes-favours-distant-keys": {"alibi_bias": alibi_bias},
    "half-table-times-all-channels": {"rope_apply": rope_apply_with_wide_tables},
    "yarn-scales-fast-pairs": {"rope_inv_freq": rope_inv_freq},
    "sinusoid-endpoint-for-paper": {"sinusoidal": sinusoidal},
}
