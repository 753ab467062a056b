"""As random_arguments, for factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator
from random_arguments import Arguments, batch, even_dim, length, magnitudes, positive, power_of_ten

import posref


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


def inkling_scale(source: Generator) -> Arguments:
    return {"positions": from_zero(source), "length": length(source), "alpha": float(source.normal())}


def length_scale(source: Generator) -> Arguments:
    return {"seq_len": int(2 ** (40 * source.random())), "length": length(source), "mscale": positive(source)}


def cosine_scale(source: Generator) -> Arguments:
    end = power_of_ten(source, -2, 4)
    near = math.log(end) * (1 + source.integers(-3, 4, 10) * 2.0**-52)
    return {"log_scale": np.concatenate([source.uniform(-30, 12, 20), near]), "largest": end}
