"""Rotary on several axes against transformers' own models: their tables and their rotations, in float32."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posref.rotary.axes import rope_axes_cos_sin, rope_axes_inv_freq
from posref.rotary.axis_maps import rope_axis_map
from posref.rotary.channelwise import rope_apply_channels
from posref.rotary.frequencies import rope_inv_freq
from posref.rotary.grids import grid_coordinates, grid_positions
from posref.rotary.rotation import rope_apply
from posref.rotary.scaling import NTKScaling

torch = pytest.importorskip("torch", reason="needs torch, which transformers computes with")
pytest.importorskip("transformers", reason="needs the peers extra (transformers)")

pytestmark = pytest.mark.peers

U = 2.0**-24  # unit roundoff of float32, in which transformers computes
Floats = NDArray[Any]

# Two text tokens, an image of 2 by 3 patches, a token, and all of it once more far on: no two axes alike.
TEXT = np.array([[0, 1, 2, 2, 2, 2, 2, 2, 5], [0, 1, 2, 2, 2, 3, 3, 3, 5], [0, 1, 2, 3, 4, 2, 3, 4, 5]])
TEXT = np.concatenate([TEXT, TEXT + 1017], axis=1)
IMAGE = grid_positions((3, 5))


def modeling(name: str) -> Any:
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


def configured(name: str, config: str, **values: Any) -> Any:
    return getattr(importlib.import_module(f"transformers.models.{name}.configuration_{name}"), config)(**values)


@dataclass
class Peer:
    """What a class of transformers does, and which arguments of ours that is."""

    module: str
    config: str
    rotary: str
    axis_map: Any
    how: Callable[..., Any]  # of rotating q with the class' tables
    positions: Any = field(default_factory=lambda: IMAGE)  # (axes, tokens), in the order of the sections
    as_given: Any = None  # the same in transformers' order, where that is another
    ladder: dict[str, Any] = field(default_factory=dict)
    layout: str = "half"
    values: dict[str, Any] = field(default_factory=dict)
    channels: int = 0  # beyond those that turn

    def theirs(self, q: Floats, positions: Any) -> Floats:
        rotary = getattr(modeling(self.module), self.rotary)(configured(self.module, self.config, **self.values))
        with torch.no_grad():
            rotated = self.how(modeling(self.module), rotary.eval(), torch.as_tensor(q), torch.as_tensor(positions))
        return np.asarray(rotated.double())

    def ours(self, q: Floats, positions: Any) -> tuple[Floats, Floats]:
        """The rotation, and how far float32 may be off."""
        w = rope_axes_inv_freq(self.axis_map, **self.ladder)
        cos, sin = rope_axes_cos_sin(positions, w, self.axis_map)
        angle = np.abs(np.moveaxis(positions[self.axis_map], 0, -1) * w)
        return rope_apply(q, cos, sin, layout=self.layout), bound(q, angle, w)


def bound(q: Floats, angle: Floats, w: Floats) -> Floats:
    """Per token: a float32 power errs by (3 |ln w| + 2) u, its angle by 3 u more, each table by 2 u, the products by 4 u."""
    phase = U * (4 + (5 + 3 * np.abs(np.log(w))) * angle)
    return np.asarray(2 * np.abs(q).max() * (phase.max(axis=-1, keepdims=True) + 4 * U))


def text_model(model: Any, rotary: Any, q: Any, positions: Any) -> Any:
    cos, sin = rotary(q, positions[:, None])  # (axes, batch, tokens)
    return model.apply_rotary_pos_emb(q, q, cos, sin)[0]


def vision_model(model: Any, rotary: Any, q: Any, positions: Any) -> Any:
    cos, sin = rotary(q, positions.T)  # (tokens, axes)
    flat = q[0].transpose(0, 1)  # (tokens, heads, channels)
    return model.apply_rotary_pos_emb_vision(flat, flat, cos, sin)[0].transpose(0, 1)[None]


def pixtral(model: Any, rotary: Any, q: Any, positions: Any) -> Any:
    return model.apply_rotary_pos_emb(q, q, *rotary(q, positions.T), unsqueeze_dim=0)[0]


def segment_anything(model: Any, rotary: Any, q: Any, positions: Any) -> Any:
    return model.apply_rotary_pos_emb_2d(q, q, *rotary(q, positions.T))[0]


def llama4(model: Any, rotary: Any, q: Any, positions: Any) -> Any:
    tokens = q.transpose(1, 2)  # (batch, tokens, heads, channels)
    return model.vision_apply_rotary_emb(tokens, tokens, rotary(q))[0].transpose(1, 2)


def dinov3(model: Any, rotary: Any, q: Any, positions: Any) -> Any:
    return model.apply_rotary_pos_emb(q, q, *rotary(torch.zeros(1, 3, 3 * 16, 5 * 16)))[0]


def equal(*sections: int, **options: Any) -> Any:
    return rope_axis_map(sections, **options)


def text(module: str, config: str, rotary: str, axis_map: Any, base: float, **others: Any) -> Peer:
    return Peer(module, config, rotary, axis_map, text_model, TEXT, ladder={"base": base}, **others)


def vision(
    module: str, prefix: str, axis_map: Any, how: Any = vision_model, base: float = 10000.0, **others: Any
) -> Peer:
    ladder = {"ladder": others.pop("ladder", "per_axis"), "base": base}
    names = {"config": f"{prefix}VisionConfig", "rotary": f"{prefix}VisionRotaryEmbedding"} | others
    return Peer(module, axis_map=axis_map, how=how, ladder=ladder, **names)


SMALL = {"hidden_size": 512, "num_attention_heads": 4}  # heads of 128
VIT = {"hidden_size": 160, "num_attention_heads": 4}  # heads of 40: 10 pairs an axis
SAM2 = {"config": "Sam2VideoConfig", "rotary": "Sam2VideoVisionRotaryEmbedding"}
SAM3 = {"config": "Sam3ViTConfig", "rotary": "Sam3ViTRotaryEmbedding"}
HALF = {"partial_rotary_factor": 0.5, "rope_type": "default", "rope_theta": 10000.0}
WITH_CLASS_TOKEN = np.concatenate([grid_positions((4, 4), start=1)[::-1], np.zeros((2, 1), int)], axis=1)

PEERS = {
    "qwen2-vl": text("qwen2_vl", "Qwen2VLTextConfig", "Qwen2VLRotaryEmbedding", equal(16, 24, 24), 1e6, values=SMALL),
    "qwen2.5-vl": text(
        "qwen2_5_vl", "Qwen2_5_VLTextConfig", "Qwen2_5_VLRotaryEmbedding", equal(16, 24, 24), 1e6, values=SMALL
    ),
    "qwen3-vl": text(
        "qwen3_vl",
        "Qwen3VLTextConfig",
        "Qwen3VLTextRotaryEmbedding",
        equal(24, 20, 20, rule="interleaved"),
        5e5,
        values=SMALL,
    ),
    "qwen3.5": text(
        "qwen3_5",
        "Qwen3_5TextConfig",
        "Qwen3_5TextRotaryEmbedding",
        equal(11, 11, 10, rule="interleaved"),
        10000.0,
        channels=192,
    ),
    "glm-4v": text(
        "glm4v",
        "Glm4vTextConfig",
        "Glm4vTextRotaryEmbedding",
        equal(8, 12, 12),
        10000.0,
        layout="interleaved",
        values=SMALL | {"rope_parameters": HALF},
        channels=64,
    ),
    "glm-4.5v": text(
        "glm4v_moe",
        "Glm4vMoeTextConfig",
        "Glm4vMoeTextRotaryEmbedding",
        equal(8, 12, 12),
        10000.0,
        values=SMALL | {"rope_parameters": HALF},
        channels=64,
    ),
    "ernie-4.5-vl": text(
        "ernie4_5_vl_moe",
        "Ernie4_5_VLMoeTextConfig",
        "Ernie4_5_VLMoeTextRotaryEmbedding",
        equal(22, 22, 20, rule="alternating"),
        5e5,
        layout="interleaved",
        values=SMALL,
    ),
    "qwen2-vl-vision": vision("qwen2_vl", "Qwen2VL", equal(10, 10), values={"embed_dim": 160, "num_heads": 4}),
    "qwen2.5-vl-vision": vision("qwen2_5_vl", "Qwen2_5_VL", equal(10, 10), values={"hidden_size": 160, "num_heads": 4}),
    "qwen3-vl-vision": vision("qwen3_vl", "Qwen3VL", equal(10, 10), values={"hidden_size": 160, "num_heads": 4}),
    "glm-4v-vision": vision("glm4v", "Glm4v", equal(10, 10), values={"hidden_size": 160, "num_heads": 4}),
    "ernie-4.5-vl-vision": vision(
        "ernie4_5_vl_moe", "Ernie4_5_VLMoe", equal(10, 10), values={"hidden_size": 160, "num_heads": 4}
    ),
    "pixtral": vision("pixtral", "Pixtral", equal(16, 16), pixtral, ladder="dealt", values={"head_dim": 64}),
    "kimi-k2.5": vision(
        "kimi_k25", "Kimi_K25", equal(10, 10, rule="round_robin"), positions=IMAGE[::-1], as_given=IMAGE, values=VIT
    ),
    "minimax-m3-vl": vision(
        "minimax_m3_vl", "MiniMaxM3VL", equal(6, 6, 6), positions=grid_positions((2, 3, 5)), values=VIT, channels=4
    ),
    "sam2": vision(
        "sam2_video", "", equal(64, 64), segment_anything, positions=IMAGE[::-1], layout="interleaved", **SAM2
    ),
    "sam3": vision(
        "sam3", "", equal(10, 10), segment_anything, positions=IMAGE[::-1], layout="interleaved", values=VIT, **SAM3
    ),
    "llama-4": vision(
        "llama4",
        "Llama4",
        equal(10, 10),
        llama4,
        positions=WITH_CLASS_TOKEN,
        layout="interleaved",
        values=VIT | {"image_size": 64, "patch_size": 16},
    ),
    "dinov3": vision(
        "dinov3_vit",
        "",
        equal(10, 10),
        dinov3,
        100.0,
        positions=2 * np.pi * grid_coordinates((3, 5)),
        values=VIT | {"patch_size": 16},
        config="DINOv3ViTConfig",
        rotary="DINOv3ViTRopePositionEmbedding",
    ),
}


def draw(peer: Peer, tokens: int) -> Floats:
    channels = 2 * len(peer.axis_map) + peer.channels
    return np.random.default_rng(5).standard_normal((1, 3, tokens, channels)).astype(np.float32)


def excess(peer: Peer, positions: Any) -> float:
    """The worst difference between theirs and ours at these positions, as a multiple of the bound."""
    q = draw(peer, peer.positions.shape[1])
    given = peer.positions if peer.as_given is None else peer.as_given
    if peer.module == "ernie4_5_vl_moe" and len(given) == 3:
        given = given[[2, 0, 1]]  # its positions are time, height, width, its sections height, width, time
    expected, off = peer.ours(q, positions)
    return float((np.abs(peer.theirs(q, given.copy()) - expected) / off).max())


@pytest.mark.parametrize("name", PEERS)
def test_the_rotation_is_theirs(name: str) -> None:
    assert excess(PEERS[name], PEERS[name].positions) <= 1


@pytest.mark.parametrize("name", PEERS)
def test_axes_in_another_order_are_noticed(name: str) -> None:
    """Two axes that change places: height and width, or, of three, the last two."""
    positions = PEERS[name].positions.copy()
    positions[[-2, -1]] = positions[[-1, -2]]
    assert excess(PEERS[name], positions) > 100


def test_positions_of_merged_patches() -> None:
    """Qwen-VL's order: the patches of a block that is merged are neighbours."""
    utils = importlib.import_module("transformers.vision_utils")
    theirs = utils.get_vision_position_ids(torch.tensor([[2, 4, 6]]), 2, include_temporal=True).T
    assert np.array_equal(grid_positions((2, 4, 6), block=(1, 2, 2)), theirs)
    assert not np.array_equal(grid_positions((2, 4, 6)), theirs)


