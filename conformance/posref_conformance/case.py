"""A case: one thing that is asked of one function, on inputs of one type."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

FLOATS = ("float64", "float32", "float16", "bfloat16")
Array = NDArray[Any]


def numpy_type(name: str) -> np.dtype[Any]:
    """NumPy's type for one of the suite's words; bfloat16 is ml_dtypes'."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


@dataclass(frozen=True)
class Call:
    """One call: NumPy arrays among the arguments are turned into the backend's, everything else goes as it is.

    ``kwargs`` holds what differs from the defaults and nothing else, so that a backend may lack the keywords it does not know.
    With a ``cotangent``, one per result, the call is differentiated by the argument ``by``; with ``again``, a cotangent of that
    gradient, the gradient is differentiated by the cotangent: double backward.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    cotangent: Array | tuple[Array, ...] | None = None
    by: str = ""
    again: Array | None = None

    def values(self) -> tuple[Any, ...]:
        """All arguments, without their names."""
        return (*self.args, *self.kwargs.values())

    def arrays(self) -> list[Array]:
        """The arrays among the arguments."""
        return [a for a in self.values() if isinstance(a, np.ndarray)]

    def fresh(self) -> Call:
        """The same call on copies of its arrays: what cases share, no backend may spoil. Arrays with gaps were made for it."""
        known: dict[int, Array] = {}

        def copied(value: Any) -> Any:
            if not isinstance(value, np.ndarray) or not value.flags.forc:
                return value
            copy = known.setdefault(id(value), value.copy(order="K"))
            copy.flags.writeable = value.flags.writeable
            return copy

        kwargs = {name: copied(value) for name, value in self.kwargs.items()}
        return replace(self, args=tuple(map(copied, self.args)), kwargs=kwargs)


@dataclass(frozen=True)
class Inputs:
    """Where a case gets its numbers from: the type under test and a seeded generator."""

    dtype: str
    rng: np.random.Generator

    def data(self, *shape: int, dtype: str | None = None) -> Array:
        """Normal values, rounded to the type under test."""
        values: Array = np.asarray(self.rng.normal(size=shape)).astype(numpy_type(dtype or self.dtype))
        return values

    def table(self, *shape: int, dtype: str | None = None) -> tuple[Array, Array]:
        """Cos and sin that are random and not on the circle: a swap, a sign or a missing product cannot hide."""
        return self.data(*shape, dtype=dtype), self.data(*shape, dtype=dtype)

    def circle(self, *shape: int, dtype: str | None = None) -> tuple[Array, Array]:
        """Cos and sin of random angles."""
        angle = self.rng.uniform(-np.pi, np.pi, size=shape)
        kind = numpy_type(dtype or self.dtype)
        return np.cos(angle).astype(kind), np.sin(angle).astype(kind)

    def typed(self, values: Any) -> Array:
        """Given values in the type under test."""
        return np.asarray(values).astype(numpy_type(self.dtype))


def strided(array: Array) -> Array:
    """The same values with gaps in memory: every other element of a wider buffer filled with NaN or -1."""
    filler = -1 if array.dtype.kind in "iu" else np.nan
    buffer = np.full((*array.shape[:-1], 2 * array.shape[-1]), filler).astype(array.dtype)
    gaps: Array = buffer[..., ::2]
    gaps[...] = array
    return gaps


def transposed(array: Array) -> Array:
    """The same values with the last two axes swapped in memory."""
    swapped: Array = np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)
    return swapped


def read_only(array: Array) -> Array:
    """The same values in the same places, not to be written to."""
    array = array[...]
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class Case:
    """What is asked of ``function``.

    ``build`` gives the calls, made one after the other on the same backend and each judged: a cache that is stale by the
    second call shows. ``dtypes`` are those of the data; functions without a floating array have the type of their positions,
    or ``"default"``.
    """

    function: str
    name: str
    build: Callable[[Inputs], list[Call]]
    dtypes: tuple[str, ...] = FLOATS
    note: str = ""

    def calls(self, dtype: str) -> list[Call]:
        """The calls for one type: the same numbers every time, fresh arrays every time."""
        seed = zlib.crc32(
            f"{self.function}/{self.name}".encode()
        )  # of the id, so that a new case moves no other's numbers
        return [call.fresh() for call in self.build(Inputs(dtype, np.random.default_rng(seed)))]

    def check_id(self, dtype: str) -> str:
        """``function/case/dtype``, stable across releases."""
        return f"{self.function}/{self.name}/{dtype}"


def one(function: str, name: str, build: Callable[[Inputs], Call], **options: Any) -> Case:
    """A case of a single call."""
    return Case(function, name, lambda inputs: [build(inputs)], **options)
