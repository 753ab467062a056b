"""Whatever a backend does to its process costs the check in which it does it, and no other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posref_conformance.cases import CASES
from posref_conformance.verdict import FAILED, PASSED

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and process groups")

# when(right.learned, lambda ...: ..., act): the right function, which does ``act`` before calls that the lambda picks
WHEN = """
import ctypes, functools, json, os, resource, signal, subprocess, sys, time
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

def when(function, picks, act):
    def wrapped(*args, **kwargs):
        if picks(*args):
            act()
        return function(*args, **kwargs)
    return wrapped

def fork_and_die():
    if os.fork() == 0:  # holds the pipes of the process that dies, outside its process group
        os.setsid()
        time.sleep(8)  # longer than a check may take
        os._exit(0)
    os._exit(7)

def deaf():
    os.closerange(0, 256)
    time.sleep(60)
"""

DEATHS = """
learned = when(right.learned, lambda t, p: t.dtype == "float32" and p.shape == (4,), lambda: ctypes.string_at(0))
alibi_slopes = when(right.alibi_slopes, lambda n: n == 3, os.abort)
sinusoidal = when(right.sinusoidal, lambda p, dim: dim == 1024, lambda: os._exit(0))
timestep_embedding = when(right.timestep_embedding, lambda t, dim: dim == 11, lambda: os.kill(os.getpid(), signal.SIGKILL))
t5_bucket = when(right.t5_bucket, lambda r: r.dtype == "int32" and r.shape == (5, 7), fork_and_die)
rope_inv_freq = when(right.rope_inv_freq, lambda dim: dim == 96, deaf)
rope_attention_factor = when(right.rope_attention_factor, lambda s: s is None, lambda: os.kill(os.getpid(), 50))
"""


def _ids(*functions: str) -> set[str]:
    return {c.check_id(d) for c in CASES for d in c.dtypes if c.function in functions}


def _failures(results: dict[str, Any]) -> dict[str, str]:
    return {r.id: r.reason for r in results.values() if r.status == FAILED}


def test_a_death_costs_one_check_and_says_how(run_backend: Callable[..., Any]) -> None:
    expected = {
        "learned/rows/float32": "the process died of SIGSEGV",
        "alibi_slopes/heads-3/default": "the process died of SIGABRT",
        "sinusoidal/wide/int64": "the process exited with status 0",
        "timestep_embedding/odd/int64": "the process died of SIGKILL",
        "t5_bucket/matrix/int32": "the process exited with status 7",
        "rope_inv_freq/dim-96/default": "the process closed its side of the conversation",
        "rope_attention_factor/none/default": "the process died of ",
    }
    functions = {check.partition("/")[0] for check in expected}
    results = run_backend(WHEN, DEATHS, only=tuple(functions), timeout=5)
    assert set(results) == _ids(*functions)  # complete
    failures = _failures(results)
    assert set(failures) == set(expected)
    for check, how in expected.items():
        assert failures[check].startswith(how), check
    assert all(r.status == PASSED for r in results.values() if r.id not in expected)


def test_a_hang_costs_its_function_and_no_other(run_backend: Callable[..., Any]) -> None:
    source = """
    def forever():
        while True:
            pass

    learned = when(right.learned, lambda t, p: t.dtype == "float32" and p.shape == (4,), lambda: time.sleep(1000))
    alibi_slopes = when(right.alibi_slopes, lambda n: n == 3, forever)
    sinusoidal = right.sinusoidal
    """
    results = run_backend(WHEN, source, only=("learned", "alibi_slopes", "sinusoidal"), timeout=1.5)
    assert set(results) == _ids("learned", "alibi_slopes", "sinusoidal")
    assert results["learned/rows/float32"].reason == "took more than 1.5 s"
    assert results["alibi_slopes/heads-3/default"].reason == "took more than 1.5 s"
    assert all(r.status == PASSED for r in results.values() if r.id.startswith("sinusoidal/"))
    order = [c for c in results if c.startswith("learned/")]
    at = order.index("learned/rows/float32")
    assert [results[c].status for c in order[:at]] == [PASSED] * at
    unrun = {results[c].reason for c in order[at + 1 :]}
    assert unrun == {"not run: learned/rows/float32 took more than 1.5 s"}


def test_a_second_death_ends_a_function_and_a_first_does_not(run_backend: Callable[..., Any]) -> None:
    source = """
    learned = when(right.learned, lambda t, p: t.dtype == "float16", lambda: os._exit(3))
    alibi_slopes = right.alibi_slopes
    """
    results = run_backend(WHEN, source, only=("learned", "alibi_slopes"))
    order = [c for c in results if c.startswith("learned/")]
    deaths = [c for c in order if results[c].reason == "the process exited with status 3"]
    assert deaths == ["learned/rows/float16", "learned/batch/float16"]
    after = order[order.index(deaths[1]) + 1 :]
    assert {results[c].reason for c in after} == {
        f"not run: the process died in two of this function's checks, last in {deaths[1]}"
    }
    before = [c for c in order if c not in after and c not in deaths]
    assert before
    assert all(results[c].status == PASSED for c in before)
    assert all(results[c].status == PASSED for c in results if c.startswith("alibi_slopes/"))


def test_a_backend_that_loads_only_once(run_backend: Callable[..., Any], tmp_path: Path) -> None:
    """A lock, a device that stays taken: after the first death nothing can be run, and nothing is waited for again."""
    source = """
    import os, pathlib

    marker = pathlib.Path(__file__).with_suffix(".loads")
    marker.write_text((marker.read_text() if marker.exists() else "") + "x")
    if marker.read_text() != "x":
        raise RuntimeError("the device is taken")

    def alibi_slopes(num_heads):
        if num_heads == 3:
            os._exit(1)
        return right.alibi_slopes(num_heads)

    learned = right.learned
    """
    results = run_backend(source, only=("alibi_slopes", "learned"))
    order = list(results)
    at = order.index("alibi_slopes/heads-3/default")
    assert {results[c].status for c in order[:at]} == {PASSED}
    (why,) = {results[c].reason for c in order[at + 1 :]}
    assert why.startswith("not run: the backend could not be loaded again: ")
    assert why.endswith("cannot be imported: RuntimeError: the device is taken")
    assert (tmp_path / "mine.loads").read_text() == "xx"  # tried again once


def test_what_only_python_sees_costs_one_check(run_backend: Callable[..., Any]) -> None:
    """One run, a different deed in each of learned's checks for float32, and one for float16."""
    source = """
    import json, sys

    class Rude(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    class Odd(BaseException):
        pass

    def throw(problem):
        raise problem

    deeds = {
        ("float32", (4,)): lambda: sys.exit(0),
        ("float32", (2, 3)): lambda: throw(KeyboardInterrupt()),
        ("float32", ()): lambda: throw(Rude()),
        ("float32", (2, 0)): lambda: throw(ValueError("\\x1b[31mred\\ud800\\n\\n" + "long " * 10000)),
        ("float32", (2,)): lambda: throw(Odd("strange")),
        ("float32", (3,)): lambda: setattr(np, "abs", lambda x: 0 * x),
        ("float16", (4,)): lambda: setattr(json, "dumps", lambda x: "{}"),
    }
    first = []

    def learned(table, positions):
        deed = deeds.get((str(table.dtype), positions.shape))
        if deed and deed not in first:  # once: learned/again has the shape of learned/read-only-strided
            first.append(deed)
            deed()
        return right.learned(table, positions)

    alibi_slopes = right.alibi_slopes
    """
    results = run_backend(source, only=("learned", "alibi_slopes"))
    expected = {
        "learned/rows/float32": "raised SystemExit: 0",
        "learned/batch/float32": "raised KeyboardInterrupt",
        "learned/scalar/float32": "raised Rude: (Rude, whose text cannot be had)",
        "learned/empty/float32": "raised ValueError: \\x1b[31mred\\ud800 long",
        "learned/int32/float32": "raised Odd: strange",
        "learned/read-only-strided/float32": "replaces numpy.abs, which the suite itself uses",
        "learned/rows/float16": "replaces json.dumps, which the suite itself uses",
    }
    assert set(results) == _ids("learned", "alibi_slopes")
    failures = _failures(results)
    assert set(failures) == set(expected)
    for check, reason in expected.items():
        assert failures[check].startswith(reason), check
    assert len(failures["learned/empty/float32"]) < 350
    assert "\n" not in failures["learned/empty/float32"]


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
    assert set(results) == _ids("alibi_slopes")
    assert {r.status for r in results.values()} == {PASSED}
    assert {r.warnings for r in results.values()} == {(f"UserWarning: {'a' * 300}",)}


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
    assert set(_failures(results)) == {"learned/rows/float32"}
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


def test_nothing_is_left_running(
    run_backend: Callable[..., Any], processes: Callable[..., list[int]], sleep: str
) -> None:
    """Children of a worker that ends, hangs or dies are ended with it, and the worker is no zombie."""
    source = """
    import os, subprocess, time

    def alibi_slopes(num_heads):
        subprocess.Popen(command.split())
        if num_heads == 2:
            os._exit(1)
        if num_heads == 3:
            time.sleep(1000)
        return right.alibi_slopes(num_heads)

    def learned(table, positions):
        subprocess.Popen(command.split())
        return right.learned(table, positions)
    """
    run_backend(f"command = {sleep!r}\n", source, only=("alibi_slopes", "learned/rows"), timeout=1)
    assert processes(sleep) == []
    assert processes() == []
