"""Position ids of packed sequences. See posref for the rule."""

from __future__ import annotations

import numpy as np

from posref_array._support import Array, Namespace, device_of, host_copy, namespace, require_integers, widest_integer


def cu_seqlens_positions(cu_seqlens: Array, *, xp: Namespace | None = None) -> Array:
    """Each sequence counts from 0, (tokens,): :func:`posref.cu_seqlens_positions`. Waits for a device: values make the shape."""
    xp = namespace(xp, cu_seqlens)
    require_integers("cu_seqlens", cu_seqlens)
    if cu_seqlens.ndim != 1 or not cu_seqlens.shape[0]:
        raise ValueError(f"cu_seqlens must be a vector with at least one entry, got shape {tuple(cu_seqlens.shape)}")
    starts = host_copy(cu_seqlens, xp).astype(np.int64)
    if starts[0]:
        raise ValueError(f"cu_seqlens must start with 0, got {starts[0]}")
    lengths = starts[1:] - starts[:-1]
    if (lengths < 0).any():
        raise ValueError("cu_seqlens must not fall, got an entry below the one before it")
    positions = [t for n in lengths.tolist() for t in range(n)]
    device = device_of(cu_seqlens)
    return xp.asarray(positions, dtype=widest_integer(xp, device), device=device)
