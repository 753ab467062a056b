"""Additive encodings against the functions of diffusers and x-transformers: timesteps, grids, features, sinusoids."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import posref

torch = pytest.importorskip("torch", reason="needs torch, which both compute with")

pytestmark = pytest.mark.peers

U = 2.0**-24  # unit roundoff of float32, in which they compute
Floats = NDArray[Any]


def library(name: str) -> Any:
    """A module, whose import warns of much that is not ours."""
    pytest.importorskip(name.partition(".")[0], reason=f"needs the peers extra ({name.partition('.')[0]})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def read(tensor: Any) -> Floats:
    return np.asarray(tensor.detach().double().numpy())


def phase(largest: float) -> float:
    """Of a frequency that is a power of 10000, within 3 ln 10000 + 2 roundings, of position and product, cosine: 4 u more."""
    return U * (4 + (4 + 3 * np.log(10000) + 2) * largest)


# --- timesteps -------------------------------------------------------------------------------------------------------

T = [0.0, 1.0, 10.0, 17.25, 999.0]


@pytest.mark.parametrize("dim", [8, 33, 256])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"flip_sin_to_cos": True, "downscale_freq_shift": 0.0},
        {"downscale_freq_shift": 0.5, "max_period": 100},
        {"flip_sin_to_cos": True, "scale": 0.25},
    ],
    ids=str,
)
def test_timesteps(how: dict[str, Any], dim: int) -> None:
    theirs = read(library("diffusers.models.embeddings").get_timestep_embedding(torch.tensor(T), dim, **how))
    assert np.abs(theirs - posref.timestep_embedding(T, dim, **how)).max() <= phase(999)
    for change in (
        {"flip_sin_to_cos": not how.get("flip_sin_to_cos")},
        {"downscale_freq_shift": 0.9},
        {"max_period": 5000.0},
    ):
        assert np.abs(theirs - posref.timestep_embedding(T, dim, **how | change)).max() > phase(999)


@pytest.mark.parametrize(("dtype", "name"), [("bfloat16", "bfloat16"), ("float16", "float16"), ("float32", None)])
def test_qwen_image_rounds_its_frequencies(dtype: str, name: str | None) -> None:
    """To the type of the timesteps: D11."""
    function = library("diffusers.models.transformers.transformer_qwenimage").get_timestep_embedding
    t = torch.tensor([0.125, 0.5, 0.75], dtype=getattr(torch, dtype))  # the same numbers in every type
    how: dict[str, Any] = {"flip_sin_to_cos": True, "downscale_freq_shift": 0.0, "scale": 1000.0}
    theirs = read(function(t, 64, **{k: int(v) if k == "scale" else v for k, v in how.items()}))
    ours = posref.timestep_embedding(t.double().numpy(), 64, freq_dtype=name, **how)
    assert np.abs(theirs - ours).max() <= phase(750)
    if name:
        assert np.abs(theirs - posref.timestep_embedding(t.double().numpy(), 64, **how)).max() > 20 * phase(750)


# --- grids -----------------------------------------------------------------------------------------------------------


def test_a_picture() -> None:
    """MAE's encoding, x first, in units of base_size: a grid that is not square."""
    found = library("diffusers.models.embeddings").get_2d_sincos_pos_embed(16, (3, 5), base_size=4, output_type="pt")
    grid = posref.grid_positions((3, 5)) * 4 / np.array([[3], [5]])
    theirs = read(found)
    assert np.abs(theirs - posref.sinusoidal_axes(grid[::-1], 16)).max() <= phase(4)
    assert np.abs(theirs - posref.sinusoidal_axes(grid, 16)).max() > 0.1  # D6


