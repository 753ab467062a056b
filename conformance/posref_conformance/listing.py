"""``posref list``: the encodings, and what each backend has of them."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from posref.catalogue import CATALOGUE
from posref_conformance.backend import Backend, BackendError, load, registered

SHOWN = {"implemented": "[green]yes[/]", "missing": "[red]missing[/]", "unavailable": "[dim]unavailable[/]"}


def listing(*, as_json: bool) -> None:
    """Print the catalogue with one column per registered backend."""
    loaded = {name: _try(name) for name in registered()}
    if as_json:
        print(json.dumps([_record(e, loaded) for e in CATALOGUE], indent=1))
        return
    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    leading = ("encoding", "function") if console.width >= 70 else ("encoding",)
    for name in (*leading, *loaded):
        table.add_column(name, no_wrap=True)
    for family in dict.fromkeys(e.family for e in CATALOGUE):
        table.add_row(f"[dim]{family}[/]")
        for encoding in (e for e in CATALOGUE if e.family == family):
            more = f" +{len(encoding.functions) - 1}" if len(encoding.functions) > 1 else ""
            states = (SHOWN[_state(encoding.functions, backend)] for backend in loaded.values())
            names = (f"  {encoding.id}", encoding.functions[0] + more)[: len(leading)]
            table.add_row(*names, *states)
    console.print(table)
    for backend in loaded.values():
        if isinstance(backend, str):
            console.print(backend, soft_wrap=True, highlight=False, markup=False)


def _try(name: str) -> Backend | str:
    try:
        return load(name)
    except BackendError as problem:
        return str(problem)


def _state(functions: tuple[str, ...], backend: Backend | str) -> str:
    if isinstance(backend, str):
        return "unavailable"
    return "implemented" if all(backend.function(f) for f in functions) else "missing"


def _record(encoding: Any, loaded: dict[str, Backend | str]) -> dict[str, Any]:
    return {
        "id": encoding.id,
        "family": encoding.family,
        "title": encoding.title,
        "functions": list(encoding.functions),
        "source": encoding.source,
        "presets": dict(encoding.presets),
        "not_a_rotation": encoding.not_a_rotation,
        "backends": {name: _state(encoding.functions, backend) for name, backend in loaded.items()},
    }
