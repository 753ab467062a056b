"""Rotary against lucidrains' rotary-embedding-torch and x-transformers: NTK, pixels, custom frequencies, xPos, PoPE."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posref import (
    LinearScaling,
    NTKScaling,
    pope_apply,
    rope,
    rope_apply,
    rope_axes_cos_sin,
    rope_cos_sin,
    rope_inv_freq,
    rope_pixel_freq,
    rope_table,
    xpos_scale,
)

torch = pytest.importorskip("torch", reason="needs torch, which both compute with")

pytestmark = pytest.mark.peers

U = 2.0**-24  # unit roundoff of float32, in which both compute
Floats = NDArray[Any]
LENGTH, DIM = 9, 16  # odd: the middle is rounded
X = np.random.default_rng(0).standard_normal((2, LENGTH, DIM)).astype(np.float32).astype(np.float64)
POSITIONS = np.arange(LENGTH)


def library(name: str) -> Any:
    """A module, whose import may warn of what is not ours."""
    pytest.importorskip(name.partition(".")[0], reason=f"needs the peers extra ({name.partition('.')[0]})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def rotary(dim: int = DIM, **how: Any) -> Any:
    return library("rotary_embedding_torch").RotaryEmbedding(dim, **how)


def tensor(x: Any) -> Any:
    return torch.as_tensor(np.asarray(x, dtype=np.float32))


def values(t: Any) -> Floats:
    return np.asarray(t.detach().double())


def within(theirs: Any, ours: Floats, angle: float, *, size: float = 1.0, roundings: float = 40) -> bool:
    """Whether all are as near as float32 comes: angles off by some roundings, of values below 4 times ``size``."""
    return bool(np.abs(values(theirs) - ours).max() <= 4 * size * U * (4 + roundings * angle))


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ({}, {}),
        ({"theta_rescale_factor": 4.0}, {"scaling": NTKScaling(4.0)}),
        ({"interpolate_factor": 3.0}, {"scaling": LinearScaling(3.0)}),
        ({"theta": 500000.0}, {"base": 500000.0}),
    ],
)
def test_rotation(how: dict[str, Any], options: dict[str, Any]) -> None:
    theirs = rotary(**how).rotate_queries_or_keys(tensor(X))
    ours = rope(X, POSITIONS, layout="interleaved", **options)
    assert within(theirs, ours, LENGTH)
    assert not within(theirs, rope(X, POSITIONS, layout="half", **options), LENGTH)
    assert not within(theirs, rope(X, POSITIONS + 1, layout="interleaved", **options), LENGTH)


def test_an_offset_is_other_positions_and_a_block_that_starts_later() -> None:
    assert within(
        rotary().rotate_queries_or_keys(tensor(X), offset=1000), rope(X, POSITIONS + 1000, layout="interleaved"), 1009
    )
    angles = tensor(np.repeat(POSITIONS[:, None] * rope_inv_freq(8), 2, axis=-1))
    theirs = library("rotary_embedding_torch").apply_rotary_emb(angles, tensor(X), start_index=6)
    assert within(theirs, rope(X, POSITIONS, dim=8, offset=6, layout="interleaved"), LENGTH)


def test_custom_frequencies_are_given_ones() -> None:
    frequencies = np.linspace(0.125, 2.0, DIM // 2)  # exact in float32
    theirs = rotary(custom_freqs=tensor(frequencies)).rotate_queries_or_keys(tensor(X))
    ours = rope_apply(X, *rope_cos_sin(POSITIONS, frequencies), layout="interleaved")
    assert within(theirs, ours, 2 * LENGTH)
    assert not within(theirs, rope(X, POSITIONS, layout="interleaved"), 2 * LENGTH)


@pytest.mark.parametrize("most", [10.0, 256.0])
def test_pixel_frequencies(most: float) -> None:
    embedding = rotary(DIM, freqs_for="pixel", max_freq=most)
    w = rope_pixel_freq(DIM, most)
    assert within(embedding.freqs, w, 1, size=float(w.max()))
    grid = embedding.get_axial_freqs(4, 6)  # (4, 6, 2 * DIM): rows, then columns, each channel of a pair
    rows, columns = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 6), indexing="ij")
    axis_map = np.repeat([0, 1], DIM // 2)
    ours = rope_axes_cos_sin([rows.ravel(), columns.ravel()], np.tile(w, 2), axis_map)
    for theirs, wanted in zip((grid.cos(), grid.sin()), ours, strict=True):
        flat = values(theirs).reshape(24, -1)
        assert np.array_equal(flat[:, ::2], flat[:, 1::2])
        assert within(torch.as_tensor(flat[:, ::2]), wanted, float(w.max()))


def scaled(x: Floats, positions: Any, scale: Floats) -> Floats:
    """The rotation of ``x`` with cos and sin times a scale."""
    cos, sin = rope_table(positions, DIM)
    return rope_apply(x, cos * scale, sin * scale, layout="interleaved")


def test_xpos() -> None:
    q, k = rotary(use_xpos=True, xpos_scale_base=8).rotate_queries_and_keys(tensor(X), tensor(X))
    scale = xpos_scale(POSITIONS, DIM, centre="floor", length=LENGTH, scale_base=8.0)
    assert within(q, scaled(X, POSITIONS, scale), LENGTH, size=float(scale.max()))
    assert within(k, scaled(X, POSITIONS, 1 / scale), LENGTH, size=float((1 / scale).max()))
    up = xpos_scale(POSITIONS, DIM, centre="ceil", length=LENGTH, scale_base=8.0)
    assert not within(q, scaled(X, POSITIONS, up), LENGTH, size=float(up.max()))


def test_xpos_with_cached_keys_has_two_centres() -> None:
    """The centre is the middle of the queries for queries, and of the keys for keys."""
    one = X[:, -1:]
    q, k = rotary(use_xpos=True, xpos_scale_base=8).rotate_queries_with_cached_keys(tensor(one), tensor(X))
    last = LENGTH - 1
    for_q = xpos_scale([last], DIM, centre=0, scale_base=8.0)
    for_k = xpos_scale(POSITIONS, DIM, centre=LENGTH // 2, scale_base=8.0)
    assert within(q, scaled(one, [last], for_q), LENGTH)
    assert within(k, scaled(X, POSITIONS, 1 / for_k), LENGTH, size=float((1 / for_k).max()))
    same = xpos_scale([last], DIM, centre=LENGTH // 2, scale_base=8.0)
    assert not within(q, scaled(one, [last], same), LENGTH)


def test_xpos_of_x_transformers() -> None:
    module = library("x_transformers.x_transformers")
    freqs, scale = module.RotaryEmbedding(DIM, use_xpos=True, scale_base=8).forward_from_seq_len(LENGTH)
    q = module.apply_rotary_pos_emb(tensor(X)[:, None], freqs, scale)[:, 0]
    k = module.apply_rotary_pos_emb(tensor(X)[:, None], freqs, scale**-1)[:, 0]
    ours = xpos_scale(POSITIONS, DIM, centre="floor", length=LENGTH, scale_base=8.0)
    assert within(q, scaled(X, POSITIONS, ours), LENGTH, size=float(ours.max()))
    assert within(k, scaled(X, POSITIONS, 1 / ours), LENGTH, size=float((1 / ours).max()))
    assert not within(k, scaled(X, POSITIONS, ours), LENGTH, size=float((1 / ours).max()))


def test_ntk_of_x_transformers() -> None:
    theirs = library("x_transformers.x_transformers").RotaryEmbedding(64, base_rescale_factor=8.0).inv_freq
    w = rope_inv_freq(64, scaling=NTKScaling(8.0))
    np.testing.assert_allclose(values(theirs), w, rtol=40 * U)  # a power: 3 |ln w| + 8 roundings, |ln w| < 11


def test_pope() -> None:
    module = library("x_transformers.x_transformers")
    embedding = module.PolarEmbedding(DIM, heads=2)
    biases = np.linspace(-8.0, 1.0, 2 * DIM).reshape(2, 1, DIM)  # beyond the clamp at both ends
    with torch.no_grad():
        embedding.learned_bias.copy_(tensor(biases))
    angles, delta = embedding(torch.arange(LENGTH))
    q, k = tensor(X), tensor(X)[None]
    assert within(module.apply_polar_pos_emb(q, angles), pope_apply(X, POSITIONS), LENGTH)
    theirs = module.apply_polar_pos_emb(k, angles + delta)
    rounded = biases.astype(np.float32).astype(np.float64)
    assert within(theirs[0], pope_apply(X, POSITIONS, bias=rounded), LENGTH + 7)
    assert not within(theirs[0], pope_apply(X, POSITIONS, bias=rounded + 0.01), LENGTH + 7)
