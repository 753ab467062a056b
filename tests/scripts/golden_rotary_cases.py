"""Which golden values of rotary encodings there are: notes and arguments, as in golden_cases."""

from __future__ import annotations

import random
from typing import Any

import hard_cases

Args = dict[str, Any]
Case = tuple[str, Args]  # a note, and the arguments

LARGEST = 2**53  # integers are exact up to here


def numbers(seed: int, *shape: int) -> Any:
    """Numbers of three decimals in -3 .. 3, nested to a shape; the same for the same seed on every machine."""
    source = random.Random(seed)

    def fill(shape: tuple[int, ...]) -> Any:
        return [fill(shape[1:]) for _ in range(shape[0])] if shape else round(source.uniform(-3, 3), 3)

    return fill(shape)


def scaling(kind: str, factor: float | None = None, length: int | None = None, **others: Any) -> Args:
    record: Args = {"kind": kind}
    if factor is not None:
        record["factor"] = factor
    if length is not None:
        record["original_max_position_embeddings"] = length
    return record | others


def llama3(factor: float, low: float, high: float) -> Args:
    return scaling("Llama3Scaling", factor, 8192, low_freq_factor=low, high_freq_factor=high)


SHORT = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7]
LONG = [1.05, 1.5, 2.5, 4.5, 8.5, 16.5, 32.5, 64.5]
LONGROPE = scaling("LongRopeScaling", 32.0, 4096, short_factor=SHORT, long_factor=LONG)
LINEAR, NTK = scaling("LinearScaling", 4.0), scaling("NTKScaling", 4.0)
DYNAMIC = scaling("DynamicNTKScaling", 2.0, 2048)
LLAMA_2 = scaling("YarnScaling", 16.0, 4096)
DEEPSEEK_V3 = scaling("YarnScaling", 40.0, 4096, mscale=1.0, mscale_all_dim=1.0)
GPT_OSS = scaling("YarnScaling", 32.0, 4096, truncate=False)
MSCALE_RATIO = scaling("YarnScaling", 40.0, 4096, mscale=1.0, mscale_all_dim=0.5)
GIVEN_FACTOR = scaling("YarnScaling", 8.0, 8192, attention_factor=1.25)
KIMI_K2 = scaling("YarnScaling", 32.0, 4096, beta_fast=1.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0)
LLAMA_3 = llama3(8.0, 1.0, 4.0)


def inv_freq(
    note: str, dim: int, base: float = 10000.0, scaling: Args | None = None, seq_len: int | None = None
) -> Case:
    return note, {"dim": dim, "base": base, "scaling": scaling, "seq_len": seq_len}


