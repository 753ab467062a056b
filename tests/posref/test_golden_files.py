"""The golden files themselves: whole, consistent, and made by the script that claims to have made them."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TESTS = Path(__file__).parents[1]
GOLDEN = TESTS / "golden"
SCRIPT = TESTS / "scripts" / "make_golden.py"
BOOKS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(GOLDEN.glob("*.json"))}


def problems(name: str, book: dict[str, Any]) -> list[str]:
    """What is wrong with a file of golden values."""
    if list(book) != ["function", "source", "cases"] or book["function"] != name or not book["cases"]:
        return [f"{name} is not a book of golden values"]
    ids = Counter(case.get("id") for case in book["cases"])
    found = [f"{i} is there {n} times" for i, n in ids.items() if n > 1]
    for case in book["cases"]:
        found += [f"{case.get('id')}: {problem}" for problem in problems_of_case(name, case)]
    return found


def problems_of_case(name: str, case: dict[str, Any]) -> list[str]:
    if list(case) != ["id", "note", "args", "expected", "expected_lo"]:
        return ["other keys than id, note, args, expected, expected_lo"]
    found = []
    hashed = hashlib.sha256(json.dumps(case["args"], sort_keys=True).encode()).hexdigest()[:8]
    if case["id"] != f"{name}/{hashed}" or not re.fullmatch(r"[a-z0-9_]+/[0-9a-f]{8}", case["id"]):
        found.append("the id is not that of the arguments")
    if not case["note"] or "\n" in case["note"]:
        found.append("the note is not one line")
    try:
        expected, rest = np.asarray(case["expected"]), np.asarray(case["expected_lo"])
    except ValueError:
        return [*found, "ragged values"]
    if (
        expected.shape != rest.shape
        or not expected.size
        or {expected.dtype.kind, rest.dtype.kind} not in ({"f"}, {"i"})
    ):
        return [*found, "expected and expected_lo do not match"]
    if not np.isfinite(expected).all():
        found.append("a value is not finite")
    elif (np.abs(rest) > np.spacing(np.abs(expected.astype(float))) / 2).any():
        found.append("expected is not the nearest float64")
    return found


@pytest.mark.parametrize("name", BOOKS)
def test_file_is_whole(name: str) -> None:
    assert problems(name, BOOKS[name]) == []


def test_a_damaged_file_is_noticed() -> None:
    def damaged(**changes: Any) -> list[str]:
        book = copy.deepcopy(BOOKS["sinusoidal"])
        book["cases"][1].update(changes)
        return problems("sinusoidal", book)

    case = BOOKS["sinusoidal"]["cases"][1]
    assert damaged() == []
    assert "2 times" in damaged(id=BOOKS["sinusoidal"]["cases"][0]["id"])[0]
    assert "not that of the arguments" in damaged(args=case["args"] | {"base": 10001.0})[0]
    assert "not one line" in damaged(note="")[0]
    assert "other keys" in damaged(extra=1)[0]
    assert "ragged" in damaged(expected=[[1.0], [1.0, 2.0]])[0]
    assert "do not match" in damaged(expected=case["expected"][0])[0]
    assert "not finite" in damaged(expected=np.full((2, 8), np.nan).tolist())[0]
    assert "nearest" in damaged(expected_lo=np.full((2, 8), 1e-15).tolist())[0]
    assert problems("sinusoidal", BOOKS["rope"]) == ["sinusoidal is not a book of golden values"]


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=60)


def test_the_script_makes_these_files() -> None:
    checked = script("--check")
    assert (checked.returncode, checked.stdout) == (0, "")


def test_the_script_notices_a_change(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
    changed = tmp_path / "rope_cos_sin.json"
    changed.write_text(changed.read_text().replace("0.5403023058681398", "0.5403023058681397"))
    (tmp_path / "stranger.json").write_text("{}")
    checked = script("--check", "--folder", str(tmp_path))
    assert checked.returncode == 1
    assert "rope_cos_sin.json is out of date" in checked.stdout
    assert "stranger.json is made by nothing here" in checked.stdout
    assert script("--folder", str(tmp_path)).returncode == 0
    assert changed.read_text() == (GOLDEN / "rope_cos_sin.json").read_text()


def test_the_script_does_without_the_reference() -> None:
    look = "import sys; sys.path.insert(0, sys.argv[1]); import make_golden; print(*sys.modules)"
    seen = subprocess.run([sys.executable, "-c", look, str(SCRIPT.parent)], capture_output=True, text=True, timeout=60)
    assert {"posref", "mpmath"} & set(seen.stdout.split()) == {"mpmath"}
