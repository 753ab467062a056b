"""Remapped distances, scores, xPos, FoPE, PoPE, packing, permuted weights and linear attention in mpmath.

Formulas and cases in the manner of golden_formulas and golden_cases: the maps as the released code has them, by the positions
that it rotates queries and keys to; the scores in complex numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from golden_formulas import Nested, Record, channels, each, geometric
from golden_rotary_cases import Case, numbers
from mpmath import mp, mpf

# --- maps ------------------------------------------------------------------------------------------------------------


def table(q_positions: Nested, k_positions: Nested, distance: Callable[[int, int], Any]) -> Nested:
    if isinstance(q_positions[0], list):
        return [table(q, k, distance) for q, k in zip(q_positions, k_positions, strict=True)]
    return [[mpf(distance(m, n)) for n in k_positions] for m in q_positions]


def rerope_distance(q_positions: Nested, k_positions: Nested, window: int, factor: float | None) -> Nested:
    def distance(m: int, n: int) -> Any:
        if m - n < window:
            return m - n
        if factor is None:  # the query at the window, the key at 0
            return window - 0
        s = mpf(factor)  # both in steps of 1/s, the query offset so that the two forms meet at the window
        return (m + window * (s - 1)) / s - n / s

    return table(q_positions, k_positions, distance)


def self_extend_distance(q_positions: Nested, k_positions: Nested, group_size: int, window: int, shift: str) -> Nested:
    def distance(m: int, n: int) -> Any:
        if m - n < window:
            return m - n
        back = mpf(window) / group_size if shift == "exact" else window // group_size
        group_query_position, group_key_position = m // group_size + window - back, n // group_size
        return group_query_position - group_key_position

    return table(q_positions, k_positions, distance)


def dual_chunk_distance(
    q_positions: Nested, k_positions: Nested, chunk_size: int, local_size: int, critical: bool
) -> Nested:
    length = chunk_size - local_size
    q_t = range(length)  # positions within a chunk; qc_t: those of queries that look at the chunk before
    qc_t = [t + length if critical else min(t + length, chunk_size) for t in q_t]
    inter_t = [t + chunk_size if critical else qc_t[-1] for t in q_t]

    def distance(m: int, n: int) -> int:
        chunks_back = m // length - n // length
        if chunks_back <= 0:
            return m - n
        return (qc_t if chunks_back == 1 else inter_t)[m % length] - n % length

    return table(q_positions, k_positions, distance)


# --- scores ----------------------------------------------------------------------------------------------------------


def rope_scores(q: Nested, k: Nested, distances: Nested, inv_freq: list[float], layout: str) -> Nested:
    if isinstance(q[0][0], list):
        return [rope_scores(a, b, distances, inv_freq, layout) for a, b in zip(q, k, strict=True)]
    places = channels(layout, len(inv_freq), 0)

    def score(x: list[float], y: list[float], d: float) -> Any:
        turned = [mp.mpc(x[i], x[j]) * mp.expj(mpf(d) * mpf(w)) for (i, j), w in zip(places, inv_freq, strict=True)]
        pairs = sum((z.conjugate() * mp.mpc(y[i], y[j])).real for z, (i, j) in zip(turned, places, strict=True))
        return pairs + mp.fdot(x[2 * len(places) :], y[2 * len(places) :])

    return [[score(x, y, distances[m][n]) for n, y in enumerate(k)] for m, x in enumerate(q)]


def xpos_scale(positions: Nested, dim: int, centre: float | str, length: int | None, scale_base: float) -> Nested:
    if centre == "ceil":  # torchscale's min_pos = -length // 2
        middle = mpf(-(-int(length or 0) // 2))
    else:
        middle = mpf(int(length or 0) // 2 if isinstance(centre, str) else centre)
    zeta = [(2 * i + mpf("0.4") * dim) / (mpf("1.4") * dim) for i in range(dim // 2)]
    return each(lambda p: [z ** ((mpf(p) - middle) / mpf(scale_base)) for z in zeta], positions)


# --- FoPE and PoPE ---------------------------------------------------------------------------------------------------


def fope_cos_sin(
    positions: Nested, inv_freq: list[float], cos_coef: Nested, sin_coef: Nested, pairs: int, pad_sin: float
) -> list[Nested]:
    def mixed(wave: Callable[[Any], Any], coef: Nested, padding: float) -> Nested:
        if isinstance(coef[0][0], list):  # a matrix per head
            return [mixed(wave, head, padding) for head in coef]

        def row(p: float) -> list[Any]:
            waves = [wave(mpf(p) * mpf(w)) for w in inv_freq]
            columns = [mp.fdot(waves, column) for column in zip(*coef, strict=True)]
            return columns + [mpf(padding)] * (pairs - len(columns))

        return each(row, positions)

    return [mixed(mp.cos, cos_coef, 1.0), mixed(mp.sin, sin_coef, pad_sin)]


def pope_apply(x: Nested, positions: list[float], base: float, bias: list[float] | None) -> Nested:
    frequencies = geometric(base, len(x[0]), len(x[0]))
    delta = [min(max(mpf(b), -2 * mp.pi), mpf(0)) for b in bias or [0.0] * len(x[0])]
    rows = []
    for row, p in zip(x, positions, strict=True):
        lengths = [mp.log(1 + mp.exp(mpf(v))) for v in row]
        angles = [mpf(p) * w + b for w, b in zip(frequencies, delta, strict=True)]
        rows.append([f(a) * n for f in (mp.cos, mp.sin) for a, n in zip(angles, lengths, strict=True)])
    return rows


# --- weights, packing, linear attention ------------------------------------------------------------------------------


def rope_permute_weight(weight: Nested, num_heads: int, to: str, rotary_dim: int | None, offset: int) -> Nested:
    height = len(weight) // num_heads
    pairs = (height - offset if rotary_dim is None else rotary_dim) // 2
    came, goes = (channels(layout, pairs, offset) for layout in (("interleaved", "half")[:: 1 if to == "half" else -1]))
    result = [each(mpf, row) for row in weight]
    for head in range(num_heads):
        for sources, targets in zip(came, goes, strict=True):
            for source, target in zip(sources, targets, strict=True):
                result[head * height + target] = each(mpf, weight[head * height + source])
    return result


def cu_seqlens_positions(cu_seqlens: list[int], starts: list[int] | None = None) -> list[int]:
    firsts = starts or [0] * len(cu_seqlens)
    return [
        first + t for (a, b), first in zip(itertools.pairwise(cu_seqlens), firsts, strict=False) for t in range(b - a)
    ]


def linear_attention(
    q: Nested, k: Nested, v: Nested, rotation: Record | None, layout: str, feature: str, mask: Nested
) -> Nested:
    def phi(x: float) -> Any:
        if feature == "identity":
            return mpf(x)
        return mpf(x) + 1 if x > 0 else mp.exp(mpf(x))

    features_q, features_k = each(phi, q), each(phi, k)
    rotation = rotation or {"q_positions": [0] * len(q), "k_positions": [0] * len(k), "inv_freq": [0.0]}
    distances = [[mpf(m) - mpf(n) for n in rotation["k_positions"]] for m in rotation["q_positions"]]
    weights = rope_scores(features_q, features_k, distances, rotation["inv_freq"], layout)
    rows = []
    for m, x in enumerate(features_q):
        seen = [n for n in range(len(k)) if mask is None or mask[m][n]]
        total = sum((mp.fdot(x, features_k[n]) for n in seen), mpf(0))
        rows.append(
            [sum((weights[m][n] * mpf(v[n][c]) for n in seen), mpf(0)) / (total or 1) for c in range(len(v[0]))]
        )
    return rows


# --- cases -----------------------------------------------------------------------------------------------------------

Q, K = [0, 5, 7, 8, 13, 20, 31, 2**53], [0, 1, 2, 5, 7, 12, 13, 31]


def rerope(note: str, window: int, factor: float | None = None, q: Nested = Q, k: Nested = K) -> Case:
    return note, {"q_positions": q, "k_positions": k, "window": window, "factor": factor}


def self_extend(note: str, group: int, window: int, shift: str = "exact", q: Nested = Q, k: Nested = K) -> Case:
    return note, {"q_positions": q, "k_positions": k, "group_size": group, "window": window, "shift": shift}


def dual_chunk(note: str, chunk: int, local: int, critical: bool = False, q: Nested = Q, k: Nested = K) -> Case:
    sizes = {"chunk_size": chunk, "local_size": local, "critical": critical}
    return note, {"q_positions": q, "k_positions": k} | sizes


BATCH: Record = {"q": [[20, 21], [3, 90]], "k": [[0, 1, 25], [50, 60, 88]]}


def scores(note: str, seed: int, distances: Nested, width: int, pairs: int, layout: str = "half") -> Case:
    q, k = numbers(seed, len(distances), width), numbers(seed + 1, len(distances[0]), width)
    frequencies = [0.7498942093324559 ** (4 * i) for i in range(pairs)]
    return note, {"q": q, "k": k, "distances": distances, "inv_freq": frequencies, "layout": layout}


def xpos(note: str, positions: Nested, dim: int, centre: float | str, length: int | None, base: float = 512.0) -> Case:
    return note, {"positions": positions, "dim": dim, "centre": centre, "length": length, "scale_base": base}


def fope(note: str, seed: int, positions: Nested, shape: tuple[int, ...], pairs: int, pad_sin: float = 1.0) -> Case:
    coefficients = {"cos_coef": numbers(seed, *shape), "sin_coef": numbers(seed + 1, *shape)}
    frequencies = [1.0, 0.1, 0.01, 0.001][: shape[-2]]
    return note, {"positions": positions, "inv_freq": frequencies} | coefficients | {"pairs": pairs, "pad_sin": pad_sin}


def pope(note: str, seed: int, positions: list[float], width: int, **others: Any) -> Case:
    given = {"x": numbers(seed, len(positions), width), "positions": positions, "base": 10000.0, "bias": None}
    return note, given | others


def weight(note: str, seed: int, rows: int, heads: int, **others: Any) -> Case:
    given = {"weight": numbers(seed, rows, 2), "num_heads": heads, "to": "half", "rotary_dim": None, "offset": 0}
    return note, given | others


def linear(note: str, seed: int, q: int, k: int, **others: Any) -> Case:
    given = {"q": numbers(seed, q, 4), "k": numbers(seed + 1, k, 4), "v": numbers(seed + 2, k, 3)}
    return note, given | {"rotation": None, "layout": "half", "feature": "elu", "mask": None} | others


ROTATION = {"q_positions": [7, 8], "k_positions": [0, 5, 8], "inv_freq": [1.0, 0.01]}

CASES: dict[str, list[Case]] = {
    "rerope_distance": [
        rerope("ReRoPE", 8),
        rerope("leaky", 8, 4.0),
        rerope("leaky, a factor that is no short number", 5, 2.7),
        rerope("a batch", 7, 3.0, **BATCH),
    ],
    "self_extend_distance": [
        self_extend("the group size divides the window", 4, 8),
        self_extend("it does not: a fraction, as in the code", 3, 8),
        self_extend("it does not: rounded down, as in the paper", 3, 8, "floor"),
        self_extend("a batch", 5, 11, **BATCH),
    ],
    "dual_chunk_distance": [
        dual_chunk("chunks of 6", 8, 2),
        dual_chunk("without a local window", 7, 0),
        dual_chunk("a window that is longer than the rest", 9, 6),
        dual_chunk("critical", 8, 2, True),
        dual_chunk("a batch", 16, 5, **BATCH),
    ],
    "rope_scores": [
        scores("plain distances", 700, [[2, 1, 0], [3, 2, 1]], 8, 4),
        scores("interleaved, partial, fractions", 710, [[10.25, 7.7, -3.1]], 7, 2, "interleaved"),
        scores("far", 720, [[131071], [1048575]], 4, 2),
    ],
    "xpos_scale": [
        xpos("lengthless, two pairs", [0, 5, -5, 4096], 4, 0, None),
        xpos("flash-attention, an odd length", list(range(9)), 8, "floor", 9),
        xpos("torchscale, an odd length", list(range(9)), 8, "ceil", 9),
        xpos("another base, a centre between positions", [[0, 1], [2, 700]], 6, 0.5, None, 64.0),
        xpos("fractions", [0.1, -12.3], 6, "floor", 2, 100.0),
    ],
    "fope_cos_sin": [
        fope("a matrix per head", 800, [0, 3, 4095], (2, 3, 3), 4),
        fope("one matrix, fewer columns than frequencies", 810, [[0, 5], [9, 7]], (4, 2), 5),
        fope("padded with sin 0", 820, [1, 2], (3, 3), 5, 0.0),
    ],
    "pope_apply": [
        pope("a query", 830, [0, 1, 131071], 5),
        pope("a key, two biases beyond their bounds", 840, [7, 0.5], 4, bias=[-7.0, -1.5, 0.0, 0.3]),
        pope("another base", 850, [-3, 1000], 3, base=100.0),
    ],
    "rope_permute_weight": [
        weight("grouped queries: 2 heads of 4", 860, 8, 2),
        weight("back", 870, 12, 2, to="interleaved"),
        weight("partial", 880, 16, 2, rotary_dim=6),
        weight("the tail of a head", 890, 20, 2, offset=4, to="interleaved"),
    ],
    "cu_seqlens_positions": [
        ("three sequences", {"cu_seqlens": [0, 3, 4, 11]}),
        ("empty ones", {"cu_seqlens": [0, 0, 2, 2, 5]}),
        ("after caches", {"cu_seqlens": [0, 1, 2, 4], "starts": [7, 0, 2**53]}),
        ("PoSE: chunks of 3, 2 and 4 that skip 0, 10 and 500", {"cu_seqlens": [0, 3, 5, 9], "starts": [0, 13, 505]}),
    ],
    "linear_attention": [
        linear("plain", 900, 2, 3),
        linear("rotated", 910, 2, 3, rotation=ROTATION),
        linear("rotated, interleaved, partial", 920, 2, 3, rotation=ROTATION | {"inv_freq": [0.5]}, layout="interleaved"),
        linear("a mask, a row that may look nowhere", 930, 2, 3, rotation=ROTATION, mask=[[True, False, True], [False] * 3]),
    ],
}  # fmt: skip
