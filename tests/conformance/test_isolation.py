"""Whatever a backend does to its process costs the check in which it does it, and no other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posref_conformance.case import Case
from posref_conformance.cases import CASES
from posref_conformance.process import Limits
from posref_conformance.runner import Runner
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
    return {c.check_id(d) for c in CASES for d in c.dtypes if c.function in functions and not _differentiated(c)}


def _differentiated(case: Case) -> bool:
    """Whether it is about gradients, which NumPy has not."""
    return any(call.cotangent is not None for call in case.calls(case.dtypes[0]))


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


def test_a_hang_costs_one_check(run_backend: Callable[..., Any]) -> None:
    source = """
    def forever():
        while True:
            pass

    learned = when(right.learned, lambda t, p: t.dtype == "float32" and p.shape == (4,), lambda: time.sleep(1000))
    alibi_slopes = when(right.alibi_slopes, lambda n: n == 3, forever)
    """
    results = run_backend(WHEN, source, only=("learned", "alibi_slopes"), timeout=1.5)
    assert set(results) == _ids("learned", "alibi_slopes")
    assert _failures(results) == dict.fromkeys(
        ["learned/rows/float32", "alibi_slopes/heads-3/default"], "took more than 1.5 s"
    )


def test_a_third_hang_ends_a_function_and_no_other(run_backend: Callable[..., Any]) -> None:
    source = """
    learned = when(right.learned, lambda t, p: t.dtype == "float16", lambda: time.sleep(1000))
    alibi_slopes = right.alibi_slopes
    """
    results = run_backend(WHEN, source, only=("learned", "alibi_slopes"), timeout=0.5)
    order = [c for c in results if c.startswith("learned/")]
    hangs = [c for c in order if results[c].reason == "took more than 0.5 s"]
    assert hangs == [c for c in order if c.endswith("/float16")][:3]
    after = order[order.index(hangs[2]) + 1 :]
    assert {results[c].reason for c in after} == {
        f"not run: 3 of this function's checks took too long, last {hangs[2]}"
    }
    assert {r.status for c, r in results.items() if c not in (*after, *hangs)} == {PASSED}


def test_a_tenth_death_ends_a_function(run_backend: Callable[..., Any]) -> None:
    source = """
    alibi_slopes = when(right.alibi_slopes, lambda n: n > 1, lambda: os._exit(3))
    """
    results = run_backend(WHEN, source, only=("alibi_slopes",))
    order = list(results)
    assert [results[c].reason for c in order[:11]] == ["", *["the process exited with status 3"] * 10]
    results = run_backend(WHEN, source.replace("n > 1", "True"), only=("alibi_slopes",))
    why = f"not run: 10 of this function's checks ended the process, last {order[9]}"
    assert results[order[10]].reason == why
    assert [results[c].reason for c in order[:10]] == ["the process exited with status 3"] * 10


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


def test_memory_is_limited_by_what_is_resident(backend_file: Callable[..., str]) -> None:
    """Address space that is never touched costs nothing, and memory that is given back is not held against later checks."""
    source = """
    import mmap

    def eat():
        hoard = []
        while True:
            hoard.append(np.ones(2**21))  # 16 MiB
            time.sleep(0.001)  # 16 GiB/s: the limit is looked at 20 times a second

    reserved = mmap.mmap(-1, 2**36, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE
    learned = when(right.learned, lambda t, p: t.dtype == "float32" and p.shape == (4,), eat)
    alibi_slopes = when(right.alibi_slopes, lambda n: n == 8, lambda: np.ones(2**24))  # 128 MiB for a moment
    """
    with Runner(backend_file(WHEN, source), limits=Limits(gibibytes=0.5)) as runner:
        results = {r.id: r for r in runner.run(runner.checks(("learned", "alibi_slopes")))}
    assert set(results) == _ids("learned", "alibi_slopes")
    assert _failures(results) == {"learned/rows/float32": "took more than 0.5 GiB of memory"}


def test_megabytes_of_output_cost_nothing(run_backend: Callable[..., Any]) -> None:
    """Nor do they fill the disk: what is kept is cut while the check runs. The last words are still there."""
    source = """
    def shout():
        line = b"x" * 2**20
        for _ in range(256):
            os.write(1, line)
            os.write(2, line)
        files = [os.path.join("/proc/self/fd", n) for n in ("1", "2")]
        sizes = [os.stat(f).st_size for f in files]
        while max(os.stat(f).st_size for f in files) > 2**21:
            time.sleep(0.01)  # forever, if nobody cuts it
        os.write(2, b"\\nthat was all\\n")
        os._exit(1)

    learned = when(right.learned, lambda t, p: t.dtype == "float32" and p.shape == (4,), shout)
    """
    results = run_backend(WHEN, source, only=("learned",))
    assert _failures(results) == {
        "learned/rows/float32": "the process exited with status 1; it last said: that was all"
    }
    assert set(results) == _ids("learned")


def test_several_jobs_give_the_same_report(backend_file: Callable[..., str]) -> None:
    """Deaths and hangs included: what a function's checks meet does not follow from how many jobs there are."""
    source = (
        DEATHS
        + """
rope_apply = when(right.rope_apply, lambda x, *_: x.dtype == "float16", lambda: time.sleep(1000))
"""
    )
    path, seen = backend_file(WHEN, source), []
    for jobs in (1, 3):
        with Runner(path, limits=Limits(2.0), jobs=jobs) as runner:
            checks = runner.checks(("learned", "alibi_slopes", "sinusoidal", "rope_apply", "t5_bucket"))
            seen.append(sorted(runner.run(checks), key=lambda r: checks.index(r.id)))
    assert seen[0] == seen[1]
    assert {r.status for r in seen[0]} == {PASSED, FAILED}


def test_jobs_run_at_the_same_time(run_backend: Callable[..., Any], tmp_path: Path) -> None:
    """Two functions of which each waits for the other."""
    source = """
    import pathlib, time

    def meet(mine, other):
        pathlib.Path(folder, mine).touch()
        while not pathlib.Path(folder, other).exists():
            time.sleep(0.01)

    def alibi_slopes(num_heads):
        meet("a", "b")
        return right.alibi_slopes(num_heads)

    def rope_attention_factor(scaling):
        meet("b", "a")
        return right.rope_attention_factor(scaling)
    """
    only = ("alibi_slopes/heads-1", "rope_attention_factor/none")
    together = run_backend(f"folder = {str(tmp_path)!r}\n", source, only=only, jobs=2)
    assert {r.status for r in together.values()} == {PASSED}
    for name in "ab":
        (tmp_path / name).unlink()
    alone = run_backend(f"folder = {str(tmp_path)!r}\n", source, only=only, timeout=1)
    assert [r.status for r in alone.values()] == [FAILED, PASSED]


def test_jobs_of_a_backend_that_loads_only_once(run_backend: Callable[..., Any], tmp_path: Path) -> None:
    source = """
    import pathlib

    pathlib.Path(folder, "lock").mkdir()  # fails the second time
    learned, alibi_slopes, t5_bucket = right.learned, right.alibi_slopes, right.t5_bucket
    """
    functions = ("learned", "alibi_slopes", "t5_bucket")
    results = run_backend(f"folder = {str(tmp_path)!r}\n", source, only=functions, jobs=4)
    assert set(results) == _ids(*functions)
    assert {r.status for r in results.values()} == {PASSED}


@pytest.mark.parametrize("jobs", [1, 3])
def test_nothing_is_left_running(
    run_backend: Callable[..., Any], left_running: Callable[..., list[int]], sleep: str, jobs: int
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
    run_backend(f"command = {sleep!r}\n", source, only=("alibi_slopes", "learned/rows"), timeout=1, jobs=jobs)
    assert left_running(sleep) == []
    assert left_running() == []
