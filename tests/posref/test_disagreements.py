"""The register of disagreements: every reading can be computed, and is another function than the others."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import json
import re
from typing import Any

import numpy as np
import pytest

import posref
from posref.catalogue import CATALOGUE
from posref.disagreements import REGISTER, Disagreement, Reading
from posref.disagreements.show import show

by_id = {record.id: record for record in REGISTER}
every_record = pytest.mark.parametrize("record", REGISTER, ids=lambda r: r.id)


def same(a: Any, b: Any) -> bool:
    """Whether two readings are one function here: up to 1e-6, where the smallest difference in the register is 1e-3."""
    if a is None or b is None:
        return a is b
    a, b = (np.asarray(v, dtype=np.float64) for v in (a, b))
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=1e-9)


def differ(record: Disagreement) -> None:
    values = [record.read(reading.name) for reading in record.readings]
    assert all(v is None or np.isfinite(np.asarray(v, dtype=np.float64)).all() for v in values)
    assert not any(same(a, b) for a, b in itertools.combinations(values, 2))


@every_record
def test_every_reading_is_reached_and_differs(record: Disagreement) -> None:
    differ(record)


def test_readings_that_are_one_are_found() -> None:
    ramp = by_id["yarn-ramp"]
    twice = dataclasses.replace(ramp, readings=(ramp.readings[0], Reading("again", "nobody", ramp.readings[0].how)))
    with pytest.raises(AssertionError):
        differ(twice)
    with pytest.raises(AssertionError):
        differ(dataclasses.replace(ramp, readings=(ramp.readings[0], Reading("lost", "nobody", "[float('nan')]"))))


@every_record
def test_a_record_is_whole(record: Disagreement) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", record.id)
    names = [reading.name for reading in record.readings]
    assert len(set(names)) == len(names) >= 2
    assert record.default in names
    assert record.encodings
    assert set(record.encodings) <= {encoding.id for encoding in CATALOGUE}
    texts = [record.title, record.why, record.source, *(t for r in record.readings for t in (r.name, r.who, r.how))]
    assert all(text == text.strip() != "" and "\n" not in text and "|" not in text for text in texts)
    assert "?" in record.title


CHOSEN = [r for r in REGISTER if r.argument and f"{r.argument.partition('.')[2]}=" not in r.given]  # else all pass it


@pytest.mark.parametrize("record", CHOSEN, ids=lambda r: r.id)
def test_the_default_is_the_arguments_default(record: Disagreement) -> None:
    """The default reading says nothing of the argument that chooses, and one of the others does."""
    function, _, keyword = record.argument.partition(".")
    signature = inspect.signature(getattr(posref, function))
    assert signature.parameters[keyword].default is not inspect.Parameter.empty
    sets = re.compile(rf"\b{keyword}=|{function}\([^()]*, '")  # by name, or a word in its place
    chosen = {r.name: bool(sets.search(r.how)) for r in record.readings}
    assert not chosen.pop(record.default)
    assert any(chosen.values())


def test_ids_are_told_apart() -> None:
    assert len(by_id) == len(REGISTER)


def test_an_unknown_reading_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="mine"):
        by_id["yarn-ramp"].read("mine")


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    show(as_json=True)
    records = json.loads(capsys.readouterr().out)
    assert [record["id"] for record in records] == list(by_id)
    for record in records:
        assert (
            Disagreement(
                **{**record, "encodings": tuple(record["encodings"])}
                | {"readings": tuple(Reading(**reading) for reading in record["readings"])}
            )
            == by_id[record["id"]]
        )


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_terminal_cuts_nothing(columns: int, monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    show(as_json=False)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= columns
    squeezed = "".join(text.split())
    for record in REGISTER:
        for said in (record.id, record.title, record.why, *(r.who + r.how for r in record.readings)):
            assert "".join(said.split()) in squeezed


# --- the readers of configs say the same of the same frameworks ------------------------------------------------------

YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192}
DEEPSEEK = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096}
LENGTHS = {"rope_type": "yarn", "factor": 4.0}
MSCALES = [
    DEEPSEEK | k
    for k in ({"mscale": 0.707, "mscale_all_dim": 0.0}, {"mscale": 0.707}, {"mscale": 1.0, "mscale_all_dim": 1.0})
]

# id -> what to look at, head dim, longest text, rope blocks, reading -> frameworks
FRAMEWORKS: dict[str, tuple[str, int, int, list[dict[str, Any]], dict[str, str]]] = {
    "yarn-attention-factor": (
        "attention_factor",
        64,
        65536,
        [YARN | {"attention_factor": 1.25}],
        {"it does": "transformers vllm exllamav3", "it is ignored": "sglang mlx"},
    ),
    "yarn-attn-factor": (
        "attention_factor",
        64,
        65536,
        [YARN | {"attn_factor": 0.75}],
        {"it is ignored": "transformers vllm mlx exllamav3", "it does": "sglang"},
    ),
    "yarn-mscale": (
        "attention_factor",
        64,
        163840,
        MSCALES,
        {
            "where both are there and not 0": "transformers vllm",
            "where both are there": "sglang",
            "always, with 1 and 0 for what is missing": "mlx",
            "never": "exllamav3",
        },
    ),
    "yarn-original-missing": (
        "inv_freq",
        128,
        32768,
        [LENGTHS],
        {"max_position_embeddings": "transformers sglang exllamav3"},
    ),
}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_readers_of_configs_agree_with_the_register(name: str) -> None:
    what, dim, longest, blocks, claims = FRAMEWORKS[name]
    for reading, frameworks in claims.items():
        for framework in frameworks.split():
            found = []
            for block in blocks:
                config = {
                    "model_type": "llama",
                    "hidden_size": 2 * dim,
                    "num_attention_heads": 2,
                    "num_hidden_layers": 1,
                    "rope_theta": 10000.0,
                    "max_position_embeddings": longest,
                    "rope_scaling": block,
                }
                (encoding,) = posref.read_config(config, framework=framework).encodings
                found.append(getattr(encoding, what))
            value = found if len(found) > 1 else found[0]
            said = [r.name for r in by_id[name].readings if same(by_id[name].read(r.name), value)]
            assert said == [reading], framework


# --- published numbers ----------------------------------------------------------------------------------------------


def read(record: str, name: str) -> Any:
    return by_id[record].read(name)


def test_published_sizes() -> None:
    """From the code of the libraries that are named, in float64: d = 128, f = 4, L = 2048."""
    lengths = by_id["dynamic-ntk-length"]
    growth = {r.name: lengths.read(r.name)[2] ** -64 / 10000 for r in lengths.readings}
    assert growth["factor times L"] == pytest.approx(13.54, abs=0.005)
    assert growth["the factor has no effect"] == pytest.approx(1.0, abs=1e-12)
    factor = read("telechat3-magnitude", "0.07 ln s + 1")
    assert factor == pytest.approx(1.0970406053, abs=5e-11)
    exact = np.cos(131071 * posref.rope_inv_freq(128))
    one, other = (np.abs(read("iterated-frequencies", n) - exact).max() for n in ("no, each from its own power", "yes"))
    assert one == pytest.approx(3.2e-3, rel=0.02)
    assert other == pytest.approx(1.2e-2, rel=0.05)


def test_published_norms() -> None:
    """1 .. 8 has norm 14.283, which a rotation keeps."""
    x = np.arange(1.0, 9.0)[None]
    cos_sin = posref.rope_axes_cos_sin(
        [[3]], np.tile(posref.rope_inv_freq(8), 2), [0] * 8
    )  # V-JEPA 2's tiles, one axis
    assert np.linalg.norm(posref.rope_apply_channels(x, *cos_sin, layout="interleaved")) == pytest.approx(
        15.047, abs=5e-4
    )
    split = by_id["xdrope-split"]
    norms = [np.linalg.norm(split.read(reading.name)) for reading in split.readings]
    assert norms == pytest.approx([15.178, 14.283], abs=5e-4)
