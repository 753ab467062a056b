"""Rotations keep the norms of pairs, but for a magnitude that they are told to have; what is marked as none does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import posref
from posref import (
    fope_cos_sin,
    pope_apply,
    rope,
    rope_apply,
    rope_apply_channels,
    rope_attention_factor,
    rope_axes_cos_sin,
    rope_axes_table,
    rope_axis_map,
    rope_cos_sin,
    rope_inv_freq,
    rope_mixed_cos_sin,
    rope_pixel_freq,
    xpos_scale,
)
from posref.catalogue import CATALOGUE

Floats = NDArray[Any]
Encode = Callable[[Floats, int], Any]  # x (1, DIM) at a position

DIM = 12  # 6 pairs, which three axes share equally
U = 2.0**-53
W = rope_inv_freq(DIM)
THREE = rope_axis_map((2, 2, 2))


def stretched(scaling: Any, **how: Any) -> Encode:
    """The rotation less the magnitude that the scaling says."""
    return lambda x, p: (
        rope(x, [p], scaling=scaling, **how) / rope_attention_factor(scaling, seq_len=how.get("seq_len"))
    )


def places(p: int, axes: int = 3) -> Floats:
    return np.arange(axes)[:, None] * 2 + p


def xpos(x: Floats, p: int) -> Floats:
    cos, sin = rope_cos_sin([p], W)
    scale = xpos_scale([p], DIM, centre=4)
    return rope_apply(x, cos * scale, sin * scale) / np.tile(scale, 2)


def fope(x: Floats, p: int) -> Floats:
    half = np.eye(3)
    return rope_apply(x, *fope_cos_sin([p], W[:3], half, half, DIM // 2))


def xdrope(x: Floats, p: int) -> Floats:
    return rope_apply_channels(x, *rope_axes_cos_sin(places(p), np.tile(W, 2), rope_axis_map((4, 4, 4))))


def vjepa2(x: Floats, p: int) -> Floats:
    tables = rope_axes_cos_sin(places(p), np.tile(rope_inv_freq(4), 6), rope_axis_map((4, 4, 4)))
    return rope_apply_channels(x, *tables, layout="interleaved")


ENCODINGS: dict[str, Encode] = {
    "rope": stretched(None),
    "rope-partial": lambda x, p: rope(x, [p], dim=4, offset=2),
    "rope-linear": stretched(posref.LinearScaling(4.0)),
    "rope-ntk": stretched(posref.NTKScaling(4.0)),
    "rope-dynamic-ntk": stretched(posref.DynamicNTKScaling(2.0, 64), seq_len=100),
    "rope-yarn": stretched(posref.YarnScaling(16.0, 4096)),
    "rope-llama3": stretched(posref.Llama3Scaling(8.0, 8192, 1.0, 4.0)),
    "rope-longrope": stretched(posref.LongRopeScaling([1.0] * 6, [2.0] * 6, 4096, factor=32.0), seq_len=5000),
    "rope-dynamic-linear": stretched(posref.DynamicLinearScaling(64), seq_len=100),
    "rope-dynamic-yarn": stretched(posref.DynamicYarnScaling(2048), seq_len=5000),
    "rope-ntk-by-parts": stretched(posref.NTKByPartsScaling(8.0, 2048)),
    "rope-proportional": stretched(posref.ProportionalScaling(0.5)),
    "rope-pixel": lambda x, p: rope_apply(x, *rope_cos_sin([p / 100], rope_pixel_freq(DIM, 10.0))),
    "rope-custom": lambda x, p: rope_apply(x, *rope_cos_sin([p], np.linspace(-1.0, 2.0, DIM // 2))),
    "rope-mrope": lambda x, p: rope_apply(x, *rope_axes_table(places(p), THREE)),
    "rope-axial": lambda x, p: rope_apply(x, *rope_axes_table(places(p), THREE, ladder="per_axis")),
    "rope-mixed": lambda x, p: rope_apply(x, *(t[0] for t in rope_mixed_cos_sin(places(p, 2), np.ones((2, 1, 6)) * W))),
    "rope-xdrope-transformers": xdrope,
    "rope-vjepa2": vjepa2,
    "xpos": xpos,
    "fope": fope,
    "pope": lambda x, p: pope_apply(x, [p]),
}
TURN_NOTHING_THEMSELVES = {
    "rerope",
    "self-extend",
    "dual-chunk-attention",
    "rope-linear-attention",
    "rope-packed",
    "rope-weights",
}
ROTARY = {e.id: e for e in CATALOGUE if e.family == "rotary"}


def change(encode: Encode) -> float:
    """The largest relative change of a norm, at some positions."""
    x = np.random.default_rng(0).standard_normal((1, DIM))
    before = np.linalg.norm(x)
    return max(abs(float(np.linalg.norm(encode(x, p)) - before)) / float(before) for p in (0, 1, 3, 17, 1001))


@pytest.mark.parametrize("name", ENCODINGS)
def test_norms_are_kept_where_and_only_where_it_is_a_rotation(name: str) -> None:
    if ROTARY[name].not_a_rotation:
        assert change(ENCODINGS[name]) > 0.01
    else:  # a pair: cos, sin, two products, a sum, the magnitude both ways; two norms of DIM squares
        assert change(ENCODINGS[name]) <= (8 + DIM + 4) * U


def test_every_rotary_encoding_is_asked() -> None:
    assert set(ENCODINGS) | TURN_NOTHING_THEMSELVES == set(ROTARY)


def test_a_magnitude_that_is_not_told_is_noticed() -> None:
    assert change(lambda x, p: rope(x, [p], scaling=posref.YarnScaling(16.0, 4096))) > 0.01
    assert change(lambda x, p: rope_apply(x, *rope_cos_sin([p], W, attention_factor=1 + 64 * U))) > (8 + DIM + 4) * U
