"""Find a backend by its name, file or module, and say in one line why where that cannot be done."""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from posref_conformance.arrays import NAMED, Arrays, arrays_of
from posref_conformance.arrays._converted import Library as Converted
from posref_conformance.roundings import PROFILES
from posref_conformance.wording import one_line, problem_line

GROUP = "posref.backends"
FAULT = "fault:"


class BackendError(Exception):
    """The backend cannot be asked anything: one line that says why."""


@dataclass(frozen=True)
class Backend:
    """A namespace of functions, and what it says about itself."""

    name: str
    namespace: Any
    arrays: Arrays
    dtypes: tuple[str, ...]
    precision: str = "native"
    expected_failures: dict[str, str] = field(default_factory=dict)

    def function(self, name: str) -> Any:
        """The function of the contract, or None."""
        found = getattr(self.namespace, name, None)
        return found if callable(found) else None


def registered() -> dict[str, importlib.metadata.EntryPoint]:
    """Packaged backends by name."""
    return {e.name: e for e in importlib.metadata.entry_points(group=GROUP)}


def load(name: str) -> Backend:
    """The backend called ``name``: a registered name, ``path/to/file.py``, ``package.module`` or ``fault:ID``.

    Raises
    ------
    BackendError
        No such file or name, an import that dies, a device that is not there, a wrong description of itself.
    """
    try:
        return describe(name, _find(name))
    except BackendError:
        raise
    except (Exception, SystemExit) as problem:  # whatever an import may raise
        library = getattr(problem, "name", None)
        if isinstance(problem, ModuleNotFoundError) and library in NAMED:
            raise BackendError(f"{name} unavailable: {library} is not installed") from problem
        raise BackendError(f"{name} cannot be imported: {problem_line(problem)}") from problem


def describe(name: str, namespace: Any) -> Backend:
    """Read what a namespace says about itself."""
    why = namespace.unavailable() if callable(getattr(namespace, "unavailable", None)) else None
    if why:
        raise BackendError(f"{name} unavailable: {why}")
    make, read = (getattr(namespace, c, None) for c in ("from_numpy", "to_numpy"))
    if (make or read) and not (callable(make) and callable(read)):
        raise BackendError(
            f"{name}: from_numpy and to_numpy must both be functions, for arrays of a library of its own"
        )
    try:
        if callable(make) and callable(read):
            arrays: Arrays = Converted(make, read)
        else:
            arrays = arrays_of(getattr(namespace, "arrays", "numpy"), getattr(namespace, "device", None))
    except ImportError as problem:
        raise BackendError(
            f"{name} unavailable: its array library is not installed ({problem_line(problem)})"
        ) from problem
    except Exception as problem:
        raise BackendError(f"{name}: {problem_line(problem)}") from problem
    dtypes = getattr(namespace, "dtypes", None) or arrays.dtypes
    if not isinstance(dtypes, (list, tuple)) or any(d not in arrays.dtypes for d in dtypes):
        raise BackendError(f"{name}: dtypes must be a list out of {', '.join(arrays.dtypes)}, got {one_line(dtypes)}")
    precision = getattr(namespace, "precision", "native")
    if precision not in PROFILES:
        raise BackendError(f"{name}: precision must be one of {', '.join(PROFILES)}, got {one_line(precision)}")
    expected = getattr(namespace, "expected_failures", None) or {}
    if not isinstance(expected, dict) or not all(isinstance(t, str) for pair in expected.items() for t in pair):
        raise BackendError(f"{name}: expected_failures must map check ids to reasons, got {type(expected).__name__}")
    return Backend(name, namespace, arrays, tuple(dtypes), precision, dict(expected))


def missing_keyword(function: Any, kwargs: dict[str, Any]) -> str | None:
    """The first keyword that a call needs and the function's signature lacks; None where it cannot be told."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    known = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return next((k for k in kwargs if k not in known), None)


def _find(name: str) -> Any:
    if name.startswith(FAULT):
        from posref_conformance.faults import FAULTS

        fault = name.removeprefix(FAULT)
        if fault not in FAULTS:
            near = ", ".join(difflib.get_close_matches(fault, FAULTS, cutoff=0.0))
            raise BackendError(f"no fault called {fault}; of {len(FAULTS)} the nearest are {near}")
        return FAULTS[fault].backend()
    if name in registered():
        return registered()[name].load()
    if name.endswith(".py") or "/" in name or "\\" in name:
        return _from_file(Path(name))
    sys.path.insert(0, os.getcwd())  # as python -m does
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise BackendError(
            f"no backend called {name}: give {', '.join(sorted(registered()))}, a file.py or a package.module"
        )
    return importlib.import_module(name)


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise BackendError(f"no such file: {path}")
    name = f"posref_backend_{path.stem}"  # a file called numpy.py must not take numpy's place
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BackendError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))  # as if it were run: its neighbours can be imported
    sys.modules[name] = module  # dataclasses and pickles look their module up
    spec.loader.exec_module(module)
    return module
