"""Vectors: what is written is what the suite asks; what comes back is judged; what is broken is one line."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from jsonschema import Draft202012Validator
from safetensors.numpy import load_file

from posref_array.on_numpy import backend as right
from posref_conformance.cases import CASES
from posref_conformance.schemas import WrongFile, schema
from posref_conformance.tensors import read_tensors, serialized
from posref_conformance.vectors.judge import Vectors
from posref_conformance.vectors.write import write
from posref_conformance.verdict import FAILED, NOT_IMPLEMENTED, PASSED, Result

BY_ID = {case.check_id(dtype): (case, dtype) for case in CASES for dtype in case.dtypes}
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SOME = ("rope_apply", "rope_cos_sin", "t5_bucket", "alibi_slopes")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All vectors there are."""
    folder = tmp_path_factory.mktemp("vectors") / "all"
    write(folder, gradients=True)
    return folder


@pytest.fixture
def folder(everything: Path, tmp_path: Path) -> Path:
    """A few vectors, to be spoilt."""
    write(tmp_path / "vectors", select=("rope_apply/half", "rope_cos_sin/batch"), dtypes=("float32", "float64"))
    return tmp_path / "vectors"


@pytest.fixture
def outputs(folder: Path, tmp_path: Path) -> Path:
    """Right answers to them."""
    answer(folder, tmp_path / "outputs", right)
    return tmp_path / "outputs"


def answer(folder: Path, outputs: Path, backend: Any) -> None:
    """A program that reads the files and nothing else; it knows no gradients."""
    import posref

    def value(given: Any) -> Any:
        if isinstance(given, dict):
            fields = {k: value(v) for k, v in given.items() if k != "type"}
            return getattr(posref, given["type"])(**fields)
        return tuple(map(value, given)) if isinstance(given, list) else given

    for vector in json.loads((folder / "manifest.json").read_text())["vectors"]:
        path = outputs / f"{vector['id']}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        inputs, _ = read_tensors(folder / vector["inputs"]["file"])
        results = {}
        for call in vector["calls"]:
            given = {
                k: inputs[a["tensor"]] if "tensor" in a else value(a["value"]) for k, a in call["arguments"].items()
            }
            if "by" in call:
                continue
            made = getattr(backend, vector["function"])(**given)
            made = made if isinstance(made, tuple) else (made,)
            for output, y in zip(call["outputs"].values(), made, strict=True):
                results[output["tensor"]] = np.asarray(y)
        path.write_bytes(serialized(results, None if results else {"not_implemented": "no gradients"}))


def judged(folder: Path, outputs: Path) -> dict[str, Result]:
    return {r.id: r for r in Vectors(folder).outputs(outputs)}


# --- what is written ------------------------------------------------------------------------------------------------


def test_the_manifest_is_as_the_schema_says(everything: Path) -> None:
    manifest = json.loads((everything / "manifest.json").read_text())
    assert [e.json_path for e in Draft202012Validator(schema("vectors")).iter_errors(manifest)] == []
    ids = [v["id"] for v in manifest["vectors"]]
    without = {i for i, (case, _) in BY_ID.items() if any("out" in c.kwargs for c in case.calls(case.dtypes[0]))}
    assert set(ids) == set(BY_ID) - without  # in-place is about memory
    assert without
    assert {flag for v in manifest["vectors"] for flag in v["flags"]} == {"several-calls", "gradient", "empty"}
    for vector in manifest["vectors"]:
        for part in ("inputs", "expected"):
            content = (everything / vector[part]["file"]).read_bytes()
            assert hashlib.sha256(content).hexdigest() == vector[part]["sha256"]


def test_other_libraries_read_the_tensors(everything: Path) -> None:
    """The format's own reader, and torch's for bfloat16."""
    from safetensors.torch import load_file as load_torch

    name = "rope_apply/half/{}.safetensors"
    own = BY_ID["rope_apply/half/float32"][0].calls("float32")[0]
    found = load_file(everything / "inputs" / name.format("float32"))
    assert set(found) == {"0/x", "0/cos", "0/sin"}
    np.testing.assert_array_equal(found["0/x"], own.args[0])
    half = BY_ID["rope_apply/half/bfloat16"][0].calls("bfloat16")[0].args[0]
    read = load_torch(everything / "inputs" / name.format("bfloat16"))["0/x"]
    np.testing.assert_array_equal(read.float().numpy(), half.astype(np.float32))


