"""Every closed form of posref is within 0.51 ulp of the true real value of its arguments, by rigorous enclosures.

Random valid arguments (helpers/random_arguments.py), the formulas in ball arithmetic (helpers/true_values.py), errors as upper
bounds in ulp (helpers/balls.py). The same comparison finds the formulas in plain float64 (helpers/plain_values.py) wanting.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import plain_values
import pytest
import random_arguments as random
import true_values
from balls import Undecided, decided, error
from numpy.typing import NDArray

import posref

LIMIT = 0.51
PLAIN_ENTRIES = 3000
PLAIN_SHARE = 0.01  # of plain float64 values, at least so many are beyond the limit


@dataclass(frozen=True)
class Subject:
    """A function with a kind of arguments; ``sample`` entries of each result are compared, ``entries`` in all."""

    function: str
    arguments: Callable[[np.random.Generator], dict[str, Any]]
    entries: int
    sample: int = 1000


def subjects() -> dict[str, Subject]:
    found = {}

    def add(function: str, kinds: list[Any], entries: int, sample: int = 1000) -> None:
        for kind in kinds:
            draw = getattr(random, function)
            arguments = draw if kind is None else lambda source, draw=draw, kind=kind: draw(source, kind)
            name = function if kind is None else f"{function}, {kind}"
            found[name] = Subject(function, arguments, entries // len(kinds) + 1, sample)

    add("rope_inv_freq", random.KINDS, 100_000)
    add("rope_attention_factor", ["YaRN", "LongRoPE"], 100_000)
    add("rope_table", random.KINDS, 108_000)
    add("rope_cos_sin", [None], 100_000)
    add("sinusoidal", ["by dim", "endpoint"], 100_000)
    add("timestep_embedding", [None], 100_000)
    add("alibi_slopes", [None], 100_000)
    add("alibi_bias", ["distance", "signed", "key"], 100_000)
    return found
