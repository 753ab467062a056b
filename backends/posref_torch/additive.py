"""Encodings that are added to the embeddings, on torch. See posref for the formulas."""

from __future__ import annotations

import array_api_compat.torch as xp
from torch import Tensor

from posref._additive_arguments import out_of_rows
from posref_array import additive
from posref_torch._bind import on_torch, require_tensors

sinusoidal = on_torch(additive.sinusoidal)
timestep_embedding = on_torch(additive.timestep_embedding)
hierarchical_table = on_torch(additive.hierarchical_table)


def learned(table: Tensor, positions: Tensor, *, offset: int = 0) -> Tensor:
    """One row per position, positions.shape + (dim,): :func:`posref.learned`.

    Raises
    ------
    IndexError
        A position that has no row, on the CPU; a GPU ends in torch's assertion, later.
    """
    require_tensors({"table": table, "positions": positions})
    try:
        return additive.learned(table, positions, offset=offset, xp=xp)  # type: ignore[no-any-return]
    except IndexError:
        raise IndexError(out_of_rows(table.shape[0], offset)) from None
