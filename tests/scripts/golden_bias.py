"""Biases in mpmath: formulas and cases in the manner of golden_formulas and golden_cases."""

from __future__ import annotations

import math
from typing import Any

from golden_formulas import Nested, each, t5_bucket_of
from golden_rotary_cases import LARGEST, Case, numbers
from mpmath import mp, mpf

# --- ALiBi -----------------------------------------------------------------------------------------------------------


def alibi_slopes(
    num_heads: int, bias_max: float = 8.0, rule: str = "released", scale: float = 1.0, heads: Any = None
) -> list[Any]:
    """MPT's way: all powers of the next power of two, the even ones first, cut off."""
    n = num_heads if rule == "geometric" else 1
    while n < num_heads:
        n *= 2
    powers = [mpf(2) ** (-mpf(bias_max) * h / n) for h in range(1, n + 1)]
    if n != num_heads:
        powers = powers[1::2] + powers[0::2]
    first, end = heads or (0, num_heads)
    return [mpf(scale) * m for m in powers[:num_heads][first:end]]


def alibi_bias(
    slopes: list[float], q_positions: Nested, k_positions: Nested, form: str, future_slopes: Nested = None
) -> Nested:
    if isinstance(q_positions[0], list):
        rows = zip(q_positions, k_positions, strict=True)
        return [alibi_bias(slopes, q, k, form, future_slopes) for q, k in rows]

    def bias(h: int, q: Any, k: Any) -> Any:
        m, back = mpf(slopes[h]), max(mpf(q) - mpf(k), mpf(0))
        if form == "distance":
            other = mpf((future_slopes or slopes)[h])
            return -m * back if q >= k else -other * (mpf(k) - mpf(q))
        if form in ("key_last", "key_first"):
            return m * (mpf(k) - mpf(k_positions[-1] if form == "key_last" else q_positions[0]))
        return {"past": -m * back, "sqrt": -m * mp.sqrt(back)}[form]

    return [[[bias(h, q, k) for k in k_positions] for q in q_positions] for h in range(len(slopes))]


def query_positions(num_queries: int, num_keys: int, align: str) -> list[int]:
    return [i + (num_keys - num_queries if align == "bottom_right" else 0) for i in range(num_queries)]


# --- T5 --------------------------------------------------------------------------------------------------------------


def t5_bucket(relative_position: Nested, bidirectional: bool, num_buckets: int, max_distance: int, rule: str) -> Nested:
    return each(lambda r: variant(r, bidirectional, num_buckets, max_distance, rule), relative_position)


def variant(relative: int, bidirectional: bool, num_buckets: int, max_distance: int, rule: str) -> int:
    """The released codes' order of operations; floats are mpmath's with 24 bits."""
    first, n = 0, max(0, -relative)
    if bidirectional:
        num_buckets //= 2
        first, n = (num_buckets if relative > 0 else 0), abs(relative)
    exact = num_buckets // 2
    steps = num_buckets - exact
    if n < exact:
        return first + n
    if rule == "epsilon":
        ratio = mp.log(mpf(n) / exact + mpf(2) ** -23) / mp.log(mpf(max_distance) / exact)
        return first + min(exact + int(mp.floor(ratio * steps)), num_buckets - 1)
    with mp.workprec(24):
        log = mp.log(mpf(n) / exact)
        width = +mpf(math.log(max_distance / exact))
        whole = int(mp.floor(exact + log / width * steps))
    return first + min(whole, num_buckets - 1)


def t5_bias(
    table: Nested,
    q_positions: Nested,
    k_positions: Nested,
    bidirectional: bool,
    max_distance: int,
    layout: str,
    scale: float,
) -> Nested:
    heads = table if layout == "heads_first" else [list(column) for column in zip(*table, strict=True)]

    def entry(row: list[float], q: int, k: int) -> Any:
        return mpf(scale) * mpf(row[t5_bucket_of(k - q, bidirectional, len(row), max_distance)])

    return [[[entry(row, q, k) for k in k_positions] for q in q_positions] for row in heads]


