"""Each closed form of posref on random arguments against its enclosure: what is compared, and the comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plain_values
import random_arguments
import true_values
from balls import decided, error
from numpy.typing import NDArray

import posref

LIMIT = 0.51  # ulp
ENTRIES = 100_000  # of each function


@dataclass(frozen=True)
class Subject:
    """A function with one kind of arguments."""

    function: str
    kind: str | None  # passed on to the function's random arguments, if it has kinds
    entries: int  # to be compared in all
    sample: int  # of one result at most

    def __str__(self) -> str:
        return self.function if self.kind is None else f"{self.function}, {self.kind}"

    def draw(self, source: np.random.Generator) -> dict[str, Any]:
        kinds = () if self.kind is None else (self.kind,)
        arguments: dict[str, Any] = getattr(random_arguments, self.function)(source, *kinds)
        return arguments


def subjects(function: str, kinds: list[str | None], sample: int = 300) -> list[Subject]:
    return [Subject(function, kind, math.ceil(ENTRIES / len(kinds)), sample) for kind in kinds]


SUBJECTS = [
    *subjects("rope_inv_freq", [*random_arguments.KINDS], sample=40),
    *subjects("rope_attention_factor", ["YaRN", "LongRoPE"]),
    *subjects("rope_table", [*random_arguments.KINDS], sample=150),
    *subjects("rope_cos_sin", [None]),
    *subjects("sinusoidal", ["base ** (-2k / dim)", "endpoint"]),
    *subjects("timestep_embedding", [None], sample=400),
    *subjects("alibi_slopes", [None], sample=2048),
    *subjects("alibi_bias", ["distance", "signed", "key"], sample=100),
]


@dataclass
class Comparison:
    errors: list[float] = field(default_factory=list)  # ulp
    worst: float = 0.0
    arguments: Any = None  # where it is worst

    def add(self, errors: list[float], arguments: dict[str, Any]) -> None:
        self.errors += errors
        if max(errors) > self.worst:
            self.worst, self.arguments = max(errors), arguments


def compare(subject: Subject, entries: int, *, plain: bool = False, seed: int = 1) -> Comparison:
    """Random entries of posref's function, or of the same formula in plain float64."""
    source, comparison = np.random.default_rng(seed), Comparison()
    function = getattr(plain_values if plain else posref, subject.function)
    while len(comparison.errors) < entries:
        arguments = subject.draw(source)
        refused, values = None, np.empty(0)
        try:
            values = np.array(function(**arguments))
        except ValueError as problem:
            refused = problem
        chosen = source.integers(0, values.size, min(subject.sample, values.size))
        try:
            errors = errors_of(subject.function, arguments, values, chosen)
        except true_values.NoRamp:
            assert refused or plain, f"a value for a reversed range: {arguments}"
            continue
        if refused:
            raise AssertionError(f"refused: {arguments}") from refused
        comparison.add(errors, arguments)
    return comparison


def errors_of(
    function: str, arguments: dict[str, Any], values: NDArray[Any], chosen: NDArray[Any] | None = None
) -> list[float]:
    """Of the chosen entries of a result, by their places in the flat array; of all."""
    chosen = np.arange(values.size) if chosen is None else chosen
    index = np.transpose(np.unravel_index(chosen, values.shape)).tolist() if values.ndim else [[]]

    def errors() -> list[float]:
        true = getattr(true_values, function)(**arguments)
        return [error(v, true(*i)) for v, i in zip(values.flat[chosen].tolist(), index, strict=True)]

    return decided(errors)
