"""``posref identify`` on slopes, biases, buckets and sinusoids, alone and against a config; the rules are written out here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posref_conformance.identify import identify
from posref_conformance.identify.command import run

SLOPES = 2.0 ** -np.arange(1, 9)  # 8 heads


def _one(folder: Path, array: Any) -> Any:
    np.save(folder / "dump.npy", array)
    (found,) = identify(folder / "dump.npy")
    return found.finding


def _against(folder: Path, config: dict[str, Any], array: Any, positions: str | None = None) -> int:
    np.save(folder / "dump.npy", array)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return run(folder / "dump.npy", config=folder / "config.json", positions=positions)


def _t5(relative: Any, buckets: int = 32, most: int = 128) -> Any:
    """T5's published rule, both ways, at distances where no logarithm lies near a whole number."""
    n, half = np.abs(relative), buckets // 2
    far = half // 2 + np.log(np.maximum(n, 1) / (half // 2) + 1e-9) / np.log(most / (half // 2)) * (half - half // 2)
    return np.where(n < half // 2, n, np.minimum(far.astype(int), half - 1)) + half * (relative > 0)


def _relative(queries: int, keys: int) -> Any:
    return np.arange(keys)[None] - np.arange(queries)[:, None] - (keys - queries)


@pytest.mark.parametrize("hidden", [-np.inf, float(np.finfo(np.float32).min), -65504.0])
@pytest.mark.parametrize("queries", [1, 3, 8])
def test_alibi_under_a_causal_mask(tmp_path: Path, hidden: float, queries: int) -> None:
    relative = _relative(queries, 8)
    bias = np.where(relative > 0, hidden, -SLOPES[:, None, None] * np.abs(relative)).astype(np.float32)
    finding = _one(tmp_path, bias)
    assert (finding.what, finding.found, finding.parameters["queries from"]) == ("alibi_bias", True, 8 - queries)
    assert finding.parameters["masked"] == ("the future" if queries > 1 else None)
    bias[2, -1, 0] *= np.float32(1.001)
    assert not _one(tmp_path, bias).found


def test_alibi_by_keys_alone(tmp_path: Path) -> None:
    bias = (SLOPES[:, None, None] * np.arange(9)).astype(np.float32)  # (heads, 1, keys), as BLOOM's
    assert (_one(tmp_path, bias).what, _one(tmp_path, bias).parameters["form"]) == ("alibi_bias", "key")


@pytest.mark.parametrize(("queries", "keys"), [(60, 60), (7, 60)])
@pytest.mark.parametrize("most", [128, 64])
def test_buckets(tmp_path: Path, queries: int, keys: int, most: int) -> None:
    bucket = _t5(_relative(queries, keys), most=most)
    finding = _one(tmp_path, bucket)
    told = [finding.parameters[name] for name in ("buckets", "max_distance", "queries from", "bidirectional")]
    assert (finding.what, finding.found, told) == ("t5_bucket", True, [32, most, keys - queries, True])
    bucket[0, -1] -= 1
    assert not _one(tmp_path, bucket).found


def test_buckets_against_a_config(tmp_path: Path, capsys: Any) -> None:
    config = {"model_type": "t5", "d_model": 512, "num_heads": 8, "num_layers": 2}
    relative = np.arange(-60, 60)
    assert _against(tmp_path, config, _t5(relative), "-60:60") == 0
    assert _against(tmp_path, config, _t5(relative, most=64), "-60:60") == 1
    assert "this is max_distance 64 in place of 128" in capsys.readouterr().out


def test_rows_of_a_window(tmp_path: Path) -> None:
    """Swin's rule for a window of 3 x 4 cells."""
    row, column = np.divmod(np.arange(12), 4)
    index = (row[:, None] - row + 2) * 7 + (column[:, None] - column + 3)
    finding = _one(tmp_path, index)
    assert (finding.what, finding.found) == ("relative_position_index", True)
    assert (finding.parameters["sizes"], finding.parameters["offset"]) == ("3 x 4", "query_minus_key")
    index[5, 5] += 1
    assert not _one(tmp_path, index).found


def test_other_integers_are_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "dump.npy", np.random.default_rng(0).integers(0, 32, (20, 20)))
    assert identify(tmp_path / "dump.npy") == []


def test_slopes_against_a_config(tmp_path: Path, capsys: Any) -> None:
    config = {"model_type": "bloom", "hidden_size": 512, "n_head": 8, "n_layer": 2}
    assert _against(tmp_path, config, SLOPES) == 0
    assert _against(tmp_path, {**config, "n_head": 16}, SLOPES) == 1
    assert "this is heads 8 in place of 16" in capsys.readouterr().out
    assert _against(tmp_path, {"model_type": "t5", "d_model": 512, "num_heads": 8, "num_layers": 2}, SLOPES) == 1
    assert "the model has no alibi slopes" in capsys.readouterr().out


@pytest.mark.parametrize("scale", [1.0, np.sqrt(512.0)])
def test_sinusoids_scaled_and_with_a_row_of_padding(tmp_path: Path, scale: float) -> None:
    """As fairseq's: sines, then cosines, with the last frequency 1/10000, from position 2, and zeros in front."""
    angle = np.arange(2, 90)[:, None] * 10000.0 ** (-np.arange(32) / 31)
    table = scale * np.concatenate([np.zeros((1, 64)), np.concatenate([np.sin(angle), np.cos(angle)], -1)])
    finding = _one(tmp_path, table.astype(np.float32))
    assert (finding.what, finding.found, finding.parameters["endpoint"]) == ("sinusoidal", True, True)
    assert (finding.parameters["row of zeros"], finding.parameters["positions from"]) == ("0", "2")
    assert (finding.parameters["scale"] or 1.0) == pytest.approx(scale, rel=1e-6)
    table[7, 7] += 1e-4
    assert not _one(tmp_path, table.astype(np.float32)).found


def test_time_steps(tmp_path: Path) -> None:
    angle = np.array([999, 979, 1, 500])[:, None] * 10000.0 ** (-np.arange(32) / 32)
    finding = _one(tmp_path, np.concatenate([np.sin(angle), np.cos(angle)], -1).astype(np.float32))
    assert (finding.what, finding.found, finding.parameters["order"]) == ("sinusoidal", True, "sin_cos")
    assert finding.parameters["positions"] == "999 979 1 500"
