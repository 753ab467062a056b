"""Relative attention in mpmath: formulas and cases in the manner of golden_formulas and golden_cases.

Shifts are the released codes' own: a buffer that is padded, cut and read again with other rows.
"""

from __future__ import annotations

from typing import Any

from golden_formulas import Nested, each
from golden_rotary_cases import Case, numbers
from mpmath import mp, mpf

# --- rows ------------------------------------------------------------------------------------------------------------


def relative_index(relative_position: Nested, left: int, right: int, outside: str) -> Nested:
    rows = {r: n for n, r in enumerate(range(-left, right + 1))}

    def row(r: int) -> int:
        return rows.get(r, -1) if outside == "none" else rows[min(max(r, -left), right)]

    return each(row, relative_position)


def relative_shift(x: Nested, num_keys: int, rule: str, outside: str, stride: int = 1) -> Nested:
    q, columns = len(x), len(x[0])
    if rule == "transformer-xl":
        buffer = [value for row in x for value in [0.0, *row]][q:]
        width, first = columns, q - 1
    elif rule == "xlnet":
        buffer = [value for row in x for value in row][stride * q :]
        width, first = columns - stride, stride * q
    else:
        buffer = [value for row in x for value in row + [0.0] * (num_keys + 1 - columns)]
        width, first = num_keys, 0
    rows = [[mpf(v) for v in buffer[i * width : i * width + num_keys]] for i in range(q)]
    if outside == "zero":
        rows = [
            [v if 0 <= j - stride * i + first < columns else mpf(0) for j, v in enumerate(row)]
            for i, row in enumerate(rows)
        ]
    return rows


# --- products --------------------------------------------------------------------------------------------------------


def row_of(table: Nested, n: int) -> list[Any]:
    return [mpf(0)] * len(table[0]) if n < 0 else [mpf(t) for t in table[n]]


def relative_bias(x: Nested, table: Nested, index: Nested, side: str) -> Nested:
    if isinstance(x[0][0], list):  # heads, each with a table of its own
        return [relative_bias(a, t, index, side) for a, t in zip(x, table, strict=True)]
    return [
        [mp.fdot(x[i if side == "query" else j], row_of(table, n)) for j, n in enumerate(row)]
        for i, row in enumerate(index)
    ]


def relative_values(weights: Nested, table: Nested, index: Nested) -> Nested:
    return [
        [mp.fdot(w, column) for column in zip(*(row_of(table, n) for n in ns), strict=True)]
        for w, ns in zip(weights, index, strict=True)
    ]


def relative_scores(
    q: Nested,
    k: Nested,
    table: Nested,
    index: Nested,
    content_bias: Nested,
    position_bias: Nested,
    key_term: bool,
    scale: float | None,
) -> Nested:
    if isinstance(q[0][0], list):
        heads = zip(q, k, content_bias, position_bias, strict=True)
        return [relative_scores(a, b, table, index, u, v, key_term, scale) for a, b, u, v in heads]
    d = len(q[0])
    factor = 1 / mp.sqrt(d) if scale is None else mpf(scale)
    u, v = ([mpf(0)] * d if bias is None else [mpf(b) for b in bias] for bias in (content_bias, position_bias))

    def score(x: list[Any], y: list[Any], t: list[Any]) -> Any:
        channels = zip(x, y, t, u, v, strict=True)
        return factor * sum(
            (mpf(a) + e) * b + (mpf(a) + f) * c + (b * c if key_term else 0) for a, b, c, e, f in channels
        )

    return [
        [score(x, [mpf(b) for b in k[j]], row_of(table, n)) for j, n in enumerate(index[i])] for i, x in enumerate(q)
    ]


# --- cases -----------------------------------------------------------------------------------------------------------

NEAR = [-9, -3, -2, -1, 0, 1, 2, 3, 9]


def rows(note: str, relative: Nested, left: int, right: int, outside: str = "clip") -> Case:
    return note, {"relative_position": relative, "left": left, "right": right, "outside": outside}


def shift(
    note: str,
    seed: int,
    q: int,
    columns: int,
    keys: int,
    rule: str = "transformer-xl",
    outside: str = "next-row",
    **stride: int,
) -> Case:
    return note, {"x": numbers(seed, q, columns), "num_keys": keys, "rule": rule, "outside": outside} | stride


def index_of(q: int, k: int, left: int, right: int, *, sign: int = 1, outside: str = "clip") -> Nested:
    """Rows for k - q (sign 1) or q - k (-1), queries and keys both from 0."""
    return relative_index([[sign * (j - i) for j in range(k)] for i in range(q)], left, right, outside)


