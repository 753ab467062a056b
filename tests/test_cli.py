"""The command line: exit status, one line for what cannot be answered, and no traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

POSREF = [sys.executable, "-I", "-c", "from posref.cli import main; main()"]
CONFIGS = Path(__file__).parent / "data" / "configs"
LLAMA = str(CONFIGS / "Llama-2-7b-hf.json")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command in a directory of its own. Whatever it is told, it gives no traceback."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        options = {"cwd": tmp_path, "capture_output": True, "encoding": "utf-8", "timeout": 120, **options}
        done = subprocess.run([*POSREF, *arguments], check=False, **options)
        assert "Traceback" not in done.stdout + done.stderr
        return done

    return run


def _write(folder: Path, source: str, name: str = "mine.py") -> str:
    (folder / name).write_text(textwrap.dedent(source), encoding="utf-8")
    return name


def _unanswered(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that says why."""
    assert done.returncode == 2
    assert done.stderr.startswith("posref")
    assert done.stderr.count("\n") == 1
    return done.stderr


# --- 0 and 1 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "numpy", "--only", "alibi_slopes"),
        ("list",),
        ("show", LLAMA),
        ("show", LLAMA, "--framework", "vllm"),
        ("show", LLAMA, "--compare"),
        ("table", LLAMA, "-o", "table.npz", "--positions", "-1:3", "--dtype", "bfloat16"),
        ("check", "--template"),
        ("--help",),
        ("check", "-h"),
        ("--version",),
    ],
)
def test_yes_is_0_and_says_nothing_on_standard_error(run: Run, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


NO = {
    "a failure": ("def alibi_slopes(n): return np.zeros(n)", "no: 1 of 1 check failed"),
    "no function": ("", "no: nothing ran; the backend has none of the functions that were asked for"),
    "nothing implemented": ("def alibi_slopes(n): raise NotImplementedError", "no: nothing ran"),
}


@pytest.mark.parametrize("kind", NO)
def test_no_is_1(run: Run, tmp_path: Path, kind: str) -> None:
    source, verdict = NO[kind]
    done = run("check", _write(tmp_path, "import numpy as np\n" + source), "--only", "alibi_slopes/heads-8")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[-1].startswith(verdict)


def test_a_failure_says_what_it_takes_to_see_it_again(run: Run, tmp_path: Path) -> None:
    name = _write(tmp_path, "import numpy as np\ndef alibi_slopes(n): return np.full(n, 0.37)\n", "my [red]file.py")
    done = run("check", name, "--only", "alibi_slopes/heads-[12]/*")
    assert done.stdout.splitlines() == [
        "posref 0.1.0: checking my [red]file.py",
        "function      passed  not impl.            worst  precision",
        "alibi_slopes     0/2          -  1.7e+17 x bound  fails    ",
        "",
        "alibi_slopes/heads-1/default values are wrong",
        "  at [0]: got 0.37, expected 0.00390625, bound 2.17e-18 (1.7e+17 x bound)",
        "  posref check 'my [red]file.py' --only alibi_slopes/heads-1/default",
        "",
        "alibi_slopes/heads-2/default values are wrong",
        "  at [1]: got 0.37, expected 0.00390625, bound 2.6e-18 (1.4e+17 x bound)",
        "  posref check 'my [red]file.py' --only alibi_slopes/heads-2/default",
        "no: 2 of 2 checks failed",
    ]


def test_what_a_backend_lacks_is_one_line(run: Run, tmp_path: Path) -> None:
    name = _write(tmp_path, "from posref_array.on_numpy import backend as right\nalibi_slopes = right.alibi_slopes\n")
    few, many = run("check", name, "--family", "logits"), run("check", name)
    assert few.stdout.splitlines()[1:] == [
        "not implemented: log_n_scale, inkling_scale, ssmax_scale, llama4_scale, length_scale",
        "no: nothing ran; the backend has none of the functions that were asked for",
    ]
    _, head, row, lacking, verdict = many.stdout.splitlines()
    assert [line.split()[0] for line in (head, row)] == ["function", "alibi_slopes"]
    assert lacking.startswith("not implemented: rope_inv_freq, rope_attention_factor, rope_cos_sin, rope_table and ")
    assert verdict.startswith("yes: ")


# --- 2 --------------------------------------------------------------------------------------------------------------

UNANSWERED = {
    "posref: a command is missing": (),
    "No such command 'chekc'": ("chekc", "numpy"),
    "BACKEND is missing": ("check",),
    "no such file: nowhere.py": ("check", "nowhere.py"),
    "no such file: no/such": ("check", "no/such"),
    "no backend called nonesuch: give cupy, numpy, torch, a file.py or a package.module": ("check", "nonesuch"),
    "no backend called no.such.module": ("check", "no.such.module"),
    "no fault called alibi-slopes-one; of ": ("check", "fault:alibi-slopes-one"),
    "No such option '--jsn'": ("check", "numpy", "--jsn"),
    "'soon' is not a valid float": ("check", "numpy", "--timeout", "soon"),
    "0.0 is not in the range x>0": ("check", "numpy", "--timeout", "0"),
    "--only roop means no check that this backend can run; functions: alibi_bias, ": (
        *("check", "numpy", "--only", "roop"),
    ),
    "Missing argument 'CONFIG.json'": ("show",),
    "no_such_config.json": ("show", "no_such_config.json"),
    "'tf' is not one of 'transformers', 'vllm', ": ("show", LLAMA, "--framework", "tf"),
    "--compare shows all frameworks: give it or --framework": ("show", LLAMA, "--compare", "--framework", "vllm"),
    "Missing option '-o' / '--output'": ("table", LLAMA),
    "positions must be first:end, ": ("table", LLAMA, "-o", "table.npz", "--positions", "all"),
    "'int8' is not one of 'float64', ": ("table", LLAMA, "-o", "table.npz", "--dtype", "int8"),
    "the output must end in .npz or .safetensors": ("table", LLAMA, "-o", "table.pt"),
    "unexpected extra argument": ("check", "numpy", "torch"),
    "--family must be one of additive, rotary, ": ("check", "numpy", "--family", "rotry"),
    "--only rope means no check that this backend can run; functions: alibi_bias": (
        *("check", "numpy", "--only", "rope", "--family", "bias"),
    ),
    "0 is not in the range x>=1": ("check", "numpy", "-j", "0"),
    "'much' is not a valid float": ("check", "numpy", "--memory", "much"),
    "Missing argument 'REPORT.json...'": ("report",),
    "--html takes one report, got 2": ("report", "a.json", "b.json", "--html", "c.html"),
}


@pytest.mark.parametrize("line", UNANSWERED)
def test_no_answer_is_2_and_one_line(run: Run, line: str) -> None:
    assert line in _unanswered(run(*UNANSWERED[line]))


IMPORTS = {
    "cannot be imported: ModuleNotFoundError: No module named 'nonesuch'": "import nonesuch",
    "cannot be imported: SyntaxError: ": "def rope(:",
    "cannot be imported: SystemExit: 3": "raise SystemExit(3)",
    "cannot be imported: ValueError: two lines": "raise ValueError('two\\nlines')",
    "cannot be imported: the process died of SIGSEGV": "import ctypes; ctypes.string_at(0)",
    "cannot be imported: the process exited with status 5": "import os; os._exit(5)",
    "it last said: KeyboardInterrupt": "raise KeyboardInterrupt",
    "cannot be imported: it wrote no JSON": "import os; os.write(4, b'no JSON\\n'); os.write(3, b'no JSON\\n')",
    "replaces numpy.abs, which the suite itself uses": "import numpy; numpy.abs = abs",
    "precision must be one of": "precision = 'double'",
    "unavailable: its array library is not installed": "arrays = 'jax'",
    "unavailable: out of order": "def unavailable(): return 'out of order'",
}


@pytest.mark.parametrize("line", IMPORTS)
def test_a_backend_that_cannot_be_loaded(run: Run, tmp_path: Path, line: str) -> None:
    if "jax" in IMPORTS[line]:
        line = line if not _installed("jax") else pytest.skip("jax is installed here")
    done = run("check", _write(tmp_path, IMPORTS[line]))
    assert line in _unanswered(done)
    assert done.stdout.splitlines() == ["posref 0.1.0: checking mine.py"]


def test_cupy_without_a_device_is_one_line(run: Run) -> None:
    if _installed("cupy"):
        import cupy

        if cupy.cuda.is_available():
            pytest.skip("there is a CUDA device")
    assert "unavailable: " in _unanswered(run("check", "cupy"))


def _installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


# --- how a backend is found -----------------------------------------------------------------------------------------

RIGHT = "from posref_array.on_numpy import backend\nalibi_slopes = backend.alibi_slopes\n"


@pytest.mark.parametrize("name", ["numpy.py", "json.py", "torch.py", "posref.py"])
def test_a_file_does_not_take_the_place_of_a_library(run: Run, tmp_path: Path, name: str) -> None:
    """Nor does another one beside it, which is what a library would be taken from if the folder came first."""
    _write(tmp_path, RIGHT, name)
    done = run("check", name, "--only", "alibi_slopes")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_module_in_the_working_directory_and_its_neighbours(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    _write(tmp_path, "from mine.slopes import alibi_slopes\n", "mine/kernels.py")
    _write(tmp_path, RIGHT, "mine/slopes.py")
    _write(tmp_path, "from slopes import alibi_slopes\n", "mine/beside.py")
    assert run("check", "mine.kernels", "--only", "alibi_slopes").returncode == 0
    assert run("check", "mine/beside.py", "--only", "alibi_slopes").returncode == 0


def test_the_template_runs_as_it_is_and_passes(run: Run, tmp_path: Path) -> None:
    template = run("check", "--template").stdout
    done = run("check", _write(tmp_path, template, "my_backend.py"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes: " in done.stdout
    wrong = template.replace("a * sin + b * cos", "a * sin - b * cos")
    assert wrong != template
    assert run("check", _write(tmp_path, wrong, "my_backend.py")).returncode == 1


# --- which checks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("only", "ids"),
    [
        (["rope_attention_factor/none/default"], ["rope_attention_factor/none/default"]),
        (["learned/rows"], [f"learned/rows/{t}" for t in ("float64", "float32", "float16", "bfloat16")]),
        (["learned/rows/"], [f"learned/rows/{t}" for t in ("float64", "float32", "float16", "bfloat16")]),
        (["t5_b*/decoder/*t32"], ["t5_bucket/decoder/int32", "t5_bias/decoder/float32"]),
        (["rope/half/float32", "t5_bucket/far/int64"], ["rope/half/float32", "t5_bucket/far/int64"]),
        (["rope/half/float3?"], ["rope/half/float32"]),
    ],
)
def test_only(run: Run, only: list[str], ids: list[str]) -> None:
    done = run("check", "numpy", "--json", *(word for o in only for word in ("--only", o)))
    assert [c["id"] for c in json.loads(done.stdout)["checks"]] == ids


def test_only_a_function_is_that_function_alone(run: Run) -> None:
    done = run("check", "numpy", "--only", "rope", "--json")
    functions = {c["id"].partition("/")[0] for c in json.loads(done.stdout)["checks"]}
    assert functions == {"rope"}  # and neither rope_apply nor rope_table


def test_list_runs_nothing_and_tells_what_would_be_run(run: Run, tmp_path: Path) -> None:
    name = _write(tmp_path, "dtypes = ['float32']\ndef learned(table, positions):\n    raise SystemExit('ran')\n")
    done = run("check", name, "--list", "--only", "learned/rows")
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) == set(run("check", "--list", "--only", "learned/rows/float32").stdout.split())
    everything = run("check", "--list", "--deep").stdout.split()
    known = (Path(__file__).parent / "data" / "check_ids.txt").read_text().split()
    assert sorted(everything) == sorted(known)
    assert run("check", "--list", "--only", "lerned").returncode == 1


def test_exitfirst_stops_at_the_first_failure(run: Run, tmp_path: Path) -> None:
    source = """
        from posref_array.on_numpy import backend as right

        def alibi_slopes(num_heads):
            return right.alibi_slopes(num_heads) * (1 + (num_heads > 2))
    """
    done = run("check", _write(tmp_path, source), "--only", "alibi_slopes", "-x")
    assert done.returncode == 1
    last = r"no: 1 of 3 checks failed; \d+ checks left after the first failure"
    assert re.fullmatch(last, done.stdout.splitlines()[-1])
    all_of_it = run("check", "mine.py", "--only", "alibi_slopes")
    assert re.match(r"no: \d\d? of \d+ checks failed", all_of_it.stdout.splitlines()[-1])
    assert not all_of_it.stdout.splitlines()[-1].startswith("no: 1 of")


def test_the_line_that_runs_it_again_keeps_what_matters(run: Run, tmp_path: Path) -> None:
    name = _write(tmp_path, "def learned(table, positions): return table\n")
    done = run("check", name, "--only", "learned/rows/float32", "--timeout", "2.5", "--memory", "1", "-j", "2")
    line = "  posref check mine.py --timeout 2.5 --memory 1 --only learned/rows/float32"
    assert line in done.stdout.splitlines()
    assert run(*line.split()[1:]).returncode == 1


# --- the report as JSON ---------------------------------------------------------------------------------------------


def test_json_is_the_whole_report_and_the_same_twice(run: Run, tmp_path: Path) -> None:
    source = """
        import numpy as np
        import warnings
        from posref_array.on_numpy import backend as right

        def alibi_slopes(num_heads):
            warnings.warn("slow")
            return np.full(num_heads, np.nan)

        def attention(q, k, v):
            return right.attention(q, k, v) * np.inf

        learned = right.learned
    """
    name = _write(tmp_path, source)
    first, second = (run("check", name, "--json") for _ in range(2))
    assert (first.returncode, first.stderr) == (1, "")
    assert "NaN" not in first.stdout
    assert "Infinity" not in first.stdout

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    report = json.loads(first.stdout, parse_constant=refuse)
    assert list(report) == ["schema", "backend", "verdict", "summary", "functions", "checks", "run"]
    assert report["verdict"] == "fail"
    slopes = [c for c in report["checks"] if c["id"].startswith("alibi_slopes/") and c["status"] != "not implemented"]
    assert {(c["status"], c["worst"], c["got"]) for c in slopes} == {("failed", "inf", "nan")}
    assert {tuple(c["warnings"]) for c in slopes} == {("UserWarning: slow",)}
    assert {c["status"] for c in report["checks"]} == {"passed", "failed", "not implemented"}
    without_run = [text.stdout.partition('"run":')[0] for text in (first, second)]
    assert without_run[0] == without_run[1]
    assert first.stdout.partition('"run":')[1]


def test_list_as_json_has_every_record(run: Run) -> None:
    from posref.catalogue import CATALOGUE

    records = json.loads(run("list", "--json").stdout)
    assert [r["id"] for r in records] == [e.id for e in CATALOGUE]
    assert all(r["backends"]["numpy"] == "implemented" for r in records)


def test_list_of_disagreements(run: Run) -> None:
    from posref.disagreements import REGISTER

    records = json.loads(run("list", "--disagreements", "--json").stdout)
    assert [r["id"] for r in records] == [d.id for d in REGISTER]
    text = run("list", "--disagreements", env={**os.environ, "COLUMNS": "60"}).stdout
    assert [d.id for d in REGISTER if f"{d.id}  " not in text] == []
    assert max(map(len, text.splitlines())) <= 60
