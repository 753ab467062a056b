"""PyTorch, on any device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from posref_conformance.arrays._interface import BFLOAT16, FLOATS, INTEGERS, NotItsArray


class Library:
    """Tensors on one device; strides are kept."""

    name = "torch"
    differentiates = True

    def __init__(self, device: Any = None) -> None:
        self._device = torch.device(device or "cpu")
        without = ("float64",) if self._device.type == "mps" else ()
        self.dtypes = tuple(d for d in FLOATS + INTEGERS if d not in without)

    def make(self, array: NDArray[Any]) -> Any:
        plain = array.copy(order="C")  # torch writes through read-only memory without a word
        if plain.dtype == BFLOAT16:
            values = torch.from_numpy(plain.view(np.int16)).view(torch.bfloat16)
        else:
            values = torch.from_numpy(plain)
        strides = [s // array.itemsize for s in array.strides]
        if array.flags.c_contiguous or min(strides) < 0:  # torch has no negative strides
            return values.to(self._device)
        dense = values[tuple(slice(1) if not s else slice(None) for s in strides)]  # a stride of 0 repeats one element
        extent = 1 + sum((n - 1) * s for n, s in zip(dense.shape, strides, strict=True) if dense.numel())
        gaps = math.nan if values.is_floating_point() else 0 if values.dtype == torch.bool else -1  # for who reads them
        memory = torch.full((extent,), gaps, dtype=values.dtype, device=self._device)
        return memory.as_strided(dense.shape, strides).copy_(dense).expand(array.shape)

    def read(self, array: Any) -> NDArray[Any]:
        if not isinstance(array, torch.Tensor):
            raise NotItsArray(f"a {type(array).__name__}, not a torch.Tensor")
        if array.is_meta:
            raise NotItsArray("a tensor on the meta device, which has no values")
        host = array.detach().cpu()
        if host.dtype == torch.bfloat16:
            return host.contiguous().view(torch.int16).numpy().view(BFLOAT16)
        return host.numpy()

    def dtype(self, array: Any) -> str:
        return str(array.dtype).removeprefix("torch.")

    def device(self, array: Any) -> str:
        return str(array.device)

    def shares(self, a: Any, b: Any) -> bool:
        return bool(a.numel() and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr())

    def gradient(self, function: Callable[[Any], Any], x: Any, cotangents: tuple[Any, ...], again: Any = None) -> Any:
        leaf = x.detach().requires_grad_()
        results = function(leaf)
        results = results if isinstance(results, tuple) else (results,)
        if not all(isinstance(y, torch.Tensor) for y in results) or not any(y.requires_grad for y in results):
            raise NotImplementedError("the result carries no gradient")
        given = [c.requires_grad_(again is not None) for c in cotangents]
        followed = [(y, c) for y, c in zip(results, given, strict=True) if y.requires_grad]
        (ys, cs) = zip(*followed, strict=True)
        (first,) = torch.autograd.grad(ys, leaf, cs, create_graph=again is not None)
        if again is None:
            return first
        second = torch.autograd.grad(first, given[0], again, allow_unused=True)[0] if first.requires_grad else None
        if second is None:  # a backward pass that autograd cannot follow
            raise NotImplementedError("the gradient carries no gradient")
        return second
