"""Random valid arguments of posref's closed forms: ordinary ones, and those near the edges of what is allowed."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import posref

Arguments = dict[str, Any]


def power_of_ten(source: Generator, low: float, high: float) -> float:
    return float(10.0 ** (low + (high - low) * source.random()))


def base(source: Generator) -> float:
    """In (1, 1e12]: of any size, near 1, and the ends."""
    share = source.random()
    if share < 0.6:
        return power_of_ten(source, 1e-9, 12)
    if share < 0.9:
        return 1 + power_of_ten(source, -15.6, 0)
    return (math.nextafter(1, 2), 1e12, 10000.0, 500000.0)[source.integers(4)]


def even_dim(source: Generator, least: int = 2) -> int:
    """To 1024; mostly small, which is quicker."""
    return 1024 if source.random() < 0.05 else max(least, 2 * int(2 ** (9 * source.random() ** 2)))


def positive(source: Generator) -> float:
    """Factors: ordinary, near 1, 1, small, of any size."""
    share = source.random()
    if share < 0.5:
        return power_of_ten(source, 0, 2.5)
    if share < 0.7:
        return 1 + (1 if share < 0.6 else -1) * power_of_ten(source, -16, -1)
    if share < 0.75:
        return 1.0
    return power_of_ten(source, -3, 0) if share < 0.94 else power_of_ten(source, -323, 308)


def positions(source: Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    """Integers to 2^53 in magnitude, and floats of every size."""
    sign, share = source.choice([-1, 1], shape), source.random()
    if share < 0.25:
        return source.integers(-5000, 5000, shape)
    if share < 0.6:
        return np.asarray((sign * 2.0 ** source.uniform(0, 53, shape)).astype(np.int64))
    if share < 0.65:
        return np.asarray(sign * (2**53 - source.integers(0, 3, shape)))
    if share < 0.85:
        return np.asarray(sign * 10.0 ** source.uniform(-3, 15, shape))
    if share < 0.9:
        return np.asarray(sign * 10.0 ** source.uniform(15, 308.25, shape))
    if share < 0.95:
        return np.asarray(sign * 10.0 ** source.uniform(-323.6, -3, shape))
    return np.asarray(sign * source.choice([0.0, 5e-324, 2.0**-1022, 0.1, 2.0**53, sys.float_info.max], shape))


def batch(source: Generator) -> NDArray[Any]:
    """Any positions, or consecutive ones: sums of few parts, which have a way of their own."""
    share = source.random()
    if share < 0.2:
        return source.integers(-(2**52), 2**52) + np.arange(600)
    return positions(source, () if share < 0.3 else (2, 3, 5) if share < 0.5 else (40,))


# --- scalings --------------------------------------------------------------------------------------------------------


def length(source: Generator) -> int:
    return (
        (1, 2, 2048, 4096, 8192, 32768)[source.integers(6)] if source.random() < 0.5 else int(source.integers(1, 10**6))
    )


def rotations(source: Generator, dim: int, base: float, length: int) -> float:
    """A number of rotations within the length; half the time that of some pair, where ramps begin and end, or next to it."""
    share, pair = source.random(), int(source.integers(dim))
    if share < 0.5:
        return power_of_ten(source, -3, 4)
    if share < 0.6:
        return length / (2 * math.pi) * base ** (-2 * (pair - 0.001 * source.random()) / dim)
    return length / (2 * math.pi) * base ** (-2 * pair / dim) * (1 + int(source.integers(-3, 4)) * 2.0**-52)


def two_rotations(source: Generator, dim: int, base: float, length: int) -> tuple[float, float]:
    """Low and high: apart, next to each other, equal."""
    low, high = sorted(rotations(source, dim, base, length) for _ in range(2))
    share = source.random()
    return low, high if share < 0.8 else math.nextafter(low, math.inf) if share < 0.9 else low


def magnitudes(source: Generator) -> Arguments:
    """What YaRN's attention factor depends on, beside the factor."""
    share = source.random()
    if share < 0.3:
        return {} if share < 0.2 else {"attention_factor": power_of_ten(source, -2, 1)}
    return {name: 0.0 if source.random() < 0.1 else positive(source) for name in ("mscale", "mscale_all_dim")}


