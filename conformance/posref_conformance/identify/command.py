"""``posref identify`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from posref.models import read_config
from posref.models.records import RopeEncoding
from posref_conformance.identify import Finding, identify
from posref_conformance.identify._frequencies import Known, name_of
from posref_conformance.schemas import WrongFile
from posref_conformance.wording import one_line


def run(path: Path, *, config: Path | None = None, as_json: bool = False) -> int:
    """Print what the numbers of a file are.

    Returns
    -------
    The exit status: 0 if everything in it is known, and the model's where a config was given; else 1.

    Raises
    ------
    WrongFile
        The file or the config cannot be read.
    """
    known = [] if config is None else _of_config(config)
    found = identify(path, known)
    verdicts = [_verdict(finding, known) if config else None for _, finding in found]
    if as_json:
        records = [
            {
                "array": name,
                **finding.as_json(),
                **({} if verdict is None else {"model": verdict[0], "verdict": verdict[1]}),
            }
            for (name, finding), verdict in zip(found, verdicts, strict=True)
        ]
        print(json.dumps(records, indent=1, allow_nan=False))
    else:
        _print(found, verdicts)
    good = bool(found) and all(f.found for _, f in found) and all(v is None or v[0] for v in verdicts)
    return 0 if good else 1


def _print(found: list[tuple[str, Finding]], verdicts: list[tuple[bool, str] | None]) -> None:
    if not found:
        print(
            "no: nothing here resembles a table, a bias, frequencies, or a rotation of a tensor named x to one named y"
        )
    for (name, finding), verdict in zip(found, verdicts, strict=True):
        print(f"{name + ': ' if name else ''}{finding.sentence()}")
        if verdict:
            print(f"{'yes' if verdict[0] else 'no'}: {verdict[1]}")


def _of_config(path: Path) -> list[Known]:
    """The bases and scalings of a config's rotations.

    Raises
    ------
    WrongFile
        It cannot be read, or has no rotation.
    """
    try:
        encodings = read_config(path).encodings
    except OSError as problem:
        raise WrongFile(f"{path}: {problem.strerror or one_line(problem)}") from None
    except (ValueError, TypeError) as problem:
        raise WrongFile(f"{path}: {one_line(problem)}") from None
    known = [(e.base, e.scaling) for e in encodings if isinstance(e, RopeEncoding)]
    if not known:
        raise WrongFile(f"{path}: this model has no rotary encoding that posref knows")
    return list(dict.fromkeys(known))


def _verdict(finding: Finding, known: list[Known]) -> tuple[bool, str]:
    """Whether numbers are those of the model, and in what they differ."""
    meant = [_words(base, name_of(scaling)) for base, scaling in known]
    base, scaling = finding.parameters.get("base"), finding.parameters.get("scaling")
    same = finding.found and (base, scaling) in [(b, name_of(s)) for b, s in known]
    if same:
        return True, f"this is the model's: {_words(base, scaling)}"
    return False, f"the model has {' or '.join(meant)}"


def _words(base: float | None, scaling: str | None) -> str:
    return f"base {base:g}, {scaling or 'no scaling'}"
