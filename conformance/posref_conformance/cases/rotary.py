"""Cases for the first two steps of rotary encodings: frequencies, then cos and sin."""

from __future__ import annotations

from typing import Any

import numpy as np

import posref
from posref import DynamicNTKScaling, LinearScaling, Llama3Scaling, LongRopeScaling, NTKScaling, YarnScaling
from posref_conformance.case import Call, Case, Inputs, one, read_only, strided

# Eight factors that differ in every place: a reversed or shifted list shows.
SHORT = (1.0, 1.05, 1.1, 1.3, 1.6, 2.0, 2.5, 3.1)
LONG = (1.1, 1.5, 2.5, 4.5, 8.5, 16.5, 32.5, 64.5)

# name -> dim, base, scaling, seq_len: what real models have, and the places where implementations differ
FREQUENCIES: dict[str, tuple[int, dict[str, Any]]] = {
    "plain": (64, {}),
    "smallest": (2, {}),
    "dim-96": (96, {}),
    "llama-3-base": (128, {"base": 500000.0}),
    "linear": (128, {"scaling": LinearScaling(4.0)}),
    "ntk": (64, {"scaling": NTKScaling(4.0)}),
    "dynamic-ntk-within": (128, {"scaling": DynamicNTKScaling(2.0, 2048), "seq_len": 1024}),
    "dynamic-ntk-unsaid": (128, {"scaling": DynamicNTKScaling(2.0, 2048)}),
    "dynamic-ntk-beyond": (128, {"scaling": DynamicNTKScaling(4.0, 2048), "seq_len": 5000}),
    "yarn": (128, {"scaling": YarnScaling(16.0, 4096)}),
    "yarn-deepseek": (64, {"scaling": YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=1.0)}),
    "yarn-untruncated": (64, {"base": 150000.0, "scaling": YarnScaling(32.0, 4096, truncate=False)}),
    "yarn-equal-betas": (64, {"base": 50000.0, "scaling": YarnScaling(64.0, 4096, beta_fast=1.0, beta_slow=1.0)}),
    "yarn-rotations": (128, {"scaling": YarnScaling(16.0, 4096, ramp="rotations")}),
    "llama3": (128, {"base": 500000.0, "scaling": Llama3Scaling(8.0, 8192, 1.0, 4.0)}),
    "llama3-step": (128, {"base": 500000.0, "scaling": Llama3Scaling(16.0, 8192, 1.0, 1.0)}),
    "longrope-short": (16, {"scaling": LongRopeScaling(SHORT, LONG, 4096, factor=32.0)}),
    "longrope-at-original": (16, {"scaling": LongRopeScaling(SHORT, LONG, 4096, factor=32.0), "seq_len": 4096}),
    "longrope-long": (16, {"scaling": LongRopeScaling(SHORT, LONG, 4096, factor=32.0), "seq_len": 4097}),
}

FACTORS = {
    "none": None,
    "linear": LinearScaling(4.0),
    "ntk": NTKScaling(4.0),
    "dynamic-ntk": DynamicNTKScaling(2.0, 2048),
    "llama3": Llama3Scaling(8.0, 8192, 1.0, 4.0),
    "yarn": YarnScaling(32.0, 4096),
    "yarn-below-one": YarnScaling(0.5, 4096),
    "yarn-given": YarnScaling(8.0, 8192, attention_factor=1.25),
    "yarn-mscale-equal": YarnScaling(40.0, 4096, mscale=0.707, mscale_all_dim=0.707),
    "yarn-mscale-ratio": YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=0.5),
    "yarn-mscale-alone": YarnScaling(40.0, 4096, mscale=0.707),
    "yarn-mscale-all-dim-zero": YarnScaling(40.0, 4096, mscale=0.707, mscale_all_dim=0.0),
    "longrope": LongRopeScaling(SHORT, LONG, 4096, factor=32.0),
    "longrope-given": LongRopeScaling(SHORT, LONG, 4096, factor=32.0, attention_factor=1.5),
}

# Where positions go wrong: negative, unsorted, repeated, beyond bfloat16's 256, float16's 2048 and float32's 2**24
INTEGER_POSITIONS = [0, 1, 2, 7, 7, 255, 257, 2049, 4095, 100003, 131071, 16777217, -3]
FRACTIONS = [0.5, -3.75, 1234.5678, 1e-3, 257.0625, 100003.1]


def _frequency(name: str) -> Case:
    dim, options = FREQUENCIES[name]
    return one("rope_inv_freq", name, lambda i: Call((dim,), dict(options)), dtypes=("default",))


def _factor(name: str) -> Case:
    return one("rope_attention_factor", name, lambda i: Call((FACTORS[name],)), dtypes=("default",))


def _table(name: str) -> Case:
    dim, options = FREQUENCIES[name]
    positions = np.array([0, 1, 5, 4095, 131071, -17])
    return one("rope_table", name, lambda i: Call((i.typed(positions), dim), dict(options)), dtypes=("int64",))


