"""``posref table CONFIG.json -o FILE.npz``: the numbers that a config means, as a file to hold an engine's against.

A file has ``positions`` and, for the encoding with index i in ``posref show --json``, arrays ``i.cos``, ``i.sin``, ``i.inv_freq``
and others (:mod:`posref.models.arrays`); ``about`` is the answer of ``show --json``, in an ``.npz`` as an array of one string, in
a ``.safetensors`` as metadata. Tables (cos, sin, bias, scale, table) are of the type that is asked for, rounded from float64;
frequencies, slopes and factors are float64, rows, buckets and maps int64.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from posref._arguments import LARGEST_POSITION, choice, shown
from posref.models import read_config
from posref.models._reading import Untold
from posref.models.arrays import Arrays, Positions, arrays_of
from posref.models.records import Encoding, ModelPositions
from posref.models.rows import title
from posref.models.shape import runs
from posref.models.show import refuse

DTYPES = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
MOST_POSITIONS = 2**24
TABLES = ("cos", "sin", "bias", "scale", "table")
SUFFIXES = (".npz", ".safetensors")


def table(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    positions: str = "0:4096",
    dtype: str = "float32",
    layer: int | None = None,
    framework: str = "transformers",
    seq_len: int | None = None,
    force: bool = False,
) -> int:
    """Write a model's numbers to a file, and say what is in it.

    Parameters
    ----------
    path
        A ``config.json``.
    output
        A file that ends in ``.npz`` or ``.safetensors``. One that is there already is only written over with ``force``: it may be
        a model's weights.
    positions
        ``first:end``, ``first:end:step``, or integers with commas; as ranges of Python.
    dtype
        Of the tables.
    layer
        Only what this layer has; None: all.
    framework, seq_len
        As in :func:`posref.read_config`.

    Returns
    -------
    int
        Exit status: 0 with a file; 2 without one, with one line on stderr.
    """
    try:
        target = _target(output, force)
        where, kind = parse_positions(positions), DTYPES[choice(dtype, "dtype", tuple(DTYPES))]
        answer = read_config(path, framework=framework, seq_len=seq_len)
        arrays, lines = collect(answer, where, kind, layer)
        _write(target, arrays, json.dumps(answer.as_json(), allow_nan=False))
    except OSError as problem:
        named = problem.filename if isinstance(problem.filename, str) else path
        return refuse(named, problem.strerror or str(problem))
    except (ValueError, TypeError, ImportError) as problem:
        return refuse(path, str(problem))
    print("\n".join(lines))
    return 0


def parse_positions(text: str) -> Positions:
    """Positions from ``first:end``, ``first:end:step`` or integers with commas; ValueError where there are none."""
    wanted = f"positions must be first:end, first:end:step or integers with commas, got {shown(text)}"
    try:
        bounds = [int(part) if part else None for part in text.split(":")] if ":" in text else []
        listed = [] if bounds else [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(wanted) from None
    if len(bounds) > 3 or None in bounds[1:] or bounds[2:] == [0]:
        raise ValueError(wanted)
    found = range(*(bound or 0 for bound in bounds)) if bounds else listed
    if not found:
        raise ValueError(f"positions must be at least one, got {shown(text)}")
    if max(abs(found[0]), abs(found[-1]), *map(abs, listed)) > LARGEST_POSITION:
        raise ValueError(f"positions must be at most 2**53 in magnitude, where integers are exact, got {shown(text)}")
    if len(found) > MOST_POSITIONS:
        raise ValueError(f"positions must be at most 2^24 of them, got {len(found)}")
    if isinstance(found, range):
        step = found.step if len(found) > 1 else 1  # which may be beyond int64
        return found.start + step * np.arange(len(found), dtype=np.int64)
    return np.asarray(found, dtype=np.int64)


def collect(
    answer: ModelPositions, positions: Positions, dtype: np.dtype[Any], layer: int | None
) -> tuple[Arrays, list[str]]:
    """The arrays of all encodings, and a line on each; ValueError where there are none."""
    arrays, lines, left_out = {"positions": positions}, [], list(answer.notes)
    for index, encoding in enumerate(answer.encodings):
        if layer is not None and not _has(encoding, layer):
            continue
        try:
            found = arrays_of(encoding, positions)
        except Untold as problem:
            left_out.insert(0, f"{title(encoding)}: {problem}")
            lines.append(f"{title(encoding)}: nothing to write: {problem}")
            continue
        found = {name: value.astype(dtype) if name in TABLES else value for name, value in found.items()}
        arrays |= {f"{index}.{name}": value for name, value in found.items()}
        lines.append(title(encoding))
        lines += [f"  {index}.{name:<16} {value.dtype} {value.shape}" for name, value in found.items()]
    if len(arrays) == 1:
        numbered = sorted({i for encoding in answer.encodings for i in encoding.layers or ()})
        if layer is not None and numbered and layer not in numbered:
            raise ValueError(f"layer must be one that has an encoding, of {runs(numbered)}, got {layer}")
        why = "" if layer is None else f" for layer {layer}"
        raise ValueError(f"nothing to write{why}: {left_out[0] if left_out else 'there is no position encoding'}")
    return arrays, lines


def _has(encoding: Encoding, layer: int) -> bool:
    return encoding.layers is not None and layer in encoding.layers


def _target(output: str | os.PathLike[str], force: bool) -> Path:
    target = Path(output)
    if target.suffix not in SUFFIXES:
        raise ValueError(f"the output must end in {' or '.join(SUFFIXES)}, got {shown(os.fspath(output))}")
    if not target.parent.is_dir():
        raise ValueError(f"the output must be in a folder that there is, got {shown(os.fspath(output))}")
    if target.is_dir():
        raise ValueError(f"the output must be a file, got the folder {shown(os.fspath(output))}")
    if target.exists() and not force:
        raise ValueError(f"the output {shown(os.fspath(output))} is there already; --force writes over it")
    return target


def _write(target: Path, arrays: Arrays, about: str) -> None:
    """All of it, or nothing."""
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with open(part, "xb") as file:
            if target.suffix == ".npz":
                np.savez(file, about=np.asarray(about), **arrays)  # type: ignore[arg-type]
            else:
                file.write(_safetensors(arrays, about))
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _safetensors(arrays: dict[str, NDArray[Any]], about: str) -> bytes:
    try:
        from safetensors.numpy import save
    except ImportError:
        raise ImportError("safetensors is not installed: pip install safetensors, or write an .npz") from None
    content: bytes = save({name: np.asarray(value, order="C") for name, value in arrays.items()}, {"about": about})
    return content
