"""``posref identify`` names what numbers are. The numbers come from formulas that are written out here, in NumPy alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from posref_conformance.identify import identify
from posref_conformance.identify.command import run
from posref_conformance.schemas import WrongFile

RNG = np.random.default_rng(7)


def _ladder(dim: int, base: float = 10000.0) -> Any:
    return base ** (-np.arange(0, dim, 2, dtype=np.float64) / dim)


def _llama3(dim: int, base: float, factor: float, length: int) -> Any:
    """Llama 3's rule, as its authors published it: low_freq_factor 1, high_freq_factor 4."""
    w = _ladder(dim, base)
    turns = length * w / (2 * np.pi)
    smooth = np.clip((turns - 1) / 3, 0, 1)
    return (1 - smooth) * w / factor + smooth * w


def _cos_sin(positions: Any, w: Any, dtype: Any = np.float32, factor: float = 1.0) -> tuple[Any, Any]:
    angle = np.asarray(positions)[:, None] * w
    return (factor * np.cos(angle)).astype(dtype), (factor * np.sin(angle)).astype(dtype)


def _one(path: Path, **arrays: Any) -> tuple[str, dict[str, Any]]:
    """The only finding for some arrays: what it is, and its parameters."""
    if set(arrays) == {"array"}:
        path = path.with_suffix(".npy")
        np.save(path, arrays["array"])
    else:
        np.savez(path, **arrays)
    (found,) = identify(path)
    finding = found.finding
    assert finding.found, finding.sentence()
    return finding.what, {name: value for name, value in finding.parameters.items() if value is not None}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "dump.npz"


def test_llama_3_1_in_halves_from_1(file: Path) -> None:
    cos, sin = _cos_sin(np.arange(1, 1025), _llama3(128, 500000.0, 8.0, 8192))
    what, told = _one(file, cos=np.concatenate([cos, cos], -1), sin=np.concatenate([sin, sin], -1))
    assert what == "rope_table"
    assert told == {
        "base": 500000.0,
        "scaling": "Llama-3 scaling factor 8 original length 8192",
        "layout": "half",
        "precision": "float32 tables",
        "positions from": "1",
    }


@pytest.mark.parametrize("base", [10000.0, 500000.0, 1000000.0, 150000.0, 12345.0])
@pytest.mark.parametrize("layout", ["half", "interleaved", None])
def test_plain_tables(file: Path, base: float, layout: str | None) -> None:
    cos, sin = _cos_sin(np.arange(512), _ladder(64, base))
    repeated = {
        "half": lambda t: np.concatenate([t, t], -1),
        "interleaved": lambda t: np.repeat(t, 2, -1),
        None: lambda t: t,
    }
    what, told = _one(file, cos_cached=repeated[layout](cos), sin_cached=repeated[layout](sin))
    assert (what, told["base"], told.get("layout"), told["positions from"]) == ("rope_table", base, layout, "0")
    assert "scaling" not in told


def test_a_base_that_is_a_little_off_is_told(file: Path) -> None:
    _, told = _one(
        file, **dict(zip(("cos", "sin"), _cos_sin(np.arange(4096), _ladder(64, 10001.0), np.float64), strict=True))
    )
    assert told["base"] == 10001.0


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (np.float64, "float64 tables"),
        (np.float32, "float32 tables"),
        (np.float16, "float16 tables"),
        (ml_dtypes.bfloat16, "bfloat16 tables"),
    ],
)
def test_precision_of_tables(file: Path, kind: Any, words: str) -> None:
    cos, sin = (t.astype(kind).astype(np.float64) for t in _cos_sin(np.arange(256), _ladder(64), np.float64))
    _, told = _one(file, cos=cos, sin=sin)
    assert (told["precision"], told["base"]) == (words, 10000.0)


def test_frequencies_that_went_through_bfloat16(file: Path) -> None:
    w = _ladder(64).astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    cos, sin = _cos_sin(np.arange(512), w)
    _, told = _one(file, cos=cos, sin=sin)
    assert told["precision"] == "float32 tables of frequencies in bfloat16"


