"""Real files, part by part: the class's frequencies for the file as it is, and the rotations of a small model with its heads."""

from __future__ import annotations

import json
import math

import pytest
from model_peer import (
    CONFIGS,
    SHORT,
    SMALL,
    assert_same_rotations,
    build,
    frequency_error,
    inv_freq_of,
    rotary_class,
    torch,
    transformers,
)

from posref.models import READERS, RopeEncoding, composite, read_config

pytestmark = pytest.mark.peers

FILES = {path.stem: json.loads(path.read_text()) for path in sorted(CONFIGS.glob("*.json"))}
ELSEWHERE = {
    "falcon": "its attention does not go through the common interface",
    "roformer": "its attention does not go through the common interface",
    "hunyuan": "a model of its own code; transformers' class of another name",
}


def text_of(values):
    """The text model's part of a file, with its model_type, as transformers' classes hand it on."""
    family = composite.FAMILIES.get(values.get("model_type", ""))
    if not isinstance(family, composite.Composite):
        return values
    part = values.get("text_config", values if family.flat else {})
    kind = family.renamed.get(part.get("model_type"), part.get("model_type"))
    if kind is None or family.fixed is True or (family.fixed and "text" in family.fixed):
        kind = family.text
    return {**part, "model_type": kind}


def rotations(values, **options):
    answer = read_config(values, **options)
    return [e for e in answer.encodings if isinstance(e, RopeEncoding) and e.component == "text"]


def readable(values):
    kind = values.get("model_type")
    return kind in READERS and kind in transformers.CONFIG_MAPPING and bool(rotations(values))


TEXTS = {name: text_of(values) for name, values in FILES.items() if "model_type" in values}
ROTATING = [name for name, values in TEXTS.items() if readable(values)]


def as_config(values):
    values = json.loads(json.dumps(values))
    if values["model_type"] == "gptj":
        values.pop("rope_scaling", None)  # an addition of mlc-llm's, over which transformers only warns
    return transformers.CONFIG_MAPPING[values["model_type"]](**values)


@pytest.mark.parametrize("name", ROTATING)
def test_frequencies_of_the_file_as_it_is(name):
    values = TEXTS[name]
    config = as_config(values)
    for seq_len in (None, 5000):
        encodings = rotations(FILES[name], seq_len=seq_len)
        rotary = rotary_class(config)(config)
        if seq_len is not None and encodings[0].seq_len is not None:
            rotary(torch.zeros(1), torch.arange(seq_len)[None])
        for encoding in (e for e in encodings if e.part != "indexer"):
            kind = config.layer_types[encoding.layers[0]] if getattr(config, "layer_types", None) else None
            assert frequency_error(encoding, inv_freq_of(rotary, kind)) <= 1
            factor = getattr(rotary, f"{kind}_attention_scaling", getattr(rotary, "attention_scaling", 1.0))
            assert math.isclose(factor, encoding.attention_factor, rel_tol=1e-14)
            assert all(layer < config.num_hidden_layers for layer in encoding.layers)


LISTS = ("layer_types", "no_rope_layers")


@pytest.mark.parametrize("name", [name for name in ROTATING if TEXTS[name]["model_type"] not in ELSEWHERE])
def test_rotations_of_a_small_model_with_the_file_s_heads(name):
    values = dict(TEXTS[name])
    (first, *_) = rotations(FILES[name])
    layers = 7  # beyond every period of the files' patterns
    for key in ("num_hidden_layers", "n_layer"):
        if key in values:
            values[key] = min(values[key], layers)
    count = values.get("num_hidden_layers", values.get("n_layer"))
    for key in LISTS:
        if key in values:
            values[key] = values[key][:count]
    channels = as_config(TEXTS[name])
    width = first.head_dim if first.part is None else 32
    for key in ("num_attention_heads", "n_head"):
        if key in values:
            values[key] = 4
    for key in ("hidden_size", "n_embd"):
        if key in values:
            values[key] = 4 * width
    values |= SMALL | {"index_head_dim": 96, "token_dropout": False}
    if values["model_type"] == "gptj":
        del values["rope_scaling"]  # as above
    assert channels.num_hidden_layers >= count
    assert_same_rotations(read_config(values).encodings, build(values), SHORT)
