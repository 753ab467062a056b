"""`import posref` brings NumPy and nothing else, and takes under 0.2 s."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(code: str, *, path: Path | None = None) -> str:
    environment = {**os.environ, **({"PYTHONPATH": str(path)} if path else {})}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment, check=True
    )
    return done.stdout


def brought(statement: str) -> set[str]:
    """Top-level modules that a statement imports beyond NumPy and the standard library."""
    code = f"import sys, numpy; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    return {name.split(".")[0] for name in run(code).split()} - set(sys.stdlib_module_names) - {"numpy"}


def test_nothing_but_numpy_comes_along() -> None:
    assert brought("import posref") == {"posref"}


@pytest.mark.parametrize("library", ["array_api_compat", "ml_dtypes", "mpmath", "pytest", "click", "rich"])
def test_a_library_that_comes_along_is_noticed(library: str) -> None:
    assert brought(f"import posref, {library}") >= {"posref", library}


def seconds_over_numpy(module: str, *, path: Path | None = None, tries: int = 5) -> float:
    """The least of a few: noise only ever adds."""
    code = f"import numpy, time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return min(float(run(code, path=path)) for _ in range(tries))


def test_importing_is_fast() -> None:
    assert seconds_over_numpy("posref") < 0.2


def test_a_slow_import_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time; time.sleep(0.21)\n")
    assert seconds_over_numpy("slow", path=tmp_path, tries=2) > 0.2
