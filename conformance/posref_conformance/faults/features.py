"""Sinusoids on several axes, bands of frequencies, Fourier features, continued tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posref_conformance.faults._change import always, arguments, keywords, numbers, replaced, results, without
from posref_conformance.faults._fault import Fault, Functions

AXES, FEATURES = ("sinusoidal_axes",), ("fourier_features",)
OTHER_UNIT = {"half_turns": "turns", "turns": "half_turns"}


def _ladders(exponent: Callable[[int, int, int, float], float]) -> Any:
    """Each axis with frequencies exp(-exponent(k, width of the axis, width of all, ln base))."""

    def make(right: Any, xp: Any) -> Any:
        def sinusoidal_axes(positions: Any, dim: int, *, base: float = 10000.0) -> Any:
            axes = positions.shape[0]
            width = dim // axes // 2 * 2
            if not isinstance(base, float):
                raise NotImplementedError
            w = [math.exp(-exponent(k, width, dim, math.log(base))) for k in range(width // 2)]
            parts = []
            for a in range(axes):
                angle = xp.astype(positions[a, ...], xp.float64)[..., None] * numbers(xp, w)
                parts += [xp.sin(angle), xp.cos(angle)]
            rest = xp.zeros((*positions.shape[1:], dim - axes * width), dtype=parts[0].dtype)
            return xp.concat([*parts, rest], axis=-1)

        return sinusoidal_axes

    return replaced(sinusoidal_axes=make)


def _input_last(right: Any, xp: Any) -> Functions:
    def fourier_features(coordinates: Any, frequencies: Any, *, include_input: bool = False, **kwargs: Any) -> Any:
        y = right.fourier_features(coordinates, frequencies, include_input=include_input, **kwargs)
        return xp.roll(y, -coordinates.shape[0], axis=-1) if include_input else y

    return {"fourier_features": fourier_features}


def _continued(rows_of: Callable[[Any, Any, Any, float], Any]) -> Any:
    """A table of n * n rows by ``rows_of(xp, high, low, alpha)``, of the given rows i // n and i % n."""

    def make(right: Any, xp: Any) -> Any:
        def hierarchical_table(table: Any, rows: int, *, alpha: float = 0.4) -> Any:
            work = xp.float64 if table.dtype == xp.float64 else xp.float32
            p = xp.astype(table, work)
            n = p.shape[0]
            high = xp.reshape(xp.broadcast_to(p[:, None, :], (n, n, p.shape[1])), (n * n, -1))
            low = xp.reshape(xp.broadcast_to(p[None, :, :], (n, n, p.shape[1])), (n * n, -1))
            return xp.astype(rows_of(xp, high, low, alpha)[:rows, ...], table.dtype)

        return hierarchical_table

    return replaced(hierarchical_table=make)


