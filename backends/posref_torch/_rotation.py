"""The rotation, twice: as a formula, and without concatenation straight into memory. Both give the same bits."""

from __future__ import annotations

import torch
from torch import Tensor

from posref_torch._bind import traced

BLOCK = 2**17  # elements per thread and block: what a rotation needs of them in float32 stays in the caches


def writes_directly(x: Tensor, cos: Tensor, sin: Tensor, out: Tensor | None) -> bool:
    """Whether it pays, and nothing watches the single steps: no gradient, no compiler, no transform."""
    if traced() or (out is None and x.numel() <= BLOCK):  # of little, a concatenation costs less than two more steps
        return False
    return not (torch.is_grad_enabled() and any(t.requires_grad for t in (x, cos, sin, x if out is None else out)))


def rotated(x: Tensor, cos: Tensor, sin: Tensor, layouts: tuple[str, str], *, inverse: bool) -> Tensor:
    """X, of which all channels are in pairs, rotated: to be differentiated, compiled and mapped."""
    x_type = x.dtype
    x, cos, sin = _working(x, cos, sin)
    minus, plus = (1, -1) if inverse else (-1, 1)
    a, b = _members(x, layouts[0])
    first, second = torch.addcmul(a * cos, b, sin, value=minus), torch.addcmul(b * cos, a, sin, value=plus)
    if layouts[1] == "half":
        return torch.cat([first, second], dim=-1).to(x_type)
    return torch.stack([first, second], dim=-1).flatten(-2).to(x_type)


def rotate_into(
    out: Tensor, x: Tensor, cos: Tensor, sin: Tensor, layouts: tuple[str, str], *, inverse: bool, fresh: bool
) -> None:
    """The same to ``out``, which may be x unless it is fresh memory.

    float16 and bfloat16 are computed in float32 without a copy of the whole: a block's reads come before its writes.
    """
    minus, plus = (1, -1) if inverse else (-1, 1)
    for to, *block in _blocks(out, x, cos, sin):
        part, c, s = _working(*block)
        a, b = _members(part, layouts[0])
        to_first, to_second = _members(to, layouts[1])
        direct = fresh and part.dtype == out.dtype
        first = torch.mul(a, c, out=to_first if direct else None).addcmul_(b, s, value=minus)
        second = torch.mul(b, c, out=to_second if direct else None).addcmul_(a, s, value=plus)
        if not direct:
            to_first.copy_(first)
            to_second.copy_(second)


def _working(*tensors: Tensor) -> list[Tensor]:
    """All in the type to compute in: float64 if any of them is, else float32."""
    work = torch.float64 if any(t.dtype == torch.float64 for t in tensors) else torch.float32
    return [t if t.dtype == work else t.to(work) for t in tensors]


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
