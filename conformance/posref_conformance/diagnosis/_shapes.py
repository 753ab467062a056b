"""What can be told from a wrong result and the right one alone: multiples, constants, exchanged or permuted axes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from posref_conformance.diagnosis._outcome import RAISED, Failure, Outcome, Values
from posref_conformance.roundings import ROUNDOFF

AXES = ("channel", "token", "head", "batch")


@dataclass(frozen=True)
class Pattern:
    """A guess at the result, made from the right result and the wrong one."""

    id: str
    sentence: str
    fix: str
    guess: Callable[[Values, Values], Values | None]


def _multiple(right: Values, seen: Values) -> float:
    size = float((right * right).sum())
    return float((right * seen).sum()) / size if size else 1.0


def patterns(failure: Failure) -> Iterator[Pattern]:
    """Those that the first wrong result suggests."""
    for right, seen in zip(failure.right, failure.seen.results, strict=False):
        for y, z in zip(right, seen, strict=False):
            u = ROUNDOFF.get(z.dtype.name, 0.0)
            y, z = np.asarray(y, dtype=np.float64), z.astype(np.float64)
            if y.size < 3 or not np.all(np.isfinite(z)):
                continue
            yield from _of_same_shape(y, z, u) if y.shape == z.shape else _of_other_shape(y, z)
            return


def _times(c: float, right: Values, seen: Values) -> Values:
    return c * right


def _reversed(axis: int, right: Values, seen: Values) -> Values | None:
    return np.flip(right, axis=-axis) if right.ndim >= axis else None


def _of_same_shape(y: Values, z: Values, u: float) -> Iterator[Pattern]:
    c = float(f"{_multiple(y, z):.4g}")
    if c not in (0.0, 1.0) and abs(c - 1) > u:  # 16 bits err by as much
        yield Pattern(
            f"times-{c:g}",
            f"Your result is {c:g} times the right one.",
            "Look for a factor that is missing, or applied twice.",
            functools.partial(_times, _multiple(y, z)),
        )
    if y.ndim > 1 and y.shape[-1] > 1:
        yield Pattern(
            "row-constant",
            "Your rows differ from the right ones by a constant: a softmax over the row hides it, a mask does not.",
            "Use the distance itself, not only what is left of it under a softmax.",
            _with_row_constant,
        )
    for axis in range(1, min(y.ndim, len(AXES)) + 1):
        name = AXES[axis - 1]
        yield Pattern(
            f"reversed-{name}s",
            f"Your result has the order of the {name}s reversed.",
            f"Keep the order of the {name}s.",
            functools.partial(_reversed, axis),
        )
        order = _order(y, z, axis)
        if order is not None:
            shown = ", ".join(map(str, order[:12])) + (", ..." if len(order) > 12 else "")
            yield Pattern(
                f"permuted-{name}s",
                f"Your result has its {name}s in another order: {shown}.",
                "A permutation that queries and keys share leaves scores as they are; caches and other kernels see it.",
                functools.partial(_permuted, axis),
            )


def _with_row_constant(right: Values, seen: Values) -> Values | None:
    if right.shape != seen.shape or not right.size or not right.ndim or right.shape[-1] < 2:
        return right
    return np.asarray(right + np.mean(seen - right, axis=-1, keepdims=True))


def _permuted(axis: int, right: Values, seen: Values) -> Values | None:
    order = _order(right, seen.astype(np.float64), axis) if right.ndim >= axis and right.shape == seen.shape else None
    return None if order is None else np.asarray(np.take(right, order, axis=-axis))


def _order(y: Values, z: Values, axis: int) -> list[int] | None:
    """Which slice of y each slice of z is nearest to, if no two are the same one and it is not the order as it was."""
    n = y.shape[-axis]
    if not 2 < n <= 128 or y.size > 2**16:
        return None
    a, b = (np.moveaxis(t, -axis, 0).reshape(n, -1) for t in (y, z))
    apart = np.abs(b[:, None, :] - a[None, :, :]).max(axis=-1)
    order = apart.argmin(axis=1).tolist()
    return order if sorted(order) == list(range(n)) and order != list(range(n)) else None


def _transposed(axes: tuple[int, ...], right: Values, seen: Values) -> Values | None:
    return np.asarray(np.transpose(right, axes)) if right.ndim == len(axes) else None


def _of_other_shape(y: Values, z: Values) -> Iterator[Pattern]:
    if y.ndim != z.ndim or sorted(y.shape) != sorted(z.shape):
        return
    for axes in permutations(range(y.ndim)):
        if tuple(y.shape[a] for a in axes) == z.shape:
            yield Pattern(
                "axes-exchanged",
                f"Your result has its axes in the order {axes}.",
                "Move them back: the order is (..., heads, queries, keys) or (..., sequence, channels).",
                functools.partial(_transposed, axes),
            )


def outcome_of(pattern: Pattern, failure: Failure) -> Outcome | None:
    """What a pattern makes of a whole failure; nothing of one that gave no results."""
    if failure.seen.event == RAISED:
        return None
    results: list[tuple[Any, ...]] = []
    for right, seen in zip(failure.right, failure.seen.results, strict=False):
        guesses = [pattern.guess(np.asarray(y, dtype=np.float64), z) for y, z in zip(right, seen, strict=False)]
        if any(g is None for g in guesses):
            return None
        results.append(tuple(guesses))
    return Outcome(tuple(results), failure.seen.event)
