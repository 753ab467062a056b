"""What is no rotation: channelwise tables. A rotation where the two angles of a pair are equal, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posref.rotary.axes import rope_axes_cos_sin, rope_axes_inv_freq
from posref.rotary.axis_maps import rope_axis_map
from posref.rotary.channelwise import rope_apply_channels
from posref.rotary.frequencies import rope_inv_freq
from posref.rotary.grids import grid_positions
from posref.rotary.rotation import rope_apply

seeds = st.integers(0, 2**32 - 1)
layouts = st.sampled_from(["half", "interleaved"])


def draw(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


def doubled(table: Any, layout: str) -> Any:
    """One column per channel, from one per pair."""
    return np.concatenate([table, table], axis=-1) if layout == "half" else np.repeat(table, 2, axis=-1)


@given(seed=seeds, pairs=st.integers(1, 5), offset=st.integers(0, 3), rest=st.integers(0, 3), layout=layouts)
def test_equal_angles_are_a_rotation(seed: int, pairs: int, offset: int, rest: int, layout: str) -> None:
    """To the last bit; and one angle that differs shows in its channel alone."""
    x, cos, sin = draw(seed, 3, offset + 2 * pairs + rest), draw(seed + 1, 3, pairs), draw(seed + 2, 3, pairs)
    c, s = doubled(cos, layout), doubled(sin, layout)
    turned = rope_apply_channels(x, c, s, layout=layout, offset=offset)
    assert np.array_equal(turned, rope_apply(x, cos, sin, layout=layout, offset=offset))
    s[:, -1] += 1.0
    changed = rope_apply_channels(x, c, s, layout=layout, offset=offset) != turned
    assert np.flatnonzero(changed.any(axis=0)).tolist() == [offset + 2 * pairs - 1]


@given(seed=seeds, pairs=st.integers(1, 5), layout=layouts)
def test_it_is_the_code_that_models_have(seed: int, pairs: int, layout: str) -> None:
    """X * cos + rotate_half(x) * sin, with the pairs where the layout has them."""
    x, cos, sin = (draw(seed + i, 2, 2 * pairs) for i in range(3))
    first, second = (x[:, :pairs], x[:, pairs:]) if layout == "half" else (x[:, 0::2], x[:, 1::2])
    rotated = np.concatenate([-second, first], axis=-1)
    if layout == "interleaved":
        rotated = np.stack([-second, first], axis=-1).reshape(x.shape)
    assert np.array_equal(rope_apply_channels(x, cos, sin, layout=layout), x * cos + rotated * sin)


# --- the two models that do it ---------------------------------------------------------------------------------------

TEXT = np.tile(np.arange(6), (4, 1))
IMAGE = np.stack([np.arange(6), *grid_positions((1, 2, 3))[::-1]])  # p, w, h, t


def xdrope(x: Any, positions: Any) -> Any:
    """As transformers has it, 8 channels: each axis owns two channels, not one pair."""
    w, channels = np.tile(rope_inv_freq(8), 2), rope_axis_map((2, 2, 2, 2))
    return rope_apply_channels(x, *rope_axes_cos_sin(positions, w, channels))


def vjepa2(x: Any, positions: Any, m: int = 4) -> Any:
    tables = rope_axes_cos_sin(positions, np.tile(rope_inv_freq(m), 6), rope_axis_map((m, m, m)))
    return rope_apply_channels(x, *tables, layout="interleaved")


def split_pairs(x: Any, positions: Any) -> Any:
    """XD-RoPE with the pairs split, a rotation."""
    axis_map = rope_axis_map((1, 1, 1, 1))
    return rope_apply(x, *rope_axes_cos_sin(positions, rope_inv_freq(8), axis_map))


def repeated(x: Any, positions: Any, m: int = 4) -> Any:
    """V-JEPA 2 with the tables repeated as the pairs are, a rotation."""
    axis_map = rope_axis_map((m // 2, m // 2, m // 2))
    w = rope_axes_inv_freq(axis_map, ladder="per_axis")
    return rope_apply(x, *rope_axes_cos_sin(positions, w, axis_map), layout="interleaved")


def norm_change(encode: Any, channels: int, positions: Any) -> float:
    x = draw(7, positions.shape[1], channels)
    return float(np.abs(np.linalg.norm(encode(x, positions), axis=-1) / np.linalg.norm(x, axis=-1) - 1).max())


def score_change(encode: Any, channels: int, positions: Any) -> float:
    """How much the scores change when all positions move by 5."""
    q, k = draw(8, positions.shape[1], channels), draw(9, positions.shape[1], channels)
    here, there = (encode(q, positions + s) @ encode(k, positions + s).T for s in (0, 5))
    return float(np.abs(here - there).max())


VIDEO = grid_positions((2, 2, 3))


@pytest.mark.parametrize(("encode", "channels", "positions"), [(xdrope, 8, IMAGE), (vjepa2, 14, VIDEO)])
def test_norms_and_relative_scores_are_lost(encode: Any, channels: int, positions: Any) -> None:
    assert norm_change(encode, channels, positions) > 0.05
    assert score_change(encode, channels, positions) > 0.05


@pytest.mark.parametrize(("encode", "channels", "positions"), [(split_pairs, 8, IMAGE), (repeated, 14, VIDEO)])
def test_the_rotations_beside_them_keep_both(encode: Any, channels: int, positions: Any) -> None:
    assert norm_change(encode, channels, positions) < 1e-14  # 14 squares, their sums, a root, a quotient: 40 * 2**-53
    assert (
        score_change(encode, channels, positions) < 1e-13
    )  # 14 products below 16, each of two rotations: 14 * 16 * 4 * 2**-53


def test_xdrope_is_a_rotation_on_text() -> None:
    """Equal positions: nothing shows before there is an image."""
    x = draw(10, 6, 8)
    assert np.array_equal(xdrope(x, TEXT), split_pairs(x, TEXT))
    assert np.abs(xdrope(x, IMAGE) - split_pairs(x, IMAGE)).max() > 0.1


def test_vjepa2_is_none_on_a_line_either() -> None:
    """The tiling mixes frequencies, whatever the positions."""
    assert norm_change(vjepa2, 14, np.tile(np.arange(6), (3, 1))) > 0.05


def test_other_channels_pass() -> None:
    x = draw(11, 12, 14)
    assert np.array_equal(vjepa2(x, VIDEO)[:, 12:], x[:, 12:])
