"""What depends on the content, in mpmath: formulas and cases in the manner of golden_formulas and golden_cases.

Decomposed rows as the paper's code has them, with quotients that are exact; PaTH as a product of matrices; gates as a sum for
each pair; CoPE as a sum for each pair and a straight line.
"""

from __future__ import annotations

from typing import Any

from golden_formulas import Nested, each
from golden_rotary_cases import LARGEST, Case, numbers
from mpmath import mp, mpf

# --- biases ----------------------------------------------------------------------------------------------------------


def decomposed_bias(
    q: Nested, height_table: Nested, width_table: Nested, q_size: list[int], k_size: list[int], rule: str = "exact"
) -> Nested:
    def to(x: Any) -> Any:
        """To 24 bits, where that is the rule."""
        return mpf(x) if rule == "exact" else mp.mpf(x, prec=24)

    def row(a: int, b: int, queries: int, keys: int) -> int:
        longer_k, longer_q = max(mpf(keys) / queries, mpf(1)), max(mpf(queries) / keys, mpf(1))
        apart = to(to(a * to(longer_k)) - to(b * to(longer_q)))
        tiny = mpf(10) ** -50 if rule == "exact" else 0
        return int(to(apart + to((keys - 1) * longer_q)) + tiny)

    places = [(y, x) for y in range(q_size[0]) for x in range(q_size[1])]
    keys = [(y, x) for y in range(k_size[0]) for x in range(k_size[1])]
    return [
        [
            mp.fdot(vector, height_table[row(y, v, q_size[0], k_size[0])])
            + mp.fdot(vector, width_table[row(x, u, q_size[1], k_size[1])])
            for v, u in keys
        ]
        for vector, (y, x) in zip(q, places, strict=True)
    ]


def sigmoid(t: Any) -> Any:
    return 1 / (1 + mp.exp(-t))


def bias_gate(projection: Nested, const: list[float]) -> Nested:
    def gate(p: list[float], c: float) -> Any:
        update, reset = (sigmoid(sum(map(mpf, part))) for part in (p[:4], p[4:]))
        return update * (reset * mpf(c) - 1) + 2

    return [[gate(p, c) for p in head] for head, c in zip(projection, const, strict=True)]


def reset_cls(bias: Nested, from_cls: list[float], to_cls: list[float]) -> Nested:
    return [
        [[mpf(a if i == 0 else b if j == 0 else v) for j, v in enumerate(row)] for i, row in enumerate(head)]
        for head, a, b in zip(bias, from_cls, to_cls, strict=True)
    ]


def forget_bias(log_forget: Nested, backward: Nested, num_queries: int | None) -> Nested:
    if isinstance(log_forget[0], list):
        others = backward or [None] * len(log_forget)
        return [forget_bias(f, b, num_queries) for f, b in zip(log_forget, others, strict=True)]
    n = len(log_forget)

    def between(gates: list[float], after: int, until: int) -> Any:
        return sum((mpf(gates[t]) for t in range(after + 1, until + 1)), mpf(0))

    def entry(i: int, j: int) -> Any:
        if j <= i:
            return between(log_forget, j, i)
        return -between(log_forget, i, j) if backward is None else between(backward, i, j)

    first = n - (n if num_queries is None else num_queries)
    return [[entry(i, j) for j in range(n)] for i in range(first, n)]


# --- scores ----------------------------------------------------------------------------------------------------------


def cope_scores(
    q: Nested, k: Nested, table: Nested, mask: Nested, scale: float | None, scale_positions: bool
) -> Nested:
    s = 1 / mp.sqrt(len(q[0])) if scale is None else mpf(scale)
    result = []
    for i, x in enumerate(q):
        content = [mp.fdot(x, y) for y in k]
        gates = [sigmoid(s * c) if mask is None or mask[i][j] else mpf(0) for j, c in enumerate(content)]
        heights = [mp.fdot(x, row) for row in table]
        row = []
        for j, c in enumerate(content):
            p = min(sum(gates[j:], mpf(0)), mpf(len(table) - 1))
            low, high = int(mp.floor(p)), int(mp.ceil(p))
            z = heights[low] if low == high else (high - p) * heights[low] + (p - low) * heights[high]
            row.append(s * (c + z) if scale_positions else s * c + z)
        result.append(row)
    return result


