"""Cases for the scalings one by one: NTK's forms, the dynamic ones, NTK-by-parts, p-RoPE, YaRN's readings; factors; pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref import (
    DynamicLinearScaling,
    DynamicNTKScaling,
    DynamicYarnScaling,
    LongRopeScaling,
    NTKByPartsScaling,
    NTKScaling,
    ProportionalScaling,
    YarnScaling,
)
from posref_conformance.case import Call, Case, Inputs, one
from posref_conformance.cases.rotary import LONG, SHORT

DEFAULT = ("default",)
PHI_MOE = LongRopeScaling(SHORT, LONG, 4096, factor=32.0, short_mscale=1.243, long_mscale=1.3)

# name -> dim, options: sizes at which the ramps lie inside, and the readings differ
FREQUENCIES: dict[str, tuple[int, dict[str, Any]]] = {
    "ntk-base": (64, {"scaling": NTKScaling(4.0, "base")}),
    "ntk-fixed": (128, {"scaling": NTKScaling(12.0, "fixed")}),
    "ntk-fixed-smallest": (2, {"scaling": NTKScaling(4.0, "fixed")}),
    "ntk-mixed": (128, {"scaling": NTKScaling(12.0, "mixed")}),
    "ntk-mixed-b": (64, {"base": 500000.0, "scaling": NTKScaling(3.0, "mixed", mixed_b=0.625)}),
    "dynamic-linear-within": (64, {"scaling": DynamicLinearScaling(2048), "seq_len": 2048}),
    "dynamic-linear-unsaid": (64, {"scaling": DynamicLinearScaling(2048)}),
    "dynamic-linear-beyond": (64, {"scaling": DynamicLinearScaling(2048), "seq_len": 5000}),
    "dynamic-yarn-within": (128, {"scaling": DynamicYarnScaling(2048), "seq_len": 1024}),
    "dynamic-yarn-beyond": (128, {"scaling": DynamicYarnScaling(2048), "seq_len": 7001}),
    "dynamic-yarn-finetuned": (64, {"scaling": DynamicYarnScaling(4096, least_factor=16.0), "seq_len": 8192}),
    "dynamic-yarn-untruncated": (64, {"scaling": DynamicYarnScaling(4096, truncate=False), "seq_len": 9999}),
    "dynamic-ntk-fixed-length": (128, {"scaling": DynamicNTKScaling(4.0, 2048), "seq_len": 8192}),
    "ntk-by-parts": (128, {"scaling": NTKByPartsScaling(8.0, 2048)}),
    "ntk-by-parts-in-part": (64, {"scaling": NTKByPartsScaling(4.0, 4096, 0.75, 0.5)}),
    "ntk-by-parts-betas": (64, {"scaling": NTKByPartsScaling(4.0, 4096, beta_0=3.0, gamma_0=40.0, gamma_1=4.0)}),
    "proportional": (512, {"base": 1e6, "scaling": ProportionalScaling(0.25)}),
    "proportional-factor": (64, {"base": 1e6, "scaling": ProportionalScaling(0.5, 8.0)}),
    "proportional-all": (64, {"scaling": ProportionalScaling(1.0)}),
    "proportional-none": (16, {"scaling": ProportionalScaling(0.0)}),
    "proportional-odd": (24, {"scaling": ProportionalScaling(0.3)}),  # 7 channels
    "proportional-odd-up": (24, {"scaling": ProportionalScaling(0.3, rounding="ceil")}),
    "yarn-extrapolation-half": (64, {"scaling": YarnScaling(8.0, 4096, extrapolation_factor=0.5)}),
    "yarn-extrapolation-none": (64, {"scaling": YarnScaling(8.0, 4096, extrapolation_factor=0.0)}),
    "yarn-reversed-slope": (64, {"scaling": YarnScaling(8.0, 4096, 1.0, 32.0, reversed_range="slope")}),
    "yarn-reversed-step": (64, {"scaling": YarnScaling(8.0, 4096, 1.0, 32.0, reversed_range="step")}),
}

# name -> scaling, options
FACTORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "dynamic-linear": (DynamicLinearScaling(2048), {"seq_len": 5000}),
    "dynamic-yarn-within": (DynamicYarnScaling(2048), {}),
    "dynamic-yarn-beyond": (DynamicYarnScaling(2048), {"seq_len": 7001}),
    "dynamic-yarn-finetuned": (DynamicYarnScaling(4096, least_factor=16.0, attn_factor=0.5), {"seq_len": 8192}),
    "ntk-by-parts": (NTKByPartsScaling(8.0, 2048), {}),
    "proportional": (ProportionalScaling(0.25, 8.0), {}),
    "yarn-given-one-zero": (YarnScaling(40.0, 4096, mscale=0.707, mscale_all_dim=0.0, mscale_rule="given"), {}),
    "yarn-given-alone": (YarnScaling(40.0, 4096, mscale=0.707, mscale_rule="given"), {}),
    "yarn-always-alone": (YarnScaling(40.0, 4096, mscale=0.707, mscale_rule="always"), {}),
    "yarn-always-other": (YarnScaling(40.0, 4096, mscale_all_dim=0.707, mscale_rule="always"), {}),
    "yarn-never": (YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=1.0, mscale_rule="never"), {}),
    "yarn-telechat3": (YarnScaling(4.0, 8192, mscale=0.7, mscale_rule="always"), {}),
    "yarn-attn-factor": (YarnScaling(16.0, 4096, attn_factor=0.75), {}),
    "yarn-attn-factor-ratio": (YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=0.5, attn_factor=1.5), {}),
    "yarn-attn-factor-and-given": (YarnScaling(16.0, 4096, attention_factor=1.25, attn_factor=0.75), {}),
    "longrope-short-mscale": (PHI_MOE, {}),
    "longrope-long-mscale": (PHI_MOE, {"seq_len": 4097}),
    "longrope-long-mscale-alone": (LongRopeScaling(SHORT, LONG, 4096, factor=32.0, long_mscale=1.3), {}),
}

SOFTMAX: dict[str, Any] = {
    "none": None,
    "yarn": YarnScaling(40.0, 4096),
    "deepseek-v3": YarnScaling(40.0, 4096, mscale=1.0, mscale_all_dim=1.0),
    "deepseek-v2-lite": YarnScaling(40.0, 4096, mscale=0.707, mscale_all_dim=0.707),
    "zero": YarnScaling(40.0, 4096, mscale=0.707, mscale_all_dim=0.0),
    "below-one": YarnScaling(0.5, 4096, mscale=1.0, mscale_all_dim=1.0),
}

PIXELS: dict[str, tuple[int, float, dict[str, Any]]] = {
    "linear": (16, 10.0, {}),
    "linear-224": (64, 224.0, {}),
    "one-pair": (2, 10.0, {}),
    "below-two": (6, 0.5, {}),
    "log": (16, 224.0, {"spacing": "log"}),
    "log-one-pair": (2, 224.0, {"spacing": "log"}),
    "log-below-two": (6, 0.5, {"spacing": "log"}),
}


def _frequency(name: str) -> Case:
    dim, options = FREQUENCIES[name]
    return one("rope_inv_freq", name, lambda i: Call((dim,), dict(options)), dtypes=DEFAULT)


def _factor(name: str) -> Case:
    scaling, options = FACTORS[name]
    return one("rope_attention_factor", name, lambda i: Call((scaling,), dict(options)), dtypes=DEFAULT)


def _softmax(name: str) -> Case:
    return one("rope_softmax_factor", name, lambda i: Call((SOFTMAX[name],)), dtypes=DEFAULT)


def _pixels(name: str) -> Case:
    dim, most, options = PIXELS[name]
    return one("rope_pixel_freq", name, lambda i: Call((dim, most), dict(options)), dtypes=DEFAULT)


def _table(name: str) -> Case:
    dim, options = FREQUENCIES[name]
    positions = np.array([0, 1, 5, 4095, 131071, -17])
    return one("rope_table", name, lambda i: Call((i.typed(positions), dim), dict(options)), dtypes=("int64",))


def _lengths(i: Inputs) -> list[Call]:
    """One record at several lengths, also shorter ones again: what remembers the longest is wrong."""
    scaling, positions = DynamicYarnScaling(64), i.typed(np.arange(5))
    return [Call((positions, 32), {"scaling": scaling, "seq_len": n}) for n in (64, 200, 100, 63)]


CASES: tuple[Case, ...] = (
    *map(_frequency, FREQUENCIES),
    *map(_factor, FACTORS),
    *map(_softmax, SOFTMAX),
    *map(_pixels, PIXELS),
    *map(_table, ("ntk-mixed", "dynamic-linear-beyond", "dynamic-yarn-beyond", "ntk-by-parts", "proportional-factor")),
    one(
        "rope_table",
        "longrope-long-mscale",
        lambda i: Call((i.typed([1, 5000]), 16), {"scaling": PHI_MOE, "seq_len": 4097}),
        dtypes=("int64",),
    ),
    Case("rope_table", "dynamic-yarn-lengths", _lengths, dtypes=("int64",)),
)
