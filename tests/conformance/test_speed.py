"""How long a check takes, in seconds of CPU: what else the machine does is not counted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

resource = pytest.importorskip("resource", reason="needs POSIX")


def _cpu(run: Callable[[], Any]) -> float:
    """Seconds of CPU of a command, and of what it starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def test_all_of_torch_within_a_minute_and_the_first_result_soon(
    posref_command: Any, record_property: Callable[[str, object], None]
) -> None:
    """The minute is one of two cores; nothing here uses more than one at a time."""
    imported = _cpu(lambda: subprocess.run([sys.executable, "-c", "import torch"], check=True, timeout=120))
    first = _cpu(lambda: posref_command("check", "torch", "--only", "rope_inv_freq/plain"))
    whole = _cpu(lambda: posref_command("check", "torch", timeout=600))
    record_property(
        "measured", f"import torch {imported:.1f} s, first result {first:.1f} s, check torch {whole:.1f} s of CPU"
    )
    assert first - imported < 2
    assert whole < 60


def test_all_of_numpy_within_half_a_minute(posref_command: Any, record_property: Callable[[str, object], None]) -> None:
    whole = _cpu(lambda: posref_command("check", "numpy", timeout=600))
    record_property("measured", f"check numpy {whole:.1f} s of CPU")
    assert whole < 30


def test_what_is_measured_is_what_is_run() -> None:
    code = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    assert 0.5 <= _cpu(lambda: subprocess.run([sys.executable, "-c", code], check=True, timeout=60)) < 2
