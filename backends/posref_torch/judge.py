"""Plain attention on torch. See posref for the formula."""

from __future__ import annotations

import contextlib

import array_api_compat.torch as xp
import torch
from torch import Tensor

from posref_array import judge
from posref_torch._bind import require_tensors


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Plain softmax attention, (..., q, e), computed in float32 or wider and rounded once: :func:`posref.attention`.

    Also inside ``torch.autocast``, which would take its products in 16 bits.
    """
    require_tensors({"q": q, "k": k, "v": v, "bias": bias, "mask": mask})
    with as_typed(q):
        return judge.attention(q, k, v, bias=bias, mask=mask, scale=scale, xp=xp)  # type: ignore[no-any-return]


def as_typed(q: Tensor | None) -> contextlib.AbstractContextManager[object]:
    """Operations in the types of their operands, whatever autocast wants."""
    kind = q.device.type if isinstance(q, Tensor) else "cpu"
    if not torch.amp.is_autocast_available(kind):  # the meta device
        return contextlib.nullcontext()
    return torch.autocast(kind, enabled=False)
