"""Cases that were added because a known mistake passed all others: each is the smallest that tells it from the right code."""

from __future__ import annotations

from typing import Any

import numpy as np

import posref
from posref import DynamicNTKScaling, LongRopeScaling, NTKScaling, YarnScaling
from posref_conformance.case import FLOATS, Call, Case, Inputs, one, strided
from posref_conformance.cases.rotary import LONG, SHORT

WHOLE = ("int64",)
WIDE = ("float64", "float32")
LATER = [9]  # a decode step: one token, and not the first
DYNAMIC = DynamicNTKScaling(2.0, 64)
LONGROPE = LongRopeScaling(SHORT, LONG, 4096, factor=32.0)
GPT_OSS = YarnScaling(32.0, 4096, truncate=False)
GIVEN = YarnScaling(8.0, 8192, attention_factor=1.25)
RATIO = YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=0.5)
BETAS = YarnScaling(16.0, 4096, beta_fast=24, beta_slow=3)
SHORT_LENGTH = YarnScaling(4.0, 128)  # so short that the lower end of the ramp lies below 0
LONG_LENGTH = YarnScaling(4.0, 131072)  # so long that its upper end lies beyond the last pair
LLAMA_3_2 = posref.Llama3Scaling(32.0, 8192, 1.0, 4.0)


def _rope(name: str, dim: int, *, position: int = 4095, **options: Any) -> Case:
    """One head of one token, where the slow pairs have turned."""
    return one("rope", name, lambda i: Call((i.data(2, 3, dim), np.arange(3) + position), dict(options)))


def _table(name: str, dim: int, **options: Any) -> Case:
    return one("rope_table", name, lambda i: Call((i.typed([0, 1, 4095]), dim), dict(options)), dtypes=WHOLE)


def _lengths(function: str, make: Any) -> Case:
    """A short text, a long one, the short one again: what remembers the longest is wrong."""

    def build(i: Inputs) -> list[Call]:
        return [Call(make(i), {"scaling": DYNAMIC, "seq_len": n}) for n in (64, 5000, 64)]

    return Case(function, "dynamic-ntk-lengths", build, dtypes=FLOATS if function == "rope" else ("default",))


def _one_token(function: str, arguments: Any, dtypes: tuple[str, ...] = WHOLE, **options: Any) -> Case:
    return one(function, "later-token", lambda i: Call(arguments(i), dict(options)), dtypes=dtypes)


def _fope(i: Inputs, positions: Any) -> Call:
    w = posref.rope_inv_freq(6).astype(i.data(1).dtype)
    return Call((np.array(positions), w, i.data(2, 3, 3), i.data(2, 3, 3), 5))


def _mixed(i: Inputs, positions: Any) -> Call:
    return Call((np.array(positions), i.data(2, 2, 3)))


def _strided_scores(i: Inputs) -> Call:
    distances = np.arange(3)[:, None] - np.arange(5)
    return Call((strided(i.data(2, 3, 8)), strided(i.data(2, 5, 8)), distances, posref.rope_inv_freq(8).astype("f")))


def _rerope(i: Inputs) -> Call:
    """As many rows as queries, and the rows unlike each other: a missing axis broadcasts without an error."""
    return Call((i.typed([[0, 1], [40, 50]]), i.typed([[0, 1], [40, 50]]), 7))


CASES: tuple[Case, ...] = (
    _rope("ntk", 32, scaling=NTKScaling(4.0)),
    _rope("longrope-short", 16, scaling=LONGROPE),
    _rope("longrope-at-original", 16, scaling=LONGROPE, seq_len=4096),
    _rope("yarn-interleaved", 64, scaling=GPT_OSS, layout="interleaved"),
    _rope("yarn-untruncated", 64, base=150000.0, scaling=GPT_OSS),
    _rope("yarn-betas", 64, scaling=BETAS),
    _rope("yarn-short-length", 64, scaling=SHORT_LENGTH),
    _rope("yarn-long-length", 64, scaling=LONG_LENGTH),
    _rope("yarn-given", 64, scaling=GIVEN),
    _rope("yarn-mscale-ratio", 64, scaling=RATIO),
    _rope("llama3-factor-32", 128, base=500000.0, scaling=LLAMA_3_2),
    _table("yarn-given", 64, scaling=GIVEN),
    _table("yarn-mscale-ratio", 64, scaling=RATIO),
    _table("yarn-betas", 64, scaling=BETAS),
    _table("yarn-short-length", 64, scaling=SHORT_LENGTH),
    _table("yarn-long-length", 64, scaling=LONG_LENGTH),
    one("rope_inv_freq", "yarn-betas", lambda i: Call((64,), {"scaling": BETAS}), dtypes=("default",)),
    one("rope_inv_freq", "yarn-short-length", lambda i: Call((64,), {"scaling": SHORT_LENGTH}), dtypes=("default",)),
    one("rope_inv_freq", "yarn-long-length", lambda i: Call((64,), {"scaling": LONG_LENGTH}), dtypes=("default",)),
    one("rope_inv_freq", "llama3-factor-32", lambda i: Call((128,), {"scaling": LLAMA_3_2}), dtypes=("default",)),
    _lengths("rope_inv_freq", lambda i: (32,)),
    _lengths("rope", lambda i: (i.data(2, 3, 32), np.arange(3) + 50)),
    _one_token("sinusoidal", lambda i: (i.typed(LATER), 8)),
    _one_token("xpos_scale", lambda i: (i.typed(LATER), 8), centre=100),
    _one_token("llama4_scale", lambda i: (i.typed([20000]),)),
    _one_token("ssmax_scale", lambda i: (np.array(LATER), i.data(3)), WIDE),
    _one_token("pope_apply", lambda i: (i.data(2, 1, 5), np.array(LATER)), WIDE),
    one("fope_cos_sin", "later-token", lambda i: _fope(i, LATER), dtypes=WIDE),
    one("fope_cos_sin", "fractions", lambda i: _fope(i, [0.5, 7.25, -2.125]), dtypes=WIDE),
    one("rope_mixed_cos_sin", "far", lambda i: _mixed(i, [[100003, 4097, 257], [2049, 9, 131071]]), dtypes=WIDE),
    one("pope_apply", "fractions", lambda i: Call((i.data(2, 3, 5), np.array([0.5, 7.25, 33.125]))), dtypes=WIDE),
    one("timestep_embedding", "far", lambda i: Call((i.typed([4099, 70001]), 10)), dtypes=WHOLE),
    one(
        "timestep_embedding",
        "one-pair",
        lambda i: Call((i.typed([0, 3, 999]), 2), {"downscale_freq_shift": 0.0}),
        dtypes=WHOLE,
    ),
    one("rope", "many-rows", lambda i: Call((i.data(5, 7, 1879, 2), np.arange(1879))), dtypes=("float32",)),
    one("rope_apply_channels", "strided", lambda i: Call(tuple(map(strided, (i.data(5, 6), *i.table(5, 6)))))),
    one("rope_scores", "strided", _strided_scores),
    one("rerope_distance", "square-batch", _rerope, dtypes=WHOLE),
    one(
        "rope_cos_sin",
        "beyond-2-24",
        lambda i: Call((np.array([2**24 + 1, 2**31 + 5]), i.typed(posref.rope_inv_freq(8, base=1e9)))),
        dtypes=("float64",),
    ),
)
