"""What the modules share: rows of a table that are made once, and where the tokens are."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from posref._arguments import integer
from posref_torch._bind import traced

FEWEST = 256  # rows that are made at a time


class Tabulated(nn.Module):
    """A module with a table that has one row per position.

    Rows 0, 1, 2, ... are kept, and more are made when a longer sequence comes. They are neither parameters nor buffers:
    ``half()``, ``to_empty()`` and state dicts pass them by. They are made anew for another device or another type, from
    Python floats, so that no row depends on what came before.

    ``torch.compile`` reads them but adds none: what is missing is computed within the graph. ``reserve`` makes them first.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kept: tuple[Tensor, ...] = ()

    def table(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """The rows at any positions, computed."""
        raise NotImplementedError

    def reserve(self, length: int, *, dtype: torch.dtype = torch.float32, device: Any = None) -> tuple[Tensor, ...]:
        """Make and keep rows 0 .. length-1 or more, for inputs on ``device``: float64 for its like, float32 for all others."""
        rows = max(FEWEST, 1 << (integer(length, "length") - 1).bit_length())
        with torch.inference_mode(False), torch.no_grad():  # tensors of inference mode could never be trained with
            kept = self._kept = self.table(torch.arange(rows, device=device), dtype)
        return kept

    def rows(self, x: Tensor, positions: Tensor | int | None) -> tuple[Tensor, ...]:
        """The rows for the tokens of x (..., seq, channels), in float32 or, for float64, float64."""
        dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
        if isinstance(positions, Tensor):
            return self.table(positions, dtype)
        start, stop = token_range(x, positions)
        kept = self._kept  # once, as another thread may change it
        plain = type(x) in (Tensor, nn.Parameter)  # and not such as the fake tensors of an export
        if not (plain and _serve(kept, stop, dtype, x.device)):
            if traced() or not plain:
                return self.table(torch.arange(start, stop, device=x.device), dtype)
            kept = self.reserve(max(stop, 1), dtype=dtype, device=x.device)
        return tuple(t[start:stop] for t in kept)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": ()}  # copies and files do without


def _serve(kept: tuple[Tensor, ...], stop: int, dtype: torch.dtype, device: torch.device) -> bool:
    if not kept or exporting():  # kept rows would bound the length of an exported graph
        return False
    return kept[0].dtype == dtype and kept[0].device == device and stop <= kept[0].shape[0]


exporting = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)  # torch < 2.7 does not tell them apart


def token_range(x: Tensor, positions: int | None) -> tuple[int, int]:
    """First position and the one after the last, for a sequence that starts at ``positions``."""
    if x.ndim < 2:
        raise ValueError(f"x must be (..., seq, channels), got shape {tuple(x.shape)}")
    start = 0 if positions is None else positions
    if not isinstance(start, int) or isinstance(start, bool):
        raise TypeError(f"positions must be None, an integer or a tensor, got type {type(start).__name__}")
    if start < 0:
        raise ValueError(f"positions must be >= 0 where it is the first position of the sequence, got {start}")
    return start, start + x.shape[-2]