def test_a_video() -> None:
    """CogVideoX's encoding: the size is (width, height), and time comes first. D10."""
    found = library("diffusers.models.embeddings").get_3d_sincos_pos_embed(32, (5, 3), 2, output_type="pt")
    theirs = read(found).reshape(-1, 32)
    p = posref.grid_positions((2, 3, 5))[[0, 2, 1]]  # time, x, y
    assert np.abs(theirs - posref.sinusoidal_axes(p, 32, widths=(8, 12, 12))).max() <= phase(5)
    transposed = posref.grid_positions((2, 5, 3))[[0, 2, 1]]
    assert np.abs(theirs - posref.sinusoidal_axes(transposed, 32, widths=(8, 12, 12))).max() > 0.1


@pytest.mark.xfail(reason="diffusers 0.42.1: spatial_size is said to be (height, width), and taken as (width, height)")
def test_a_video_by_its_words() -> None:
    found = library("diffusers.models.embeddings").get_3d_sincos_pos_embed(32, (3, 5), 2, output_type="pt")
    p = posref.grid_positions((2, 3, 5))[[0, 2, 1]]
    ours = posref.sinusoidal_axes(p, 32, widths=(8, 12, 12))
    assert np.abs(read(found).reshape(-1, 32) - ours).max() <= phase(5)


# --- features --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("flip", [False, True])
def test_noise_levels(flip: bool, log: bool) -> None:
    module = library("diffusers.models.embeddings").GaussianFourierProjection(5, 2.0, log=log, flip_sin_to_cos=flip)
    x = torch.tensor([0.25, 1.0, 3.0])
    theirs, w = read(module(x)), read(module.weight)
    level = np.log(x.double().numpy()) if log else x.double().numpy()
    order = "cos_sin" if flip else "sin_cos"
    ours = posref.fourier_features(level[None], w, unit="turns", order=order)
    size = 2 * np.pi * np.abs(level).max() * np.abs(w).max()
    assert np.abs(theirs - ours).max() <= U * (4 + 8 * size)
    assert np.abs(theirs - posref.fourier_features(level[None], w, order=order)).max() > 0.01


def test_boxes() -> None:
    """GLIGEN: band, then sine and cosine, then the four coordinates."""
    box = torch.rand(1, 3, 4, generator=torch.Generator().manual_seed(1))
    theirs = read(library("diffusers.models.embeddings").get_fourier_embeds_from_boundingbox(8, box))[0]
    bands = posref.frequency_bands(8, 1, 100, spacing="log", endpoint=False)
    x = box.double().numpy()[0].T
    ours = posref.fourier_features(x, bands, layout="band_wave_axis")
    assert np.abs(theirs - ours).max() <= U * (4 + (4 + 3 * np.log(100)) * 100)
    closed = posref.frequency_bands(8, 1, 100, spacing="log")
    for other in (
        posref.fourier_features(x, bands, layout="axis_band_wave"),
        posref.fourier_features(x, closed, layout="band_wave_axis"),
    ):
        assert np.abs(theirs - other).max() > 0.1


# --- sinusoids -------------------------------------------------------------------------------------------------------


def test_diffusers_sinusoids() -> None:
    module = library("diffusers.models.embeddings").SinusoidalPositionalEmbedding(16, 40)
    theirs = read(module(torch.zeros(1, 40, 16)))[0]
    assert np.abs(theirs - posref.sinusoidal(np.arange(40), 16)).max() <= phase(39)
    assert np.abs(theirs - posref.sinusoidal(np.arange(40), 16, layout="concatenated")).max() > 0.1


@pytest.mark.parametrize("offset", [0, 17])
def test_x_transformers(offset: int) -> None:
    """A learned gain that starts at dim ** -0.5."""
    module = library("x_transformers.x_transformers").ScaledSinusoidalEmbedding(16)
    theirs, p = read(module(torch.zeros(1, 40, 16), offset=offset)), np.arange(40) + offset
    ours = posref.sinusoidal(p, 16, layout="concatenated", gain=0.25)
    assert np.abs(theirs - ours).max() <= phase(39 + offset)
    assert np.abs(theirs - posref.sinusoidal(p, 16, layout="concatenated")).max() > 0.1