def untied_scores(q: Nested, k: Nested, pos_q: Nested, pos_k: Nested, scale: float | None) -> Nested:
    if isinstance(q[0][0], list):  # heads
        heads = zip(q, k, pos_q or [None] * len(q), pos_k or [None] * len(q), strict=True)
        return [untied_scores(*head, scale) for head in heads]
    s = 1 / mp.sqrt(2 * len(q[0])) if scale is None else mpf(scale)
    placed = pos_q is not None

    def score(i: int, j: int) -> Any:
        return s * mp.fdot(q[i], k[j]) + (s * mp.fdot(pos_q[i], pos_k[j]) if placed else 0)

    return [[score(i, j) for j in range(len(k))] for i in range(len(q))]


def path_scores(
    q: Nested, k: Nested, w: Nested, beta: list[float], log_forget: list[float] | None, gate: str, scale: float | None
) -> Nested:
    n, d = len(q), len(q[0])
    s = 1 / mp.sqrt(d) if scale is None else mpf(scale)
    steps = []
    for direction, strength in zip(w, beta, strict=True):
        column = mp.matrix(direction)
        steps.append(mp.eye(d) - mpf(strength) * column * column.T)

    def score(i: int, j: int) -> Any:
        if j > i:
            return mpf(0)
        key = mp.matrix(k[j])
        for step in steps[j + 1 : i + 1]:
            key = step * key
        product = (mp.matrix(q[i]).T * key)[0]
        added = mpf(0) if log_forget is None else sum((mpf(g) for g in log_forget[j + 1 : i + 1]), mpf(0))
        return s * (product + added) if gate == "scaled" else s * product + added

    return [[score(i, j) for j in range(n)] for i in range(n)]


def inkling_scale(positions: Nested, length: int, alpha: float) -> Nested:
    return each(lambda m: 1 + mpf(alpha) * mp.log(max((mpf(m) + 1) / length, mpf(1))), positions)


# --- cases -----------------------------------------------------------------------------------------------------------

AROUND = [0, 1, 4094, 4095, 4096, 8191, 131071, LARGEST]


def decomposed(note: str, seed: int, q_size: list[int], k_size: list[int], **rule: str) -> Case:
    heights, widths = (2 * max(q_size[n], k_size[n]) - 1 for n in (0, 1))
    tables = {"height_table": numbers(seed + 1, heights, 3), "width_table": numbers(seed + 2, widths, 3)}
    return note, {"q": numbers(seed, q_size[0] * q_size[1], 3)} | tables | {"q_size": q_size, "k_size": k_size} | rule


def gated(note: str, seed: int, heads: int, q: int, const: list[float]) -> Case:
    return note, {"projection": numbers(seed, heads, q, 8), "const": const}


def reset(note: str, seed: int, heads: int, q: int, k: int, times: int = 1) -> Case:
    own = {"from_cls": numbers(seed + 1, heads), "to_cls": numbers(seed + 2, heads)}
    numbers_of = {name: [times * x for x in values] for name, values in own.items()}
    return note, {"bias": numbers(seed, heads, q, k)} | numbers_of


def logarithms(seed: int, *shape: int) -> Nested:
    return each(lambda g: round(-abs(g), 3), numbers(seed, *shape))


def forget(note: str, log_forget: Nested, backward: Nested = None, num_queries: int | None = None) -> Case:
    return note, {"log_forget": log_forget, "backward": backward, "num_queries": num_queries}


def cope(note: str, seed: int, q: int, k: int, rows: int, causal: bool = True, **others: Any) -> Case:
    mask = [[j <= i + k - q for j in range(k)] for i in range(q)] if causal else None
    given = {"q": numbers(seed, q, 3), "k": numbers(seed + 1, k, 3), "table": numbers(seed + 2, rows, 3), "mask": mask}
    return note, given | {"scale": None, "scale_positions": True} | others


