"""The shapes of the JSON that posref writes and reads, and what is wrong with a file that has another one."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from posref_conformance.wording import one_line

NAMES = ("report", "vectors", "identify")


class WrongFile(Exception):
    """A file that cannot be taken for what it should be: one line that says why."""


def schema(name: str) -> dict[str, Any]:
    """A JSON Schema of this package."""
    text = files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def read(path: Path, name: str) -> dict[str, Any]:
    """The contents of a JSON file, if they are as the schema says.

    Raises
    ------
    WrongFile
        No such file, no JSON, or another shape.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise WrongFile(f"{path}: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:
        raise WrongFile(f"{path}: no JSON: {one_line(problem)}") from None
    if wrong := best_match(Draft202012Validator(schema(name)).iter_errors(found)):
        raise WrongFile(f"{path}: no posref {name}: {one_line(wrong.json_path)}: {one_line(wrong.message)}")
    return found
