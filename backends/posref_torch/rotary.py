"""Rotary encodings on torch: tables from posref_array, the rotation without concatenation. See posref for the formulas."""

from __future__ import annotations

import torch
from torch import Tensor

from posref import Scaling
from posref._arguments import boolean
from posref_array import rotary
from posref_array.rotary import rotation_arguments
from posref_torch._bind import on_torch, require_tensors
from posref_torch._rotation import rotate_into, rotated, writes_directly

rope_inv_freq = on_torch(rotary.rope_inv_freq)
rope_pixel_freq = on_torch(rotary.rope_pixel_freq)
rope_cos_sin = on_torch(rotary.rope_cos_sin)
rope_table = on_torch(rotary.rope_table)
_table_of_x = on_torch(rotary.table_of_x)


def rope_apply(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    layout: str = "half",
    output_layout: str | None = None,
    offset: int = 0,
    inverse: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Rotate pairs of channels, computed in float32 or float64 and rounded once to x's type: :func:`posref.rope_apply`.

    With ``out``, and for large x, the result is written straight to its place, block by block; with gradients, under
    ``torch.compile`` and in ``torch.func`` it is a plain formula. ``out`` may be x; it may not overlap x in another way.
    """
    require_tensors({"x": x, "cos": cos, "sin": sin, "out": out})
    pairs, output_layout = rotation_arguments(x, cos, sin, layout, output_layout, offset, out)
    layouts, inverse, end = (layout, output_layout), boolean(inverse, "inverse"), offset + 2 * pairs
    whole = 2 * pairs == x.shape[-1]
    block = x if whole else x[..., offset:end]
    straight = writes_directly(x, cos, sin, out)
    if out is None and not straight:
        turned = rotated(block, cos, sin, layouts, inverse=inverse)
        return turned if whole else torch.cat([x[..., :offset], turned, x[..., end:]], dim=-1)
    result = torch.empty_like(x, memory_format=torch.contiguous_format) if out is None else out
    to = result if whole else result[..., offset:end]
    if straight:
        rotate_into(to, block, cos, sin, layouts, inverse=inverse, fresh=out is None)
    else:
        to.copy_(rotated(block, cos, sin, layouts, inverse=inverse))
    if result is not x and not whole:
        result[..., :offset], result[..., end:] = x[..., :offset], x[..., end:]
    return result


def rope(
    x: Tensor,
    positions: Tensor,
    *,
    dim: int | None = None,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    seq_len: int | None = None,
    layout: str = "half",
    output_layout: str | None = None,
    offset: int = 0,
    inverse: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Rotary encoding in one call, like x: a table made in float64, then :func:`rope_apply`. See :func:`posref.rope`."""
    cos, sin = _table_of_x(x, positions, dim=dim, offset=offset, base=base, scaling=scaling, seq_len=seq_len)
    return rope_apply(x, cos, sin, layout=layout, output_layout=output_layout, offset=offset, inverse=inverse, out=out)
