"""Bias of the content by height and by width, and what is done to biases afterwards. See posref for the formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence

from posref._arguments import choice
from posref._score_arguments import decomposed
from posref_array._support import (
    Array,
    Namespace,
    device_of,
    namespace,
    require_floating,
    working_type,
)


def decomposed_bias(
    q: Array,
    height_table: Array,
    width_table: Array,
    q_size: Sequence[int],
    k_size: Sequence[int],
    *,
    rule: str = "exact",
    xp: Namespace | None = None,
) -> Array:
    """Bias by the distances on a grid, (..., q, k), of q's type, in float32 or wider: :func:`posref.decomposed_bias`."""
    xp = namespace(xp, q)
    tables = {"height_table": height_table, "width_table": width_table}
    for name, array in (("q", q), *tables.items()):
        require_floating(name, array)
    row = {"exact": _row, "float32": _row_in_float32}[choice(rule, "rule", ("exact", "float32"))]
    axes = decomposed(q.shape, {name: table.shape for name, table in tables.items()}, q_size, k_size)
    (q_height, k_height), (q_width, k_width) = axes
    work, leading = working_type(xp, q, height_table, width_table), tuple(q.shape[:-2])
    grid = xp.reshape(xp.astype(q, work, copy=False), (*leading, q_height, q_width, q.shape[-1]))
    places = (
        xp.asarray([row(i, j, *pair) for i in range(pair[0]) for j in range(pair[1])], device=device_of(q))
        for pair in axes
    )
    height, width = (  # (queries, keys, d) each
        xp.reshape(xp.take(xp.astype(table, work, copy=False), at, axis=0), (*pair, q.shape[-1]))
        for table, pair, at in zip(tables.values(), axes, places, strict=True)
    )
    vertical = grid @ xp.matrix_transpose(height)  # (..., q_height, q_width, k_height)
    horizontal = xp.sum(grid[..., None, :] * width, axis=-1)  # (..., q_height, q_width, k_width)
    both = vertical[..., :, None] + horizontal[..., None, :]
    return xp.astype(xp.reshape(both, (*leading, q_height * q_width, k_height * k_width)), q.dtype, copy=False)


def _row(i: int, j: int, queries: int, keys: int) -> int:
    """The row of a query and a key of one axis, counted in the steps of the finer grid."""
    back = keys - 1 - j
    return i * keys // queries + back if keys > queries else i + back * queries // keys


def _row_in_float32(i: int, j: int, queries: int, keys: int) -> int:
    step_q, step_k = (_single(max(a / b, 1.0)) for a, b in ((keys, queries), (queries, keys)))
    apart = _single(_single(i * step_q) - _single(j * step_k))
    return int(_single(apart + _single((keys - 1) * max(queries / keys, 1.0))))


def _single(x: float) -> float:
    """The nearest float32. Products and sums of two of them are rounded once, as 53 bits are 2 * 24 and more."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(mantissa * 2**24), exponent - 24)


def bias_gate(projection: Array, const: Array, *, xp: Namespace | None = None) -> Array:
    """Factor on the rows of a bias, (..., heads, q), of the projection's type: :func:`posref.bias_gate`."""
    xp = namespace(xp, projection)
    for name, array in (("projection", projection), ("const", const)):
        require_floating(name, array)
    if projection.ndim < 3 or projection.shape[-1] != 8:
        raise ValueError(f"projection must be (..., heads, q, 8), got shape {tuple(projection.shape)}")
    if tuple(const.shape) != tuple(projection.shape[-3:-2]):
        heads = projection.shape[-3]
        raise ValueError(f"const must have one number for each of {heads} heads, got shape {tuple(const.shape)}")
    work = working_type(xp, projection, const)
    wide = xp.astype(projection, work, copy=False)
    first, second = (1 / (1 + xp.exp(-xp.sum(four, axis=-1))) for four in (wide[..., :4], wide[..., 4:]))
    gate = 2 + first * (second * xp.astype(const, work, copy=False)[:, None] - 1)
    return xp.astype(gate, projection.dtype, copy=False)


def reset_cls(bias: Array, from_cls: Array, to_cls: Array, *, xp: Namespace | None = None) -> Array:
    """The bias with a number for the class token's row and one for its column, of its type: :func:`posref.reset_cls`."""
    xp = namespace(xp, bias)
    for name, array in (("bias", bias), ("from_cls", from_cls), ("to_cls", to_cls)):
        require_floating(name, array)
    if bias.ndim < 3:
        raise ValueError(f"bias must be (..., heads, q, k), got shape {tuple(bias.shape)}")
    for name, number in (("from_cls", from_cls), ("to_cls", to_cls)):
        if tuple(number.shape) != tuple(bias.shape[-3:-2]):
            heads = bias.shape[-3]
            raise ValueError(f"{name} must have one number for each of {heads} heads, got shape {tuple(number.shape)}")
    row, column = (xp.arange(n, device=device_of(bias)) == 0 for n in bias.shape[-2:])
    theirs, own = (xp.astype(number, bias.dtype)[:, None, None] for number in (to_cls, from_cls))
    return xp.where(row[:, None], own, xp.where(column, theirs, bias))
