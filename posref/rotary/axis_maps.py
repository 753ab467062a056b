"""Which axis each rotary pair takes its position from: one map for all of M-RoPE and for axial layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posref._arguments import as_array
from posref._axes_arguments import map_arguments


def rope_axis_map(sections: Sequence[int], *, rule: str = "chunked", tail: int | None = None) -> NDArray[np.int64]:
    r"""The axis A(i) that pair i takes its position from.

    With n axes of :math:`s_0 \ldots s_{n-1}` pairs each, :math:`a = i \bmod n`:

    - ``"chunked"``: :math:`s_0` pairs of axis 0, then :math:`s_1` of axis 1, ...
    - ``"interleaved"``: :math:`A(i) = a` where :math:`i < n s_a`, else 0
    - ``"interleaved_spare"``: :math:`A(i) = a` where :math:`i < n s_a`, else n, one axis more than there are sections
    - ``"round_robin"``: a, or where a has all its :math:`s_a` pairs the next axis after it (cyclically) that has not
    - ``"balanced"``: the axis with pairs left that has the smallest share placed / :math:`s_a`, the lower index in a tie, never
      the axis of the pair before if another has pairs left. With three axes the last pair is axis 0's and counts for none of this
    - ``"alternating"``: all axes but ``tail`` in turn, which have equally many pairs, then those of ``tail``

    Parameters
    ----------
    sections
        Pairs per axis, :math:`s_a \geq 0`; their sum is the number of pairs. The axes are numbered in this order, which is also
        the order of the rows of ``positions``: time, height, width for Qwen, height, width, time for ERNIE.
    rule
        One of the six above.
    tail
        For "alternating": the axis whose pairs come last; None is the last one. No other rule takes it.

    Returns
    -------
    (pairs,) int64

    Raises
    ------
    ValueError
        No axis, no pair, a negative section; "balanced" with other than 2 or 3 axes, or with three and none for axis 0;
        "alternating" with unequal sections beside the tail; a tail that is no axis, or that the rule does not take.

    Notes
    -----
    Source: Wang et al., Qwen2-VL (2409.12191), sec. 2.1, for M-RoPE; for the rules the code that runs the models: chunked in
    transformers' Qwen2-VL, Qwen2.5-VL and GLM-4V; interleaved in its Qwen3-VL and Qwen3.5; interleaved_spare in ggml (IMROPE);
    round_robin in sglang (``mrope_interleaved_glm``); balanced in vLLM (openPangu); alternating in transformers' ERNIE 4.5 VL
    and, with tail 0, in vLLM's and sglang's Bailing.

    Pitfalls: "interleaved" does not keep its sections: 8, 12, 12 gives 11, 11 and 10 pairs, and the first section counts for
    nothing but the sum. Qwen3-VL's 24, 20, 20 ends in T, T, T, T in transformers, vLLM and sglang, in T, spare, spare, T in ggml,
    where llama.cpp sets the spare axis to 0: two pairs that do not turn. Sections whose sum is not the head's number of pairs:
    vLLM refuses them, sglang rescales them. ERNIE's own code takes positions as time, height, width all the same.

    Examples
    --------
    >>> rope_axis_map((2, 3, 3))
    array([0, 0, 1, 1, 1, 2, 2, 2])
    >>> rope_axis_map((2, 3, 3), rule="interleaved")
    array([0, 1, 2, 0, 1, 2, 0, 1])
    """
    counts, rule, last = map_arguments(sections, rule, tail)
    order = _alternating(counts, last) if rule == "alternating" else _RULES[rule](counts)
    return np.array(order, dtype=np.int64)


def checked_axis_map(value: ArrayLike) -> NDArray[np.int64]:
    """An axis map, whoever made it: a vector of integers from 0 on."""
    axes = as_array(value, "axis_map")
    if axes.dtype.kind not in "iu":
        raise TypeError(f"axis_map must be integers, got type {axes.dtype}")
    if axes.ndim != 1 or not axes.size:
        raise ValueError(f"axis_map must be a vector with at least one pair, got shape {axes.shape}")
    if int(axes.min()) < 0:
        raise ValueError(f"axis_map must be axes from 0 on, got {axes.min()}")
    return axes.astype(np.int64)


def _chunked(counts: list[int]) -> list[int]:
    return [a for a, n in enumerate(counts) for _ in range(n)]


def _interleaved(counts: list[int], otherwise: int = 0) -> list[int]:
    n = len(counts)
    return [i % n if i < n * counts[i % n] else otherwise for i in range(sum(counts))]


def _interleaved_spare(counts: list[int]) -> list[int]:
    return _interleaved(counts, otherwise=len(counts))


def _round_robin(counts: list[int]) -> list[int]:
    left, n, order = list(counts), len(counts), []
    for i in range(sum(counts)):
        axis = next(a % n for a in range(i, i + n) if left[a % n])
        left[axis] -= 1
        order.append(axis)
    return order


def _balanced(counts: list[int]) -> list[int]:
    if len(counts) == 2:
        return _evenly(counts)
    return [*_evenly([counts[0] - 1, *counts[1:]]), 0]


def _evenly(counts: list[int]) -> list[int]:
    placed, order = [0] * len(counts), [-1]
    for _ in range(sum(counts)):
        ready = [a for a, n in enumerate(counts) if placed[a] < n]
        others = [a for a in ready if a != order[-1]] or ready
        axis = min(others, key=lambda a: Fraction(placed[a], counts[a]))  # the first, so the lower index, of equal ones
        placed[axis] += 1
        order.append(axis)
    return order[1:]


def _alternating(counts: list[int], tail: int) -> list[int]:
    turns = [a for a in range(len(counts)) if a != tail]
    return turns * (counts[turns[0]] if turns else 0) + [tail] * counts[tail]


_RULES: dict[str, Callable[[list[int]], list[int]]] = {
    "chunked": _chunked,
    "interleaved": _interleaved,
    "interleaved_spare": _interleaved_spare,
    "round_robin": _round_robin,
    "balanced": _balanced,
}
