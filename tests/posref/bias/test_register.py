"""The register's readings of biases have golden values each: mpmath says what both sides of a disagreement are."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

import posref
from posref.disagreements import Disagreement
from posref.disagreements.biases import BIASES

GOLDEN = Path(__file__).parents[2] / "golden"
CHOSEN = [record for record in BIASES if record.argument]


def asked(function: str, keyword: str) -> set[str]:
    """The values of an argument that golden cases have, its default where they are silent."""
    default = inspect.signature(getattr(posref, function)).parameters[keyword].default
    cases = json.loads((GOLDEN / f"{function}.json").read_text(encoding="utf-8"))["cases"]
    return {json.dumps(case["args"].get(keyword, default)) for case in cases}


@pytest.mark.parametrize("record", CHOSEN, ids=lambda r: r.id)
def test_every_reading_has_golden_values(record: Disagreement) -> None:
    assert len(asked(*record.argument.split("."))) >= len(record.readings)


def test_a_reading_without_would_be_seen() -> None:
    assert asked("query_positions", "align") == {'"bottom_right"', '"top_left"'}
    assert len(asked("t5_bias", "bidirectional")) == 2
    assert len(asked("t5_bias", "rule")) == 1  # the look-up's; the buckets have all three
