"""Each closed form of posref on random arguments against its enclosure: what is compared, and the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import plain_values
import random_arguments
import true_values
from balls import decided, error

import posref

LIMIT = 0.51  # ulp
ENTRIES = 100_000  # of each function


@dataclass(frozen=True)
class Subject:
    """A function with one kind of arguments."""

    function: str
    kind: Any  # passed on to the function's random arguments, if it has kinds
    entries: int  # to be compared in all
    sample: int  # and of one result at most

    def __str__(self) -> str:
        return self.function if self.kind is None else f"{self.function}, {self.kind}"

    def draw(self, source: np.random.Generator) -> dict[str, Any]:
        draw = getattr(random_arguments, self.function)
        return draw(source) if self.kind is None else draw(source, self.kind)  # type: ignore[no-any-return]


def subjects(function: str, kinds: list[Any], sample: int = 200) -> list[Subject]:
    return [Subject(function, kind, math.ceil(ENTRIES / len(kinds)), sample) for kind in kinds]


SUBJECTS = [
    *subjects("rope_inv_freq", [*random_arguments.KINDS]),
    *subjects("rope_attention_factor", ["YaRN", "LongRoPE"]),
    *subjects("rope_table", [*random_arguments.KINDS]),
    *subjects("rope_cos_sin", [None]),
    *subjects("sinusoidal", ["base ** (-2k / dim)", "endpoint"]),
    *subjects("timestep_embedding", [None]),
    *subjects("alibi_slopes", [None], sample=2048),
    *subjects("alibi_bias", ["distance", "signed", "key"]),
]


@dataclass
class Comparison:
    entries: int = 0
    worst: float = 0.0
    where: str = ""
    beyond: int = 0  # entries beyond the limit, infinite ones not counted

    def add(self, errors: list[float], arguments: dict[str, Any]) -> None:
        self.entries += len(errors)
        self.beyond += sum(LIMIT < e < math.inf for e in errors)
        if max(errors) > self.worst:
            self.worst, self.where = max(errors), repr(arguments)


def compare(subject: Subject, entries: int, *, plain: bool = False, seed: int = 1) -> Comparison:
    """Random entries of posref's function, or of the same formula in plain float64."""
    source, comparison = np.random.default_rng(seed), Comparison()
    function = getattr(plain_values if plain else posref, subject.function)
    true = getattr(true_values, subject.function)
    while comparison.entries < entries:
        arguments = subject.draw(source)
        refused = value = None
        try:
            value = np.array(function(**arguments))
        except ValueError as problem:
            refused = problem
        try:
            decided(partial(true, **arguments))
        except true_values.NoRamp:
            assert refused or plain, f"a value for a reversed range: {arguments}"
            continue
        if value is None:
            raise AssertionError(f"refused: {arguments}") from refused
        chosen = source.integers(0, value.size, min(subject.sample, value.size))
        index = np.stack(np.unravel_index(chosen, value.shape), axis=-1).tolist() if value.ndim else [[]]
        got = value.flat[chosen].tolist()

        def errors() -> list[float]:
            at = true(**arguments)
            return [error(v, at(*i)) for v, i in zip(got, index, strict=True)]

        comparison.add(decided(errors), arguments)
    return comparison
