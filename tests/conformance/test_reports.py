"""The report in its other forms: JSON as its schema has it, a page that holds nothing but text and drawings, a matrix."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from posref_conformance.along import axis_name, positions_of, worst_by_position
from posref_conformance.cases import CASES
from posref_conformance.contract import FAMILIES, FUNCTIONS
from posref_conformance.report import Report
from posref_conformance.report_html import page
from posref_conformance.schemas import NAMES, schema
from posref_conformance.verdict import FAILED, PASSED, Result

WRONG = """
import warnings

def rope_cos_sin(positions, inv_freq, *, attention_factor=1.0):
    angles = positions[..., None].astype("float32") * inv_freq.astype("float32")
    return tuple((attention_factor * f(angles)).astype(inv_freq.dtype) for f in (np.cos, np.sin))

def alibi_slopes(num_heads):
    warnings.warn("<script>alert(1)</script>")
    return right.alibi_slopes(num_heads)

def learned(table, positions):
    raise ValueError("<b>&amp;</b> | *bold*")

def attention(q, k, v):
    return right.attention(q, k, v) * np.inf

rope_apply = right.rope_apply
expected_failures = {"attention/plain/float32": "an infinity"}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report in both forms, as the command writes it."""
    folder = tmp_path_factory.mktemp("reports")
    header = "import numpy as np\nfrom posref_array.on_numpy import backend as right\n"
    (folder / "<i>mine.py").write_text(header + WRONG, encoding="utf-8")
    command = ["posref", "check", "<i>mine.py", "--json", "--html", "page.html"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (1, "")
    (folder / "report.json").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.fixture
def report_of(made: Path) -> dict[str, Any]:
    """The report that was written."""
    loaded: dict[str, Any] = json.loads((made / "report.json").read_text(encoding="utf-8"))
    return loaded


# --- JSON -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))


def _problems(report: dict[str, Any]) -> list[str]:
    return [e.json_path for e in Draft202012Validator(schema("report")).iter_errors(report)]


def test_a_report_is_as_the_schema_says(report_of: dict[str, Any]) -> None:
    assert _problems(report_of) == []
    assert {c["status"] for c in report_of["checks"]} == {"passed", "failed", "not implemented", "expected failure"}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda r: r.pop("verdict"), "$"),
        (lambda r: r.update(schema=2), "$.schema"),
        (lambda r: r.update(more=1), "$"),
        (lambda r: r["checks"][0].update(status="fine"), "$.checks[0].status"),
        (lambda r: r["checks"][0].update(worst="large"), "$.checks[0].worst"),
        (lambda r: r["checks"][0].update(by_position=[[1]]), "$.checks[0].by_position[0]"),
        (lambda r: r["checks"][0].update(diagnosis=[{"id": "x"}]), "$.checks[0].diagnosis[0]"),
        (lambda r: r["functions"][0].update(passed=-1), "$.functions[0].passed"),
    ],
)
def test_the_schema_refuses_what_is_no_report(report_of: dict[str, Any], change: Any, where: str) -> None:
    change(report_of)
    assert set(_problems(report_of)) == {where}


def test_every_field_of_a_report_is_in_the_schema(report_of: dict[str, Any]) -> None:
    found = schema("report")
    assert set(found["properties"]) == set(report_of)
    for kind, plural in (("check", "checks"), ("function", "functions")):
        assert list(found["$defs"][kind]["properties"]) == list(report_of[plural][0])


# --- errors along positions -----------------------------------------------------------------------------------------


def test_errors_grow_along_positions_where_positions_are_rounded(report_of: dict[str, Any]) -> None:
    """float32 angles under float64 frequencies: the bound is 2^-53 of the angle, so that every octave is beyond it."""
    by_id = {c["id"]: c for c in report_of["checks"]}
    wrong = dict(map(tuple, by_id["rope_cos_sin/integers/float64"]["by_position"]))
    assert {p for p, e in wrong.items() if e > 1} == set(wrong) - {0.0}
    assert {-3.0, 0.0, 1.0, 7.0, 257.0, 16777217.0} <= set(wrong)  # of an octave the worst: 255 or 257, not both
    assert all(e <= 1 for _, e in by_id["rope_cos_sin/integers/float32"]["by_position"])


def test_octaves() -> None:
    errors = np.array([[0.1, 0.9, 0.2], [0.3, 0.4, np.inf]])
    along = np.array([[0.0], [5.0]])
    assert worst_by_position([(errors, along)]) == ((0.0, 0.9), (5.0, np.inf))
    one = np.array([4.0, 7.0, -4.0, 8.0])
    assert worst_by_position([(np.array([1.0, 2.0, 3.0, 4.0]), one)]) == ((-4.0, 3.0), (7.0, 2.0), (8.0, 4.0))
    assert worst_by_position([(np.zeros((0, 3)), np.zeros((0, 1)))]) == ()
    later = [(np.array([1.0]), np.array([2.0])), (np.array([0.5]), np.array([3.0]))]
    assert worst_by_position(later) == ((2.0, 1.0),)


def test_positions_are_those_of_the_elements() -> None:
    case = {(c.function, c.name): c for c in CASES}

    def along(function: str, name: str, *shape: int) -> Any:
        return positions_of(function, case[function, name].calls(case[function, name].dtypes[0])[0], shape)

    np.testing.assert_array_equal(along("rope_cos_sin", "batch", 2, 3, 5)[..., 4], [[3, 4, 5], [0, 0, 9]])
    assert along("rope", "per-row", 2, 3, 7, 10)[1, 2, 3, 9] == 2
    assert along("alibi_bias", "batch", 2, 3, 2, 7)[1, 2, 0, 6] == 2  # the query's
    assert along("alibi_bias", "decode", 3, 1, 7)[2, 0, 3] == 6
    assert along("rope_axes_cos_sin", "chunked", 9, 8)[8, 0] == 5  # the largest of its coordinates
    assert along("rope_apply", "half", 2, 3, 7, 10)[1, 1, 6, 2] == 6  # no positions: the index
    assert along("ssmax_scale", "batch", 2, 2, 4)[1, 0, 2] == 9
    assert along("t5_bucket", "matrix", 5, 7)[4, 0] == -4
    assert along("rope_attention_factor", "none") == 0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_has_errors_along_something(judge: Callable[..., Result], function: str) -> None:
    from posref_array.on_numpy import backend as right

    case = next(c for c in CASES if c.function == function)
    result = judge(case.check_id(case.dtypes[0]), {function: getattr(right, function)})
    assert (result.status, bool(result.by_position)) == (PASSED, True)
    assert axis_name(function)


# --- the page -------------------------------------------------------------------------------------------------------


class _Page(HTMLParser):
    """Tags and attributes that are there, and whether what is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_fetches_nothing(made: Path) -> None:
    text = (made / "page.html").read_text(encoding="utf-8")
    found = _Page(text)
    assert found.open == []
    assert not found.tags & {"script", "link", "img", "iframe", "b", "i"} - {
        "b"
    }  # a diagnosis is bold; there is none here
    assert not found.attributes & {"src", "href", "onload", "onclick"}
    assert "url(" not in text
    assert "@import" not in text
    assert "<script" not in text.lower()
    for said in ("<i>mine.py", "ValueError: <b>&amp;</b> | *bold*", "UserWarning: <script>alert(1)</script>"):
        assert said in found.text  # as text
    assert "--only rope_cos_sin/integers/float64" in found.text


