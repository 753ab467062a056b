"""Embeddings, positions, attention as somebody writes them who has never seen posref: right, until a test changes a line."""

import itertools
import math

import numpy as np


def sinusoidal(positions, dim, *, base=10000.0):
    p = np.asarray(positions).astype(np.float64)
    w = base ** (-np.arange(0, dim, 2) / dim)
    y = np.empty((*p.shape, dim))
    y[..., 0::2] = np.sin(p[..., None] * w)
    y[..., 1::2] = np.cos(p[..., None] * w)
    return y


def timestep_embedding(
    timesteps, dim, *, flip_sin_to_cos=False, downscale_freq_shift=1.0, scale=1.0, max_period=10000.0
):
    half = dim // 2
    exponent = -math.log(max_period) * np.arange(half) / (half - downscale_freq_shift)
    t = np.asarray(timesteps).astype(np.float64)
    angle = scale * t[..., None] * np.exp(exponent)
    parts = [np.sin(angle), np.cos(angle)]
    if flip_sin_to_cos:
        parts.reverse()
    if dim % 2:
        parts.append(np.zeros_like(angle[..., :1]))
    return np.concatenate(parts, axis=-1)


def learned(table, positions, *, offset=0):
    rows = np.asarray(positions) + offset
    return table[rows].copy()


def mask_positions(mask, *, first=0, padding=0):
    there = np.asarray(mask).astype(np.int64)
    count = np.cumsum(there, axis=-1) - 1 + first
    return count if padding is None else np.where(there == 1, count, padding)


def cu_seqlens_positions(cu_seqlens):
    starts = [int(c) for c in cu_seqlens]
    return np.array([t for a, b in itertools.pairwise(starts) for t in range(b - a)], dtype=np.int64)


def grid_positions(sizes, *, start=0):
    rows = np.stack([axis.ravel() for axis in np.indices(sizes)])
    return rows + np.reshape(start, (-1, 1))


def grid_coordinates(sizes):
    axes = [2 * (np.arange(n) + 0.5) / n - 1 for n in sizes]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])


def attention(q, k, v, *, bias=None, mask=None, scale=None):
    work = np.float64 if q.dtype == np.float64 else np.float32
    s = q.shape[-1] ** -0.5 if scale is None else scale
    logits = s * (q.astype(work) @ np.swapaxes(k.astype(work), -1, -2))
    if bias is not None:
        logits = logits + bias.astype(work)
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    top = np.max(logits, axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(logits - np.where(np.isfinite(top), top, 0))
    total = weights.sum(axis=-1, keepdims=True)
    weights = weights / np.where(total > 0, total, 1)
    return (weights @ v.astype(work)).astype(q.dtype)


def log_n_scale(positions, trained_length, *, clip=True):
    n = np.asarray(positions).astype(np.float64) + 1
    y = np.log(n) / math.log(trained_length)
    return np.maximum(y, 1.0) if clip else y


def llama4_scale(positions, *, attn_scale=0.1, floor_scale=8192, shift=1):
    steps = np.floor((np.asarray(positions).astype(np.float64) + shift) / floor_scale)
    return 1 + attn_scale * np.log1p(steps)


def sinusoidal_axes(positions, dim, *, base=10000.0):
    p = np.asarray(positions).astype(np.float64)
    width = dim // len(p) // 2 * 2
    bases = np.broadcast_to(base, len(p))
    parts = []
    for a in range(len(p)):
        angle = p[a][..., None] * bases[a] ** (-np.arange(0, width, 2) / width)
        parts += [np.sin(angle), np.cos(angle)]
    parts.append(np.zeros((*p.shape[1:], dim - len(p) * width)))
    return np.concatenate(parts, axis=-1)


def fourier_features(coordinates, frequencies, *, unit="radians", order="sin_cos", gain=1.0):
    x, f = np.asarray(coordinates).astype(np.float64), frequencies.astype(np.float64)
    turn = {"radians": 1.0, "half_turns": math.pi, "turns": 2 * math.pi}[unit]
    if f.ndim == 2:
        angles = [turn * np.moveaxis(x, 0, -1) @ f]
    else:
        angles = [turn * row[..., None] * f for row in x]
    parts = []
    for angle in angles:
        pair = [np.sin(angle), np.cos(angle)]
        parts += pair if order == "sin_cos" else pair[::-1]
    return (gain * np.concatenate(parts, axis=-1)).astype(frequencies.dtype)


def rope_axis_map(sections, *, rule="chunked"):
    if rule == "chunked":
        return np.repeat(np.arange(len(sections)), sections)
    if rule != "interleaved":
        raise NotImplementedError
    n, total = len(sections), sum(sections)
    axes = np.zeros(total, dtype=np.int64)
    for a in range(1, n):
        axes[a : n * sections[a] : n] = a
    return axes
