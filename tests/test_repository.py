"""What the project says of itself in several places is the same in all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _readme_commands(text: str) -> list[str]:
    """The commands of the section for a fresh machine."""
    section = re.search(r"^## On a fresh machine\n(.*?)(?=^## )", text, re.M | re.S)
    assert section
    return [
        line for block in re.findall(r"^```bash\n(.*?)^```", section[1], re.M | re.S) for line in block.splitlines()
    ]


def _missing(readme: str, script: str) -> list[str]:
    lines = script.splitlines()
    return [command for command in _readme_commands(readme) if command not in lines]


def test_ci_runs_the_commands_of_the_readme() -> None:
    readme, script = (
        (ROOT / "README.md").read_text(encoding="utf-8"),
        (ROOT / ".ci" / "run").read_text(encoding="utf-8"),
    )
    assert len(_readme_commands(readme)) == 2
    assert _missing(readme, script) == []
    assert _missing(readme, script.replace("pytest -n 2", "pytest -n 4"))  # it would be noticed
    assert _missing(readme.replace("pip install .", "pip install posref"), script)


def _pins() -> dict[str, list[str]]:
    """Constraints by name, with their markers."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition("==")
            found.setdefault(name.lower().replace("_", "-"), []).append(rest)
    return found


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_constraints_pin_everything_that_is_installed_for_ci(python: str) -> None:
    """Every requirement of the project has one version for each of the interpreters that CI runs."""
    from packaging.markers import Marker
    from packaging.requirements import Requirement

    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    needed = {
        Requirement(words).name.lower().replace("_", "-")
        for words in re.findall(r'"([A-Za-z0-9_.\[\]-]+(?:[<>=!~][^"]*)?)"', text.split("[project.scripts]")[0])
        if re.search(r"[<>=]", words)
    } - {"hatchling"}
    pins = _pins()
    assert {"numpy", "torch", "pytest", "safetensors"} <= needed
    assert needed - {"jax", "cupy-cuda12x", "matplotlib"} <= set(pins)  # extras that CI does not install
    for name, versions in pins.items():
        markers = [version.partition("; ")[2] for version in versions]
        there = [m for m in markers if not m or Marker(m).evaluate({"python_version": python})]
        assert len(there) <= 1, f"{name} on Python {python}"
        assert there or name not in needed, f"{name} on Python {python}"
