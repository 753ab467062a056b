"""Checks of the arguments of additive encodings. Each error is one line, as in :mod:`posref._arguments`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from posref._arguments import boolean, choice, even, integer, number, shown
from posref._axes_arguments import is_list, per_axis

ODD = ("error", "zero", "split")
NESTINGS = tuple("_".join(words) for words in itertools.permutations(("axis", "wave", "band")))
UNITS = {"radians": None, "half_turns": 2, "turns": 1}  # how many of them are a turn
NARROW = ("float32", "float16", "bfloat16")
KERNELS, SPACINGS = ("linear", "cubic", "spline"), ("uniform", "geometric")


def sinusoid_sizes(dim: object, endpoint: object, odd: object) -> tuple[int, int, float]:
    """Channels of sines and cosines, frequencies n, and the shift s of their exponents -k / (n - s)."""
    rule = choice(odd, "odd", ODD)
    if rule == "error":
        width = even(dim)
    else:
        width = integer(dim, "dim", least=2 if rule == "zero" else 1)
        width -= width % 2 if rule == "zero" else 0
    n = (width + 1) // 2
    if not boolean(endpoint, "endpoint"):
        return width, n, n - width / 2
    if n == 1:
        raise ValueError(
            f"dim must be > {dim} with endpoint=True, whose exponent is -k / (n - 1) for n frequencies, got {dim}"
        )
    return width, n, 1.0


def optional_integer(value: object, name: str) -> int | None:
    """A whole number of either sign, or None."""
    return None if value is None else integer(value, name, least=-(2**53))


def out_of_rows(rows: int, offset: int, got: object = None) -> str:
    """What is said of positions without a row."""
    shift = f" and offset {offset}" if offset else ""
    came = "" if got is None else f", got {got}"
    return f"positions must be in {-offset} .. {rows - 1 - offset} for a table of {rows} rows{shift}{came}"


def axis_widths(dim: object, widths: object, axes: int) -> tuple[int, list[int]]:
    """The whole width, and the even number of channels that each axis has of it."""
    total = integer(dim, "dim")
    if widths is None:
        each = 2 * (total // (2 * axes))
        if not each:
            raise ValueError(f"dim must be >= {2 * axes}, two channels for each of {axes} axes, got {total}")
        return total, [each] * axes
    given = [even(n, f"widths[{a}]") for a, n in enumerate(per_axis(widths, "widths", axes=axes))]
    if sum(given) > total:
        raise ValueError(f"widths must not add up to more than dim {total}, got {shown(widths)}")
    return total, given


def axis_bases(base: object, axes: int) -> list[float]:
    """A base > 1 for each axis."""
    if not is_list(base):
        return [number(base, "base", above=1)] * axes
    if len(base) != axes:
        raise ValueError(f"base must be one, or one for each of {axes} axes, got {shown(base)}")
    return [number(b, f"base[{a}]", above=1) for a, b in enumerate(base)]


def nested_order(counts: Sequence[int], layout: object) -> list[int]:
    """Where each channel comes from among those of axis by axis, each with its first wave and then its second.

    ``counts`` are the bands of each axis; layout names what runs slowest first.
    """
    nesting = choice(layout, "layout", NESTINGS).split("_")
    place = ["axis", "wave", "band"].index
    channels = [(a, w, k) for a, n in enumerate(counts) for w in range(2) for k in range(n)]
    wanted = sorted(channels, key=lambda channel: [channel[place(word)] for word in nesting])
    where = {channel: i for i, channel in enumerate(channels)}
    return [where[channel] for channel in wanted]


def band_ends(n: object, first: object, last: object, spacing: object) -> tuple[int, float, float]:
    """How many bands there are, and between which numbers."""
    least = {"above": 0.0} if choice(spacing, "spacing", ("linear", "log")) == "log" else {}
    return integer(n, "n"), number(first, "first", **least), number(last, "last", **least)


def feature_shapes(coordinates: Sequence[int], frequencies: Sequence[int]) -> None:
    """Require (axes, ...) and (bands,) or (axes, features) to fit each other."""
    if not len(coordinates) or not coordinates[0]:
        raise ValueError(f"coordinates must be (axes, ...) with at least one axis, got shape {tuple(coordinates)}")
    if len(frequencies) not in (1, 2) or not frequencies[-1]:
        raise ValueError(f"frequencies must be (bands,) or (axes, features), got shape {tuple(frequencies)}")
    if len(frequencies) == 2 and frequencies[0] != coordinates[0]:
        raise ValueError(
            f"frequencies must have a row for each of {coordinates[0]} axes, got shape {tuple(frequencies)}"
        )


def resampling_sizes(
    table: Sequence[int], sizes: object, new_sizes: object, prefix: object
) -> tuple[list[int], list[int], int]:
    """Old and new cells per axis, and the rows before the grid, once they are known to fit the table."""
    old = per_axis(sizes, "sizes")
    new = per_axis(new_sizes, "new_sizes", axes=len(old), least=0)
    first = integer(prefix, "prefix", least=0)
    rows = first + math.prod(old)
    if len(table) != 2 or table[0] != rows:
        raise ValueError(
            f"table must be (rows, dim) with prefix + product of sizes = {rows} rows, got shape {tuple(table)}"
        )
    return old, new, first


def resampling_rule(
    kernel: object, cubic_a: object, antialias: object, align_corners: object, offset: object
) -> tuple[float, float]:
    """The cubic kernel's parameter and the offset, once the five are known to fit each other."""
    choice(kernel, "kernel", KERNELS)
    stretches, more = boolean(antialias, "antialias"), number(offset, "offset", above=-1)
    a = (-0.5 if stretches else -0.75) if cubic_a is None else number(cubic_a, "cubic_a")
    if boolean(align_corners, "align_corners"):
        if stretches:
            raise ValueError("align_corners must be False with antialias=True, got True")
        if more:
            raise ValueError(f"offset must be 0 with align_corners=True, got {shown(offset)}")
    return a, more