FAULTS = (
    Fault(
        "channels-always-axis-by-axis",
        "You lay out sines and cosines axis by axis whatever layout is asked for.",
        "Follow layout: which of axis, wave and band runs fastest differs from code to code.",
        "IDEA-Research/DAB-DETR issue #36; facebookresearch/mae issue #63",
        without((*AXES, *FEATURES), "layout"),
    ),
    Fault(
        "channels-band-by-band",
        "You alternate sines and cosines of each band, whatever layout is asked for.",
        "Follow layout: DETR alternates, MAE has all sines of an axis, then all its cosines.",
        "facebookresearch/mae issue #63",
        always((*AXES, *FEATURES), layout="axis_band_wave"),
    ),
    Fault(
        "axes-of-equal-width",
        "You give all axes as many channels, though their widths differ.",
        "Follow widths.",
        "CogVideoX (2408.06072), sec. 2.2",
        without(AXES, "widths"),
    ),
    Fault(
        "axes-share-one-exponent",
        "You divide the exponent by all channels, not by those of the axis.",
        "Each axis has a whole ladder: base ** (-2k/d) with the d channels of that axis.",
        "tutorials",
        _ladders(lambda k, width, dim, b: 2 * k / dim * b),
    ),
    Fault(
        "exponent-floored",
        "You divide -ln(base) by d with //: the frequencies are exp(-k), exp(-2k) and the like.",
        "Put brackets around the divisor: -ln(base) / (d // 2).",
        "zju3dv/LoFTR issue #41; GrumpyZhou/image-matching-toolbox issue #36",
        _ladders(lambda k, width, dim, b: -2 * k * math.floor(-b / width)),
    ),
    Fault(
        "unit-ignored",
        "You use coordinates times frequencies as the angle: the pi is missing.",
        "Follow unit: NeRF's paper has half turns, SAM whole turns, NeRF's code radians.",
        "yenchenlin/nerf-pytorch issue #146; bmild/nerf issue #50; bmild/nerf issue #65",
        without(FEATURES, "unit"),
    ),
    Fault(
        "pi-for-two-pi",
        "You exchange pi and 2 pi.",
        "Follow unit: a frequency of 1 in half turns is an angle of pi.",
        "bmild/nerf issue #50",
        keywords(
            FEATURES, lambda k: {**k, "unit": OTHER_UNIT[k["unit"]]} if k.get("unit", "radians") != "radians" else k
        ),
    ),
    Fault(
        "gain-ignored",
        "You ignore gain.",
        "Multiply sines and cosines by it.",
        "tutorials",
        without(FEATURES, "gain"),
    ),
    Fault(
        "input-left-out",
        "You leave out the coordinates themselves.",
        "With include_input they come before the sines and cosines.",
        "tutorials",
        without(FEATURES, "include_input"),
    ),
    Fault(
        "input-after-the-waves",
        "You put the coordinates after the sines and cosines.",
        "With include_input they come first.",
        "tutorials",
        _input_last,
    ),
    Fault(
        "bands-always-linear",
        "You space frequencies linearly whatever spacing is asked for.",
        "Follow spacing: NeRF's bands are powers of 2, the Perceiver's are linear.",
        "tutorials",
        without(("frequency_bands", "rope_pixel_freq"), "spacing"),
    ),
    Fault(
        "bands-always-geometric",
        "You space frequencies geometrically whatever spacing is asked for.",
        "Follow spacing: NeRF's bands are powers of 2, the Perceiver's are linear.",
        "tutorials",
        keywords(
            ("frequency_bands", "rope_pixel_freq"),
            lambda k: {**k, "spacing": "log"},
        ),
    ),
    Fault(
        "bands-without-the-last",
        "You stop a step before the last frequency.",
        "Divide by n - 1 where the end is included.",
        "tutorials",
        always(("frequency_bands",), endpoint=False),
    ),
    Fault(
        "bands-always-with-the-last",
        "You include the last frequency where it is left out.",
        "Divide by n where endpoint is False.",
        "tutorials",
        without(("frequency_bands",), "endpoint"),
    ),
    Fault(
        "bands-reversed",
        "You return the frequencies in the opposite order.",
        "The first one comes first.",
        "tutorials",
        results(("frequency_bands", "rope_pixel_freq"), lambda xp, y: xp.flip(y, axis=0)),
    ),
    Fault(
        "pixel-frequencies-without-pi",
        "You leave out the factor pi of pixel frequencies.",
        "A frequency of F is F / 2 whole turns over the picture: multiply by pi.",
        "tutorials",
        results(("rope_pixel_freq",), lambda xp, y: y / math.pi),
    ),
    Fault(
        "pixel-frequency-not-halved",
        "You end the pixel frequencies at max_freq; they end at half of it.",
        "Space them from 1 to max_freq / 2, times pi.",
        "tutorials",
        arguments({"rope_pixel_freq": (1,)}, lambda xp, f: 2 * f),
    ),
    Fault(
        "hierarchy-parts-exchanged",
        "You exchange i // n and i % n.",
        "The quotient has the weight alpha, the remainder 1 - alpha.",
        "hierarchical decomposition, kexue.fm/archives/7947",
        _continued(lambda xp, high, low, a: high + a / (1 - a) * (low - low[:1, ...])),
    ),
    Fault(
        "hierarchy-without-correction",
        "You mix rows of the table itself: its first n rows are not kept.",
        "Mix u = (p - alpha p_0) / (1 - alpha).",
        "hierarchical decomposition, kexue.fm/archives/7947",
        _continued(lambda xp, high, low, a: a * high + (1 - a) * low),
    ),
    Fault(
        "table-repeated",
        "You begin again at the first row beyond the end of the table.",
        "Row i mixes rows i // n and i % n.",
        "tutorials",
        _continued(lambda xp, high, low, a: low),
    ),
    Fault(
        "hierarchy-alpha-ignored",
        "You use alpha 0.4 whatever is given.",
        "Pass it on.",
        "hierarchical decomposition, kexue.fm/archives/7947",
        without(("hierarchical_table",), "alpha"),
    ),
)