def bias(note: str, seed: int, index: Nested, rows: int, width: int = 4, side: str = "query") -> Case:
    n = len(index if side == "query" else index[0])
    return note, {"x": numbers(seed, n, width), "table": numbers(seed + 1, rows, width), "index": index, "side": side}


def values(note: str, seed: int, index: Nested, rows: int) -> Case:
    weights = numbers(seed, len(index), len(index[0]))
    return note, {"weights": weights, "table": numbers(seed + 1, rows, 3), "index": index}


def scores(note: str, seed: int, index: Nested, rows: int, width: int = 4, **others: Any) -> Case:
    given: dict[str, Any] = {
        "q": numbers(seed, len(index), width),
        "k": numbers(seed + 1, len(index[0]), width),
        "table": numbers(seed + 2, rows, width),
        "index": index,
        "content_bias": None,
        "position_bias": None,
        "key_term": False,
        "scale": None,
    }
    return note, given | others


def heads(note: str, seed: int, index: Nested, rows: int, width: int = 4) -> Case:
    """Two heads, each with its u and v."""
    given = scores(note, seed, index, rows, width)[1]
    per_head = {
        "q": numbers(seed + 3, 2, len(index), width),
        "k": numbers(seed + 4, 2, len(index[0]), width),
        "content_bias": numbers(seed + 5, 2, width),
        "position_bias": numbers(seed + 6, 2, width),
    }
    return note, given | per_head


CASES: dict[str, list[Case]] = {
    "relative_index": [
        rows("Shaw: both ends alike", NEAR, 3, 3),
        rows("SpeechT5, DeBERTa: one row less on the right", NEAR, 3, 2),
        rows("Wav2Vec2-BERT: each end its own", [-100, -65, -64, 0, 8, 9, 2**53], 64, 8),
        rows("Inkling: no row beyond", NEAR, 0, 3, "none"),
        rows("Inkling's numbers, clipped", NEAR, 0, 3),
        rows("all the past", [[0, -1, -5], [-6, 1, -7]], 6, 0),
    ],
    "relative_shift": [
        shift("Transformer-XL: what is left in the future is the next query's", 900, 3, 5, 5),
        shift("Transformer-XL, a key less", 900, 3, 5, 4),
        shift("Transformer-XL, masked", 900, 3, 5, 5, outside="zero"),
        shift("Conformer: twice the length less one", 910, 4, 7, 4),
        shift("ESPnet's first Conformers: the length", 910, 4, 4, 4),
        shift("XLNet: queries and keys", 920, 3, 8, 5, "xlnet"),
        shift("XLNet on Transformer-XL's numbers", 900, 3, 5, 4, "xlnet"),
        shift("Funnel: two queries of four keys", 925, 2, 8, 4, "xlnet", stride=2),
        shift("Funnel, masked, on Transformer-XL's numbers", 900, 3, 5, 3, "xlnet", outside="zero", stride=2),
        shift("Gemma 3n: a block of 3 with 4 distances", 930, 3, 4, 6, "gemma-3n"),
        shift("one query", 940, 1, 4, 4),
        shift("more queries than keys", 950, 5, 3, 3),
    ],
    "relative_bias": [
        bias("keys less queries", 1000, index_of(3, 5, 2, 2), 5),
        bias("queries less keys, the same numbers", 1000, index_of(3, 5, 2, 2, sign=-1), 5),
        bias("the product of the keys", 1000, index_of(4, 4, 2, 2), 5, side="key"),
        bias("no row beyond", 1010, index_of(3, 5, 1, 2, outside="none"), 4),
    ],
    "relative_values": [
        values("values", 1020, index_of(3, 5, 2, 2), 5),
        values("no row beyond", 1030, index_of(3, 5, 1, 2, outside="none"), 4),
    ],
    "relative_scores": [
        scores("Shaw", 1040, index_of(3, 5, 2, 2), 5),
        scores("clipped one earlier on the right, the same numbers", 1040, index_of(3, 5, 2, 1), 4),
        heads("Transformer-XL", 1050, index_of(3, 5, 4, 2), 7),
        scores("relative_key_query", 1060, index_of(3, 5, 4, 2, sign=-1), 7, key_term=True),
        scores("a scale of its own", 1070, index_of(2, 3, 1, 1), 3, scale=1.0),
    ],
}