def resampling_spacing(
    spacing: object, old: Sequence[int], new: Sequence[int], kernel: object, *options: object
) -> bool:
    """Whether the old rows lie on a geometric progression, once sizes, kernel and other options are known to fit it."""
    geometric = choice(spacing, "spacing", SPACINGS) == "geometric"
    if not geometric:
        if kernel == "spline":
            raise ValueError("kernel must be 'linear' or 'cubic' with spacing='uniform', got 'spline'")
        return False
    if kernel == "cubic" or any(options):
        wanted = "must be 'uniform' with the kernel 'cubic', antialias, align_corners or an offset"
        raise ValueError(f"spacing {wanted}, got 'geometric'")
    least = 5 if kernel == "spline" else 3
    for name, sizes in (("sizes", old), ("new_sizes", new)):
        if any(n < least or n % 2 == 0 for n in sizes):
            raise ValueError(f"{name} must be odd and >= {least} with spacing='geometric', got {shown(tuple(sizes))}")
    for s, n in zip(old, new, strict=True):
        most = sum(Fraction(3, 2) ** k for k in range(s // 2))
        if not s // 2 <= n // 2 <= most:
            raise ValueError(
                f"new_sizes must be {s} .. {2 * int(most) + 1} with {s} old cells, a ratio of 1 .. 1.5, got {n}"
            )
    return True


def hierarchical_rows(table: Sequence[int], rows: object, alpha: object) -> tuple[int, float]:
    """The rows that are wanted, at most the square of those that are there, and alpha between 0 and 1."""
    if len(table) != 2:
        raise ValueError(f"table must be (rows, dim), got shape {tuple(table)}")
    wanted, share = integer(rows, "rows", least=0), number(alpha, "alpha", above=0)
    if share >= 1:
        raise ValueError(f"alpha must be a finite number > 0 and < 1, got {shown(alpha)}")
    if wanted > table[0] ** 2:
        raise ValueError(f"rows must be at most {table[0] ** 2}, the square of the table's {table[0]}, got {wanted}")
    return wanted, share
