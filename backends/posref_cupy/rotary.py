"""Rotary encodings on CuPy: tables from posref_array, the rotation in one kernel. See posref for the formulas."""

from __future__ import annotations

import functools
from typing import Any

from posref import Scaling
from posref._arguments import boolean
from posref_array import rotary
from posref_array._support import require_floating, type_name, working_type
from posref_array.rotary import rotation_arguments
from posref_cupy._bind import on_cupy, require_array
from posref_cupy._device import ready
from posref_cupy._plan import Turn, launch_shape, plan_of
from posref_cupy.kernels import source

Array = Any  # a cupy.ndarray

rope_inv_freq = on_cupy(rotary.rope_inv_freq)
rope_pixel_freq = on_cupy(rotary.rope_pixel_freq)
rope_cos_sin = on_cupy(rotary.rope_cos_sin)
rope_table = on_cupy(rotary.rope_table)
_table_of_x = on_cupy(rotary.table_of_x)


def rope_apply(
    x: Array,
    cos: Array,
    sin: Array,
    *,
    layout: str = "half",
    output_layout: str | None = None,
    offset: int = 0,
    inverse: bool = False,
    out: Array | None = None,
) -> Array:
    """Rotate pairs of channels in one kernel, computed in float32 or float64 and rounded once: :func:`posref.rope_apply`.

    x, cos, sin and out may have any strides; neighbouring channels in memory and at most three axes of rows, once evenly
    spaced ones are counted as one, need no copy. The types may be mixed; float64 anywhere makes the arithmetic float64.
    """
    cupy = ready()
    for name, array in (("x", x), ("cos", cos), ("sin", sin), ("out", x if out is None else out)):
        _require_x_like(cupy, name, array, x)
    pairs, output_layout = rotation_arguments(x, cos, sin, layout, output_layout, offset, out)
    turn = Turn(pairs, int(offset), layout, output_layout, boolean(inverse, "inverse"))
    with x.device:
        result = cupy.empty(x.shape, dtype=x.dtype) if out is None else out
        if not x.size:
            return result
        if out is not None:  # no thread may write what another one has yet to read
            cos, sin = _apart(cupy, cos, out), _apart(cupy, sin, out)
            if x is not out or layout != output_layout:
                x = _apart(cupy, x, out)
        _rotate(cupy, x, *_alike(cupy, cos, sin), result, turn)
    return result


def rope(
    x: Array,
    positions: Array,
    *,
    dim: int | None = None,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    seq_len: int | None = None,
    layout: str = "half",
    output_layout: str | None = None,
    offset: int = 0,
    inverse: bool = False,
    out: Array | None = None,
) -> Array:
    """Rotary encoding in one call, like x: a table made in float64, then :func:`rope_apply`. See :func:`posref.rope`.

    No single kernel does both: it would take sines in float64 anew for every head, which costs more than a table's way
    through memory.
    """
    require_array(ready(), "x", x)
    cos, sin = _table_of_x(x, positions, dim=dim, offset=offset, base=base, scaling=scaling, seq_len=seq_len)
    return rope_apply(x, cos, sin, layout=layout, output_layout=output_layout, offset=offset, inverse=inverse, out=out)


@functools.cache
def kernel(dtype: str, table_dtype: str) -> Any:
    """The compiled rotation for x and tables of these types; CuPy keeps one per device."""
    return ready().RawKernel(source("rope_apply", dtype=dtype, table_dtype=table_dtype), "rope_apply")


def _rotate(cupy: Any, x: Array, cos: Array, sin: Array, out: Array, turn: Turn) -> None:
    """Fill ``out``; what the kernel cannot walk along is first laid out so that it can."""
    plan = plan_of(x, cos, out, turn)
    if plan is not None:
        grid, block = launch_shape(plan)
        kernel(type_name(x.dtype), type_name(cos.dtype))(grid, block, (x, cos, sin, out, plan))
    elif not (x.flags.c_contiguous and out.flags.c_contiguous):
        rotated = cupy.empty(x.shape, dtype=x.dtype)
        _rotate(cupy, cupy.ascontiguousarray(x), cos, sin, rotated, turn)
        out[...] = rotated
    else:  # tables that are broadcast along every other axis
        full = (*x.shape[:-1], turn.pairs)
        cos, sin = (cupy.ascontiguousarray(cupy.broadcast_to(table, full)) for table in (cos, sin))
        _rotate(cupy, x, cos, sin, out, turn)


def _alike(cupy: Any, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Both tables in one type and one layout."""
    if cos.dtype != sin.dtype:
        work = working_type(cupy, cos, sin)
        cos, sin = cos.astype(work), sin.astype(work)
    if cos.strides != sin.strides or cos.strides[-1] != cos.itemsize:
        cos, sin = cupy.ascontiguousarray(cos), cupy.ascontiguousarray(sin)
    return cos, sin


def _apart(cupy: Any, array: Array, out: Array) -> Array:
    """The array, or a copy if writing to ``out`` could change it."""
    return array.copy() if cupy.may_share_memory(array, out) else array


def _require_x_like(cupy: Any, name: str, array: Any, x: Array) -> None:
    require_array(cupy, name, array)
    require_floating(name, array)
    if array.device != x.device:
        raise ValueError(f"{name} must be on x's device, {x.device}, got {array.device}")
