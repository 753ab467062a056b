"""The rotation without concatenation: straight into memory, block by block."""

from __future__ import annotations

import torch
from torch import Tensor

from posref_torch._bind import traced

BLOCK = 2**17  # elements per thread and block: what a rotation needs of them in float32 stays in the caches


def writes_directly(*tensors: Tensor) -> bool:
    """Whether nothing watches the single steps: no gradient, no compiler, no transform."""
    return not (traced() or (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)))


def rotate_into(
    out: Tensor, x: Tensor, cos: Tensor, sin: Tensor, layouts: tuple[str, str], *, inverse: bool, fresh: bool
) -> None:
    """Rotate x, of which all channels are in pairs, to ``out``, which may be x unless it is fresh memory.

    float16 and bfloat16 are computed in float32 without a copy of the whole: a block's reads come before its writes.
    """
    work = torch.promote_types(torch.promote_types(x.dtype, torch.float32), torch.promote_types(cos.dtype, sin.dtype))
    cos, sin = cos.to(work), sin.to(work)
    minus, plus = (1, -1) if inverse else (-1, 1)
    fresh = fresh and work == x.dtype
    for y, part, c, s in _blocks(out, x, cos, sin):
        a, b = _members(part.to(work), layouts[0])
        to_first, to_second = _members(y, layouts[1])
        first = torch.mul(a, c, out=to_first if fresh else None).addcmul_(b, s, value=minus)
        second = torch.mul(b, c, out=to_second if fresh else None).addcmul_(a, s, value=plus)
        if not fresh:
            to_first.copy_(first)
            to_second.copy_(second)


def _blocks(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor) -> list[tuple[Tensor, ...]]:
    """The same rows of each, few enough for the caches of the host; one block on a device, whose kernels want them all."""
    rows = x.shape[:-1]
    most = BLOCK * torch.get_num_threads()
    if x.device.type != "cpu" or x.numel() <= most:
        return [(out, x, cos, sin)]
    axis = max(range(len(rows)), key=rows.__getitem__)
    length = max(1, most * rows[axis] // x.numel())
    cos, sin = cos.expand(*rows, -1), sin.expand(*rows, -1)
    return list(zip(*(torch.split(t, length, axis) for t in (out, x, cos, sin)), strict=True))


def _members(block: Tensor, layout: str) -> tuple[Tensor, Tensor]:
    """Views of the first and of the second members of all pairs."""
    if layout == "half":
        first, second = block.chunk(2, -1)
        return first, second
    return block[..., 0::2], block[..., 1::2]
