"""Biases of windows in mpmath: formulas and cases in the manner of golden_formulas and golden_cases."""

from __future__ import annotations

from itertools import product
from typing import Any

from golden_formulas import Nested, each
from golden_rotary_cases import Case, numbers
from mpmath import mp, mpf


def relative_position_index(
    sizes: list[int], offset: str, stride: int, reach: list[int] | None, class_token: bool
) -> Nested:
    """All offsets that the table has, listed; a pair's row is the place of its offset in the list."""
    largest = reach or [n - 1 for n in sizes]
    low = [0 if offset == "absolute" else -r for r in largest]
    table = list(product(*(range(a, r + 1) for a, r in zip(low, largest, strict=True))))
    keys, queries = (list(product(*(range(0, n, step) for n in sizes))) for step in (1, stride))

    def row(q: tuple[int, ...], k: tuple[int, ...]) -> int:
        d = [a - b for a, b in zip(q, k, strict=True)]
        if offset != "query_minus_key":
            d = [-x if offset == "key_minus_query" else abs(x) for x in d]
        return table.index(tuple(d)) if tuple(d) in table else -1

    index = [[row(q, k) for k in keys] for q in queries]
    if not class_token:
        return index
    n = len(table)
    return [[n + 2] + [n] * len(keys)] + [[n + 1, *line] for line in index]


def indexed_bias(table: Nested, index: Nested, layout: str) -> Nested:
    if isinstance(index[0][0], list):
        return [indexed_bias(table, part, layout) for part in index]
    heads = table if layout == "heads_first" else [list(column) for column in zip(*table, strict=True)]
    return [[[mpf(0) if i < 0 else mpf(row[i]) for i in line] for line in index] for row in heads]


def log_offset(relative_position: Nested, extent: Any) -> Nested:
    if isinstance(extent, list):  # one per row
        return [log_offset(row, e[0]) for row, e in zip(relative_position, extent, strict=True)]

    def scaled(d: float) -> Any:
        size = mp.log1p(abs(mpf(d))) if extent is None else mp.log(1 + 8 * abs(mpf(d)) / mpf(extent), 8)
        return mp.sign(mpf(d)) * size

    return each(scaled, relative_position)


def cosine_scale(log_scale: Nested, largest: float) -> Nested:
    return each(lambda s: min(mp.exp(mpf(s)), mpf(largest)), log_scale)


def position_mlp(
    features: Nested,
    w1: Nested,
    b1: Nested,
    w2: Nested,
    b2: Nested,
    activation: str,
    ceiling: float | None,
    norm_weight: Nested = None,
    norm_bias: Nested = None,
    norm_eps: float = 1e-5,
) -> Nested:
    def logistic(x: Any) -> Any:
        return 1 / (1 + mp.exp(-x))

    phi = {"relu": lambda x: max(x, mpf(0)), "silu": lambda x: x * logistic(x), "identity": lambda x: x}[activation]

    def perceptron(x: list[float]) -> list[Any]:
        hidden = [mp.fdot(row, x) + mpf(b) for row, b in zip(w1, b1, strict=True)]
        if norm_weight is not None:
            mean = sum(hidden) / len(hidden)
            spread = mp.sqrt(sum((z - mean) ** 2 for z in hidden) / len(hidden) + mpf(norm_eps))
            shifts = norm_bias or [0.0] * len(hidden)
            hidden = [g * (z - mean) / spread + b for z, g, b in zip(hidden, norm_weight, shifts, strict=True)]
        hidden = [phi(z) for z in hidden]
        out = [mp.fdot(row, hidden) + mpf(b) for row, b in zip(w2, b2 or [0.0] * len(w2), strict=True)]
        return out if ceiling is None else [mpf(ceiling) * logistic(y) for y in out]

    return [perceptron(x) for x in features]


# --- cases -----------------------------------------------------------------------------------------------------------


def window(note: str, *sizes: int, **others: Any) -> Case:
    given: dict[str, Any] = {"sizes": list(sizes), "offset": "query_minus_key", "stride": 1, "reach": None}
    return note, given | {"class_token": False} | others


def mlp(note: str, seed: int, features: int, hidden: int, heads: int, **others: Any) -> Case:
    arrays = {"features": numbers(seed, 4, features), "w1": numbers(seed + 1, hidden, features)}
    arrays |= {"b1": numbers(seed + 2, hidden), "w2": numbers(seed + 3, heads, hidden)}
    return note, arrays | {"b2": None, "activation": "relu", "ceiling": None} | others


INDEX = [[4, 0, 2], [-1, 5, 2]]
CASES: dict[str, list[Case]] = {
    "relative_position_index": [
        window("Swin, a square", 2, 2),
        window("Swin, not a square", 2, 3),
        window("MaxViT: the mirrored table", 2, 3, offset="key_minus_query"),
        window("LeViT: without the sign", 2, 3, offset="absolute"),
        window("LeViT's subsampling", 4, 3, offset="absolute", stride=2),
        window("BEiT: three more rows for the class token", 2, 3, class_token=True),
        window("Video Swin", 2, 2, 3),
        window("a table that reaches less far", 3, 4, reach=[1, 2], offset="key_minus_query"),
        window("a table that reaches further", 2, 2, reach=[2, 3]),
    ],
    "indexed_bias": [
        ("a table of rows", {"table": numbers(700, 6, 2), "index": INDEX, "layout": "rows_first"}),
        ("a table of heads", {"table": numbers(700, 2, 6), "index": INDEX, "layout": "heads_first"}),
        ("a batch", {"table": numbers(710, 6, 3), "index": [INDEX, INDEX[::-1]], "layout": "rows_first"}),
    ],
    "log_offset": [
        ("the paper's", {"relative_position": [[-7, -1, 0, 1], [2, 3, 511, 2**53]], "extent": None}),
        ("fractions", {"relative_position": [0.1, -2.75, 1e-9], "extent": None}),
        ("the code's, a window of 8", {"relative_position": list(range(-7, 8)), "extent": 7}),
        ("a window of 8 in the paper's logarithm", {"relative_position": list(range(-7, 8)), "extent": None}),
        ("the code's, 16 after 8", {"relative_position": [-15, -8, -1, 0, 1, 15], "extent": 7}),
        ("an extent per axis", {"relative_position": [[-2, 1], [-2, 1]], "extent": [[2], [6.5]]}),
    ],
    "cosine_scale": [
        ("below, at and above", {"log_scale": [[-2.5], [0.1], [4.605], [4.606], [800.0]], "largest": 100.0}),
        ("another end", {"log_scale": [0.5, 1.2], "largest": 3.1}),
    ],
    "position_mlp": [
        mlp("Swin v2", 720, 2, 5, 3, ceiling=16.0),
        mlp("FIRE", 730, 1, 4, 2, b2=numbers(734, 2)),
        mlp("x-transformers, depth 1", 740, 1, 4, 2, b2=numbers(744, 2), activation="silu"),
        mlp("CrossFormer: a LayerNorm", 760, 2, 5, 3, norm_weight=numbers(764, 5), norm_bias=numbers(765, 5)),
        mlp("a LayerNorm without a bias", 770, 2, 3, 2, norm_weight=numbers(774, 3), norm_eps=0.01),
        mlp("a linear layer", 750, 3, 2, 1, activation="identity"),
    ],
}