FREQUENCIES = [
    inv_freq("plain", 64),
    inv_freq("plain", 128, 500000.0),
    inv_freq("smallest", 2),
    inv_freq("dim 96", 96),
    inv_freq("linear 4", 128, scaling=LINEAR),
    inv_freq("ntk 4, the textbook case", 64, scaling=NTK),
    inv_freq("dynamic below original", 128, scaling=DYNAMIC, seq_len=1024),
    inv_freq("dynamic at 2x", 128, scaling=DYNAMIC, seq_len=4096),
    inv_freq("yarn, Llama-2 16x", 128, scaling=LLAMA_2),
    inv_freq("yarn, DeepSeek-V3", 64, scaling=DEEPSEEK_V3),
    inv_freq("yarn, gpt-oss", 64, 150000.0, GPT_OSS),
    inv_freq("yarn, mscale ratio", 64, scaling=MSCALE_RATIO),
    inv_freq("yarn, given factor", 64, scaling=GIVEN_FACTOR),
    inv_freq("llama3, 8B", 128, 500000.0, LLAMA_3),
    inv_freq("longrope, short", 16, scaling=LONGROPE, seq_len=4096),
    inv_freq("a base near 1", 8, 1.5),
    inv_freq("a base that is a fraction, a width that is no power of two", 26, 10000.7),
    inv_freq("a large base", 256, 1e9),
    inv_freq("linear, a factor that is no integer", 32, scaling=scaling("LinearScaling", 2.7)),
    inv_freq("linear, a factor below 1", 2, scaling=scaling("LinearScaling", 0.5)),
    inv_freq("ntk 8", 128, scaling=scaling("NTKScaling", 8.0)),
    inv_freq("ntk, HunYuan's alpha", 128, scaling=scaling("NTKScaling", 1000.0)),
    inv_freq("ntk, the narrowest", 4, scaling=NTK),
    inv_freq("dynamic, no length given: plain", 128, scaling=DYNAMIC),
    inv_freq("dynamic, just beyond", 64, scaling=DYNAMIC, seq_len=2049),
    inv_freq(
        "dynamic, factor 1 is the ratio of the lengths",
        128,
        scaling=scaling("DynamicNTKScaling", 1.0, 2048),
        seq_len=4096,
    ),
    inv_freq("yarn, Qwen2.5", 128, 1000000.0, scaling("YarnScaling", 4.0, 32768)),
    inv_freq("yarn, Kimi-K2: equal betas", 64, 50000.0, KIMI_K2),
    inv_freq("yarn, equal betas not rounded: 0.001 wide", 64, 50000.0, KIMI_K2 | {"truncate": False}),
    inv_freq(
        "yarn, equal betas: half-way through the 0.001",
        64,
        scaling=scaling(
            "YarnScaling", 4.0, 4096, beta_fast=36.664230926325544, beta_slow=36.664230926325544, truncate=False
        ),
    ),
    inv_freq("yarn, the paper's ramp, Llama-2 16x", 128, scaling=LLAMA_2 | {"ramp": "rotations"}),
    inv_freq("yarn, the paper's ramp, DeepSeek-V3", 64, scaling=DEEPSEEK_V3 | {"ramp": "rotations"}),
    inv_freq("yarn, the paper's ramp, equal betas: a step", 64, scaling=KIMI_K2 | {"ramp": "rotations"}),
    inv_freq("yarn, factor 1: plain", 64, scaling=scaling("YarnScaling", 1.0, 4096)),
    inv_freq("yarn, a factor below 1", 64, scaling=scaling("YarnScaling", 0.5, 4096)),
    inv_freq("yarn, the ramp ends beyond the last pair", 8, scaling=scaling("YarnScaling", 16.0, 100000)),
    inv_freq("yarn, the ramp starts before the first pair", 32, scaling=scaling("YarnScaling", 4.0, 64)),
    inv_freq("yarn, both ends clamped to dim - 1: plain", 8, 100.0, scaling("YarnScaling", 4.0, 1000000)),
    inv_freq("llama3, Llama-3.2", 64, 500000.0, llama3(32.0, 1.0, 4.0)),
    inv_freq("llama3, Llama-4 Scout: a step", 128, 500000.0, llama3(16.0, 1.0, 1.0)),
    inv_freq("longrope, long", 16, scaling=LONGROPE, seq_len=4097),
    inv_freq("longrope, no length given: short", 16, scaling=LONGROPE),
]

FACTORS = [
    ("linear 4", LINEAR),
    ("ntk 4, the textbook case", NTK),
    ("dynamic: none of its own", DYNAMIC),
    ("yarn, Llama-2 16x", LLAMA_2),
    ("yarn, DeepSeek-V3", DEEPSEEK_V3),
    ("yarn, gpt-oss", GPT_OSS),
    ("yarn, mscale ratio", MSCALE_RATIO),
    ("yarn, given factor", GIVEN_FACTOR),
    ("llama3, 8B", llama3(8.0, 1.0, 4.0)),
    ("longrope, short", LONGROPE),
    ("no scaling", None),
    ("yarn, factor 1", scaling("YarnScaling", 1.0, 4096)),
    ("yarn, a factor below 1", scaling("YarnScaling", 0.5, 4096, mscale=2.0, mscale_all_dim=1.0)),
    ("yarn, Qwen2.5", scaling("YarnScaling", 4.0, 32768)),
    ("yarn, DeepSeek-V2-Lite", scaling("YarnScaling", 40.0, 4096, mscale=0.707, mscale_all_dim=0.707)),
    ("yarn, mscale without mscale_all_dim does not count", scaling("YarnScaling", 40.0, 4096, mscale=0.707)),
    ("yarn, mscale_all_dim 0 does not count", scaling("YarnScaling", 40.0, 4096, mscale=0.707, mscale_all_dim=0.0)),
    ("yarn, a given factor wins over mscale", MSCALE_RATIO | {"attention_factor": 0.9}),
    ("longrope, 8192 to 131072", scaling("LongRopeScaling", 16.0, 8192, short_factor=SHORT, long_factor=LONG)),
    ("longrope, factor 1", LONGROPE | {"factor": 1.0}),
    ("longrope, a given factor wins", LONGROPE | {"attention_factor": 1.19}),
]

