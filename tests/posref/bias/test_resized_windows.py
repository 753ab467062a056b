"""The table of a window for another window: a grid of (2h - 1, 2w - 1) offsets, resampled; the class token's rows stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import posref

torch = pytest.importorskip("torch", reason="needs the torch extra")
DRAW = np.random.default_rng(31)
WINDOWS = [((3, 3), (5, 5)), ((4, 4), (3, 3)), ((2, 4), (3, 5))]
EPS = 2.0**-24


def offsets(window: tuple[int, ...]) -> list[int]:
    return [2 * n - 1 for n in window]


def resized(
    table: Any, old: tuple[int, int], new: tuple[int, int], *, rest: int = 0, **how: Any
) -> NDArray[np.float64]:
    grid, others = table[: len(table) - rest], table[len(table) - rest :]
    return np.concatenate([posref.resample_table(grid, offsets(old), offsets(new), **how), others])


@pytest.mark.parametrize(("old", "new"), WINDOWS)
@pytest.mark.parametrize("mode", ["bicubic", "bilinear"])
def test_swins_tables(old: tuple[int, int], new: tuple[int, int], mode: str) -> None:
    """Released code: torch's interpolate of each head's picture of offsets."""
    rows = int(np.prod(offsets(old)))
    table = DRAW.standard_normal((rows, 3))
    picture = torch.from_numpy(table.T.reshape(1, 3, *offsets(old)).copy())
    theirs = torch.nn.functional.interpolate(picture, size=offsets(new), mode=mode).reshape(3, -1).T
    ours = resized(table, old, new, kernel="cubic" if mode == "bicubic" else "linear")
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=0, atol=1e-13)  # weights and sums of 16 terms below 10
    swapped = resized(table, old[::-1], new, kernel="cubic" if mode == "bicubic" else "linear")
    assert (np.abs(swapped - ours).max() > 0.1) == (old[0] != old[1])


@pytest.mark.parametrize(("old", "new"), [w for w in WINDOWS if w[0][0] == w[0][1]])
def test_beits_tables(old: tuple[int, int], new: tuple[int, int]) -> None:
    """transformers: bilinear, and the class token's three rows as they are."""
    transformers = pytest.importorskip("transformers", reason="needs the peers extra")
    from transformers.models.beit.modeling_beit import BeitRelativePositionBias

    config = transformers.BeitConfig(image_size=tuple(16 * n for n in old), patch_size=16, num_attention_heads=3)
    module = BeitRelativePositionBias(config)
    table = DRAW.standard_normal(tuple(module.relative_position_bias_table.shape)).astype(np.float32)
    with torch.no_grad():
        module.relative_position_bias_table.copy_(torch.from_numpy(table))
        theirs = module(new)[0].double().numpy()
    larger = resized(table.astype(np.float64), old, new, rest=3, kernel="linear")
    ours = posref.indexed_bias(larger, posref.relative_position_index(new, class_token=True))
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=16 * 4 * EPS)  # four terms below 4, weights in float32


def test_the_same_window_is_the_same_table() -> None:
    table = DRAW.standard_normal((15 + 3, 2))
    assert np.array_equal(resized(table, (2, 3), (2, 3), rest=3), table)
    constant = resized(np.ones((18, 2)), (2, 3), (4, 5), rest=3)
    np.testing.assert_allclose(constant, 1.0, rtol=1e-15)
