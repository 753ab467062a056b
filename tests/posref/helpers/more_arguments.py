"""As random_arguments, for tables of several axes, xPos, distances and factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator
from random_arguments import Arguments, base, batch, even_dim, length, magnitudes, positions, positive, power_of_ten

import posref


def axis_map(source: Generator) -> Any:
    axes = int(source.integers(1, 4))
    sections = [int(source.integers(1, 24))] * axes
    return posref.rope_axis_map(sections, rule=("chunked", "interleaved", "round_robin")[source.integers(3)])


def rows(source: Generator, axes: int) -> Any:
    """Positions, a row per axis."""
    given = [batch(source) for _ in range(axes)]
    smallest = min(p.size for p in given)
    return np.stack([p.reshape(-1)[:smallest].astype(np.float64) for p in given])


def rope_axes_inv_freq(source: Generator, ladder: str) -> Arguments:
    axes = axis_map(source)
    n = int(axes.max()) + 1
    per_axis = ladder == "per_axis"
    scaling = [posref.LinearScaling(positive(source)) for _ in range(n)] if per_axis else None
    return {
        "axis_map": axes,
        "base": [base(source) for _ in range(n)] if per_axis else base(source),
        "ladder": ladder,
        "scaling": scaling if source.random() < 0.5 else None,
    }


def rope_axes_table(source: Generator, ladder: str) -> Arguments:
    arguments = rope_axes_inv_freq(source, ladder)
    given = power_of_ten(source, -2, 1) if source.random() < 0.3 else None
    return {
        "positions": rows(source, int(arguments["axis_map"].max()) + 1),
        **arguments,
        "attention_factor": given,
    }


def rope_axes_cos_sin(source: Generator) -> Arguments:
    axes = axis_map(source)
    return {
        "positions": rows(source, int(axes.max()) + 1),
        "inv_freq": source.choice([-1.0, 1.0], len(axes)) * 10.0 ** source.uniform(-8, 4, len(axes)),
        "axis_map": axes,
        "attention_factor": -power_of_ten(source, -2, 2) if source.random() < 0.5 else 1.0,
    }


def rope_mixed_cos_sin(source: Generator) -> Arguments:
    axes, heads, pairs = (int(source.integers(1, n)) for n in (5, 4, 9))
    p = np.stack([positions(source, (20,)).astype(np.float64) for _ in range(axes)])
    sizes = 10.0 ** source.uniform(-5, 2, (axes, heads, pairs))
    return {"positions": p, "frequencies": source.choice([-1.0, 1.0], sizes.shape) * sizes}


def rope_pixel_freq(source: Generator, spacing: str) -> Arguments:
    return {"dim": even_dim(source), "max_freq": positive(source), "spacing": spacing}


def rope_softmax_factor(source: Generator) -> Arguments:
    return {"scaling": posref.YarnScaling(positive(source), length(source), **magnitudes(source))}


def xpos_scale(source: Generator, kind: str) -> Arguments:
    p = batch(source) if kind == "any" else source.integers(-(10**6), 10**6) + np.arange(300)
    if kind == "floats":
        p = source.normal(size=100) * power_of_ten(source, -6, 5)
    rule, whole = ("floor", "ceil")[source.integers(2)], int(source.integers(1, 10**6))
    by_rule = source.random() < 0.5
    return {
        "positions": p,
        "dim": min(even_dim(source), 128),
        "centre": rule if by_rule else float(source.normal() * power_of_ten(source, -3, 6)),
        "length": whole if by_rule else None,
        "scale_base": 512.0 if source.random() < 0.5 else power_of_ten(source, -1, 5),
    }


def from_zero(source: Generator) -> Any:
    return np.abs(batch(source))


def log_n_scale(source: Generator) -> Arguments:
    return {"positions": from_zero(source), "length": max(2, length(source)), "clip": bool(source.random() < 0.2)}


def ssmax_scale(source: Generator) -> Arguments:
    heads, p = int(source.integers(1, 9)), from_zero(source)
    s, bias = source.normal(size=(2, heads))
    return {"positions": p if p.ndim else p[None], "s": s, "bias": bias if source.random() < 0.5 else None}


def llama4_scale(source: Generator) -> Arguments:
    return {
        "positions": from_zero(source),
        "attn_scale": float(source.normal() * power_of_ten(source, -3, 2)),
        "floor_scale": length(source),
        "shift": int(source.integers(2)),
    }


def length_scale(source: Generator) -> Arguments:
    return {"seq_len": int(2 ** (40 * source.random())), "length": length(source), "mscale": positive(source)}


def whole(source: Generator) -> dict[str, Any]:
    reach = int(2 ** (4 + 36 * source.random()))
    return {
        "q_positions": source.integers(reach // 2, reach, 20),
        "k_positions": source.integers(0, reach, 30),
        "window": max(1, int(reach * source.random() / 2)),
    }


def rerope_distance(source: Generator) -> Arguments:
    return whole(source) | {"factor": positive(source)}


def self_extend_distance(source: Generator) -> Arguments:
    return whole(source) | {"group_size": int(2 + 20 * source.random() ** 3), "shift": "exact"}


def grid_coordinates(source: Generator) -> Arguments:
    sizes = tuple(int(n) for n in source.integers(1, 60, 2))
    return {"sizes": sizes, "normalize": ("separate", "max", "min")[source.integers(3)]}


def fire_distance(source: Generator, limit: str) -> Arguments:
    reach = int(2 ** (4 + 30 * source.random()))
    eps = (0.0, 1e-6, power_of_ten(source, -12, 0))[source.integers(3)]
    return {
        "q_positions": source.integers(1, reach, 12),
        "k_positions": source.integers(0, reach, 15),
        "c": (-1) ** int(source.integers(2)) * power_of_ten(source, -12, 2),
        "length": power_of_ten(source, -2, 5),
        "limit": limit,
        "eps": eps,
    }


def log_offset(source: Generator, kind: str) -> Arguments:
    extent = None if kind == "paper" else power_of_ten(source, -1, 3) if kind == "any" else int(source.integers(1, 64))
    return {"relative_position": positions(source, (40,)), "extent": extent}


def cosine_scale(source: Generator) -> Arguments:
    end = power_of_ten(source, -2, 4)
    near = math.log(end) * (1 + source.integers(-3, 4, 10) * 2.0**-52)
    return {"log_scale": np.concatenate([source.uniform(-30, 12, 20), near]), "largest": end}


def kerple_bias(source: Generator, form: str) -> Arguments:
    heads = int(source.integers(1, 6))
    r1, r2 = 10.0 ** source.uniform(-3, 1, (2, heads))
    r2 = source.uniform(0.01, 2, heads) if form == "power" else r2
    reach = int(2 ** (4 + 30 * source.random()))
    q, k = source.integers(0, reach, 12), source.integers(0, reach, 15)
    return {"r1": r1, "r2": r2, "q_positions": q, "k_positions": k, "form": form}