def test_coordinates_of_dinov3() -> None:
    theirs = modeling("dinov3_vit").get_patches_center_coordinates(3, 7, torch.float32, torch.device("cpu")).T
    assert np.abs(grid_coordinates((3, 7)) - np.asarray(theirs)).max() <= 4 * U
    assert np.abs(grid_coordinates((3, 7), normalize="max") - np.asarray(theirs)).max() > 0.5


def test_gemma4_rotates_halves_inside_a_block_per_axis() -> None:
    """One rotation per axis, at the block's first channel; the column comes first."""
    model, config = modeling("gemma4"), configured("gemma4", "Gemma4VisionConfig", head_dim=40)
    positions, axis_map = IMAGE[::-1], equal(10, 10)
    given = torch.as_tensor(positions.T.copy())[None]
    q = np.random.default_rng(6).standard_normal((1, 15, 3, 40)).astype(np.float32)  # (batch, tokens, heads, channels)
    rotary = model.Gemma4VisionRotaryEmbedding(config)
    theirs = model.apply_multidimensional_rope(torch.as_tensor(q), *rotary(torch.as_tensor(q), given), given)
    w = rope_axes_inv_freq(axis_map, base=100.0, ladder="per_axis")
    cos, sin = rope_axes_cos_sin(positions, w, axis_map)
    ours = np.asarray(q.swapaxes(1, 2), dtype=np.float64)
    for axis in (0, 1):
        pairs = np.flatnonzero(axis_map == axis)
        ours = rope_apply(ours, cos[:, pairs], sin[:, pairs], offset=2 * pairs[0])
    error = np.abs(np.asarray(theirs).swapaxes(1, 2) - ours) / bound(q, np.moveaxis(positions[axis_map], 0, -1) * w, w)
    assert error.max() <= 1
    in_one = rope_apply(q.swapaxes(1, 2), cos, sin)  # halves of the whole head
    assert np.abs(np.asarray(theirs).swapaxes(1, 2) - in_one).max() > 0.1