def _cos_sin(i: Inputs, positions: Any, *, base: float = 10000.0, dim: int = 64, **options: Any) -> Call:
    return Call((np.array(positions), i.typed(posref.rope_inv_freq(dim, base=base))), options)


def _twice(i: Inputs) -> list[Call]:
    """The same shape again with other values: what is kept by shape alone is wrong the second time."""
    positions = np.arange(5)
    return [_cos_sin(i, positions), _cos_sin(i, positions + 3), _cos_sin(i, positions, base=500000.0)]


def _table_twice(i: Inputs) -> list[Call]:
    p = i.typed(np.arange(7))
    return [Call((p, 16)), Call((p + i.typed(5), 16)), Call((p, 16), {"base": 500000.0})]


def _growing(i: Inputs) -> list[Call]:
    """A cache that grows and is asked for less again."""
    return [Call((i.typed(np.arange(start, start + n)), 16)) for start, n in ((0, 3), (3, 1), (0, 29), (1, 3), (28, 1))]


FREQUENCY_TYPES = ("float64", "float32")  # frequencies in 16 bits would be a mistake in themselves

CASES: tuple[Case, ...] = (
    *map(_frequency, FREQUENCIES),
    *map(_factor, FACTORS),
    one("rope_cos_sin", "integers", lambda i: _cos_sin(i, INTEGER_POSITIONS), dtypes=FREQUENCY_TYPES),
    one("rope_cos_sin", "fractions", lambda i: _cos_sin(i, FRACTIONS), dtypes=FREQUENCY_TYPES),
    one("rope_cos_sin", "batch", lambda i: _cos_sin(i, [[3, 4, 5], [0, 0, 9]], dim=10), dtypes=FREQUENCY_TYPES),
    one("rope_cos_sin", "scalar", lambda i: _cos_sin(i, 11, dim=6), dtypes=FREQUENCY_TYPES),
    one("rope_cos_sin", "empty", lambda i: _cos_sin(i, np.zeros((3, 0), int), dim=6), dtypes=FREQUENCY_TYPES),
    one("rope_cos_sin", "factor", lambda i: _cos_sin(i, [0, 1, 4095], attention_factor=1.25), dtypes=FREQUENCY_TYPES),
    one("rope_cos_sin", "factor-below-one", lambda i: _cos_sin(i, [2], attention_factor=0.5), dtypes=FREQUENCY_TYPES),
    one(
        "rope_cos_sin",
        "float32-positions",
        lambda i: _cos_sin(i, np.array([1.5, 4097.25], np.float32)),
        dtypes=FREQUENCY_TYPES,
    ),
    one(
        "rope_cos_sin", "int32-positions", lambda i: _cos_sin(i, np.array([5, 2049], np.int32)), dtypes=FREQUENCY_TYPES
    ),
    one("rope_cos_sin", "beyond-256", lambda i: _cos_sin(i, [257, 1000, 2049], dim=10), dtypes=FREQUENCY_TYPES),
    one("rope_cos_sin", "beyond-2-31", lambda i: _cos_sin(i, [2**31, 2**31 + 1], base=1e9), dtypes=("float64",)),
    one(
        "rope_cos_sin",
        "not-a-ladder",
        lambda i: Call((np.arange(11), np.abs(i.data(7)))),
        dtypes=FREQUENCY_TYPES,
        note="frequencies that follow no formula, such as LongRoPE's: what is recomputed from a base shows",
    ),
    one(
        "rope_cos_sin",
        "read-only-strided",
        lambda i: Call((read_only(np.arange(5)), strided(np.abs(i.data(3))))),
        dtypes=FREQUENCY_TYPES,
    ),
    Case("rope_cos_sin", "again", _twice, dtypes=FREQUENCY_TYPES),
    *map(_table, FREQUENCIES),
    one("rope_table", "factor", lambda i: Call((i.typed([1, 100]), 8), {"attention_factor": 1.5}), dtypes=("int64",)),
    one(
        "rope_table",
        "factor-over-scaling",
        lambda i: Call((i.typed([1, 100]), 64), {"scaling": YarnScaling(16.0, 4096), "attention_factor": 1.0}),
        dtypes=("int64",),
        note="a given factor takes the place of the scaling's own",
    ),
    one("rope_table", "integers", lambda i: Call((i.typed(INTEGER_POSITIONS), 32)), dtypes=("int64",)),
    one("rope_table", "int32", lambda i: Call((i.typed([[0, 3], [9, 2049]]), 6)), dtypes=("int32",)),
    one("rope_table", "fractions", lambda i: Call((i.typed(FRACTIONS), 32)), dtypes=("float64", "float32")),
    one("rope_table", "empty", lambda i: Call((i.typed(np.zeros((2, 0))), 6)), dtypes=("int64",)),
    Case("rope_table", "again", _table_twice, dtypes=("int64",)),
    Case("rope_table", "growing", _growing, dtypes=("int64",)),
)
