"""Timestep embeddings: which sinusoids they are, and their odd width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import posref

T = np.array([0, 1, 10, 999, 0.25])


@pytest.mark.parametrize("order", ["sin_cos", "cos_sin"])
@pytest.mark.parametrize("endpoint", [False, True])
@pytest.mark.parametrize("dim", [4, 8, 64])
def test_shift_0_is_the_papers_and_shift_1_tensor2tensors(dim: int, endpoint: bool, order: str) -> None:
    def embedding(flip: bool, shift: float) -> Any:
        return posref.timestep_embedding(T, dim, flip_sin_to_cos=flip, downscale_freq_shift=shift, max_period=500.0)

    flip, shift = order == "cos_sin", float(endpoint)
    expected = posref.sinusoidal(T, dim, base=500.0, endpoint=endpoint, layout="concatenated", order=order)
    assert np.array_equal(embedding(flip, shift), expected)
    assert not np.array_equal(embedding(flip, 1 - shift), expected)
    assert not np.array_equal(embedding(not flip, shift), expected)


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_an_odd_width_ends_in_zeros(shift: float) -> None:
    odd, even = (posref.timestep_embedding(T, dim, downscale_freq_shift=shift) for dim in (7, 6))
    assert np.array_equal(odd[:, :6], even)
    assert odd[:, 6].tolist() == [0.0] * 5
    assert (np.abs(even).max(axis=0) > 0).all()


def test_scale_multiplies_the_timestep() -> None:
    scaled = posref.timestep_embedding([0.25], 8, scale=1000.0)
    assert np.array_equal(scaled, posref.timestep_embedding([250], 8))
    assert not np.array_equal(scaled, posref.timestep_embedding([0.25], 8))


def test_scale_is_exact() -> None:
    """One rounding in all: 0.1 * 3 in float64 would be another angle."""
    exact = posref.timestep_embedding([2.0**52], 4, scale=0.1 * 3, downscale_freq_shift=0.0)
    assert np.array_equal(exact, posref.timestep_embedding([0.1 * 3], 4, scale=2.0**52, downscale_freq_shift=0.0))
    assert not np.array_equal(exact, posref.timestep_embedding([2.0**52], 4, scale=0.3, downscale_freq_shift=0.0))


def test_worked_value() -> None:
    """At t = 10, width 8, cosines first, shift 0 (ADM, DiT, Stable Diffusion); worked in NumPy to seven digits."""
    worked = [-0.8390715, 0.5403023, 0.9950042, 0.99995, -0.5440211, 0.841471, 0.0998334, 0.0099998]
    embedding = posref.timestep_embedding(10, 8, flip_sin_to_cos=True, downscale_freq_shift=0.0)
    assert np.abs(embedding - worked).max() < 6e-7
    assert np.abs(posref.timestep_embedding(10, 8) - worked).max() > 0.1  # diffusers' defaults are DDPM's


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0)])
@pytest.mark.parametrize("dim", [5, 6])
def test_a_row_per_timestep(shape: tuple[int, ...], dim: int) -> None:
    embedding = posref.timestep_embedding(np.zeros(shape), dim)
    assert embedding.shape == (*shape, dim)
    assert embedding.dtype == np.float64
