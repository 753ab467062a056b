"""Tables of integers: T5's buckets, and rows of a window's relative-position table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import posref
from posref_conformance.identify._bias import BUCKETS, DISTANCES
from posref_conformance.identify._finding import Finding, Values, compared

RESEMBLES = 0.9  # of the elements are equal, where a table is said to be near


def integers(values: Values, positions: Values | None) -> Iterator[Finding]:
    """What integers (queries, keys), or (positions,) of given relative positions, may be."""
    values = np.squeeze(values)
    if values.ndim == 2:
        yield from _index(values)
        queries, keys = values.shape
        for start in dict.fromkeys((max(keys - queries, 0), 0)):
            relative = np.arange(keys)[None] - np.arange(queries)[:, None] - start
            yield from _buckets(values, relative, {"queries from": start})
    elif values.ndim == 1 and positions is not None and len(positions) == len(values):
        yield from _buckets(values, positions, {})


def _index(values: Values) -> Iterator[Finding]:
    """Swin's and its kin: all windows with as many cells."""
    cells = values.shape[1]
    if values.shape[0] != cells or cells < 4:
        return
    for class_token in (False, True):
        n = cells - class_token
        for height in (h for h in range(1, n + 1) if n % h == 0):
            for offset in ("query_minus_key", "key_minus_query", "absolute"):
                sizes = (height, n // height)
                expected = posref.relative_position_index(sizes, offset=offset, class_token=class_token)
                told = {"sizes": f"{sizes[0]} x {sizes[1]}", "offset": offset, "class_token": class_token or None}
                yield from _near("relative_position_index", values, expected, told)


def _buckets(values: Values, relative: Values, told: dict[str, Any]) -> Iterator[Finding]:
    if int(values.min()) < 0 or int(values.max()) == 0:
        return
    for both in (True, False):
        for count in (n for n in BUCKETS if n > int(values.max())):
            for most in (d for d in DISTANCES if d > count // (4 if both else 2)):
                how: dict[str, Any] = {"bidirectional": both, "num_buckets": count, "max_distance": most}
                direction = {"bidirectional" if both else "causal": True}
                parameters = {"buckets": count, "max_distance": most, **told, **direction}
                yield from _near("t5_bucket", values, posref.t5_bucket(relative, **how), parameters)


def _near(what: str, values: Values, expected: Values, told: dict[str, Any]) -> Iterator[Finding]:
    if np.mean(values == expected) > RESEMBLES:
        yield compared(what, values, expected, np.zeros(values.shape), **told)