def long_t5_blocks(mask: Nested, block_size: int) -> Nested:
    if isinstance(mask[0], list):
        return [long_t5_blocks(row, block_size) for row in mask]
    blocks = [mask[i : i + block_size] for i in range(0, len(mask), block_size)]
    whole = sum(len(block) == block_size and block[-1] for block in blocks)
    return [min(i // block_size, whole - 1) if real else -1 for i, real in enumerate(mask)]


# --- cases -----------------------------------------------------------------------------------------------------------


def alibi(note: str, slopes: list[float], q: Nested, k: Nested, form: str, **others: Any) -> Case:
    return note, {"slopes": slopes, "q_positions": q, "k_positions": k, "form": form} | others


def bucket(note: str, relative: list[int], both: bool, num_buckets: int, max_distance: int, rule: str) -> Case:
    sizes = {"bidirectional": both, "num_buckets": num_buckets, "max_distance": max_distance, "rule": rule}
    return note, {"relative_position": relative} | sizes


FALCON = [0.917004043204671, 0.91796875]  # head 0 of 64, and the same rounded to bfloat16
LONG = [*range(60), 1e6 + 0.25, LARGEST]
CASES: dict[str, list[Case]] = {
    "alibi_slopes": [
        ("MPT's alibi_bias_max", {"num_heads": 12, "bias_max": 16.0}),
        ("a fraction as bias_max", {"num_heads": 7, "bias_max": 5.3}),
        ("one geometric sequence for 12 heads", {"num_heads": 12, "rule": "geometric"}),
        ("one geometric sequence for 8 heads: the released rule", {"num_heads": 8, "rule": "geometric"}),
        ("Falcon, divided by sqrt(head_dim)", {"num_heads": 64, "scale": 0.125}),
        ("a scale that is rounded", {"num_heads": 71, "scale": 80**-0.5}),
        ("the second of two tensor-parallel ranks", {"num_heads": 12, "heads": [6, 12]}),
    ],
    "alibi_bias": [
        alibi("zero for keys in the future", [0.5, 0.3], [3, 0, 4], [0, 3, 5], "past"),
        alibi("a root, fractions too", [0.5, -0.3], [0.1, 7.3, 3], [-2.7, 3, 0.1], "sqrt"),
        alibi("a root of large distances", [0.7], [LARGEST], LONG, "sqrt"),
        alibi("zero at the last key", [0.5, 0.3], [3, 4], [0, 1, 2, 3, 4], "key_last"),
        alibi("zero at the first query", [0.5, 0.3], [3, 4], [0, 1, 2, 3, 4], "key_first"),
        alibi("a batch, zero at the last key", [0.3], [[5], [2]], [[0, 1, 7], [2, 0, 1]], "key_last"),
        alibi("a batch, zero at the first query", [0.3], [[0.1], [-2]], [[0.3, 1], [2, 9]], "key_first"),
        alibi("other slopes for the future", [0.5, 0.3], [3, 4], [0, 3, 9], "distance", future_slopes=[0.25, -0.1]),
        alibi("Falcon's slope, and rounded to bfloat16", FALCON, [300], [0, 43, 44, 299], "distance"),
        alibi("top left: one query is the first", [0.5], [0], [0, 1, 2], "distance"),
        alibi("bottom right: one query is the last", [0.5], [2], [0, 1, 2], "distance"),
    ],
    "query_positions": [
        ("a step of decoding", {"num_queries": 1, "num_keys": 5, "align": "bottom_right"}),
        ("more keys than queries", {"num_queries": 3, "num_keys": 7, "align": "bottom_right"}),
        ("the same, at the upper left", {"num_queries": 3, "num_keys": 7, "align": "top_left"}),
        ("fewer keys", {"num_queries": 4, "num_keys": 2, "align": "bottom_right"}),
    ],
    "t5_bucket": [
        bucket("flaxformer's distance 153", [-152, -153, -154], False, 256, 185, "epsilon"),
        bucket("the same by the formula", [-152, -153, -154], False, 256, 185, "float32_sum"),
        bucket("WavLM's sum at 1697", [-1696, -1697, -1698], False, 320, 8192, "float32_sum"),
        bucket("the same with an epsilon", [-1696, -1697, -1698], False, 320, 8192, "epsilon"),
        bucket("WavLM's own sizes", list(range(-900, 901, 13)), True, 320, 800, "float32_sum"),
        bucket("T5's own sizes", list(range(-140, 141)), True, 32, 128, "epsilon"),
    ],
    "t5_bias": [
        (
            "LayoutLMv3: a table of (heads, buckets), divided by sqrt(64)",
            {"table": numbers(320, 2, 8), "q_positions": [3, 40], "k_positions": [0, 90, 7]}
            | {"bidirectional": True, "max_distance": 64, "layout": "heads_first", "scale": 0.125},
        ),
        (
            "a square table, rows first, times sqrt(80)",
            {"table": numbers(330, 4, 4), "q_positions": [3, 4], "k_positions": [0, 3, 5]}
            | {"bidirectional": True, "max_distance": 8, "layout": "rows_first", "scale": 80**0.5},
        ),
        (
            "the same square table, not multiplied",
            {"table": numbers(330, 4, 4), "q_positions": [3, 4], "k_positions": [0, 3, 5]}
            | {"bidirectional": True, "max_distance": 8, "layout": "rows_first", "scale": 1.0},
        ),
        (
            "the same square table, heads first",
            {"table": numbers(330, 4, 4), "q_positions": [3, 4], "k_positions": [0, 3, 5]}
            | {"bidirectional": True, "max_distance": 8, "layout": "heads_first", "scale": 80**0.5},
        ),
    ],
    "long_t5_blocks": [
        ("whole blocks and a rest", {"mask": [True] * 11, "block_size": 4}),
        ("padding at the end, at the beginning", {"mask": [[True] * 7 + [False] * 3, [False] * 2 + [True] * 8], "block_size": 3}),
        ("no whole block", {"mask": [True, True, False], "block_size": 2}),
        ("shorter than a block", {"mask": [True, True, True], "block_size": 16}),
    ],
}  # fmt: skip
