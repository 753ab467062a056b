"""Tables of rotary encodings on several axes against more of transformers' models, those whose rotation is like others'."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from posref.rotary.axes import rope_axes_cos_sin, rope_axes_inv_freq, rope_axes_table
from posref.rotary.axis_maps import rope_axis_map
from posref.rotary.grids import grid_positions

torch = pytest.importorskip("torch", reason="needs torch, which transformers computes with")
pytest.importorskip("transformers", reason="needs the peers extra (transformers)")

pytestmark = pytest.mark.peers

U = 2.0**-24
GRID = grid_positions((3, 5))
NOTHING = torch.zeros(1)


def rotary(name: str, prefix: str, config: str, **values: Any) -> Any:
    module = f"transformers.models.{name}"
    settings = getattr(importlib.import_module(f"{module}.configuration_{name}"), config)(**values)
    return getattr(importlib.import_module(f"{module}.modeling_{name}"), f"{prefix}RotaryEmbedding")(settings), settings


def differ(theirs: Any, ours: Any, angle: Any, roundings: float = 40) -> float:
    """In multiples of the bound: a float32 power, the angle and the function err by some 40 u, relative to the angle and to 1."""
    theirs = np.asarray(theirs.double())
    assert theirs.shape == ours.shape
    return float((np.abs(theirs - ours) / (U * (4 + roundings * np.abs(angle)))).max())


def test_hy_v4_vl_is_interleaved_in_both_senses() -> None:
    model, _ = rotary("hy_v4_vl", "HYV4VL", "HYV4VLTextConfig")
    positions = np.stack([np.arange(15), *GRID])
    axis_map = rope_axis_map((12, 10, 10), rule="interleaved")
    cos, _ = model(NOTHING, torch.as_tensor(positions)[:, None])
    ours, _ = rope_axes_table(positions, axis_map)
    assert differ(cos[0, :, :32], ours, positions.max()) <= 1
    assert differ(cos[0, :, :32], rope_axes_table(positions, rope_axis_map((12, 10, 10)))[0], positions.max()) > 100


@pytest.mark.parametrize(("layer", "base", "pairs"), [("sliding_attention", 1e4, 32), ("full_attention", 1e6, 8)])
def test_neomme_shares_one_ladder_in_turn(layer: str, base: float, pairs: int) -> None:
    model, _ = rotary("neomme", "NeoMME", "NeoMMEConfig")
    axis_map = rope_axis_map((pairs // 2, pairs // 2), rule="round_robin")
    cos, _ = model(NOTHING, torch.as_tensor(GRID)[:, None], layer_type=layer)
    assert differ(cos[0, :, :pairs], rope_axes_table(GRID, axis_map, base=base)[0], 4) <= 1
    own, _ = rope_axes_table(GRID, axis_map, base=base, ladder="per_axis")
    assert differ(cos[0, :, :pairs], own, 4) > 100


def test_inkling2_has_the_column_first() -> None:
    model, _ = rotary("inkling2", "Inkling2Vision", "Inkling2VisionConfig", hidden_size=160, num_attention_heads=4)
    cos, _ = model(NOTHING, torch.as_tensor(GRID.T.copy()))
    axis_map = rope_axis_map((10, 10))
    assert differ(cos[:, ::2], rope_axes_table(GRID[::-1], axis_map, ladder="per_axis")[0], 4) <= 1
    assert differ(cos[:, ::2], rope_axes_table(GRID, axis_map, ladder="per_axis")[0], 4) > 100


def test_efficientloftr_counts_from_one_and_spans_all_channels() -> None:
    model, settings = rotary("efficientloftr", "EfficientLoFTR", "EfficientLoFTRConfig")
    cos, _ = model(torch.zeros(1, settings.hidden_size, 12, 20))
    h, w = cos.shape[1:3]
    assert h != w
    axis_map = rope_axis_map((64, 64), rule="round_robin")
    tables = [rope_axes_table(grid_positions((h, w), start=s), axis_map, ladder="per_axis")[0] for s in (1, 0)]
    assert differ(cos.reshape(h * w, -1)[:, ::2], tables[0], max(h, w)) <= 1
    assert differ(cos.reshape(h * w, -1)[:, ::2], tables[1], max(h, w)) > 100


def test_esmfold2_has_real_coordinates_and_a_base_per_axis() -> None:
    model, settings = rotary("esmfold2", "EsmFold2", "EsmFold2AtomEncoderConfig")
    atoms = np.random.default_rng(4).uniform(-20, 20, size=(3, 7)).astype(np.float32)
    residues = np.arange(7) // 2
    cos, _ = model(torch.as_tensor(atoms.T.copy())[None], torch.as_tensor(residues)[None], torch.float32)
    sections = (*[settings.num_spatial_rope_pairs_per_axis] * 3, settings.num_uid_rope_pairs)
    bases = (*[settings.spatial_rope_base_frequency] * 3, settings.uid_rope_base_frequency)
    axis_map, rest = rope_axis_map(sections), settings.head_dim // 2 - sum(sections)
    positions = np.concatenate([atoms.astype(float), residues[None]])

    def table(base: Any) -> Any:
        w = rope_axes_inv_freq(axis_map, base=base, ladder="per_axis")
        return rope_axes_cos_sin(positions, np.append(w, np.zeros(rest)), np.append(axis_map, np.full(rest, 3)))[0]

    assert differ(cos[0, :, : settings.head_dim // 2], table(bases), 20) <= 1
    assert differ(cos[0, :, : settings.head_dim // 2], table(bases[-1]), 20) > 100


def test_musicflamingo_turns_with_seconds() -> None:
    """Window and step within it, each times the time stamp: real positions far from whole numbers."""
    model, settings = rotary("musicflamingo", "MusicFlamingo", "MusicFlamingoConfig")
    steps, longest = 5, model.max_seq_len_cached
    seconds = (30 * torch.arange(3)[:, None] + 0.04 * torch.arange(steps)).float()
    cos, _ = model(seconds, steps)
    s, pairs = seconds.double().numpy(), model.inv_freq.shape[0]
    window = np.round(s[:, :1] / (settings.audio_frame_step * 4 * steps))
    positions = np.stack([-2 * np.pi * s * window / longest, -2 * np.pi * s * 2 * np.pi * np.arange(steps) / longest])
    axis_map = rope_axis_map((pairs, pairs))
    ours, _ = rope_axes_table(positions, axis_map, ladder="per_axis", base=1200.0)
    assert differ(cos[..., ::2], ours, np.abs(positions).max()) <= 1
    swapped, _ = rope_axes_table(positions[::-1], axis_map, ladder="per_axis", base=1200.0)
    assert differ(cos[..., ::2], swapped, np.abs(positions).max()) > 100
