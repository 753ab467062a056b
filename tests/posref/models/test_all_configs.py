"""A folder of configs that does not travel with the project: each has an answer, or is said not to be known, in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from posref.models.show import show

FOLDER = os.environ.get("POSREF_CONFIGS")
FILES = sorted(Path(FOLDER).glob("*.json")) if FOLDER else []


@pytest.mark.skipif(not FILES, reason="POSREF_CONFIGS names no folder with config files")
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_has_an_answer(path, as_json, capsys):
    assert show(path, as_json=as_json) == 0
    out, err = capsys.readouterr()
    assert out.startswith(("model_type ", "no model_type", "not known yet: ", "{"))
    assert out.startswith("not known yet: ") <= (out.count("\n") == 1)
    assert err == ""
