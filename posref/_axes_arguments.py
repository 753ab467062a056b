"""Checks of the arguments of rotary encodings on several axes. Each error is one line, as in :mod:`posref._arguments`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from posref._arguments import LARGEST_POSITION, broadcasts, choice, integer, shown

RULES = ("chunked", "interleaved", "interleaved_spare", "round_robin", "balanced", "alternating")
LADDERS = ("shared", "per_axis", "dealt")
NORMALIZATIONS = ("separate", "max", "min")


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether it holds several values: one per axis."""
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))


def per_axis(value: object, name: str, *, axes: int | None = None, least: int = 1) -> list[int]:
    """A whole number for each axis."""
    if not is_list(value):
        raise TypeError(f"{name} must be a sequence of integers, one per axis, got {shown(value)}")
    numbers = [integer(n, f"{name}[{a}]", least=least) for a, n in enumerate(value)]
    if not numbers or len(numbers) != (axes or len(numbers)):
        raise ValueError(f"{name} must have one integer per axis{f', {axes}' if axes else ''}, got {shown(value)}")
    return numbers


def one_per_axis(value: Any, name: str, axes: int) -> list[Any]:
    """One value for all axes, or one for each."""
    if not is_list(value):
        return [value] * axes
    if len(value) < axes:
        raise ValueError(f"{name} must be one, or one for each of {axes} axes, got {shown(value)}")
    return list(value)[:axes]


def map_arguments(sections: object, rule: object, tail: object) -> tuple[list[int], str, int]:
    """Pairs per axis, rule and tail of an axis map, once they are known to fit each other."""
    counts, rule = per_axis(sections, "sections", least=0), choice(rule, "rule", RULES)
    axes, last = len(counts), len(counts) - 1
    if not sum(counts):
        raise ValueError(f"sections must have at least one pair, got {shown(sections)}")
    if rule == "balanced" and axes not in (2, 3):
        raise ValueError(f"sections must have 2 or 3 axes for the rule 'balanced', got {shown(sections)}")
    if rule == "balanced" and axes == 3 and not counts[0]:
        raise ValueError(f"sections must have a pair of axis 0 for the rule 'balanced', got {shown(sections)}")
    if tail is not None:
        if rule != "alternating":
            raise ValueError(f"tail must be None for the rule {rule!r}, got {shown(tail)}")
        last = integer(tail, "tail", least=-axes)
        if last >= axes:
            raise ValueError(f"tail must be an axis, {-axes} to {axes - 1}, got {last}")
    if rule == "alternating" and len({n for a, n in enumerate(counts) if a != last % axes}) > 1:
        raise ValueError(f"sections must be equal but for the tail's for the rule 'alternating', got {shown(sections)}")
    return counts, rule, last % axes


def require_one_for_all(ladder: str, **given: object) -> None:
    """Refuse lists where there is one ladder for all axes."""
    for name, value in given.items():
        if is_list(value):
            raise ValueError(f"{name} must be one for all axes for the ladder {ladder!r}, got {shown(value)}")


def dealt_order(axes: Sequence[int]) -> list[int]:
    """Which frequency of the whole ladder each pair gets where they are dealt out to the axes in turn."""
    n, seen, order = max(axes) + 1, [0] * (max(axes) + 1), []
    for a in axes:
        order.append(n * seen[a] + a)
        seen[a] += 1
    if max(order) >= len(order):
        raise ValueError(
            f"axis_map must have as many pairs of each axis as a deal in turn gives for 'dealt', got {seen}"
        )
    return order


def grid_arguments(sizes: object, block: object, start: object) -> tuple[list[int], list[int], list[int]]:
    """Cells, cells per block and first position, of each axis."""
    cells = per_axis(sizes, "sizes", least=0)
    inner = [max(n, 1) for n in cells] if block is None else per_axis(block, "block", axes=len(cells))
    if any(n % b for n, b in zip(cells, inner, strict=True)):
        raise ValueError(f"block must divide sizes, {tuple(cells)}, got {shown(block)}")
    if is_list(start):
        return cells, inner, per_axis(start, "start", axes=len(cells), least=-LARGEST_POSITION)
    return cells, inner, [integer(start, "start", least=-LARGEST_POSITION)] * len(cells)


def grid_divisors(cells: list[int], normalize: object) -> list[int]:
    """What each axis' coordinates are divided by."""
    how = choice(normalize, "normalize", NORMALIZATIONS)
    return cells if how == "separate" else [max(cells) if how == "max" else min(cells)] * len(cells)


def axis_rows(positions: Sequence[int], axes: int) -> None:
    """Require a row of positions for every axis."""
    if not len(positions) or positions[0] < axes:
        raise ValueError(
            f"positions must be (axes, ...) with a row for each of {axes} axes, got shape {tuple(positions)}"
        )


def mixed_shape(positions: Sequence[int], frequencies: Sequence[int]) -> None:
    """Require (axes, ..., sequence) and (axes, ..., pairs) to fit each other."""
    for name, shape, last in (("positions", positions, "sequence"), ("frequencies", frequencies, "pairs")):
        if len(shape) < 2 or not shape[0] or (name == "frequencies" and not shape[-1]):
            raise ValueError(f"{name} must be (axes, ..., {last}), got shape {tuple(shape)}")
    if positions[0] != frequencies[0]:
        raise ValueError(f"frequencies must have a row for each of {positions[0]} axes, got shape {tuple(frequencies)}")
    between = zip(reversed(positions[1:-1]), reversed(frequencies[1:-1]), strict=False)
    if not all(n == m or 1 in (n, m) for n, m in between):
        shapes = f"of shape {tuple(frequencies)} must broadcast against positions of shape {tuple(positions)}"
        raise ValueError(f"frequencies {shapes} between the first and the last axis")


def channel_pairs(x: Sequence[int], cos: Sequence[int], sin: Sequence[int], offset: int) -> int:
    """The number of pairs in tables of one column per channel, once the three shapes are known to fit each other."""
    if not len(x):
        raise ValueError("x must have a channel axis, got a scalar")
    if not len(cos) or tuple(cos) != tuple(sin):
        raise ValueError(f"cos and sin must have the same shape (..., channels), got {tuple(cos)} and {tuple(sin)}")
    if cos[-1] % 2 or not 2 <= cos[-1] <= x[-1] - offset:
        wanted = (
            f"2 to {max(0, x[-1] - offset)} columns, an even number, for x with {x[-1]} channels and offset {offset}"
        )
        raise ValueError(f"cos and sin must have {wanted}, got {cos[-1]}")
    if not broadcasts(cos[:-1], x[:-1]):
        raise ValueError(f"cos and sin of shape {tuple(cos)} must broadcast against x.shape[:-1] = {tuple(x[:-1])}")
    return int(cos[-1]) // 2