EXACT_TABLES = [(8, [0, 1, 2, 100]), (8, [4095, 131071, 1048575]), (64, [16777217]), (8, [0.5, 1.25, -3.75, 1234.5678])]


def table(note: str, positions: Any, dim: int = 8, scaling: Args | None = None, **others: Any) -> Case:
    given = {"positions": positions, "dim": dim, "base": 10000.0, "scaling": scaling, "seq_len": None}
    return note, given | {"attention_factor": None} | others


TABLES = [
    table("negative, and beyond float32's integers", [-1, -4097, 2**24 + 1, -(2**31) - 1]),
    table("the largest integers", [LARGEST, LARGEST - 1, -LARGEST, 10**15 + 1]),
    table("fractions that are no short binary ones", [0.1, -1e-3, 1e-9, 4095.7, -1048575.3]),
    table("floats beyond the integers", [1e16, 1e22, -3.7e18]),
    table("positions of two axes", [[0, 5, 11], [7, 2, 2]]),
    table("many pairs, a large base", [3, 131072], 64, base=500000.0),
    table("an attention factor without a scaling", [0, 9], attention_factor=0.75),
    table("linear", [0, 17, 8191], scaling=LINEAR),
    table("ntk", [0, 17, 8191], scaling=NTK),
    table("dynamic ntk at four times the length", [0, 17, 8191], scaling=DYNAMIC, seq_len=8192),
    table("dynamic ntk, nothing is read off the positions", [8191], scaling=DYNAMIC),
    table("yarn with its own factor", [0, 17, 65535], 16, LLAMA_2),
    table("yarn without a factor", [0, 17, 65535], 16, LLAMA_2, attention_factor=1.0),
    table("yarn by rotations", [17, 131071], 16, GPT_OSS | {"ramp": "rotations"}, base=150000.0),
    table("yarn, a negative factor flips the signs", [5], scaling=LLAMA_2, attention_factor=-1.5),
    table("llama3", [0, 17, 131071], 16, LLAMA_3, base=500000.0),
    table("longrope, short", [0, 17, 4095], 16, LONGROPE),
    table("longrope, long", [0, 17, 131071], 16, LONGROPE, seq_len=131072),
    *(
        table(f"an angle within 2^{distance} of a multiple of pi/2", [position], dim, base=base)
        for distance, position, base, dim in hard_cases.REAL_FREQUENCIES
    ),
]

GIVEN_FREQUENCIES = [
    ("float64 frequencies as given, not as a formula would have them", [0, 1, 131071], [1.0, 0.1, 0.01, 0.001], 1.0),
    ("learned frequencies: negative, zero, above 1", [-7, 0.5, 1048575], [-0.3, 0.0, 2.75], 1.0),
    ("an attention factor", [[3, 4], [1, LARGEST]], [0.7498942093324559, 1.1e-5], 1.3465735902799727),
    *(
        (f"an angle within 2^{distance} of a multiple of pi/2", [position], [frequency], 1.0)
        for distance, position, frequency in hard_cases.GIVEN_FREQUENCIES
    ),
]


def place(**given: Any) -> Args:
    return {"layout": "half", "output_layout": None, "offset": 0, "inverse": False} | given


def at_position(x: list[float], position: int, dim: int, layout: str) -> Case:
    args = {"x": x, "position": position, "dim": dim, "base": 10000.0, "layout": layout}
    note = "partial rotary where x is wider than dim: the first dim channels rotate"
    return note, args | {"inverse": False, "attention_factor": 1.0}


def given_tables(note: str, seed: int, x: tuple[int, ...], cos: tuple[int, ...], **others: Any) -> Case:
    tables = {"x": numbers(seed, *x), "cos": numbers(seed + 1, *cos), "sin": numbers(seed + 2, *cos)}
    return note, tables | place(**others)


