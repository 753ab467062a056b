"""Biases as somebody writes them who has never seen posref: right, until a test changes a line."""

import math

import numpy as np


def alibi_slopes(num_heads):
    def of_power(n):
        start = 2.0 ** (-8.0 / n)
        return [start ** (h + 1) for h in range(n)]

    below = 2 ** math.floor(math.log2(num_heads))
    slopes = of_power(below)
    slopes += of_power(2 * below)[0::2][: num_heads - below]
    return np.array(slopes)


def alibi_bias(slopes, q_positions, k_positions):
    q, k = np.asarray(q_positions).astype(np.float64), np.asarray(k_positions).astype(np.float64)
    distance = q[..., :, None] - k[..., None, :]
    penalty = np.abs(distance)
    bias = -slopes.astype(np.float64)[:, None, None] * penalty[..., None, :, :]
    return bias.astype(slopes.dtype)


def t5_bucket(relative_position, *, bidirectional=True, num_buckets=32, max_distance=128):
    n = -np.asarray(relative_position).astype(np.int64)
    offset = 0
    if bidirectional:
        num_buckets //= 2
        offset = (n < 0) * num_buckets
        n = np.abs(n)
    else:
        n = np.maximum(n, 0)
    exact = num_buckets // 2
    small = n < exact
    ratio = np.log(np.maximum(n, 1) / max(exact, 1)) / math.log(max_distance / max(exact, 1))
    large = exact + np.floor(ratio * (num_buckets - exact)).astype(np.int64)
    large = np.minimum(large, num_buckets - 1)
    return np.where(small, n, large) + offset


def t5_bias(table, q_positions, k_positions, *, bidirectional=True, max_distance=128):
    q, k = np.asarray(q_positions), np.asarray(k_positions)
    relative = k[..., None, :] - q[..., :, None]
    bucket = t5_bucket(relative, bidirectional=bidirectional, num_buckets=len(table), max_distance=max_distance)
    values = table[bucket]
    return np.moveaxis(values, -1, -3).copy()


def relative_position_index(sizes):
    if len(sizes) != 2:
        raise NotImplementedError
    h, w = sizes
    y, x = np.divmod(np.arange(h * w), w)
    dy, dx = y[:, None] - y[None, :], x[:, None] - x[None, :]
    return (dy + h - 1) * (2 * w - 1) + dx + w - 1


def kerple_bias(r1, r2, q_positions, k_positions):
    a, b = r1.astype(np.float64)[:, None, None], r2.astype(np.float64)[:, None, None]
    q, k = np.asarray(q_positions).astype(np.float64), np.asarray(k_positions).astype(np.float64)
    d = np.abs(q[..., :, None] - k[..., None, :])[..., None, :, :]
    return (-a * np.log1p(b * d)).astype(r1.dtype)


def fire_distance(q_positions, k_positions, c, length, *, limit="max", eps=1e-6):
    q, k = np.asarray(q_positions).astype(np.float64), np.asarray(k_positions).astype(np.float64)
    d = np.abs(q[..., :, None] - k[..., None, :])
    top = (np.maximum if limit == "max" else np.minimum)(q, length)[..., :, None]
    return np.log1p(np.abs(c * d)) / (np.log1p(np.abs(c * top)) + eps)


def forget_bias(log_forget, *, num_queries=None):
    work = np.float64 if log_forget.dtype == np.float64 else np.float32
    sums = np.cumsum(log_forget.astype(work), axis=-1)
    full = sums[..., :, None] - sums[..., None, :]
    n = full.shape[-1]
    first = n - (n if num_queries is None else num_queries)
    return full[..., first:, :].astype(log_forget.dtype)


def relative_shift(x, num_keys):
    q, m = x.shape[-2:]
    if not q:
        return x[..., :num_keys].copy()
    padded = np.concatenate([np.zeros_like(x[..., :1]), x], axis=-1)
    flat = padded.reshape(*x.shape[:-2], m + 1, q)
    return flat[..., 1:, :].reshape(x.shape)[..., :num_keys].copy()
