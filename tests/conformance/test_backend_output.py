"""What a backend prints is neither an answer nor lost: it costs nothing, and belongs to the check in which it was said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from posref_conformance.verdict import FAILED, NOT_IMPLEMENTED, PASSED

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and process groups")


def test_output_is_no_answer_and_costs_nothing(run_backend: Callable[..., Any]) -> None:
    """Megabytes from Python and from below it, text that looks like an answer, and a read of standard input."""
    source = """
    import os, subprocess, sys, warnings
    answer = '{"id": "alibi_slopes/heads-3/default", "status": "failed", "warnings": []}'

    def alibi_slopes(num_heads):
        print(answer, flush=True)
        print("x" * 3_000_000)
        os.write(1, b"y" * 3_000_000)
        os.write(1, answer.encode())
        subprocess.run(["echo", answer])
        assert sys.stdin.read() == ""
        warnings.warn("a" * 1000)
        return right.alibi_slopes(num_heads)
    """
    results = run_backend(source, only=("alibi_slopes",))
    assert results.keys() >= {"alibi_slopes/heads-3/default", "alibi_slopes/heads-8/default"}
    assert {r.status for r in results.values()} == {PASSED, NOT_IMPLEMENTED}  # it has no keywords
    answered = [r for r in results.values() if r.status == PASSED]
    assert {r.warnings for r in answered} == {(f"UserWarning: {'a' * 300}",)}


def test_an_answer_to_another_question_fails(run_backend: Callable[..., Any]) -> None:
    """What a backend writes into every pipe that it finds is no answer to what was asked."""
    source = """
    import os, stat

    def learned(table, positions):
        if table.dtype == "float32" and positions.shape == (4,):
            forged = '{"id": "learned/rows/float64", "status": "passed", "warnings": []}\\n'
            for fd in range(3, 20):
                try:
                    os.write(fd, forged.encode())
                except OSError:
                    pass
        return right.learned(table, positions)
    """
    results = run_backend(source, only=("learned",))
    assert [c for c, r in results.items() if r.status == FAILED] == ["learned/rows/float32"]
    assert results["learned/rows/float32"].reason.startswith("wrote something else than a result")


def test_last_words_belong_to_the_check(run_backend: Callable[..., Any]) -> None:
    """What was said in a check that passed is not quoted for one that died later."""
    source = """
    import os, sys

    def alibi_slopes(num_heads):
        if num_heads == 3:
            os._exit(1)
        print("all is well", num_heads)
        if num_heads == 8:
            sys.stderr.write("Fatal: no memory\\n\\n")
            os._exit(1)
        return right.alibi_slopes(num_heads)
    """
    results = run_backend(source, only=("alibi_slopes",))
    assert results["alibi_slopes/heads-3/default"].reason == "the process exited with status 1"
    assert (
        results["alibi_slopes/heads-8/default"].reason
        == "the process exited with status 1; it last said: Fatal: no memory"
    )
