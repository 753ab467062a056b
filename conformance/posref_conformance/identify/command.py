"""``posref identify`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from posref.models.records import Encoding
from posref.models.table import parse_positions
from posref_conformance.identify import Found, identify
from posref_conformance.identify._finding import Values
from posref_conformance.identify._model import Verdict, encodings_of, meant, rotary_verdict
from posref_conformance.identify._model_others import KINDS, other_verdict
from posref_conformance.schemas import WrongFile

NOTHING = (
    "nothing here resembles a table, a bias, buckets, frequencies, or a rotation of a tensor named x to one named y"
)


def run(
    path: Path,
    *,
    config: Path | None = None,
    positions: str | None = None,
    seq_len: int | None = None,
    as_json: bool = False,
) -> int:
    """Print what the numbers of a file are.

    Returns
    -------
    The exit status: 0 if everything in it is known, and the model's where a config was given; else 1.

    Raises
    ------
    WrongFile
        The file or the config cannot be read, or the positions are none.
    """
    try:
        where = None if positions is None else parse_positions(positions)
    except ValueError as problem:
        raise WrongFile(str(problem)) from None
    encodings = [] if config is None else encodings_of(config, seq_len)
    found = identify(path, [right.ladder for right in meant(encodings)], where)
    verdicts = [None if config is None else verdict_on(one, encodings, where) for one in found]
    if as_json:
        print(json.dumps(report(found, verdicts), indent=1, allow_nan=False))
    else:
        _print(found, verdicts)
    return 0 if _good(found, verdicts) else 1


def _good(found: list[Found], verdicts: list[Verdict | None]) -> bool:
    return bool(found) and all(one.finding.found for one in found) and all(v is None or v.model for v in verdicts)


def report(found: list[Found], verdicts: list[Verdict | None]) -> dict[str, Any]:
    """As the schema says."""
    return {
        "schema": 1,
        "verdict": "yes" if _good(found, verdicts) else "no",
        "findings": [
            {
                "arrays": list(one.names),
                **one.finding.as_json(),
                "model": None if verdict is None else verdict.as_json(),
            }
            for one, verdict in zip(found, verdicts, strict=True)
        ],
    }


def _print(found: list[Found], verdicts: list[Verdict | None]) -> None:
    if not found:
        print(f"no: {NOTHING}")
    for one, verdict in zip(found, verdicts, strict=True):
        print(f"{one.name + ': ' if one.name else ''}{one.finding.sentence()}")
        if verdict:
            print(f"{'yes' if verdict.model else 'no'}: {verdict.sentence}")


def verdict_on(found: Found, encodings: list[Encoding], positions: Values | None) -> Verdict:
    """Whether a finding is the model's."""
    if found.finding.what in KINDS:
        return other_verdict(found, encodings)
    return rotary_verdict(found, meant(encodings), positions)
