"""A package that is installed registers its backend, and is then one like ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BACKEND = """
from posref_array.on_numpy import backend as right

alibi_slopes = right.alibi_slopes


class other:
    arrays = "numpy"
    learned = staticmethod(right.learned)
    mask_positions = staticmethod(right.mask_positions)
"""
ENTRIES = """
[posref.backends]
their_kernels = their_package.backend
their_rows = their_package.backend:other
their_loss = their_package.lost
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command where a package is installed, with all that pip would have put there."""
    (tmp_path / "their_package").mkdir()
    (tmp_path / "their_package" / "backend.py").write_text(BACKEND)
    metadata = tmp_path / "their_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their_package\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "sitecustomize.py").write_text("")
    start = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from posref.cli import main; main()"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", start, *arguments]
        environment = {"PATH": "", "PYTHONPATH": str(tmp_path)}  # the worker process is one more interpreter
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)

    return run


def test_a_registered_backend_is_checked_by_its_name(run: Run) -> None:
    done = run("check", "their_kernels", "--only", "alibi_slopes")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("posref 0.1.0: checking their_kernels\n")
    assert run("check", "their_rows", "--only", "learned").returncode == 0
    assert run("check", "their_rows", "--only", "alibi_slopes").returncode == 1  # it has none


def test_a_registered_backend_that_is_not_there_is_one_line(run: Run) -> None:
    done = run("check", "their_loss")
    assert done.returncode == 2
    assert done.stderr == (
        "posref: their_loss cannot be imported: ModuleNotFoundError: No module named 'their_package.lost'\n"
    )


def test_registered_backends_are_named_and_listed(run: Run) -> None:
    assert (
        "give cupy, numpy, their_kernels, their_loss, their_rows, torch, a file.py" in run("check", "nonesuch").stderr
    )
    records = json.loads(run("list", "--json").stdout)
    (alibi,) = (r for r in records if r["id"] == "learned")
    assert {name: alibi["backends"][name] for name in ("their_rows", "their_kernels", "their_loss")} == {
        "their_rows": "implemented",
        "their_kernels": "missing",
        "their_loss": "unavailable",
    }