def test_hunyuan_vl_is_no_rotation() -> None:
    """XD-RoPE in transformers: the axes split the doubled channels, so that the two of a pair have two angles."""
    model, sections = modeling("hunyuan_vl"), [16, 16, 16, 16]
    parameters = {
        "rope_type": "dynamic",
        "factor": 1.0,
        "alpha": 1000.0,
        "rope_theta": 10000.0,
        "mrope_section": sections,
    }
    config = configured("hunyuan_vl", "HunYuanVLTextConfig", **SMALL, head_dim=128, rope_parameters=parameters)
    positions = np.stack([np.arange(TEXT.shape[1]), *TEXT[::-1]])  # p, w, h, t
    q = np.random.default_rng(7).standard_normal((1, 2, TEXT.shape[1], 128)).astype(np.float32)
    theirs = np.asarray(
        text_model(model, model.HunYuanVLRotaryEmbedding(config), torch.as_tensor(q), torch.as_tensor(positions))
    )
    w = np.tile(rope_inv_freq(128, scaling=NTKScaling(1000.0)), 2)
    channels = rope_axis_map([2 * s for s in sections])
    ours = rope_apply_channels(q, *rope_axes_cos_sin(positions, w, channels))
    off = bound(q, np.moveaxis(positions[channels], 0, -1) * w, w)
    assert (np.abs(theirs - ours) / off).max() <= 1
    norms = np.linalg.norm(theirs, axis=-1) / np.linalg.norm(q, axis=-1)
    assert np.abs(norms - 1).max() > 0.05
    axis_map = rope_axis_map(sections)  # of pairs: vLLM's reading, a rotation
    rotation = rope_apply(q, *rope_axes_cos_sin(positions, w[:64], axis_map))
    assert np.abs(theirs - rotation).max() > 0.5


