"""What ``posref table`` writes: against mpmath and the rules of the papers, read back with NumPy alone."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import mpmath
import numpy as np
import pytest

from posref.models import read_config
from posref.models.table import DTYPES, parse_positions, table

CONFIGS = Path(__file__).parents[2] / "data" / "configs"
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 1e4}


@pytest.fixture
def write(tmp_path):
    """Write a table of some values or of a file, and load it: without pickle, which NumPy refuses by default."""

    def write(source, name="table.npz", **how):
        path = CONFIGS / f"{source}.json" if isinstance(source, str) else tmp_path / "config.json"
        if not isinstance(source, str):
            path.write_text(json.dumps(source))
        assert table(path, tmp_path / name, force=True, **how) == 0
        return dict(np.load(tmp_path / name)) if name.endswith("npz") else tmp_path / name

    return write


def angles(positions, dim, base=10000):
    with mpmath.workdps(40):
        return [[p * mpmath.mpf(base) ** (-mpmath.mpf(2 * i) / dim) for i in range(dim // 2)] for p in positions]


def apart(found, wanted):
    """The largest difference."""
    return max(abs(float(mpmath.mpf(float(f)) - w)) for f, w in zip(np.ravel(found), np.ravel(wanted), strict=True))


def test_cos_and_sin(write):
    found = write(LLAMA, positions="0:4096:97", dtype="float64")
    positions = list(range(0, 4096, 97))
    assert found["positions"].tolist() == positions
    theta = np.array(angles(positions, 16))
    # the frequencies are float64: off by u w, so that an angle is off by u theta, and what is rounded at the end by u/2
    bound = 2.0**-53 * (1 + 4096)
    assert apart(found["0.cos"], np.vectorize(mpmath.cos)(theta)) <= bound
    assert apart(found["0.sin"], np.vectorize(mpmath.sin)(theta)) <= bound
    assert apart(found["0.sin"], np.vectorize(mpmath.cos)(theta)) > 0.1
    assert apart(found["0.inv_freq"], angles([1], 16)[0]) <= 2.0**-53


@pytest.mark.parametrize("dtype", DTYPES)
def test_types(write, dtype):
    exact, found = write(LLAMA, dtype="float64"), write(LLAMA, dtype=dtype)
    for name in ("0.cos", "0.sin"):
        read = found[name].view(DTYPES[dtype])  # NumPy's files know bfloat16 as two bytes
        assert np.array_equal(read, exact[name].astype(DTYPES[dtype]))
    assert found["0.inv_freq"].dtype == found["0.attention_factor"].dtype == np.float64
    assert found["0.cos"].shape == (4096, 8)


def test_the_file_says_what_it_is(write):
    found = write("gpt-oss-20b", positions="0:3")
    assert json.loads(str(found["about"])) == read_config(CONFIGS / "gpt-oss-20b.json").as_json()
    assert found["0.attention_factor"] == pytest.approx(0.1 * math.log(32) + 1, rel=1e-15)
    assert found["0.cos"][0].tolist() == [np.float32(found["0.attention_factor"])] * 32


def test_safetensors(write):
    pytest.importorskip("safetensors", reason="needs the safetensors extra")
    from safetensors import safe_open

    npz, path = write("gpt-oss-20b"), write("gpt-oss-20b", "table.safetensors")
    with safe_open(path, "numpy") as found:
        assert set(found.keys()) | {"about"} == set(npz)
        assert all(np.array_equal(found.get_tensor(key), npz[key]) for key in found.keys())  # noqa: SIM118, it is no dict
        assert found.metadata()["about"] == str(npz["about"])


def test_alibi_by_form(write):
    """BLOOM adds m k; MPT's smallest slope is 2^-8; Falcon's bias is divided by sqrt(head_dim)."""
    bloom = write("bloom-fixture", positions="0:5", dtype="float64")
    slopes = np.array([2.0 ** (-h / 2) for h in range(1, 17)])
    np.testing.assert_allclose(bloom["0.bias"], np.outer(slopes, range(5)), rtol=2.0**-52)  # slope and product
    both_ways = {"position_embedding_type": "alibi", "alibi_starting_size": 512, "num_attention_heads": 8}
    encoder = write({**both_ways, "num_hidden_layers": 1}, positions="-2:3", dtype="float64")
    np.testing.assert_array_equal(encoder["0.bias"][0], [-1.0, -0.5, 0.0, -0.5, -1.0])
    falcon = {
        "model_type": "falcon",
        "alibi": True,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 1,
    }
    scaled = write(falcon, positions="0:3", dtype="float64")
    np.testing.assert_array_equal(scaled["0.bias"][0], [0.0, 0.0625, 0.125])  # 2^-2 k / sqrt(16)


def test_buckets_and_rows(write):
    """T5's paper: half of the buckets for keys ahead, exact to 7; GPT-2's table has no row beyond 1023, OPT's starts at 2."""
    encoder = write("t5-base", positions="-8,-7,0,1,7,8,200")
    assert encoder["0.bucket"].tolist() == [8, 7, 0, 17, 23, 24, 31]
    assert encoder["1.bucket"].tolist() == [8, 7, 0, 0, 0, 0, 0]
    assert write("gpt2", positions="-1,0,1023,1024")["0.row"].tolist() == [-1, 0, 1023, -1]
    assert write("opt-1.3b", positions="0,2047,2048")["0.row"].tolist() == [2, 2049, -1]