def test_the_page_plots_each_functions_errors(made: Path, report_of: dict[str, Any]) -> None:
    text = (made / "page.html").read_text(encoding="utf-8")
    figures = dict(re.findall(r"<figcaption>(\w+)</figcaption>(<svg.*?</svg>)", text))
    assert set(figures) == {f["function"] for f in report_of["functions"] if f["worst"] is not None}
    circles = re.findall(r'cy="([\d.]+)" r="3" class="(\w+)"', figures["rope_cos_sin"])
    assert {kind for _, kind in circles} == {"passed", "failed"}
    bound = float(re.search(r'y1="([\d.]+)" y2="[\d.]+" class="bound"', figures["rope_cos_sin"])[1])  # type: ignore[index]
    for at, kind in circles:
        assert (float(at) < bound) == (kind == "failed")  # above the line, which is upwards: smaller
    assert len(circles) == sum(
        len(c["by_position"]) for c in report_of["checks"] if c["id"].startswith("rope_cos_sin/")
    )


def test_a_diagnosis_is_in_every_form(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    cause = {"id": "swapped", "sentence": "You swap <cos> and [sin].", "fix": "Swap them back."}
    report = Report("mine", (Result("rope/half/float32", FAILED, "values", diagnosis=(cause,)),))
    report.print(Console(width=100))
    assert "  You swap <cos> and [sin]. Swap them back." in capsys.readouterr().out.splitlines()
    assert _problems(report.as_json()) == []
    assert report.as_json()["checks"][0]["diagnosis"] == [cause]
    assert "You swap &lt;cos&gt; and [sin].</b> Swap them back." in page(report.as_json())


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium to look at the page")
def test_a_browser_shows_the_page(made: Path) -> None:
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"file://{made / 'page.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert "UserWarning: &lt;script&gt;alert(1)&lt;/script&gt;" in done.stdout
    assert done.stdout.count("<svg") == 4


# --- several reports ------------------------------------------------------------------------------------------------


def test_a_matrix_of_backends(made: Path, posref_command: Any) -> None:
    right = posref_command("check", "numpy", "--only", "rope_cos_sin", "--only", "t5_bucket", "--json").stdout
    (made / "right.json").write_text(right, encoding="utf-8")
    done = posref_command("report", str(made / "report.json"), str(made / "right.json"))
    assert (done.returncode, done.stderr) == (0, "")
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in done.stdout.splitlines()]
    assert {len(row) for row in rows} == {3}
    table = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert table["function"] == ["\\<i\\>mine.py", "numpy"]
    assert re.fullmatch(r"\*\*\d+ of \d+ failed\*\*", table["`rope_cos_sin`"][0])
    assert re.fullmatch(r"(\d+)/\1, 0\.\d\d x", table["`rope_cos_sin`"][1])
    assert re.fullmatch(r"\d+/\d+, 0\.6\d x, float32", table["`rope_apply`"][0])
    assert table["`rope_apply`"][1] == ""  # not asked
    assert table["`t5_bucket`"][0] == "-"
    assert re.fullmatch(r"(\d+)/\1, exact", table["`t5_bucket`"][1])
    assert re.fullmatch(r"yes: \d+ checks passed", table[""][1])


