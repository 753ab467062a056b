"""Cases for encodings on several axes, Fourier features, resampled tables, and positions among padding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import posref
from posref_conformance.case import Call, Case, Inputs, one, read_only, strided, transposed

WHOLE, EITHER, REAL, DEFAULT = ("int64",), ("int64", "int32"), ("float64", "float32"), ("default",)
IMAGE = posref.grid_positions((3, 5))  # not square: height and width tell apart
VIDEO = posref.grid_positions((2, 3, 5))
BOXES = np.array([[0.25, 0.75, 0.1], [0.5, 0.125, 0.9], [-0.3, 0.6, 0.2], [0.8, 0.4, 0.7]])  # (axes, boxes)
LEFT = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 1, 1]])  # padding left, right and in the middle
PICTURES = np.array([[[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]], [[1, 1, 1, 1]] * 3], dtype=bool)  # (batch, h, w)


def _axes(name: str, positions: Any, dim: int, dtypes: tuple[str, ...] = WHOLE, **options: Any) -> Case:
    return one("sinusoidal_axes", name, lambda i: Call((i.typed(positions), dim), dict(options)), dtypes=dtypes)


def _axes_again(i: Inputs) -> list[Call]:
    return [Call((i.typed(p), 8)) for p in (IMAGE, IMAGE[::-1], IMAGE)] + [Call((i.typed(IMAGE), 8), {"base": 100.0})]


def _bands(name: str, n: int, first: float, last: float, **options: Any) -> Case:
    return one("frequency_bands", name, lambda i: Call((n, first, last), dict(options)), dtypes=DEFAULT)


def _features(i: Inputs, coordinates: Any, frequencies: Any, **options: Any) -> Call:
    return Call((np.asarray(coordinates), i.typed(frequencies)), options)


def _random(i: Inputs, axes: int, features: int, **options: Any) -> Call:
    return Call((BOXES[:axes].copy(), i.data(axes, features)), options)


def _resampled(i: Inputs, sizes: Any, new: Any, *, prefix: int = 0, dim: int = 3, **options: Any) -> Call:
    kwargs = dict(options) | ({"prefix": prefix} if prefix else {})
    return Call((i.data(prefix + math.prod(sizes), dim), sizes, new), kwargs)


def _mask(function: str, name: str, mask: Any, dtypes: tuple[str, ...] = DEFAULT, **options: Any) -> Case:
    def build(i: Inputs) -> Call:
        return Call((np.asarray(mask).astype(bool) if dtypes == DEFAULT else i.typed(mask),), dict(options))

    return one(function, name, build, dtypes=dtypes)


AXES, BANDS, FEATURES, RESAMPLE = "sinusoidal_axes", "frequency_bands", "fourier_features", "resample_table"
HIERARCHY, POSITIONS, COORDINATES = "hierarchical_table", "mask_positions", "mask_coordinates"
POWERS = [1.0, 2.0, 4.0, 8.0]
ANTIALIASED: dict[str, Any] = {"antialias": True}

CASES: tuple[Case, ...] = (
    _axes("mae", IMAGE[::-1], 16),
    _axes("moco", IMAGE[::-1], 16, endpoint=True),
    _axes("rt-detr", IMAGE, 16),
    _axes("timm", IMAGE, 16, layout="wave_axis_band"),
    _axes("detr", IMAGE + 1, 12, layout="axis_band_wave"),
    _axes("band-first", IMAGE, 12, layout="band_wave_axis"),
    _axes("wave-band-axis", IMAGE, 12, layout="wave_band_axis"),
    _axes("band-axis-wave", IMAGE, 12, layout="band_axis_wave"),
    _axes("cos-first", IMAGE, 8, order="cos_sin"),
    _axes("tensor2tensor", VIDEO, 23, endpoint=True),
    _axes("simple-vit-3d", VIDEO, 20, endpoint=True),
    _axes("cogvideox", VIDEO[[0, 2, 1]], 16, widths=(4, 6, 6)),
    _axes("widths-by-wave", VIDEO, 16, widths=(2, 6, 4), layout="wave_axis_band"),
    _axes("widths-by-band", VIDEO, 13, widths=(2, 6, 4), layout="band_axis_wave"),
    _axes("bases", IMAGE, 12, base=(20.0, 10000.0)),
    _axes("base", IMAGE, 12, base=100.0),
    _axes("boxes", 2 * math.pi * BOXES, 32, dtypes=REAL, layout="axis_band_wave"),
    _axes("detr-normalized", posref.mask_coordinates(PICTURES, scale=2 * math.pi), 12, dtypes=REAL),
    _axes("one-axis", [[0, 5, -7]], 6),
    _axes("far", IMAGE * 65537, 8),
    _axes("batch", np.stack([IMAGE, 2 * IMAGE[::-1]], axis=1), 8),
    _axes("empty", np.zeros((2, 0)), 8),
    Case(AXES, "again", _axes_again, dtypes=WHOLE),
    _bands("nerf", 10, 1.0, 512.0, spacing="log"),
    _bands("linear", 10, 1.0, 512.0),
    _bands("perceiver", 64, 1.0, 112.0),
    _bands("gligen", 8, 1.0, 100.0, spacing="log", endpoint=False),
    _bands("linear-open", 7, -1.0, 2.0, endpoint=False),
    _bands("falling", 6, 1.0, 1e-4, spacing="log"),
    _bands("one", 1, 3.0, 7.0),
    one(FEATURES, "nerf-paper", lambda i: _features(i, BOXES[:3], POWERS, unit="half_turns")),
    one(FEATURES, "nerf", lambda i: _features(i, BOXES[:3], POWERS, layout="band_wave_axis", include_input=True)),
    one(
        FEATURES,
        "perceiver",
        lambda i: _features(i, BOXES[:2], [1.0, 4.5, 8.0], unit="half_turns", layout="wave_axis_band", include_input=True),
    ),
    one(FEATURES, "gligen", lambda i: _features(i, BOXES, [1.0, 3.0, 10.0], layout="band_wave_axis")),
    one(FEATURES, "sam", lambda i: _random(i, 2, 5, unit="turns")),
    one(FEATURES, "noise-level", lambda i: _random(i, 1, 5, unit="turns")),
    one(FEATURES, "learned", lambda i: _random(i, 4, 5, order="cos_sin", gain=0.25)),
    one(FEATURES, "random-band-wave", lambda i: _random(i, 3, 4, layout="band_axis_wave")),
    one(FEATURES, "random-with-input", lambda i: _random(i, 3, 4, include_input=True)),
    one(FEATURES, "whole-quarters", lambda i: _features(i, [[0.0, 0.25, 0.5, -1.0, 7.0]], POWERS, unit="turns")),
    one(FEATURES, "integers", lambda i: Call((IMAGE.copy(), i.typed([1.0, 0.5, 0.25])))),
    one(FEATURES, "batch", lambda i: _features(i, BOXES[:2, None] * [[1.0], [3.0]], [1.0, 2.5])),
    one(FEATURES, "empty", lambda i: _features(i, np.zeros((2, 0)), POWERS)),
    one(FEATURES, "read-only-strided", lambda i: Call((read_only(BOXES[:2]), strided(i.data(2, 3))))),
    one(RESAMPLE, "vit", lambda i: _resampled(i, (7, 7), (11, 5))),
    one(RESAMPLE, "not-square", lambda i: _resampled(i, (3, 7), (5, 4))),
    one(RESAMPLE, "class-token", lambda i: _resampled(i, (3, 5), (7, 4), prefix=1)),
    one(RESAMPLE, "registers", lambda i: _resampled(i, (3, 5), (2, 4), prefix=5, **ANTIALIASED)),
    one(RESAMPLE, "dino", lambda i: _resampled(i, (11, 13), (5, 17), offset=0.1)),
    one(RESAMPLE, "timm", lambda i: _resampled(i, (11, 13), (5, 4), **ANTIALIASED)),
    one(RESAMPLE, "timm-grows", lambda i: _resampled(i, (3, 5), (7, 11), **ANTIALIASED)),
    one(RESAMPLE, "antialias-a", lambda i: _resampled(i, (11, 13), (5, 4), cubic_a=-0.75, **ANTIALIASED)),
    one(RESAMPLE, "siglip-2", lambda i: _resampled(i, (11, 7), (4, 9), kernel="linear", antialias=True)),
    one(RESAMPLE, "qwen3-vl", lambda i: _resampled(i, (5, 7), (9, 4), kernel="linear", align_corners=True)),
    one(RESAMPLE, "cubic-aligned", lambda i: _resampled(i, (5, 7), (9, 4), align_corners=True)),
    one(RESAMPLE, "bilinear", lambda i: _resampled(i, (5, 7), (9, 4), kernel="linear")),
    one(RESAMPLE, "beit-offsets", lambda i: _resampled(i, (13, 7), (23, 9), kernel="spline", spacing="geometric")),
    one(RESAMPLE, "timm-offsets", lambda i: _resampled(i, (13, 7), (23, 9), kernel="linear", spacing="geometric")),
    one(RESAMPLE, "sequence", lambda i: _resampled(i, (13,), (31,))),
    one(RESAMPLE, "video", lambda i: _resampled(i, (2, 3, 5), (3, 2, 7), kernel="linear")),
    one(RESAMPLE, "to-one", lambda i: _resampled(i, (3, 5), (1, 1))),
    one(RESAMPLE, "from-one", lambda i: _resampled(i, (1, 1), (2, 3))),
    one(RESAMPLE, "same-size", lambda i: _resampled(i, (3, 5), (3, 5))),
    one(RESAMPLE, "empty", lambda i: _resampled(i, (3, 5), (0, 2))),
    one(RESAMPLE, "read-only-transposed", lambda i: Call((read_only(transposed(i.data(15, 4))), (3, 5), (4, 3)))),
    one(HIERARCHY, "square", lambda i: Call((i.data(5, 3), 25))),
    one(HIERARCHY, "some", lambda i: Call((i.data(7, 3), 30), {"alpha": 0.3})),
    one(HIERARCHY, "fewer", lambda i: Call((i.data(7, 3), 4))),
    one(HIERARCHY, "none", lambda i: Call((i.data(7, 3), 0))),
    one(HIERARCHY, "strided", lambda i: Call((read_only(strided(i.data(3, 4))), 8))),
    _mask(POSITIONS, "bloom", LEFT),
    _mask(POSITIONS, "attention-mask", LEFT, dtypes=EITHER),
    _mask(POSITIONS, "roberta", LEFT, first=2, padding=1),
    _mask(POSITIONS, "prophetnet", LEFT, first=1, largest=2),
    _mask(POSITIONS, "gpt-2-before", LEFT, padding=1),
    _mask(POSITIONS, "the-count", LEFT, padding=None),
    _mask(POSITIONS, "one-sequence", LEFT[0], first=-7),
    _mask(POSITIONS, "after-a-cache", LEFT, first=131072),
    _mask(POSITIONS, "abacus", [[1, 1, 0, 1, 1, 1, 0, 0, 1], [0, 1, 0, 1, 1, 0, 1, 1, 1]], first=1, restart=True),
    _mask(POSITIONS, "restart-the-count", LEFT, padding=None, restart=True),
    _mask(POSITIONS, "empty", np.zeros((2, 0))),
    _mask(COORDINATES, "detr", PICTURES, scale=2 * math.pi),
    _mask(COORDINATES, "deformable-detr", PICTURES, scale=2 * math.pi, shift=0.5),
    _mask(COORDINATES, "counts", PICTURES),
    _mask(COORDINATES, "counts-of-integers", PICTURES, dtypes=EITHER),
    _mask(COORDINATES, "video", np.stack([PICTURES, PICTURES[::-1]]), axes=3, scale=1.0),
    _mask(COORDINATES, "no-batch", PICTURES[0], eps=0.5, scale=1.0),
    _mask(COORDINATES, "empty", np.zeros((1, 0, 3))),
)  # fmt: skip
