"""Rotary on several axes in mpmath: formulas and cases in the manner of golden_formulas and golden_cases.

Nothing here is shared with posref. The maps are written as the code of the models has them, which is not how posref has them.
"""

from __future__ import annotations

from typing import Any

from golden_formulas import Nested, each, rope_attention_factor, rope_inv_freq
from golden_rotary_cases import LARGEST, LINEAR, Args, Case, numbers, scaling
from mpmath import mp, mpf

# --- maps ------------------------------------------------------------------------------------------------------------


def rope_axis_map(sections: list[int], rule: str, tail: int | None) -> list[int]:
    n, pairs = len(sections), sum(sections)
    if rule in ("interleaved", "interleaved_spare"):  # transformers: one axis everywhere, then slices of the others
        order = [n if rule == "interleaved_spare" else 0] * pairs
        for axis, section in enumerate(sections):
            for i in range(axis, min(n * section, pairs), n):
                order[i] = axis
        return order
    if rule == "alternating":  # vLLM: the parity decides among the spatial axes
        last = (n - 1 if tail is None else tail) % n
        spatial = [axis for axis in range(n) if axis != last]
        return [spatial[i % (n - 1)] if i < pairs - sections[last] else last for i in range(pairs)]
    if rule == "round_robin":  # sglang
        used, order = [0] * n, []
        for i in range(pairs):
            axis = i % n
            while used[axis] >= sections[axis]:
                axis = (axis + 1) % n
            used[axis] += 1
            order.append(axis)
        return order
    if rule == "balanced":
        return balanced(sections)
    edges = [sum(sections[:axis]) for axis in range(n + 1)]
    return [next(axis for axis in range(n) if edges[axis] <= i < edges[axis + 1]) for i in range(pairs)]


def balanced(sections: list[int]) -> list[int]:
    """vLLM: the last of three-axis maps is set aside for axis 0."""
    forced = [0] if len(sections) == 3 else []
    wanted = {axis: section - (axis in forced) for axis, section in enumerate(sections)}
    order: list[int] = []
    while len(order) < sum(wanted.values()):
        shares = [(mpf(order.count(axis)) / k, axis) for axis, k in wanted.items() if order.count(axis) < k]
        fresh = [share for share in shares if not order or share[1] != order[-1]]
        order.append(min(fresh or shares)[1])
    return order + forced


# --- frequencies and tables ------------------------------------------------------------------------------------------


def rope_axes_inv_freq(axis_map: list[int], base: Any, ladder: str, scaling: Any, seq_len: int | None) -> list[Any]:
    axes = max(axis_map) + 1
    if ladder == "per_axis":
        own = {}
        for axis in range(axes):
            dim = 2 * axis_map.count(axis)
            own[axis] = iter(rope_inv_freq(dim, one(base, axis), one(scaling, axis), seq_len) if dim else [])
        return [next(own[axis]) for axis in axis_map]
    whole = rope_inv_freq(2 * len(axis_map), base, scaling, seq_len)
    if ladder == "shared":
        return whole
    own = {axis: iter(whole[axis::axes]) for axis in range(axes)}
    return [next(own[axis]) for axis in axis_map]


def one(value: Any, axis: int) -> Any:
    return value[axis] if isinstance(value, list) else value


def axes_tables(positions: Nested, frequencies: list[Any], axis_map: list[int], factors: list[Any]) -> list[Nested]:
    def values(function: Any, *rows: Nested) -> Nested:  # a position per axis, nested in parallel
        if isinstance(rows[0], list):
            return [values(function, *row) for row in zip(*rows, strict=True)]
        angles = [mpf(rows[axis]) * w for axis, w in zip(axis_map, frequencies, strict=True)]
        return [factors[axis] * function(angle) for axis, angle in zip(axis_map, angles, strict=True)]

    with mp.workdps(80):  # whole turns take digits away
        return [values(mp.cos, *positions), values(mp.sin, *positions)]


def rope_axes_cos_sin(
    positions: Nested, inv_freq: list[float], axis_map: list[int], attention_factor: float
) -> list[Nested]:
    factors = [mpf(attention_factor)] * (max(axis_map) + 1)
    return axes_tables(positions, [mpf(w) for w in inv_freq], axis_map, factors)


def rope_axes_table(
    positions: Nested, axis_map: list[int], attention_factor: float | None, scaling: Any, **ladder: Any
) -> list[Nested]:
    with mp.workdps(80):
        w = rope_axes_inv_freq(axis_map, scaling=scaling, **ladder)
        factors = [rope_attention_factor(one(scaling, axis)) for axis in range(max(axis_map) + 1)]
    if attention_factor is not None:
        factors = [mpf(attention_factor)] * len(factors)
    return axes_tables(positions, w, axis_map, factors)


