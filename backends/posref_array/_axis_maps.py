"""Maps from pairs to axes and their frequencies, as lists: few numbers, made once on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posref._arguments import choice
from posref._axes_arguments import LADDERS, dealt_order, one_per_axis, require_one_for_all
from posref_array._frequencies import Number, rotary
from posref_array._support import Namespace


def axis_order(counts: list[int], rule: str, tail: int) -> list[int]:
    """The axis of each pair."""
    n, pairs = len(counts), sum(counts)
    if rule in ("interleaved", "interleaved_spare"):
        order = [n if rule == "interleaved_spare" else 0] * pairs
        for axis, count in enumerate(counts):
            taken = range(axis, min(n * count, pairs), n)
            order[axis : n * count : n] = [axis] * len(taken)
        return order
    if rule == "alternating":
        others = [axis for axis in range(n) if axis != tail]
        return [others[i % (n - 1)] if i < pairs - counts[tail] else tail for i in range(pairs)]
    if rule == "balanced":
        reserved = [0] if n == 3 else []
        return _balanced([count - (axis in reserved) for axis, count in enumerate(counts)]) + reserved
    if rule == "round_robin":
        return _in_turn(counts)
    return [axis for axis, count in enumerate(counts) for _ in range(count)]


def frequencies(
    axes: Sequence[int], base: Any, ladder: str, scaling: Any, seq_len: int | None, xp: Namespace
) -> Sequence[Number]:
    """The frequency of each pair, to as many digits as can be had."""
    if choice(ladder, "ladder", LADDERS) == "per_axis":
        n = max(axes) + 1
        bases, scalings = one_per_axis(base, "base", n), one_per_axis(scaling, "scaling", n)
        counts = [sum(a == axis for a in axes) for axis in range(n)]
        own = [rotary(2 * c, bases[a], scalings[a], seq_len, xp) if c else () for a, c in enumerate(counts)]
        return [own[a][sum(before == a for before in axes[:i])] for i, a in enumerate(axes)]
    require_one_for_all(ladder, base=base, scaling=scaling)
    whole = rotary(2 * len(axes), base, scaling, seq_len, xp)
    return whole if ladder == "shared" else [whole[j] for j in dealt_order(axes)]


def _in_turn(counts: list[int]) -> list[int]:
    left, order = list(counts), list[int]()
    while len(order) < sum(counts):
        axis = len(order) % len(counts)
        while not left[axis]:
            axis = (axis + 1) % len(counts)
        left[axis] -= 1
        order.append(axis)
    return order


def _balanced(counts: list[int]) -> list[int]:
    order = list[int]()
    while len(order) < sum(counts):
        waiting = [a for a in range(len(counts)) if order.count(a) < counts[a]]
        fresh = [a for a in waiting if order[-1:] != [a]]
        order.append(min(fresh or waiting, key=lambda a: (order.count(a) / counts[a], a)))
    return order
