"""Files of tensors, in the safetensors format: a header in JSON and bytes, nothing that could be executed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from posref_conformance.case import Array
from posref_conformance.schemas import WrongFile
from posref_conformance.wording import one_line

TYPES = {  # the format's name -> NumPy's; bfloat16 is ml_dtypes'
    "BOOL": np.dtype(bool),
    **{f"I{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"U{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{f"F{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    "BF16": np.dtype(ml_dtypes.bfloat16),
}


def serialized(tensors: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a file: the same ones for the same tensors."""
    from safetensors.numpy import save

    laid_out = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    return bytes(save(laid_out, dict(metadata) if metadata else None))


def read_tensors(path: Path, content: bytes | None = None) -> tuple[dict[str, Array], dict[str, str]]:
    """The tensors of a file by name, and its metadata.

    Raises
    ------
    WrongFile
        No such file, not the format, cut short, or a type that NumPy lacks.
    """
    from safetensors import SafetensorError, deserialize

    try:
        content = path.read_bytes() if content is None else content
        found = deserialize(content)  # type: ignore[no-untyped-call]
    except OSError as problem:
        raise WrongFile(f"{path}: {problem.strerror}") from None
    except SafetensorError as problem:
        raise WrongFile(f"{path}: not a whole safetensors file: {one_line(problem)}") from None
    tensors = {}
    for name, tensor in found:
        if tensor["dtype"] not in TYPES:
            raise WrongFile(f"{path}: {one_line(name)} has type {tensor['dtype']}, expected one of {', '.join(TYPES)}")
        flat = np.frombuffer(tensor["data"], dtype=TYPES[tensor["dtype"]])
        tensors[name] = flat.reshape(tensor["shape"])
    return tensors, _metadata(content)


def _metadata(content: bytes) -> dict[str, str]:
    """That of a file which has been read."""
    header: dict[str, Any] = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return dict(header.get("__metadata__", {}))