def test_vjepa2_is_no_rotation() -> None:
    """Interleaved pairs, and tables that are tiled as if they were halves."""
    model, config = modeling("vjepa2"), configured("vjepa2", "VJEPA2Config", crop_size=48, patch_size=16)
    attention = model.VJEPA2RopeAttention(config, hidden_size=4 * 40, num_attention_heads=4)
    m = 2 * (40 // 3 // 2)
    positions = grid_positions((2, 3, 3))
    q = np.random.default_rng(8).standard_normal((1, 4, 18, 40)).astype(np.float32)
    ids = attention.get_position_ids(torch.zeros(1, 18, 160))
    assert np.array_equal(np.stack([np.asarray(p) for p in ids]), positions)
    theirs = np.asarray(attention.apply_rotary_embeddings(torch.as_tensor(q), ids))
    w, channels = np.tile(rope_inv_freq(m), 6), rope_axis_map((m, m, m))
    ours = rope_apply_channels(q, *rope_axes_cos_sin(positions, w, channels), layout="interleaved")
    off = bound(q, np.moveaxis(positions[channels], 0, -1) * w, w)
    assert (np.abs(theirs - ours) / off).max() <= 1
    norms = np.linalg.norm(theirs, axis=-1) / np.linalg.norm(q, axis=-1)
    assert np.abs(norms - 1).max() > 0.05
