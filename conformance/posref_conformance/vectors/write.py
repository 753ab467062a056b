"""``posref vectors write``: checks into a folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import posref
from posref_conformance.cases import CASES, matches
from posref_conformance.schemas import WrongFile
from posref_conformance.tensors import serialized
from posref_conformance.vectors import layout

SCHEMA = 1


def write(folder: Path, *, select: Sequence[str] = (), dtypes: Sequence[str] = (), gradients: bool = False) -> int:
    """Write the checks that are meant, and give their number.

    Raises
    ------
    WrongFile
        The folder has something in it, or no check is meant.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WrongFile(f"{folder}: must be a new or an empty folder")
    chosen = [
        (case, dtype)
        for case in CASES
        for dtype in case.dtypes
        if matches(case.check_id(dtype), select)
        and (not dtypes or dtype in dtypes)
        and layout.expressible(case, gradients=gradients)
    ]
    if not chosen:
        raise WrongFile(f"--select {' '.join(select) or '*'} --dtype {' '.join(dtypes) or '*'} means no check")
    vectors = []
    for case, dtype in chosen:
        parts = {"inputs": layout.inputs, "expected": layout.expected}
        files = {}
        for part, tensors_of in parts.items():
            content = serialized(tensors_of(case.calls(dtype), case.function))
            name = f"{part}/{case.check_id(dtype)}{layout.SUFFIX}"
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            files[part] = {"file": name, "sha256": hashlib.sha256(content).hexdigest()}
        vectors.append(layout.entry(case, dtype, files))
    manifest = {
        "schema": SCHEMA,
        "posref": posref.__version__,
        "functions": {f: layout.signature(f) for f in dict.fromkeys(case.function for case, _ in chosen)},
        "vectors": vectors,
    }
    text = json.dumps(manifest, indent=1, allow_nan=False) + "\n"
    (folder / layout.MANIFEST).write_text(text, encoding="utf-8")  # last: a folder without it is not whole
    return len(vectors)