ROTATIONS = [
    at_position([-2.86, 1.032, -2.057, 2.772], 1, 4, "half"),
    at_position([-0.631, 1.316, 1.98, -1.834, -2.84, -0.105, -2.681, -0.731], 7, 8, "half"),
    at_position(
        [0.093, 1.716, 0.849, -0.449, -2.972, 0.383, 1.701, 2.571, 0.653, -2.964, -0.048, -0.652], 5, 8, "half"
    ),
    at_position([-1.754, -2.958, -1.928, 2.867], 1, 4, "interleaved"),
    at_position([-1.654, 0.813, 0.033, 1.154, -1.087, 1.836, 0.612, -1.882], 7, 8, "interleaved"),
    at_position(
        [-2.848, -0.078, -0.607, 2.962, -1.095, -1.882, 0.925, 0.673, -0.451, -1.182, 2.016, -2.232],
        5,
        8,
        "interleaved",
    ),
    given_tables("cos and sin off the circle", 10, (3, 8), (3, 4)),
    given_tables("off the circle, interleaved, inverse", 20, (3, 8), (3, 4), layout="interleaved", inverse=True),
    given_tables("heads share the tables", 30, (2, 3, 6), (3, 3)),
    given_tables("a sequence shares one position", 40, (3, 6), (1, 3), layout="interleaved"),
    given_tables("offset, and channels on both sides", 50, (2, 9), (2, 2), offset=3),
    given_tables("offset, interleaved, inverse", 60, (2, 9), (2, 3), offset=1, layout="interleaved", inverse=True),
    given_tables("interleaved in, half out", 70, (2, 8), (2, 4), layout="interleaved", output_layout="half"),
    given_tables("half in, interleaved out, offset", 80, (2, 9), (2, 3), output_layout="interleaved", offset=2),
    given_tables("one pair: the layouts agree", 90, (2, 2), (2, 1), layout="interleaved"),
]


def fused(note: str, seed: int, shape: tuple[int, ...], positions: Any, **others: Any) -> Case:
    given = {"x": numbers(seed, *shape), "positions": positions, "dim": None, "base": 10000.0}
    return note, given | {"scaling": None, "seq_len": None} | place() | others


FUSED = [
    fused("half", 100, (3, 8), [0, 1, 131071]),
    fused("interleaved", 110, (3, 8), [-5, 0.25, 1048575], layout="interleaved"),
    fused("interleaved in, half out", 120, (2, 8), [3, 4095], layout="interleaved", output_layout="half"),
    fused("partial", 130, (2, 10), [3, 4095], dim=4),
    fused("the tail rotates", 140, (2, 10), [3, 4095], offset=4, layout="interleaved"),
    fused("a block in the middle, backwards", 150, (2, 10), [3, 4095], dim=4, offset=3, inverse=True),
    fused("batches at positions of their own", 160, (2, 2, 4), [[0, 1], [70, 71]]),
    fused("heads share the positions of their batch", 170, (2, 3, 2, 4), [[[0, 1]], [[70, 71]]]),
    fused("one position for the whole sequence", 180, (3, 4), [17]),
    fused("linear, backwards", 190, (2, 8), [3, 8191], scaling=LINEAR, inverse=True),
    fused("ntk", 200, (2, 8), [3, 8191], scaling=NTK, layout="interleaved"),
    fused("dynamic ntk", 210, (2, 8), [3, 8191], scaling=DYNAMIC, seq_len=8192),
    fused(
        "yarn: the factor counts, and is not undone backwards", 220, (2, 8), [3, 65535], scaling=LLAMA_2, inverse=True
    ),
    fused(
        "yarn, DeepSeek-V3: interleaved in, half out, the tail",
        230,
        (2, 20),
        [3, 65535],
        scaling=DEEPSEEK_V3,
        offset=4,
        layout="interleaved",
        output_layout="half",
    ),
    fused("llama3", 240, (2, 16), [3, 131071], base=500000.0, scaling=LLAMA_3),
    fused("longrope, long", 250, (2, 20), [3, 131071], dim=16, scaling=LONGROPE, seq_len=131072),
]
