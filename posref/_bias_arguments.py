"""Checks of the arguments of biases. Each error is one line, as in :mod:`posref._arguments`."""

from __future__ import annotations

from collections.abc import Sequence

from posref._arguments import boolean, choice, integer, shown
from posref._axes_arguments import per_axis

SLOPE_RULES = ("released", "geometric")
ALIBI_FORMS = ("distance", "signed", "key", "past", "sqrt", "key_last", "key_first")
ALIGNMENTS = ("bottom_right", "top_left")
BUCKET_RULES = ("exact", "epsilon", "float32_sum")
TABLE_LAYOUTS = ("rows_first", "heads_first")
OFFSETS = ("query_minus_key", "key_minus_query", "absolute")
ACTIVATIONS = ("relu", "silu", "identity")
KERNELS = ("log", "power")
LIMITS = ("max", "min")


def head_range(heads: object, num_heads: int) -> tuple[int, int]:
    """First and end of a range of heads; None is all of them."""
    if heads is None:
        return 0, num_heads
    if not isinstance(heads, Sequence) or isinstance(heads, str) or len(heads) != 2:
        raise TypeError(f"heads must be (first, end), got {shown(heads)}")
    first, end = integer(heads[0], "heads[0]", least=0), integer(heads[1], "heads[1]", least=0)
    if not first < end <= num_heads:
        raise ValueError(f"heads must be a range of heads within 0 .. {num_heads}, got ({first}, {end})")
    return first, end


def window_arguments(
    sizes: object, offset: object, stride: object, reach: object, class_token: object
) -> tuple[list[int], list[int], int]:
    """Cells per axis, the largest offset per axis, and the step between queries."""
    cells, step = per_axis(sizes, "sizes", least=0), integer(stride, "stride")
    choice(offset, "offset", OFFSETS)
    boolean(class_token, "class_token")
    largest = [max(0, n - 1) for n in cells] if reach is None else per_axis(reach, "reach", axes=len(cells), least=0)
    return cells, largest, step


def mlp_shapes(x: Sequence[int], w1: Sequence[int], b1: Sequence[int], w2: Sequence[int], b2: Sequence[int]) -> None:
    """Require features and two linear layers to fit each other."""
    fits = len(x) and len(w1) == len(w2) == 2 and x[-1] == w1[1] and w1[0] == w2[1] and len(b1) == 1 and b1[0] == w1[0]
    if not fits or min(*w1, *w2) < 1:
        shapes = ", ".join(str(tuple(s)) for s in (x, w1, b1, w2))
        wanted = "(..., n), (hidden, n), (hidden,), (heads, hidden)"
        raise ValueError(f"features, w1, b1, w2 must be {wanted}, got {shapes}")
    if tuple(b2) != (w2[0],):
        raise ValueError(f"b2 must be ({w2[0]},), one per head, got {tuple(b2)}")


def norm_shapes(given: dict[str, Sequence[int]], hidden: Sequence[int]) -> None:
    """Require the vectors of a LayerNorm to have one number per hidden value."""
    for name, shape in given.items():
        if tuple(shape) != tuple(hidden):
            raise ValueError(f"{name} must be ({hidden[0]},), one per hidden value, got shape {tuple(shape)}")


def sandwich_start(start: object) -> int:
    """The first index of Sandwich's sum."""
    first = integer(start, "start", least=0)
    if first > 1:
        raise ValueError(f"start must be 0 or 1, got {first}")
    return first
