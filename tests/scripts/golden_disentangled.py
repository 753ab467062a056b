"""DeBERTa's attention in mpmath: formulas and cases in the manner of golden_relative.

Buckets are the released code's logarithm at 60 digits, where no distance of the cases lies on an edge that is not exact.
"""

from __future__ import annotations

from typing import Any

from golden_formulas import Nested, each
from golden_relative import NEAR
from golden_rotary_cases import Case, numbers
from mpmath import mp, mpf


def permuted_channels(permutation: Nested, positions: Nested) -> Nested:
    """The permutation, or its inverse, composed with itself step by step."""
    if isinstance(permutation[0], list):
        return [permuted_channels(row, positions) for row in permutation]
    inverse = [permutation.index(c) for c in range(len(permutation))]

    def composed(row: list[int], steps: int) -> list[int]:
        channels = list(range(len(row)))
        for _ in range(steps):
            channels = [channels[c] for c in row]
        return channels

    return [composed(permutation if p >= 0 else inverse, abs(p)) for p in positions]


def deberta_bucket(relative_position: Nested, num_buckets: int, max_distance: int, beyond: str) -> Nested:
    middle = num_buckets // 2

    def bucket(r: int) -> int:
        n = min(abs(r), max_distance - 1) if beyond == "clamp" else abs(r)
        if n > middle:
            steps = mp.log(mpf(n) / middle) / mp.log(mpf(max_distance - 1) / middle) * (middle - 1)
            whole = mp.nint(steps)
            n = middle + int(whole if abs(steps - whole) < mpf(10) ** -50 else mp.ceil(steps))
        return n if r > 0 else -n

    return each(bucket, relative_position)


def disentangled_scores(
    q: Nested,
    k: Nested,
    relative: Nested,
    pos_k: Nested,
    pos_q: Nested,
    p2c: str,
    p2p: bool,
    scale: float | None,
) -> Nested:
    d, terms = len(q[0]), (pos_k is not None) + (pos_q is not None) + p2p
    factor = 1 / mp.sqrt(d * (1 + terms)) if scale is None else mpf(scale)

    def row(table: Nested, r: int) -> list[Any]:
        span = len(table) // 2
        chosen: list[Any] = table[min(max(r + span, 0), 2 * span - 1)]
        return chosen

    def score(i: int, j: int) -> Any:
        r = relative[i][j]
        total = mp.fdot(q[i], k[j])
        if pos_k is not None:
            total += mp.fdot(q[i], row(pos_k, r))
        if pos_q is not None:
            total += mp.fdot(k[j], row(pos_q, -r if p2c == "paper" else r))
        if p2p:
            total += mp.fdot(pos_q[len(pos_q) // 2 + i], row(pos_k, r))
        return factor * total

    return [[score(i, j) for j in range(len(k))] for i in range(len(q))]


# --- cases -----------------------------------------------------------------------------------------------------------

FAR = [-2000, -512, -511, -300, -129, -128, 0, 1, 127, 128, 129, 130, 200, 256, 300, 400, 510, 511, 512, 2000]


def bucket(note: str, relative: Nested, num_buckets: int = 256, max_distance: int = 512, beyond: str = "clamp") -> Case:
    others = {"num_buckets": num_buckets, "max_distance": max_distance, "beyond": beyond}
    return note, {"relative_position": relative} | others


def scores(note: str, seed: int, q: int = 3, k: int = 4, span: int = 3, tables: str = "kq", **others: Any) -> Case:
    given: dict[str, Any] = {
        "q": numbers(seed, q, 4),
        "k": numbers(seed + 1, k, 4),
        "relative": [[i - j for j in range(k)] for i in range(q)],
        "pos_k": numbers(seed + 2, 2 * span, 4) if "k" in tables else None,
        "pos_q": numbers(seed + 3, 2 * span, 4) if "q" in tables else None,
        "p2c": "code",
        "p2p": False,
        "scale": None,
    }
    return note, given | others


CASES: dict[str, list[Case]] = {
    "permuted_channels": [
        ("a cycle of six channels", {"permutation": [3, 0, 4, 5, 2, 1], "positions": [0, 1, 2, 5, 6, 13]}),
        (
            "two heads, cycles of 3, 2 and 1, keys behind",
            {"permutation": [[1, 2, 0, 4, 3, 5], [5, 4, 3, 2, 1, 0]], "positions": [-1, 4, -6, 7]},
        ),
    ],
    "deberta_bucket": [
        bucket("DeBERTa V2 and V3: beyond the last distance the last bucket", FAR),
        bucket("transformers: beyond it the logarithm goes on", FAR, beyond="grow"),
        bucket("few buckets, two axes", [NEAR, [-40, -19, -18, -5, -4, 4, 5, 18, 19]], 8, 20),
        bucket("two buckets", NEAR, 2, 5),
    ],
    "disentangled_scores": [
        scores("DeBERTa as the code has it", 1100),
        scores("as the paper has it, the same numbers", 1100, p2c="paper"),
        scores("content to position", 1110, tables="k"),
        scores("position to content", 1120, tables="q"),
        scores("position to position", 1130, p2p=True),
        scores("further than the table", 1140, 2, 5, 1),
        scores("the last row where Microsoft's buckets end", 1150, 1, 2, 4, relative=[[-3, 3]]),
        scores("and where transformers' do, the same numbers", 1150, 1, 2, 4, relative=[[-5, 4]]),
        scores("a scale of its own", 1160, scale=1.0),
    ],
}
