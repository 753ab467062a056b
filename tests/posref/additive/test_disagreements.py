"""Where implementations of additive encodings disagree: each reading has its arguments, golden values tell them apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posref
from posref._catalogue_additive import ADDITIVE

GOLDEN = Path(__file__).parents[2] / "golden"

TIMESCALE = "min_timescale 2, as tensor2tensor"
# what it is about: function, the notes of the two golden cases, an entry of the catalogue that says it
REGISTER: dict[str, tuple[str, str, str, str]] = {
    "D1, the last frequency": ("sinusoidal_axes", "MAE: x, then y", "MoCo v3, SimpleViT", "exactly 1/base"),
    "D3, an odd width": ("sinusoidal", "an odd width, fairseq's", "an odd width, Marian's", "An odd width"),
    "D4, rows of padding": ("mask_positions", "BLOOM, Falcon", "GPT-2, older code", "Padding is row"),
    "D4, the first position": ("mask_positions", "BLOOM, Falcon", "RoBERTa with padding id 1", "The first token is"),
    "D5, min_timescale": ("sinusoidal", f"{TIMESCALE} says", f"{TIMESCALE}'s code", "min_timescale"),
    "D6, which axis is first": ("sinusoidal_axes", "MAE: x, then y", "RT-DETR: y, then x", "Which axis is first"),
    "D7, spacing on an axis": ("sinusoidal_axes", "MAE: x, then y", "MoCo v3, SimpleViT", "The last frequency of an axis"),
    "D8, half a pixel": ("mask_coordinates", "DETR", "Deformable DETR", "half a pixel off"),
    "D9, RT-DETR's grid": ("sinusoidal_axes", "RT-DETR: y, then x", "RT-DETR's first code", "the transpose"),
    "D10, diffusers' size": ("sinusoidal_axes", "CogVideoX", "diffusers' size taken as", "(width, height)"),
    "D12, pi in NeRF": ("fourier_features", "NeRF's paper", "NeRF's code", "NeRF: pi"),
    "D13, the kernel": ("resample_table", "ViT in transformers", "timm: antialias", "The kernel"),
    "D13, antialias": ("resample_table", "linear", "SigLIP 2", "SigLIP 2"),
    "D13, corners": ("resample_table", "linear", "Qwen3-VL", "corners on corners"),
    "D13, the ratio": ("resample_table", "ViT in transformers", "DINO", "The ratio"),
    "D14, BEiT's table": ("resample_table", "BEiT in transformers", "the same table as it lies", "BEiT"),
}  # fmt: skip
# D2 and D11 are below.


def values(function: str, note: str) -> Any:
    """The golden values and the arguments of the case of that note, or whose note begins so."""
    cases = json.loads((GOLDEN / f"{function}.json").read_text(encoding="utf-8"))["cases"]
    (entry,) = [c for c in cases if c["note"] == note] or [c for c in cases if c["note"].startswith(note)]
    return np.array(entry["expected"], dtype=float), entry["args"]


@pytest.mark.parametrize("entry", REGISTER)
def test_both_readings_have_golden_values_that_differ(entry: str) -> None:
    function, one, other, said = REGISTER[entry]
    (first, args), (second, changed) = values(function, one), values(function, other)
    assert args != changed
    for expected, given in ((first, args), (second, changed)):
        assert np.abs(getattr(posref, function)(**given) - expected).max() < 1e-12
    assert first.shape != second.shape or np.abs(first - second).max() > 1e-3
    assert any(said in sentence for record in ADDITIVE for sentence in record.disagreements)


def test_d1_marians_two_lineages_are_presets() -> None:
    presets = dict(next(e for e in ADDITIVE if e.id == "sinusoidal").presets)
    theirs, transformers = (
        eval(f"dict({presets[n]})") for n in ("marian", "marian in transformers, pegasus, roformer")
    )
    marian, other = (posref.sinusoidal(np.arange(101), 512, **how) for how in (theirs, transformers))
    worst = [np.abs(marian[p] - other[p]).max() for p in (10, 50, 100)]
    assert np.abs(np.array(worst) - [0.014, 0.072, 0.143]).max() < 6e-4


def test_d2_order_and_layout() -> None:
    presets = dict(next(e for e in ADDITIVE if e.id == "sinusoidal").presets)
    names = ("tensor2tensor, fairseq, whisper, m2m100", "musicgen")
    whisper, musicgen = (posref.sinusoidal([1, 10], 8, **eval(f"dict({presets[n]})")) for n in names)
    assert np.array_equal(musicgen, np.concatenate([whisper[:, 4:], whisper[:, :4]], axis=-1))
    assert np.abs(musicgen - whisper).max() > 0.1


def test_d11_ddpm_and_what_came_after() -> None:
    presets = dict(next(e for e in ADDITIVE if e.id == "timestep").presets)
    t = [0.1, 0.999]
    ddpm, dit = (
        posref.timestep_embedding(t, 8, **eval(f"dict({presets[n]})")) for n in ("ddpm", "adm, dit, stable diffusion")
    )
    assert np.array_equal(ddpm, posref.timestep_embedding(t, 8))  # diffusers' defaults
    assert np.abs(ddpm - dit).max() > 0.1
    plain, rounded = (
        posref.timestep_embedding(t, 256, **eval(f"dict({presets[n]})"))
        for n in ("qwen-image, auraflow", "qwen-image in bfloat16")
    )
    assert 0.9 < np.abs(plain - rounded).max() <= 2.0  # about 1.2 at a time of 1000


def test_a_disagreement_that_nobody_could_tell_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTER, "nothing", ("resample_table", "linear", "linear", "linear"))
    with pytest.raises(AssertionError):
        test_both_readings_have_golden_values_that_differ("nothing")
