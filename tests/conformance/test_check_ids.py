"""Check ids are in people's files of expected failures: they stay as they are."""

from __future__ import annotations

import re
from pathlib import Path

from posref_conformance.cases import CASES
from posref_conformance.deep import deep_ids

LIST = Path(__file__).parents[1] / "data" / "check_ids.txt"


def _present() -> list[str]:
    return [case.check_id(dtype) for case in CASES for dtype in case.dtypes] + deep_ids()


def test_ids_are_those_of_the_list() -> None:
    present, listed = set(_present()), set(LIST.read_text(encoding="utf-8").split())
    gone = "\n  ".join(sorted(listed - present))
    new = "\n".join(sorted(present - listed))
    assert not gone, (
        f"These checks are gone or renamed:\n  {gone}\n"
        "Ids are kept across releases, since people name them in expected_failures: give them back. "
        f"If a check has to go, say so in CHANGELOG.md and take its lines out of tests/data/{LIST.name}."
    )
    assert not new, f"New checks. Add these lines to tests/data/{LIST.name}, in their order:\n{new}"


def test_the_list_is_sorted_and_holds_nothing_twice() -> None:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))


def test_an_id_names_one_check_and_needs_no_quotes() -> None:
    present = _present()
    assert len(set(present)) == len(present)
    for check in present:
        assert re.fullmatch(r"[a-z0-9_]+/[a-z0-9-]+/[a-z0-9]+", check)
