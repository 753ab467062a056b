"""Long contexts stay right, since tables are made in float64 and rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from array_kit import ROUNDOFF, U, once, outside, read

import posref
import posref_torch

POSITIONS = [0, 1, 4095, 131071, 2**20]
SCALINGS = [None, posref.YarnScaling(32.0, 4096), posref.Llama3Scaling(8.0, 8192, 1.0, 4.0)]


def in_float32(positions: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The planted fault: the angle in float32, as most implementations have it."""
    angle = positions.float()[:, None] * w.float()
    return angle.cos(), angle.sin()


@pytest.mark.parametrize("scaling", SCALINGS, ids=["plain", "yarn", "llama3"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_tables(dtype: torch.dtype, scaling: Any) -> None:
    positions, name = torch.tensor(POSITIONS), str(dtype)[6:]
    w, g = posref.rope_inv_freq(128, base=500000.0, scaling=scaling), posref.rope_attention_factor(scaling)
    expected = posref.rope_table(POSITIONS, 128, base=500000.0, scaling=scaling)
    phase = g * (14 * U * np.array(POSITIONS)[:, None] * w + 4 * U)
    got = posref_torch.rope_table(positions, 128, base=500000.0, scaling=scaling, dtype=dtype)
    wrong = (g * t.to(dtype) for t in in_float32(positions, torch.tensor(w)))
    for t, f, y in zip(got, wrong, expected, strict=True):
        assert outside(t, y, phase + once(name, y)) <= 1.0
        assert outside(f, y, phase + once(name, y)) > 2.0


@pytest.mark.parametrize("gradient", [False, True], ids=["straight", "formula"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_rope(dtype: torch.dtype, gradient: bool) -> None:
    x, positions = (
        torch.randn(3, len(POSITIONS), 128, generator=torch.Generator().manual_seed(1)),
        torch.tensor(POSITIONS),
    )
    x = x.to(dtype).requires_grad_(gradient)
    y = posref.rope(read(x.detach()), POSITIONS)
    a, b = np.abs(read(x.detach()[..., :64])), np.abs(read(x.detach()[..., 64:]))
    phase = 14 * U * np.array(POSITIONS)[:, None] * posref.rope_inv_freq(128)
    size = np.concatenate([(a + b) * (phase + 4 * ROUNDOFF["float32"])] * 2, axis=-1)
    limit = size + (1.5 * ROUNDOFF["bfloat16"] * np.abs(y) if dtype == torch.bfloat16 else 0.0)
    assert outside(posref_torch.rope(x, positions).detach(), y, limit) <= 1.0
    tables = in_float32(positions, torch.tensor(posref.rope_inv_freq(128)))
    assert outside(posref_torch.rope_apply(x, *tables).detach(), y, limit) > 2.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_sinusoids(dtype: torch.dtype) -> None:
    positions, name = torch.tensor(POSITIONS), str(dtype)[6:]
    y = posref.sinusoidal(POSITIONS, 64, layout="concatenated")
    limit = 14 * U * np.array(POSITIONS)[:, None] + 4 * U + once(name, y)
    assert outside(posref_torch.sinusoidal(positions, 64, layout="concatenated", dtype=dtype), y, limit) <= 1.0
    cos, sin = in_float32(positions, torch.tensor(posref.rope_inv_freq(64)))
    assert outside(torch.cat([sin, cos], -1).to(dtype), y, limit) > 2.0


def test_positions_that_float32_has_not() -> None:
    """2^24 + 1 is no float32: its neighbours are 2^24 and 2^24 + 2."""
    p = 2**24 + 1
    cos, _ = posref_torch.rope_table(torch.tensor([p]), 2, dtype=torch.float64)
    assert abs(cos.item() - posref.rope_table([p], 2)[0].item()) <= 14 * U * p
    assert abs(np.cos(2.0**24) - cos.item()) > 0.1