def longrope(source: Generator, dim: int) -> posref.LongRopeScaling:
    size = (-323, 308) if source.random() < 0.05 else (-1, 2)
    short, long = 10.0 ** source.uniform(*size, (2, dim // 2))
    given = power_of_ten(source, -2, 1) if source.random() < 0.1 else None
    return posref.LongRopeScaling(short.tolist(), long.tolist(), max(2, length(source)), positive(source), given)


KINDS = {
    "plain": None,
    "linear": posref.LinearScaling,
    "NTK": posref.NTKScaling,
    "dynamic NTK": posref.DynamicNTKScaling,
    "YaRN": posref.YarnScaling,
    "YaRN, not truncated": posref.YarnScaling,
    "YaRN by rotations": posref.YarnScaling,
    "Llama 3": posref.Llama3Scaling,
    "LongRoPE": posref.LongRopeScaling,
    "NTK, base": posref.NTKScaling,
    "NTK, fixed": posref.NTKScaling,
    "NTK, mixed": posref.NTKScaling,
    "NTK by parts": posref.NTKByPartsScaling,
    "dynamic linear": posref.DynamicLinearScaling,
    "dynamic YaRN": posref.DynamicYarnScaling,
    "proportional": posref.ProportionalScaling,
}


def scaling(source: Generator, kind: str, dim: int, base: float) -> posref.Scaling | None:
    record, s, of = KINDS[kind], positive(source), length(source)
    if record is None:
        return None
    if record is posref.LinearScaling:
        return record(s)
    if record is posref.NTKScaling:
        return record(s, kind.partition(", ")[2] or "aware", power_of_ten(source, -2, 1))
    if record is posref.ProportionalScaling:
        return record(float(source.random()), s, ("floor", "ceil")[source.integers(2)])
    if record is posref.DynamicLinearScaling:
        return record(of)
    if record is posref.DynamicNTKScaling:
        return record(s, of)
    if record is posref.LongRopeScaling:
        return longrope(source, dim)
    low, high = two_rotations(source, dim, base, of)
    if record is posref.Llama3Scaling:
        return record(s, of, low, high)
    if record is posref.NTKByPartsScaling:
        share, (slowest, fastest) = source.random(2).tolist(), two_rotations(source, dim, base, of)
        return record(s, of, *share, high, low, fastest, slowest)
    if record is posref.DynamicYarnScaling:
        ramp = ("index", "rotations")[source.integers(2)]
        least = 1.0 if source.random() < 0.5 else power_of_ten(source, 0, 2)
        return record(of, high, low, bool(source.random() < 0.5), ramp, float(source.random()), least_factor=least)
    ramp, truncate = "rotations" if kind == "YaRN by rotations" else "index", kind != "YaRN, not truncated"
    return record(s, of, high, low, truncate=truncate, ramp=ramp, **magnitudes(source))


# --- the functions ---------------------------------------------------------------------------------------------------


def rope_inv_freq(source: Generator, kind: str) -> Arguments:
    dim, b = even_dim(source, least=4), base(source)
    record = scaling(source, kind, dim, b)
    of, seq_len = getattr(record, "original_max_position_embeddings", 1), None
    if source.random() < 0.7:
        seq_len = max(1, of if source.random() < 0.2 else int(of * power_of_ten(source, -1, 3)))
    return {"dim": dim, "base": b, "scaling": record, "seq_len": seq_len}


def rope_attention_factor(source: Generator, kind: str) -> Arguments:
    if kind == "LongRoPE":
        return {"scaling": longrope(source, 2)}
    return {"scaling": posref.YarnScaling(positive(source), length(source), **magnitudes(source))}


def rope_table(source: Generator, kind: str) -> Arguments:
    given = (power_of_ten(source, -2, 1), -1.5, 0.0)[source.integers(3)] if source.random() < 0.3 else None
    return {"positions": batch(source), **rope_inv_freq(source, kind), "attention_factor": given}


def rope_cos_sin(source: Generator) -> Arguments:
    n, reach = int(source.integers(1, 100)), 300 if source.random() < 0.1 else 8
    inv_freq = source.choice([-1.0, 1.0], n) * 10.0 ** source.uniform(-reach, reach / 2, n)
    inv_freq[source.random(n) < 0.02] = 0.0
    share = source.random()
    factor = 1.0 if share < 0.4 else -power_of_ten(source, -2, 2) if share < 0.97 else power_of_ten(source, -323, 308)
    return {"positions": batch(source), "inv_freq": inv_freq, "attention_factor": factor}


def multiplier(source: Generator) -> float:
    """1, or of either sign and some size."""
    if source.random() < 0.5:
        return 1.0
    return float(source.choice([-1, 1])) * power_of_ten(source, -3, 3)


def sinusoidal(source: Generator, kind: str) -> Arguments:
    odd = ("error", "zero", "split")[source.integers(3)]
    return {
        "positions": batch(source),
        "dim": even_dim(source, least=4) + int(odd != "error" and source.random() < 0.7),
        "base": base(source),
        "endpoint": kind == "endpoint",
        "layout": ("interleaved", "concatenated")[source.integers(2)],
        "order": ("sin_cos", "cos_sin")[source.integers(2)],
        "scale": multiplier(source),
        "gain": multiplier(source),
        "odd": odd,
    }


def sinusoidal_axes(source: Generator, kind: str) -> Arguments:
    axes = int(source.integers(1, 4))
    return {
        "positions": np.stack([positions(source, (20,)).astype(np.float64) for _ in range(axes)]),
        "dim": 2 * axes * int(source.integers(2, 12)) + int(source.integers(3)),
        "base": [base(source) for _ in range(axes)],
        "endpoint": kind == "endpoint",
        "order": ("sin_cos", "cos_sin")[source.integers(2)],
    }


def mask_coordinates(source: Generator) -> Arguments:
    shape = (2, *source.integers(1, 60, 2).tolist())
    return {
        "mask": source.random(shape) < source.random(),
        "scale": (2 * math.pi, multiplier(source))[source.integers(2)],
        "shift": (0.0, 0.5, 0.1)[source.integers(3)],
        "eps": power_of_ten(source, -9, 0),
    }


def frequency_bands(source: Generator, kind: str) -> Arguments:
    sign = source.choice([-1.0, 1.0], 2) if kind == "linear" else np.ones(2)
    first, last = (sign * 10.0 ** source.uniform(-4, 5, 2)).tolist()
    n, endpoint = int(source.integers(1, 200)), bool(source.random() < 0.7)
    return {"n": n, "first": first, "last": last, "spacing": kind, "endpoint": endpoint}


def fourier_features(source: Generator, kind: str) -> Arguments:
    axes, n = int(source.integers(1, 4)), int(source.integers(1, 9))
    shape = (n,) if kind == "bands" else (axes, n)
    coordinates = (
        source.uniform(-1, 1, (axes, 20)) if source.random() < 0.7 else positions(source, (axes, 20)) * 2.0**-20
    )
    return {
        "coordinates": coordinates,
        "frequencies": source.choice([-1.0, 1.0], shape) * 10.0 ** source.uniform(-3, 4, shape),
        "unit": ("radians", "half_turns", "turns")[source.integers(3)],
        "order": ("sin_cos", "cos_sin")[source.integers(2)],
        "gain": multiplier(source),
    }


def timestep_embedding(source: Generator) -> Arguments:
    dim = even_dim(source, least=4) + int(source.random() < 0.3)
    half, share = dim // 2, source.random()
    largest = math.nextafter(half, 0)
    shifts = (0.0, 1.0, -5 + (half + 5) * source.random(), half - power_of_ten(source, -16, 0), largest)
    scale = 1.0 if share < 0.4 else 1000.0 if share < 0.6 else -power_of_ten(source, -3, 4)
    return {
        "timesteps": batch(source),
        "dim": dim,
        "flip_sin_to_cos": bool(source.random() < 0.5),
        "downscale_freq_shift": min(shifts[source.integers(5)], largest),
        "scale": power_of_ten(source, -323, 308) if share > 0.95 else scale,
        "max_period": base(source),
    }


def alibi_slopes(source: Generator) -> Arguments:
    heads = int(2 ** (11 * source.random()))
    if source.random() < 0.5:
        return {"num_heads": heads}
    options = {"bias_max": power_of_ten(source, -1, 1.5), "rule": ("released", "geometric")[source.integers(2)]}
    return {"num_heads": heads, "heads": (heads // 3, heads), "scale": power_of_ten(source, -3, 2), **options}


def alibi_bias(source: Generator, form: str) -> Arguments:
    heads, leading = int(source.integers(1, 9)), () if source.random() < 0.5 else (3,)
    sizes = source.uniform(-320, 308, heads) if source.random() < 0.1 else source.uniform(-5, 1, heads)
    return {
        "slopes": source.choice([-1.0, 1.0], heads) * 10.0**sizes,
        "q_positions": positions(source, (*leading, 20)),
        "k_positions": positions(source, (*leading, 30)),
        "form": form,
    }
