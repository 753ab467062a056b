"""Other names of keys: what ``attribute_map`` of a class calls the same is read alike."""

from __future__ import annotations

import pytest
from model_peer import transformers

from posref.models import READERS, read_config

pytestmark = pytest.mark.peers

SIZES = {
    "hidden_size": 1024,
    "d_model": 1024,
    "n_embd": 1024,
    "num_attention_heads": 16,
    "n_head": 16,
    "n_heads": 16,
    "num_heads": 16,
    "num_hidden_layers": 6,
    "n_layer": 6,
    "n_layers": 6,
    "num_layers": 6,
    "max_position_embeddings": 512,
    "n_positions": 512,
}
STAGES = ("swin", "swinv2", "swin2sr", "donut-swin", "maskformer-swin", "clap_audio_model", "funnel")  # lists by stage
PAIRS = [
    (model_type, alias, target)
    for model_type in sorted(READERS)
    if model_type in transformers.CONFIG_MAPPING and model_type not in STAGES
    for alias, target in (getattr(transformers.CONFIG_MAPPING[model_type], "attribute_map", None) or {}).items()
    if alias in SIZES and target in SIZES
]


def answer(values):
    try:
        return read_config(values).encodings
    except ValueError as problem:  # a size that such a model cannot have
        return str(problem)


@pytest.mark.parametrize(("model_type", "alias", "target"), PAIRS)
def test_both_names_say_the_same(model_type, alias, target):
    others = {key: size for key, size in SIZES.items() if key not in (alias, target)}
    others = {k: v for k, v in others.items() if hasattr(transformers.CONFIG_MAPPING[model_type], k)}
    by_target, by_alias = (answer({"model_type": model_type, **others, key: SIZES[target]}) for key in (target, alias))
    assert by_target == by_alias


def test_there_are_many():
    assert len(PAIRS) > 60
