"""Cases for biases that are kernels of the distance: KERPLE, Sandwich, FIRE."""

from __future__ import annotations

from typing import Any

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one, read_only, strided

KEYS = np.arange(7)
BATCH = [[5, 6], [2, 3]], [[0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 1, 2, 3]]
FRACTIONS = np.array([0.5, 7.25], "f"), np.array([0.0, 1.5, 7.25], "f")
WHOLE = ("int64",)
EITHER = ("int64", "int32")


def _kerple(i: Inputs, q: Any, k: Any, *, heads: int = 3, **options: Any) -> Call:
    r1, r2 = (np.abs(i.data(heads)) + i.typed(0.01) for _ in range(2))
    return Call((r1, np.minimum(r2, i.typed(2.0)), np.array(q), np.array(k)), options)


def _kerple_again(i: Inputs) -> list[Call]:
    return [_kerple(i, KEYS, KEYS), _kerple(i, [7], np.arange(8)), _kerple(i, KEYS, KEYS), _kerple(i, KEYS + 4, KEYS)]


def _unlearned(i: Inputs) -> Call:
    """One head as NeMo has all of them: r2 is 0, and so is the bias."""
    return Call((np.abs(i.data(2)), i.typed([0.0, 0.5]), KEYS.copy(), KEYS.copy()))


def _sandwich(i: Inputs, q: Any, k: Any, *, heads: int = 3, **options: Any) -> Call:
    return Call((heads, i.typed(q), i.typed(k)), options)


def _fire(i: Inputs, q: Any, k: Any, c: float = 0.1, length: float = 12.0, **options: Any) -> Call:
    return Call((i.typed(q), i.typed(k), c, length), options)


KERPLE, SANDWICH, FIRE = "kerple_bias", "sandwich_bias", "fire_distance"

CASES: tuple[Case, ...] = (
    one(KERPLE, "log", lambda i: _kerple(i, KEYS, KEYS)),
    one(KERPLE, "power", lambda i: _kerple(i, KEYS, KEYS, form="power")),
    one(KERPLE, "decode", lambda i: _kerple(i, [6], KEYS)),
    one(KERPLE, "more-queries", lambda i: _kerple(i, np.arange(11), [0, 1, 2])),
    one(KERPLE, "batch", lambda i: _kerple(i, *BATCH)),
    one(KERPLE, "power-batch", lambda i: _kerple(i, *BATCH, form="power")),
    one(KERPLE, "unsorted", lambda i: _kerple(i, [3, 0, 500], [2, 900, 2, -5])),
    one(KERPLE, "far", lambda i: _kerple(i, [100003], [0, 99999, 100002, 100003]), dtypes=("float64", "float32")),
    one(KERPLE, "fractions", lambda i: _kerple(i, *FRACTIONS)),
    one(KERPLE, "unlearned", _unlearned),
    one(KERPLE, "one-head", lambda i: _kerple(i, KEYS, KEYS, heads=1)),
    one(KERPLE, "no-queries", lambda i: _kerple(i, np.zeros(0, int), KEYS)),
    one(KERPLE, "no-keys", lambda i: _kerple(i, KEYS, np.zeros(0, int))),
    one(
        KERPLE,
        "read-only-strided",
        lambda i: Call((strided(np.abs(i.data(3))), read_only(np.abs(i.data(3))), read_only(KEYS), strided(KEYS))),
    ),
    Case(KERPLE, "again", _kerple_again),
    one(SANDWICH, "nemo", lambda i: _sandwich(i, KEYS, KEYS), dtypes=EITHER),
    one(SANDWICH, "from-0", lambda i: _sandwich(i, KEYS, KEYS, start=0), dtypes=WHOLE),
    one(SANDWICH, "dim", lambda i: _sandwich(i, KEYS, KEYS, dim=6), dtypes=WHOLE),
    one(SANDWICH, "base", lambda i: _sandwich(i, KEYS, KEYS, dim=16, base=100.0), dtypes=WHOLE),
    one(SANDWICH, "decode", lambda i: _sandwich(i, [511], np.arange(0, 512, 73), heads=8), dtypes=WHOLE),
    one(SANDWICH, "batch", lambda i: _sandwich(i, *BATCH), dtypes=WHOLE),
    one(SANDWICH, "fractions", lambda i: _sandwich(i, *FRACTIONS), dtypes=("float64", "float32")),
    one(SANDWICH, "one-head", lambda i: _sandwich(i, [3, 0, 50], [2, 90, 2, -5], heads=1), dtypes=WHOLE),
    one(SANDWICH, "no-keys", lambda i: _sandwich(i, KEYS, np.zeros(0)), dtypes=WHOLE),
    one(FIRE, "below-length", lambda i: _fire(i, KEYS, KEYS), dtypes=EITHER),
    one(FIRE, "beyond-length", lambda i: _fire(i, [3, 12, 13, 1000], [0, 3, 12, 13, 900]), dtypes=WHOLE),
    one(FIRE, "minimum", lambda i: _fire(i, [3, 12, 13, 1000], [0, 3, 12], limit="min"), dtypes=WHOLE),
    one(FIRE, "paper", lambda i: _fire(i, [1, 2, 40], KEYS, 0.01, 0.5, eps=0.0), dtypes=WHOLE),
    one(FIRE, "coarse-eps", lambda i: _fire(i, [1, 2, 40], KEYS, 0.01, 0.5, eps=0.25), dtypes=WHOLE),
    one(FIRE, "negative-c", lambda i: _fire(i, [5, 30], KEYS, -0.3, 10.5), dtypes=WHOLE),
    one(FIRE, "batch", lambda i: _fire(i, *BATCH, length=2.0), dtypes=WHOLE),
    one(FIRE, "fractions", lambda i: _fire(i, *FRACTIONS, length=2.0), dtypes=("float64", "float32")),
    one(FIRE, "no-queries", lambda i: _fire(i, np.zeros(0), KEYS), dtypes=WHOLE),
)
