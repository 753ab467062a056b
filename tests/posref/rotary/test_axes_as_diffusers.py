"""Rotary on several axes against the classes and functions of diffusers: their tables, column by column."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posref.rotary.axes import rope_axes_cos_sin, rope_axes_inv_freq
from posref.rotary.axis_maps import rope_axis_map
from posref.rotary.grids import grid_positions
from posref.rotary.mixed import rope_mixed_cos_sin
from posref.rotary.scaling import LinearScaling, NTKScaling

torch = pytest.importorskip("torch", reason="needs torch, which diffusers computes with")

pytestmark = pytest.mark.peers

U = 2.0**-24  # unit roundoff of float32, in which all of them return their tables
Floats = NDArray[Any]
T, H, W = 3, 5, 7  # frames, rows, columns: no two alike
VIDEO = grid_positions((T, H, W))
IMAGE = grid_positions((H, W))


def diffusers(module: str) -> Any:
    """A module of diffusers, whose import warns of much that is not ours."""
    pytest.importorskip("diffusers", reason="needs the peers extra (diffusers)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"diffusers.models.{module}")


@dataclass(frozen=True)
class Peer:
    """What diffusers computes, and which arguments of ours that is."""

    theirs: Callable[[], Any]  # cos, sin per channel, or e^(i angle) per pair
    positions: Any
    axis_map: Any
    inv_freq: Any
    layout: str = "interleaved"
    roundings: float = 40  # of float32, in an angle

    def tables(self) -> tuple[Floats, Floats]:
        """Theirs with one column per pair, once both channels of a pair are known to have the same."""
        found = self.theirs()
        if not isinstance(found, tuple):
            return found.real.double().numpy(), found.imag.double().numpy()
        cos, sin = (t.double().numpy().reshape(-1, t.shape[-1]) for t in found)
        pairs = cos.shape[-1] // 2
        first, second = (
            (slice(0, None, 2), slice(1, None, 2))
            if self.layout == "interleaved"
            else (slice(pairs), slice(pairs, None))
        )
        assert np.array_equal(cos[:, first], cos[:, second])
        assert np.array_equal(sin[:, first], sin[:, second])
        return cos[:, first], sin[:, first]

    def excess(self, positions: Any = None) -> float:
        """The largest difference as a multiple of what float32 may be off: 1 for the table, the rest for the angle."""
        positions = np.asarray(self.positions if positions is None else positions)
        cos, sin = rope_axes_cos_sin(positions, self.inv_freq, self.axis_map)
        angle = np.abs(np.moveaxis(positions[self.axis_map], 0, -1) * self.inv_freq)
        allowed = U * (2 + self.roundings * angle)
        return max(float((np.abs(a - b) / allowed).max()) for a, b in zip(self.tables(), (cos, sin), strict=True))


def per_axis(*sections: int, **options: Any) -> tuple[Any, Any]:
    axis_map = rope_axis_map(sections, **{k: v for k, v in options.items() if k == "rule"})
    ladder = {k: v for k, v in options.items() if k != "rule"}
    return axis_map, rope_axes_inv_freq(axis_map, ladder="per_axis", **ladder)


def flux() -> Any:
    return diffusers("transformers.transformer_flux").FluxPosEmbed(10000, [16, 56, 56])(torch.as_tensor(VIDEO.T.copy()))


def wan() -> Any:
    rope = diffusers("transformers.transformer_wan").WanRotaryPosEmbed(128, (1, 2, 2), 64)
    return rope(torch.zeros(1, 4, T, 2 * H, 2 * W))


def cogvideox() -> Any:
    return diffusers("embeddings").get_3d_rotary_pos_embed(64, ((0, 0), (H, W)), (H, W), T)


def cogvideox_crop() -> Any:
    return diffusers("embeddings").get_3d_rotary_pos_embed(64, ((2, 3), (22, 31)), (H, W), T)


def hunyuan_dit() -> Any:
    return diffusers("embeddings").get_2d_rotary_pos_embed(88, ((0, 0), (H, W)), (H, W))


def lumina() -> Any:
    table = diffusers("embeddings").get_2d_rotary_pos_embed_lumina(96, H, W, linear_factor=2.0, ntk_factor=3.0)
    return table.reshape(H * W, -1)


def cosmos() -> Any:
    rope = diffusers("transformers.transformer_cosmos").CosmosRotaryPosEmbed(128, rope_scale=(2.0, 3.0, 1.5))
    return rope(torch.zeros(1, 4, T, 2 * H, 2 * W), fps=10)


def ltx() -> Any:
    rope = diffusers("transformers.transformer_ltx").LTXVideoRotaryPosEmbed(dim=50, base_height=32, base_width=16)
    return rope(torch.zeros(1, 1), T, H, W, rope_interpolation_scale=(1.0, 1.0, 1.0))


def qwen_image(part: int) -> Callable[[], Any]:
    def tables() -> Any:
        module = diffusers("transformers.transformer_qwenimage")
        rope = module.QwenEmbedRope(10000, [16, 56, 56], scale_rope=True)
        return rope((T, H, W), torch.device("cpu"), max_txt_seq_len=9)[part]

    return tables


def from_to(start: float, stop: float, n: int) -> Floats:
    return np.linspace(start, stop * (n - 1) / n, n)


CROP = np.stack([c.ravel() for c in np.meshgrid(np.arange(T), from_to(2, 22, H), from_to(3, 31, W), indexing="ij")])
LTX = np.pi / 2 * 10000.0 ** np.linspace(0, 1, 50 // 6)  # freq-major, axis-minor, one pair of padding before them
LTX_MAP, LTX_FREQ = np.array([0, *np.tile([0, 1, 2], 8)]), np.array([0.0, *np.repeat(LTX, 3)])
TEXT = np.tile(np.arange(9) + max(H // 2, W // 2), (3, 1))
NTK = (NTKScaling(2.0), NTKScaling(3.0), NTKScaling(1.5))

PEERS = {
    "flux": Peer(flux, VIDEO, *per_axis(8, 28, 28), roundings=2.0**-20),  # in float64, cast once
    "wan": Peer(wan, VIDEO, *per_axis(64 - 2 * 21, 21, 21), roundings=2.0**-20),
    "cogvideox": Peer(cogvideox, VIDEO, *per_axis(8, 12, 12)),
    "cogvideox, a crop": Peer(cogvideox_crop, CROP, *per_axis(8, 12, 12)),
    "hunyuan-dit": Peer(hunyuan_dit, IMAGE[::-1], *per_axis(22, 22)),
    "lumina": Peer(lumina, IMAGE, *per_axis(24, 24, rule="round_robin", base=30000.0, scaling=LinearScaling(2.0))),
    "cosmos": Peer(cosmos, VIDEO * [[24 / 10], [1], [1]], *per_axis(22, 21, 21, scaling=NTK), layout="half"),
    # 2 p - 1 is rounded in units of the largest frequency, pi / 2 * 10000, whose exponent has 1 rounding * 9.2
    "ltx": Peer(ltx, 2 * VIDEO / [[20], [32], [16]] - 1, LTX_MAP, LTX_FREQ),
    "qwen-image": Peer(
        qwen_image(0), grid_positions((T, H, W), start=(0, H // 2 - H, W // 2 - W)), *per_axis(8, 28, 28)
    ),
    "qwen-image, text": Peer(qwen_image(1), TEXT, *per_axis(8, 28, 28)),
}


@pytest.mark.parametrize("name", PEERS)
def test_the_tables_are_theirs(name: str) -> None:
    assert PEERS[name].excess() <= 1


@pytest.mark.parametrize("name", [name for name in PEERS if "text" not in name])
def test_axes_in_another_order_are_noticed(name: str) -> None:
    peer = PEERS[name]
    swapped = np.asarray(peer.positions)[[*range(len(peer.positions) - 2), -1, -2]]
    assert peer.excess(swapped) > 1000


@pytest.mark.filterwarnings("ignore:In CPU autocast")  # torch's, of the class' own request
def test_mochis_learned_frequencies() -> None:
    frequencies = np.random.default_rng(0).standard_normal((3, 2, 8))  # (axes, heads, pairs)
    rope = diffusers("transformers.transformer_mochi").MochiRoPE()
    found = rope(torch.as_tensor(frequencies, dtype=torch.float32), T, H, W, dtype=torch.float32)
    scale = (192 * 192 / (H * W)) ** 0.5
    centred = (np.arange(T), (np.arange(H) + 0.5 - H / 2) * scale, (np.arange(W) + 0.5 - W / 2) * scale)
    positions = np.stack([c.ravel() for c in np.meshgrid(*centred, indexing="ij")])
    rounded = frequencies.astype(np.float32).astype(np.float64)
    ours = rope_mixed_cos_sin(positions, rounded)  # (heads, tokens, pairs)
    angle = np.einsum("an,ahp->hnp", np.abs(positions), np.abs(rounded))
    for theirs, wanted in zip(found, ours, strict=True):
        error = np.abs(theirs.double().numpy().swapaxes(0, 1) - wanted)
        assert (error <= U * (2 + 12 * angle)).all()  # 3 products and sums, of centres that are rounded 4 times


def test_the_rotation_pairs_neighbours() -> None:
    """``apply_rotary_emb`` with the real and imaginary part in the last axis is layout interleaved, with -2 half."""
    from posref.rotary.rotation import rope_apply

    x, angle = np.random.default_rng(1).standard_normal((1, 2, 4, 6)), np.arange(12.0).reshape(4, 3)
    apply = diffusers("embeddings").apply_rotary_emb
    for layout, unbind, double in (
        ("interleaved", -1, lambda t: np.repeat(t, 2, axis=-1)),
        ("half", -2, lambda t: np.concatenate([t, t], axis=-1)),
    ):
        tables = tuple(torch.as_tensor(double(f(angle))) for f in (np.cos, np.sin))
        theirs = apply(torch.as_tensor(x), tables, use_real_unbind_dim=unbind).numpy()
        np.testing.assert_allclose(
            theirs, rope_apply(x, np.cos(angle), np.sin(angle), layout=layout), atol=2**-22
        )  # its products are float32's
