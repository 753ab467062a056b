"""reStructuredText in docstrings becomes the Markdown of the site."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

pytest.importorskip("griffe", reason="griffe is not installed (extra docs)")

Script = Callable[[str], ModuleType]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("A.\n\n.. math:: a\\,b\n\nB.", "A.\n\n$$ a\\,b $$\n\nB."),
        ("A.\n\n.. math::\n    a\n    = b\n\nB.", "A.\n\n$$ a = b $$\n\nB."),
        ("A.\n\n.. math::\n\n    a\n\nB.", "A.\n\n$$ a $$\n\nB."),
        ("- A\n\n  .. math:: a\n\n- B", "- A\n\n  $$ a $$\n\n- B"),
        ("The :math:`w_i / s` and :math:`a\nb`.", "The $w_i / s$ and $a b$."),
        ("See :func:`rope`, :func:`posref.rope`.", "See [`rope`][posref.rope], [`rope`][posref.rope]."),
        ("See :mod:`posref.rotary`, :meth:`~A.b`.", "See `posref.rotary`, `A.b`."),
        ("2**53, ``2**53``, b**(-2k/d), $x**2$", "2\\*\\*53, ``2**53``, b\\*\\*(-2k/d), $x**2$"),
        ("Examples\n--------\n>>> 2**3\n8", "Examples\n--------\n>>> 2**3\n8"),
        ("Returns\n-------\n(n,) float64\n\nRaises", "Returns\n-------\n:\n    (n,) float64\n\nRaises"),
        ("Returns\n-------\ncos, sin\n    Each (n,).\n", "Returns\n-------\ncos, sin\n    Each (n,).\n"),
        (
            "Parameters\n----------\nx\n    X.\na, b\n    As\n    above.\n\nReturns",
            "Parameters\n----------\nx\n    X.\na\n    As\n    above.\nb\n    As\n    above.\n\nReturns",
        ),
    ],
)
def test_markdown(script: Script, written: str, shown: str) -> None:
    assert script("docstrings").as_markdown(written, frozenset({"rope"})) == shown
