"""Commands in the guides are run when the site is built, and show what they said then.

A fence ``run`` holds lines that begin with ``$``; what they print is put below them. ``run 1`` is for commands whose exit
status is 1. A fence with ``title="file.py"`` is also written to that file, in the folder that the page's commands run in.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FENCE = re.compile(
    r"^```run(?: (?P<status>\d))?\n(?P<lines>.*?)^```$|^```\w+ title=\"(?P<file>[\w.-]+)\"\n(?P<text>.*?)^```$",
    re.M | re.S,
)
SECONDS = 120


class CommandError(Exception):
    """A command of a page did not do what the page says."""


def run_fences(markdown: str) -> str:
    """The page with the output of its commands."""
    with tempfile.TemporaryDirectory() as folder:

        def fence(found: re.Match[str]) -> str:
            if found["file"]:
                Path(folder, found["file"]).write_text(found["text"], encoding="utf-8")
                return found[0]
            lines = [line for line in found["lines"].splitlines() if line]
            said = [_run(line.removeprefix("$ "), folder, int(found["status"] or 0)) for line in lines]
            shown = "\n".join(f"{line}\n{output}".rstrip() for line, output in zip(lines, said, strict=True))
            return f"```console\n{shown}\n```"

        return FENCE.sub(fence, markdown)


def _run(command: str, folder: str, status: int) -> str:
    """What a command prints, standard error last."""
    here = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": here, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
    )
    output = done.stdout + done.stderr
    if done.returncode != status:
        raise CommandError(f"`{command}` must exit with {status}, got {done.returncode}: {output[-500:]}")
    return "\n".join(line.rstrip() for line in output.splitlines())
