"""``posref identify --config`` says whether numbers are the model's, and which mistake makes them others.

The numbers are from formulas that are written out here, in NumPy alone, or from transformers.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from posref_conformance.identify.command import run
from posref_conformance.schemas import WrongFile, schema
from posref_conformance.tensors import serialized

BFLOAT16 = ml_dtypes.bfloat16
SHAPE = {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 2}
LLAMA = {
    "model_type": "llama",
    **SHAPE,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "original_max_position_embeddings": 8192,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
    },
}


def _ladder(dim: int = 128, base: float = 500000.0) -> Any:
    return base ** (-np.arange(0, dim, 2) / dim)


def _llama3(base: float = 500000.0, factor: float = 8.0) -> Any:
    w = _ladder(128, base)
    smooth = np.clip((8192 * w / (2 * np.pi) - 1) / 3, 0, 1)
    return (1 - smooth) * w / factor + smooth * w


def _cos_sin(positions: Any, w: Any, kind: Any = np.float32) -> dict[str, Any]:
    angle = np.asarray(positions, dtype=np.float64)[:, None] * w
    return {"cos": np.cos(angle).astype(kind), "sin": np.sin(angle).astype(kind)}


def _narrow(values: Any, kind: Any = BFLOAT16) -> Any:
    return np.asarray(values).astype(np.float32).astype(kind).astype(np.float64)


@pytest.fixture
def ask(tmp_path: Path, capsys: Any) -> Callable[..., tuple[int, str]]:
    """The status and the words for a config and arrays."""

    def answer(config: dict[str, Any] | None, positions: str | None = None, **arrays: Any) -> tuple[int, str]:
        np.savez(tmp_path / "dump.npz", **arrays)
        path = None
        if config is not None:
            path = tmp_path / "config.json"
            path.write_text(json.dumps(config), encoding="utf-8")
        status = run(tmp_path / "dump.npz", config=path, positions=positions)
        return status, capsys.readouterr().out

    return answer


# --- positions ------------------------------------------------------------------------------------------------------

ROWS = {
    "0:131072:1024": np.arange(0, 131072, 1024),
    "0,5,77": np.array([0, 5, 77]),
    "4096": np.array([4096]),
    "100000:100300": np.arange(100000, 100300),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("told", [True, False])
def test_rows_at_any_positions(ask: Any, rows: str, told: bool) -> None:
    status, said = ask(LLAMA, rows if told else None, **_cos_sin(ROWS[rows], _llama3()))
    assert (status, "yes: this is the model's" in said) == (0, True), said
    first, step = ROWS[rows][0], "step 1024" if rows.endswith(":1024") else ""
    assert f"positions from {first}" in said or f"positions {first} " in said
    assert step in said


def test_rows_in_any_order(ask: Any) -> None:
    rows = np.random.default_rng(3).permutation(500)
    status, said = ask(None, **_cos_sin(rows, _ladder()))
    assert (status, "base 500000, float32 tables, positions 0 to 499, in no even steps" in said) == (0, True)


@pytest.mark.parametrize("base", [33333.0, 12345.0])
def test_an_unusual_base_a_thousand_positions_apart(ask: Any, base: float) -> None:
    table = _cos_sin(np.arange(0, 131072, 1024), _ladder(128, base))
    for told in (None, "0:131072:1024"):
        status, said = ask(None, told, **table)
        assert (status, f"base {base:g}, float32 tables, positions from 0, step 1024" in said) == (0, True), said


def test_angles_of_float32_far_out(ask: Any) -> None:
    angle = np.arange(100000, 100300, dtype=np.float32)[:, None] * _llama3().astype(np.float32)
    status, said = ask(LLAMA, cos=np.cos(angle), sin=np.sin(angle))
    assert (status, "positions from 100000" in said) == (0, True), said


@pytest.mark.parametrize(("rows", "last"), [("0,5,78", 77), ("0:512", 511.5)])
def test_other_positions_than_were_told_are_not_found(ask: Any, rows: str, last: float) -> None:
    positions = np.array([0, 5, 77]) if rows == "0,5,78" else np.linspace(0, last, 512)
    status, said = ask(None, rows, **_cos_sin(positions, _ladder()))
    assert (status, "not quite" in said) == (1, True), said


@pytest.mark.parametrize(("rows", "words"), [("0:3:0", "positions must be"), ("0:7", "7 positions are given")])
def test_positions_that_are_none_of_the_file(ask: Any, rows: str, words: str) -> None:
    with pytest.raises(WrongFile, match=words):
        ask(None, rows, **_cos_sin(np.arange(9), _ladder()))


# --- which mistake it is --------------------------------------------------------------------------------------------

MISTAKES: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "unscaled": (_cos_sin(np.arange(512), _ladder()), None, "its scaling left out"),
    "base": (_cos_sin(np.arange(512), _llama3(10000.0)), None, "base 10000"),
    "twice": (_cos_sin(np.arange(512), _llama3(factor=64.0)), None, "its factor squared"),
    "linear": (_cos_sin(np.arange(512), _ladder() / 8), None, "linear scaling by 8"),
    "shifted": (_cos_sin(np.arange(1, 513), _llama3()), "0:512", "positions one too large"),
    "one row": (_cos_sin([4097], _llama3()), "4096", "positions one too large"),
    "frequencies": (_cos_sin(np.arange(512), _narrow(_llama3())), None, "frequencies in bfloat16"),
    "positions": (_cos_sin(_narrow(np.arange(512)), _llama3()), "0:512", "positions in bfloat16"),
    "backwards": (_cos_sin(-np.arange(512), _llama3()), None, "the rotation backwards"),
    "two": (_cos_sin(np.arange(1, 513), _ladder()), "0:512", "its scaling left out and positions one too large"),
    "frequencies alone": ({"inv_freq": _ladder()}, None, "its scaling left out"),
    "narrow frequencies alone": ({"inv_freq": _narrow(_llama3())}, None, "frequencies in bfloat16"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_the_mistake_is_named(ask: Any, what: str) -> None:
    arrays, positions, words = MISTAKES[what]
    status, said = ask(LLAMA, positions, **arrays)
    assert status == 1
    assert said.rstrip().endswith(f"; this is what it gives with {words}"), said


def test_what_is_no_usual_mistake_is_told_by_how_far_off(ask: Any) -> None:
    status, said = ask(LLAMA, **_cos_sin(np.arange(512), _llama3(500100.0)))
    assert (status, "no: the model has base 500000" in said, "off by up to 0.00" in said) == (1, True, True), said
    assert "this is what it gives" not in said


@pytest.mark.parametrize("kind", [np.float16, BFLOAT16])
def test_tables_in_16_bits_are_the_models(ask: Any, kind: Any) -> None:
    table = {name: t.astype(np.float32) for name, t in _cos_sin(np.arange(512), _llama3(), kind).items()}
    status, said = ask(LLAMA, "0:512", **table)
    assert (status, f"{np.dtype(kind).name} tables" in said) == (0, True), said


def _rotated(x: Any, w: Any, layout: str) -> Any:
    table = _cos_sin(np.arange(x.shape[-2]), w, np.float64)
    first, second = (slice(0, 64), slice(64, 128)) if layout == "half" else (slice(0, 128, 2), slice(1, 128, 2))
    y = np.empty_like(x)
    y[..., first] = x[..., first] * table["cos"] - x[..., second] * table["sin"]
    y[..., second] = x[..., first] * table["sin"] + x[..., second] * table["cos"]
    return y


@pytest.mark.parametrize("heads_last", [False, True])
def test_a_rotation_with_the_heads_before_or_behind_the_sequence(ask: Any, heads_last: bool) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 40, 128))
    y = _rotated(x, _llama3(), "half")
    if heads_last:  # (batch, sequence, heads, channels)
        x, y = np.swapaxes(x, 1, 2), np.swapaxes(y, 1, 2)
    assert ask(LLAMA, x=x, y=y)[0] == 0


def test_a_rotation_in_the_other_layout(ask: Any) -> None:
    x = np.random.default_rng(0).normal(size=(2, 40, 128))
    status, said = ask(LLAMA, x=x, y=_rotated(x, _llama3(), "interleaved"))
    assert (status, "but for interleaved layout, and not half" in said) == (1, True), said


def test_frequencies_of_the_whole_head_in_a_partial_rotation(ask: Any) -> None:
    config = {"model_type": "phi", **SHAPE, "max_position_embeddings": 2048, "partial_rotary_factor": 0.5}
    assert ask(config, **_cos_sin(np.arange(300), _ladder(64, 10000.0)))[0] == 0
    status, said = ask(config, **_cos_sin(np.arange(300), _ladder(128, 10000.0)[:32]))
    assert (status, "the frequencies of all 128 channels" in said) == (1, True), said


SCALINGS: dict[str, dict[str, Any]] = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0, "original_max_position_embeddings": 4096},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096},
    "longrope": {
        "rope_type": "longrope",
        "factor": 4.0,
        "short_factor": np.linspace(1, 1.5, 64).round(3).tolist(),
        "long_factor": np.linspace(1, 60, 64).round(3).tolist(),
        "original_max_position_embeddings": 4096,
    },
}


@pytest.mark.parametrize("kind", SCALINGS)
@pytest.mark.parametrize("length", [512, 5000])
def test_tables_of_transformers(ask: Any, kind: str, length: int) -> None:
    """At its own length, and where frequencies that follow the length have changed."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    made = {**SHAPE, "max_position_embeddings": 16384, "rope_theta": 10000.0, "rope_scaling": SCALINGS[kind]}
    rotary = LlamaRotaryEmbedding(transformers.LlamaConfig(**copy.deepcopy(made)))  # it writes into what it is given
    positions = torch.arange(length)[None]
    cos, sin = (t.numpy() for t in rotary(torch.zeros(1, 1, dtype=torch.float32), positions))
    status, said = ask({"model_type": "llama", **made}, cos=cos, sin=sin)
    assert (status, "yes: this is the model's" in said) == (0, True), said
    off = ask({"model_type": "llama", **made, "rope_theta": 10001.0}, cos=cos, sin=sin)
    assert off[0] == 1, off[1]