def test_sinusoids(write):
    """Whisper: sines, then cosines of 10000^(-k / (d/2 - 1))."""
    found = write("whisper-large-v2", positions="0,1,1499", dtype="float64")["0.table"]
    with mpmath.workdps(30):
        theta = np.array([[p * mpmath.mpf(10000) ** (-mpmath.mpf(k) / 639) for k in range(640)] for p in (0, 1, 1499)])
    wanted = np.hstack([np.vectorize(mpmath.sin)(theta), np.vectorize(mpmath.cos)(theta)])
    assert apart(found, wanted) <= 2.0**-53


def test_factors_on_queries(write):
    """Qwen: max(1, ln(m + 1) / ln 2048). Llama 4 counts from 1, Ministral 3 from 0."""
    scale = write("Qwen-1_8B", positions="0,8191,16383", dtype="float64")["1.scale"]
    trained = json.loads((CONFIGS / "Qwen-1_8B.json").read_text())["seq_length"]
    wanted = [max(1.0, math.log(m + 1) / math.log(trained)) for m in (0, 8191, 16383)]
    np.testing.assert_allclose(scale, wanted, rtol=2.0**-51)  # two logarithms, a division
    llama4 = {**LLAMA, "model_type": "llama4_text", "num_hidden_layers": 4, "floor_scale": 4, "attn_scale": 0.5}
    found = write(llama4, positions="2,3,7", dtype="float64")["1.scale"]
    np.testing.assert_allclose(found, [1 + 0.5 * math.log(n) for n in (1, 2, 3)], rtol=2.0**-51)


def test_axes(write):
    """Each pair at that position on its own axis: a column of its own ladder, whatever the axis."""
    found = write("Qwen3-VL-2B-Instruct", positions="0:50:7", dtype="float64")
    assert np.bincount(found["0.axis_map"]).tolist() == [24, 20, 20]
    for index in ("0", "1"):
        wanted = np.cos(np.outer(found["positions"], found[f"{index}.inv_freq"]))
        np.testing.assert_allclose(found[f"{index}.cos"], wanted, atol=2.0**-52 * 50)  # NumPy's product, 50 at most


def test_pairs_that_take_no_position(write):
    """Of text, llama.cpp's fourth axis stays 0 (Qwen3-VL's pairs 61 and 62)."""
    found = write("Qwen3-VL-2B-Instruct", positions="1000", framework="ggml")
    assert np.flatnonzero(found["0.sin"][0] == 0).tolist() == [61, 62]
    assert not np.any(write("Qwen3-VL-2B-Instruct", positions="1000")["0.sin"][0] == 0)


def test_a_layer(write):
    values = {"model_type": "gemma3_text", "num_hidden_layers": 6, "hidden_size": 64, "num_attention_heads": 4}
    assert {"0.cos", "1.cos"} <= write(values).keys()
    assert "1.cos" not in write(values, layer=0)
    assert "0.cos" not in write(values, layer=5)


def test_framework_and_length_are_passed_on(write):
    short, long = (write("Phi-3.5-mini-instruct", seq_len=n)["0.inv_freq"] for n in (4096, 4097))
    assert not np.array_equal(short, long)
    assert np.array_equal(write("Phi-3.5-mini-instruct", framework="mlx")["0.inv_freq"], long)  # always the long ones


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("0:3", [0, 1, 2]), (":3", [0, 1, 2]), ("5:0:-2", [5, 3, 1]), ("7", [7]), ("3,1,1", [3, 1, 1]), ("-2:1", [-2, -1, 0]),
     (f"7:{10**25}:{10**30}", [7])],
)  # fmt: skip
def test_positions(text, wanted):
    assert parse_positions(text).tolist() == wanted


