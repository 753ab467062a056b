"""Each closed form of posref on random arguments against its enclosure: what is compared, and the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import axes_arguments
import axes_plain
import axes_truths
import distances_arguments
import distances_plain
import distances_truths
import numpy as np
import plain_values
import random_arguments
import scales_arguments
import scales_plain
import scales_truths
import true_values
from balls import decided, error
from numpy.typing import NDArray

import posref

LIMIT = 0.51  # ulp
ARGUMENTS = (random_arguments, axes_arguments, scales_arguments, distances_arguments)
TRUE = (true_values, axes_truths, scales_truths, distances_truths)
PLAIN = (plain_values, axes_plain, scales_plain, distances_plain)
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
        arguments: dict[str, Any] = found(ARGUMENTS, self.function)(source, *kinds)
        return arguments


def found(modules: Iterable[Any], name: str) -> Callable[..., Any]:
    """The function of this name, in whichever module it is."""
    function: Callable[..., Any] = next(vars(module)[name] for module in modules if name in vars(module))
    return function


def subjects(function: str, kinds: list[str | None], sample: int = 300) -> list[Subject]:
    return [Subject(function, kind, math.ceil(ENTRIES / len(kinds)), sample) for kind in kinds]


SUBJECTS = [
    *subjects("rope_inv_freq", [*random_arguments.KINDS], sample=40),
    *subjects("rope_attention_factor", ["YaRN", "LongRoPE"]),
    *subjects("rope_table", [kind for kind in random_arguments.KINDS if kind != "dynamic YaRN"], sample=150),
    *subjects("rope_cos_sin", [None]),
    *subjects("sinusoidal", ["base ** (-2k / dim)", "endpoint"]),
    *subjects("sinusoidal_axes", ["base ** (-2k / dim)", "endpoint"]),
    *subjects("mask_coordinates", [None]),
    *subjects("frequency_bands", ["linear", "log"], sample=100),
    *subjects("fourier_features", ["bands", "matrix"]),
    *subjects("timestep_embedding", [None], sample=400),
    *subjects("alibi_slopes", [None], sample=2048),
    *subjects("alibi_bias", ["distance", "signed", "key", "key_last", "key_first"], sample=100),
    *subjects("rope_axes_inv_freq", ["shared", "per_axis", "dealt"], sample=40),
    *subjects("rope_axes_table", ["shared", "per_axis", "dealt"]),
    *subjects("rope_axes_cos_sin", [None]),
    *subjects("rope_mixed_cos_sin", [None]),
    *subjects("rope_pixel_freq", ["linear", "log"]),
    *subjects("rope_softmax_factor", [None]),
    *subjects("xpos_scale", ["any", "consecutive", "floats"]),
    *subjects("log_n_scale", [None]),
    *subjects("ssmax_scale", [None]),
    *subjects("llama4_scale", [None]),
    *subjects("inkling_scale", [None]),
    *subjects("length_scale", [None]),
    *subjects("rerope_distance", [None]),
    *subjects("self_extend_distance", [None]),
    *subjects("grid_coordinates", [None]),
    *subjects("kerple_bias", ["log", "power"], sample=100),
    *subjects("sandwich_bias", [None], sample=100),
    *subjects("fire_distance", ["max", "min"], sample=100),
    *subjects("log_offset", ["paper", "window", "any"]),
    *subjects("cosine_scale", [None]),
]

# Of posref.__all__, what is none.
WITHOUT_A_CLOSED_FORM = {
    "attention, linear_attention, fope_cos_sin, pope_apply, rope_scores": "sums over learned or data axes",
    "relative_bias, relative_scores, relative_values, disentangled_scores, position_mlp, cape_positions": "the same",
    "bias_gate, cope_scores, decomposed_bias, forget_bias, path_scores, untied_scores": "the same",
    "indexed_bias, relative_shift, long_t5_blocks, reset_cls": "entries of what is given",
    "deberta_bucket, permuted_channels, relative_index, relative_position_index, query_positions": "integers",
    "rope, rope_apply, rope_apply_channels": "two products of data and their sum",
    "learned, t5_bias, rope_permute_weight": "entries of what is given",
    "resample_table, hierarchical_table": "sums over the rows of what is given",
    "mask_positions": "integers",
    "rope_axis_map, t5_bucket, cu_seqlens_positions, grid_positions, dual_chunk_distance": "integers",
    "RopeHistory": "rope_inv_freq at a length that it remembers",
    "read_config": "a description",
}


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
    function = found(PLAIN if plain else (posref,), subject.function)
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
        true = found(TRUE, function)(**arguments)
        return [error(v, true(*i)) for v, i in zip(values.flat[chosen].tolist(), index, strict=True)]

    return decided(errors)