def rope_mixed_cos_sin(positions: Nested, frequencies: Nested) -> list[Nested]:
    """Positions (axes, sequence); frequencies (axes, pairs) or (axes, heads, pairs)."""
    if isinstance(frequencies[0][0], list):
        heads = [rope_mixed_cos_sin(positions, list(head)) for head in zip(*frequencies, strict=True)]
        return [[head[0] for head in heads], [head[1] for head in heads]]
    with mp.workdps(120):
        angles = [
            [mp.fdot(map(mpf, p), map(mpf, w)) for w in zip(*frequencies, strict=True)]
            for p in zip(*positions, strict=True)
        ]
        return [each(mp.cos, angles), each(mp.sin, angles)]


# --- what is no rotation, and grids ----------------------------------------------------------------------------------


def rope_apply_channels(x: Nested, cos: Nested, sin: Nested, layout: str, offset: int) -> Nested:
    """For x (sequence, channels), cos and sin (sequence, n)."""
    result = []
    for row, c, s in zip(x, cos, sin, strict=True):
        y, n = [mpf(v) for v in row], len(c)
        for j in range(n):
            if layout == "half":
                partner, sign = (j + n // 2, -1) if j < n // 2 else (j - n // 2, 1)
            else:
                partner, sign = (j + 1, -1) if j % 2 == 0 else (j - 1, 1)
            y[offset + j] = mpf(row[offset + j]) * mpf(c[j]) + sign * mpf(row[offset + partner]) * mpf(s[j])
        result.append(y)
    return result


def cells(sizes: list[int], block: list[int] | None) -> list[list[int]]:
    """All cells of a grid, one after the other: sorted by their block, then by themselves."""
    grid: list[list[int]] = [[]]
    for size in sizes:
        grid = [[*cell, j] for cell in grid for j in range(size)]
    return sorted(grid, key=lambda cell: [j // b for j, b in zip(cell, block or sizes, strict=True)])


def grid_positions(sizes: list[int], block: list[int] | None, start: Any) -> list[list[int]]:
    rows = zip(*cells(sizes, block), strict=True)
    return [[j + one(start, axis) for j in row] for axis, row in enumerate(rows)]


def grid_coordinates(sizes: list[int], block: list[int] | None, normalize: str) -> list[list[Any]]:
    rows = zip(*cells(sizes, block), strict=True)
    divisors = {"separate": sizes, "max": [max(sizes)] * len(sizes), "min": [min(sizes)] * len(sizes)}[normalize]
    return [[2 * (j + mpf(1) / 2) / n - 1 for j in row] for n, row in zip(divisors, rows, strict=True)]


# --- cases -----------------------------------------------------------------------------------------------------------


def mapped(note: str, sections: list[int], rule: str = "chunked", tail: int | None = None) -> Case:
    return note, {"sections": sections, "rule": rule, "tail": tail}


MAPS = [
    mapped("Qwen2-VL and Qwen2.5-VL: time, height, width", [16, 24, 24]),
    mapped("GLM-4V", [8, 12, 12]),
    mapped("Wan: two axes of 21 pairs, time has the rest", [22, 21, 21]),
    mapped("XD-RoPE in vLLM: four axes", [16, 16, 16, 16]),
    mapped("an axis without pairs", [3, 0, 2]),
    mapped("one axis", [4]),
    mapped("Qwen3-VL", [24, 20, 20], "interleaved"),
    mapped("Qwen3.5", [11, 11, 10], "interleaved"),
    mapped("sections that are not kept: 11, 11, 10 of them", [8, 12, 12], "interleaved"),
    mapped("sections that the pairs run out for", [2, 3, 3], "interleaved"),
    mapped("two axes", [3, 2], "interleaved"),
    mapped("Qwen3-VL in ggml", [24, 20, 20], "interleaved_spare"),
    mapped("axis 0 is used up, too", [2, 3, 3], "interleaved_spare"),
    mapped("GLM in sglang", [8, 12, 12], "round_robin"),
    mapped("the last ones are one axis'", [24, 20, 20], "round_robin"),
    mapped("small", [2, 3, 3], "round_robin"),
    mapped("two axes in turn: Kimi, Lumina", [8, 8], "round_robin"),
    mapped("three axes: the last pair is axis 0's", [2, 3, 3], "balanced"),
    mapped("three axes, unequal", [16, 24, 24], "balanced"),
    mapped("nothing else is left", [1, 0, 6], "balanced"),
    mapped("two axes", [5, 11], "balanced"),
    mapped("two equal axes", [4, 4], "balanced"),
    mapped("ERNIE 4.5 VL: height, width, time", [22, 22, 20], "alternating"),
    mapped("Bailing: time, height, width", [20, 22, 22], "alternating", 0),
    mapped("a tail counted from the end", [4, 2, 4], "alternating", -2),
]

MROPE, IMROPE = [0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 2, 0, 1]
QWEN2_VL = rope_axis_map([16, 24, 24], "chunked", None)
WAN = rope_axis_map([22, 21, 21], "chunked", None)


def axes_ladder(
    note: str, axis_map: list[int], ladder: str = "shared", base: Any = 10000.0, scaling: Any = None, **others: Any
) -> Case:
    given = {"axis_map": axis_map, "base": base, "ladder": ladder, "scaling": scaling, "seq_len": None}
    return note, given | others


YARN = scaling("YarnScaling", 4.0, 32768)
NTK_OF_AXES = [scaling("NTKScaling", s) for s in (2.0, 1.0, 1.5)]
LADDERS = [
    axes_ladder("one ladder, whatever the axis", QWEN2_VL, base=1000000.0),
    axes_ladder("the same for another map of as many pairs", IMROPE),
    axes_ladder("YaRN over all axes", QWEN2_VL, base=1000000.0, scaling=YARN),
    axes_ladder("dynamic NTK by length", MROPE, scaling=scaling("DynamicNTKScaling", 2.0, 64), seq_len=100),
    axes_ladder("Wan: 44, 42, 42 channels", WAN, "per_axis"),
    axes_ladder("Flux: 16, 56, 56", [0] * 8 + [1] * 28 + [2] * 28, "per_axis"),
    axes_ladder("column and row in turn: Kimi", [0, 1, 0, 1, 0, 1], "per_axis"),
    axes_ladder("a base per axis: ESMFold2", [0, 0, 1, 1, 2, 2, 3, 3, 3], "per_axis", [20.0, 20.0, 20.0, 10000.0]),
    axes_ladder("a base per axis, one too many", [0, 1, 1], "per_axis", [100.0, 300.0, 7.0]),
    axes_ladder("Cosmos: NTK with a factor and an exponent per axis", MROPE, "per_axis", scaling=NTK_OF_AXES),
    axes_ladder("Lumina: position interpolation of each axis", [0, 1, 0, 1], "per_axis", scaling=LINEAR),
    axes_ladder("scaled on one axis only", [0, 0, 1, 1], "per_axis", scaling=[None, LINEAR]),
    axes_ladder("an axis that no pair uses", [0, 0, 2, 2, 2], "per_axis", 100.0),
    axes_ladder("Pixtral, 8 channels: h 1, .01; w .1, .001", [0, 0, 1, 1], "dealt"),
    axes_ladder("three axes, one pair left over", [0, 0, 0, 1, 1, 2, 2], "dealt", 50.0),
    axes_ladder("in turn: the shared ladder", [0, 1, 0, 1, 0], "dealt"),
]

IMAGE = [[7, 7, 7, 7], [7, 7, 8, 8], [7, 8, 7, 8]]  # time, height, width of 2 by 2 patches


def axes_given(note: str, positions: Nested, inv_freq: list[float], axis_map: list[int], factor: float = 1.0) -> Case:
    given = {"positions": positions, "inv_freq": inv_freq, "axis_map": axis_map, "attention_factor": factor}
    return note, given


LADDER = [1.0, 0.31, 0.1, 0.031, 0.01, 0.0031, 0.001, 0.00031]
GIVEN = [
    axes_given("text, then an image", [[0, 1, *row] for row in IMAGE], LADDER, MROPE),
    axes_given("interleaved, with a factor", IMAGE, LADDER, IMROPE, 1.25),
    axes_given("a batch of two", [[[3, 4], [0, 9]], [[-5, 6], [0, 0]]], [1.0, 0.7, 0.003], [1, 0, 1]),
    axes_given("no axis but positions", [5, 6, 7], LADDER[:3], [2, 1, 0]),
    axes_given("normalised", [[-0.9375, 0.3], [0.1, -1e-9]], [6.283185307179586, 0.5], [0, 1]),
    axes_given("far", [[LARGEST, -(2**31)], [2**31, 1]], [1.0, 0.1], [0, 1]),
    axes_given("a frequency of 0 does not turn; a row that no pair uses", [[4], [9], [1]], [0.0, 0.3, 2.5], [0, 0, 1]),
]


def axes_table(note: str, positions: Nested, axis_map: list[int], ladder: str = "shared", **others: Any) -> Case:
    given = {"positions": positions, "axis_map": axis_map, "ladder": ladder, "base": 10000.0, "scaling": None}
    return note, given | {"seq_len": None, "attention_factor": None} | others


TABLES = [
    axes_table("Qwen2-VL's map, an image far on", [[100003, 99999], [5, 70000], [-3, 12]], MROPE, base=1000000.0),
    axes_table("interleaved", IMAGE, IMROPE, base=5000000.0),
    axes_table("axial", [[0, 0, 3, 200], [0, 1, 4, 131071]], [0, 0, 0, 1, 1, 1], "per_axis"),
    axes_table("dealt", [[0, 2], [1, 3]], [0, 0, 1, 1], "dealt"),
    axes_table("YaRN's factor comes along", IMAGE, QWEN2_VL, base=1000000.0, scaling=YARN),
    axes_table("another factor", IMAGE, QWEN2_VL, base=1000000.0, scaling=YARN, attention_factor=1.0),
    axes_table(
        "a scaling per axis, one of them with a factor", [[5], [6]], [0, 0, 1], "per_axis", scaling=[None, YARN]
    ),
    axes_table("fractions", [[[0.5, -3.75]], [[1234.5678, 1e-3]]], [1, 0, 1], "per_axis", base=[100.0, 50.0]),
]

# three axes, two tokens
MIXED = [
    ("one head", {"positions": [[0, 1], [5, -2], [0.5, 13]], "frequencies": numbers(500, 3, 4)}),
    ("two heads: Mochi", {"positions": [[0, 1], [-3.25, 7], [2.5, 0]], "frequencies": numbers(510, 3, 2, 3)}),
    ("an axis that does not move", {"positions": [[3, 4], [0, 0], [1, 2]], "frequencies": numbers(520, 3, 2)}),
    (
        "angles that cancel",
        {"positions": [[3, 30], [-1, -10], [0, 2**40]], "frequencies": [[0.1, -0.5], [0.3, -1.5], [1e-12, 0.25]]},
    ),
]


def channelwise(note: str, seed: int, n: int, layout: str, channels: int | None = None, offset: int = 0) -> Case:
    given = {"x": numbers(seed, 3, channels or n), "cos": numbers(seed + 1, 3, n), "sin": numbers(seed + 2, 3, n)}
    return note, given | {"layout": layout, "offset": offset}


CHANNELWISE = [
    channelwise("halves: XD-RoPE in transformers", 600, 8, "half"),
    channelwise("interleaved, and a rest: V-JEPA 2", 610, 6, "interleaved", 8),
    channelwise("a block in the middle", 620, 4, "half", 9, 3),
    channelwise("one pair", 630, 2, "interleaved"),
]

GRIDS: list[Case] = [
    ("rows and columns", {"sizes": [2, 3], "block": None, "start": 0}),
    ("a video", {"sizes": [2, 3, 5], "block": None, "start": 0}),
    ("Qwen2-VL: blocks that are merged", {"sizes": [2, 4, 6], "block": [1, 2, 2], "start": 0}),
    ("blocks that are not square", {"sizes": [6, 4], "block": [3, 2], "start": 0}),
    ("Llama 4 counts from 1", {"sizes": [2, 3], "block": None, "start": 1}),
    ("Qwen-Image: centred", {"sizes": [1, 5, 4], "block": None, "start": [0, -3, -2]}),
    ("one axis", {"sizes": [4], "block": [2], "start": [-1]}),
]

COORDINATES: list[Case] = [
    ("DINOv3", {"sizes": [2, 2], "block": None, "normalize": "separate"}),
    ("each axis by itself", {"sizes": [3, 7], "block": None, "normalize": "separate"}),
    ("by the longer one", {"sizes": [3, 7], "block": None, "normalize": "max"}),
    ("by the shorter one", {"sizes": [5, 3], "block": None, "normalize": "min"}),
    ("in blocks", {"sizes": [2, 6], "block": [2, 2], "normalize": "max"}),
]

CASES: dict[str, list[tuple[str, Args]]] = {
    "grid_coordinates": COORDINATES,
    "grid_positions": GRIDS,
    "rope_apply_channels": CHANNELWISE,
    "rope_axes_cos_sin": GIVEN,
    "rope_axes_inv_freq": LADDERS,
    "rope_axes_table": TABLES,
    "rope_axis_map": MAPS,
    "rope_mixed_cos_sin": MIXED,
}