def test_a_report_becomes_the_same_page_later(made: Path, posref_command: Any, tmp_path: Path) -> None:
    done = posref_command("report", str(made / "report.json"), "--html", "later.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    later, then = (
        (folder / name).read_text("utf-8") for folder, name in ((tmp_path, "later.html"), (made, "page.html"))
    )
    assert _untimed(later) == _untimed(then)


def _untimed(page: str) -> str:
    """Without the second in which the run ended: the two files come from two runs."""
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "", page)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, "No such file"),
        ("", "no JSON: Expecting value"),
        ("[" * 100000, "no JSON: "),
        ("\udc80", "no JSON: "),
        ("[]", "no posref report: $: [] is not of type 'object'"),
        ('{"schema": 1}', "no posref report: $: "),
    ],
)
def test_what_is_no_report_is_one_line(posref_command: Any, tmp_path: Path, text: str | None, line: str) -> None:
    if text is not None:
        (tmp_path / "a.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = posref_command("report", "a.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("posref: a.json: " + line)
    assert done.stderr.count("\n") == 1


# --- words ----------------------------------------------------------------------------------------------------------


def test_one_check_is_not_several() -> None:
    passed, failed = Result("rope/a/float32", PASSED), Result("rope/b/float32", FAILED)
    assert Report("mine", (passed,)).verdict() == "yes: 1 check passed"
    assert Report("mine", (failed,)).verdict() == "no: 1 of 1 check failed"
    assert Report("mine", (passed, passed)).verdict() == "yes: 2 checks passed"


def test_an_unknown_expected_failure_does_not_hide_the_failures() -> None:
    results = (Result("rope/a/float32", PASSED), Result("rope/b/float32", FAILED))
    words = "no: 1 of 2 checks failed; expected_failures names checks that there are not: rope/c/float32"
    assert Report("mine", results, ("rope/c/float32",)).verdict() == words


@pytest.mark.parametrize("family", FAMILIES)
def test_families(posref_command: Any, family: str) -> None:
    done = posref_command("check", "numpy", "--family", family, "--list")
    assert (done.returncode, done.stderr) == (0, "")
    assert {line.partition("/")[0] for line in done.stdout.split()} == set(FAMILIES[family])


def test_every_function_is_in_a_family() -> None:
    assert {f for functions in FAMILIES.values() for f in functions} == set(FUNCTIONS)