def test_cos_beside_sin_and_complex(file: Path) -> None:
    cos, sin = _cos_sin(np.arange(300), _ladder(32, 500000.0))
    assert _one(file, array=np.concatenate([cos, sin], -1))[1]["base"] == 500000.0
    assert _one(file, array=cos + 1j * sin)[1]["base"] == 500000.0


def test_frequencies(file: Path) -> None:
    what, told = _one(file, array=_llama3(128, 500000.0, 32.0, 8192).astype(np.float32))
    assert (what, told["scaling"]) == ("rope_inv_freq", "Llama-3 scaling factor 32 original length 8192")
    assert _one(file, array=(_ladder(64) / 4).astype(np.float32))[1]["scaling"] == "Linear scaling factor 4"


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", [np.float32, ml_dtypes.bfloat16])
def test_a_rotation(file: Path, layout: str, backwards: bool, kind: Any) -> None:
    x = RNG.normal(size=(4, 6, 60, 64)).astype(kind)
    cos, sin = _cos_sin(np.arange(60) + 11, _ladder(64, 500000.0), np.float64)
    sin = -sin if backwards else sin
    first, second = (slice(0, 32), slice(32, 64)) if layout == "half" else (slice(0, 64, 2), slice(1, 64, 2))
    a, b = x[..., first].astype(np.float64), x[..., second].astype(np.float64)
    y = np.empty(x.shape)
    y[..., first], y[..., second] = a * cos - b * sin, a * sin + b * cos
    wide = np.float32 if kind is np.float32 else np.float64
    what, told = _one(file, x=x.astype(wide), y=y.astype(kind).astype(wide))
    assert (what, told["layout"], told.get("rotation")) == ("rope", layout, "backwards" if backwards else None)
    assert told["precision"] == f"{np.dtype(kind).name} results"
    assert (told["base"], told["positions from"]) == (500000.0, "11")


def test_a_partial_rotation(file: Path) -> None:
    x = RNG.normal(size=(3, 50, 40))
    cos, sin = _cos_sin(np.arange(50), _ladder(16), np.float64)
    y = x.copy()
    y[..., :8], y[..., 8:16] = x[..., :8] * cos - x[..., 8:16] * sin, x[..., :8] * sin + x[..., 8:16] * cos
    _, told = _one(file, x=x, y=y)
    assert (told["channels"], told["layout"], told["base"]) == ("0 .. 15 of 40", "half", 10000.0)


@pytest.mark.parametrize("endpoint", [False, True])
@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_sinusoids(file: Path, endpoint: bool, layout: str) -> None:
    k = np.arange(16)
    angle = np.arange(90)[:, None] * 10000.0 ** (-k / (15 if endpoint else 16))
    parts = [np.sin(angle), np.cos(angle)]
    table = np.concatenate(parts, -1) if layout == "concatenated" else np.stack(parts, -1).reshape(90, 32)
    what, told = _one(file, array=table.astype(np.float32))
    assert (what, told["base"], told["layout"], told["order"]) == ("sinusoidal", 10000.0, layout, "sin_cos")
    assert told.get("endpoint", False) is endpoint


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_numbers_of_any_size_have_an_answer(file: Path, size: float) -> None:
    angle = np.arange(20)[:, None] * _ladder(8)
    _, told = _one(file, s=size * np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(20, 8))
    assert told["scale"] == size


def test_slopes_and_biases(file: Path) -> None:
    slopes = np.array([2.0 ** (-h) for h in range(1, 9)] + [2.0 ** (-h - 0.5) for h in range(4)])  # 12 heads
    assert _one(file, array=slopes)[0] == "alibi_slopes"
    distance = np.abs(np.arange(5)[:, None] + 3 - np.arange(8))
    what, told = _one(file, array=(-slopes[:, None, None] * distance).astype(np.float32))
    assert (what, told["form"], told["queries from"]) == ("alibi_bias", "distance", 3)


