"""Sinusoids with all their switches and on several axes, Fourier features, tables at other sizes, positions among padding.

Formulas and cases in the manner of golden_formulas and golden_cases, from the code that has them: channel by channel, pixel by
pixel, tap by tap.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from golden_formulas import Nested, each, geometric
from golden_rotary_cases import Case, numbers
from mpmath import mp, mpf

# --- sinusoids -------------------------------------------------------------------------------------------------------


def sinusoidal(
    positions: Nested,
    dim: int,
    base: float,
    endpoint: bool,
    layout: str,
    order: str,
    scale: float,
    gain: float,
    odd: str,
    padding_idx: int | None,
) -> Nested:
    width = dim - dim % 2 if odd == "zero" else dim
    steps = (width + 1) // 2 - 1 if endpoint else mpf(width) / 2
    functions = (mp.sin, mp.cos) if order == "sin_cos" else (mp.cos, mp.sin)
    channels = list(range(width))  # the even ones are the first wave, the odd ones the second, as XLM's code fills them
    if layout == "concatenated":
        channels = channels[0::2] + channels[1::2]

    def row(p: float) -> list[Any]:
        if p == padding_idx:
            return [mpf(0)] * dim
        angles = [mpf(scale) * mpf(p) / mpf(base) ** (mpf(j // 2) / steps) for j in range(width)]
        return [mpf(gain) * functions[j % 2](angles[j]) for j in channels] + [mpf(0)] * (dim - width)

    return each(row, positions)


def nested(layout: str, axes: int, bands: int, at: Callable[[int, int, int], Any]) -> list[Any]:
    """The entries of axis, wave and band in the order of a layout's loops, the first word's the outermost."""
    words, sizes = layout.split("_"), {"axis": axes, "wave": 2, "band": bands}
    found = []
    for indices in itertools.product(*(range(sizes[word]) for word in words)):
        i = dict(zip(words, indices, strict=True))
        value = at(i["axis"], i["wave"], i["band"])
        found += [] if value is None else [value]
    return found


def columns(rows: Nested, function: Callable[[list[float]], Any]) -> Nested:
    """A function of what stands in the same place of all rows."""
    if isinstance(rows[0], list):
        return [columns(list(inner), function) for inner in zip(*rows, strict=True)]
    return function(rows)


BITS = {"float32": 24, "float16": 11, "bfloat16": 8}


def timestep_embedding(
    timesteps: Nested,
    dim: int,
    flip_sin_to_cos: bool,
    downscale_freq_shift: float,
    scale: float,
    max_period: float,
    freq_dtype: str | None,
) -> Nested:
    frequencies = geometric(max_period, dim // 2, dim // 2 - mpf(downscale_freq_shift))
    if freq_dtype:
        frequencies = [mpf(w, prec=BITS[freq_dtype]) for w in frequencies]  # all of them normal numbers
    waves = (mp.cos, mp.sin) if flip_sin_to_cos else (mp.sin, mp.cos)
    padding = [mpf(0)] * (dim % 2)
    return each(lambda t: [f(mpf(scale) * mpf(t) * w) for f in waves for w in frequencies] + padding, timesteps)


def sinusoidal_axes(
    positions: Nested, dim: int, widths: list[int] | None, base: Nested, endpoint: bool, layout: str, order: str
) -> Nested:
    axes = len(positions)
    sizes = widths or [dim // (2 * axes) * 2] * axes
    bases = base if isinstance(base, list) else [base] * axes
    steps = [n // 2 - 1 if endpoint else n // 2 for n in sizes]
    w = [geometric(b, n // 2, s) for b, n, s in zip(bases, sizes, steps, strict=True)]
    functions = (mp.sin, mp.cos) if order == "sin_cos" else (mp.cos, mp.sin)

    def channels(p: list[float]) -> list[Any]:
        def at(a: int, wave: int, k: int) -> Any:
            return functions[wave](mpf(p[a]) * w[a][k]) if k < len(w[a]) else None

        return nested(layout, axes, max(sizes) // 2, at) + [mpf(0)] * (dim - sum(sizes))

    return columns(positions, channels)


# --- Fourier features ------------------------------------------------------------------------------------------------


def frequency_bands(n: int, first: float, last: float, spacing: str, endpoint: bool) -> list[Any]:
    steps = max(1, n - 1 if endpoint else n)
    if spacing == "linear":
        return [mpf(first) + (mpf(last) - mpf(first)) * k / steps for k in range(n)]
    return [mpf(first) * (mpf(last) / mpf(first)) ** (mpf(k) / steps) for k in range(n)]


def fourier_features(
    coordinates: Nested,
    frequencies: Nested,
    unit: str,
    layout: str,
    order: str,
    gain: float,
    include_input: bool,
) -> Nested:
    factor = 2 if unit == "turns" else 1
    waves = (mp.sin, mp.cos) if unit == "radians" else (mp.sinpi, mp.cospi)  # exact for whole quarters
    functions = waves if order == "sin_cos" else waves[::-1]
    summed = isinstance(frequencies[0], list)

    def channels(x: list[float]) -> list[Any]:
        def at(a: int, wave: int, k: int) -> Any:
            if summed:
                angle = mp.fdot(x, [row[k] for row in frequencies])
            else:
                angle = mpf(x[a]) * mpf(frequencies[k])
            return mpf(gain) * functions[wave](factor * angle)

        bands = len(frequencies[0]) if summed else len(frequencies)
        return [mpf(v) for v in x if include_input] + nested(layout, 1 if summed else len(x), bands, at)

    return columns(coordinates, channels)


# --- padding ---------------------------------------------------------------------------------------------------------


def mask_positions(mask: Nested, first: int, padding: int | None, largest: int | None, restart: bool) -> Nested:
    if isinstance(mask[0], list):
        return [mask_positions(row, first, padding, largest, restart) for row in mask]
    counter, found = first - 1, []
    for there in mask:
        counter = first - 1 if restart and not there else counter + bool(there)
        position = counter if there or padding is None else padding
        found.append(position if largest is None else min(position, largest))
    return found


def mask_coordinates(mask: Nested, axes: int, scale: float | None, shift: float, eps: float) -> Nested:
    def depth(value: Any) -> int:
        return 1 + depth(value[0]) if isinstance(value, list) else 0

    def along(value: Any, axis: int) -> Any:
        """Counts along one axis: other axes one by one, from outside."""
        if axis:
            return [along(inner, axis - 1) for inner in value]
        total = sums(value)[-1]
        return [joined(count, total) for count in sums(value)]

    def sums(value: Any) -> Any:
        rows = [value[0]]
        for row in value[1:]:
            rows.append(added(rows[-1], row))
        return rows

    def added(a: Any, b: Any) -> Any:
        return [added(x, y) for x, y in zip(a, b, strict=True)] if isinstance(a, list) else int(a) + int(b)

    def joined(count: Any, total: Any) -> Any:
        if isinstance(count, list):
            return [joined(x, y) for x, y in zip(count, total, strict=True)]
        c = mpf(int(count)) - mpf(shift)
        return c if scale is None else c / (mpf(int(total)) + mpf(eps)) * mpf(scale)

    outer = depth(mask) - axes
    return [along(mask, outer + a) for a in range(axes)]


# --- cases -----------------------------------------------------------------------------------------------------------

PI2 = 6.283185307179586


def sinusoid(note: str, positions: Nested, dim: int, **others: Any) -> Case:
    given = {"positions": positions, "dim": dim, "base": 10000.0, "endpoint": False, "layout": "interleaved"}
    given |= {"order": "sin_cos", "scale": 1.0, "gain": 1.0, "odd": "error", "padding_idx": None}
    return note, given | others


def timestep(note: str, timesteps: Nested, dim: int, **others: Any) -> Case:
    given: dict[str, Any] = {"timesteps": timesteps, "dim": dim, "flip_sin_to_cos": False, "downscale_freq_shift": 1.0}
    return note, given | {"scale": 1.0, "max_period": 10000.0, "freq_dtype": None} | others


def axes(note: str, positions: Nested, dim: int, **others: Any) -> Case:
    given = {"positions": positions, "dim": dim, "widths": None, "base": 10000.0, "endpoint": False}
    return note, given | {"layout": "axis_wave_band", "order": "sin_cos"} | others


def bands(note: str, n: int, first: float, last: float, spacing: str = "linear", endpoint: bool = True) -> Case:
    return note, {"n": n, "first": first, "last": last, "spacing": spacing, "endpoint": endpoint}


def features(note: str, coordinates: Nested, frequencies: Nested, **others: Any) -> Case:
    given = {"coordinates": coordinates, "frequencies": frequencies, "unit": "radians", "layout": "axis_wave_band"}
    return note, given | {"order": "sin_cos", "gain": 1.0, "include_input": False} | others


def ids(note: str, mask: Nested, **others: Any) -> Case:
    return note, {"mask": mask, "first": 0, "padding": 0, "largest": None, "restart": False} | others


def pixels(note: str, mask: Nested, **others: Any) -> Case:
    return note, {"mask": mask, "axes": 2, "scale": None, "shift": 0.0, "eps": 1e-6} | others


ADM = {"flip_sin_to_cos": True, "downscale_freq_shift": 0.0}
T2T = {"endpoint": True, "layout": "concatenated"}
Y, X = [[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]]  # a picture of 2 by 3
# RT-DETR's first grid: of (3, 2), in the order of the tokens of (2, 3)
TRANSPOSED_X, TRANSPOSED_Y = [[0, 0, 1], [1, 2, 2]], [[0, 1, 0], [1, 0, 1]]
PADDED = [[0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 1, 1]]
PICTURE = [[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
VIDEO = [[[1, 1], [1, 0], [1, 0]], [[1, 1], [1, 1], [0, 0]]]
NERF = {"layout": "band_wave_axis", "include_input": True}
PERCEIVER = {"unit": "half_turns", "layout": "wave_axis_band", "include_input": True}

CASES: dict[str, list[Case]] = {
    "timestep_embedding": [
        timestep("DDPM", [10, 999], 8),
        timestep("ADM, DiT, Stable Diffusion", [10, 999], 8, **ADM),
        timestep("Qwen-Image, times of 1000, in bfloat16", [10, 999], 8, **ADM, freq_dtype="bfloat16"),
        timestep("frequencies in float16", [[0.25], [-999.0]], 7, freq_dtype="float16", scale=1000.0),
        timestep("frequencies in float32", [2**40 + 1], 6, freq_dtype="float32", max_period=300.0),
    ],
    "sinusoidal": [
        sinusoid("two numbers for what differs in one", [1, 10], 8),
        sinusoid("sines, then cosines, the same numbers", [1, 10], 8, layout="concatenated"),
        sinusoid("up to 1/base, the same numbers", [1, 10], 8, layout="concatenated", endpoint=True),
        sinusoid("a last channel of 0, on Marian's numbers", [1, 10], 5, odd="zero", layout="concatenated"),
        sinusoid("an odd width, fairseq's: a last channel of 0", [1, 10], 5, odd="zero", **T2T),
        sinusoid("an odd width, Marian's in transformers: three sines", [1, 10], 5, odd="split", layout="concatenated"),
        sinusoid("an odd width, XLM's: the last channel a sine", [1, 10], 7, odd="split"),
        sinusoid("an odd width and the endpoint", [3], 7, odd="split", endpoint=True),
        sinusoid("fairseq's row of padding", [1, 2, 3], 8, padding_idx=1, **T2T),
        sinusoid("MLX: a gain", [1, 2], 8, gain=0.5, **T2T),
        sinusoid("MLX: full turns, cosines first", [1, 0.3], 6, order="cos_sin", scale=PI2, **T2T),
        sinusoid("min_timescale 2, as tensor2tensor says", [1, 7], 8, base=5000.0, scale=0.5, **T2T),
        sinusoid("min_timescale 2, as tensor2tensor's code has it", [1, 7], 8, base=5000.0, scale=2.0, **T2T),
        sinusoid("a scale and a gain that are no short numbers", [[0.1, -3], [2**53, 7]], 6, scale=0.7, gain=-0.3),
    ],
    "sinusoidal_axes": [
        axes("MAE: x, then y; frequencies short of 1/base", [X, Y], 8),
        axes("RT-DETR: y, then x", [Y, X], 8),
        axes("RT-DETR's first code: the grid of the transposed picture", [TRANSPOSED_Y, TRANSPOSED_X], 8),
        axes("MoCo v3, SimpleViT: x, then y; the last frequency is 1/base", [X, Y], 8, endpoint=True),
        axes("timm: all sines, then all cosines", [[1], [2]], 8, layout="wave_axis_band"),
        axes("DETR without normalization", [[1, 2], [1, 1]], 8, layout="axis_band_wave"),
        axes("DAB-DETR: a base for each axis", [[0.7, PI2], [3.1, 1.5]], 8, base=[20.0, 30.0], layout="axis_band_wave"),
        axes("tensor2tensor: what is left is 0", [[1], [2], [5]], 14, endpoint=True),
        axes("CogVideoX: time, then x, then y", [[1], [1], [0]], 16, widths=[4, 6, 6]),
        axes("diffusers' size taken as (height, width): y for x", [[1], [0], [1]], 16, widths=[4, 6, 6]),
        axes("bands outermost, other widths", [[1], [-2.5]], 9, widths=[2, 6], layout="band_axis_wave", order="cos_sin"),
        axes("waves, bands, axes", [[3], [4]], 8, layout="wave_band_axis"),
        axes("bands, waves, axes", [[3], [2**40]], 8, layout="band_wave_axis"),
    ],
    "frequency_bands": [
        bands("NeRF: powers of 2", 6, 1.0, 32.0, "log"),
        bands("NeRF without log_sampling", 6, 1.0, 32.0),
        bands("Perceiver", 5, 1.0, 112.0),
        bands("GLIGEN", 8, 1.0, 100.0, "log", False),
        bands("falling, open", 7, 0.7, -0.1, "linear", False),
        bands("one", 1, 0.1, 3.0, "log"),
    ],
    "fourier_features": [
        features("NeRF's paper: pi", [[0.25], [0.3]], [1.0, 2.0], unit="half_turns"),
        features("NeRF's code: no pi, and the input first", [[0.25], [0.3]], [1.0, 2.0], **NERF),
        features("the same numbers without pi", [[0.25], [0.3]], [1.0, 2.0]),
        features("in the code's order, without the input", [[0.25], [0.3]], [1.0, 2.0], layout="band_wave_axis"),
        features("Perceiver", [[-1.0, 0.2], [0.1, 1.0]], [1.0, 56.5, 112.0], **PERCEIVER),
        features("GLIGEN", [[0.1], [0.2], [0.7], [0.9]], [1.0, 3.1622776601683795], layout="band_wave_axis"),
        features("SAM: a random matrix, turns", [[0.3, -0.7], [0.6, 0.1]], numbers(1010, 2, 3), unit="turns"),
        features("a learned matrix: cosines first, a gain", [[0.3], [0.6]], numbers(1020, 2, 2), order="cos_sin", gain=0.5),
        features("whole quarters", [[0.0, 0.25, 0.5, -0.75, 3.0]], [1.0, 2.0], unit="turns"),
        features("far", [[1e15, 0.1]], [3.3], layout="band_axis_wave"),
    ],
    "mask_positions": [
        ids("BLOOM, Falcon; GPT-2 when it generates", PADDED),
        ids("RoBERTa with padding id 1; OPT", PADDED, first=2, padding=1),
        ids("ProphetNet with four rows", PADDED, first=1, largest=3),
        ids("GPT-2, older code", PADDED, padding=1),
        ids("FunASR", PADDED[0], first=1),
        ids("the count as it stands", PADDED, padding=None),
        ids("Abacus: 12 + 345 =", [1, 1, 0, 1, 1, 1, 0], first=1, restart=True),
    ],
    "mask_coordinates": [
        pixels("DETR without normalization", PICTURE),
        pixels("DETR", PICTURE, scale=PI2),
        pixels("Deformable DETR", PICTURE, scale=PI2, shift=0.5),
        pixels("a video", VIDEO, axes=3, scale=1.0, eps=0.25),
        pixels("a batch of lines", PADDED, axes=1, scale=0.1),
    ],
}  # fmt: skip
