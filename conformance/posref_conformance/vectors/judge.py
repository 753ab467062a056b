"""``posref vectors check``: what a program wrote, held against the reference by the same judge as any backend."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import posref
from posref_conformance.arrays._numpy import Library
from posref_conformance.backend import Backend
from posref_conformance.case import FLOATS, Array, Case
from posref_conformance.cases import CASES, matches
from posref_conformance.diagnosis import Check, diagnose
from posref_conformance.diagnosis.results import diagnosed
from posref_conformance.schemas import WrongFile, read
from posref_conformance.tensors import read_tensors
from posref_conformance.vectors import layout
from posref_conformance.verdict import FAILED, Result, run
from posref_conformance.wording import one_line

SHOWN = 3  # files that are named in a line


class Vectors:
    """A folder of vectors, found to be whole and to ask what this version of the suite asks.

    Raises
    ------
    WrongFile
        It is not: a file that is missing, cut short or changed, another schema, checks of another version.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        manifest = read(folder / layout.MANIFEST, "vectors")
        self._written_by = manifest["posref"]
        cases = {case.check_id(dtype): (case, dtype) for case in CASES for dtype in case.dtypes}
        self.checks: dict[str, tuple[Case, str]] = {}
        for vector in manifest["vectors"]:
            if vector["id"] not in cases:
                raise WrongFile(
                    f"{folder / layout.MANIFEST}: no check is called {one_line(vector['id'])}; {self._versions()}"
                )
            self.checks[vector["id"]] = cases[vector["id"]]
            self._look_at(vector, *cases[vector["id"]])

    def outputs(self, results: Path, only: Sequence[str] = ()) -> Iterator[Result]:
        """Judge what a program wrote.

        Raises
        ------
        WrongFile
            No such folder, or files in it that no vector asks for; ``only`` means no vector.
        """
        if not results.is_dir():
            raise WrongFile(f"{results}: no such folder")
        there = {p.relative_to(results).as_posix() for p in results.rglob("*") if not p.is_dir()}
        if extra := sorted(there - {f"{check}{layout.SUFFIX}" for check in self.checks}):
            more = f" and {len(extra) - SHOWN} more" if len(extra) > SHOWN else ""
            raise WrongFile(f"{results}: no vector asks for {one_line(', '.join(extra[:SHOWN]))}{more}")
        chosen = [check for check in self.checks if matches(check, only)]
        if not chosen:
            raise WrongFile(f"--only {' '.join(only)} means no vector of {self._folder}")
        return (_judge(check, *self.checks[check], results / f"{check}{layout.SUFFIX}") for check in chosen)

    def diagnosed(self, results: Sequence[Result], outputs: Path) -> list[Result]:
        """The results, with the mistakes that explain failures among them."""

        def backend_of(check: Check) -> Backend:
            name = check[0].check_id(check[1])
            return replayed(name, *check, outputs / f"{name}{layout.SUFFIX}")

        def is_whole(check: Check) -> bool:
            try:
                return bool(backend_of(check))
            except WrongFile:
                return False

        def causes(asked: dict[str, list[str]]) -> list[dict[str, Any]]:
            failed, passed = (
                list(filter(is_whole, map(self.checks.__getitem__, asked[k]))) for k in ("failed", "passed")
            )
            return [cause.as_json() for cause in diagnose(backend_of, failed, passed)]

        return diagnosed(results, causes)

    def _look_at(self, vector: dict[str, Any], case: Case, dtype: str) -> None:
        """The files are those of the manifest, and the inputs those of this version."""
        for part in ("expected", "inputs"):
            path = self._folder / f"{part}/{vector['id']}{layout.SUFFIX}"  # what the manifest says, but never outside
            if vector[part]["file"] != path.relative_to(self._folder).as_posix():
                raise WrongFile(f"{self._folder / layout.MANIFEST}: {part} of {vector['id']} must be {path}")
            try:
                content = path.read_bytes()
            except OSError as problem:
                raise WrongFile(f"{path}: {problem.strerror}") from None
            if hashlib.sha256(content).hexdigest() != vector[part]["sha256"]:
                raise WrongFile(f"{path}: its sha256 is not that of the manifest: it was cut short or changed")
        given, _ = read_tensors(path, content)
        asked = layout.inputs(case.calls(dtype), case.function)
        if given.keys() != asked.keys() or any(not _equal(given[name], asked[name]) for name in asked):
            raise WrongFile(
                f"{self._folder}: the inputs of {vector['id']} are others now: write it anew; {self._versions()}"
            )

    def _versions(self) -> str:
        return f"posref {one_line(self._written_by)} wrote it, and this is {posref.__version__}"


def _judge(check: str, case: Case, dtype: str, path: Path) -> Result:
    try:
        return run(replayed(check, case, dtype, path), case, dtype)
    except WrongFile as problem:
        return Result(check, FAILED, str(problem))


def replayed(check: str, case: Case, dtype: str, path: Path) -> Backend:
    """A backend of one function, which gives what a program wrote for one check.

    Raises
    ------
    WrongFile
        It has not written that, or in another form.
    """
    outputs, refusal = _recorded(check, case, dtype, path)
    calls = cycle(outputs)

    def play(*args: Any, **kwargs: Any) -> Any:
        """What the program gave, call by call."""
        if refusal is not None:
            raise NotImplementedError(refusal)
        return next(calls)

    return Backend(str(path), SimpleNamespace(**{case.function: play}), _Replayed(play), FLOATS)


def _recorded(check: str, case: Case, dtype: str, path: Path) -> tuple[list[Any], str | None]:
    """The outputs of each call, and why there are none if the program says so."""
    if not path.is_file():
        raise WrongFile(f"no file {check}{layout.SUFFIX}")
    tensors, metadata = read_tensors(path)
    if "not_implemented" in metadata and not tensors:
        return [], metadata["not_implemented"]
    calls = layout.entry(case, dtype, {})["calls"]
    names = [[output["tensor"] for output in call["outputs"].values()] for call in calls]
    asked = {name for call in names for name in call}
    for words, others in (("lacks", asked - tensors.keys()), ("has no use for", tensors.keys() - asked)):
        if others:
            raise WrongFile(f"{check}{layout.SUFFIX} {words} {one_line(', '.join(sorted(others)[:SHOWN]))}")
    return [tuple(tensors[n] for n in call) if len(call) > 1 else tensors[call[0]] for call in names], None


class _Replayed(Library):
    """NumPy's arrays, with gradients that were recorded."""

    differentiates = True

    def __init__(self, play: Any) -> None:
        super().__init__()
        self._play = play

    def gradient(self, function: Any, x: Any, cotangents: Any, again: Any = None) -> Any:
        return self._play()


def _equal(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == np.ascontiguousarray(b).tobytes()
