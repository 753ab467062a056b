"""FoPE. See posref for the formulas."""

from __future__ import annotations

from posref._arguments import integer, number
from posref_array._support import Array, Namespace, namespace, require_floating, working_type
from posref_array._tables import cos_sin_of


def fope_cos_sin(
    positions: Array,
    inv_freq: Array,
    cos_coef: Array,
    sin_coef: Array,
    pairs: int,
    *,
    pad_sin: float = 1.0,
    xp: Namespace | None = None,
) -> tuple[Array, Array]:
    """Mixed cosines and sines, of the coefficients' type: :func:`posref.fope_cos_sin`."""
    xp = namespace(xp, cos_coef)
    for name, array in (("inv_freq", inv_freq), ("cos_coef", cos_coef), ("sin_coef", sin_coef)):
        require_floating(name, array)
    width, padding = integer(pairs, "pairs"), number(pad_sin, "pad_sin")
    if inv_freq.ndim != 1 or not inv_freq.shape[0]:
        raise ValueError(f"inv_freq must be a vector with at least one frequency, got shape {tuple(inv_freq.shape)}")
    shape, n = tuple(cos_coef.shape), inv_freq.shape[0]
    if shape != tuple(sin_coef.shape) or len(shape) not in (2, 3):
        got = f"{shape} and {tuple(sin_coef.shape)}"
        raise ValueError(f"cos_coef and sin_coef must both be (heads, n, m) or (n, m), got {got}")
    if shape[-2] != n or not 1 <= shape[-1] <= width:
        wanted = f"a row for each of inv_freq's {n} and at most pairs = {width} columns"
        raise ValueError(f"cos_coef and sin_coef must have {wanted}, got {shape}")
    if len(shape) == 3 and not positions.ndim:
        raise ValueError("positions must have a sequence axis where the coefficients have heads, got a scalar")
    work = working_type(xp, cos_coef, sin_coef)
    tables = []
    for table, coef, rest in zip(
        cos_sin_of(positions, inv_freq, 1.0, work, xp), (cos_coef, sin_coef), (1.0, padding), strict=True
    ):
        heads = table if len(shape) == 2 else table[..., None, :, :]
        mixed = _mixed(heads, xp.astype(coef, work, copy=False), xp)
        wide = xp.broadcast_to(xp.zeros_like(mixed[..., :1]) + rest, (*mixed.shape[:-1], width - shape[-1]))
        tables.append(xp.astype(xp.concat([mixed, wide], axis=-1), coef.dtype, copy=False))
    return tables[0], tables[1]


def _mixed(table: Array, coef: Array, xp: Namespace) -> Array:
    """The matrix product; a scalar position is a row of its own."""
    if table.ndim > 1:
        return table @ coef
    return xp.reshape(xp.reshape(table, (1, -1)) @ coef, (coef.shape[-1],))
