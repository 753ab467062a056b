"""Rotary kernels as somebody writes them who has never seen posref: right, until a test changes a line."""

import numpy as np


def rope_inv_freq(dim, *, base=10000.0):
    exponent = np.arange(0, dim, 2) / dim
    return 1.0 / base**exponent


def rope_cos_sin(positions, inv_freq, *, attention_factor=1.0):
    p = np.asarray(positions).astype(np.float64)
    w = inv_freq.astype(np.float64)
    angle = p[..., None] * w
    scale = attention_factor
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    return cos.astype(inv_freq.dtype), sin.astype(inv_freq.dtype)


def rope_apply(x, cos, sin, *, layout="half", offset=0, inverse=False):
    work = np.float64 if x.dtype == np.float64 else np.float32
    n = cos.shape[-1]
    c, s = cos.astype(work), sin.astype(work)
    s = -s if inverse else s
    interleaved = layout == "interleaved"
    block = x[..., offset : offset + 2 * n].astype(work)
    if interleaved:
        a, b = block[..., 0::2], block[..., 1::2]
    else:
        a, b = block[..., :n], block[..., n:]
    left, right = a * c - b * s, b * c + a * s
    y = x.copy()
    rotated = np.empty_like(block)
    if interleaved:
        rotated[..., 0::2], rotated[..., 1::2] = left, right
    else:
        rotated[..., :n], rotated[..., n:] = left, right
    y[..., offset : offset + 2 * n] = rotated.astype(x.dtype)
    return y


def rope(x, positions, *, dim=None, base=10000.0, layout="half", offset=0, inverse=False):
    dim = dim or x.shape[-1] - offset
    w = rope_inv_freq(dim, base=base)
    p = np.asarray(positions)
    cos, sin = rope_cos_sin(p, w)
    return rope_apply(x, cos, sin, layout=layout, offset=offset, inverse=inverse)


def rope_axes_cos_sin(positions, inv_freq, axis_map):
    rows = np.asarray(positions).astype(np.float64)
    angle = np.moveaxis(rows[axis_map], 0, -1) * inv_freq.astype(np.float64)
    return np.cos(angle).astype(inv_freq.dtype), np.sin(angle).astype(inv_freq.dtype)


def xpos_scale(positions, dim, *, centre="floor", length=None, scale_base=512.0):
    zeta = (np.arange(0, dim, 2) + 0.4 * dim) / (1.4 * dim)
    if isinstance(centre, str):
        middle = length // 2 if centre == "floor" else -(-length // 2)
    else:
        middle = centre
    power = (np.asarray(positions, dtype=np.float64) - middle) / scale_base
    return zeta ** power[..., None]
