"""Cases that are long, wide or many: where a block, a grid or a counter of a kernel ends."""

from __future__ import annotations

import numpy as np

from posref_conformance.case import Call, Case, Inputs, one

TWO = ("float32", "bfloat16")


def _rotation(i: Inputs, *shape: int) -> Call:
    return Call((i.data(*shape), *i.table(*shape[-2:-1], shape[-1] // 2)))


def _attention(i: Inputs) -> Call:
    """More keys than a block holds, under a causal mask; the lengths are primes."""
    q, k = 131, 293
    mask = np.arange(k)[None] <= np.arange(q)[:, None] + k - q
    return Call((i.data(1, 2, q, 8), i.data(1, 2, k, 8), i.data(1, 2, k, 6)), {"mask": mask})


CASES: tuple[Case, ...] = (
    one("rope_apply", "long", lambda i: _rotation(i, 1, 2, 1031, 6), dtypes=TWO),
    one("rope_apply", "many-rows", lambda i: _rotation(i, 5, 7, 1879, 2), dtypes=("float32",), note="more than 65535"),
    one("rope_apply", "many-heads", lambda i: _rotation(i, 11, 67, 3, 4), dtypes=TWO),
    one("rope_apply", "widest", lambda i: _rotation(i, 1, 3, 2054), dtypes=TWO),
    one("rope", "long", lambda i: Call((i.data(1, 2, 1031, 6), np.arange(1031))), dtypes=TWO),
    one("sinusoidal", "long", lambda i: Call((i.typed(np.arange(1031)), 6)), dtypes=("int64",)),
    one("learned", "long", lambda i: Call((i.data(1033, 6), np.arange(1031))), dtypes=TWO),
    one("alibi_bias", "long", lambda i: Call((np.abs(i.data(3)), np.arange(3) + 1030, np.arange(1033))), dtypes=TWO),
    one("t5_bias", "long", lambda i: Call((i.data(32, 3), np.arange(3) + 1030, np.arange(1033))), dtypes=TWO),
    one("attention", "long", _attention, dtypes=TWO),
)
