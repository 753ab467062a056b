"""Sinusoids with all their switches and on several axes, Fourier features, tables at other sizes, positions among padding.

Formulas and cases in the manner of golden_formulas and golden_cases, from the code that has them: channel by channel, pixel by
pixel, tap by tap.
"""

from __future__ import annotations

import itertools
import math
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


# --- tables ----------------------------------------------------------------------------------------------------------


def keys(x: Any, a: float) -> Any:
    """Keys (1981), eq. 4 with the conditions of sec. III, for any a."""
    x, a = abs(x), mpf(a)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else mpf(0)


def offset_weights(o: int, s: int, n: int, kernel: str) -> list[Any]:
    """Of the old offsets for a new one: places by the root of a polynomial; the spline from truncated powers."""
    half, last = s // 2, n // 2
    q = mpf(1)
    if half != last:
        q = mp.findroot(lambda r: sum(r**k for k in range(half)) - last, (mpf(1), mpf("1.5")), solver="anderson")
    far = [sum((q**k for k in range(j)), mpf(0)) for j in range(half)] + [mpf(last)]
    x, t = [-v for v in far[:0:-1]] + far, mpf(o - last)

    def powers(at: Any) -> list[Any]:
        return [at**k for k in range(4)] + [max(at - knot, mpf(0)) ** 3 for knot in x[2:-2]]

    def hats(at: Any) -> list[Any]:
        return [mpf(1), at, *(abs(at - knot) for knot in x[1:-1])]

    basis = powers if kernel == "spline" else hats
    return list(mp.lu_solve(mp.matrix([basis(v) for v in x]).T, mp.matrix(basis(t))))


def resample_table(
    table: Nested,
    sizes: list[int],
    new_sizes: list[int],
    kernel: str,
    cubic_a: float,
    antialias: bool,
    align_corners: bool,
    offset: float,
    prefix: int,
    spacing: str = "uniform",
) -> Nested:
    def kappa(x: Any) -> Any:
        return keys(x, cubic_a) if kernel == "cubic" else max(mpf(0), 1 - abs(x))

    def taps(o: int, s: int, n: int) -> list[tuple[int, Any]]:
        """Cells and weights; cells beyond the border are moved to it."""
        if spacing == "geometric":
            return list(enumerate(offset_weights(o, s, n, kernel)))
        if align_corners:
            c, ratio = (mpf(o) * (s - 1) / (n - 1) if n > 1 else mpf(0)), mpf(1)
        else:
            ratio = s / (mpf(n) + mpf(offset))
            c = (o + mpf(1) / 2) * ratio - mpf(1) / 2
        stretch = max(ratio, mpf(1)) if antialias else mpf(1)
        around = range(-3 * s - 3, 4 * s + 4)
        if not antialias:
            return [(min(max(j, 0), s - 1), kappa(c - j)) for j in around]
        inside = [(j, kappa((c - j) / stretch)) for j in around if 0 <= j < s]
        total = sum(weight for _, weight in inside)
        return [(j, weight / total) for j, weight in inside]

    grid = {place: table[prefix + i] for i, place in enumerate(itertools.product(*map(range, sizes)))}
    rows = [[mpf(v) for v in row] for row in table[:prefix]]
    for new in itertools.product(*map(range, new_sizes)):
        along = [taps(o, s, n) for o, s, n in zip(new, sizes, new_sizes, strict=True)]
        row = [mpf(0)] * len(table[0])
        for chosen in itertools.product(*([t for t in axis if t[1]] for axis in along)):
            weight = mp.fprod([w for _, w in chosen])
            old = grid[tuple(j for j, _ in chosen)]
            row = [y + weight * mpf(v) for y, v in zip(row, old, strict=True)]
        rows.append(row)
    return rows


def hierarchical_table(table: Nested, rows: int, alpha: float) -> Nested:
    n, a = len(table), mpf(alpha)
    u = [[(mpf(v) - a * mpf(v0)) / (1 - a) for v, v0 in zip(row, table[0], strict=True)] for row in table]
    return [[a * x + (1 - a) * y for x, y in zip(u[i // n], u[i % n], strict=True)] for i in range(rows)]


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


def resampled(note: str, seed: int, sizes: list[int], new: list[int], **others: Any) -> Case:
    given = {
        "table": numbers(seed, others.get("prefix", 0) + math.prod(sizes), 2),
        "sizes": sizes,
        "new_sizes": new,
        "kernel": "cubic",
        "cubic_a": -0.75,
    }
    return note, given | {"antialias": False, "align_corners": False, "offset": 0.0, "prefix": 0} | others


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
ANTIALIAS = {"antialias": True, "cubic_a": -0.5}

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
    "resample_table": [
        resampled("ViT in transformers", 1030, [3, 4], [5, 3]),
        resampled("DINO: by a factor that is a little larger", 1030, [3, 4], [5, 3], offset=0.1),
        resampled("timm: antialias, a = -0.5", 1030, [3, 4], [5, 3], **ANTIALIAS),
        resampled("antialias alone", 1030, [3, 4], [5, 3], antialias=True),
        resampled("SigLIP 2", 1030, [3, 4], [5, 3], kernel="linear", antialias=True),
        resampled("Qwen3-VL, big_vision", 1030, [3, 4], [5, 3], kernel="linear", align_corners=True),
        resampled("linear", 1030, [3, 4], [5, 3], kernel="linear"),
        resampled("BEiT in transformers: (height, width) = (4, 3) read as (3, 4)", 1040, [3, 4], [5, 3], kernel="linear"),
        resampled("the same table as it lies", 1040, [4, 3], [5, 3], kernel="linear"),
        resampled("a class token, far fewer cells", 1050, [5, 7], [2, 2], prefix=1, **ANTIALIAS),
        resampled("BEiT's own code: offsets", 1055, [7, 9], [9, 11], kernel="spline", spacing="geometric"),
        resampled("timm: the same, straight lines", 1055, [7, 9], [9, 11], kernel="linear", spacing="geometric"),
        resampled("from a window of 7 to one of 12", 1056, [13], [23], kernel="spline", spacing="geometric"),
        resampled("a sequence, corners on corners", 1060, [5], [9], align_corners=True),
        resampled("from one cell, to one", 1070, [1, 2], [3, 1]),
    ],
    "hierarchical_table": [
        ("Su's example", {"table": [[1.0], [2.0], [4.0]], "rows": 9, "alpha": 0.4}),
        ("another alpha", {"table": numbers(1080, 4, 2), "rows": 13, "alpha": 0.3}),
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
