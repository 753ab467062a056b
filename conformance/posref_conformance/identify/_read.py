"""Arrays of a file, by name. Nothing is unpickled."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from posref_conformance.identify._finding import Values
from posref_conformance.schemas import WrongFile
from posref_conformance.tensors import read_tensors
from posref_conformance.wording import one_line

KINDS = (".npy", ".npz", ".safetensors")
MOST = 2**28  # elements that are looked at


def read(path: Path) -> dict[str, Values]:
    """The arrays of numbers in a file; that of an ``.npy`` is called ``""``.

    Raises
    ------
    WrongFile
        No such file, another kind of file, one that is cut short, or no numbers in it.
    """
    if path.suffix not in KINDS:
        raise WrongFile(f"{path}: expected a file of {', '.join(KINDS)}")
    if not path.is_file():
        raise WrongFile(f"{path}: no such file")
    arrays = read_tensors(path)[0] if path.suffix == ".safetensors" else _numpy(path)
    numbers = {name: a for name, a in arrays.items() if a.dtype.kind in "fciu" or a.dtype.name == "bfloat16"}
    numbers = {name: a for name, a in numbers.items() if 0 < a.size <= MOST}
    if not numbers:
        raise WrongFile(f"{path}: no array of numbers in it, of at most {MOST} elements")
    return numbers


def _numpy(path: Path) -> dict[str, Values]:
    try:
        with path.open("rb") as file:  # ours, so that it is closed whatever it holds
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"": loaded}
            with loaded:
                return {name: loaded[name] for name in loaded.files}
    except OSError as problem:
        raise WrongFile(f"{path}: {problem.strerror or one_line(problem)}") from None
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError, SyntaxError) as problem:
        raise WrongFile(f"{path}: not a whole {path.suffix} file of numbers: {one_line(problem)}") from None
