"""Parts are saved as differences from the defaults of their class: what is left out counts as that class has it."""

from __future__ import annotations

import json

import pytest
from model_peer import transformers

from posref.models import READERS, read_config

pytestmark = pytest.mark.peers

ELSEWHERE = {
    "pix2struct": "the class of its text has no layers of an encoder",
    "qwen2_5_omni": "its one part is made of others, which are left out with it",
    "qwen3_omni_moe": "its one part is made of others, which are left out with it",
    "t5gemma2": "its encoder is made of others, which are left out with it",
    "xcodec2": "the default of its semantic part is not that of the part's class",
}


def plain(config):
    return json.loads(config.to_json_string(use_diff=False))


def whole(model_type):
    """The class's default, and the keys of its parts; None where it has none."""
    try:
        values = plain(transformers.CONFIG_MAPPING[model_type]())
    except Exception:  # a class without defaults
        return None
    parts = [k for k, v in values.items() if isinstance(v, dict) and v.get("model_type") in transformers.CONFIG_MAPPING]
    return ({**values, "model_type": model_type}, parts) if parts else None


COMPOSITES = {name: found for name in READERS if name in transformers.CONFIG_MAPPING and (found := whole(name))}


def told(values):
    """Without the length that a text may have, of which frequencies do not depend in a default; or why it is refused."""
    try:
        encodings = read_config(values).encodings
    except ValueError as problem:  # some defaults are those of no model: sections of 32 pairs in heads of 64
        return str(problem)
    return [{k: v for k, v in e.as_json().items() if k != "max_position_embeddings"} for e in encodings]


@pytest.mark.parametrize("model_type", [name for name in COMPOSITES if name not in ELSEWHERE])
def test_a_part_with_nothing_but_its_type(model_type):
    values, parts = COMPOSITES[model_type]
    types = {key: values[key]["model_type"] for key in parts}
    written_out = {
        key: {**plain(transformers.CONFIG_MAPPING[kind]()), "model_type": kind} for key, kind in types.items()
    }
    bare = {key: {"model_type": kind} for key, kind in types.items()}
    assert told({**values, **bare}) == told({**values, **written_out})


def test_there_are_many():
    assert len(COMPOSITES) > 80
