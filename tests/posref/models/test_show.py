"""What ``posref show`` prints."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from posref import cli
from posref.models import read_config
from posref.models.frameworks import FRAMEWORKS
from posref.models.show import render, show
from posref.models.table import DTYPES

CONFIGS = Path(__file__).parents[2] / "data" / "configs"
KNOWN = [path.stem for path in sorted(CONFIGS.glob("*.json")) if read_config(path).encodings]


def rendered(name, width=200, **console):
    stream = io.StringIO()
    render(read_config(CONFIGS / f"{name}.json"), Console(file=stream, width=width, **console))
    return stream.getvalue()


def test_a_rotation():
    assert rendered("DeepSeek-V3").splitlines() == [
        "model_type deepseek_v3",
        "rope-yarn: text, mla, layers 0-60",
        "  head_dim  192, rotary_dim 64 from channel 128 on",
        "  layout    interleaved, written as half",
        "  base      10000",
        "  scaling   YarnScaling, factor 40, original_max_position_embeddings 4096, beta_fast 32, beta_slow 1, truncate true, "
        "mscale 1, mscale_all_dim 1",
        "  factors   attention_factor 1, softmax_factor 1.873854207",
        "  inv_freq  1, 0.7498942, 0.5623413, 0.4216965, .. 3.333804e-06 (32)",
        "defaulted: rope_scaling.truncate is absent, transformers' default is true",
    ]


def test_slopes_and_buckets():
    assert "  slopes    0.7071068, 0.5, 0.3535534, 0.25, .. 0.00390625 (16)\n  form      m k (key)\n" in rendered(
        "bloom-fixture"
    )
    encoder, decoder = rendered("t5-base", width=2000).split("\nt5: ")[1:]
    assert encoder.startswith("text, encoder, layers 0-11\n")
    assert "7: -7, 8: -11 to -8, 9: -15 to -12" in encoder
    assert "15: <= -91, 17: 1" in encoder
    assert "buckets   of k - q: 0: >= 0, 1: -1" in decoder


@pytest.mark.parametrize("width", [20, 60, 200])
@pytest.mark.parametrize("name", KNOWN)
def test_no_line_is_wider_than_the_terminal(name, width):
    text = rendered(name, width=width)
    assert max(map(len, text.splitlines())) <= max(width, 32)  # 12 columns of label and 20 of text are the least
    assert not any(line.endswith(" ") for line in text.splitlines())
    assert "".join(text.split()) == "".join(rendered(name, width=2000).split())  # nothing is cut off


def test_colours_are_for_terminals_only():
    assert "\x1b[" in rendered("gpt2", force_terminal=True, color_system="standard")
    assert "\x1b[" not in rendered("gpt2")


def test_what_is_not_known_is_one_line_even_on_a_narrow_terminal():
    stream = io.StringIO()
    render(read_config({"model_type": "an_unheard_of_model"}), Console(file=stream, width=20))
    assert stream.getvalue() == "not known yet: model_type 'an_unheard_of_model'\n"


@pytest.mark.parametrize("name", KNOWN)
def test_json(name, capsys):
    path = CONFIGS / f"{name}.json"
    assert show(path, as_json=True) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == read_config(path).as_json()
    assert out.isascii()
    assert err == ""


def test_seq_len_is_passed_on(capsys):
    path = CONFIGS / "Phi-3.5-mini-instruct.json"
    show(path, as_json=True, seq_len=5000)
    long = json.loads(capsys.readouterr().out)["encodings"][0]
    show(path, as_json=True)
    short = json.loads(capsys.readouterr().out)["encodings"][0]
    assert long["seq_len"] == 5000
    assert long["inv_freq"] != short["inv_freq"]
    show(CONFIGS / "gpt2.json", seq_len=5000)
    show(CONFIGS / "Meta-Llama-3.1-8B.json", seq_len=5000)
    assert "ignored: seq_len 5000" in capsys.readouterr().out


def test_the_command_knows_the_frameworks_and_types():
    """It lists them itself, so that its help does not have to import what reads configs."""
    assert tuple(FRAMEWORKS) == cli.FRAMEWORKS
    assert tuple(DTYPES) == cli.DTYPES


def test_a_stream_that_only_knows_ascii(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "modèle"}))
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    render(read_config(path), Console(file=stream))
    stream.flush()
    assert stream.buffer.getvalue() == b"not known yet: model_type 'mod\\xe8le'\n"
