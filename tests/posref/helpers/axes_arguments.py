"""As random_arguments, for tables of several axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from random_arguments import Arguments, base, batch, even_dim, positions, positive, power_of_ten

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


def grid_coordinates(source: Generator) -> Arguments:
    sizes = tuple(int(n) for n in source.integers(1, 60, 2))
    return {"sizes": sizes, "normalize": ("separate", "max", "min")[source.integers(3)]}