def path(note: str, seed: int, n: int, **others: Any) -> Case:
    vectors = {name: numbers(seed + m, n, 3) for m, name in enumerate("qk")}
    directions = [[0.6, 0.8, 0.0], [0.0, -0.6, 0.8], [0.48, 0.6, -0.64], [0.8, 0.0, 0.6]][:n]
    gates = {"w": directions, "beta": [1.0, 0.5, 2.0, 1.375][:n]}
    return note, vectors | gates | {"log_forget": None, "gate": "plain", "scale": None} | others


def untied(note: str, seed: int, q: list[int], k: list[int], placed: bool = True, scale: float | None = None) -> Case:
    """Of the given shapes; with heads, positions for each."""
    positions = (
        {"pos_q": numbers(seed + 2, *q), "pos_k": numbers(seed + 3, *k)} if placed else {"pos_q": None, "pos_k": None}
    )
    return note, {"q": numbers(seed, *q), "k": numbers(seed + 1, *k)} | positions | {"scale": scale}


def inkling(note: str, positions: Nested, length: int, alpha: float = 0.1) -> Case:
    return note, {"positions": positions, "length": length, "alpha": alpha}


CASES: dict[str, list[Case]] = {
    "decomposed_bias": [
        decomposed("a grid that is not square", 1200, [2, 3], [2, 3]),
        decomposed("keys pooled by 2 and by 3", 1210, [2, 3], [1, 1]),
        decomposed("queries pooled", 1220, [1, 1], [2, 3]),
        decomposed("sizes that are no multiples", 1230, [2, 2], [1, 3]),
        decomposed("8 queries and 6 keys by the formula", 1235, [8, 3], [6, 3]),
        decomposed("and in float32, the same numbers", 1235, [8, 3], [6, 3], rule="float32"),
    ],
    "bias_gate": [
        gated("two heads", 1240, 2, 3, [1.0, 0.3]),
        gated("as at the start", 1250, 1, 2, [1.0]),
        gated("a negative number", 1260, 1, 2, [-2.5]),
    ],
    "reset_cls": [
        reset("two heads", 1270, 2, 3, 4),
        reset("two heads, each term reset with the same numbers: the model sees twice of them", 1270, 2, 3, 4, times=2),
        reset("the class token alone", 1280, 2, 1, 1),
    ],
    "forget_bias": [
        forget("a few tokens", [-0.1053605156578263, -0.2231435513142097, -0.6931471805599453]),
        forget("heads, the last two queries", logarithms(1290, 2, 5), num_queries=2),
        forget("both directions", logarithms(1300, 2, 4), logarithms(1301, 2, 4)),
        forget("sums that cancel in floating numbers", [-1e16, -0.1, -0.2, -0.3]),
    ],
    "cope_scores": [
        cope("causal", 1310, 3, 4, 5),
        cope("the positions' logits unscaled, the same numbers", 1310, 3, 4, 5, scale_positions=False),
        cope("every gate counts, the same numbers", 1310, 3, 4, 5, causal=False),
        cope("more counted than there are rows", 1320, 2, 6, 2),
        cope("a scale of its own", 1330, 2, 3, 4, scale=1.0),
    ],
    "path_scores": [
        path("no gate", 1340, 4),
        path("a forget gate", 1340, 4, log_forget=[-0.5, -0.25, -1.5, -0.1]),
        path(
            "a forget gate that is scaled, the same numbers",
            1340,
            4,
            log_forget=[-0.5, -0.25, -1.5, -0.1],
            gate="scaled",
        ),
        path("a scale of its own", 1350, 3, scale=1.0),
    ],
    "untied_scores": [
        untied("two heads, more keys than queries", 1360, [2, 3, 4], [2, 4, 4]),
        untied("content alone, the same numbers", 1360, [2, 3, 4], [2, 4, 4], placed=False),
        untied("a scale of its own", 1370, [2, 3], [3, 3], scale=1.0),
        untied("one channel", 1380, [1, 1], [5, 1]),
    ],
    "inkling_scale": [
        inkling("around the length", AROUND, 4096),
        inkling("another strength, two axes", [[1, 2], [700, 9]], 3, 0.25),
        inkling("fractions", [0.1, 1.999, 2.001, 1e6 + 0.3], 3),
    ],
}