def test_the_report_is_as_the_schema_says(tmp_path: Path, capsys: Any) -> None:
    """Found, only near, infinitely far off, and against a config."""
    cos, sin = _cos_sin(np.arange(64), _llama3()).values()
    bad = cos.copy()
    bad[3, 3] = np.nan
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    np.savez(tmp_path / "dump.npz", cos=cos, sin=sin, bad_cos=bad, bad_sin=sin, alibi=np.full((2, 3, 3), np.inf))
    assert run(tmp_path / "dump.npz", config=tmp_path / "config.json", as_json=True) == 1
    report = json.loads(capsys.readouterr().out)
    validator = Draft202012Validator(schema("identify"))
    assert not list(validator.iter_errors(report))
    assert report["verdict"] == "no"
    assert {"inf"} == {f["error"] for f in report["findings"] if not f["found"]}
    yes = next(f for f in report["findings"] if f["found"])
    assert (yes["arrays"], yes["model"]["model"], yes["model"]["distance"]) == (["cos", "sin"], True, None)
    del report["findings"][0]["sentence"]
    assert list(validator.iter_errors(report))


def test_several_arrays_of_a_safetensors_file(tmp_path: Path, capsys: Any) -> None:
    """A cache of cos beside sin in bfloat16 and the frequencies; complex numbers; at positions that were told."""
    table = _cos_sin(np.arange(0, 640, 10), _llama3(), np.float64)
    cache = np.concatenate([table["cos"], table["sin"]], -1).astype(BFLOAT16)
    tensors = {"cos_sin_cache": cache, "inv_freq": _llama3().astype(np.float32)}
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    (tmp_path / "dump.safetensors").write_bytes(serialized(tensors))
    np.save(tmp_path / "freqs_cis.npy", (table["cos"] + 1j * table["sin"]).astype(np.complex64))
    for name, lines in (("dump.safetensors", 2), ("freqs_cis.npy", 1)):
        how: dict[str, Any] = {"config": tmp_path / "config.json", "positions": "0:640:10"}
        assert run(tmp_path / name, **how) == 0
        said = capsys.readouterr().out
        assert said.count("yes: this is the model's") == lines, said
    assert run(tmp_path / "freqs_cis.npy", config=tmp_path / "config.json", positions="10:650:10") == 1
