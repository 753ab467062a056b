"""Each family that rotates, against transformers' class for it: which layers rotate, how, by which frequencies, by default."""

from __future__ import annotations

import math

import numpy as np
import pytest
from model_peer import (
    SHORT,
    assert_same_rotations,
    build,
    config_of,
    frequency_error,
    inv_freq_of,
    rotary_class,
    small,
    transformers,
)

from posref.models import READERS, RopeEncoding, composite, read_config

pytestmark = pytest.mark.peers

ELSEWHERE = {
    "falcon": "its attention does not go through the common interface; compared in test_rope_as_transformers",
    "kimi_k2": "transformers knows it under Kimi K2.5 only, and rewrites it to deepseek_v3",
}

def rotary(name):
    answer = read_config(small(name))
    return any(isinstance(e, RopeEncoding) and e.component == "text" for e in answer.encodings)


def mine(name):
    return name in transformers.CONFIG_MAPPING and name not in ELSEWHERE and name not in composite.FAMILIES


ROTARY = [name for name in sorted(READERS) if mine(name) and rotary(name)]


def rotations(values, **options):
    return [e for e in read_config(values, **options).encodings if isinstance(e, RopeEncoding) and e.part != "indexer"]


@pytest.mark.parametrize("model_type", ROTARY)
def test_every_family(model_type):
    values = small(model_type)
    encodings = read_config(values).encodings
    assert_same_rotations(encodings, build(values), SHORT)