HOW = "must be first:end, first:end:step or integers with commas, got"
FAR = "must be at most 2**53 in magnitude"
REFUSED = {
    "no positions": ({"positions": "4:4"}, "positions must be at least one, got '4:4'"),
    "words": ({"positions": "all"}, HOW),
    "no end": ({"positions": "4:"}, HOW),
    "no step": ({"positions": "0:4:0"}, HOW),
    "four numbers": ({"positions": "0:4:1:1"}, HOW),
    "fractions": ({"positions": "0.5"}, HOW),
    "nothing": ({"positions": ""}, HOW),
    "far": ({"positions": f"{2**53 + 1}"}, FAR),
    "far, in a list": ({"positions": f"0,{10**30},1"}, FAR),
    "many": ({"positions": "0:1000000000"}, "positions must be at most 2^24 of them, got 1000000000"),
    "very many": ({"positions": f"0:{10**25}"}, FAR),
    "large": ({"positions": "0:16777216", "layer": 0}, "at most 2^28 numbers in an array"),
    "digits": ({"positions": "1" * 5000}, HOW),
    "dtype": ({"dtype": "int8"}, "dtype must be one of 'float64', 'float32', 'float16', 'bfloat16', got 'int8'"),
    "framework": ({"framework": "tf"}, "framework must be one of"),
    "no such layer": ({"layer": 2}, "layer must be one that has an encoding, of layers 0-1, got 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_written(case, tmp_path, capsys):
    how, says = REFUSED[case]
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**LLAMA, "head_dim": 128}))
    start = time.process_time()
    assert table(config, tmp_path / "table.npz", **how) == 2
    assert time.process_time() - start < 1
    assert_refused(capsys, says)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def assert_refused(capsys, says):
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err
    assert len(err) < 400


def test_where_it_cannot_be_written(tmp_path, capsys):
    config = CONFIGS / "Llama-2-7b-hf.json"
    assert table(config, tmp_path / "nowhere" / "table.npz") == 2
    assert_refused(capsys, "the output must be in a folder that there is, got ")
    assert table(config, tmp_path / "table.npy") == 2
    assert_refused(capsys, "the output must end in .npz or .safetensors, got ")
    assert table(tmp_path, tmp_path / "table.npz") == 2
    assert_refused(capsys, "Is a directory")
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"weights")
    assert table(config, weights) == 2
    assert_refused(capsys, "is there already; --force writes over it")
    assert weights.read_bytes() == b"weights"


FAR = [0, 1, 127, 128, 129, 130, 200, 256, 300, 400, 511, 600, 5000]


def test_rows_of_deberta(write):
    """Of k - q: what microsoft/DeBERTa's logarithm gives for q - k, in float64, and transformers' rows at the ends."""

    def bucket(r):
        far = math.ceil(math.log(abs(r) / 128) / math.log(511 / 128) * 127) + 128 if abs(r) > 128 else abs(r)
        return far if r > 0 else -far

    positions = ",".join(str(p) for p in [*FAR, *(-p for p in FAR)])
    found = write("deberta-v3-base-microsoft-format", positions=positions)
    (row,) = (value for name, value in found.items() if name.endswith(".row"))
    assert row.tolist() == [min(max(bucket(-p) + 256, 0), 511) for p in found["positions"].tolist()]
    assert row[FAR.index(600)] == 0  # Microsoft's is 1: it clips the distance
    first = {**LLAMA, "model_type": "deberta", "relative_attention": True, "max_position_embeddings": 512}
    plain = write(first | {"position_biased_input": False}, positions=positions)
    (row,) = (value for name, value in plain.items() if name.endswith(".row"))
    assert row.tolist() == [min(max(512 - p, 0), 1023) for p in plain["positions"].tolist()]
    assert {value.dtype for value in (row, plain["positions"])} == {np.dtype(np.int64)}


@pytest.mark.parametrize("name", ["Nemotron-H-56B-Base-8K"])
def test_nothing_to_write(name, tmp_path, capsys):
    assert table(CONFIGS / f"{name}.json", tmp_path / "table.npz") == 2
    assert_refused(capsys, "nothing to write")


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.json")), ids=lambda path: path.stem)
def test_every_file_that_shows_something_has_a_table(path, tmp_path):
    untold = ("Llama-2-7b-longlora-32k-snippet", "nomic-embed-text-v1.5-rope_parameters-snippet")  # no sizes
    numbers = path.stem not in untold and read_config(path).encodings
    status = table(path, tmp_path / "table.npz", positions="0:3")
    assert status == (0 if numbers else 2)


def test_layers_and_folders_have_names(tmp_path, capsys):
    file = CONFIGS / "Llama-3.2-1B.json"
    assert table(file, tmp_path / "table.npz", layer=99) == 2
    assert "layer must be one that has an encoding, of layers 0-15, got 99" in capsys.readouterr().err
    folder = tmp_path / "folder.npz"
    folder.mkdir()
    assert table(file, folder, force=True) == 2
    assert "the output must be a file, got the folder" in capsys.readouterr().err
