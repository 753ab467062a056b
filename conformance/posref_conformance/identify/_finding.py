"""What numbers turn out to be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posref_conformance.case import numpy_type

Values = NDArray[Any]
NARROWER = ("bfloat16", "float16", "float32", "float64")


@dataclass(frozen=True)
class Finding:
    """An encoding that numbers are, or are near to.

    Parameters
    ----------
    what
        The function of posref that gives them, and the kind of file.
    parameters
        Its arguments, by name, and what else was told: layout, first position, precision.
    error
        How far the numbers are from it at most.
    allowed
        How far they may be, in their precision.
    where
        The element that is furthest off.
    """

    what: str
    parameters: dict[str, Any] = field(default_factory=dict)
    error: float = 0.0
    allowed: float = 0.0
    where: str = ""

    @property
    def found(self) -> bool:
        """Whether the numbers are this encoding, and not only near to it."""
        return self.error <= self.allowed

    def sentence(self) -> str:
        """One line for people."""
        told = ", ".join(_told(name, value) for name, value in self.parameters.items() if value is not None)
        line = f"{self.what}: {told}" if told else self.what
        if self.found:
            return line
        return f"{line}; not quite: off by up to {self.error:.3g} at {self.where}, allowed {self.allowed:.3g}"

    def distance(self) -> dict[str, Any]:
        """How far off, as plain values; JSON has no infinity."""
        numbers = {"error": self.error, "allowed": self.allowed}
        return {**{name: n if math.isfinite(n) else str(n) for name, n in numbers.items()}, "where": self.where}

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        parameters = {name: value for name, value in self.parameters.items() if value is not None}
        return {
            "what": self.what,
            "found": self.found,
            "parameters": parameters,
            **self.distance(),
            "sentence": self.sentence(),
        }


def _told(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return name
    if name == "layout":
        return f"{value} layout"
    if name in ("scaling", "precision"):
        return str(value)
    return f"{name} {value:.9g}" if isinstance(value, float) else f"{name} {value}"


def off(finding: Finding) -> float:
    """How far off, as a multiple of what is allowed."""
    return finding.error / finding.allowed if finding.allowed else math.inf


def precision_of(values: Values) -> str:
    """The narrowest type that holds all of the values."""
    wide = values.astype(np.float64)
    for name in NARROWER:
        with np.errstate(over="ignore"):
            if np.array_equal(wide.astype(numpy_type(name)).astype(np.float64), wide):
                return name
    return "float64"


def compared(what: str, got: Values, expected: Values, bound: Values, **parameters: Any) -> Finding:
    """A finding for what was expected to be within a bound."""
    a, b = got.astype(np.float64), np.asarray(expected, dtype=np.float64)
    error = np.abs(a - b)
    error = np.where(np.isnan(error), np.inf, error)
    if not error.size:
        return Finding(what, parameters)
    bound = np.broadcast_to(bound, error.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, error / bound)
    at = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return Finding(what, parameters, float(error[at]), float(bound[at]), f"[{', '.join(map(str, map(int, at)))}]")
