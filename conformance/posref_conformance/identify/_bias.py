"""Biases and slopes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import posref
from posref_conformance.identify._finding import Finding, Values, compared, precision_of
from posref_conformance.roundings import ROUNDOFF

BUCKETS = (32, 64, 16, 128, 8)
MASKED = -3e4  # and below: what a mask put there; float16 ends at -65504, ALiBi at 30000 tokens and slope 1
DISTANCES = (128, 256, 64, 512, 20, 800)


def slopes(values: Values) -> Finding:
    """Whether a vector has ALiBi's slopes."""
    expected = posref.alibi_slopes(len(values))
    u = ROUNDOFF[precision_of(values)]
    bound = (len(values) + 4) * max(u, 2.0**-53) * expected if u < 2.0**-20 else 1.5 * u * expected
    return compared("alibi_slopes", values, expected, bound, heads=len(values), precision=precision_of(values))


def biases(values: Values) -> Iterator[Finding]:
    """What a bias (heads, queries, keys) may be."""
    while values.ndim > 3 and values.shape[0] == 1:
        values = values[0]
    if values.ndim != 3 or values.shape[-1] < 2:
        return
    heads, queries, keys = values.shape
    precision = precision_of(values)
    u = ROUNDOFF[precision]
    right = posref.alibi_slopes(heads)
    hidden = values.astype(np.float64) <= MASKED
    if np.all(hidden):
        return
    mask = "some keys" if np.any(hidden) else None
    for start in dict.fromkeys((keys - queries, 0)):
        if start < 0:
            continue
        future = np.arange(keys)[None] > np.arange(queries)[:, None] + start
        if mask and np.array_equal(hidden, np.broadcast_to(future, hidden.shape)):
            mask = "the future"
        q, k = np.arange(queries) + start, np.arange(keys)
        for form in ("distance", "signed", "key"):
            expected = posref.alibi_bias(right, q, k, form=form)
            bound = (heads + 6) * max(u, 2.0**-53) * np.abs(expected) + 1e-300
            told = {"heads": heads, "form": form, "queries from": start, "precision": precision}
            told |= {"masked": mask}
            yield compared("alibi_bias", np.where(hidden, expected, values), expected, bound, **told)
        found = _buckets(values, k[None] - q[:, None], start)
        if found is not None:
            yield found


def _buckets(values: Values, relative: Values, start: int) -> Finding | None:
    """T5's buckets: one value for each head and bucket, with as many buckets as there are differences between values."""
    flat = values.reshape(values.shape[0], -1)
    if np.all(flat == flat[:, :1]):
        return None
    best: tuple[int, Finding] | None = None
    for both in (True, False):
        for count in BUCKETS:
            for most in DISTANCES:
                if most <= count // (4 if both else 2):
                    continue
                bucket = posref.t5_bucket(relative, bidirectional=both, num_buckets=count, max_distance=most).ravel()
                there, first, inverse = np.unique(bucket, return_index=True, return_inverse=True)
                if np.array_equal(flat[:, first][:, inverse], flat) and (best is None or len(there) < best[0]):
                    told = {"buckets": count, "max_distance": most, "queries from": start}
                    told["bidirectional" if both else "causal"] = True
                    best = len(there), Finding("t5_bias", told)
    # where no two distances share a bucket, anything that depends on the distance alone would be found
    return None if best is None or best[0] == np.unique(relative).size else best[1]