def test_bounds_are_those_of_the_judge(everything: Path) -> None:
    """In the tightest profile a right answer is within them; one twice as far off as allowed is not."""
    found = load_file(everything / "expected" / "rope_apply/half/float32.safetensors")
    assert set(found) == {"0/result", *(f"0/result/bound/float32/{p}" for p in ("float32", "table", "native"))}
    (call,) = BY_ID["rope_apply/half/float32"][0].calls("float32")
    error = np.abs(right.rope_apply(*call.args).astype(np.float64) - found["0/result"])
    assert np.all(error <= found["0/result/bound/float32/float32"])
    assert np.all(found["0/result/bound/float32/float32"] < 1e-5)
    slopes = load_file(everything / "expected" / "alibi_slopes/heads-3/default.safetensors")
    assert {n.rpartition("/")[2] for n in slopes} == {"result", "float64", "float32", "float16", "bfloat16"}


def test_the_same_bytes_twice(everything: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", gradients=True)
    names = sorted(p.relative_to(everything) for p in everything.rglob("*") if p.is_file())
    assert names == sorted(p.relative_to(tmp_path / "again") for p in (tmp_path / "again").rglob("*") if p.is_file())
    for name in names:
        assert (everything / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_tensors_come_back_to_the_bit(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    given = np.random.default_rng(0).integers(0, 2, size=shape).astype(kind).T
    (tmp_path / "t").write_bytes(serialized({"a/b": given}, {"k": "v"}))
    tensors, metadata = read_tensors(tmp_path / "t")
    assert (tensors["a/b"].dtype, tensors["a/b"].shape, metadata) == (kind, given.shape, {"k": "v"})
    assert tensors["a/b"].tobytes() == given.tobytes()


# --- what comes back ------------------------------------------------------------------------------------------------


def test_a_right_program_passes_all_of_it(everything: Path, tmp_path: Path) -> None:
    answer(everything, tmp_path, right)
    results = judged(everything, tmp_path)
    assert set(results) == {v["id"] for v in json.loads((everything / "manifest.json").read_text())["vectors"]}
    assert {r.status for r in results.values()} == {PASSED, NOT_IMPLEMENTED}
    gradients = {c for c, r in results.items() if r.status == NOT_IMPLEMENTED}
    assert gradients == {c for c in results if any(x.cotangent is not None for x in BY_ID[c][0].calls(BY_ID[c][1]))}
    assert {results[c].reason for c in gradients} == {"no gradients"}


def test_gradients_are_judged(tmp_path: Path) -> None:
    write(tmp_path / "vectors", select=("rope_apply/gradient",), dtypes=("float64",), gradients=True)
    (call,) = BY_ID["rope_apply/gradient/float64"][0].calls("float64")
    cos, sin = call.args[1:]
    for inverse, status in ((True, PASSED), (False, FAILED)):
        result = right.rope_apply(call.cotangent, cos, sin, inverse=inverse)  # that of a rotation is the one back
        path = tmp_path / "outputs/rope_apply/gradient/float64.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(serialized({"0/result": result}))
        assert judged(tmp_path / "vectors", tmp_path / "outputs")["rope_apply/gradient/float64"].status == status


def test_it_is_the_report_of_check(folder: Path, outputs: Path, backend_file: Any, posref_command: Any) -> None:
    """The same wrong values, given by a backend and by files: results and words are the same, but for names."""
    wrong = (
        "def rope_apply(x, cos, sin):\n    return right.rope_apply(x, cos, -sin)\nrope_cos_sin = right.rope_cos_sin\n"
    )

    class Wrong:
        rope_cos_sin = right.rope_cos_sin
        rope_apply = staticmethod(lambda x, cos, sin: right.rope_apply(x, cos, -sin))

    answer(folder, outputs, Wrong)
    only = [w for check in judged(folder, outputs) for w in ("--only", check)]
    direct = json.loads(posref_command("check", backend_file(wrong), *only, "--json").stdout)
    files = json.loads(
        posref_command("vectors", "check", str(folder), str(outputs), "--json", "--html", "a.html").stdout
    )
    assert {c["status"] for c in files["checks"]} == {"passed", "failed"}
    for report in (direct, files):
        assert not [e.message for e in Draft202012Validator(schema("report")).iter_errors(report)]
    told = [sorted(({**c, "again": ""} for c in r["checks"]), key=lambda c: c["id"]) for r in (direct, files)]
    assert told[0] == told[1]
    assert direct["summary"] == files["summary"]
    again = next(c["again"] for c in files["checks"] if c["status"] == "failed")
    assert posref_command(*again.split()[1:]).returncode == 1


def _spoil(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    tensors = dict(read_tensors(path)[0])
    change(tensors)
    path.write_bytes(serialized(tensors))


CHECK = "rope_apply/half/float32"
SPOILT: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing": (lambda p: p.unlink(), f"no file {CHECK}.safetensors"),
    "a folder": (lambda p: (p.unlink(), p.mkdir()), f"no file {CHECK}.safetensors"),
    "truncated": (lambda p: p.write_bytes(p.read_bytes()[:-1]), "not a whole safetensors file: "),
    "longer": (lambda p: p.write_bytes(p.read_bytes() + b"\0"), "not a whole safetensors file: "),
    "empty": (lambda p: p.write_bytes(b""), "not a whole safetensors file: "),
    "a header alone": (lambda p: p.write_bytes(p.read_bytes()[:8]), "not a whole safetensors file: "),
    "an endless header": (lambda p: p.write_bytes(b"\xff" * 7 + b"\x00{}"), "not a whole safetensors file: "),
    "no JSON": (lambda p: p.write_bytes((4).to_bytes(8, "little") + b"{]}]"), "not a whole safetensors file: "),
    "pickled": (lambda p: p.write_bytes(pickle.dumps(Bomb())), "not a whole safetensors file: "),
    "NumPy's": (lambda p: p.write_bytes(b"\x93NUMPY\x01\x00" + bytes(96)), "not a whole safetensors file: "),
    "wrong type": (
        lambda p: _spoil(p, lambda t: t.update({"0/result": t["0/result"].astype(np.float64)})),
        "returned type float64, expected that of the first argument, float32",
    ),
    "wrong shape": (
        lambda p: _spoil(p, lambda t: t.update({"0/result": t["0/result"][0]})),
        "returned shape (3, 7, 10), expected (2, 3, 7, 10)",
    ),
    "a NaN": (lambda p: _spoil(p, lambda t: t.update({"0/result": t["0/result"] * np.float32("nan")})), "values"),
    "a tensor too few": (lambda p: _spoil(p, lambda t: t.update(a=t.pop("0/result"))), f"{CHECK}.safetensors lacks 0/result"),
    "a tensor too many": (lambda p: _spoil(p, lambda t: t.update(a=t["0/result"])), f"{CHECK}.safetensors has no use for a"),
}  # fmt: skip


class Bomb:
    """Whoever unpickles it is told so."""

    def __reduce__(self) -> Any:
        return (exec, ("raise AssertionError('unpickled')",))


@pytest.mark.parametrize("how", SPOILT)
def test_a_spoilt_output_costs_its_check(folder: Path, outputs: Path, how: str) -> None:
    spoil, reason = SPOILT[how]
    assert {r.status for r in judged(folder, outputs).values()} == {PASSED}
    spoil(outputs / f"{CHECK}.safetensors")
    results = judged(folder, outputs)
    assert results[CHECK].status == FAILED
    assert reason in results[CHECK].reason
    assert "\n" not in results[CHECK].reason
    assert {r.status for c, r in results.items() if c != CHECK} == {PASSED}


def _rewrite(folder: Path, change: Callable[[Any], Any]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def _of_another_version(folder: Path) -> None:
    path = folder / f"inputs/{CHECK}.safetensors"
    _spoil(path, lambda t: t.update({"0/x": t["0/x"] + 1}))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()

    def change(manifest: Any) -> None:
        vector = next(v for v in manifest["vectors"] if v["id"] == CHECK)
        vector["inputs"]["sha256"], manifest["posref"] = digest, "0.0.1"

    _rewrite(folder, change)


UNANSWERED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "manifest.json: No such file"),
    "no JSON": (lambda f: (f / "manifest.json").write_text("{"), "manifest.json: no JSON: "),
    "another schema": (
        lambda f: _rewrite(f, lambda m: m.update(schema=2)),
        "no posref vectors: $.schema: 1 was expected",
    ),
    "no vectors": (lambda f: _rewrite(f, lambda m: m.update(vectors=[])), "no posref vectors: $.vectors: "),
    "an unknown check": (
        lambda f: _rewrite(f, lambda m: m["vectors"][0].update(id="rope/sideways/float32")),
        "no check is called rope/sideways/float32; posref 0.1.0 wrote it, and this is 0.1.0",
    ),
    "a path outside": (
        lambda f: _rewrite(f, lambda m: m["vectors"][0]["inputs"].update(file="../../etc/passwd")),
        "must be ",
    ),
    "inputs missing": (lambda f: (f / f"inputs/{CHECK}.safetensors").unlink(), f"{CHECK}.safetensors: No such file"),
    "inputs changed": (
        lambda f: (f / f"inputs/{CHECK}.safetensors").write_bytes(b"x"),
        f"{CHECK}.safetensors: its sha256 is not that of the manifest",
    ),
    "expected cut short": (
        lambda f: (f / f"expected/{CHECK}.safetensors").write_bytes(b""),
        f"{CHECK}.safetensors: its sha256 is not that of the manifest",
    ),
    "another version": (
        _of_another_version,
        f"the inputs of {CHECK} are others now: write it anew; posref 0.0.1 wrote it, and this is 0.1.0",
    ),
    "an output too many": (
        lambda f: (f.parent / "outputs/rope.safetensors").write_bytes(b""),
        "outputs: no vector asks for rope.safetensors",
    ),
    "no outputs": (lambda f: shutil.rmtree(f.parent / "outputs"), "outputs: no such folder"),
}


@pytest.mark.parametrize("how", UNANSWERED)
def test_what_cannot_be_judged_is_one_line(folder: Path, outputs: Path, posref_command: Any, how: str) -> None:
    spoil, line = UNANSWERED[how]
    spoil(folder)
    with pytest.raises(WrongFile) as caught:
        judged(folder, outputs)
    assert line in str(caught.value)
    if how in ("no manifest", "an output too many"):
        done = posref_command("vectors", "check", str(folder), str(outputs))
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"posref: {caught.value}\n")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--select", "roop"), "--select roop --dtype * means no check"),
        (("--select", "rope", "--dtype", "int8"), "--select rope --dtype int8 means no check"),
        (("--select", "rope_apply/gradient"), "means no check"),  # without --gradients
    ],
)
def test_nothing_to_write_is_one_line(posref_command: Any, tmp_path: Path, options: Any, line: str) -> None:
    done = posref_command("vectors", "write", "new", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_folder_in_use_is_left_alone(posref_command: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = posref_command("vectors", "write", str(tmp_path))
    assert (done.returncode, done.stderr) == (2, f"posref: {tmp_path}: must be a new or an empty folder\n")


# --- programs in other languages ------------------------------------------------------------------------------------


def _cpp(folder: Path) -> list[str]:
    if not (compiler := shutil.which("g++")):
        pytest.skip("g++ is not installed")
    program = folder / "program"
    command = [
        compiler,
        "-std=c++17",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        str(EXAMPLES / "vectors.cpp"),
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True, timeout=120)
    return [str(program)]


def _node(folder: Path) -> list[str]:
    if not (node := shutil.which("node")):
        pytest.skip("Node is not installed")
    return [node, str(EXAMPLES / "vectors.mjs")]


@pytest.mark.parametrize("language", [_cpp, _node])
def test_a_program_in_another_language(everything: Path, tmp_path: Path, posref_command: Any, language: Any) -> None:
    program = language(tmp_path)
    outputs = tmp_path / "outputs"
    subprocess.run([*program, str(everything), str(outputs)], check=True, timeout=120)
    done = posref_command("vectors", "check", str(everything), str(outputs))
    assert (done.returncode, done.stderr) == (0, "")
    results = judged(everything, outputs)
    ours = {c: r for c, r in results.items() if r.status == PASSED}
    assert {c.partition("/")[0] for c in ours} == {"rope_apply", "alibi_slopes"}
    plain = {c for c in results if c.startswith("rope_apply/") and c.endswith(("/float32", "/float64"))}
    assert {c for c in plain if "/gradient" not in c} <= set(ours)
    reasons = {r.reason for c, r in results.items() if c not in ours}
    assert "type BF16" in reasons  # it says so itself


def test_a_wrong_program_is_found_out(everything: Path, tmp_path: Path) -> None:
    if not (node := shutil.which("node")):
        pytest.skip("Node is not installed")
    source = (EXAMPLES / "vectors.mjs").read_text(encoding="utf-8")
    wrong = source.replace("y[row * width + too] = a * s + b * c;", "y[row * width + too] = b * c - a * s;")
    assert wrong != source
    (tmp_path / "wrong.mjs").write_text(wrong, encoding="utf-8")
    subprocess.run([node, str(tmp_path / "wrong.mjs"), str(everything), str(tmp_path / "out")], check=True, timeout=120)
    results = judged(everything, tmp_path / "out")
    assert (results[CHECK].status, results[CHECK].reason) == (FAILED, "values")
    assert results["alibi_slopes/heads-3/default"].status == PASSED
