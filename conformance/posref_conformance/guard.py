"""Notice what a backend replaces in the modules that the judge itself uses, so that it cannot change its own verdict."""

from __future__ import annotations

import sys

WATCHED = ("numpy", "json", "math", "posref", "posref_conformance")


class Guard:
    """What the watched modules held when the guard was made."""

    def __init__(self) -> None:
        modules = [sys.modules[name] for name in sorted(sys.modules) if _ours(name)]
        self._before = [(module, dict(vars(module))) for module in modules]

    def repair(self) -> list[str]:
        """Put back what has been replaced or deleted since, and name it. What was added does no harm."""
        replaced = []
        for module, before in self._before:
            now = vars(module)
            for name, value in before.items():
                if now.get(name, now) is not value:
                    replaced.append(f"{module.__name__}.{name}")
                    now[name] = value
        return replaced


def _ours(module: str) -> bool:
    # numpy's submodules are many, and what the judge uses of them it has through numpy itself
    return module in WATCHED or module.startswith(("posref.", "posref_conformance."))
