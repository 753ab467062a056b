"""Configs as frameworks read them, for the tests of their readings."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from posref.models import read_config
from posref.models.compare import compare_readings, render
from posref.models.frameworks import FRAMEWORKS

CONFIGS = Path(__file__).parents[2] / "data" / "configs"
U = 2.0**-24
LLAMA = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "rope_theta": 10000.0,
    "max_position_embeddings": 4096,
}
YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
OTHERS = tuple(name for name in FRAMEWORKS if name != "transformers")


def one(values, framework="transformers", **options):
    (encoding,) = read_config(values, framework=framework, **options).encodings
    return encoding


def scaled(block, **more):
    return {**LLAMA, "rope_scaling": block, **more}


def told(values, **options):
    """What --compare shows: of each framework, the largest angle between it and transformers, and its row."""
    comparison = compare_readings(values, **options)
    stream = io.StringIO()
    render(comparison, Console(file=stream, width=2000))
    lines = {line.split()[0]: line for line in reversed(stream.getvalue().splitlines()) if ";" in line}
    return {d.framework: d.angle for d in comparison.differences}, lines
