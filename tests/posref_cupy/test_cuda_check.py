"""The script for people with a device: here, that it says so in one line when there is none, and what it prints."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import posref_cupy

SCRIPT = Path(__file__).parents[1] / "scripts" / "cuda_check.py"


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("cuda_check", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_device_is_one_line_and_status_2(script, capsys):
    if posref_cupy.unavailable() is None:
        pytest.skip("there is a device")
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, f"unavailable: {posref_cupy.unavailable()}\n", "")


@pytest.mark.parametrize(("statuses", "expected"), [((0, 0), 0), ((0, 1), 1), ((1, 0), 1)])
def test_one_failure_is_status_1(script, capsys, monkeypatch, statuses, expected):
    answers = iter(statuses)
    cupy = type(sys)("cupy")
    cupy.__version__ = "13.6.0"
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(script.posref_cupy, "unavailable", lambda: None)
    monkeypatch.setattr(script, "machine", lambda cupy: "a device")
    monkeypatch.setattr(script, "run", lambda command: next(answers) == 0)
    monkeypatch.setattr(
        script, "times", lambda cupy, shape, dtype: {"copy": 2.0, "fused half": 2.5, "unfused half": 20.0}
    )
    assert script.main() == expected
    printed = capsys.readouterr().out.splitlines()
    assert "prefill  float32   copy 2.0000 ms; fused half x1.25, unfused half x10.00" in printed
    assert "prefill  bfloat16  not with CuPy 13.6.0: 14 knows bfloat16" in printed
    assert f"posref check cupy: {'FAILED' if statuses[1] else 'passed'}" in printed


def test_commands_run_from_the_repository(script, capfd):
    assert script.run([sys.executable, "-c", "import pathlib; assert pathlib.Path('pyproject.toml').is_file()"])
    assert not script.run([sys.executable, "-c", "raise SystemExit(3)"])
    assert Path(script.TESTS[-1]).is_dir()
