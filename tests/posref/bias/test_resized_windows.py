"""The table of a window for another window: a grid of (2h - 1, 2w - 1) offsets, resampled; the class token's rows stay."""

from __future__ import annotations

from collections.abc import Callable
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


def searched(size: int, new: int) -> NDArray[np.float64]:
    """The places of old offsets as BEiT's code finds them: the ratio halved to 1e-6 between 1.01 and 1.5."""
    left, right = 1.01, 1.5
    while right - left > 1e-6:
        q = (left + right) / 2
        left, right = (left, q) if (1 - q ** (size // 2)) / (1 - q) > new // 2 else (q, right)
    far = np.cumsum(q ** np.arange(size // 2))
    return np.concatenate([-far[::-1], [0.0], far])


def is_beits(resample: Callable[..., Any]) -> None:
    for old, new in (((14, 14), (24, 24)), ((4, 7), (5, 11))):
        (s, r), (n, m) = offsets(old), offsets(new)
        (y, x), t = (searched(s, n), searched(r, m)), [np.arange(-(k // 2), k // 2 + 1.0) for k in (n, m)]
        table = DRAW.standard_normal((s, r))
        lines = np.array([np.interp(t[0], y, column) for column in table.T])  # (r, n)
        lines = np.array([np.interp(t[1], x, row) for row in lines.T])
        got = resample(table.reshape(-1, 1), (s, r), (n, m), kernel="linear", spacing="geometric")
        # q is 1e-6 off, and so the k-th place by k^2 / 2 times 1.5^k or so of that: 4e-4 at the 13th; rows differ by 4 or so
        assert np.abs(got.reshape(n, m) - lines).max() < 2e-3
        c = DRAW.standard_normal((4, 4))
        cubic = np.polynomial.polynomial.polygrid2d(y / n, x / m, c)  # which the spline through it is, without a knot
        got = resample(cubic.reshape(-1, 1), (s, r), (n, m), kernel="spline", spacing="geometric")
        assert np.abs(got.reshape(n, m) - np.polynomial.polynomial.polygrid2d(t[0] / n, t[1] / m, c)).max() < 2e-3


def test_offsets_on_a_geometric_progression() -> None:
    is_beits(posref.resample_table)


@pytest.mark.parametrize(
    "wrong",
    [{"spacing": "uniform"}, {"spacing": "uniform", "align_corners": True}],
    ids=["by size", "corners on corners"],
)
def test_offsets_that_are_evenly_spaced_are_noticed(wrong: dict[str, Any]) -> None:
    def resample(table: Any, sizes: Any, new: Any, kernel: str, **how: Any) -> Any:
        return posref.resample_table(table, sizes, new, kernel="linear", **{**how, **wrong})

    with pytest.raises(AssertionError):
        is_beits(resample)


@pytest.mark.parametrize("kernel", ["linear", "spline"])
def test_the_middle_and_the_ends_stay(kernel: str) -> None:
    table = DRAW.standard_normal((9 * 13, 2))
    how: dict[str, Any] = {"kernel": kernel, "spacing": "geometric"}
    assert np.array_equal(posref.resample_table(table, (9, 13), (9, 13), **how), table)
    grown = posref.resample_table(table, (9, 13), (13, 19), **how).reshape(13, 19, 2)
    old = table.reshape(9, 13, 2)
    np.testing.assert_allclose(grown[::6, ::9], old[::4, ::6], rtol=0, atol=1e-13)
    np.testing.assert_allclose(posref.resample_table(np.ones((9, 1)), (9,), (15,), **how), 1.0, rtol=1e-14)


def test_the_same_window_is_the_same_table() -> None:
    table = DRAW.standard_normal((15 + 3, 2))
    assert np.array_equal(resized(table, (2, 3), (2, 3), rest=3), table)
    constant = resized(np.ones((18, 2)), (2, 3), (4, 5), rest=3)
    np.testing.assert_allclose(constant, 1.0, rtol=1e-15)
