"""What a person sees: the first line at once, progress, a report that is never cut, and a report after Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

POSREF = [sys.executable, "-I", "-c", "from posref.cli import main; main()"]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal and POSIX signals")


def _start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True, **options}
    return subprocess.Popen([*POSREF, *arguments], **options)


# --- time -----------------------------------------------------------------------------------------------------------


def test_the_first_line_does_not_wait_for_the_backend(backend_file: Callable[..., str]) -> None:
    path = backend_file("import time\ntime.sleep(60)\n")
    start = time.monotonic()
    with _start("check", path) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        took = time.monotonic() - start
        process.kill()
    assert line == f"posref 0.1.0: checking {path}\n"
    assert took < 5  # 1 s is meant, and 0.4 s is usual; a machine that tests on all cores gets more


# --- terminals ------------------------------------------------------------------------------------------------------


def _in_a_terminal(columns: int, *arguments: str) -> str:
    """What a terminal of a given width receives."""
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    process = _start(*arguments, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, text=False)
    os.close(theirs)
    received = b""
    try:
        while block := os.read(ours, 65536):
            received += block
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    process.wait(timeout=60)
    return received.decode()


def _words(text: str) -> str:
    """Without the escape sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


WRONG = """
def rope_attention_factor(scaling):
    return 17.0

rope_apply = right.rope_apply
"""


def test_a_narrow_terminal_cuts_nothing(backend_file: Callable[..., str]) -> None:
    arguments = ("check", backend_file(WRONG), "--only", "rope_attention_factor", "--only", "rope_apply")
    seen = _in_a_terminal(50, *arguments)
    assert "\x1b[" in seen
    words = _words(seen)
    assert "…" not in words
    assert re.search(r"^rope_attention_factor +0/\d+ +(-|\d+) +[0-9.e+]+ x bound +fails", words, re.MULTILINE)
    assert re.search(r"^rope_apply +\d+/\d+ +- +0.6\d x bound +float32", words, re.MULTILINE)
    assert f"  posref check {arguments[1]} --only rope_attention_factor/none/default\r\n" in words  # to be copied
    assert re.search(r"(\d+)/\d+", words), "the bar has counted"


def test_what_is_no_terminal_gets_no_escapes_and_no_bar(posref_command: Callable[..., Any]) -> None:
    done = posref_command("check", "numpy", "--only", "learned", env={**os.environ, "COLUMNS": "50"})
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert done.stderr == ""


def test_warnings_are_shown_once_and_the_first_few(backend_file: Callable[..., str], posref_command: Any) -> None:
    source = """
    import warnings

    def alibi_slopes(num_heads):
        warnings.warn("slow [bold]path[/bold]")
        warnings.warn(f"{num_heads} heads")
        return right.alibi_slopes(num_heads)
    """
    done = posref_command("check", backend_file(source), "--only", "alibi_slopes")
    lines = done.stdout.splitlines()[3:-1]  # after the table of one function, before the verdict
    assert lines[0] == "warning in alibi_slopes/heads-1/default: UserWarning: slow [bold]path[/bold]"
    assert lines[1] == "warning in alibi_slopes/heads-1/default: UserWarning: 1 heads"
    assert sum("slow" in line for line in lines) == 1
    assert lines[5:] == ["7 more warnings: --json has them all"]
    assert done.returncode == 0  # a warning is no failure


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_name_that_the_encoding_lacks(tmp_path: Path, posref_command: Any, encoding: str) -> None:
    (tmp_path / "modèle.py").write_text("", encoding="utf-8")
    done = posref_command("check", "modèle.py", env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


# --- an end before the end ------------------------------------------------------------------------------------------

SLOW = """
import subprocess

def alibi_slopes(num_heads):
    if num_heads == 3:
        subprocess.run(command.split())
    return right.alibi_slopes(num_heads)
"""


def _interrupt(process: subprocess.Popen[str], started: Callable[[], Any]) -> tuple[str, str]:
    """Ctrl-C, once the backend is where it waits, as a terminal sends it: to all that were started from it."""
    deadline = time.monotonic() + 60
    while not started() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    return process.communicate(timeout=30)


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_gives_the_report_so_far(
    backend_file: Callable[..., str],
    processes: Callable[..., list[int]],
    left_running: Callable[..., list[int]],
    sleep: str,
    as_json: bool,
) -> None:
    path = backend_file(f"command = {sleep!r}\n", SLOW)
    process = _start("check", path, "--only", "alibi_slopes", "--timeout", "60", *(["--json"] if as_json else []))
    out, err = _interrupt(process, lambda: processes(sleep))
    assert process.returncode == 2
    assert err == "posref: interrupted\n"
    if as_json:
        report = json.loads(out)
        assert (report["verdict"], report["summary"]) == ("interrupted", "yes: 2 checks passed")
        assert [c["id"] for c in report["checks"]] == ["alibi_slopes/heads-1/default", "alibi_slopes/heads-2/default"]
    else:
        assert out.splitlines()[-1] == "interrupted, so far yes: 2 checks passed"
    assert left_running(sleep) == []


def test_ctrl_c_while_a_backend_is_imported(
    backend_file: Callable[..., str],
    processes: Callable[..., list[int]],
    left_running: Callable[..., list[int]],
    sleep: str,
) -> None:
    path = backend_file(f"import subprocess\nsubprocess.run({sleep.split()!r})\n")
    process = _start("check", path)
    _, err = _interrupt(process, lambda: processes(sleep))
    assert (process.returncode, err.strip()) == (2, "posref: interrupted")
    assert left_running(sleep) == []


def test_a_reader_that_goes_away_is_no_verdict() -> None:
    process = _start("check", "numpy", "--only", "rope")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 2
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(posref_command: Callable[..., Any]) -> None:
    with open("/dev/full", "w") as full:
        done = posref_command(
            "check", "numpy", "--only", "learned", capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 2
    assert done.stderr.startswith("posref: [Errno 28]")
    assert done.stderr.count("\n") == 1


def test_an_import_that_hangs_is_given_up(
    backend_file: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    left_running: Callable[..., list[int]],
    sleep: str,
) -> None:
    from posref_conformance import process, runner
    from posref_conformance.backend import BackendError

    monkeypatch.setattr(process, "LOADING", 2.0)
    path = backend_file(f"import subprocess\nsubprocess.run({sleep.split()!r})\n")
    with pytest.raises(BackendError, match=r"was not imported within 2 s$"):
        runner.Runner(path)
    assert left_running(sleep) == []