def test_t5(file: Path) -> None:
    """Buckets by T5's published rule, at distances where no logarithm lies near a whole number."""
    r = np.arange(60)[None] - np.arange(60)[:, None]
    n = np.abs(r)
    with np.errstate(divide="ignore"):
        far = np.minimum(8 + (np.log(n / 8 + 1e-9) / np.log(16) * 8).astype(int), 15)
    bucket = np.where(n < 8, n, far) + 16 * (r > 0)
    what, told = _one(file, array=np.moveaxis(RNG.normal(size=(32, 6))[bucket], -1, 0))
    assert (what, told["buckets"], told["max_distance"], told["bidirectional"]) == ("t5_bias", 32, 128, True)


def test_the_nearest_is_told_with_how_far_off(file: Path, capsys: Any) -> None:
    cos, sin = _cos_sin(np.arange(256), _ladder(64), np.float64)
    cos[100, 3] += 0.25
    np.savez(file, cos=cos, sin=sin)
    assert run(file) == 1
    shown = capsys.readouterr().out
    assert "base 10000" in shown
    assert "not quite: off by up to" in shown


def test_noise_is_nothing(file: Path, capsys: Any) -> None:
    np.savez(
        file,
        a=RNG.normal(size=(40, 64)),
        b=RNG.normal(size=(4, 9, 9)),
        x=RNG.normal(size=(9, 8)),
        y=RNG.normal(size=(9, 8)),
    )
    assert run(file) == 1
    assert all(not found.finding.found for found in identify(file))


# --- against a config -----------------------------------------------------------------------------------------------

CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 2,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
}


@pytest.mark.parametrize(
    ("base", "status", "words"),
    [(500000.0, 0, "yes: this is the model's"), (10000.0, 1, "no: the model has base 500000")],
)
def test_against_a_config(file: Path, capsys: Any, base: float, status: int, words: str) -> None:
    np.save(file.with_suffix(".npy"), _ladder(128, base).astype(np.float32))
    config = file.with_name("config.json")
    config.write_text(json.dumps(CONFIG), encoding="utf-8")
    assert run(file.with_suffix(".npy"), config=config) == status
    assert words in capsys.readouterr().out


def test_json(file: Path, capsys: Any) -> None:
    np.save(file.with_suffix(".npy"), _ladder(64).astype(np.float32))
    assert run(file.with_suffix(".npy"), as_json=True) == 0
    (record,) = json.loads(capsys.readouterr().out)["findings"]
    assert (record["what"], record["found"], record["parameters"]) == ("rope_inv_freq", True, {"base": 10000.0})


# --- bad files ------------------------------------------------------------------------------------------------------


class _Trap:
    """What would be run by unpickling."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("unpickled",))


def _pickled(path: Path) -> None:
    np.save(path, np.array([_Trap()], dtype=object), allow_pickle=True)


BAD = {
    "cut.npy": lambda p: p.write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran"),
    "empty.npy": lambda p: p.write_bytes(b""),
    "cut.npz": lambda p: p.write_bytes(b"PK\x03\x04 and nothing more"),
    "cut.safetensors": lambda p: p.write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00{}"),
    "pickled.npy": _pickled,
    "words.npy": lambda p: np.save(p, np.array(["a", "b"])),
    "none.npy": lambda p: np.save(p, np.zeros((0, 4))),
    "table.txt": lambda p: p.write_text("1 2 3", encoding="utf-8"),
    "folder.npy": lambda p: p.mkdir(),
    "missing.npy": lambda p: None,
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line(tmp_path: Path, name: str) -> None:
    BAD[name](tmp_path / name)
    with pytest.raises(WrongFile) as problem:
        run(tmp_path / name)
    assert str(problem.value).startswith(str(tmp_path / name))
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("text", ["{", '{"model_type": "nothing-of-the-kind"}', '["a"]'])
def test_a_bad_config_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    np.save(tmp_path / "a.npy", _ladder(64))
    with pytest.raises(WrongFile, match=r"config\.json: [^\n]+$"):
        run(tmp_path / "a.npy", config=tmp_path / "config.json")
